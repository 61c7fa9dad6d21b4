package main

// Certificates of public authorities, for a container that holds this binary alone. Where the machine has its own, those
// are used. (Time zones come with catalog.)
import _ "golang.org/x/crypto/x509roots/fallback"
