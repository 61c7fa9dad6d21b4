package dialect

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sluice/batch"
)

// Document is a call of from_json over a column of the stream as it came: the text of a record (D-14). Instead of the text, SQL hands
// over the number of the row, and gets one part of the value: a Function for each part that is used. So the text does not go
// through DuckDB, a record is read once however many calls ask for parts of it, and it can be read before SQL runs. In every
// other way such a call is the one it stands for: it is computed where it stands, and counts what it loses there.
type Document struct {
	Function Function // of the text
	Column   string   // of the stream
	// Late says that SQL may not ask for the value of every row: a condition takes rows out, or all calls stand in CASE. Then it is
	// better read when it is asked for.
	Late bool
	Used [][]int // the parts that are asked for, perhaps outside of the subquery the call stands in
}

// Parts are those that are used, as fields with their ways from the top, or the whole.
func (d Document) Parts() []batch.Field {
	var out []batch.Field
	for _, path := range d.Used {
		part := batch.Field{Type: d.Function.Result}
		var names []string
		for _, field := range path {
			f := part.Type.Fields[field]
			part.Type, names = f.Type, append(names, batch.QuoteName(f.Name))
		}
		part.Name = strings.Join(names, ".")
		out = append(out, part)
	}
	return out
}

// String says what is read from where, and which parts of it are used.
func (d Document) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s by %s", batch.QuoteName(d.Column), d.Function.Name)
	for i, part := range d.Parts() {
		b.WriteString([...]string{": ", ", "}[min(i, 1)])
		b.WriteString(strings.TrimPrefix(part.Name+" "+part.Type.String(), " "))
	}
	if d.Late {
		b.WriteString(", of rows that are asked for")
	}
	return b.String()
}

// part is a part of a document.
type part struct {
	document int // counted from 1
	path     []int
	text     *column // that it is read from
}

// fromStream returns the column of the stream that x is as it came, nil for any other value. A column of a query around this one
// does not count: DuckDB computes what depends on it once for each of its values, not for each row.
func (c *call) fromStream(x value) *column {
	if !c.opt.Streaming || !x.isColumn() {
		return nil
	}
	here := func(s *source) bool { return slices.Contains(s.columns, x.refs[0]) }
	if !slices.ContainsFunc(c.scope.sources, here) {
		return nil
	}
	if o := x.refs[0].origin(); o != nil && o.typ.Equal(x.typ) {
		return o
	}
	return nil
}

func (v value) isColumn() bool { return len(v.refs) == 1 && v.refs[0].sql == v.sql }

// origin returns the column of the stream that c is, perhaps through subqueries that hand its rows up, or nil.
func (c *column) origin() *column {
	switch {
	case c.source != nil && c.source.relation.Stream:
		return c
	case c.table != nil && c.output.value.isColumn():
		if o := c.output.value.refs[0].origin(); o != nil && c.table.query.stream == o.source {
			return o
		}
	}
	return nil
}

// row is the column that has the number of the stream's row, beside c.
func (c *column) row() string {
	if c.table != nil {
		return c.table.alias + "." + rowColumn
	}
	return c.source.alias + "." + quoteName(rowColumn)
}

// wholeOf is the value of a document.
func (c *call) wholeOf(typ batch.Type, options [][2]string, x value, stream *column) value {
	f := Function{Name: c.name, Args: []batch.Type{x.typ}, Result: typ, Options: options}
	d := c.binder.document(Document{Function: f, Column: stream.read})
	return c.asked(part{document: d, text: x.refs[0]}, typ, x).with(documented)
}

// partOf is a field of a STRUCT that is a part of a document.
func (f *frame) partOf(x value, field int) value {
	p := *x.refs[0].part
	p.path = append(slices.Clone(p.path), field)
	return f.asked(p, x.typ.Fields[field].Type, x)
}

// asked is a part of a document, of which is another part of it, or the text. It is a column like others.
func (f *frame) asked(p part, typ batch.Type, of value) value {
	g := Function{Name: f.documents[p.document-1].Function.Name, Args: []batch.Type{integer}, Result: typ, Document: p.document, Path: p.path}
	placeholder := Placeholder(f.binder.function(g))
	loud, _ := g.External()
	v := derive(typ, loud+"("+placeholder+", "+p.text.row()+")", of)
	v.refs = []*column{{typ: typ, sql: v.sql, part: &p}}
	return v
}

// inside returns the column that is a field of c, a STRUCT.
func (c *column) inside(field int, sql string) *column {
	return &column{name: c.typ.Fields[field].Name, typ: c.typ.Fields[field].Type, sql: sql, parent: c, field: field}
}

// document returns the number of d, from 1, which equal ones share.
func (b *binder) document(d Document) int {
	at := slices.IndexFunc(b.documents, func(e Document) bool { return e.Column == d.Column && e.Function.equal(&d.Function) })
	if at < 0 {
		at = len(b.documents)
		b.documents = append(b.documents, d)
	}
	return at + 1
}

// countedAs is what the text of a call is known by where equal calls are counted once: parts of a document are the document.
func (b *binder) countedAs(call string) string {
	name, arguments, _ := strings.Cut(call[strings.IndexByte(call, '(')+1:], ", ")
	i, err := strconv.Atoi(strings.TrimPrefix(name, "$f"))
	if err != nil || b.functions[i].Document == 0 {
		return call
	}
	return strconv.Itoa(b.functions[i].Document) + " " + arguments
}

// decoded returns the documents, now that it is known what asks for them.
func (c *compiler) decoded(sql string) []Document {
	out := slices.Clone(c.documents)
	wanted := map[string]bool{}
	for _, call := range callsIn(sql) {
		if !call.tried && !call.cased {
			number, _, _ := strings.Cut(c.countedAs(sql[call.start:call.end]), " ")
			wanted[number] = true
		}
	}
	for i := range out {
		out[i].Late = c.needs.chosen || !wanted[strconv.Itoa(i+1)]
		out[i].Used = c.needs.parts[i+1]
		slices.SortFunc(out[i].Used, slices.Compare)
	}
	return out
}
