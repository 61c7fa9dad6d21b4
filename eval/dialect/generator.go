package dialect

import (
	"strings"

	"sluice/batch"
	"sluice/fault"
	"sluice/syntax"
)

// A generator is a function that makes rows of a row: explode and its like. It stands alone in the select list, or behind
// LATERAL in FROM. Either way what stands in front of it becomes a query whose select list has all columns there and the unnested
// ones: DuckDB does that row by row and in order, which it does not for every LATERAL.

// generated is what the call of a generator makes: a row for each element of a list.
type generated struct {
	list    value
	outer   bool // a row of NULLs where the list is NULL or empty
	columns []generatedColumn
}

// generatedColumn is one column. of makes its SQL of that of an element; nil is the element's number.
type generatedColumn struct {
	name string
	typ  batch.Type
	of   func(element string) string
}

var generators = []*function{
	generator("explode explode_outer", "array or map", 1, 1, func(c *call) (generated, bool) { return c.elements(false) }),
	generator("posexplode posexplode_outer", "array or map", 1, 1, func(c *call) (generated, bool) { return c.elements(true) }),
	generator("inline inline_outer", "array of structs", 1, 1, (*call).inlined),
	generator("stack", "rows, value, ...", 2, -1, (*call).stacked),
	generator("json_tuple", "text, name, ...", 2, -1, (*call).tuple).on("exact for JSON by RFC 8259, NULL for other texts; the names are constant"),
}

// on says on what domain a function is exact.
func (fn *function) on(domain string) *function {
	fn.exact = domain
	return fn
}

func generator(name, args string, least, most int, expand func(*call) (generated, bool)) *function {
	return &function{name: name, args: args, min: least, max: most, kind: generating, exact: exact, expand: expand,
		bind: func(c *call) value {
			code := fault.GeneratorOutside
			if c.clause == "SELECT" {
				code = fault.GeneratorNested
			}
			return c.fail(fault.New(code, "%s makes rows and is no value", c.name).At(c.pos).
				WithHint("let it stand alone in the select list, or write FROM t, LATERAL %s(...) AS e(x) and use x", c.name))
		}}
}

// elements are those of an array or a map.
func (c *call) elements(numbered bool) (g generated, ok bool) {
	x := c.args[0]
	if numbered {
		g.columns = append(g.columns, generatedColumn{name: "pos", typ: integer})
	}
	switch x.typ.Kind {
	case batch.Array:
		g.list = x
		g.columns = append(g.columns, generatedColumn{"col", x.typ.Fields[0].Type, func(element string) string { return element }})
	case batch.Map:
		g.list = compose(batch.ArrayOf(batch.StructOf(batch.Field{Name: "key", Type: x.typ.Fields[0].Type}, batch.Field{Name: "value", Type: x.typ.Fields[1].Type})), "map_entries(%s)", x)
		g.columns = append(g.columns, fieldsOfElement(g.list.typ.Fields[0].Type.Fields)...)
	default:
		c.fail(fault.New(fault.UnexpectedInput, "%s takes an ARRAY or a MAP, not %s", c.name, x.typ).At(x.pos))
		return g, false
	}
	return g, true
}

// fieldsOfElement are columns for the fields of an element that is a struct.
func fieldsOfElement(fields []batch.Field) (out []generatedColumn) {
	for _, f := range fields {
		out = append(out, generatedColumn{f.Name, f.Type, func(element string) string { return "struct_extract(" + element + ", " + quoteText(f.Name) + ")" }})
	}
	return out
}

// inlined are the structs of an array, a column for each field.
func (c *call) inlined() (g generated, ok bool) {
	x := c.args[0]
	if x.typ.Kind != batch.Array || x.typ.Fields[0].Type.Kind != batch.Struct {
		c.fail(fault.New(fault.UnexpectedInput, "%s takes an ARRAY of STRUCTs, not %s", c.name, x.typ).At(x.pos))
		return g, false
	}
	g.list = x
	g.columns = fieldsOfElement(x.typ.Fields[0].Type.Fields)
	return g, true
}

