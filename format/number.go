package format

import (
	"math/bits"
	"strconv"

	"sluice/batch"
)

// Number is a decimal number as it was written, exactly: Coefficient * 10^Exponent, never through a float (D-8). The
// coefficient has no trailing zeros unless it is zero.
type Number struct {
	Negative    bool
	Coefficient batch.Int128 // not negative, below 10^38
	Exponent    int          // of ten
	Wide        bool         // more than 38 significant digits: it is no integer or decimal of SQL
}

// maxExponent bounds exponents; nothing beyond can be represented, whatever the coefficient.
const maxExponent = 1 << 20

// ParseNumber reads text that is a number by JSON's grammar.
func ParseNumber(text []byte) Number {
	var n Number
	if text[0] == '-' {
		n.Negative = true
		text = text[1:]
	}
	digits, zeros := 0, 0 // significant digits taken, zeros behind them not yet taken
	point := false
	i := 0
	for ; i < len(text); i++ {
		c := text[i]
		if c == '.' {
			point = true
			continue
		}
		d := c - '0'
		if d > 9 {
			break
		}
		if point {
			n.Exponent--
		}
		if d == 0 {
			if digits > 0 {
				zeros++
			}
			continue
		}
		if digits += zeros + 1; digits > 38 {
			n.Wide = true
			return n
		}
		n.Coefficient = timesPow10(n.Coefficient, zeros+1)
		n.Coefficient = add128(n.Coefficient, batch.Int128{Lo: uint64(d)})
		zeros = 0
	}
	n.Exponent += zeros
	if i < len(text) {
		n.Exponent += parseExponent(text[i+1:])
	}
	if digits == 0 {
		n.Exponent = 0
	}
	return n
}

func parseExponent(text []byte) int {
	negative := text[0] == '-'
	if negative || text[0] == '+' {
		text = text[1:]
	}
	e := 0
	for _, c := range text {
		if e = e*10 + int(c-'0'); e > maxExponent {
			e = maxExponent
		}
	}
	if negative {
		return -e
	}
	return e
}

// Scaled returns the number times 10^scale when that is a whole number of at most precision digits.
func (n Number) Scaled(precision, scale int) (batch.Int128, bool) {
	v, shift := n.Coefficient, n.Exponent+scale
	if n.Wide {
		return v, false
	}
	if v == (batch.Int128{}) {
		return v, true
	}
	if shift < 0 || shift > precision || !less128(v, timesPow10(batch.Int128{Lo: 1}, precision-shift)) {
		return v, false
	}
	v = timesPow10(v, shift)
	if n.Negative {
		v = Negate(v)
	}
	return v, true
}

// Int64 returns the number when it is a whole one that fits (A-17: 1, 1.0 and 1e0 are the integer 1).
func (n Number) Int64() (int64, bool) {
	v, ok := n.Scaled(19, 0)
	return int64(v.Lo), ok && v.Hi == int64(v.Lo)>>63
}

// powers of ten up to 10^19, all that fit an unsigned word.
var powers = [20]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19}

// timesPow10 returns v * 10^n for a v that is not negative; the caller knows that it fits 127 bits.
func timesPow10(v batch.Int128, n int) batch.Int128 {
	for n > 0 {
		step := min(n, 19)
		hi, lo := bits.Mul64(v.Lo, powers[step])
		v = batch.Int128{Lo: lo, Hi: int64(hi + uint64(v.Hi)*powers[step])}
		n -= step
	}
	return v
}

func add128(a, b batch.Int128) batch.Int128 {
	lo, carry := bits.Add64(a.Lo, b.Lo, 0)
	hi, _ := bits.Add64(uint64(a.Hi), uint64(b.Hi), carry)
	return batch.Int128{Lo: lo, Hi: int64(hi)}
}

// less128 compares values that are not negative.
func less128(a, b batch.Int128) bool { return a.Hi < b.Hi || a.Hi == b.Hi && a.Lo < b.Lo }

