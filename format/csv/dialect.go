package csv

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"sluice/fault"
)

// Dialect says which bytes structure a file. Records end with a newline, or a carriage return and a newline.
type Dialect struct {
	Sep    byte // between fields
	Quote  byte // around a field that may hold anything; 0 when no field is quoted
	Escape byte // inside quotes, in front of a quote; Quote itself in RFC 4180
}

// RFC4180 is the default dialect.
var RFC4180 = Dialect{',', '"', '"'}

// ParseDialect reads the options sep, quote and escape; an empty escape is the quote, an empty quote means that no field
// is quoted.
func ParseDialect(sep, quote, escape string) (Dialect, error) {
	if sep == `\t` {
		sep = "\t"
	}
	if escape == "" {
		escape = quote
	}
	d := Dialect{}
	for _, o := range []struct {
		name, value string
		to          *byte
	}{{"sep", sep, &d.Sep}, {"quote", quote, &d.Quote}, {"escape", escape, &d.Escape}} {
		if o.value == "" && o.name != "sep" {
			continue
		}
		if len(o.value) != 1 || o.value[0] >= 0x80 || o.value == "\n" || o.value == "\r" {
			return d, fault.New(fault.InvalidOption, "option %q: %q is not one ASCII character other than a line break", o.name, o.value)
		}
		*o.to = o.value[0]
	}
	if d.Sep == d.Quote || d.Sep == d.Escape {
		return d, fault.New(fault.InvalidOption, "option \"sep\": %q is also the quote or the escape", sep)
	}
	return d, nil
}

// field is one field as it stands in the data.
type field struct {
	start, end int  // its text: inside the quotes of a quoted one
	next       int  // of the separator, newline or end of the data behind it
	quoted     bool //
	escapes    bool // the text has escapes
	stray      bool // there are quotes where none may be
	open       bool // the data ends before the closing quote
}

// field reads the field that starts at data[i].
func (d *Dialect) field(data []byte, i int) field {
	if i < len(data) && data[i] == d.Quote && d.Quote != 0 {
		return d.quotedField(data, i)
	}
	end := d.skip(data, i)
	f := field{start: i, end: beforeBreak(data, i, end), next: end}
	f.stray = d.Quote != 0 && bytes.IndexByte(data[i:end], d.Quote) >= 0
	return f
}

// skip returns the index of the separator, newline or end of the data at or behind i.
func (d *Dialect) skip(data []byte, i int) int {
	for len(data)-i >= 8 {
		w := binary.LittleEndian.Uint64(data[i:])
		seps, newlines := w^(uint64(d.Sep)*ones), w^('\n'*ones)
		// The lowest set bit is in the first byte that is one of the two: the usual test for a zero byte, twice.
		if hit := ((seps-ones)&^seps | (newlines-ones)&^newlines) & highs; hit != 0 {
			return i + bits.TrailingZeros64(hit)>>3
		}
		i += 8
	}
	for i < len(data) && data[i] != d.Sep && data[i] != '\n' {
		i++
	}
	return i
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// beforeBreak leaves out a carriage return that belongs to the newline at end.
func beforeBreak(data []byte, start, end int) int {
	if end < len(data) && data[end] == '\n' && end > start && data[end-1] == '\r' {
		return end - 1
	}
	return end
}

func (d *Dialect) quotedField(data []byte, i int) field {
	f := field{start: i + 1, quoted: true}
	for i++; ; {
		at := d.quoteOrEscape(data, i)
		if at == len(data) {
			f.open, f.end, f.next = true, at, at
			return f
		}
		next := byte(0)
		if at+1 < len(data) {
			next = data[at+1]
		}
		switch {
		case data[at] == d.Escape && next == d.Quote, data[at] == d.Escape && next == d.Escape:
			f.escapes = true
			i = at + 2
		case data[at] == d.Quote:
			f.end = at
			f.next = d.skip(data, at+1)
			f.stray = beforeBreak(data, at+1, f.next) > at+1
			return f
		default: // an escape in front of something else is itself
			i = at + 1
		}
	}
}

func (d *Dialect) quoteOrEscape(data []byte, i int) int {
	at := bytes.IndexByte(data[i:], d.Quote)
	if at < 0 {
		at = len(data) - i
	}
	if d.Escape != d.Quote {
		if e := bytes.IndexByte(data[i:i+at], d.Escape); e >= 0 {
			at = e
		}
	}
	return i + at
}

// unescape appends the text of a quoted field without its escapes.
func (d *Dialect) unescape(dst, text []byte) []byte {
	for i := 0; i < len(text); i++ {
		if text[i] == d.Escape && i+1 < len(text) && (text[i+1] == d.Quote || text[i+1] == d.Escape) {
			i++
		}
		dst = append(dst, text[i])
	}
	return dst
}
