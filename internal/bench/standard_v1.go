//go:build !goexperiment.jsonv2

package main

import "encoding/json"

const standardName = "encoding/json"

func unmarshal(src []byte, into any) error { return json.Unmarshal(src, into) }
