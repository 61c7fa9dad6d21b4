package json

import (
	stdjson "encoding/json"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sluice/batch"
	"sluice/fault"
	"sluice/format/formattest"
)

// encodeAll returns each row as a record.
func encodeAll(t testing.TB, rows batch.Columns, o EncodeOptions) [][]byte {
	t.Helper()
	text, ends, err := NewEncoder(rows.Fields, o).Encode(nil, nil, &rows, 0, rows.Len)
	if err != nil {
		t.Fatal(err)
	}
	out := make([][]byte, len(ends))
	start := 0
	for i, end := range ends {
		out[i], start = text[start:end], end
	}
	return out
}

// TestEncode has the literal form of every type.
func TestEncode(t *testing.T) {
	for _, c := range []struct {
		ddl    string
		append func(b *batch.Builder)
		want   string
	}{
		{"a BOOLEAN", func(b *batch.Builder) { b.AppendBool(true) }, `{"a":true}`},
		{"a TINYINT", func(b *batch.Builder) { b.AppendInt(-128) }, `{"a":-128}`},
		{"a BIGINT", func(b *batch.Builder) { b.AppendInt(1669859068457630240) }, `{"a":1669859068457630240}`},
		{"a BIGINT", func(b *batch.Builder) { b.AppendInt(math.MinInt64) }, `{"a":-9223372036854775808}`},
		{"a FLOAT", func(b *batch.Builder) { batch.Append(b, float32(0.1)) }, `{"a":0.1}`},
		{"a DOUBLE", func(b *batch.Builder) { batch.Append(b, 1.0) }, `{"a":1.0}`},
		{"a DOUBLE", func(b *batch.Builder) { batch.Append(b, 1e300) }, `{"a":1e+300}`},
		{"a DOUBLE", func(b *batch.Builder) { batch.Append(b, math.Copysign(0, -1)) }, `{"a":-0.0}`},
		{"a DOUBLE", func(b *batch.Builder) { batch.Append(b, math.NaN()) }, `{"a":"NaN"}`},
		{"a DOUBLE", func(b *batch.Builder) { batch.Append(b, math.Inf(1)) }, `{"a":"Infinity"}`},
		{"a FLOAT", func(b *batch.Builder) { batch.Append(b, float32(math.Inf(-1))) }, `{"a":"-Infinity"}`},
		{"a DECIMAL(10,2)", func(b *batch.Builder) { b.AppendInt(5) }, `{"a":0.05}`},
		{"a DECIMAL(10,2)", func(b *batch.Builder) { b.AppendInt(-123456) }, `{"a":-1234.56}`},
		{"a DECIMAL(10,0)", func(b *batch.Builder) { b.AppendInt(0) }, `{"a":0}`},
		{"a DECIMAL(38,38)", func(b *batch.Builder) { b.AppendInt(-1) }, `{"a":-0.00000000000000000000000000000000000001}`},
		{"a STRING", func(b *batch.Builder) { b.AppendString("\"\\\n\r\t\x00\x1f\x7fé\u2028</script>") }, `{"a":"\"\\\n\r\t\u0000\u001f` + "\x7fé\u2028" + `</script>"}`},
		{"a BINARY", func(b *batch.Builder) { b.AppendText([]byte{1, 2, 255}) }, `{"a":"AQL/"}`},
		{"a DATE", func(b *batch.Builder) { b.AppendInt(-719162) }, `{"a":"0001-01-01"}`},
		{"a DATE", func(b *batch.Builder) { b.AppendInt(2932897) }, `{"a":"+10000-01-01"}`},
		{"a TIMESTAMP", func(b *batch.Builder) { b.AppendInt(0) }, `{"a":"1970-01-01T00:00:00Z"}`},
		{"a TIMESTAMP", func(b *batch.Builder) { b.AppendInt(253402300799999999) }, `{"a":"9999-12-31T23:59:59.999999Z"}`},
		{"a TIMESTAMP", func(b *batch.Builder) { b.AppendInt(-1) }, `{"a":"1969-12-31T23:59:59.999999Z"}`},
		{"a TIMESTAMP", func(b *batch.Builder) { b.AppendInt(1000) }, `{"a":"1970-01-01T00:00:00.001000Z"}`},
		{"a TIMESTAMP_NTZ", func(b *batch.Builder) { b.AppendInt(0) }, `{"a":"1970-01-01T00:00:00"}`},
		{"a VARIANT", func(b *batch.Builder) { b.AppendString(`{"x": 1.50}`) }, `{"a":{"x": 1.50}}`},
		{"a ARRAY<INT>", func(b *batch.Builder) { b.Child(0).AppendInt(1); b.Child(0).AppendNull(); b.AppendNested() }, `{"a":[1,null]}`},
		{"a MAP<INT, STRING>", func(b *batch.Builder) { b.Child(0).AppendInt(7); b.Child(1).AppendString("x"); b.AppendNested() }, `{"a":{"7":"x"}}`},
		{"a MAP<DATE, INT>", func(b *batch.Builder) { b.Child(0).AppendInt(0); b.Child(1).AppendInt(1); b.AppendNested() }, `{"a":{"1970-01-01":1}}`},
		{"a STRUCT<x: INT, y: STRING>", func(b *batch.Builder) { b.Child(0).AppendNull(); b.Child(1).AppendString("z"); b.AppendNested() }, `{"a":{"x":null,"y":"z"}}`},
		{"a STRUCT<x: INT, y: STRING>", func(b *batch.Builder) { b.AppendNull() }, `{"a":null}`},
		{"`a \"b\\` INT", func(b *batch.Builder) { b.AppendInt(1) }, `{"a \"b\\":1}`},
	} {
		fields, _ := formattest.Fields(t, c.ddl)
		built := formattest.Builders(fields, 1)
		c.append(&built[0])
		got := string(encodeAll(t, formattest.Columns(t, fields, built), EncodeOptions{})[0])
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.ddl, got, c.want)
		}
		if !stdjson.Valid([]byte(got)) {
			t.Errorf("%s is not JSON", got)
		}
	}
}

