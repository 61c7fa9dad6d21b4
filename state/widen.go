package state

import (
	"math/bits"

	"sluice/batch"
)

// widens reports whether stored values of a type can be read as the other without loss (D-35).
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
	}
	return false
}

const microsPerDay = 24 * 60 * 60 * 1_000_000

// appendWidened appends the value of row i of c, which widens to b's type.
func appendWidened(b *batch.Builder, c *batch.Column, i int) {
	if c.IsNull(i) {
		b.AppendNull()
		return
	}
	switch c.Type.Kind {
	case batch.TinyInt:
		b.AppendInt(int64(batch.Values[int8](c)[i]))
	case batch.SmallInt:
		b.AppendInt(int64(batch.Values[int16](c)[i]))
	case batch.Int:
		b.AppendInt(int64(batch.Values[int32](c)[i]))
	case batch.Float:
		batch.Append(b, float64(batch.Values[float32](c)[i]))
	case batch.Date:
		b.AppendInt(int64(batch.Values[int32](c)[i]) * microsPerDay)
	case batch.Decimal:
		appendRescaled(b, c, i)
	default:
		b.AppendFrom(c, i)
	}
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
