package testenv

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/testcontainers/testcontainers-go"
)

// Certificate is a self-signed certificate for 127.0.0.1, with its key.
type Certificate struct {
	Key, Cert []byte // PEM
	TrustFile string // a file with the certificate
	TLS       *tls.Config
}

// NewCertificate makes a certificate.
func NewCertificate(t testing.TB) Certificate {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kafka"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	check(err)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	check(err)
	c := Certificate{
		Key:       pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}),
		Cert:      pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		TrustFile: filepath.Join(t.TempDir(), "trust.pem"),
	}
	check(os.WriteFile(c.TrustFile, c.Cert, 0o600))
	pair, err := tls.X509KeyPair(c.Cert, c.Key)
	check(err)
	c.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	return c
}

// Secured makes a broker of StartKafka accept only SASL over TLS: PLAIN with the given user, and SCRAM-SHA-512.
// testcontainers fixes the name of the listener, so that name gets another protocol.
func Secured(c Certificate, user, password string) []testcontainers.ContainerCustomizer {
	return []testcontainers.ContainerCustomizer{
		testcontainers.WithFiles(testcontainers.ContainerFile{Reader: bytes.NewReader(append(append([]byte{}, c.Key...), c.Cert...)), ContainerFilePath: "/etc/kafka/server.pem", FileMode: 0o644}),
		testcontainers.WithEnv(map[string]string{
			"KAFKA_LISTENER_SECURITY_PROTOCOL_MAP":                             "BROKER:PLAINTEXT,PLAINTEXT:SASL_SSL,CONTROLLER:PLAINTEXT",
			"KAFKA_SSL_KEYSTORE_TYPE":                                          "PEM",
			"KAFKA_SSL_KEYSTORE_LOCATION":                                      "/etc/kafka/server.pem",
			"KAFKA_SASL_ENABLED_MECHANISMS":                                    "PLAIN,SCRAM-SHA-512",
			"KAFKA_LISTENER_NAME_PLAINTEXT_PLAIN_SASL_JAAS_CONFIG":             `org.apache.kafka.common.security.plain.PlainLoginModule required user_` + user + `="` + password + `";`,
			"KAFKA_LISTENER_NAME_PLAINTEXT_SCRAM___SHA___512_SASL_JAAS_CONFIG": `org.apache.kafka.common.security.scram.ScramLoginModule required;`,
		}),
	}
}
