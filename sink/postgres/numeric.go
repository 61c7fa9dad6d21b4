package postgres

import (
	"encoding/binary"
	"math/bits"

	"sluice/batch"
)

// appendNumeric writes v / 10^scale as numeric: digits to the base 10000, the weight of the first, sign and scale.
func appendNumeric(b []byte, v batch.Int128, scale int) []byte {
	negative := v.Hi < 0
	hi, lo := uint64(v.Hi), v.Lo
	if negative {
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		hi, _ = bits.Sub64(0, hi, borrow)
	}
	// The point stands between two digits to the base 10000, so the last of the fraction is filled up with zeros.
	fill := (4 - scale%4) % 4
	var digits [12]uint16 // 38 decimal digits and the filling, lowest first
	n := 0
	for first := true; hi != 0 || lo != 0; first = false {
		base := uint64(10000)
		if first {
			base = [4]uint64{10000, 1000, 100, 10}[fill]
		}
		var digit uint64
		hi, digit = hi/base, hi%base
		lo, digit = bits.Div64(digit, lo, base)
		if first {
			digit *= 10000 / base
		}
		digits[n] = uint16(digit)
		n++
	}
	weight := n - 1 - (scale+3)/4
	low := 0 // trailing zeros are left out
	for low < n && digits[low] == 0 {
		low++
	}
	if n == 0 {
		weight = 0
	}
	sign := uint16(0)
	if negative {
		sign = 0x4000
	}
	b = fixed(b, uint32(8+2*(n-low)))
	b = binary.BigEndian.AppendUint16(b, uint16(n-low))
	b = binary.BigEndian.AppendUint16(b, uint16(int16(weight)))
	b = binary.BigEndian.AppendUint16(b, sign)
	b = binary.BigEndian.AppendUint16(b, uint16(scale))
	for i := n - 1; i >= low; i-- {
		b = binary.BigEndian.AppendUint16(b, digits[i])
	}
	return b
}
