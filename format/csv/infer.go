package csv

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf8"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
)

// Inference finds a schema that holds all of some records. The type of a column is the first that reads each of its fields:
// BIGINT or DECIMAL of whole numbers, DOUBLE, BOOLEAN, DATE, TIMESTAMP, else STRING. A field that is empty and not quoted says nothing.
type Inference struct {
	Dialect Dialect
	Header  bool // the first record names the columns; else they are c1, c2, ...

	names   []string
	columns [][]batch.Type // that still read all fields, per column; nil before the first value
	digits  []int          // of the largest whole number of each column
	scalars format.Scalars
}

var candidates = []batch.Type{batch.Of(batch.BigInt), batch.DecimalOf(38, 0), batch.Of(batch.Double), batch.Of(batch.Boolean), batch.Of(batch.Date), batch.Of(batch.Timestamp), batch.Of(batch.String)}

// Add takes a record into account. One that has another number of fields than the first is bad, and left out.
func (n *Inference) Add(record []byte) error {
	if n.scalars.Zone == nil {
		n.scalars.Zone = format.NewZone(nil)
		record = bytes.TrimPrefix(record, []byte("\xef\xbb\xbf"))
	}
	r := reader{Dialect: &n.Dialect}
	var texts [][]byte // nil for an empty field
	for i := 0; ; {
		t := r.token(record, i)
		if t.stray || t.open {
			return fault.New(fault.MalformedCSV, "field %d has a stray quote", len(texts)+1)
		}
		text := append([]byte{}, t.text...)
		if len(text) == 0 && !t.quoted {
			text = nil
		}
		texts = append(texts, text)
		if t.next >= len(record) {
			break
		}
		i = t.next + n.Dialect.width()
	}
	if n.names == nil {
		n.begin(texts)
		if n.Header {
			return nil
		}
	}
	if len(texts) != len(n.names) {
		return fault.New(fault.MalformedCSV, "the record has %d fields, and the first has %d", len(texts), len(n.names))
	}
	for i, text := range texts {
		if text != nil {
			n.columns[i] = n.reading(n.columns[i], text)
			n.digits[i] = max(n.digits[i], len(bytes.TrimLeft(text, "+-0")))
		}
	}
	return nil
}

// begin names the columns.
func (n *Inference) begin(texts [][]byte) {
	for i, text := range texts {
		name := fmt.Sprintf("c%d", i+1)
		if n.Header {
			name = string(text)
		}
		n.names = append(n.names, name)
	}
	n.columns, n.digits = make([][]batch.Type, len(n.names)), make([]int, len(n.names))
}

// reading are those of the types that read a text.
func (n *Inference) reading(types []batch.Type, text []byte) (left []batch.Type) {
	if types == nil {
		types = candidates
	}
	for _, t := range types {
		if (t.Kind == batch.BigInt || t.Kind == batch.Decimal) && !isWhole(text) {
			continue
		}
		if _, ok := n.scalars.Append(batch.NewBuilder(t, 1), text); ok {
			left = append(left, t)
		}
	}
	if left == nil {
		return candidates[len(candidates)-1:]
	}
	return left
}

// Fields are the columns found, in their order; every field has a column, so that nothing is left.
func (n *Inference) Fields() (fields []batch.Field, left []string) {
	fields = make([]batch.Field, len(n.names))
	for i, name := range n.names {
		fields[i] = batch.Field{Name: name, Type: batch.Of(batch.String)}
		if types := n.columns[i]; len(types) > 0 {
			fields[i].Type = types[0]
		}
		if fields[i].Type.Kind == batch.Decimal {
			fields[i].Type = batch.DecimalOf(max(20, n.digits[i]), 0) // 20 hold every BIGINT
		}
	}
	return fields, nil
}

// isWhole reports whether a number is written as a whole one: 0.0 says that its column has fractions.
func isWhole(text []byte) bool {
	digits := bytes.TrimLeft(text, "+-")
	return len(digits) > 0 && len(bytes.TrimLeft(digits, "0123456789")) == 0
}

// Infer returns the type that Spark's schema_of_csv gives a text: a struct of _c0, _c1 ... , each of the first type that reads its
// field: INT, BIGINT, DECIMAL without a point, DOUBLE, DATE, TIMESTAMP, BOOLEAN, else STRING, as for a field that is NULL.
func Infer(text []byte, f Fields) (batch.Type, error) {
	f.Dialect.noLines = true
	if len(text) == 0 || f.Dialect.Comment != 0 && text[0] == f.Dialect.Comment {
		return batch.Type{}, fault.New(fault.MalformedCSV, "the text has no fields: it is empty or a comment")
	}
	from, err := NewFrom(FromOptions{Fields: f, CorruptRecord: -1})
	if err != nil {
		return batch.Type{}, err
	}
	var fields []batch.Field
	for i := 0; ; {
		t := from.reader.token(text, i)
		if t.stray || f.MaxFields > 0 && len(fields) >= f.MaxFields || f.MaxChars > 0 && utf8.RuneCount(t.text) > f.MaxChars {
			return batch.Type{}, fault.New(fault.MalformedCSV, "field %d has a stray quote, or it is one of too many or has too many characters", len(fields)+1)
		}
		fields = append(fields, batch.Field{Name: fmt.Sprintf("_c%d", len(fields)), Type: from.typeOf(t)})
		if t.next == len(text) {
			return batch.StructOf(fields...), nil
		}
		i = t.next + f.Dialect.width()
	}
}

// typeOf is the type of a field.
func (f *From) typeOf(t token) batch.Type {
	text := t.text
	if len(text) == 0 && t.quoted {
		text = []byte(f.o.EmptyValue)
	}
	if len(text) == 0 || string(text) == f.o.NullValue {
		return batch.Of(batch.String)
	}
	for _, typ := range []batch.Type{batch.Of(batch.Int), batch.Of(batch.BigInt), wholeDecimal(text), batch.Of(batch.Double), batch.Of(batch.Date), batch.Of(batch.Timestamp), batch.Of(batch.Boolean)} {
		if f.infers(typ, text) {
			return typ
		}
	}
	return batch.Of(batch.String)
}

// infers reports whether a type reads a text. A date is written as the pattern has it, not as a cast would read it; a time without
// a day is a TIMESTAMP.
func (f *From) infers(typ batch.Type, text []byte) bool {
	switch {
	case typ.Kind == batch.Void:
		return false
	case typ.Kind == batch.Date && f.o.Times.Date == nil:
		_, ok := format.ParseDate(text)
		return ok
	case typ.Kind == batch.Timestamp && f.o.Times.Timestamp == nil && format.IsClock(text):
		return true
	}
	return f.converted(batch.NewBuilder(typ, 1), text)
}

// wholeDecimal is the type of a number of up to 38 digits, written so that Java counts no digits behind its point: 12, 12. and 1.2e1,
// but not 1.0 or 1e1; VOID for others.
func wholeDecimal(text []byte) batch.Type {
	mantissa, exponent, _ := bytes.Cut(bytes.ToLower(text), []byte("e"))
	whole, fraction, _ := bytes.Cut(bytes.TrimLeft(mantissa, "+-"), []byte("."))
	shift := 0
	if len(exponent) > 0 {
		var err error
		if shift, err = strconv.Atoi(string(exponent)); err != nil {
			return batch.Type{Kind: batch.Void}
		}
	}
	digits := len(bytes.TrimLeft(append(whole[:len(whole):len(whole)], fraction...), "0"))
	if shift != len(fraction) || digits > 38 {
		return batch.Type{Kind: batch.Void}
	}
	return batch.DecimalOf(max(1, digits), 0)
}
