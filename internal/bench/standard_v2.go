//go:build goexperiment.jsonv2

package main

import jsonv2 "encoding/json/v2"

const standardName = "encoding/json/v2"

func unmarshal(src []byte, into any) error { return jsonv2.Unmarshal(src, into) }