// stacked are values written down row by row.
func (c *call) stacked() (g generated, ok bool) {
	n, rest := c.args[0], c.args[1:]
	rows, known := constantInt(n)
	if !known || rows < 1 {
		c.fail(fault.New(fault.UnexpectedInput, "the number of rows of stack is a whole number of at least 1, written down").At(n.pos))
		return g, false
	}
	width := (len(rest) + rows - 1) / rows
	elements := make([][]value, rows)
	var fields []batch.Field
	for col := range width {
		column := make([]value, rows)
		for row := range column {
			if column[row] = null(); row*width+col < len(rest) {
				column[row] = rest[row*width+col]
			}
		}
		if column, ok = c.stackedColumn(column, col); !ok {
			return g, false
		}
		fields = append(fields, batch.Field{Name: "col" + itoa(col), Type: column[0].typ})
		for row, v := range column {
			elements[row] = append(elements[row], v)
		}
	}
	structs := make([]string, rows)
	var parts []value
	for row, values := range elements {
		texts := make([]string, width)
		for col, v := range values {
			texts[col] = fields[col].Name + " := " + safe(v.sql, fields[col].Type)
			parts = append(parts, v)
		}
		structs[row] = "struct_pack(" + strings.Join(texts, ", ") + ")"
	}
	g.list = derive(batch.ArrayOf(batch.StructOf(fields...)), "["+strings.Join(structs, ", ")+"]", parts...)
	g.columns = fieldsOfElement(fields)
	return g, true
}

// tuple is one row with fields of a document, by their names.
func (c *call) tuple() (g generated, ok bool) {
	for i, a := range c.args {
		if a.typ.Kind != batch.String {
			c.fail(fault.New(fault.NonStringType, "argument %d of json_tuple is %s, not STRING", i+1, a.typ).At(a.pos))
			return g, false
		}
	}
	document := c.document()
	var fields []batch.Field
	var members []string
	var parts []value
	for i := range c.args[1:] {
		name, _, ok := c.constText(i + 1)
		if !ok || isBroken(document) {
			return g, false
		}
		if strings.ContainsAny(name, "']") {
			c.fail(unsupported("json_tuple with the name %q is not supported", name).At(c.args[i+1].pos).WithHint("use from_json"))
			return g, false
		}
		v := c.builtin("get_json_object", text, [][2]string{{"path", "$['" + name + "']"}}, document)
		fields = append(fields, batch.Field{Name: "c" + itoa(i), Type: text})
		members, parts = append(members, fields[i].Name+" := "+v.sql), append(parts, v)
	}
	g.list = derive(batch.ArrayOf(batch.StructOf(fields...)), "[struct_pack("+strings.Join(members, ", ")+")]", parts...)
	g.columns = fieldsOfElement(fields)
	return g, true
}

// stackedColumn are the values of one column, of one type, as Spark has it; NULLs are of any.
func (c *call) stackedColumn(column []value, number int) ([]value, bool) {
	var first *value
	for i := range column {
		switch {
		case column[i].typ.Kind == batch.Void:
		case first == nil:
			first = &column[i]
		case !first.typ.Equal(column[i].typ):
			c.fail(fault.New(fault.StackTypes, "column %d of stack is %s in one row and %s in another", number, first.typ, column[i].typ).At(column[i].pos).WithHint("CAST one of them"))
			return nil, false
		}
	}
	return c.unify("stack", column, c.pos)
}

// isGenerator reports a call of a generator.
func isGenerator(e syntax.Expr) (*syntax.Func, bool) {
	call, ok := e.(*syntax.Func)
	if !ok || len(call.Name.Parts) != 1 {
		return nil, false
	}
	fn := functions[strings.ToLower(call.Name.Parts[0].Text)]
	return call, fn != nil && fn.kind == generating
}

// lateral understands FROM ..., LATERAL f(x) AS e(a, b) behind some tables.
func (b *binder) lateral(ref *syntax.TableFunc, tables []tableExpr, in *scope, stream *use) ([]tableExpr, *scope) {
	e := &syntax.Func{Name: ref.Name, Pos: ref.Pos}
	for _, a := range ref.Args {
		e.Args = append(e.Args, a.Value)
		if a.Key != "" {
			e.ArgNames = append(e.ArgNames, a.Key)
		}
	}
	if _, ok := isGenerator(e); !ok || ref.Stream || len(ref.With) > 0 {
		b.report(unsupportedQuery(ref.Pos, "LATERAL before anything but a function that makes rows", "the functions that make rows are explode, posexplode, inline, each with _outer, stack and json_tuple"))
		broken := *in
		broken.broken = true
		return tables, &broken
	}
	tables, in, columns, ok := b.generate(e, tables, in, stream, nil)
	src := &source{columns: columns, partial: !ok}
	in.broken = in.broken || !ok
	if a := ref.Alias; a != nil {
		src.names = []string{a.Name.Text}
		if ok {
			b.checkCount(a.Columns, len(columns), ref.Pos)
		}
		for i, id := range a.Columns {
			if i < len(columns) {
				columns[i].name = id.Text
			}
		}
	}
	in.sources, in.order = append(in.sources, src), append(in.order, columns...)
	return tables, in
}

