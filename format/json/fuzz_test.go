package json

import (
	"bytes"
	stdjson "encoding/json"
	"fmt"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
	"sluice/format/formattest"
)

// wellFormed says with the standard library's means whether src is a record by this package's rules: a valid document
// that is one object, after a byte order mark at most, without repeated names, lone surrogates, invalid UTF-8 or deeper
// nesting than maxDepth.
func wellFormed(src []byte, maxDepth int) bool {
	src = bytes.TrimPrefix(src, []byte("\xef\xbb\xbf"))
	if !stdjson.Valid(src) || !utf8.Valid(src) || loneSurrogate(src) {
		return false
	}
	d := stdjson.NewDecoder(bytes.NewReader(src))
	d.UseNumber()
	type object struct {
		names map[string]bool // nil for an array
		value bool            // a name has been read
	}
	var open []object
	for first := true; ; first = false {
		token, err := d.Token()
		if err == io.EOF {
			return true
		}
		if err != nil || first && token != stdjson.Delim('{') {
			return false
		}
		if n := len(open); n > 0 && open[n-1].names != nil && token != stdjson.Delim('}') {
			if in := &open[n-1]; in.value {
				in.value = false
			} else {
				name := token.(string)
				if in.names[name] {
					return false
				}
				in.names[name], in.value = true, true
				continue
			}
		}
		switch token {
		case stdjson.Delim('{'):
			open = append(open, object{names: map[string]bool{}})
		case stdjson.Delim('['):
			open = append(open, object{})
		case stdjson.Delim('}'), stdjson.Delim(']'):
			open = open[:len(open)-1]
		}
		if len(open) > maxDepth {
			return false
		}
	}
}

// loneSurrogate looks for half a surrogate pair in the escapes of a valid document.
func loneSurrogate(src []byte) bool {
	for i := 0; i < len(src); i++ {
		if src[i] != '\\' {
			continue
		}
		i++
		if src[i] != 'u' {
			continue
		}
		unit := func(at int) uint64 {
			if at+6 > len(src) || src[at] != '\\' || src[at+1] != 'u' {
				return 0
			}
			n, _ := strconv.ParseUint(string(src[at+2:at+6]), 16, 32)
			return n
		}
		switch n := unit(i - 1); {
		case n >= 0xd800 && n < 0xdc00:
			if low := unit(i + 5); low < 0xdc00 || low > 0xdfff {
				return true
			}
			i += 10
		case n >= 0xdc00 && n <= 0xdfff:
			return true
		default:
			i += 4
		}
	}
	return false
}

// FuzzJSON compares the decoder with the standard library: it accepts the same documents, less those that our own rules
// refuse, and reads the same values from them.
func FuzzJSON(f *testing.F) {
	for _, seed := range seeds(f) {
		f.Add(seed)
	}
	fields, quoted := formattest.Fields(f, "`a` VARIANT, `s` STRING, `n` BIGINT, `d` DECIMAL(38,10), `f` DOUBLE, `x` STRUCT<`s`: STRING, l: ARRAY<INT>, m: MAP<STRING, VARIANT>>, `ts` TIMESTAMP")
	permissive, err := NewDecoder(Options{Fields: fields, Quoted: quoted, Mode: batch.Permissive, CorruptRecord: -1, MaxDepth: 20})
	if err != nil {
		f.Fatal(err)
	}
	nothing, err := NewDecoder(Options{CorruptRecord: -1, MaxDepth: 20})
	if err != nil {
		f.Fatal(err)
	}
	before := []byte(`{"s":"a","n":1,"x":{"l":[1]},"other":{"b":1}}`) // what decoders learn from other records must not matter
	f.Fuzz(func(t *testing.T, src []byte) {
		want := wellFormed(src, 20)
		if bad := nothing.Decode([][]byte{src}, nil); (len(bad) == 0) != want {
			t.Fatalf("%q: well formed is %v, the decoder says %v", src, want, bad)
		}
		built := formattest.Builders(fields, 1)
		bad := permissive.Decode([][]byte{before, src}, built)
		rows := formattest.Columns(t, fields, built)
		if rows.Len != 2 {
			t.Fatalf("%q: %d rows", src, rows.Len)
		}
		if malformed := len(bad) > 0 && bad[0].Err.Code == fault.MalformedRecord; malformed == want {
			t.Fatalf("%q: well formed is %v, the decoder says %v", src, want, bad)
		}
		if want {
			compareValues(t, src, rows)
		}
	})
}

