package csv

import (
	"time"
	"unicode/utf8"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
)

// ToOptions say how to_csv writes.
type ToOptions struct {
	Dialect               Dialect
	EscapeEscape          byte // in front of an escape inside quotes; 0 for none
	NullValue, EmptyValue string
	QuoteAll              bool
	EscapeQuotes          bool // put values with quotes into quotes
	Times                 format.Times
	Zone                  *time.Location
}

// To computes to_csv(struct): the record that Spark writes for it, without a line end; NULL for a record of nothing at all.
type To struct {
	o     ToOptions
	sep   []byte
	text  []byte // the record
	value []byte // a value
}

// NewTo refuses types that have no text in CSV, or none of Spark's.
func NewTo(t batch.Type, o ToOptions) (*To, error) {
	for _, f := range t.Fields {
		if f.Type.IsNested() || f.Type.Kind == batch.Binary || f.Type.Kind == batch.Variant || f.Type.Kind == batch.Interval || f.Type.Kind == batch.Void {
			return nil, fault.New(fault.UnsupportedDatatype, "to_csv has no text for a value of type %s", f.Type).WithHint("make a text of it first, as to_json, hex and base64 do")
		}
	}
	if o.Times.Date == nil {
		o.Times.Date = defaults.Date
	}
	if o.Times.Timestamp == nil {
		o.Times.Timestamp = defaults.Timestamp
	}
	if o.Times.TimestampNTZ == nil {
		o.Times.TimestampNTZ = defaults.TimestampNTZ
	}
	return &To{o: o, sep: o.Dialect.separator()}, nil
}

// defaults are Spark's patterns. It writes the seconds of an offset, if it has some.
var defaults = func() format.Times {
	t, err := format.ParseTimes(false, func(name string) string {
		return map[string]string{"dateFormat": "yyyy-MM-dd", "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss[.SSS][XXXXX]", "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss[.SSS]"}[name]
	})
	if err != nil {
		panic(err)
	}
	return t
}()

// Append appends the record of each struct, NULL for NULL.
func (t *To) Append(structs *batch.Column, out *batch.Builder) *fault.Error {
	for i := range structs.Len {
		if structs.IsNull(i) {
			out.AppendNull()
			continue
		}
		t.text = t.text[:0]
		for c := range structs.Children {
			if c > 0 {
				t.text = append(t.text, t.sep...)
			}
			if err := t.field(&structs.Children[c], i, c == 0); err != nil {
				return err
			}
		}
		if len(t.text) == 0 {
			out.AppendNull()
		} else {
			out.AppendText(t.text)
		}
	}
	return nil
}

// field appends a value to the record. What is empty without the blanks around it is EmptyValue.
func (t *To) field(c *batch.Column, i int, first bool) *fault.Error {
	if c.IsNull(i) {
		t.element([]byte(t.o.NullValue), first)
		return nil
	}
	t.value = t.plain(t.value[:0], c, i)
	if !utf8.Valid(t.value) {
		return fault.New(fault.CannotEncode, "a STRING value is not UTF-8 and has no form in CSV").WithDetail("%.64q", fault.Payload(t.value))
	}
	if len(t.behind(t.ahead(t.value))) > 0 {
		t.element(t.value, first)
		return nil
	}
	empty, quote := []byte(t.o.EmptyValue), t.o.Dialect.Quote
	if n := len(empty); n >= 2 && empty[0] == quote && empty[n-1] == quote { // it has its own
		t.text = append(t.text, empty...)
	} else {
		t.element(empty, first)
	}
	return nil
}

// element appends a text without the blanks around it. Whether it stands in quotes depends on those behind it as well.
func (t *To) element(text []byte, first bool) {
	comment := first && len(text) > 0 && text[0] == t.o.Dialect.Comment
	text = t.ahead(text)
	t.put(t.behind(text), comment || t.structures(text))
}

// ahead is a text without the blanks that it begins with, where they are to be left out.
func (t *To) ahead(text []byte) []byte {
	for t.o.Dialect.TrimLeading && len(text) > 0 && blank(text[0]) {
		text = text[1:]
	}
	return text
}

// behind is a text without the blanks that it ends with, where they are to be left out.
func (t *To) behind(text []byte) []byte {
	for t.o.Dialect.TrimTrailing && len(text) > 0 && blank(text[len(text)-1]) {
		text = text[:len(text)-1]
	}
	return text
}

// plain appends a value as Spark prints it.
func (t *To) plain(dst []byte, c *batch.Column, i int) []byte {
	switch c.Type.Kind {
	case batch.Float:
		return format.AppendJavaFloat(dst, float64(batch.Values[float32](c)[i]), 32)
	case batch.Double:
		return format.AppendJavaFloat(dst, batch.Values[float64](c)[i], 64)
	case batch.Decimal:
		return format.AppendJavaDecimal(dst, format.DecimalAt(c, i), int(c.Type.Scale))
	case batch.Date, batch.Timestamp, batch.TimestampNTZ:
		dst, _ = appendTime(dst, c, i, &t.o.Times, t.o.Zone)
		return dst
	}
	dst, _ = format.AppendScalar(dst, c, i)
	return dst
}

const (
	microsPerSecond = 1_000_000
	microsPerDay    = 86_400 * microsPerSecond
)

// structures reports whether Spark puts a text into quotes.
func (t *To) structures(text []byte) bool {
	d := &t.o.Dialect
	if t.o.QuoteAll || len(text) > 0 && text[0] == d.Quote {
		return true
	}
	for i, c := range text {
		if c == '\n' || c == '\r' || t.o.EscapeQuotes && c == d.Quote || d.separates(text, i) {
			return true
		}
	}
	return false
}

// put appends a text to the record, in quotes or not.
func (t *To) put(text []byte, quoted bool) {
	if !quoted {
		t.text = append(t.text, text...)
		return
	}
	d := &t.o.Dialect
	t.text = append(t.text, d.Quote)
	for _, c := range text {
		switch {
		case c == d.Quote:
			t.text = append(t.text, d.Escape)
		case c == d.Escape && t.o.EscapeEscape != 0:
			t.text = append(t.text, t.o.EscapeEscape)
		}
		t.text = append(t.text, c)
	}
	t.text = append(t.text, d.Quote)
}
