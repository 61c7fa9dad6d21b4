package json

import (
	stdjson "encoding/json"
	"fmt"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
	"sluice/format/formattest"
)

// Values that RFC 8259 has, with each production of its grammar at its edges.
var valid = []string{
	`0`, `-0`, `-0.0`, `0e1`, `0e+1`, `0E-0`, `1`, `-1`, `-123`, `10`, `1.5`, `1.50`, `123e65`, `1E22`, `1E+2`, `1E-2`, `1.5e3`, `123.456e78`, `20e1`, `123.456789`,
	`-0.000000000000000000000000000000000000000000000000000000000000000000000000000001`, `9223372036854775808`, `100000000000000000000000000000000000000000`,
	`1e999999`, `-1e-999999`, `0.4e00669999999999999999999999999999999999999999999999999969999999006`,
	`true`, `false`, `null`,
	`""`, `" "`, `"a"`, `"\"\\\/\b\f\n\r\t"`, `"\u0000"`, `"\u0012"`, `"\uFFFF"`, `"\uffff"`, `"\ufdd0"`, `"\u2028\u2029"`, `"\uD834\uDd1e"`, `"\ud83d\ude39\ud83d\udc8d"`,
	`"\uDBFF\uDFFE"`, `"\u0061\u30af\u30EA\u30b9"`, `"\\u0000"`, `"\\a"`, `"new\u000Aline"`, `"a/*b*/c/*d//e"`, `"\u200B\u2064"`, `"\uFFFE"`, `"\uDBFF\uDFFF"`,
	"\"\x7f\"", "\"\u00e9\"", "\"\u20ac\U0001d11e\"", "\"\u2028\u2029\"", "\"\U0010ffff\"", "\"\ufffe\uffff\"", "\"\u0080\u07ff\u0800\"", "\"\ufeff\"",
	`[]`, `[ ]`, `[""]`, `[1]`, `[ 4]`, `[1 ]`, `[1,null,1,2]`, `[null,1,"1",{}]`, `[[]   ]`, `["a",[[],{}]]`, "[1\n]", "[\t\r\n 1 ,\t2 ]",
	`{}`, `{ }`, `{"":0}`, `{"a":"b"}`, `{"a":[]}`, `{"foo\u0000bar": 42}`, `{"title":"\u041f\u043e"}`, "{\n\"a\" : \"b\"\r\n}", `{"a":1,"A":2}`, `{"min": -1.0e+28, "max": 1.0e+28}`,
	`{"x":[{"id": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}], "id": "x"}`,
}

