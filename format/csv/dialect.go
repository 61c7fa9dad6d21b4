package csv

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strings"

	"sluice/fault"
)

// Dialect says which bytes structure a file. Records end with a newline, or a carriage return and a newline.
type Dialect struct {
	Sep    byte   // between fields
	Tail   string // what follows Sep in a separator of several bytes
	Quote  byte   // around a field that may hold anything; 0 when no field is quoted
	Escape byte   // inside quotes, in front of a quote; Quote itself in RFC 4180
	// Comment begins a line that is no record; 0 when none is.
	Comment byte
	// Line ends records in place of a newline with or without a carriage return; 0 for those.
	Line byte
	// OneLine ends records at every line break, also inside quotes.
	OneLine bool
	// TrimLeading and TrimTrailing leave out blanks around fields, of quoted ones those outside the quotes.
	TrimLeading, TrimTrailing bool
	// Unescaped is what becomes of quotes where none may be.
	Unescaped Unescaped
	// noLines takes line breaks as any other blank, and quotesInside quotes in a field without quotes as any other character.
	noLines, quotesInside bool
}

// Unescaped is what becomes of a field with quotes where none may be.
type Unescaped uint8

const (
	Refuse             Unescaped = iota // the record is bad, also for a quote in a field without quotes
	StopAtDelimiter                     // the field goes up to the next separator, quotes included
	StopAtClosingQuote                  // the field goes up to a quote in front of a separator
	SkipValue                           // the field is left out
)

// RFC4180 is the default dialect.
var RFC4180 = Dialect{Sep: ',', Quote: '"', Escape: '"'}

// ParseDialect reads the options sep, quote and escape; an empty escape is the quote, an empty quote means that no field
// is quoted.
func ParseDialect(sep, quote, escape string) (Dialect, error) {
	if escape == "" {
		escape = quote
	}
	d := Dialect{}
	for _, o := range []struct {
		name, value string
		to          *byte
	}{{"quote", quote, &d.Quote}, {"escape", escape, &d.Escape}} {
		if err := character(o.name, o.value, o.to); err != nil {
			return d, err
		}
	}
	return d, d.separate(sep)
}

// character reads an option that is one ASCII character, or empty for none.
func character(name, value string, to *byte) error {
	if value == "" {
		return nil
	}
	if len(value) != 1 || value[0] >= 0x80 || value == "\n" || value == "\r" {
		return fault.New(fault.InvalidOption, "option %q: %q is not one ASCII character other than a line break", name, value)
	}
	*to = value[0]
	return nil
}

// separate reads the option sep: one character or several, those that cannot be written behind a backslash.
func (d *Dialect) separate(option string) error {
	sep, err := unescapedSep(option)
	switch {
	case err != nil:
		return err
	case sep == "" || strings.ContainsAny(sep, "\n\r\x00"):
		return fault.New(fault.InvalidOption, "option \"sep\": %q is empty or has a line break or the character 0", option)
	case d.Quote != 0 && strings.IndexByte(sep, d.Quote) >= 0, d.Escape != 0 && strings.IndexByte(sep, d.Escape) >= 0:
		return fault.New(fault.InvalidOption, "option \"sep\": %q has the quote or the escape", option)
	}
	d.Sep, d.Tail = sep[0], sep[1:]
	return nil
}

// unescapedSep reads \t and its like as Spark does.
func unescapedSep(option string) (string, error) {
	var sep []byte
	for i := 0; i < len(option); i++ {
		c := option[i]
		if c == '\\' {
			if i++; i == len(option) {
				return "", fault.New(fault.InvalidOption, "option \"sep\": %q ends with a backslash", option).WithHint(`a backslash is written \\`)
			}
			at := strings.IndexByte(`tbfr"'\`, option[i])
			if at < 0 {
				return "", fault.New(fault.InvalidOption, "option \"sep\": there is no character \\%c", option[i])
			}
			c = "\t\b\f\r\"'\\"[at]
		}
		sep = append(sep, c)
	}
	return string(sep), nil
}

// plain reports whether field finds the fields, which is faster than token.
func (d *Dialect) plain() bool {
	return d.Tail == "" && d.Line == 0 && !d.TrimLeading && !d.TrimTrailing && d.Unescaped == Refuse && !d.noLines
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
