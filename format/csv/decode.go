package csv

import (
	"strings"
	"time"
	"unicode/utf8"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
)

// Options say what a decoder reads.
type Options struct {
	Dialect Dialect
	// NullValue is the text of an unquoted field that means NULL, as an empty one always does. A quoted field is never NULL.
	NullValue string
	// EmptyValue is the text that an empty field in quotes stands for.
	EmptyValue string
	// NaN, PositiveInf and NegativeInf are texts for FLOAT and DOUBLE beside those of format.Scalars; "" for none.
	NaN, PositiveInf, NegativeInf string
	// MaxFields and MaxChars bound the fields of a record and their characters; 0 is no limit.
	MaxFields, MaxChars int
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
	// Rescue says that what no column takes, and what cannot be read, is rescued instead: into the STRING column RescuedData,
	// an index in Fields.
	Rescue      bool
	RescuedData int
	// Zone is where TIMESTAMP texts without a zone are; nil means UTC.
	Zone *time.Location
	// TimestampUnit is what a number in a timestamp column counts; Times are the patterns of texts.
	TimestampUnit format.TimestampUnit
	Times         format.Times
	// Tolerate is as in package json.
	Tolerate []*batch.Column
}

// Decoder implements format.Decoder.
type Decoder struct {
	scalars    format.Scalars
	o          Options
	plain      bool // the dialect is: see Dialect.plain
	quick      bool // the dialect is plain, and nothing is to be looked at in a field but its value
	named      bool // a number may be one of the names of infinite
	reader     reader
	columnAt   []int // per field of a record: its column, -1 for none
	missing    []int // columns that no field fills
	text       []byte
	unreadable *fault.Error // the first thing wrong with a value of the record
	bad        []format.BadValue
	rescue     *rescue // nil where nothing is rescued
	number     int     // of the record among those given to Decode
	tolerated  format.Tolerated
}

// Forget gives up the memory of long texts.
func (d *Decoder) Forget() { d.text, d.reader.memory = nil, nil }

// NewDecoder returns a decoder of the columns o.Fields. It refuses types that a text cannot fill.
func NewDecoder(o Options) (*Decoder, error) {
	d := &Decoder{o: o, plain: o.Dialect.plain(), scalars: format.Scalars{Zone: format.NewZone(o.Zone), Unit: o.TimestampUnit, Times: o.Times}}
	d.reader.Dialect = &d.o.Dialect
	d.quick = d.plain && !o.Rescue && o.MaxChars == 0
	for _, name := range []string{o.NaN, o.PositiveInf, o.NegativeInf} {
		d.named = d.named || format.IsNumber([]byte(name))
	}
	for _, f := range o.Fields {
		if !d.scalars.Supports(f.Type) {
			return nil, fault.New(fault.UnsupportedTypes, "column %s: CSV has no values of type %s", batch.QuoteName(f.Name), f.Type)
		}
	}
	if err := d.takesRecords(); err != nil {
		return nil, err
	}
	if o.Rescue {
		if err := d.takesText(o.RescuedData, "takes rescued data"); err != nil {
			return nil, err
		}
		d.rescue = &rescue{}
	}
	if o.Header {
		return d, nil
	}
	for c, at := range o.Positions {
		if !d.special(c) && (at < 0 || at >= o.Width) {
			return nil, fault.New(fault.InternalError, "column %s is not in the schema", batch.QuoteName(o.Fields[c].Name))
		}
	}
	d.place(o.Width, o.Positions)
	if o.Rescue {
		d.rescue.positions(d)
	}
	return d, nil
}

func (d *Decoder) takesRecords() error {
	if c := d.o.CorruptRecord; c >= 0 && !format.TakesRecords(d.o.Fields[c].Type) {
		return fault.New(fault.UnsupportedTypes, "column %s takes bad records and must be a STRING or BINARY, it is %s", batch.QuoteName(d.o.Fields[c].Name), d.o.Fields[c].Type)
	}
	return nil
}

func (d *Decoder) takesText(column int, what string) error {
	if column < 0 || d.o.Fields[column].Type.Kind == batch.String {
		return nil
	}
	f := d.o.Fields[column]
	return fault.New(fault.UnsupportedTypes, "column %s %s and must be a STRING, it is %s", batch.QuoteName(f.Name), what, f.Type)
}

// special reports whether a column is filled by no field.
func (d *Decoder) special(column int) bool {
	return column == d.o.CorruptRecord || d.o.Rescue && column == d.o.RescuedData
}

