//go:build goexperiment.jsonv2

package json

import jsonv2 "encoding/json/v2"

func stdUnmarshal(src []byte, into any) error { return jsonv2.Unmarshal(src, into) }
