package csv

import (
	"unicode/utf8"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
)

// EncodeOptions say how records are written.
type EncodeOptions struct {
	Dialect   Dialect
	NullValue string // the text of NULL; the same text as a value is quoted
}

// Encoder implements format.Encoder.
type Encoder struct {
	o      EncodeOptions
	fields []batch.Field
}

// NewEncoder returns an encoder of rows with the given fields. It refuses types that have no text.
func NewEncoder(fields []batch.Field, o EncodeOptions) (*Encoder, error) {
	var s format.Scalars
	for _, f := range fields {
		if !s.Supports(f.Type) {
			return nil, fault.New(fault.UnsupportedTypes, "column %s: CSV has no values of type %s", batch.QuoteName(f.Name), f.Type)
		}
	}
	return &Encoder{o, fields}, nil
}

// Header appends the names of the fields as a record.
func (e *Encoder) Header(dst []byte) ([]byte, error) {
	for i, f := range e.fields {
		if i > 0 {
			dst = append(dst, e.o.Dialect.Sep)
		}
		start := len(dst)
		var err error
		if dst, err = e.quote(append(dst, f.Name...), start, false); err != nil {
			return dst, err
		}
	}
	return append(dst, '\n'), nil
}

// Encode implements format.Encoder; records end with a newline.
func (e *Encoder) Encode(dst []byte, ends []int, rows *batch.Columns, from, to int) ([]byte, []int, error) {
	for i := from; i < to; i++ {
		start := len(dst)
		for c := range rows.Cols {
			if c > 0 {
				dst = append(dst, e.o.Dialect.Sep)
			}
			var err error
			if dst, err = e.value(dst, &rows.Cols[c], i); err != nil {
				return dst, ends, err
			}
		}
		if len(dst) == start {
			return dst, ends, fault.New(fault.CannotEncode, "a NULL in the only column would be a blank line, which is no record").WithHint("set nullValue")
		}
		dst = append(dst, '\n')
		ends = append(ends, len(dst))
	}
	return dst, ends, nil
}

func (e *Encoder) value(dst []byte, c *batch.Column, i int) ([]byte, error) {
	if c.IsNull(i) {
		return append(dst, e.o.NullValue...), nil
	}
	start := len(dst)
	dst, ok := format.AppendScalar(dst, c, i)
	if !ok || !utf8.Valid(dst[start:]) {
		return dst, fault.New(fault.CannotEncode, "a %s value is not UTF-8 and has no form in CSV", c.Type).WithDetail("%.64q", fault.Payload(dst[start:]))
	}
	blank := len(dst) == start && len(e.fields) == 1 // a record of nothing at all would be none
	return e.quote(dst, start, blank || string(dst[start:]) == e.o.NullValue)
}

// quote puts dst[start:] into quotes when it must stand in them.
func (e *Encoder) quote(dst []byte, start int, must bool) ([]byte, error) {
	d := e.o.Dialect
	for _, c := range dst[start:] {
		switch c {
		case d.Sep, '\n', '\r':
			must = true
		case d.Quote, d.Escape:
			must = must || d.Quote != 0
		}
	}
	switch {
	case !must:
		return dst, nil
	case d.Quote == 0:
		return dst, fault.New(fault.CannotEncode, "a value needs quotes and there are none").WithDetail("%.64q", fault.Payload(dst[start:])).WithHint("set quote")
	}
	text := string(dst[start:])
	dst = append(dst[:start], d.Quote)
	for i := range len(text) {
		if c := text[i]; c == d.Quote || c == d.Escape {
			dst = append(dst, d.Escape)
		}
		dst = append(dst, text[i])
	}
	return append(dst, d.Quote), nil
}
