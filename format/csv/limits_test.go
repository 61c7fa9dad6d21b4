package csv

import (
	"strings"
	"testing"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
	"sluice/format/formattest"
	"sluice/option"
)

// hostile are texts of 128 KiB, made to cost more than their size: by the number of their fields, lines, quotes, digits or escapes.
func hostile() map[string]string {
	const size = 1 << 17
	long := func(open, each, closing string) string {
		return open + strings.Repeat(each, size/len(each)) + closing
	}
	return map[string]string{
		"fields":                   long("", ",", ""),
		"fields in quotes":         long(``, `"",`, ``),
		"lines":                    long("", "\n", ""),
		"lines of a field":         long(`1,"`, "\n", `"`),
		"records":                  long("", "1,a,1\n", ""),
		"open quotes":              long("", "\"x\n", ""),
		"one open quote":           long(`"`, "a,b\n", ""),
		"stray quotes":             long("", `a"b,`, ""),
		"doubled quotes":           long(`1,"`, `""`, `"`),
		"digits of a BIGINT":       long("", "1", ",a,1"),
		"digits of a DECIMAL":      long("1,a,0.", "1", ""),
		"zeros of a DECIMAL":       long("1,a,1.", "0", ""),
		"digits of an exponent":    long("1,a,1e", "9", ""),
		"exponent of a DECIMAL":    "1,a,1e999999999",
		"exponent below a DECIMAL": "1,a,1e-999999999",
		"exponent of a BIGINT":     "1e999999999,a,1",
		"exponent below a BIGINT":  "1e-999999999,a,1",
		"zero with an exponent":    "0e999999999,a,0e-999999999",
		"letters":                  long("1,", "x", ",1"),
		"bytes that are no UTF-8":  long("1,", "\xff", ",1"),
		"blanks":                   long("", " ", "1,a,1"),
	}
}

// A text costs a small multiple of its size, whatever it is, in every mode and dialect, and so does finding its records. Dearest are empty lines
// and the spans of short records: 16 bytes for each, and as much again while the list grows.
func TestAllocationsAreBounded(t *testing.T) {
	const times, free = 32, 64 << 10
	fields, _ := formattest.Fields(t, "n BIGINT, s STRING, d DECIMAL(38,10)")
	within := func(what, text string, times int, f func()) {
		if got, most := formattest.Allocated(f), uint64(times*len(text)+free); got > most {
			t.Errorf("%s: a text of %d bytes takes %d, more than %d", what, len(text), got, most)
		}
	}
	for name, text := range hostile() {
		for handling := range handlings {
			options := []option.Given{{Name: "unescapedQuoteHandling", Value: handlings[handling]}, {Name: "maxColumns", Value: "10000000"}}
			for _, mode := range []batch.Mode{batch.FailFast, batch.Permissive} {
				within(name+", "+handlings[handling], text, times, func() {
					v, _ := ReadOptions().Parse("csv", options, fault.Pos{})
					r, err := Open(format.Reading{Schema: fields, Columns: fields, Mode: mode, Options: v})
					if err != nil {
						t.Fatal(err)
					}
					r.Decoder.Decode([][]byte{[]byte(text)}, formattest.Builders(fields, 1))
				})
			}
			within(name+", splitting "+handlings[handling], text, 4*times, func() {
				v, _ := ReadOptions().Parse("csv", options, fault.Pos{})
				d, _ := dialectOf(v)
				if _, used, err := NewSplitter(d).Split([]byte(text), true, len(text)+1, nil); used != len(text) || err != nil {
					t.Errorf("%s: %d bytes are left, %v", name, len(text)-used, err)
				}
			})
		}
		within(name+", from_csv", text, times, func() {
			o, err := ParseFields(map[string]string{"maxcolumns": "10000000"}, nil)
			if err != nil {
				t.Fatal(err)
			}
			f, err := NewFrom(FromOptions{Fields: o, Type: batch.StructOf(fields...), CorruptRecord: -1})
			if err != nil {
				t.Fatal(err)
			}
			texts := batch.NewBuilder(batch.Of(batch.String), 1)
			texts.AppendText([]byte(text))
			column := texts.Column()
			if _, ferr := f.Append(&column, batch.NewBuilder(batch.StructOf(fields...), 1)); ferr != nil {
				t.Errorf("%s: %v", name, ferr)
			}
		})
	}
}
