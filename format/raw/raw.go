// Package raw reads records as they are: one column, value, of type BINARY or STRING.
//
// A STRING takes UTF-8 only; other bytes are a bad record and never replaced. Nothing else can be wrong with
// a raw record. Writing is the same in reverse.
package raw

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
)

// Column is the name of the column.
const Column = "value"

// Options say what a decoder reads.
type Options struct {
	// Fields are the columns to fill: none, or value, and the column for bad records.
	Fields []batch.Field
	// Mode and CorruptRecord are as in package json: under batch.Permissive a bad record keeps its row, and its text goes
	// to the column CorruptRecord when that is not -1 (D-15).
	Mode          batch.Mode
	CorruptRecord int
}

// NewDecoder returns a decoder of raw records.
func NewDecoder(o Options) (format.Decoder, error) {
	d := &decoder{permissive: o.Mode == batch.Permissive, value: -1, corrupt: o.CorruptRecord}
	for i, f := range o.Fields {
		k := f.Type.Kind
		switch {
		case i == o.CorruptRecord && format.TakesRecords(f.Type):
		case i != o.CorruptRecord && d.value < 0 && strings.EqualFold(f.Name, Column) && (k == batch.Binary || k == batch.String):
			d.value, d.text = i, k == batch.String
		default:
			return nil, fault.New(fault.UnsupportedTypes, "a raw record has no column %s %s", batch.QuoteName(f.Name), f.Type).
				WithHint("its only column is value, BINARY or STRING")
		}
	}
	return d, nil
}

type decoder struct {
	value, corrupt   int // columns, -1 for none
	text, permissive bool
	bad              []format.BadValue
}

func (d *decoder) Decode(values [][]byte, into []batch.Builder) []format.BadValue {
	d.bad = d.bad[:0]
	for i, v := range values {
		if d.text && !utf8.Valid(v) {
			d.reject(i, v, into)
			continue
		}
		if d.value >= 0 {
			into[d.value].AppendText(v)
		}
		if d.corrupt >= 0 {
			into[d.corrupt].AppendNull()
		}
	}
	return d.bad
}

func (d *decoder) reject(i int, v []byte, into []batch.Builder) {
	err := fault.New(fault.InvalidUTF8, "column %s: the record is not UTF-8", Column).WithHint("declare it BINARY")
	d.bad = append(d.bad, format.BadValue{Index: i, Kept: d.permissive, Err: err})
	if !d.permissive {
		return
	}
	into[d.value].AppendNull()
	if d.corrupt >= 0 {
		format.AppendRecord(&into[d.corrupt], v)
	}
}

// NewEncoder returns an encoder of rows with one column, BINARY or STRING, which are whole messages or lines. A NULL has no form in it,
// and in lines neither has a value that a reader would take for several, or for another.
func NewEncoder(fields []batch.Field, lines bool) (format.Encoder, error) {
	if len(fields) != 1 || fields[0].Type.Kind != batch.Binary && fields[0].Type.Kind != batch.String {
		return nil, fault.New(fault.UnsupportedTypes, "raw records are made of one column, BINARY or STRING, not of (%s)", batch.DDL(fields))
	}
	return encoder{lines}, nil
}

type encoder struct{ lines bool }

func (e encoder) Encode(dst []byte, ends []int, rows *batch.Columns, from, to int) ([]byte, []int, error) {
	c := &rows.Cols[0]
	for i := from; i < to; i++ {
		if c.IsNull(i) {
			return dst, ends, fault.New(fault.CannotEncode, "a NULL has no form as a raw record")
		}
		text := c.Text(i)
		dst = append(dst, text...)
		if e.lines {
			if bytes.IndexByte(text, '\n') >= 0 || bytes.HasSuffix(text, []byte("\r")) {
				return dst, ends, fault.New(fault.CannotEncode, "a value with a line break in it, or a carriage return at its end, has no form as a line").WithDetail("%.64q", fault.Payload(text))
			}
			dst = append(dst, '\n')
		}
		ends = append(ends, len(dst))
	}
	return dst, ends, nil
}