func TestEncodeOptions(t *testing.T) {
	fields, _ := formattest.Fields(t, "a BIGINT, b INT")
	built := formattest.Builders(fields, 2)
	for i := range built {
		built[i].AppendInt(1)
		built[i].AppendNull()
	}
	rows := formattest.Columns(t, fields, built)
	got, ends, err := NewEncoder(fields, EncodeOptions{Lines: true, BigIntAsText: true}).Encode([]byte("x"), nil, &rows, 0, 2)
	want := "x{\"a\":\"1\",\"b\":1}\n{\"a\":null,\"b\":null}\n"
	if err != nil || string(got) != want || len(ends) != 2 || ends[0] != 17 || ends[1] != len(want) {
		t.Errorf("got %q %v %v, want %q", got, ends, err, want)
	}
}

func TestTextThatIsNotUTF8IsRefused(t *testing.T) {
	fields, _ := formattest.Fields(t, "a STRUCT<x: STRING>")
	built := formattest.Builders(fields, 1)
	built[0].Child(0).AppendString("\xff")
	built[0].AppendNested()
	rows := formattest.Columns(t, fields, built)
	e := NewEncoder(fields, EncodeOptions{})
	for range 2 {
		if _, _, err := e.Encode(nil, nil, &rows, 0, 1); !fault.Of(err, fault.CannotEncode) {
			t.Errorf("got %v", err)
		}
	}
}

// TestRoundTrip encodes random rows of random types and decodes them again.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rows := formattest.DrawColumns(rt, "rows", func(t batch.Type) bool {
			return t.Kind != batch.Map || t.Fields[0].Type.Kind == batch.String
		})
		d, err := NewDecoder(Options{Fields: rows.Fields, NumbersAsStrings: true, CorruptRecord: -1})
		if err != nil {
			rt.Skip(err)
		}
		values := encodeAll(t, rows, EncodeOptions{})
		built := formattest.Builders(rows.Fields, 0)
		for _, b := range d.Decode(values, built) {
			rt.Fatalf("record %s: %v", values[b.Index], b.Err)
		}
		got, want := formattest.Rows(formattest.Columns(t, rows.Fields, built)), formattest.Rows(rows)
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			rt.Fatalf("got\n%s\nwant\n%s\nrecords\n%q", strings.Join(got, "\n"), strings.Join(want, "\n"), values)
		}
	})
}
