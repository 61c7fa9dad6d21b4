package csv

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
)

// rescue collects what no column of a record takes, and what cannot be read as its column's type, as the members of one object
// (format.RescuedDataOption). A field is called as in the header, or without one as its column; one too many is _c and its index.
type rescue struct {
	text    []byte   // the object without its brace at the end, each member with a comma behind it; empty when there is none
	names   [][]byte // of the fields, with the quote in front
	path    []byte   // "_file_path":"...", of the file; empty when records come from no file
	hasPath bool     // the header has a field of that name itself
}

// positions names the fields of records without a header after their columns.
func (r *rescue) positions(d *Decoder) {
	for at, c := range d.columnAt {
		name := nameOf(at)
		if c >= 0 {
			name = opened([]byte(d.o.Fields[c].Name))
		}
		r.names = append(r.names, name)
	}
}

// opened is a name as JSON, without the quote at its end.
func opened(name []byte) []byte {
	quoted := format.AppendJSONString(nil, name)
	return quoted[:len(quoted)-1]
}

func nameOf(i int) []byte { return strconv.AppendInt([]byte(`"_c`), int64(i), 10) }

// header names the fields of records of a file. Two of one name would be one member of the object twice.
func (r *rescue) header(names []string) error {
	r.names, r.hasPath = r.names[:0], slices.Contains(names, "_file_path")
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return fault.New(fault.HeaderMismatch, "the header has two fields %q, and both cannot be rescued", name)
		}
		if !utf8.ValidString(name) {
			return fault.New(fault.HeaderMismatch, "the name of field %d of the header is not UTF-8, and it cannot be rescued", i+1)
		}
		r.names = append(r.names, opened([]byte(name)))
	}
	return nil
}

// file says of which file the next records are.
func (d *Decoder) file(path string) {
	d.rescue.path = format.AppendJSONString([]byte(`"_file_path":`), []byte(strings.ToValidUTF8(path, "\ufffd")))
}

func (r *rescue) begin() { r.text = r.text[:0] }

// take adds the field of index at. It is not ok for a text that is not UTF-8, which has no form in JSON.
func (r *rescue) take(at int, text []byte) (ok bool) {
	if !utf8.Valid(text) {
		return false
	}
	r.name(at)
	r.text = append(format.AppendJSONString(r.text, text), ',')
	return true
}

func (r *rescue) takeNull(at int) {
	r.name(at)
	r.text = append(r.text, "null,"...)
}

func (r *rescue) name(at int) {
	if len(r.text) == 0 {
		r.text = append(r.text, '{')
	}
	for len(r.names) <= at {
		r.names = append(r.names, nameOf(len(r.names)))
	}
	r.text = append(append(r.text, r.names[at]...), '"', ':')
}

// end puts what was rescued into its column, which has a null there.
func (r *rescue) end(column *batch.Builder, row int) {
	if len(r.text) == 0 {
		return
	}
	if len(r.path) > 0 && !r.hasPath {
		r.text = append(append(r.text, r.path...), ',')
	}
	r.text[len(r.text)-1] = '}'
	column.Truncate(row)
	column.AppendText(r.text)
}

// spare rescues a field that no column takes.
func (d *Decoder) spare(at int, t *token) *fault.Error {
	switch {
	case d.isNull(t):
		d.rescue.takeNull(at)
	case !d.rescue.take(at, t.text):
		return fault.New(fault.MalformedCSV, "field %d is not UTF-8 and cannot be rescued", at+1)
	}
	return nil
}