// compareValues compares row 1 with what the standard library reads.
func compareValues(t *testing.T, src []byte, rows batch.Columns) {
	var members map[string]stdjson.RawMessage
	if err := stdjson.Unmarshal(bytes.TrimPrefix(src, []byte("\xef\xbb\xbf")), &members); err != nil {
		t.Fatal(err)
	}
	for i, f := range rows.Fields {
		raw, ok := members[f.Name]
		got := formattest.Value(&rows.Cols[i], 1)
		want := "NULL"
		if ok && string(raw) != "null" {
			want = expected(f.Type, raw, got)
		}
		if got != want {
			t.Errorf("%q: column %s is %s, want %s", src, f.Name, got, want)
		}
	}
}

// expected prints what raw is as a value of t. For types that are not read a second time here it returns got.
func expected(t batch.Type, raw []byte, got string) string {
	switch t.Kind {
	case batch.Variant:
		return string(raw)
	case batch.String:
		if raw[0] != '"' {
			return "NULL"
		}
		var s string
		if err := stdjson.Unmarshal(raw, &s); err != nil {
			return err.Error()
		}
		return strconv.Quote(s)
	case batch.Double:
		v, err := strconv.ParseFloat(string(raw), 64)
		if raw[0] == '"' || err != nil {
			return "NULL"
		}
		return fmt.Sprint(v)
	case batch.BigInt, batch.Decimal:
		return exactly(t, string(raw))
	}
	return got
}

// exactly reads a number with rationals.
func exactly(t batch.Type, raw string) string {
	if raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return "NULL"
	}
	if mantissa, exponent, ok := strings.Cut(strings.ToLower(raw), "e"); ok && len(strings.TrimLeft(exponent, "+-0")) > 3 {
		if strings.Trim(mantissa, "-0.") != "" {
			return "NULL"
		}
		raw = "0"
	}
	v, ok := new(big.Rat).SetString(raw)
	if !ok {
		return "no number: " + raw
	}
	scaled := new(big.Rat).Mul(v, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Scale)), nil)))
	if !scaled.IsInt() {
		return "NULL"
	}
	n := scaled.Num()
	if t.Kind == batch.BigInt {
		if !n.IsInt64() {
			return "NULL"
		}
		return n.String()
	}
	if n.CmpAbs(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Precision)), nil)) >= 0 {
		return "NULL"
	}
	return v.FloatString(int(t.Scale))
}

// seeds are the records of the test files and a few that are made to be near the fuzzed schema.
func seeds(t testing.TB) [][]byte {
	out := [][]byte{
		[]byte(`{"a":{"b":[1,"x",null]},"s":"é\n\u0041","n":1e3,"d":12345.6789012345,"f":-0.0,"x":{"s":"y","l":[1,2],"m":{"k":{}}},"ts":"2026-01-02T03:04:05.123456+02:00"}`),
		[]byte(`{"n":9223372036854775807,"d":-0.0000000001,"f":1.7976931348623157e308}`),
		[]byte(`{"n":1.0,"d":100e-2,"f":12345678901234567890}`),
		[]byte("\xef\xbb\xbf{\"s\":\"\\ud83d\\ude00\"}"),
		[]byte(`{"s":"\ud800"}`),
		[]byte(`{"x":{"a":1,"\u0061":2}}`),
	}
	files, _ := filepath.Glob("testdata/real/*")
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range bytes.Split(data, []byte("\n")) {
			if i < 20 && len(line) < 4000 {
				out = append(out, line)
			}
		}
	}
	return out
}

var _ format.Decoder = (*decoder)(nil)
