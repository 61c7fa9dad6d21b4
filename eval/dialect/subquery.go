package dialect

import (
	"fmt"

	"sluice/fault"
	"sluice/syntax"
)

// inner understands a subquery inside an expression. Its text is written at once, with all its columns.
func (f *frame) inner(q *syntax.Query) (*query, value, bool) {
	if f.alone {
		f.report(fault.New(fault.InvalidSubquery, "%s sees its row and nothing else; it cannot have a subquery", f.clause).At(q.Pos))
		return nil, wrong(q.Pos), false
	}
	outer := *f.scope
	outer.pending = map[*column]bool{}
	sub := f.query(q, &outer)
	if sub.stream != nil && f.opt.Streaming {
		f.report(fault.New(fault.UnsupportedStreaming, "a subquery in an expression reads the stream").At(q.Pos).WithHint("read the stream in FROM"))
	}
	var all needs
	all.full(sub)
	v := value{pos: q.Pos, marks: all.marks&^(aggregated|windowed) | nested | raises, inner: []*query{sub}}
	v.sql = (&writer{}).query(sub)
	for c := range outer.pending {
		v.free = append(v.free, c)
	}
	return sub, v, true
}

// subquery is (query) as a value, and EXISTS (query).
func (f *frame) subquery(e *syntax.Subquery) value {
	sub, v, ok := f.inner(e.Query)
	if !ok {
		return v
	}
	if e.Exists {
		v.typ, v.sql = boolean, fmt.Sprintf("EXISTS (%s)", v.sql)
		return v
	}
	if !f.oneColumn(sub, e.Query.Pos) {
		return wrong(e.Pos)
	}
	if s, ok := sub.body.(*selection); len(v.free) > 0 && !(ok && len(s.groups) == 0 && sub.outputs[0].value.is(aggregated)) {
		return f.fail(fault.New(fault.InvalidSubquery, "a subquery that depends on the row around it may give more than one value").At(e.Pos).
			WithHint("aggregate it: (SELECT max(x) FROM ...)"))
	}
	v.typ, v.sql = sub.outputs[0].value.typ, "("+v.sql+")"
	v.marks |= sub.outputs[0].value.marks & broken
	return v
}

func (f *frame) oneColumn(q *query, pos syntax.Pos) bool {
	if q.partial {
		return false
	}
	if len(q.outputs) != 1 {
		f.report(fault.New(fault.InvalidSubquery, "a subquery used as a value has %d columns", len(q.outputs)).At(pos).WithHint("select one column"))
	}
	return len(q.outputs) == 1
}

// inQuery is x IN (query).
func (f *frame) inQuery(e *syntax.In, x value) value {
	sub, v, ok := f.inner(e.Query)
	if !ok || !f.oneColumn(sub, e.Query.Pos) {
		return wrong(e.Pos)
	}
	y := sub.outputs[0].value
	x, _, ok = f.alike("IN", x, y, e.Pos)
	if !ok {
		return wrong(e.Pos)
	}
	if !x.typ.Orderable() {
		return f.fail(fault.New(fault.OperandNotOrdered, "values of type %s are not compared", x.typ).At(e.Pos))
	}
	if !sub.outputs[0].value.typ.Equal(x.typ) {
		c := (&caster{binder: f.binder}).write("c0", sub.outputs[0].value.typ, x.typ)
		v.sql = fmt.Sprintf("SELECT %s FROM (%s)", c, v.sql)
	}
	out := derive(boolean, fmt.Sprintf("(%s IN (%s))", x.sql, v.sql), x, v)
	if e.Not {
		return not(out)
	}
	return out
}
