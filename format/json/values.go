package json

import (
	"bytes"
	"strings"

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
	e := fault.New(fault.UnreadableJSON, "column %s: the %s %s cannot be read as %s", n.path, kind, fault.Payload(excerpt(value)), n.typ).OfColumn(n.path)
	if why != "" {
		e.WithDetail("%s", why)
	}
	switch {
	case kind == "string" && n.typ.IsNumeric() && !d.numbersAsStrings:
		e.WithHint("numbers_as_strings => true takes numbers in quotes")
	case kind == "number" && (n.kind == batch.Timestamp || n.kind == batch.TimestampNTZ) && d.Unit == format.NoUnit:
		e.WithHint("timestampUnit says what a number counts: %s", strings.Join(format.TimestampUnits, ", "))
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

func (d *decoder) integer(src []byte, i int, n *node) int {
	digits, scale, negative, next, ok := format.SimpleNumber(src, i)
	if !ok || scale > 0 {
		return d.odd(src, i, n)
	}
	v := int64(digits)
	if negative {
		v = -v
	}
	switch {
	case n.kind == batch.BigInt:
		batch.Append(n.b, v)
	case !format.FitsInteger(n.kind, v):
		d.reject(src[i:next], n, "out of range")
	case n.kind == batch.Int:
		batch.Append(n.b, int32(v))
	default:
		n.b.AppendInt(v)
	}
	return next
}

func (d *decoder) decimal(src []byte, i int, n *node) int {
	digits, scale, negative, next, ok := format.SimpleNumber(src, i)
	if !ok {
		return d.odd(src, i, n)
	}
	v, ok := format.SimpleDecimal(n.typ, digits, scale, negative)
	if !ok {
		return d.odd(src, i, n)
	}
	batch.Append(n.b, v)
	return next
}

func (d *decoder) float(src []byte, i int, n *node) int {
	digits, scale, negative, next, ok := format.SimpleNumber(src, i)
	if !ok || n.kind == batch.Float {
		return d.odd(src, i, n)
	}
	v, ok := format.SimpleFloat(digits, scale, negative)
	if !ok {
		return d.odd(src, i, n)
	}
	batch.Append(n.b, v)
	return next
}

// odd reads what a numeric column seldom gets: numbers with exponents or many digits, and numbers in strings.
func (d *decoder) odd(src []byte, i int, n *node) int {
	switch c := src[i]; {
	case c == '-' || c-'0' <= 9:
		next := d.number(src, i)
		switch {
		case next < 0:
		case d.spark && n.typ.IsInteger() && bytes.ContainsAny(src[i:next], ".eE"):
			d.reject(src[i:next], n, "") // Spark has no integer that is written so
		default:
			d.scalar(src[i:next], src[i:next], n, d.Number)
		}
		return next
	case c == '"' && (d.numbersAsStrings || d.spark && n.kind == batch.Decimal):
		return d.quoted(src, i, n, d.quotedNumber)
	case c == '"' && d.spark && !d.noNames && !n.typ.IsInteger():
		return d.quoted(src, i, n, d.noNumber)
	}
	return d.mismatch(src, i, n)
}

// noNumber reads NaN or an infinity by one of the names that Spark knows.
func (d *decoder) noNumber(b *batch.Builder, text []byte) (why string, ok bool) {
	switch string(text) {
	case "+INF", "+Infinity":
		text = []byte("Infinity")
	case "-INF":
		text = []byte("-Infinity")
	}
	return "", d.NoNumber(b, text)
}

// quotedNumber reads the text of a string as a number.
func (d *decoder) quotedNumber(b *batch.Builder, text []byte) (why string, ok bool) {
	if (b.Type.Kind == batch.Float || b.Type.Kind == batch.Double) && d.NoNumber(b, text) {
		return "", true
	}
	if !format.IsNumber(text) {
		return "", false
	}
	return d.Number(b, text)
}

// parser is a method of format.Scalars.
type parser func(b *batch.Builder, text []byte) (why string, ok bool)

// scalar parses text, which stands in the record as value, into n.
func (d *decoder) scalar(value, text []byte, n *node, parse parser) {
	if why, ok := parse(n.b, text); !ok {
		d.reject(value, n, why)
	}
}

// quoted parses the text of a string into n.
func (d *decoder) quoted(src []byte, i int, n *node, parse parser) int {
	text, next := d.str(src, i)
	if next > 0 {
		d.scalar(src[i:next], text, n, parse)
	}
	return next
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

func (d *decoder) timestamp(src []byte, i int, n *node) int {
	c := src[i]
	switch {
	case c == '"':
		text, next := d.str(src, i)
		if next > 0 {
			if why, ok := d.Timestamp(n.b, text); !ok {
				d.reject(src[i:next], n, why)
			}
		}
		return next
	case d.Unit != format.NoUnit && (c == '-' || c-'0' <= 9):
		next := d.number(src, i)
		if next > 0 {
			d.scalar(src[i:next], src[i:next], n, d.CountedTimestamp)
		}
		return next
	}
	return d.mismatch(src, i, n)
}
