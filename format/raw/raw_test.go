package raw

import (
	"reflect"
	"testing"

	"sluice/batch"
	"sluice/fault"
	"sluice/format/formattest"
)

func TestDecode(t *testing.T) {
	values := [][]byte{[]byte("a\x00b"), {}, {0xff, 0x01}, []byte("é")}
	for _, c := range []struct {
		ddl     string
		mode    batch.Mode
		corrupt int
		want    string
	}{
		{"value BINARY", batch.FailFast, -1, "X'610062'\nX''\nX'FF01'\nX'C3A9'\n"},
		{"Value STRING", batch.DropMalformed, -1, "\"a\\x00b\"\n\"\"\nbad: INVALID_UTF8_STRING: column value: the record is not UTF-8; hint: declare it BINARY\n\"é\"\n"},
		{"_corrupt_record BINARY, value STRING", batch.Permissive, 0, "NULL | \"a\\x00b\"\nNULL | \"\"\nbad: INVALID_UTF8_STRING: column value: the record is not UTF-8; hint: declare it BINARY\n  kept: X'FF01' | NULL\nNULL | \"é\"\n"},
		{"_corrupt_record STRING, value STRING", batch.Permissive, 0, "NULL | \"a\\x00b\"\nNULL | \"\"\nbad: INVALID_UTF8_STRING: column value: the record is not UTF-8; hint: declare it BINARY\n  kept: \"�\\x01\" | NULL\nNULL | \"é\"\n"},
	} {
		fields, _ := formattest.Fields(t, c.ddl)
		d, err := NewDecoder(Options{fields, c.mode, c.corrupt})
		if err != nil {
			t.Fatal(err)
		}
		built := formattest.Builders(fields, 0)
		if got := formattest.Decoded(t, fields, built, d.Decode(values, built), len(values)); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.ddl, got, c.want)
		}
	}
}

func TestOtherColumnsAreRefused(t *testing.T) {
	for _, ddl := range []string{"v BINARY", "value INT", "value BINARY, value STRING"} {
		fields, _ := formattest.Fields(t, ddl)
		if _, err := NewDecoder(Options{fields, batch.FailFast, -1}); !fault.Of(err, fault.UnsupportedTypes) {
			t.Errorf("reading %s: %v", ddl, err)
		}
	}
	fields, _ := formattest.Fields(t, "a STRING, b STRING")
	if _, err := NewEncoder(fields, false); !fault.Of(err, fault.UnsupportedTypes) {
		t.Errorf("writing: %v", err)
	}
}

func TestEncode(t *testing.T) {
	fields, _ := formattest.Fields(t, "v BINARY")
	built := formattest.Builders(fields, 0)
	built[0].AppendText([]byte{1, 0})
	built[0].AppendText(nil)
	built[0].AppendNull()
	rows := formattest.Columns(t, fields, built)
	e, err := NewEncoder(fields, false)
	if err != nil {
		t.Fatal(err)
	}
	dst, ends, err := e.Encode(nil, nil, &rows, 0, 2)
	if err != nil || string(dst) != "\x01\x00" || !reflect.DeepEqual(ends, []int{2, 2}) {
		t.Errorf("%q %v %v", dst, ends, err)
	}
	if _, _, err := e.Encode(nil, nil, &rows, 2, 3); !fault.Of(err, fault.CannotEncode) {
		t.Errorf("a NULL: %v", err)
	}
}
