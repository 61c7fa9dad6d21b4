package csv

import (
	"bytes"
	"fmt"
	"slices"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
)

// Inference finds a schema that holds all of some records. The type of a column is the first that reads each of its fields:
// BIGINT, DOUBLE, BOOLEAN, DATE, TIMESTAMP, else STRING. A field that is empty and not quoted says nothing.
type Inference struct {
	Dialect Dialect
	Header  bool // the first record names the columns; else they are c1, c2, ...

	names   []string
	columns [][]batch.Type // that still read all fields, per column; nil before the first value
	scalars format.Scalars
}

var candidates = []batch.Type{batch.Of(batch.BigInt), batch.Of(batch.Double), batch.Of(batch.Boolean), batch.Of(batch.Date), batch.Of(batch.Timestamp), batch.Of(batch.String)}

// Add takes a record into account. One that has another number of fields than the first is bad, and left out.
func (n *Inference) Add(record []byte) error {
	if n.scalars.Zone == nil {
		n.scalars.Zone = format.NewZone(nil)
		record = bytes.TrimPrefix(record, []byte("\xef\xbb\xbf"))
	}
	d := Decoder{o: Options{Dialect: n.Dialect}}
	var texts [][]byte // nil for an empty field
	for i := 0; ; {
		f := n.Dialect.field(record, i)
		if f.stray || f.open {
			return fault.New(fault.MalformedCSV, "field %d has a stray quote", len(texts)+1)
		}
		text := slices.Clone(d.textOf(record, f))
		if len(text) == 0 && f.quoted {
			text = []byte{}
		} else if len(text) == 0 {
			text = nil
		}
		texts = append(texts, text)
		if f.next >= len(record) {
			break
		}
		i = f.next + 1
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
	n.columns = make([][]batch.Type, len(n.names))
}

// reading are those of the types that read a text.
func (n *Inference) reading(types []batch.Type, text []byte) (left []batch.Type) {
	if types == nil {
		types = candidates
	}
	for _, t := range types {
		if _, ok := n.scalars.Append(batch.NewBuilder(t, 1), text); ok {
			left = append(left, t)
		}
	}
	if left == nil {
		return candidates[len(candidates)-1:]
	}
	return left
}

// Fields are the columns found, in their order.
func (n *Inference) Fields() []batch.Field {
	fields := make([]batch.Field, len(n.names))
	for i, name := range n.names {
		fields[i] = batch.Field{Name: name, Type: batch.Of(batch.String)}
		if types := n.columns[i]; len(types) > 0 {
			fields[i].Type = types[0]
		}
	}
	return fields
}
