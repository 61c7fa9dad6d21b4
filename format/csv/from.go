package csv

import (
	"time"
	"unicode/utf8"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
)

// FromOptions say what from_csv reads.
type FromOptions struct {
	Fields
	Type          batch.Type // STRUCT; NOT NULL inside it does not count
	CorruptRecord int        // the index of the STRING field that takes a text in which something could not be read, or -1
	FailFast      bool       // what cannot be read is an error instead of NULL
}

// Fields say what the fields of a text are, for functions of SQL.
type Fields struct {
	Dialect                       Dialect
	NullValue, EmptyValue         string // as Spark has them: for fields in quotes too
	NaN, PositiveInf, NegativeInf string
	MaxFields, MaxChars           int // a text with more is an error in every mode; 0 is no limit
	Zone                          *time.Location
	Times                         format.Times
}

// From computes from_csv(text, schema): one struct for each text, as Spark does with mode PERMISSIVE (D-14). A field that is not of its
// type is NULL; fields that are missing are too, and those that are too many are left out. A text of nothing at all is a
// struct of NULLs. Line breaks are blanks like others.
type From struct {
	o        FromOptions
	reader   reader
	scalars  format.Scalars
	fieldAt  []int // per field of a text: that of the struct
	memory   []byte
	nulled   int
	rejected *fault.Error // with FailFast, why the first field could not be read
}

// NewFrom refuses a type that CSV cannot fill.
func NewFrom(o FromOptions) (*From, error) {
	f := &From{o: o, scalars: format.Scalars{Zone: format.NewZone(o.Zone), Times: o.Times, Casts: format.NewTimeParser(o.Zone)}}
	f.reader.Dialect = &f.o.Dialect
	for i, field := range o.Type.Fields {
		if !f.scalars.Supports(field.Type) {
			return nil, fault.New(fault.UnsupportedDatatype, "from_csv has no values of type %s", field.Type)
		}
		if i == o.CorruptRecord {
			if field.Type.Kind != batch.String {
				return nil, fault.New(fault.CorruptRecordType, "%s is %s", field.Name, field.Type).WithHint("it holds the raw text: declare it STRING")
			}
			continue
		}
		f.fieldAt = append(f.fieldAt, i)
	}
	return f, nil
}

// Append appends the value of each text, NULL for a NULL, and returns how much became NULL that was not. With FailFast the
// first such thing is an error, and out has the values before it.
func (f *From) Append(texts *batch.Column, out *batch.Builder) (format.Nulled, *fault.Error) {
	f.nulled = 0
	documents := 0
	for i := range texts.Len {
		if texts.IsNull(i) {
			out.AppendNull()
			continue
		}
		row := out.Len()
		ok, err := f.append(texts.Text(i), out)
		if err != nil {
			out.Truncate(row)
			return format.Nulled{}, err
		}
		if !ok {
			documents++
		}
	}
	return format.Nulled{Documents: documents, Fields: f.nulled}, nil
}

// append appends the value of one text, and reports whether it has fields.
func (f *From) append(src []byte, out *batch.Builder) (ok bool, err *fault.Error) {
	if len(src) == 0 || f.o.Dialect.Comment != 0 && src[0] == f.o.Dialect.Comment {
		if f.o.FailFast {
			return false, fault.New(fault.MalformedRecord, "the text has no fields: it is empty or a comment")
		}
		for i := range f.o.Type.Fields {
			out.Child(i).AppendNull()
		}
		out.AppendNested()
		return false, nil
	}
	nulled := f.nulled
	f.rejected = nil
	if err := f.fields(src, out); err != nil {
		return false, err
	}
	if f.o.FailFast && f.rejected != nil {
		return false, f.rejected
	}
	if c := f.o.CorruptRecord; c >= 0 {
		if f.nulled == nulled {
			out.Child(c).AppendNull()
		} else {
			out.Child(c).AppendText(withoutLineEnd(src))
		}
	}
	out.AppendNested()
	return true, nil
}

// withoutLineEnd takes off one line end, as Scala does.
func withoutLineEnd(text []byte) []byte {
	n := len(text)
	switch {
	case n > 1 && text[n-1] == '\n' && text[n-2] == '\r':
		return text[:n-2]
	case n > 0 && (text[n-1] == '\n' || text[n-1] == '\f'):
		return text[:n-1]
	}
	return text
}

