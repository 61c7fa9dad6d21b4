package state

import (
	"math/bits"
	"slices"

	"sluice/batch"
)

// widens reports whether stored values of a type can be read as the other without loss (D-35). A STRUCT, the elements of an ARRAY
// and the values of a MAP widen as columns do; a STRUCT may get fields, which are NULL in old values, and loses none. The keys of
// a MAP stay as they are.
func widens(from, to batch.Type) bool {
	switch {
	case from.Equal(to):
		return true
	case from.IsInteger() && to.IsInteger():
		return from.Kind < to.Kind
	case from.Kind == batch.Float:
		return to.Kind == batch.Double
	case from.Kind == batch.Date:
		return to.Kind == batch.TimestampNTZ
	case from.Kind == batch.Decimal && to.Kind == batch.Decimal:
		return to.Scale >= from.Scale && to.Precision-to.Scale >= from.Precision-from.Scale
	case from.Kind == batch.Struct && to.Kind == batch.Struct:
		return structWidens(from.Fields, to.Fields)
	case from.Kind == batch.Array && to.Kind == batch.Array:
		return widens(from.Fields[0].Type, to.Fields[0].Type)
	case from.Kind == batch.Map && to.Kind == batch.Map:
		return from.Fields[0].Type.Equal(to.Fields[0].Type) && widens(from.Fields[1].Type, to.Fields[1].Type)
	}
	return false
}

func structWidens(from, to []batch.Field) bool {
	for _, f := range from {
		at := fieldNamed(to, f.Name)
		if at < 0 || !widens(f.Type, to[at].Type) {
			return false
		}
	}
	return true
}

// fieldNamed is the index of the field of a STRUCT with a name, or -1.
func fieldNamed(fields []batch.Field, name string) int {
	return slices.IndexFunc(fields, func(f batch.Field) bool { return f.Name == name })
}

const microsPerDay = 24 * 60 * 60 * 1_000_000

// appendWidened appends the value of row i of c, which widens to b's type.
func appendWidened(b *batch.Builder, c *batch.Column, i int) {
	switch {
	case c.IsNull(i):
		b.AppendNull()
		return
	case c.Type.Equal(b.Type): // a part of a nested value that stayed as it was
		b.AppendFrom(c, i)
		return
	}
	switch c.Type.Kind {
	case batch.TinyInt, batch.SmallInt, batch.Int:
		b.AppendInt(c.Int(i))
	case batch.Float:
		batch.Append(b, float64(batch.Values[float32](c)[i]))
	case batch.Date:
		b.AppendInt(c.Int(i) * microsPerDay)
	case batch.Decimal:
		appendRescaled(b, c, i)
	case batch.Struct:
		appendWidenedStruct(b, c, i)
	default: // ARRAY and MAP
		for f := range c.Children {
			for j := c.Offsets[i]; j < c.Offsets[i+1]; j++ {
				appendWidened(b.Child(f), &c.Children[f], int(j))
			}
		}
		b.AppendNested()
	}
}

// appendWidenedStruct appends a STRUCT field by field, found by their names; one that c does not have is NULL.
func appendWidenedStruct(b *batch.Builder, c *batch.Column, i int) {
	for to, f := range b.Type.Fields {
		if from := fieldNamed(c.Type.Fields, f.Name); from >= 0 {
			appendWidened(b.Child(to), &c.Children[from], i)
		} else {
			b.Child(to).AppendNull()
		}
	}
	b.AppendNested()
}

func appendRescaled(b *batch.Builder, c *batch.Column, i int) {
	var v batch.Int128
	if c.Type.Width() == 8 {
		n := batch.Values[int64](c)[i]
		v = batch.Int128{Lo: uint64(n), Hi: n >> 63}
	} else {
		v = batch.Values[batch.Int128](c)[i]
	}
	for range b.Type.Scale - c.Type.Scale {
		hi, lo := bits.Mul64(v.Lo, 10)
		v = batch.Int128{Lo: lo, Hi: v.Hi*10 + int64(hi)}
	}
	if b.Type.Width() == 8 {
		batch.Append(b, int64(v.Lo))
	} else {
		batch.Append(b, v)
	}
}

// widen returns c with the wider type.
func widen(c *batch.Column, to batch.Type) batch.Column {
	b := batch.NewBuilder(to, c.Len)
	for i := range c.Len {
		appendWidened(b, c, i)
	}
	return b.Column()
}
