package dialect

import (
	"sluice/batch"
	"sluice/fault"
	"sluice/syntax"
)

// bound is what an analysis keeps: the query, and the state in which more expressions can be understood.
type bound struct {
	*binder
	root *query
}

// query is a query that has been understood.
type query struct {
	body    body
	outputs []*output
	stream  *use // the stream its rows come from, each from one of its rows
	partial bool // a star stands for the columns of a missing table, so the number of columns and unknown names say nothing
}

// output is a column of a query.
type output struct {
	name  string
	value value
}

// body is a *selection, a *setOperation or a *rowList.
type body interface {
	write(w *writer, q *query) string
	mark(n *needs)
}

// selection is a SELECT. Its columns are the outputs of the query it is the body of.
type selection struct {
	distinct bool
	from     []tableExpr // joined by commas
	where    *value
	groups   []value
	having   *value
	whole    bool // all rows make one group
	qualify  *value
	order    []sortKey
	limit    *value
	offset   *value
	made     []*output // columns of a generator, which are written whether they are used or not

	frame *frame // in which its select list was understood
}

type sortKey struct {
	value value
	item  syntax.OrderItem
}

// plain reports whether each row of the selection is made of one row of its tables on its own, so that more columns can be
// added to it.
func (s *selection) plain() bool {
	return !s.distinct && s.order == nil && s.limit == nil && s.offset == nil
}

// setOperation puts the rows of two queries together.
type setOperation struct {
	op          string
	left, right *query
}

// rowList is VALUES.
type rowList struct{ rows [][]value }

// cte is a common table expression. It is written once, in front of the whole statement.
type cte struct {
	name  string // in DuckDB
	query *query
	names []string // of its columns
}

// environment is the common table expressions that can be named, the innermost first.
type environment struct {
	name  string
	cte   *cte
	outer *environment
}

// query understands a query. outer is the scope around a subquery.
func (b *binder) query(q *syntax.Query, outer *scope) *query {
	saved := b.env
	defer func() { b.env = saved }()
	for _, c := range q.With {
		b.with(c)
	}
	if s, ok := q.Body.(*syntax.Select); ok {
		return b.selection(s, q, outer)
	}
	out := b.combined(q.Body, outer)
	if len(q.OrderBy) == 0 && q.Limit == nil && q.Offset == nil {
		return out
	}
	// ORDER BY and LIMIT of a set operation see its columns and nothing else.
	return b.around(out, q, outer)
}

// around is SELECT * FROM (inner), with the ORDER BY and LIMIT of q.
func (b *binder) around(inner *query, q *syntax.Query, outer *scope) *query {
	table := b.derive(inner, nil)
	f := b.newFrame(table.scope(outer, nil), "SELECT")
	f.stream = inner.stream
	s := &selection{from: []tableExpr{table}, frame: f}
	out := &query{body: s, stream: inner.stream, partial: inner.partial}
	for _, c := range table.columns {
		out.outputs = append(out.outputs, &output{name: c.name, value: c.value()})
	}
	b.ordering(s, out, q, f)
	return out
}

func (b *binder) with(c syntax.CTE) {
	inner := b.query(c.Query, nil)
	b.checkNames(c.Columns, inner, c.Name.Pos)
	made := &cte{query: inner, name: "q" + b.alias(), names: identTexts(c.Columns)}
	b.ctes = append(b.ctes, made)
	b.env = &environment{name: c.Name.Text, cte: made, outer: b.env}
}

func identTexts(ids []syntax.Ident) []string {
	var out []string
	for _, id := range ids {
		out = append(out, id.Text)
	}
	return out
}

// checkNames reports a list of column names that has not the right length.
func (b *binder) checkNames(names []syntax.Ident, q *query, pos syntax.Pos) {
	if !q.partial {
		b.checkCount(names, len(q.outputs), pos)
	}
}

func (b *binder) checkCount(names []syntax.Ident, columns int, pos syntax.Pos) {
	if len(names) > 0 && len(names) != columns {
		b.report(fault.New(fault.AliasCountMismatch, "there are %d names in the list and %d in the query", len(names), columns).At(pos))
	}
}

// combined understands a body that is no SELECT.
func (b *binder) combined(e syntax.SetExpr, outer *scope) *query {
	switch e := e.(type) {
	case *syntax.Select:
		return b.selection(e, &syntax.Query{Pos: e.Pos, Body: e}, outer)
	case *syntax.Query:
		return b.query(e, outer)
	case *syntax.Values:
		return b.values(e, outer)
	case *syntax.SetOp:
		return b.setOperation(e, outer)
	}
	b.report(fault.New(fault.InternalError, "a query has the body %T", e))
	return &query{body: &rowList{}}
}

