package csv

import (
	"bytes"
	"strings"
	"time"
	"unicode/utf8"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
)

// EncodeOptions say how records are written.
type EncodeOptions struct {
	Dialect   Dialect
	NullValue string // the text of NULL; the same text as a value is quoted
	QuoteAll  bool   // every value is, though NULL is not
	// Empty is the text of an empty value in place of two quotes.
	Empty *string
	// StrayQuotes leaves a value with quotes in it as it is, unless it begins with one. Strict readers refuse it.
	StrayQuotes bool
	LineEnd     string       // in place of the dialect's
	Message     bool         // a record is all there is, and nothing ends it
	Times       format.Times // patterns of dates and times; those that are nil are ISO 8601
	Zone        *time.Location
}

// Encoder implements format.Encoder.
type Encoder struct {
	o      EncodeOptions
	fields []batch.Field
	sep    []byte
	end    []byte
	memory []byte // a text that is put into quotes
}

// NewEncoder returns an encoder of rows with the given fields. It refuses types that have no text.
func NewEncoder(fields []batch.Field, o EncodeOptions) (*Encoder, error) {
	var s format.Scalars
	for _, f := range fields {
		if !s.Supports(f.Type) {
			return nil, fault.New(fault.UnsupportedTypes, "column %s: CSV has no values of type %s", batch.QuoteName(f.Name), f.Type)
		}
	}
	e := &Encoder{o: o, fields: fields, sep: o.Dialect.separator(), end: []byte{o.Dialect.newline()}}
	switch {
	case o.Message:
		e.end = nil
	case o.LineEnd != "":
		e.end = []byte(o.LineEnd)
	}
	return e, nil
}

// Header appends the names of the fields as a record.
func (e *Encoder) Header(dst []byte) ([]byte, error) {
	for i, f := range e.fields {
		if i > 0 {
			dst = append(dst, e.sep...)
		}
		start := len(dst)
		var err error
		if dst, err = e.quote(append(dst, f.Name...), start, i == 0); err != nil {
			return dst, err
		}
	}
	return append(dst, e.end...), nil
}

// Encode implements format.Encoder.
func (e *Encoder) Encode(dst []byte, ends []int, rows *batch.Columns, from, to int) ([]byte, []int, error) {
	for i := from; i < to; i++ {
		start := len(dst)
		for c := range rows.Cols {
			if c > 0 {
				dst = append(dst, e.sep...)
			}
			var err error
			if dst, err = e.value(dst, &rows.Cols[c], i, c == 0); err != nil {
				return dst, ends, err
			}
		}
		if len(dst) == start {
			return dst, ends, fault.New(fault.CannotEncode, "the record would be blank, and a blank line is no record").WithHint("set nullValue, or emptyValue")
		}
		dst = append(dst, e.end...)
		ends = append(ends, len(dst))
	}
	return dst, ends, nil
}

func (e *Encoder) value(dst []byte, c *batch.Column, i int, first bool) ([]byte, error) {
	if c.IsNull(i) {
		return append(dst, e.o.NullValue...), nil
	}
	start := len(dst)
	dst, ok := appendTime(dst, c, i, &e.o.Times, e.o.Zone)
	if !ok {
		dst, ok = format.AppendScalar(dst, c, i)
	}
	if len(dst) == start && ok && e.o.Empty != nil {
		return append(dst, *e.o.Empty...), nil
	}
	if !ok || !utf8.Valid(dst[start:]) {
		return dst, fault.New(fault.CannotEncode, "a %s value is not UTF-8 and has no form in CSV", c.Type).WithDetail("%.64q", fault.Payload(dst[start:]))
	}
	return e.quote(dst, start, first)
}

// quote puts dst[start:], the first of its record or not, into quotes when it must stand in them.
func (e *Encoder) quote(dst []byte, start int, first bool) ([]byte, error) {
	d := &e.o.Dialect
	switch {
	case !e.o.QuoteAll && !e.structures(dst[start:], first):
		return dst, nil
	case d.Quote == 0 && len(dst) == start:
		return dst, fault.New(fault.CannotEncode, "an empty text needs quotes, as it would be NULL, and there are none").WithHint("set quote")
	case d.Quote == 0:
		return dst, fault.New(fault.CannotEncode, "a value needs quotes and there are none").WithDetail("%.64q", fault.Payload(dst[start:])).WithHint("set quote")
	}
	e.memory = append(e.memory[:0], dst[start:]...)
	dst = append(dst[:start], d.Quote)
	for _, c := range e.memory {
		if c == d.Quote || c == d.Escape {
			dst = append(dst, d.Escape)
		}
		dst = append(dst, c)
	}
	return append(dst, d.Quote), nil
}

// byteOrderMark at the start of a file is no part of it.
const byteOrderMark = "\ufeff"

// structures reports whether a reader would not take text for the text of a value as it is.
func (e *Encoder) structures(text []byte, first bool) bool {
	d := &e.o.Dialect
	if len(text) == 0 || string(text) == e.o.NullValue {
		return true
	}
	if first && (text[0] == d.Comment || bytes.HasPrefix(text, []byte(byteOrderMark))) || d.TrimLeading && blank(text[0]) || d.TrimTrailing && blank(text[len(text)-1]) {
		return true
	}
	for i, c := range text {
		switch {
		case c == '\n', c == '\r', c == d.Line && c != 0:
			return true
		case c == d.Quote && c != 0, c == d.Escape && d.Quote != 0 && c != 0:
			if !e.o.StrayQuotes || text[0] == d.Quote {
				return true
			}
		case c == d.Sep && bytes.HasPrefix(text[i:], e.sep):
			return true
		}
	}
	// A separator of several bytes may begin in the text and end behind it.
	return d.Tail != "" && strings.IndexByte(d.Tail, d.Sep) >= 0 && bytes.IndexByte(text, d.Sep) >= 0
}
