package format

import (
	"encoding/base64"
	"math"
	"strconv"

	"sluice/batch"
)

// AppendFloat appends the shortest text that reads back as the same float, with a point or an exponent, so that a reader
// that guesses types takes it for a float and -0.0 keeps its sign. What is no number is NaN, Infinity or -Infinity.
func AppendFloat(dst []byte, f float64, bits int) []byte {
	switch {
	case f != f:
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	}
	form := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		form = 'e'
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, form, -1, bits)
	if form == 'e' {
		return dst
	}
	for _, c := range dst[start:] {
		if c == '.' {
			return dst
		}
	}
	return append(dst, '.', '0')
}

// AppendScalar appends row i of a column, which is not null, as the text that Scalars.Append reads. It is not ok for
// types that Append does not take.
func AppendScalar(dst []byte, c *batch.Column, i int) (out []byte, ok bool) {
	switch c.Type.Kind {
	case batch.Boolean:
		return strconv.AppendBool(dst, batch.Values[uint8](c)[i] != 0), true
	case batch.TinyInt:
		return strconv.AppendInt(dst, int64(batch.Values[int8](c)[i]), 10), true
	case batch.SmallInt:
		return strconv.AppendInt(dst, int64(batch.Values[int16](c)[i]), 10), true
	case batch.Int:
		return strconv.AppendInt(dst, int64(batch.Values[int32](c)[i]), 10), true
	case batch.BigInt:
		return strconv.AppendInt(dst, batch.Values[int64](c)[i], 10), true
	case batch.Float:
		return AppendFloat(dst, float64(batch.Values[float32](c)[i]), 32), true
	case batch.Double:
		return AppendFloat(dst, batch.Values[float64](c)[i], 64), true
	case batch.Decimal:
		return AppendDecimal(dst, DecimalAt(c, i), int(c.Type.Scale)), true
	case batch.Date:
		return AppendDate(dst, batch.Values[int32](c)[i]), true
	case batch.Timestamp:
		return append(AppendTimestamp(dst, batch.Values[int64](c)[i]), 'Z'), true
	case batch.TimestampNTZ:
		return AppendTimestamp(dst, batch.Values[int64](c)[i]), true
	case batch.String:
		return append(dst, c.Text(i)...), true
	case batch.Binary:
		return base64.StdEncoding.AppendEncode(dst, c.Text(i)), true
	}
	return dst, false
}
