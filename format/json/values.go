package json

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"unsafe"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
)

// mismatch validates a value that is of another JSON type than n can take.
func (d *decoder) mismatch(src []byte, i int, n *node) int {
	next := d.skip(src, i)
	if next > 0 {
		d.reject(src[i:next], n, "")
	}
	return next
}

// reject notes that value, valid JSON, is no value of n, and appends a null.
func (d *decoder) reject(value []byte, n *node, why string) {
	n.b.AppendNull()
	if d.unreadable != nil {
		return
	}
	kind := kindOf(value[0])
	e := fault.New(fault.UnreadableJSON, "column %s: the %s %s cannot be read as %s", n.path, kind, excerpt(value), n.typ)
	if why != "" {
		e.WithDetail("%s", why)
	}
	switch {
	case kind == "string" && n.typ.IsNumeric() && !d.numbersAsStrings:
		e.WithHint("numbers_as_strings => true takes numbers in quotes")
	case kind == "number" && (n.kind == batch.Timestamp || n.kind == batch.TimestampNTZ) && d.unit == NoUnit:
		e.WithHint("timestampUnit says what a number counts: seconds, milliseconds or microseconds")
	}
	d.unreadable = e
}

// excerpt shows a valid value as it stands in the record, on one line, the start of it when it is long.
func excerpt(value []byte) string {
	const most = 64
	tail := ""
	if len(value) > most {
		value, tail = value[:most], "..."
	}
	return strings.Join(strings.Fields(strings.ToValidUTF8(string(value), "")), " ") + tail
}

func kindOf(c byte) string {
	switch c {
	case '"':
		return "string"
	case '{':
		return "object"
	case '[':
		return "array"
	case 't', 'f':
		return "boolean"
	}
	return "number"
}

// run reads a run of digits as a number; it stops where the number would not fit 18 digits any more.
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

// simple reads a number of at most 18 digits without an exponent, as nearly all are: its digits and how many of them
// are behind the point. It is not ok for other numbers and for what is no number; the caller then looks closer.
func simple(src []byte, i int) (digits uint64, scale int, negative bool, next int, ok bool) {
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

func (d *decoder) integer(src []byte, i int, n *node) int {
	digits, scale, negative, next, ok := simple(src, i)
	if !ok || scale > 0 {
		return d.odd(src, i, n)
	}
	v := int64(digits)
	if negative {
		v = -v
	}
	if v < n.min || v > n.max {
		d.reject(src[i:next], n, "out of range")
		return next
	}
	d.appendInteger(n, v)
	return next
}

func (d *decoder) appendInteger(n *node, v int64) {
	switch n.kind {
	case batch.BigInt:
		batch.Append(n.b, v)
	case batch.Int:
		batch.Append(n.b, int32(v))
	default:
		n.b.AppendInt(v)
	}
}

func (d *decoder) decimal(src []byte, i int, n *node) int {
	digits, scale, negative, next, ok := simple(src, i)
	precision, want := int(n.typ.Precision), int(n.typ.Scale)
	if !ok || scale > want || precision > 18 || digits >= powers[precision-want+scale] {
		return d.odd(src, i, n)
	}
	v := int64(digits * powers[want-scale])
	if negative {
		v = -v
	}
	batch.Append(n.b, v)
	return next
}

var powers = [19]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18}

// floatPowers are the powers of ten that a float64 holds exactly and that can stand behind at most 18 digits.
var floatPowers = [19]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18}

func (d *decoder) float(src []byte, i int, n *node) int {
	digits, scale, negative, next, ok := simple(src, i)
	if !ok || digits > 1<<53 || n.kind == batch.Float {
		return d.odd(src, i, n)
	}
	// Both operands are exact, so the one division rounds once, as reading the text would.
	v := float64(digits) / floatPowers[scale]
	if negative {
		v = -v
	}
	batch.Append(n.b, v)
	return next
}

// odd reads what a numeric column seldom gets: numbers with exponents or many digits, and numbers in strings.
func (d *decoder) odd(src []byte, i int, n *node) int {
	switch c := src[i]; {
	case c == '-' || c-'0' <= 9:
		next := d.number(src, i)
		if next > 0 {
			d.numeral(src[i:next], src[i:next], n)
		}
		return next
	case c == '"' && d.numbersAsStrings:
		text, next := d.str(src, i)
		if next > 0 {
			d.quotedNumber(src[i:next], text, n)
		}
		return next
	}
	return d.mismatch(src, i, n)
}