// Negate returns -v.
func Negate(v batch.Int128) batch.Int128 {
	lo, borrow := bits.Sub64(0, v.Lo, 0)
	hi, _ := bits.Sub64(0, uint64(v.Hi), borrow)
	return batch.Int128{Lo: lo, Hi: int64(hi)}
}

// AppendDecimal appends an unscaled decimal with its scale: all digits of the scale, no exponent.
func AppendDecimal(dst []byte, v batch.Int128, scale int) []byte {
	if v.Hi < 0 {
		dst = append(dst, '-')
		v = Negate(v)
	}
	var digits [40]byte
	text := appendUint128(digits[:0], uint64(v.Hi), v.Lo)
	if scale == 0 {
		return append(dst, text...)
	}
	whole := len(text) - scale
	if whole <= 0 {
		dst = append(dst, '0', '.')
		for ; whole < 0; whole++ {
			dst = append(dst, '0')
		}
		return append(dst, text...)
	}
	dst = append(append(dst, text[:whole]...), '.')
	return append(dst, text[whole:]...)
}

// appendUint128 appends a value below 10^38.
func appendUint128(dst []byte, hi, lo uint64) []byte {
	if hi == 0 {
		return strconv.AppendUint(dst, lo, 10)
	}
	quotient, rest := bits.Div64(hi, lo, powers[19])
	dst = strconv.AppendUint(dst, quotient, 10)
	for n := 18; n >= 0; n-- {
		dst = append(dst, byte('0'+rest/powers[n]%10))
	}
	return dst
}

// DecimalAt returns row i of a DECIMAL column, unscaled.
func DecimalAt(c *batch.Column, i int) batch.Int128 {
	if c.Type.Precision <= 18 {
		v := batch.Values[int64](c)[i]
		return batch.Int128{Lo: uint64(v), Hi: v >> 63}
	}
	return batch.Values[batch.Int128](c)[i]
}

// AppendDecimalValue appends an unscaled value to the builder of a DECIMAL column of either width.
func AppendDecimalValue(b *batch.Builder, v batch.Int128) {
	if b.Type.Precision <= 18 {
		batch.Append(b, int64(v.Lo))
		return
	}
	batch.Append(b, v)
}

// IsNumber reports whether text is one number by JSON's grammar: -?(0|[1-9][0-9]*)(.[0-9]+)?([eE][+-]?[0-9]+)?
func IsNumber(text []byte) bool {
	i := 0
	if i < len(text) && text[i] == '-' {
		i++
	}
	whole := digits(text[i:])
	if whole == 0 || whole > 1 && text[i] == '0' {
		return false
	}
	if i += whole; i < len(text) && text[i] == '.' {
		n := digits(text[i+1:])
		if n == 0 {
			return false
		}
		i += n + 1
	}
	if i < len(text) && (text[i] == 'e' || text[i] == 'E') {
		if i++; i < len(text) && (text[i] == '+' || text[i] == '-') {
			i++
		}
		n := digits(text[i:])
		if n == 0 {
			return false
		}
		i += n
	}
	return i == len(text)
}

// digits counts the digits at the start of text.
func digits(text []byte) int {
	i := 0
	for i < len(text) && text[i]-'0' <= 9 {
		i++
	}
	return i
}

// AppendJavaDecimal appends an unscaled decimal as Java's BigDecimal.toString does: with an exponent below 0.000001.
func AppendJavaDecimal(dst []byte, v batch.Int128, scale int) []byte {
	start := len(dst)
	dst = AppendDecimal(dst, v, 0)
	first := start
	if dst[first] == '-' {
		first++
	}
	exponent := len(dst) - first - 1 - scale
	if scale == 0 || exponent >= -6 {
		return AppendDecimal(dst[:start], v, scale)
	}
	if len(dst)-first > 1 {
		dst = append(dst, 0)
		copy(dst[first+2:], dst[first+1:])
		dst[first+1] = '.'
	}
	return strconv.AppendInt(append(dst, 'E'), int64(exponent), 10)
}
