package format

import (
	"math"
	"math/bits"
	"strconv"
	"unicode"
	"unicode/utf8"
	"unsafe"

	"sluice/batch"
	"sluice/fault"
)

// Numbers as Java and Spark read them from texts.

// isBlank reports whether Spark ignores a byte around a text that is cast: blanks and control characters.
func isBlank(c byte) bool { return c <= ' ' || c == 0x7f }

// Trim is a text without the blanks around it that Spark ignores in casts.
func Trim(text []byte) []byte {
	for len(text) > 0 && isBlank(text[0]) {
		text = text[1:]
	}
	for len(text) > 0 && isBlank(text[len(text)-1]) {
		text = text[:len(text)-1]
	}
	return text
}

// TrimJava is a text without what Java's String.trim takes off.
func TrimJava(text []byte) []byte {
	for len(text) > 0 && text[0] <= ' ' {
		text = text[1:]
	}
	for len(text) > 0 && text[len(text)-1] <= ' ' {
		text = text[:len(text)-1]
	}
	return text
}

// JavaFloat reads a text as Java's Double.parseDouble does, or for 32 bits Float.parseFloat, where blanks are allowed around it; what is
// too large is infinite.
func JavaFloat(text []byte, bits int) (v float64, ok bool) {
	text = TrimJava(text)
	if number, ok := javaFloat(text); ok {
		v, err := strconv.ParseFloat(unsafe.String(unsafe.SliceData(number), len(number)), bits)
		return v, err == nil || math.IsInf(v, 0)
	}
	switch string(text) {
	case "NaN", "+NaN", "-NaN":
		return math.NaN(), true
	case "Infinity", "+Infinity":
		return math.Inf(1), true
	case "-Infinity":
		return math.Inf(-1), true
	}
	return 0, false
}

// javaFloat reports whether a text is a number as Java writes them, and returns it without the d or f that may end it.
func javaFloat(text []byte) (number []byte, ok bool) {
	i := skipSign(text, 0)
	if i+1 < len(text) && text[i] == '0' && text[i+1]|0x20 == 'x' {
		return hexFloat(text, i+2)
	}
	whole := skipDigits(text, i)
	digits, end := whole-i, whole
	if end < len(text) && text[end] == '.' {
		end = skipDigits(text, end+1)
		digits += end - whole - 1
	}
	if digits == 0 {
		return nil, false
	}
	if end < len(text) && text[end]|0x20 == 'e' {
		from := skipSign(text, end+1)
		if end = skipDigits(text, from); end == from {
			return nil, false
		}
	}
	return withoutSuffix(text, end)
}

// hexFloat is the rest of a number to the base of 16, whose exponent must be there.
func hexFloat(text []byte, i int) (number []byte, ok bool) {
	digits := 0
	for ; i < len(text) && (isHex(text[i]) || text[i] == '.'); i++ {
		if text[i] != '.' {
			digits++
		}
	}
	if digits == 0 || i == len(text) || text[i]|0x20 != 'p' {
		return nil, false
	}
	from := skipSign(text, i+1)
	end := skipDigits(text, from)
	if end == from {
		return nil, false
	}
	return withoutSuffix(text, end)
}

func withoutSuffix(text []byte, end int) (number []byte, ok bool) {
	rest := text[end:]
	return text[:end], len(rest) == 0 || len(rest) == 1 && (rest[0]|0x20 == 'd' || rest[0]|0x20 == 'f')
}

func isHex(c byte) bool { return c-'0' <= 9 || c|0x20 >= 'a' && c|0x20 <= 'f' }

func skipSign(text []byte, i int) int {
	if i < len(text) && (text[i] == '-' || text[i] == '+') {
		i++
	}
	return i
}

func skipDigits(text []byte, i int) int {
	for i < len(text) && text[i]-'0' <= 9 {
		i++
	}
	return i
}

