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
// (format.RescuedDataOption). A field is called as in the header, or without one as its column; one too many is _c and its index,
// behind further underscores where another has that name.
type rescue struct {
	text    []byte   // the object without its brace at the end, each member with a comma behind it; empty when there is none
	known   []string // names of the fields in the header, or of the columns
	names   [][]byte // of the fields as they come, with the quote in front
	path    []byte   // "_file_path":"...", of the file; empty when records come from no file
	hasPath bool     // a field has that name itself
}

// positions names the fields of records without a header after their columns.
func (r *rescue) positions(d *Decoder) {
	names := make([]string, len(d.columnAt))
	for at, c := range d.columnAt {
		if c >= 0 {
			names[at] = d.o.Fields[c].Name
		}
	}
	for at, name := range names {
		if name == "" {
			names[at] = unnamed(at, names)
		}
	}
	r.called(names)
}

// called says what the fields of a record are called.
func (r *rescue) called(names []string) {
	r.known, r.names = names, r.names[:0]
	for _, name := range names {
		r.names = append(r.names, opened([]byte(name)))
	}
	r.hasPath = slices.Contains(names, "_file_path")
}

// unnamed is what field i is called when it has no name: _c and its index, behind further underscores where a field has that name.
func unnamed(i int, names []string) string {
	name := "_c" + strconv.Itoa(i)
	for slices.Contains(names, name) {
		name = "_" + name
	}
	return name
}

// opened is a name as JSON, without the quote at its end.
func opened(name []byte) []byte {
	quoted := format.AppendJSONString(nil, name)
	return quoted[:len(quoted)-1]
}

// header names the fields of records of a file. Two of one name would be one member of the object twice.
func (r *rescue) header(names []string) error {
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return fault.New(fault.HeaderMismatch, "the header has two fields %q, and both cannot be rescued", name)
		}
		if !utf8.ValidString(name) {
			return fault.New(fault.HeaderMismatch, "the name of field %d of the header is not UTF-8, and it cannot be rescued", i+1)
		}
	}
	r.called(names)
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
		r.names = append(r.names, opened([]byte(unnamed(len(r.names), r.known))))
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