// place says which field of a record fills which column.
func (d *Decoder) place(width int, positions []int) {
	d.columnAt = make([]int, width)
	for i := range d.columnAt {
		d.columnAt[i] = -1
	}
	d.missing = d.missing[:0]
	for c, at := range positions {
		if d.special(c) {
			d.missing = append(d.missing, c)
		} else {
			d.columnAt[at] = c
		}
	}
}

// token reads the field that starts at record[i], without its text where that is not wanted and costs something.
func (d *Decoder) token(record []byte, i int, wanted bool) token {
	if !d.plain {
		return d.reader.token(record, i)
	}
	f := d.o.Dialect.field(record, i)
	t := token{next: f.next, quoted: f.quoted, stray: f.stray, open: f.open}
	if wanted {
		t.text = d.textOf(record, f)
	}
	return t
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
	d.tolerated.Reset()
	for i, v := range values {
		d.number = i
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
	tolerated := len(d.tolerated.Record)
	if d.rescue != nil {
		d.rescue.begin()
	}
	malformed := d.fields(d.o.Dialect.withoutBreak(record), into)
	if malformed == nil && d.rescue != nil {
		d.rescue.end(&into[d.o.RescuedData], rows)
	}
	if malformed == nil && d.unreadable == nil {
		return nil
	}
	permissive := d.o.Mode == batch.Permissive
	if malformed != nil || !permissive {
		d.tolerated.Truncate(tolerated)
	}
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
		format.AppendRecord(&into[c], record)
	}
	if malformed != nil {
		return malformed
	}
	return d.unreadable
}

// withoutBreak takes off the line break of a record that comes with it, as a message may.
func (d *Dialect) withoutBreak(record []byte) []byte {
	if n := len(record); n > 0 && record[n-1] == d.newline() {
		return record[:d.last(record, 0, n-1)]
	}
	return record
}

// fields goes over the fields of a record and fills the columns.
func (d *Decoder) fields(record []byte, into []batch.Builder) *fault.Error {
	switch c := d.o.Dialect.Comment; {
	case len(record) == 0: // of one column it would be a NULL
		return fault.New(fault.MalformedCSV, "the record is empty")
	case c != 0 && record[0] == c:
		return fault.New(fault.MalformedCSV, "the record is a comment")
	}
	if d.quick {
		return d.quickFields(record, into)
	}
	at, i := 0, 0
	for {
		column := -1
		if at < len(d.columnAt) {
			column = d.columnAt[at]
		}
		t := d.token(record, i, column >= 0 || d.rescue != nil || d.o.MaxChars > 0)
		if err := d.check(&t, at); err != nil {
			return err
		}
		if column >= 0 {
			d.value(&into[column], column, at, &t)
		} else if d.rescue != nil {
			if err := d.spare(at, &t); err != nil {
				return err
			}
		}
		at++
		if t.next == len(record) {
			break
		}
		if d.o.Dialect.breaks(record, t.next) {
			return fault.New(fault.MalformedCSV, "there is more than one record")
		}
		i = t.next + d.o.Dialect.width()
	}
	return d.ended(at, into)
}

// quickFields is fields where quick says so. A record with more fields than there may be has more than there are columns for.
func (d *Decoder) quickFields(record []byte, into []batch.Builder) *fault.Error {
	at, i := 0, 0
	for {
		f := d.o.Dialect.field(record, i)
		if f.open || f.stray {
			return d.check(&token{open: f.open, stray: f.stray}, at)
		}
		if at < len(d.columnAt) {
			if c := d.columnAt[at]; c >= 0 {
				d.value(&into[c], c, at, &token{text: d.textOf(record, f), quoted: f.quoted})
			}
		}
		at++
		if f.next == len(record) {
			return d.ended(at, into)
		}
		if record[f.next] == '\n' {
			return fault.New(fault.MalformedCSV, "there is more than one record")
		}
		i = f.next + 1
	}
}

// ended looks at the number of fields of a record, and fills the columns that no field does.
func (d *Decoder) ended(fields int, into []batch.Builder) *fault.Error {
	if fields < len(d.columnAt) || fields > len(d.columnAt) && d.rescue == nil {
		return fault.New(fault.MalformedCSV, "the record has %d fields, the %s has %d", fields, d.described(), len(d.columnAt))
	}
	for _, c := range d.missing {
		into[c].AppendNull()
	}
	return nil
}

