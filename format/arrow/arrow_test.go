package arrow_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sluice/batch"
	"sluice/fault"
	"sluice/format/arrow"
	"sluice/format/arrow/arrowtest"
	"sluice/format/formattest"
)

// TestRoundTrip writes random rows of random types, nested ones included, and reads them with the library's reader.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rows := formattest.DrawColumns(rt, "rows", nil)
		var data bytes.Buffer
		if err := arrow.WriteStream(&data, &rows); err != nil {
			rt.Fatal(err)
		}
		got := formattest.Rows(arrowtest.Read(t, &data, rows.Fields))
		if want := formattest.Rows(rows); strings.Join(got, "\n") != strings.Join(want, "\n") {
			rt.Fatalf("%s: got\n%s\nwant\n%s", batch.DDL(rows.Fields), strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// TestSchema shows the types as other programs see them.
func TestSchema(t *testing.T) {
	fields, _ := formattest.Fields(t, "a BOOLEAN NOT NULL, b DECIMAL(10,2), c TIMESTAMP, d TIMESTAMP_NTZ, e VARIANT, f ARRAY<INT>, g MAP<STRING, DOUBLE>, h STRUCT<x: BINARY>")
	got, err := arrow.Schema(fields)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(got.String()), " ")
	for _, want := range []string{"a: type=bool -", "b: type=decimal(10, 2), nullable", "c: type=timestamp[us, tz=UTC]", "d: type=timestamp[us], nullable", "e: type=extension<arrow.json",
		"f: type=list<element: int32", "g: type=map<utf8, float64", "h: type=struct<x: binary nullable>"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	if _, err := arrow.Schema([]batch.Field{{Name: "a", Type: batch.ArrayOf(batch.Of(batch.Interval))}}); !fault.Of(err, fault.UnsupportedTypes) {
		t.Errorf("%v", err)
	}
}

// A null where there must be none is refused: the column has no place for it, so a reader would see a 0.
func TestMissingValuesAreRefused(t *testing.T) {
	b := batch.NewBuilder(batch.Of(batch.Int), 2)
	b.AppendInt(1)
	b.AppendNull()
	rows := &batch.Columns{Fields: []batch.Field{{Name: "id", Type: batch.Of(batch.Int), NotNull: true}}, Cols: []batch.Column{b.Column()}, Len: 2}
	if err := arrow.WriteStream(io.Discard, rows); !fault.Of(err, fault.CannotEncode) {
		t.Errorf("got %v", err)
	}
}
