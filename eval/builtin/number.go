package builtin

import (
	"bytes"
	"math"
	"math/bits"
	"strconv"

	"sluice/batch"
	"sluice/fault"
)

var numbers = map[string]func(*Spec) (Function, error){
	"shiftleft": shifting(func(v int64, n uint, width int) int64 { return v << n }), "shiftright": shifting(func(v int64, n uint, width int) int64 { return v >> n }),
	"shiftrightunsigned": shifting(func(v int64, n uint, width int) int64 { return int64(uint64(v) << (64 - width) >> (64 - width) >> n) }),
	"conv":               plain(conv), "bin": plain(bin), "bit_get": plain(bitGet), "bround": newBround, "round_decimal": newRoundDecimal, "factorial": plain(factorial),
	"rint": ofDouble(math.RoundToEven), "expm1": ofDouble(math.Expm1),
	"log1p": plain(func(args []batch.Column, i int, out *batch.Builder) *fault.Error {
		if x := doubleAt(&args[0], i); x <= -1 {
			out.AppendNull()
		} else {
			batch.Append(out, math.Log1p(x))
		}
		return nil
	}),
}

func ofDouble(f func(float64) float64) func(*Spec) (Function, error) {
	return plain(func(args []batch.Column, i int, out *batch.Builder) *fault.Error {
		batch.Append(out, f(doubleAt(&args[0], i)))
		return nil
	})
}

// shifting makes a shift of an INT or a BIGINT, by as many bits as the low bits of the second argument say.
func shifting(shift func(v int64, n uint, width int) int64) func(*Spec) (Function, error) {
	return plain(func(args []batch.Column, i int, out *batch.Builder) *fault.Error {
		width := 8 * out.Type.Width()
		v := shift(args[0].Int(i), uint(int32At(&args[1], i)&(width-1)), width)
		if width == 32 {
			v = int64(int32(v))
		}
		out.AppendInt(v)
		return nil
	})
}

func bin(args []batch.Column, i int, out *batch.Builder) *fault.Error {
	var memory [64]byte
	out.AppendText(strconv.AppendUint(memory[:0], uint64(int64At(&args[0], i)), 2))
	return nil
}

func bitGet(args []batch.Column, i int, out *batch.Builder) *fault.Error {
	n, width := int32At(&args[1], i), 8*args[0].Type.Width()
	if n < 0 || n >= width {
		return fault.New(fault.InvalidParameter, "the bit %d is asked for, of %d", n, width)
	}
	out.AppendInt(args[0].Int(i) >> n & 1)
	return nil
}

func factorial(args []batch.Column, i int, out *batch.Builder) *fault.Error {
	n := int32At(&args[0], i)
	if n < 0 || n > 20 {
		out.AppendNull()
		return nil
	}
	product := int64(1)
	for f := int64(2); f <= int64(n); f++ {
		product *= f
	}
	batch.Append(out, product)
	return nil
}

// conv writes the number that a text starts with, in another base. It is taken for unsigned where the new base is positive.
func conv(args []batch.Column, i int, out *batch.Builder) *fault.Error {
	text, from, to := bytes.Trim(args[0].Text(i), " "), int32At(&args[1], i), int32At(&args[2], i)
	base := to
	if base < 0 {
		base = -base
	}
	if from < 2 || from > 36 || base < 2 || base > 36 || len(text) == 0 {
		out.AppendNull()
		return nil
	}
	negative := text[0] == '-'
	if negative {
		text = text[1:]
	}
	v, ok := leading(text, uint64(from))
	if !ok {
		return fault.New(fault.ArithmeticOverflow, "the number has more than 64 bits")
	}
	if negative && to > 0 {
		if int64(v) < 0 { // it is taken for one below the smallest there is
			v = math.MaxUint64
		} else {
			v = -v
		}
	}
	if to < 0 && int64(v) < 0 {
		v, negative = -v, true
	}
	var memory [65]byte
	done := memory[:0]
	if negative && to < 0 {
		done = append(done, '-')
	}
	out.AppendText(bytes.ToUpper(strconv.AppendUint(done, v, base)))
	return nil
}

// leading reads the digits at the start of a text.
func leading(text []byte, base uint64) (v uint64, ok bool) {
	for _, c := range text {
		switch {
		case c-'0' <= 9:
			c -= '0'
		case c|0x20-'a' < 26:
			c = c | 0x20 - 'a' + 10
		default:
			c = 0xff
		}
		if uint64(c) >= base {
			break
		}
		high, low := bits.Mul64(v, base)
		sum, carry := bits.Add64(low, uint64(c), 0)
		if high != 0 || carry != 0 {
			return 0, false
		}
		v = sum
	}
	return v, true
}

// newBround rounds half to even: integers to a place in front of the point, a DOUBLE by its shortest text, to "places".
func newBround(s *Spec) (Function, error) {
	places := atoi(s.Options["places"])
	if s.Args[0].IsInteger() {
		return strict(func(args []batch.Column, i int, out *batch.Builder) *fault.Error {
			v, ok := roundEven(args[0].Int(i), -places)
			if width := out.Type.Width(); !ok || v<<(64-8*width)>>(64-8*width) != v {
				return fault.New(fault.ArithmeticOverflow, "the rounded number does not fit")
			}
			out.AppendInt(v)
			return nil
		}), nil
	}
	var memory []byte
	return strict(func(args []batch.Column, i int, out *batch.Builder) *fault.Error {
		x := doubleAt(&args[0], i)
		if math.IsNaN(x) || math.IsInf(x, 0) || math.Abs(x) >= 1<<53 {
			batch.Append(out, x)
			return nil
		}
		memory = roundText(strconv.AppendFloat(memory[:0], math.Abs(x), 'f', -1, 64), places)
		v, _ := strconv.ParseFloat(string(memory), 64)
		if x < 0 && v != 0 { // what is rounded to zero is zero, without a sign
			v = -v
		}
		batch.Append(out, v)
		return nil
	}), nil
}

// roundEven rounds to a multiple of a power of ten.
func roundEven(v int64, power int) (int64, bool) {
	if power <= 0 {
		return v, true
	}
	if power > 18 {
		return 0, power > 19 || magnitude(v) <= 5e18
	}
	unit := int64(1)
	for range power {
		unit *= 10
	}
	down, rest := v/unit, v%unit
	twice := magnitude(rest) * 2
	if twice > uint64(unit) || twice == uint64(unit) && down%2 != 0 {
		if v < 0 {
			down--
		} else {
			down++
		}
	}
	high, low := bits.Mul64(magnitude(down), uint64(unit))
	return down * unit, high == 0 && low <= math.MaxInt64
}

// roundText rounds a number in digits, which is not negative, to so many places behind the point. Its memory is used again.
func roundText(text []byte, places int) []byte {
	point := bytes.IndexByte(text, '.')
	if point < 0 || len(text)-point-1 <= places {
		return text
	}
	cut := point + 1 + places
	rest := text[cut:]
	up := rest[0] > '5' || rest[0] == '5' && len(bytes.Trim(rest[1:], "0")) > 0
	if !up && rest[0] == '5' {
		last := text[cut-1]
		if last == '.' {
			last = text[cut-2]
		}
		up = (last-'0')%2 == 1
	}
	text = text[:cut]
	for j := cut - 1; up; j-- {
		switch {
		case j < 0:
			return append([]byte{'1'}, text...)
		case text[j] == '.':
		case text[j] == '9':
			text[j] = '0'
		default:
			text[j]++
			up = false
		}
	}
	return text
}

// atoi reads a constant of a call, which eval/dialect has written.
func atoi(s string) int { n, _ := strconv.Atoi(s); return n }