// check refuses a field, the one of index at, that is not well formed or exceeds a limit.
func (d *Decoder) check(t *token, at int) *fault.Error {
	switch {
	case t.open:
		return fault.New(fault.MalformedCSV, "field %d has no closing quote", at+1)
	case t.stray:
		return fault.New(fault.MalformedCSV, "field %d has a quote that is neither around the field nor escaped", at+1)
	case d.o.MaxFields > 0 && at >= d.o.MaxFields:
		return fault.New(fault.MalformedCSV, "the record has more than %d fields", d.o.MaxFields).WithHint("maxColumns says how many it may have")
	case d.o.MaxChars > 0 && len(t.text) > d.o.MaxChars && utf8.RuneCount(t.text) > d.o.MaxChars:
		return fault.New(fault.MalformedCSV, "field %d has more than %d characters", at+1, d.o.MaxChars).WithHint("maxCharsPerColumn says how many it may have")
	}
	return nil
}

func (d *Decoder) described() string {
	if d.o.Header {
		return "header"
	}
	return "schema"
}

// isNull reports whether a field means NULL. It is otherwise given the text that an empty one in quotes stands for.
func (d *Decoder) isNull(t *token) bool {
	if !t.quoted || t.skipped {
		return len(t.text) == 0 || string(t.text) == d.o.NullValue
	}
	if len(t.text) == 0 && d.o.EmptyValue != "" {
		d.text = append(d.text[:0], d.o.EmptyValue...)
		t.text = d.text
	}
	return false
}

// value reads a field, the one of index at, into its column.
func (d *Decoder) value(b *batch.Builder, c, at int, t *token) {
	if d.isNull(t) {
		d.null(b, c)
		return
	}
	if d.named && d.infinite(b, t.text) {
		return
	}
	why, ok := d.scalars.Append(b, t.text)
	switch {
	case ok:
	case !d.named && d.infinite(b, t.text):
	case d.replace(b, c):
	case d.rescue != nil && d.rescue.take(at, t.text):
		d.null(b, c)
	default:
		b.AppendNull()
		d.reject(b.Type, c, t.text, why)
	}
}

// null appends a NULL, which a column that is NOT NULL does not take.
func (d *Decoder) null(b *batch.Builder, c int) {
	f := &d.o.Fields[c]
	if f.NotNull && d.replace(b, c) {
		return
	}
	b.AppendNull()
	if f.NotNull && d.unreadable == nil {
		name := batch.QuoteName(f.Name)
		d.unreadable = fault.New(fault.NullInNotNull, "column %s is NOT NULL and has no value", name).OfColumn(name)
	}
}

// infinite appends what the options name of FLOAT and DOUBLE.
func (d *Decoder) infinite(b *batch.Builder, text []byte) bool {
	if k := b.Type.Kind; k != batch.Float && k != batch.Double || len(text) == 0 {
		return false
	}
	switch string(text) {
	case d.o.NaN:
		return d.scalars.NoNumber(b, []byte("NaN"))
	case d.o.PositiveInf:
		return d.scalars.NoNumber(b, []byte("Infinity"))
	case d.o.NegativeInf:
		return d.scalars.NoNumber(b, []byte("-Infinity"))
	}
	return false
}

// reject notes that a text is no value of a column.
func (d *Decoder) reject(typ batch.Type, c int, text []byte, why string) {
	if d.unreadable != nil {
		return
	}
	name := batch.QuoteName(d.o.Fields[c].Name)
	d.unreadable = fault.New(fault.UnreadableCSV, "column %s: %q cannot be read as %s", name, fault.Payload(excerpt(text)), typ).OfColumn(name)
	if why != "" {
		d.unreadable.WithDetail("%s", why)
	}
	if (typ.Kind == batch.Timestamp || typ.Kind == batch.TimestampNTZ) && format.IsNumber(text) && d.scalars.Unit == format.NoUnit {
		d.unreadable.WithHint("timestampUnit says what a number counts: %s", strings.Join(format.TimestampUnits, ", "))
	}
}

// replace puts another value in the place of one that cannot be read, if that is tolerated.
func (d *Decoder) replace(b *batch.Builder, c int) bool {
	if d.o.Tolerate == nil || d.o.Tolerate[c] == nil {
		return false
	}
	b.AppendFrom(d.o.Tolerate[c], 0)
	d.tolerated.Add(d.number, c)
	return true
}

func excerpt(text []byte) string {
	const most = 64
	if len(text) > most {
		return string(text[:most]) + "..."
	}
	return string(text)
}
