package sinktest

import (
	"fmt"
	"math"

	"sluice/batch"
	"sluice/sink"
)

var simpleFields = []batch.Field{
	{Name: "id", Type: batch.Of(batch.BigInt), NotNull: true},
	{Name: "text", Type: batch.Of(batch.String)},
}

// simple returns n rows of simpleFields that start at id from.
func simple(from, n int) batch.Columns {
	id, text := batch.NewBuilder(simpleFields[0].Type, n), batch.NewBuilder(simpleFields[1].Type, n)
	for i := range n {
		id.AppendInt(int64(from + i))
		text.AppendString(fmt.Sprintf("row %d", from+i))
	}
	return batch.Columns{Fields: simpleFields, Cols: []batch.Column{id.Column(), text.Column()}, Len: n}
}

// withChange puts _change_type in front of rows.
func withChange(rows batch.Columns, changes []sink.Change) batch.Columns {
	b := batch.NewBuilder(batch.Of(batch.String), rows.Len)
	for _, c := range changes {
		b.AppendString(c.String())
	}
	return batch.Columns{
		Fields: append([]batch.Field{{Name: "_change_type", Type: batch.Of(batch.String)}}, rows.Fields...),
		Cols:   append([]batch.Column{b.Column()}, rows.Cols...),
		Len:    rows.Len,
	}
}

// AllTypes are columns of every type that a table can have.
func AllTypes() []batch.Field {
	of := func(name string, t batch.Type) batch.Field { return batch.Field{Name: name, Type: t} }
	return []batch.Field{
		{Name: "id", Type: batch.Of(batch.BigInt), NotNull: true},
		of("a_boolean", batch.Of(batch.Boolean)),
		of("a_tinyint", batch.Of(batch.TinyInt)),
		of("a_smallint", batch.Of(batch.SmallInt)),
		of("an_int", batch.Of(batch.Int)),
		of("a_bigint", batch.Of(batch.BigInt)),
		of("a_float", batch.Of(batch.Float)),
		of("a_double", batch.Of(batch.Double)),
		of("a_decimal", batch.DecimalOf(10, 2)),
		of("a_wide_decimal", batch.DecimalOf(38, 10)),
		of("a_string", batch.Of(batch.String)),
		of("a_binary", batch.Of(batch.Binary)),
		of("a_date", batch.Of(batch.Date)),
		of("a_timestamp", batch.Of(batch.Timestamp)),
		of("a_timestamp_ntz", batch.Of(batch.TimestampNTZ)),
		of("a_struct", batch.StructOf(of("x", batch.Of(batch.Int)), of("y", batch.Of(batch.String)))),
		of("an_array", batch.ArrayOf(batch.Of(batch.BigInt))),
		of("a_map", batch.MapOf(batch.Of(batch.String), batch.Of(batch.Double))),
		of("a_variant", batch.Of(batch.Variant)),
	}
}

// everyType returns rows of AllTypes: the ends of each type, odd values, and nulls at every depth.
func everyType(k Kind) batch.Columns {
	var out batch.Columns
	const rows = 4
	for _, f := range AllTypes() {
		if k.Types != nil && !k.Types(f) {
			continue
		}
		b := batch.NewBuilder(f.Type, rows)
		for i := range rows {
			if i == rows-1 && !f.NotNull {
				b.AppendNull()
				continue
			}
			appendValue(b, i, k)
		}
		out.Fields = append(out.Fields, f)
		out.Cols = append(out.Cols, b.Column())
	}
	out.Len = rows
	return out
}

// appendValue appends the i-th value of a type: mostly the lowest, the highest and an odd one.
func appendValue(b *batch.Builder, i int, k Kind) {
	switch b.Type.Kind {
	case batch.Boolean:
		b.AppendBool(i == 1)
	case batch.TinyInt:
		b.AppendInt([]int64{math.MinInt8, math.MaxInt8, 0, 1}[i])
	case batch.SmallInt:
		b.AppendInt([]int64{math.MinInt16, math.MaxInt16, 0, 1}[i])
	case batch.Int:
		b.AppendInt([]int64{math.MinInt32, math.MaxInt32, 0, 1}[i])
	case batch.BigInt:
		b.AppendInt([]int64{math.MinInt64, math.MaxInt64, 1<<53 + 1, 1}[i])
	case batch.Float:
		batch.Append(b, []float32{math.SmallestNonzeroFloat32, math.MaxFloat32, 0.1, 1}[i])
	case batch.Double:
		batch.Append(b, []float64{math.Inf(-1), math.NaN(), math.Copysign(0, -1), 5.170000076293945}[i])
	case batch.Decimal:
		appendDecimal(b, i)
	case batch.String:
		b.AppendString(text(i, k))
	case batch.Binary:
		b.AppendText([][]byte{{}, {0xff, 0x01}, {0, 0, 5, 2}, {1}}[i])
	case batch.Variant:
		b.AppendString([]string{`{"a": [1, null]}`, `12345678901234567890.5`, `"x"`, `true`}[i])
	case batch.Date:
		b.AppendInt([]int64{-719162, 2932896, -1, 0}[i]) // 0001-01-01, 9999-12-31
	case batch.Timestamp, batch.TimestampNTZ:
		b.AppendInt([]int64{-62135596800000000, 253402300799999999, 1711965600123456, -1}[i])
	case batch.Struct, batch.Array, batch.Map:
		appendNested(b, i, k)
	}
}

// appendDecimal appends the lowest, the highest, and 1.5 or 0.
func appendDecimal(b *batch.Builder, i int) {
	if b.Type.Precision <= 18 {
		b.AppendInt([]int64{-9_999_999_999, 9_999_999_999, 150, 0}[i])
		return
	}
	batch.Append(b, []batch.Int128{
		{Lo: 0xf675_ddc0_0000_0001, Hi: -0x4b3b4ca85a86c47b},
		{Lo: 0x098a_223f_ffff_ffff, Hi: 0x4b3b4ca85a86c47a},
		{Lo: 15_000_000_000}, {}}[i])
}

// text returns an odd text that the kind takes: a NUL, letters composed and not, what needs escapes.
func text(i int, k Kind) string {
	s := []string{"", "a\x00b", "é e\u0301 \U0001f600 \u2028", "\"quoted\",\\line\r\nbreak\t"}[i]
	if k.Text != nil && !k.Text(s) {
		return "plain"
	}
	return s
}

func appendNested(b *batch.Builder, i int, k Kind) {
	switch {
	case b.Type.Kind == batch.Struct:
		for f := range b.Type.Fields {
			if i == 2 && f == 0 {
				b.Child(f).AppendNull()
			} else {
				appendValue(b.Child(f), i, k)
			}
		}
	case b.Type.Kind == batch.Array && i > 0:
		appendValue(b.Child(0), 0, k)
		b.Child(0).AppendNull()
		appendValue(b.Child(0), 1, k)
	case b.Type.Kind == batch.Map && i > 0:
		b.Child(0).AppendString("first")
		appendValue(b.Child(1), 2, k)
		b.Child(0).AppendString("second")
		b.Child(1).AppendNull()
	}
	b.AppendNested()
}
