package json

import (
	"bytes"
	"fmt"
	"maps"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/format/formattest"
)

// hostile are documents of 256 KiB, made to cost more than their size: by the number of their members, elements, digits,
// escapes or levels. Each also comes without its end.
func hostile() map[string][]byte {
	const size = 1 << 18
	many := func(open, each, closing string) []byte {
		var b bytes.Buffer
		b.WriteString(open)
		for i := 0; b.Len() < size; i++ {
			if i > 0 {
				b.WriteByte(',')
			}
			if strings.Contains(each, "%d") {
				fmt.Fprintf(&b, each, i)
			} else {
				b.WriteString(each)
			}
		}
		b.WriteString(closing)
		return b.Bytes()
	}
	long := func(open, each, closing string) []byte {
		return []byte(open + strings.Repeat(each, size/len(each)) + closing)
	}
	out := map[string][]byte{
		"members":                  many(`{`, `"%d":0`, `}`),
		"members skipped":          many(`{"other":{`, `"%d":0`, `}}`),
		"members of a map":         many(`{"m":{`, `"%d":0`, `}}`),
		"members in objects":       many(`{"other":[`, `{"a%d":{"b%[1]d":1}}`, `]}`),
		"empty objects":            many(`{"l":[`, `{}`, `]}`),
		"empty arrays":             many(`{"v":[`, `[]`, `]}`),
		"nulls":                    many(`{"l":[`, `null`, `]}`),
		"wrong elements":           many(`{"l":[`, `1`, `]}`),
		"digits of a BIGINT":       long(`{"n":`, `1`, `}`),
		"digits of a DECIMAL":      long(`{"d":0.`, `1`, `}`),
		"zeros of a DECIMAL":       long(`{"d":1.`, `0`, `}`),
		"digits of a DOUBLE":       long(`{"f":0.`, `1`, `}`),
		"digits of exponents":      long(`{"f":1e`, `9`, `,"n":1}`),
		"exponent of a DECIMAL":    []byte(`{"d":1e999999999}`),
		"exponent below a DECIMAL": []byte(`{"d":1e-999999999}`),
		"exponent of a BIGINT":     []byte(`{"n":1e999999999}`),
		"exponent below a BIGINT":  []byte(`{"n":10e-999999999}`),
		"zeros with an exponent":   []byte(`{"n":0e999999999,"d":0e-999999999,"v":1e999999999}`),
		"digits skipped":           long(`{"other":`, `1`, `}`),
		"escapes":                  long(`{"s":"`, `\u00e9`, `"}`),
		"escapes in a name":        long(`{"`, `\n`, `":1}`),
		"letters":                  long(`{"s":"`, `x`, `"}`),
		"digits of a time":         long(`{"ts":"2026-01-01T00:00:00.`, `0`, `"}`),
		"blanks":                   long(`{"n":`, ` `, `1}`),
		"levels":                   []byte(strings.Repeat(`{"a":[`, 100) + `1` + strings.Repeat(`]}`, 100)),
		"too many levels":          long(`{"v":`, `[`, `}`),
	}
	for name, src := range maps.Clone(out) {
		out[name+", cut"] = src[:len(src)-1]
	}
	return out
}

// A document costs a small multiple of its size, whatever it is, also the first time. A member's name is the dearest: some 80
// bytes of memory for six of the document, and as much again while the lists grow.
func TestAllocationsAreBounded(t *testing.T) {
	const times, free = 32, 64 << 10
	fields, quoted := formattest.Fields(t, "`s` STRING, `n` BIGINT, `d` DECIMAL(38,10), `f` DOUBLE, `ts` TIMESTAMP, `v` VARIANT, `l` ARRAY<STRUCT<a: INT, b: STRING>>, `m` MAP<STRING, INT>")
	for name, src := range hostile() {
		for _, mode := range []batch.Mode{batch.FailFast, batch.Permissive} {
			got := formattest.Allocated(func() {
				d, err := NewDecoder(Options{Fields: fields, Quoted: quoted, CorruptRecord: -1, Mode: mode})
				if err != nil {
					t.Fatal(err)
				}
				built := formattest.Builders(fields, 1)
				d.Decode([][]byte{src}, built)
			})
			if most := uint64(times*len(src) + free); got > most {
				t.Errorf("%s: a document of %d bytes takes %d, more than %d", name, len(src), got, most)
			}
		}
		got := formattest.Allocated(func() {
			f, err := NewFrom(FromOptions{Type: batch.StructOf(fields...), CorruptRecord: -1})
			if err != nil {
				t.Fatal(err)
			}
			texts := batch.NewBuilder(batch.Of(batch.String), 1)
			texts.AppendText(src)
			column := texts.Column()
			if _, ferr := f.Append(&column, batch.NewBuilder(batch.StructOf(fields...), 1)); ferr != nil {
				t.Errorf("%s: %v", name, ferr)
			}
		})
		if most := uint64((times+2)*len(src) + free); got > most {
			t.Errorf("%s: from_json of %d bytes takes %d, more than %d", name, len(src), got, most)
		}
	}
}
