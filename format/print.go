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

const hex = "0123456789abcdef"

// AppendJSONString appends valid UTF-8 as a JSON string; only quotes, backslashes and control characters are escaped.
func AppendJSONString(dst, text []byte) []byte {
	dst = append(dst, '"')
	start := 0
	for i, c := range text {
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, text[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(append(dst, text[start:]...), '"')
}

// AppendJavaFloat appends a FLOAT or DOUBLE as Java does from version 19 on: with the fewest digits that give it back, but two at
// least, plain from 0.001 up to ten million, else with an exponent.
func AppendJavaFloat(dst []byte, x float64, size int) []byte {
	switch a := math.Abs(x); {
	case math.IsNaN(x):
		return append(dst, "NaN"...)
	case math.IsInf(x, 0):
		if x < 0 {
			dst = append(dst, '-')
		}
		return append(dst, "Infinity"...)
	case a == 0 || a >= 1e-3 && a < 1e7:
		start := len(dst)
		dst = strconv.AppendFloat(dst, x, 'f', -1, size)
		for _, c := range dst[start:] {
			if c == '.' {
				return dst
			}
		}
		return append(dst, '.', '0')
	}
	var memory [32]byte
	text := strconv.AppendFloat(memory[:0], x, 'e', -1, size) // d[.ddd]e±dd
	mantissa := 0
	for text[mantissa] != 'e' {
		mantissa++
	}
	if mantissa == 1 || mantissa == 2 && text[0] == '-' { // of two digits the nearest, which for the smallest numbers is not d.0
		text = strconv.AppendFloat(memory[:0], x, 'e', 1, size)
		mantissa += 2
	}
	dst = append(append(dst, text[:mantissa]...), 'E')
	exponent := text[mantissa+1:]
	if exponent[0] == '-' {
		dst = append(dst, '-')
	}
	exponent = exponent[1:]
	for len(exponent) > 1 && exponent[0] == '0' {
		exponent = exponent[1:]
	}
	return append(dst, exponent...)
}
