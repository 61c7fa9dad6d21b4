package format

import (
	"sluice/batch"
	"sluice/option"
)

// RescuedDataOption names the column that takes what no other one does.
var RescuedDataOption = option.Spec{Name: "rescuedDataColumn",
	Doc: "A STRING column that the schema gets in addition: what no column takes, or what cannot be read as its column's type, as the text of a JSON object, with the file's path as _file_path. Such a value is then NULL in its column, and no bad record."}

// RescuedData returns the index in Schema of the column for rescued data, or -1.
func (r *Reading) RescuedData() int {
	name := r.Options.String(RescuedDataOption.Name)
	for i, f := range r.Schema {
		if name != "" && f.Name == name {
			return i
		}
	}
	return -1
}

// Whole returns r with all columns of the schema to decode, and what makes a decoder of those one of r's own columns. What is
// rescued is so the same whichever columns a query asks for.
func (r *Reading) Whole() (whole Reading, narrow func(Decoder) Decoder) {
	whole = *r
	whole.Columns = r.Schema
	n := &narrowed{builders: make([]batch.Builder, len(r.Schema)), wanted: make([]bool, len(r.Schema))}
	for i, f := range r.Schema {
		n.builders[i].Init(f.Type, 0)
	}
	for _, c := range r.Columns {
		n.places = append(n.places, r.Place(c))
		n.wanted[r.Place(c)] = true
	}
	return whole, func(d Decoder) Decoder {
		n.all = d
		return n
	}
}

// narrowed decodes all columns and gives those that are wanted.
type narrowed struct {
	all      Decoder
	builders []batch.Builder // of all columns; those that are wanted are the caller's while it decodes
	places   []int           // per column that is wanted
	wanted   []bool
}

func (n *narrowed) Decode(values [][]byte, into []batch.Builder) []BadValue {
	rows := 0
	for i, at := range n.places {
		n.builders[at] = into[i]
		rows = into[i].Len()
	}
	for i := range n.builders {
		if b := &n.builders[i]; !n.wanted[i] {
			b.Reset()
			for b.Len() < rows { // decoders take it that all columns have as many rows
				b.AppendNull()
			}
		}
	}
	bad := n.all.Decode(values, n.builders)
	for i, at := range n.places {
		into[i] = n.builders[at]
	}
	return bad
}
