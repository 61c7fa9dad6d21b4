package formattest

import (
	"fmt"
	"math"

	"pgregory.net/rapid"

	"sluice/batch"
)

// DrawColumns draws up to five rows of up to four columns of random types, nested ones included, of which allowed says
// which may occur (nil: all). Values are those a table can hold: UTF-8, valid JSON, years 0001 to 9999.
func DrawColumns(t *rapid.T, label string, allowed func(batch.Type) bool) batch.Columns {
	rows := rapid.IntRange(0, 5).Draw(t, label+" rows")
	out := batch.Columns{Len: rows}
	for i := range rapid.IntRange(1, 4).Draw(t, label+" columns") {
		f := batch.Field{Name: fmt.Sprintf("c%d", i), Type: drawType(t, allowed, 2)}
		b := batch.NewBuilder(f.Type, 0)
		for range rows {
			drawValue(t, b)
		}
		out.Fields = append(out.Fields, f)
		out.Cols = append(out.Cols, b.Column())
	}
	return out
}

func drawType(t *rapid.T, allowed func(batch.Type) bool, depth int) batch.Type {
	for {
		k := batch.Kind(rapid.IntRange(int(batch.Boolean), int(batch.Variant)).Draw(t, "kind"))
		typ := batch.Of(k)
		switch k {
		case batch.Interval:
			continue
		case batch.Decimal:
			precision := rapid.IntRange(1, 38).Draw(t, "precision")
			typ = batch.DecimalOf(precision, rapid.IntRange(0, precision).Draw(t, "scale"))
		case batch.Struct, batch.Array, batch.Map:
			if depth == 0 {
				continue
			}
			typ = drawNestedType(t, k, allowed, depth-1)
		}
		if allowed == nil || allowed(typ) {
			return typ
		}
	}
}

func drawNestedType(t *rapid.T, k batch.Kind, allowed func(batch.Type) bool, depth int) batch.Type {
	switch k {
	case batch.Array:
		return batch.ArrayOf(drawType(t, allowed, depth))
	case batch.Map:
		return batch.MapOf(batch.Of(batch.String), drawType(t, allowed, depth))
	}
	var members []batch.Field
	for i := range rapid.IntRange(1, 3).Draw(t, "members") {
		members = append(members, batch.Field{Name: fmt.Sprintf("m%d", i), Type: drawType(t, allowed, depth)})
	}
	return batch.StructOf(members...)
}

func drawValue(t *rapid.T, b *batch.Builder) {
	if rapid.IntRange(0, 3).Draw(t, "null") == 0 {
		b.AppendNull()
		return
	}
	switch b.Type.Kind {
	case batch.Boolean:
		b.AppendBool(rapid.Bool().Draw(t, "boolean"))
	case batch.TinyInt:
		batch.Append(b, rapid.Int8().Draw(t, "tinyint"))
	case batch.SmallInt:
		batch.Append(b, rapid.Int16().Draw(t, "smallint"))
	case batch.Int:
		batch.Append(b, rapid.Int32().Draw(t, "int"))
	case batch.BigInt:
		batch.Append(b, rapid.Int64().Draw(t, "bigint"))
	case batch.Float:
		batch.Append(b, rapid.OneOf(rapid.Float32(), rapid.SampledFrom([]float32{float32(math.NaN()), float32(math.Inf(1)), 0})).Draw(t, "float"))
	case batch.Double:
		batch.Append(b, rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{math.NaN(), math.Inf(-1), math.Copysign(0, -1)})).Draw(t, "double"))
	case batch.Decimal:
		drawDecimal(t, b)
	case batch.String:
		b.AppendString(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "\x00", "\"\\\r\n,", "NULL", " "})).Draw(t, "string"))
	case batch.Binary:
		b.AppendText(rapid.SliceOfN(rapid.Byte(), 0, 10).Draw(t, "binary"))
	case batch.Variant:
		b.AppendString(rapid.SampledFrom([]string{"1", `"x"`, "true", `{"a": [1, {"b":null}]}`, "1.50", "[]"}).Draw(t, "variant"))
	case batch.Date:
		batch.Append(b, rapid.Int32Range(-719162, 2932896).Draw(t, "date"))
	case batch.Timestamp, batch.TimestampNTZ:
		batch.Append(b, rapid.Int64Range(-62135596800000000, 253402300799999999).Draw(t, "timestamp"))
	default:
		drawNested(t, b)
	}
}

func drawDecimal(t *rapid.T, b *batch.Builder) {
	if b.Type.Precision <= 18 {
		limit := int64(math.Pow10(int(b.Type.Precision))) - 1
		batch.Append(b, rapid.Int64Range(-limit, limit).Draw(t, "decimal"))
		return
	}
	if b.Type.Precision == 38 {
		const most = 0x4b3b4ca85a86c47a // the high word of 10^38
		batch.Append(b, batch.Int128{Lo: rapid.Uint64().Draw(t, "low"), Hi: rapid.Int64Range(-most, most-1).Draw(t, "high")})
		return
	}
	v := rapid.Int64Range(-1e18+1, 1e18-1).Draw(t, "decimal")
	batch.Append(b, batch.Int128{Lo: uint64(v), Hi: v >> 63})
}

func drawNested(t *rapid.T, b *batch.Builder) {
	n := 1
	if b.Type.Kind != batch.Struct {
		n = rapid.IntRange(0, 3).Draw(t, "elements")
	}
	for i := range n {
		for c := range b.Type.Fields {
			if b.Type.Kind == batch.Map && c == 0 {
				b.Child(0).AppendString(fmt.Sprintf("key %d", i))
			} else {
				drawValue(t, b.Child(c))
			}
		}
	}
	b.AppendNested()
}