// fields reads the fields of a text into those of the struct.
func (f *From) fields(src []byte, out *batch.Builder) *fault.Error {
	at := 0
	for i := 0; ; at++ {
		t := f.reader.token(src, i)
		switch {
		case t.stray:
			return fault.New(fault.MalformedCSV, "field %d has a quote that is neither around the field nor escaped", at+1)
		case f.o.MaxFields > 0 && at >= f.o.MaxFields:
			return fault.New(fault.MalformedCSV, "the text has more than %d fields", f.o.MaxFields).WithHint("maxColumns says how many it may have")
		case f.o.MaxChars > 0 && len(t.text) > f.o.MaxChars && utf8.RuneCount(t.text) > f.o.MaxChars:
			return fault.New(fault.MalformedCSV, "field %d has more than %d characters", at+1, f.o.MaxChars).WithHint("maxCharsPerColumn says how many it may have")
		}
		if at < len(f.fieldAt) {
			f.value(&t, out.Child(f.fieldAt[at]))
		}
		if t.next == len(src) {
			break
		}
		i = t.next + f.o.Dialect.width()
	}
	if at++; at == len(f.fieldAt) {
		return nil
	}
	if f.o.FailFast && f.rejected == nil {
		f.rejected = fault.New(fault.MalformedRecord, "the text has %d fields, the schema has %d", at, len(f.fieldAt))
	}
	f.nulled += max(1, len(f.fieldAt)-at)
	for ; at < len(f.fieldAt); at++ {
		out.Child(f.fieldAt[at]).AppendNull()
	}
	return nil
}

// value reads a field. One of no text is NULL, in quotes it is EmptyValue.
func (f *From) value(t *token, b *batch.Builder) {
	text := t.text
	if len(text) == 0 && t.quoted {
		f.memory = append(f.memory[:0], f.o.EmptyValue...)
		text = f.memory
	} else if len(text) == 0 {
		b.AppendNull()
		return
	}
	if string(text) == f.o.NullValue {
		b.AppendNull()
		return
	}
	if f.converted(b, text) {
		return
	}
	b.AppendNull()
	f.nulled++
	if f.o.FailFast && f.rejected == nil {
		f.rejected = fault.New(fault.MalformedRecord, "%q cannot be read as %s", fault.Payload(excerpt(text)), b.Type)
	}
}

// converted appends a text as Spark reads it, or nothing.
func (f *From) converted(b *batch.Builder, text []byte) (ok bool) {
	switch b.Type.Kind {
	case batch.TinyInt, batch.SmallInt, batch.Int, batch.BigInt:
		v, ok := javaInt(text)
		if ok = ok && format.FitsInteger(b.Type.Kind, v); ok {
			b.AppendInt(v)
		}
		return ok
	case batch.Float, batch.Double:
		return f.float(b, text)
	case batch.Decimal:
		f.memory = withoutCommas(f.memory[:0], text)
		if n := len(f.memory); n == 0 || blank(f.memory[0]) || blank(f.memory[n-1]) { // casts take those
			return false
		}
		v, wrong := format.ParseDecimal(f.memory, int(b.Type.Precision), int(b.Type.Scale))
		if wrong == fault.NumericOutOfRange && isZero(f.memory) {
			wrong = nil
		}
		if wrong == nil {
			format.AppendDecimalValue(b, v)
		}
		return wrong == nil
	case batch.Binary:
		b.AppendText(text)
		return true
	}
	_, ok = f.scalars.Append(b, text)
	return ok
}

func (f *From) float(b *batch.Builder, text []byte) bool {
	switch string(text) {
	case f.o.NaN:
		return f.scalars.NoNumber(b, []byte("NaN"))
	case f.o.NegativeInf:
		return f.scalars.NoNumber(b, []byte("-Infinity"))
	case f.o.PositiveInf:
		return f.scalars.NoNumber(b, []byte("Infinity"))
	}
	v, ok := format.JavaFloat(text, 8*b.Type.Width())
	if ok && b.Type.Kind == batch.Float {
		batch.Append(b, float32(v))
	} else if ok {
		batch.Append(b, v)
	}
	return ok
}

// javaInt reads digits with a sign in front, or none.
func javaInt(text []byte) (v int64, ok bool) {
	negative := len(text) > 0 && text[0] == '-'
	if negative || len(text) > 0 && text[0] == '+' {
		text = text[1:]
	}
	for len(text) > 1 && text[0] == '0' {
		text = text[1:]
	}
	if len(text) == 0 || len(text) > 19 {
		return 0, false
	}
	n := uint64(0)
	for _, c := range text {
		if c-'0' > 9 {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	if negative {
		return -int64(n), n <= 1<<63
	}
	return int64(n), n < 1<<63
}

// isZero reports whether a number is 0, whatever its exponent.
func isZero(number []byte) bool {
	for _, c := range number {
		switch c {
		case 'e', 'E':
			return true
		case '0', '.', '+', '-':
		default:
			return false
		}
	}
	return true
}

func withoutCommas(dst, text []byte) []byte {
	for _, c := range text {
		if c != ',' {
			dst = append(dst, c)
		}
	}
	return dst
}