// ParseDecimal takes what Java's BigDecimal takes, and rounds half away from zero to scale digits behind the point. The result
// is unscaled. The code is that of a text that is no number, or of too many digits.
func ParseDecimal(text []byte, precision, scale int) (batch.Int128, *fault.Code) {
	text = TrimJava(text)
	if !isASCII(text) {
		text = latinDigits(text)
	}
	i := skipSign(text, 0)
	negative := i > 0 && text[0] == '-'
	whole := skipDigits(text, i)
	end, fraction := whole, []byte(nil)
	if end < len(text) && text[end] == '.' {
		end = skipDigits(text, end+1)
		fraction = text[whole+1 : end]
	}
	exponent, ok := 0, true
	if end < len(text) {
		exponent, ok = javaExponent(text[end:])
	}
	if !ok || whole == i && len(fraction) == 0 {
		return batch.Int128{}, fault.CastInvalidInput
	}
	d := digitRuns{whole: text[i:whole], fraction: fraction}
	d.skipZeros()
	integral := d.len() - len(fraction) + exponent // as many digits stand in front of the point
	if integral > 38 && d.len() > 0 {
		return batch.Int128{}, fault.NumericOutOfRange
	}
	v, ok := d.rounded(integral+scale, precision)
	if !ok {
		return batch.Int128{}, fault.NumericOutOfRange
	}
	if negative {
		v = Negate(v)
	}
	return v, nil
}

// digitRuns are those of a number, in front of the point and behind it.
type digitRuns struct{ whole, fraction []byte }

func (d *digitRuns) len() int { return len(d.whole) + len(d.fraction) }

func (d *digitRuns) at(i int) byte {
	if i < len(d.whole) {
		return d.whole[i] - '0'
	}
	return d.fraction[i-len(d.whole)] - '0'
}

func (d *digitRuns) skipZeros() {
	for len(d.whole) > 0 && d.whole[0] == '0' {
		d.whole = d.whole[1:]
	}
	for len(d.whole) == 0 && len(d.fraction) > 0 && d.fraction[0] == '0' {
		d.fraction = d.fraction[1:]
	}
}

// rounded is the number that the first n digits make, with zeros behind where there are fewer, rounded by the next one. It is not
// ok with more than precision digits.
func (d *digitRuns) rounded(n, precision int) (batch.Int128, bool) {
	if n < 0 || d.len() == 0 {
		return batch.Int128{}, true
	}
	if n > precision {
		return batch.Int128{}, false
	}
	var hi, lo uint64
	for i := range n {
		digit := uint64(0)
		if i < d.len() {
			digit = uint64(d.at(i))
		}
		over, low := bits.Mul64(lo, 10)
		var carry uint64
		lo, carry = bits.Add64(low, digit, 0)
		hi = hi*10 + over + carry
	}
	if n < d.len() && d.at(n) >= 5 {
		var carry uint64
		lo, carry = bits.Add64(lo, 1, 0)
		hi += carry
	}
	v := batch.Int128{Lo: lo, Hi: int64(hi)}
	limit := powersOfTen[precision]
	return v, hi < uint64(limit.Hi) || hi == uint64(limit.Hi) && lo < limit.Lo
}

// powersOfTen are those that bound the decimals of so many digits.
var powersOfTen = func() (powers [39]batch.Int128) {
	powers[0].Lo = 1
	for i := 1; i < len(powers); i++ {
		over, low := bits.Mul64(powers[i-1].Lo, 10)
		powers[i] = batch.Int128{Lo: low, Hi: powers[i-1].Hi*10 + int64(over)}
	}
	return powers
}()

// javaExponent reads an e, a sign and digits that fit an int.
func javaExponent(text []byte) (exponent int, ok bool) {
	if text[0]|0x20 != 'e' {
		return 0, false
	}
	from := skipSign(text, 1)
	if end := skipDigits(text, from); end == from || end < len(text) {
		return 0, false
	}
	n := 0
	for _, c := range text[from:] {
		if n = n*10 + int(c-'0'); n > math.MaxInt32 {
			return 0, false
		}
	}
	if text[1] == '-' {
		n = -n
	}
	return n, true
}

func isASCII(text []byte) bool {
	for _, c := range text {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// latinDigits writes the decimal digits of all scripts as 0 to 9, as Java reads them.
func latinDigits(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if d, ok := decimalDigit(r); ok {
			out = append(out, '0'+d)
		} else {
			out = append(out, text[:n]...)
		}
		text = text[n:]
	}
	return out
}

// decimalDigit is the value of a digit; they come in runs from zero to nine.
func decimalDigit(r rune) (byte, bool) {
	for _, run := range unicode.Nd.R16 {
		if r >= rune(run.Lo) && r <= rune(run.Hi) {
			return byte((r - rune(run.Lo)) % 10), true
		}
	}
	for _, run := range unicode.Nd.R32 {
		if r >= rune(run.Lo) && r <= rune(run.Hi) {
			return byte((r - rune(run.Lo)) % 10), true
		}
	}
	return 0, false
}