// generate puts what a generator makes beside the columns of the tables in front of it, of the rows that where leaves. The new
// columns are not yet in the scope it returns.
func (b *binder) generate(e *syntax.Func, tables []tableExpr, in *scope, stream *use, where *value) ([]tableExpr, *scope, []*column, bool) {
	f := b.newFrame(in, e.Name.Parts[0].Text)
	f.stream = stream
	g, ok := f.rows(e)
	if !ok {
		return tables, in, nil, false
	}
	if bare := len(g.list.refs) == 1 && g.list.refs[0].sql == g.list.sql; !bare { // computed once
		d, s, inside := b.through(tables, in, stream, where)
		g.list = inside.add("list", g.list).value()
		tables, in, where = []tableExpr{d}, s, nil
	}
	d, s, inside := b.through(tables, in, stream, where)
	var columns []*column
	for _, c := range g.columns {
		o := inside.add(c.name, g.column(c))
		inside.body.made = append(inside.body.made, o.output)
		columns = append(columns, o)
	}
	return []tableExpr{d}, s, columns, true
}

// rows understands the call of a generator.
func (f *frame) rows(e *syntax.Func) (generated, bool) {
	c, ok := f.arguments(e)
	if !ok {
		return generated{}, false
	}
	g, ok := c.fn.expand(c)
	g.outer = strings.HasSuffix(c.name, "_outer")
	return g, ok
}

// column is the value of a column, unnested.
func (g *generated) column(c generatedColumn) value {
	list, numbers := g.list.sql, "range(len("+g.list.sql+"))"
	if g.outer {
		none := "CAST([NULL] AS " + duckType(g.list.typ) + ")"
		list, numbers = "CASE WHEN len("+list+") > 0 THEN "+list+" ELSE "+none+" END", "CASE WHEN len("+list+") > 0 THEN "+numbers+" ELSE [NULL] END"
	}
	if c.of == nil {
		v := derive(c.typ, "CAST(unnest("+numbers+") AS INTEGER)", g.list)
		v.notNull = !g.outer
		return v
	}
	return derive(c.typ, c.of("unnest("+list+")"), g.list)
}

// inside is the query that through has made, to which columns can be added.
type inside struct {
	body  *selection
	table *derived
}

// add puts a column into the query, and returns it as it is seen outside.
func (i inside) add(name string, v value) *column {
	o := &output{name: name, value: v}
	q := i.table.query
	c := &column{name: name, typ: v.typ, notNull: v.notNull, sql: i.table.alias + ".c" + itoa(len(q.outputs)), output: o}
	q.outputs = append(q.outputs, o)
	i.table.columns = append(i.table.columns, c)
	return c
}

// through puts tables into a query of their own, and returns the scope as before, whose columns are now those of that query.
func (b *binder) through(tables []tableExpr, in *scope, stream *use, where *value) (*derived, *scope, inside) {
	body := &selection{from: tables, where: where}
	d := &derived{alias: b.alias(), query: &query{body: body, stream: stream, partial: in.broken}}
	made := inside{body, d}
	moved := map[*column]*column{}
	var move func(c *column) *column
	move = func(c *column) *column {
		if to := moved[c]; to != nil {
			return to
		}
		if c.members == nil {
			moved[c] = made.add(c.name, c.value())
			return moved[c]
		}
		to := &column{name: c.name, typ: c.typ, notNull: c.notNull}
		parts := make([]string, len(c.members))
		for i, m := range c.members {
			to.members = append(to.members, move(m))
			parts[i] = quoteName(m.name) + " := " + to.members[i].sql
		}
		to.sql = "struct_pack(" + strings.Join(parts, ", ") + ")"
		moved[c] = to
		return to
	}
	all := func(columns []*column) (out []*column) {
		for _, c := range columns {
			out = append(out, move(c))
		}
		return out
	}
	s := *in
	s.sources = nil
	for _, src := range in.sources {
		s.sources = append(s.sources, &source{names: src.names, columns: all(src.columns), hidden: all(src.hidden), partial: src.partial})
	}
	s.using, s.order = all(in.using), all(in.order)
	s.hides = map[*column]bool{}
	for c := range in.hides {
		s.hides[move(c)] = true
	}
	return d, &s, made
}
