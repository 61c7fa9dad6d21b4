package format

import (
	"encoding/binary"

	"sluice/batch"
)

// SimpleNumber reads a number of at most 18 digits without an exponent at src[i:], as nearly all are: its digits and how
// many of them are behind the point. It is not ok for other numbers and for what is no number; the caller then looks
// closer. What follows the number is the caller's to check, except that it continues no number.
func SimpleNumber(src []byte, i int) (digits uint64, scale int, negative bool, next int, ok bool) {
	if i < len(src) && src[i] == '-' {
		negative = true
		i++
	}
	start := i
	digits, i = run(src, i, 0, 18)
	whole := i - start
	if whole == 0 || whole > 1 && src[start] == '0' {
		return 0, 0, false, 0, false
	}
	if i < len(src) && src[i] == '.' {
		point := i
		digits, i = run(src, i+1, digits, 18-whole)
		if scale = i - point - 1; scale == 0 {
			return 0, 0, false, 0, false
		}
	}
	if i < len(src) && (src[i]-'0' <= 9 || src[i] == '.' || src[i]|0x20 == 'e') {
		return 0, 0, false, 0, false
	}
	return digits, scale, negative, i, true
}

// run reads a run of at most room digits behind the digits v.
func run(src []byte, i int, v uint64, room int) (value uint64, next int) {
	if room >= 8 && len(src)-i >= 8 {
		if w := binary.LittleEndian.Uint64(src[i:]); allDigits(w) {
			v, i, room = v*1e8+eightDigits(w), i+8, room-8
		}
	}
	for ; room > 0 && i < len(src); room-- {
		c := src[i] - '0'
		if c > 9 {
			break
		}
		v = v*10 + uint64(c)
		i++
	}
	return v, i
}

const ones = 0x0101010101010101

// allDigits reports whether the eight bytes of w are digits: the high half is 3, and adding 6 does not carry into it.
func allDigits(w uint64) bool {
	const high = 0xf0f0f0f0f0f0f0f0
	return w&high == '0'*ones && (w+6*ones)&high == '0'*ones
}

// eightDigits reads eight digits, the first in the lowest byte: neighbours are joined to pairs, pairs to fours, fours to
// the whole.
func eightDigits(w uint64) uint64 {
	w -= '0' * ones
	w = w*10 + w>>8
	return (w&0x000000ff000000ff*(100+1000000<<32) + w>>16&0x000000ff000000ff*(1+10000<<32)) >> 32
}

// SimpleDecimal returns a SimpleNumber as the unscaled value of a DECIMAL type of at most 18 digits. It is not ok for
// wider types and for what has to be looked at closer.
func SimpleDecimal(t batch.Type, digits uint64, scale int, negative bool) (unscaled int64, ok bool) {
	precision, want := int(t.Precision), int(t.Scale)
	if precision > 18 || scale > want || digits >= powers[precision-want+scale] {
		return 0, false
	}
	return signed(digits*powers[want-scale], negative), true
}

func signed(digits uint64, negative bool) int64 {
	if negative {
		return -int64(digits)
	}
	return int64(digits)
}

// floatPowers are the powers of ten that a float64 holds exactly and that can stand behind at most 18 digits.
var floatPowers = [19]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18}

// SimpleFloat returns a SimpleNumber as the float64 that reading its text gives. It is not ok for more digits than a
// float64 holds.
func SimpleFloat(digits uint64, scale int, negative bool) (v float64, ok bool) {
	if digits > 1<<53 {
		return 0, false
	}
	// Both operands are exact, so the one division rounds once, as reading the text does.
	v = float64(digits) / floatPowers[scale]
	if negative {
		v = -v // of 0 too
	}
	return v, true
}
