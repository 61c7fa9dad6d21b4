package json

import (
	"bytes"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
)

// decoder implements format.Decoder. Columns are a tree of nodes, each bound to the builder it fills.
type decoder struct {
	scanner
	format.Scalars
	root             node // a STRUCT of the columns
	columns          []*node
	corrupt          *node // nil without a column for raw text
	permissive       bool
	numbersAsStrings bool
	spark            bool         // values are read as from_json reads them: see Function
	noNames          bool         // spark: FromOptions.NoNames
	nulled           int          // spark: fields that became NULL
	lastNulled       *fault.Error // spark: why the last of them did
	compact          []byte       // spark: the last value taken as a text
	unreadable       *fault.Error // the first value that is not of its type, in the column being read
	bad              []format.BadValue
	rescue           *rescue // nil where nothing is rescued
	tolerate         []*batch.Column
	tolerated        format.Tolerated
}

// Forget gives up the memory of long texts.
func (d *decoder) Forget() { d.text, d.compact = nil, nil }

// NewDecoder returns a decoder of the columns o.Fields. It refuses a type that JSON cannot fill, and two columns that one
// member would match.
func NewDecoder(o Options) (format.Decoder, error) {
	d, err := newDecoder(o)
	if err != nil {
		return nil, err
	}
	return d, nil
}

func newDecoder(o Options) (*decoder, error) {
	d := &decoder{
		permissive:       o.Mode == batch.Permissive,
		numbersAsStrings: o.NumbersAsStrings,
		tolerate:         o.Tolerate,
		Scalars:          format.Scalars{Zone: format.NewZone(o.Zone), Unit: o.TimestampUnit, Times: o.Times},
	}
	d.maxDepth = o.MaxDepth
	if d.maxDepth == 0 {
		d.maxDepth = DefaultMaxDepth
	}
	if err := d.root.init("", batch.StructOf(o.Fields...), o.Quoted, o.CorruptRecord); err != nil {
		return nil, err
	}
	for i := range d.root.children {
		d.columns = append(d.columns, &d.root.children[i])
	}
	if o.Rescue {
		d.rescue = newRescue(&d.root, o.RescuedData)
	}
	if o.CorruptRecord >= 0 && o.CorruptRecord < len(d.columns) {
		d.corrupt = d.columns[o.CorruptRecord]
		if !format.TakesRecords(d.corrupt.typ) {
			return nil, fault.New(fault.UnsupportedTypes, "column %s takes the raw text of bad records and must be a STRING or BINARY, it is %s", d.corrupt.path, d.corrupt.typ)
		}
	}
	return d, nil
}

// Decode implements format.Decoder.
func (d *decoder) Decode(values [][]byte, into []batch.Builder) []format.BadValue {
	for i, c := range d.columns {
		c.bind(&into[i])
	}
	d.bad = d.bad[:0]
	d.tolerated.Reset()
	for i, v := range values {
		if err := d.record(i, v); err != nil {
			d.bad = append(d.bad, format.BadValue{Index: i, Kept: d.permissive, Err: err})
		}
	}
	return d.bad
}

// record decodes one record: it appends a row to every column, or returns what is wrong. A bad record leaves a row only
// in permissive mode.
func (d *decoder) record(number int, src []byte) *fault.Error {
	rows := 0
	if len(d.columns) > 0 {
		rows = d.columns[0].b.Len()
	}
	d.depth = 0
	if d.rescue != nil {
		d.rescue.begin()
	}
	if d.document(src) < 0 {
		for _, c := range d.columns {
			c.b.Truncate(rows)
			if d.permissive {
				c.b.AppendNull()
			}
		}
		d.keepRaw(src, rows)
		return d.syntax
	}
	if d.rescue != nil {
		d.rescue.end(rows)
	}
	unreadable := d.root.firstUnreadable()
	if unreadable == nil {
		return nil
	}
	if d.tolerate != nil {
		if unreadable = d.replace(number, rows); unreadable == nil {
			return nil
		}
	}
	for i, c := range d.columns {
		switch {
		case !d.permissive:
			c.b.Truncate(rows)
		case d.root.state[i].err != nil:
			c.b.Truncate(rows)
			c.b.AppendNull()
		}
	}
	d.keepRaw(src, rows)
	return unreadable
}

// replace puts other values in the place of those that cannot be read and are tolerated, and returns the first error of another column. In a
// record that becomes no row nothing is replaced.
func (d *decoder) replace(number, rows int) (other *fault.Error) {
	for i := range d.root.state {
		if err := d.root.state[i].err; err != nil && d.tolerate[i] == nil {
			other = err
			break
		}
	}
	if other != nil && !d.permissive {
		return other
	}
	for i, c := range d.columns {
		if d.root.state[i].err != nil && d.tolerate[i] != nil {
			c.b.Truncate(rows)
			c.b.AppendFrom(d.tolerate[i], 0)
			d.root.state[i].err = nil
			d.tolerated.Add(number, i)
		}
	}
	return other
}

// document reads the record's one object and what is around it.
func (d *decoder) document(src []byte) int {
	i := 0
	if bytes.HasPrefix(src, []byte("\xef\xbb\xbf")) {
		i = 3
	}
	i = blank(src, i)
	d.root.anyUnreadable = false
	switch {
	case i == len(src):
		return d.refuse(i, "the record is empty")
	case src[i] != '{':
		return d.fail(src, i, "an object")
	}
	if i = d.members(src, i, &d.root); i < 0 {
		return failed
	}
	if i = blank(src, i); i < len(src) {
		return d.fail(src, i, "nothing behind the object")
	}
	return i
}

// keepRaw puts a bad record into its column.
func (d *decoder) keepRaw(src []byte, rows int) {
	if d.corrupt == nil || !d.permissive {
		return
	}
	d.corrupt.b.Truncate(rows)
	format.AppendRecord(d.corrupt.b, src)
}
