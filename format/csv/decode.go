package csv

import (
	"bytes"
	"strings"
	"time"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
	"sluice/option"
)

// Options say what a decoder reads.
type Options struct {
	Dialect Dialect
	// NullValue is the text of an unquoted field that means NULL. A quoted field is never NULL.
	NullValue string
	// Fields are the columns to fill, parallel to the builders given to Decode. NotNull is enforced (D-58).
	Fields []batch.Field
	// Quoted marks columns that were declared in backticks: they match a header's name exactly only (D-9).
	Quoted []bool
	// Header says that columns are found by the names of a header, which Decoder.Header has to be given before Decode.
	Header bool
	// Positions are the places of the columns in a record without a header, from 0; Width is how many fields it has.
	Positions []int
	Width     int
	// Mode and CorruptRecord are as in package json: under batch.Permissive a bad record keeps its row, and its text goes
	// to the column CorruptRecord when that is not -1 (D-15).
	Mode          batch.Mode
	CorruptRecord int
	// Zone is where TIMESTAMP texts without a zone are; nil means UTC.
	Zone *time.Location
	// TimestampUnit is what a number in a timestamp column counts.
	TimestampUnit format.TimestampUnit
}

// Decoder implements format.Decoder.
type Decoder struct {
	scalars    format.Scalars
	o          Options
	columnAt   []int // per field of a record: its column, -1 for none
	missing    []int // columns that no field fills
	text       []byte
	unreadable *fault.Error // the first thing wrong with a value of the record
	bad        []format.BadValue
}

// Forget gives up the memory of long texts.
func (d *Decoder) Forget() { d.text = nil }

// NewDecoder returns a decoder of the columns o.Fields. It refuses types that a text cannot fill.
func NewDecoder(o Options) (*Decoder, error) {
	d := &Decoder{o: o, scalars: format.Scalars{Zone: format.NewZone(o.Zone), Unit: o.TimestampUnit}}
	for _, f := range o.Fields {
		if !d.scalars.Supports(f.Type) {
			return nil, fault.New(fault.UnsupportedTypes, "column %s: CSV has no values of type %s", batch.QuoteName(f.Name), f.Type)
		}
	}
	if o.CorruptRecord >= 0 && o.Fields[o.CorruptRecord].Type.Kind != batch.String {
		f := o.Fields[o.CorruptRecord]
		return nil, fault.New(fault.UnsupportedTypes, "column %s takes the raw text of bad records and must be a STRING, it is %s", batch.QuoteName(f.Name), f.Type)
	}
	if !o.Header {
		for c, at := range o.Positions {
			if c != o.CorruptRecord && (at < 0 || at >= o.Width) {
				return nil, fault.New(fault.InternalError, "column %s is not in the schema", batch.QuoteName(o.Fields[c].Name))
			}
		}
		d.place(o.Width, o.Positions)
	}
	return d, nil
}

// place says which field of a record fills which column.
func (d *Decoder) place(width int, positions []int) {
	d.columnAt = make([]int, width)
	for i := range d.columnAt {
		d.columnAt[i] = -1
	}
	d.missing = d.missing[:0]
	for c, at := range positions {
		if c == d.o.CorruptRecord {
			d.missing = append(d.missing, c)
		} else {
			d.columnAt[at] = c
		}
	}
}

// Header takes the names of a file's columns from its first record. A column that no name matches, or that two names
// match without case and none exactly, is an error: the file is not what the schema says.
func (d *Decoder) Header(record []byte) error {
	record = bytes.TrimPrefix(record, []byte("\xef\xbb\xbf"))
	var names []string
	for i := 0; ; {
		f := d.o.Dialect.field(record, i)
		if f.stray || f.open {
			return fault.New(fault.HeaderMismatch, "the header has a stray quote in its field %d", len(names)+1)
		}
		names = append(names, string(d.textOf(record, f)))
		if f.next >= len(record) {
			break
		}
		i = f.next + 1
	}
	positions := make([]int, len(d.o.Fields))
	for c, f := range d.o.Fields {
		if c == d.o.CorruptRecord {
			continue
		}
		at, err := d.find(c, f.Name, names)
		if err != nil {
			return err
		}
		for other, taken := range positions[:c] {
			if taken == at && other != d.o.CorruptRecord {
				return fault.New(fault.HeaderMismatch, "columns %s and %s are the same field of the header", batch.QuoteName(d.o.Fields[other].Name), batch.QuoteName(f.Name))
			}
		}
		positions[c] = at
	}
	d.place(len(names), positions)
	return nil
}

// find returns the field whose name matches a column (D-9).
func (d *Decoder) find(column int, name string, names []string) (int, error) {
	exact := column < len(d.o.Quoted) && d.o.Quoted[column]
	var same, folded []int
	for i, n := range names {
		if n == name {
			same = append(same, i)
		} else if !exact && strings.EqualFold(n, name) {
			folded = append(folded, i)
		}
	}
	if len(same) == 0 {
		same = folded
	}
	switch len(same) {
	case 1:
		return same[0], nil
	case 0:
		e := fault.New(fault.HeaderMismatch, "the header has no field for column %s", batch.QuoteName(name)).WithDetail("it has %s", strings.Join(names, ", "))
		if near := option.Nearest(name, names); near != "" {
			e.WithHint("did you mean %q?", near)
		}
		return 0, e
	}
	return 0, fault.New(fault.HeaderMismatch, "the header has %d fields for column %s", len(same), batch.QuoteName(name)).WithDetail("it has %s", strings.Join(names, ", "))
}

