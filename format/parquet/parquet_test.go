package parquet_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/parquet/file"
	"pgregory.net/rapid"

	"sluice/batch"
	"sluice/fault"
	"sluice/format/formattest"
	"sluice/format/parquet"
	"sluice/format/parquet/parquettest"
)

// TestRoundTrip writes random rows of random types, nested ones included, and reads them with the library's reader.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rows := formattest.DrawColumns(rt, "rows", nil)
		var data bytes.Buffer
		if err := parquet.Write(&data, &rows, rapid.SampledFrom(parquet.Compressions).Draw(rt, "compression")); err != nil {
			rt.Fatal(err)
		}
		got := formattest.Rows(parquettest.Read(t, data.Bytes(), rows.Fields))
		if want := formattest.Rows(rows); strings.Join(got, "\n") != strings.Join(want, "\n") {
			rt.Fatalf("%s: got\n%s\nwant\n%s", batch.DDL(rows.Fields), strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// TestSchema shows the types as other programs see them.
func TestSchema(t *testing.T) {
	fields, _ := formattest.Fields(t, "a BOOLEAN NOT NULL, b TINYINT, c BIGINT, d FLOAT, e DECIMAL(9,2), f DECIMAL(18,3), g DECIMAL(38,10), h STRING, i BINARY, "+
		"j DATE, k TIMESTAMP, l TIMESTAMP_NTZ, m VARIANT, n STRUCT<x: INT NOT NULL>, o ARRAY<INT>, p MAP<STRING, DOUBLE>")
	rows := formattest.Columns(t, fields, formattest.Builders(fields, 0))
	var data bytes.Buffer
	if err := parquet.Write(&data, &rows, "none"); err != nil {
		t.Fatal(err)
	}
	r, err := file.NewParquetReader(bytes.NewReader(data.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var out bytes.Buffer
	for i := range r.MetaData().Schema.NumColumns() {
		out.WriteString(strings.Join(strings.Fields(r.MetaData().Schema.Column(i).String()), " ") + "\n")
	}
	for _, want := range []string{"path: a, physical_type: BOOLEAN", "Int(bitWidth=8, isSigned=true)", "Decimal(precision=9, scale=2)", "Decimal(precision=38, scale=10)",
		"Timestamp(isAdjustedToUTC=true, timeUnit=microseconds", "Timestamp(isAdjustedToUTC=false, timeUnit=microseconds", "logical_type: JSON", "o.list.element", "p.key_value.key", "p.key_value.value"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// TestRowGroups writes more rows than a row group has.
func TestRowGroups(t *testing.T) {
	fields, _ := formattest.Fields(t, "a INT, b ARRAY<TINYINT>")
	built := formattest.Builders(fields, 0)
	const rows = 1<<20 + 3
	for i := range rows {
		built[0].AppendInt(int64(i))
		if i%1000 == 0 {
			built[1].Child(0).AppendInt(int64(i % 100))
		}
		built[1].AppendNested()
	}
	in := formattest.Columns(t, fields, built)
	var data bytes.Buffer
	if err := parquet.Write(&data, &in, "zstd"); err != nil {
		t.Fatal(err)
	}
	out := parquettest.Read(t, data.Bytes(), fields)
	if out.Len != rows {
		t.Fatalf("%d rows", out.Len)
	}
	for i := range rows {
		if batch.Values[int32](&out.Cols[0])[i] != int32(i) || out.Cols[1].Offsets[i+1]-out.Cols[1].Offsets[i] != uint32(1-min(i%1000, 1)) {
			t.Fatalf("row %d is %s | %s", i, formattest.Value(&out.Cols[0], i), formattest.Value(&out.Cols[1], i))
		}
	}
}

func TestTypesThatParquetDoesNotHave(t *testing.T) {
	fields, _ := formattest.Fields(t, "a ARRAY<STRUCT<>>")
	if err := parquet.Check(fields); !fault.Of(err, fault.UnsupportedTypes) {
		t.Errorf("%v", err)
	}
	if err := parquet.Check([]batch.Field{{Name: "a", Type: batch.Of(batch.Void)}}); !fault.Of(err, fault.UnsupportedTypes) {
		t.Errorf("%v", err)
	}
}

// A null where there must be none is refused: the column has no place for it, so a reader would see a 0.
func TestMissingValuesAreRefused(t *testing.T) {
	b := batch.NewBuilder(batch.Of(batch.Int), 2)
	b.AppendInt(1)
	b.AppendNull()
	rows := &batch.Columns{Fields: []batch.Field{{Name: "id", Type: batch.Of(batch.Int), NotNull: true}}, Cols: []batch.Column{b.Column()}, Len: 2}
	if err := parquet.Write(io.Discard, rows, "none"); !fault.Of(err, fault.CannotEncode) {
		t.Errorf("got %v", err)
	}
}
