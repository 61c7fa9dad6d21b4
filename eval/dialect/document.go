package dialect

import (
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
}

// part is a part of a document: what a value is, when it is nothing else.
type part struct {
	document int // counted from 1
	path     []int
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
	return x.refs[0].origin()
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
func (c *call) wholeOf(typ batch.Type, options [][2]string, x value, column *column) value {
	f := Function{Name: c.name, Args: []batch.Type{x.typ}, Result: typ, Options: options}
	d := c.binder.document(Document{Function: f, Column: column.read})
	return c.asked(&part{document: d}, typ, x).with(documented)
}

// partOf is a field of a STRUCT that is a part of a document.
func (f *frame) partOf(x value, field int) value {
	path := append(slices.Clone(x.part.path), field)
	return f.asked(&part{x.part.document, path}, x.typ.Fields[field].Type, x)
}

// asked is a part of a document, of which is another part of it, or the column.
func (f *frame) asked(p *part, typ batch.Type, of value) value {
	g := Function{Name: f.documents[p.document-1].Function.Name, Args: []batch.Type{integer}, Result: typ, Document: p.document, Path: p.path}
	placeholder := Placeholder(f.binder.function(g))
	loud, _ := g.External()
	v := derive(typ, loud+"("+placeholder+", "+of.refs[0].row()+")", of)
	v.part = p
	return v
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
	}
	return out
}
