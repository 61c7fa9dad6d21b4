package csv

import (
	"bytes"
	"strings"

	"sluice/batch"
	"sluice/fault"
	"sluice/option"
)

// Header takes the names of a file's columns from its first record. A column that no name matches, or that two names
// match without case and none exactly, is an error: the file is not what the schema says.
func (d *Decoder) Header(record []byte) error {
	record = bytes.TrimPrefix(record, []byte("\xef\xbb\xbf"))
	var names []string
	for i := 0; ; {
		t := d.token(record, i, true)
		if t.stray || t.open {
			return fault.New(fault.HeaderMismatch, "the header has a stray quote in its field %d", len(names)+1)
		}
		names = append(names, string(t.text))
		if t.next >= len(record) {
			break
		}
		i = t.next + d.o.Dialect.width()
	}
	positions := make([]int, len(d.o.Fields))
	for c, f := range d.o.Fields {
		if d.special(c) {
			continue
		}
		at, err := d.find(c, f.Name, names)
		if err != nil {
			return err
		}
		for other, taken := range positions[:c] {
			if taken == at && !d.special(other) {
				return fault.New(fault.HeaderMismatch, "columns %s and %s are the same field of the header", batch.QuoteName(d.o.Fields[other].Name), batch.QuoteName(f.Name))
			}
		}
		positions[c] = at
	}
	d.place(len(names), positions)
	if d.rescue != nil {
		return d.rescue.header(names)
	}
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
