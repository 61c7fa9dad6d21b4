//go:build !goexperiment.jsonv2

package json

import stdjson "encoding/json"

func stdUnmarshal(src []byte, into any) error { return stdjson.Unmarshal(src, into) }