func (b *binder) setOperation(e *syntax.SetOp, outer *scope) *query {
	left, right := b.combined(e.Left, outer), b.combined(e.Right, outer)
	if b.opt.Streaming && (left.stream != nil || right.stream != nil) {
		b.report(streaming(e.Pos, e.Op, "write one flow per SELECT; several flows may fill one table"))
	}
	if left.partial || right.partial {
		return &query{body: left.body, partial: true}
	}
	out := &query{}
	if len(left.outputs) != len(right.outputs) {
		b.report(fault.New(fault.NumColumnsMismatch, "%s has %s on one side and %d on the other", e.Op, counted(len(left.outputs), "column"), len(right.outputs)).At(e.Pos))
		return left
	}
	types := make([]batch.Type, len(left.outputs))
	for i, l := range left.outputs {
		r := right.outputs[i]
		typ, ok := common(l.value.typ, r.value.typ)
		if !ok && !isBroken(l.value, r.value) {
			b.report(fault.New(fault.IncompatibleColumn, "column %d of %s is %s on one side and %s on the other", i+1, e.Op, l.value.typ, r.value.typ).At(r.value.pos).WithHint("CAST one of them"))
			return left
		}
		if e.Op != "UNION" || !e.All {
			b.checkOrdered(typ, e.Op, r.value.pos)
		}
		types[i] = typ
	}
	left, right = b.coerced(left, types), b.coerced(right, types)
	for i, l := range left.outputs {
		v := derive(types[i], "", l.value, right.outputs[i].value)
		v.pos, v.notNull = l.value.pos, l.value.notNull && right.outputs[i].value.notNull
		out.outputs = append(out.outputs, &output{name: l.name, value: v})
	}
	op := e.Op
	if e.All {
		op += " ALL"
	}
	out.body = &setOperation{op: op, left: left, right: right}
	return out
}

// checkOrdered reports a type whose values cannot be told apart.
func (b *binder) checkOrdered(typ batch.Type, what string, pos syntax.Pos) {
	if typ.Kind != batch.Void && !typ.Orderable() {
		b.report(fault.New(fault.SetOperationOnMap, "%s does not take a column of type %s", what, typ).At(pos).WithHint("take parts of it"))
	}
}

// coerced is q with its columns cast to the given types.
func (b *binder) coerced(q *query, types []batch.Type) *query {
	same := true
	for i, o := range q.outputs {
		same = same && o.value.typ.Equal(types[i])
	}
	if same {
		return q
	}
	table := b.derive(q, nil)
	f := b.newFrame(table.scope(nil, nil), "SELECT")
	out := &query{body: &selection{from: []tableExpr{table}, frame: f}, stream: q.stream}
	for i, c := range table.columns {
		v := f.convert(c.value(), types[i], false)
		v.pos = q.outputs[i].value.pos
		out.outputs = append(out.outputs, &output{name: c.name, value: v})
	}
	return out
}

func (b *binder) values(e *syntax.Values, outer *scope) *query {
	f := b.newFrame(&scope{outer: outer, reached: reachedOf(outer)}, "VALUES")
	list := &rowList{}
	width := len(e.Rows[0])
	columns := make([][]value, width)
	for _, row := range e.Rows {
		if len(row) != width {
			b.report(fault.New(fault.InlineTableColumns, "a row of VALUES has %s, the first one %d", counted(len(row), "value"), width).At(row[0].Position()))
			return &query{body: list}
		}
		for i, x := range row {
			columns[i] = append(columns[i], f.bind(x))
		}
	}
	out := &query{body: list}
	list.rows = make([][]value, len(e.Rows))
	for i, column := range columns {
		column, ok := f.unify("VALUES", column, e.Pos)
		if !ok {
			column = []value{wrong(e.Pos)}
		}
		for r := range column {
			list.rows[r] = append(list.rows[r], column[r])
		}
		all := derive(column[0].typ, "", column...)
		all.pos, all.notNull = column[0].pos, true
		for _, v := range column {
			all.notNull = all.notNull && v.notNull
		}
		out.outputs = append(out.outputs, &output{name: "col" + itoa(i+1), value: all})
	}
	return out
}