// Texts that are no value of RFC 8259, though readers have taken each of them.
var invalid = []string{
	`+1`, `++1`, `-`, `--1`, `- 1`, `-a`, `-01`, `01`, `012`, `-012`, `1.`, `-2.`, `.5`, `-.5`, `.-1`, `1.e1`, `0.e1`, `2.e+3`, `2.e3`, `1e`, `1E`, `1e+`, `1E-`, `1e1.5`, `0e`, `0E+`, `1.0e`, `1.0e-`, `1eE2`,
	`1_000`, `1 000`, `1,`, `1a`, `1.2a-3`, `0x1`, `0x42`, `1+2`, `1.8011670033376514H-308`, `1.2.3`, `Inf`, `-Inf`, `Infinity`, `-Infinity`, `+Inf`, `NaN`, `-NaN`, `nan`, "\uff11", "1\u00a0", "0e1\x00",
	`tru`, `truee`, `True`, `TRUE`, `fals`, `nul`, `nulll`, `None`, `undefined`, `*`, `a`, `<null>`, `&`, `#`, `/`,
	`"`, `"a`, `'a'`, "`a`", `a"`, `"\"`, `"\`, `"\x00"`, `"\a"`, `"\'"`, `"\v"`, `"\0"`, `"\U0041"`, `"\u"`, `"\u0"`, `"\u00"`, `"\u00A"`, `"\u00AG"`, `"\uqqqq"`, `"\u 041"`, `"\u+041"`, `"\`, `"\\\"`, `"a" "b"`, `"a"x`, `"a\`,
	"\"\t\"", "\"\n\"", "\"\r\"", "\"\x00\"", "\"\x1f\"", "\"\\\t\"", "\"\\\u20ac\"", "\"\\\U0001f600\"", "\\u0022a\\u0022",
	`"\ud800"`, `"\udc00"`, `"\uD800\n"`, `"\uD800\u0041"`, `"\uD800\uD800"`, `"\uDd1e\uD834"`, `"\uD800\u"`, `"\uD800\u1"`, `"\uD800\u1x"`, `"\ud83d\\ude00"`, `"\ud800abc"`, `"\uDFAA"`, `"\uDADA"`, `"\uD888\u1234"`,
	"\"\xff\"", "\"\x80\"", "\"\xc0\x80\"", "\"\xc0\xaf\"", "\"\xc3\"", "\"\xe2\x82\"", "\"\xed\xa0\x80\"", "\"\xed\xbf\xbf\"", "\"\xf0\x80\x80\x80\"", "\"\xf4\x90\x80\x80\"", "\"\xf8\x88\x80\x80\x80\"", "\"\xfc\x83\xbf\xbf\xbf\xbf\"", "\"\xfe\"", "\"\xe9\"", "\"\xc3\x28\"", "\xff", "\xc3\xa9",
	`[`, `]`, `[1`, `[1,`, `[,`, `[,1]`, `[1,]`, `[1,,2]`, `[,]`, `["",]`, `[""`, `["x"`, `["a"]]`, `["x"]]`, `[1 2]`, `["a" "b"]`, `[1:2]`, `["":1]`, `[1;2]`, `["a";1]`, `[ , ""]`, `[x`, `[*]`, `[-]`, `[1}`, `{]`, `[a,b]`, `[3[4]]`, `[1]x`, "[\v1]", "[\f]", "[\"\va\"\\f]", "[1\u00a0]", "[\u2060]", "[\x00]", `[][]`, `[/*x*/]`, `[1]//x`,
	`{`, `}`, `{,`, `{"a"`, `{"a":`, `{"a"}`, `{"a":}`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{"a":1,,}`, `{"a":1,,"b":2}`, `{"a":"a" 123}`, `{"a" "b"}`, `{"a"::"b"}`, `{:"b"}`, `{a:1}`, `{'a':1}`, `{1:1}`, `{1e9:1}`, `{null:1}`, `{true:1}`, `{[]:1}`, `{"a":1 "b":2}`, `{"a":1;"b":2}`, `{"a":b}`, `{"a":"b"}/**/`, `{"a":"b"}//`, `{"a":/*x*/1}`, `{"a":"b"}#`, `{"a":1}}`, `{"a":1]`, `{"a",1}`, `{"a"=1}`, `{[: "x"}`, `{"x", null}`, "{\"x\"\u00a0:1}", `{"\ud800":1}`, "{\"\xff\":1}", `{"\a":1}`, `{""`, `{"":`,
	"\ufeff1", "\ufeff{}", "\ufeff[]",
}

// TestRFC8259 reads each value in every place that a value can have: alone in a VARIANT, skipped, inside an array, an object, and
// after records that taught the decoder other names. It accepts exactly the grammar (and of it neither lone surrogates nor
// invalid UTF-8, A-29), and what it accepts is kept byte for byte.
func TestRFC8259(t *testing.T) {
	fields, quoted := formattest.Fields(t, "`v` VARIANT, `m` MAP<STRING, VARIANT>, `l` ARRAY<VARIANT>, `s` STRUCT<v: VARIANT>")
	fresh := func() format.Decoder {
		d, err := NewDecoder(Options{Fields: fields, Quoted: quoted, CorruptRecord: -1})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	used := fresh()
	places := []string{`{"v":%s}`, "{\"v\" : %s\r\n}", `{"m":{"k":%s}}`, `{"l":[%s]}`, `{"l":[0, %s ,0]}`, `{"s":{"v":%s,"w":1}}`, `{"other":%s}`, `{"other":[[%s]],"v":1}`, `{"other":{"a":{"b":%s}},"v":1}`}
	try := func(value string, want bool) {
		t.Helper()
		for _, place := range places {
			src := []byte(fmt.Sprintf(place, value))
			for _, d := range []format.Decoder{used, fresh()} {
				built := formattest.Builders(fields, 1)
				bad := d.Decode([][]byte{src}, built)
				switch {
				case want && len(bad) > 0:
					t.Errorf("%q is refused: %v", src, bad[0].Err)
				case !want && len(bad) == 0:
					t.Errorf("%q is taken", src)
				case !want && bad[0].Err.Code != fault.MalformedRecord:
					t.Errorf("%q: %v", src, bad[0].Err)
				}
				rows := formattest.Columns(t, fields, built)
				if want && place == places[0] && value != "null" && string(rows.Cols[0].Text(0)) != value {
					t.Errorf("%q is kept as %q", src, rows.Cols[0].Text(0))
				}
			}
		}
	}
	for _, v := range valid {
		if !stdjson.Valid([]byte(v)) {
			t.Errorf("%q is no value", v)
		}
		try(v, true)
	}
	for _, v := range invalid {
		try(v, false)
	}
}

// TestDepth: nesting is bounded, by an error and not by the stack.
func TestDepth(t *testing.T) {
	fields, _ := formattest.Fields(t, "v VARIANT")
	d, err := NewDecoder(Options{Fields: fields, CorruptRecord: -1, Mode: batch.FailFast})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		open, close string
		depth       int
		ok          bool
	}{
		{"[", "]", DefaultMaxDepth - 1, true}, {"[", "]", DefaultMaxDepth, false}, {`{"a":`, "}", DefaultMaxDepth - 1, true}, {`{"a":`, "}", DefaultMaxDepth, false},
		{"[", "]", 1_000_000, false}, {"[", "", 1_000_000, false}, {`{"":`, "", 1_000_000, false}, {`[{"":`, "", 500_000, false},
	} {
		for _, name := range []string{"v", "other"} {
			src := []byte(`{"` + name + `":` + strings.Repeat(c.open, c.depth) + "1" + strings.Repeat(c.close, c.depth) + `}`)
			built := formattest.Builders(fields, 1)
			if bad := d.Decode([][]byte{src}, built); (len(bad) == 0) != c.ok {
				t.Errorf("%d times %s in %s: %v", c.depth, c.open, name, bad)
			}
		}
	}
}