// quotedNumber reads the text of a string as a number of n's type.
func (d *decoder) quotedNumber(value, text []byte, n *node) {
	if n.kind == batch.Float || n.kind == batch.Double {
		if v, ok := noNumber(text); ok {
			appendFloatTo(n, v)
			return
		}
	}
	if !format.IsNumber(text) {
		d.reject(value, n, "")
		return
	}
	d.numeral(value, text, n)
}

// noNumber reads the texts for what JSON has no number for.
func noNumber(text []byte) (float64, bool) {
	switch string(text) {
	case "NaN":
		return math.NaN(), true
	case "Infinity":
		return math.Inf(1), true
	case "-Infinity":
		return math.Inf(-1), true
	}
	return 0, false
}

// numeral reads text, a number by JSON's grammar, as a value of n. Value is how it stands in the record.
func (d *decoder) numeral(value, text []byte, n *node) {
	switch n.kind {
	case batch.Float, batch.Double:
		width := 8 * n.typ.Width()
		v, err := strconv.ParseFloat(unsafe.String(unsafe.SliceData(text), len(text)), width)
		if err != nil {
			d.reject(value, n, "out of range")
			return
		}
		appendFloatTo(n, v)
	case batch.Decimal:
		v, ok := format.ParseNumber(text).Scaled(int(n.typ.Precision), int(n.typ.Scale))
		if !ok {
			d.reject(value, n, "it has more digits than the type holds, and is not rounded")
			return
		}
		format.AppendDecimalValue(n.b, v)
	default:
		v, ok := format.ParseNumber(text).Int64()
		if !ok || v < n.min || v > n.max {
			d.reject(value, n, "not a whole number in range")
			return
		}
		d.appendInteger(n, v)
	}
}

func appendFloatTo(n *node, v float64) {
	if n.kind == batch.Float {
		batch.Append(n.b, float32(v))
		return
	}
	batch.Append(n.b, v)
}

func (d *decoder) boolean(src []byte, i int, n *node) int {
	word := "false"
	if src[i] == 't' {
		word = "true"
	}
	next := d.literal(src, i, word)
	if next > 0 {
		n.b.AppendBool(word == "true")
	}
	return next
}

func (d *decoder) date(src []byte, i int, n *node) int {
	text, next := d.str(src, i)
	if next < 0 {
		return failed
	}
	days, ok := format.ParseDate(text)
	if !ok {
		d.reject(src[i:next], n, "a date is yyyy-MM-dd, from 0001 to 9999")
		return next
	}
	batch.Append(n.b, days)
	return next
}

func (d *decoder) timestamp(src []byte, i int, n *node) int {
	c := src[i]
	if d.unit != NoUnit && (c == '-' || c-'0' <= 9) {
		return d.countedTimestamp(src, i, n)
	}
	if c != '"' {
		return d.mismatch(src, i, n)
	}
	text, next := d.str(src, i)
	if next < 0 {
		return failed
	}
	zone := d.zone
	if n.kind == batch.TimestampNTZ {
		zone = nil
	}
	micros, ok := format.ParseTimestamp(text, zone)
	if !ok {
		why := "a timestamp is yyyy-MM-ddTHH:mm[:ss[.ffffff]] with an optional zone, from 0001 to 9999"
		if zone == nil {
			why = "a timestamp without time zone is yyyy-MM-ddTHH:mm[:ss[.ffffff]], from 0001 to 9999"
		}
		d.reject(src[i:next], n, why)
		return next
	}
	batch.Append(n.b, micros)
	return next
}

// countedTimestamp reads a number of the declared unit since the epoch, exactly to the microsecond.
func (d *decoder) countedTimestamp(src []byte, i int, n *node) int {
	next := d.number(src, i)
	if next < 0 {
		return failed
	}
	scale := [...]int{Seconds: 6, Milliseconds: 3, Microseconds: 0}[d.unit]
	v, ok := format.ParseNumber(src[i:next]).Scaled(18, scale)
	if micros := int64(v.Lo); ok && micros >= format.MinTimestamp && micros <= format.MaxTimestamp {
		batch.Append(n.b, micros)
		return next
	}
	d.reject(src[i:next], n, "as "+TimestampUnits[d.unit-1]+" it is finer than a microsecond or outside the years 0001 to 9999")
	return next
}

func (d *decoder) binary(src []byte, i int, n *node) int {
	text, next := d.str(src, i)
	if next < 0 {
		return failed
	}
	var err error
	if d.decoded, err = base64.StdEncoding.Strict().AppendDecode(d.decoded[:0], text); err != nil {
		d.reject(src[i:next], n, "binary values are base64")
		return next
	}
	n.b.AppendText(d.decoded)
	return next
}