// textOf returns a field's text; it belongs to the record or to d.
func (d *Decoder) textOf(record []byte, f field) []byte {
	text := record[f.start:f.end]
	if f.escapes {
		d.text = d.o.Dialect.unescape(d.text[:0], text)
		text = d.text
	}
	return text
}

// Decode implements format.Decoder.
func (d *Decoder) Decode(values [][]byte, into []batch.Builder) []format.BadValue {
	d.bad = d.bad[:0]
	for i, v := range values {
		if err := d.row(v, into); err != nil {
			d.bad = append(d.bad, format.BadValue{Index: i, Kept: d.o.Mode == batch.Permissive, Err: err})
		}
	}
	return d.bad
}

// row decodes one record: it appends a row to every column, or returns what is wrong. A bad record leaves a row only in
// permissive mode.
func (d *Decoder) row(record []byte, into []batch.Builder) *fault.Error {
	rows := 0
	if len(into) > 0 {
		rows = into[0].Len()
	}
	d.unreadable = nil
	malformed := d.fields(withoutBreak(record), into)
	if malformed == nil && d.unreadable == nil {
		return nil
	}
	permissive := d.o.Mode == batch.Permissive
	for c := range into {
		if malformed != nil || !permissive {
			into[c].Truncate(rows)
			if permissive {
				into[c].AppendNull()
			}
		}
	}
	if c := d.o.CorruptRecord; c >= 0 && permissive {
		into[c].Truncate(rows)
		into[c].AppendString(strings.ToValidUTF8(string(record), "\ufffd"))
	}
	if malformed != nil {
		return malformed
	}
	return d.unreadable
}

// withoutBreak takes off the line break of a record that comes with it, as a message may.
func withoutBreak(record []byte) []byte {
	if n := len(record); n > 0 && record[n-1] == '\n' {
		return record[:beforeBreak(record, 0, n-1)]
	}
	return record
}

// fields goes over the fields of a record and fills the columns.
func (d *Decoder) fields(record []byte, into []batch.Builder) *fault.Error {
	at, i := 0, 0
	for {
		f := d.o.Dialect.field(record, i)
		switch {
		case f.open:
			return fault.New(fault.MalformedCSV, "field %d has no closing quote", at+1)
		case f.stray:
			return fault.New(fault.MalformedCSV, "field %d has a quote that is neither around the field nor escaped", at+1)
		}
		if at < len(d.columnAt) {
			if c := d.columnAt[at]; c >= 0 {
				d.value(&into[c], c, record, f)
			}
		}
		at++
		if f.next == len(record) {
			break
		}
		if record[f.next] == '\n' {
			return fault.New(fault.MalformedCSV, "there is more than one record")
		}
		i = f.next + 1
	}
	if at != len(d.columnAt) {
		return fault.New(fault.MalformedCSV, "the record has %d fields, the %s has %d", at, d.described(), len(d.columnAt))
	}
	for _, c := range d.missing {
		into[c].AppendNull()
	}
	return nil
}

func (d *Decoder) described() string {
	if d.o.Header {
		return "header"
	}
	return "schema"
}

// value reads a field into its column.
func (d *Decoder) value(b *batch.Builder, c int, record []byte, f field) {
	text := d.textOf(record, f)
	if !f.quoted && string(text) == d.o.NullValue {
		if d.o.Fields[c].NotNull && d.unreadable == nil {
			d.unreadable = fault.New(fault.NullInNotNull, "column %s is NOT NULL and has no value", batch.QuoteName(d.o.Fields[c].Name)).OfColumn(batch.QuoteName(d.o.Fields[c].Name))
		}
		b.AppendNull()
		return
	}
	why, ok := d.scalars.Append(b, text)
	if ok {
		return
	}
	b.AppendNull()
	if d.unreadable != nil {
		return
	}
	d.unreadable = fault.New(fault.UnreadableCSV, "column %s: %q cannot be read as %s", batch.QuoteName(d.o.Fields[c].Name), fault.Payload(excerpt(text)), b.Type).OfColumn(batch.QuoteName(d.o.Fields[c].Name))
	if why != "" {
		d.unreadable.WithDetail("%s", why)
	}
	if (b.Type.Kind == batch.Timestamp || b.Type.Kind == batch.TimestampNTZ) && format.IsNumber(text) && d.scalars.Unit == format.NoUnit {
		d.unreadable.WithHint("timestampUnit says what a number counts: %s", strings.Join(format.TimestampUnits, ", "))
	}
}

func excerpt(text []byte) string {
	const most = 64
	if len(text) > most {
		return string(text[:most]) + "..."
	}
	return string(text)
}
