package dialect

import (
	"slices"
	"strings"

	"sluice/batch"
	"sluice/replacewhere"
	"sluice/syntax"
)

// A predicate over what a query gives says something of the rows of the tables that it reads, where a column of it is a column of theirs, or
// the day of one: a row of which that is not TRUE makes no row for which the predicate is, so nobody need read it. That holds through conditions,
// subqueries, UNION, the columns of GROUP BY, the sides of joins that keep their rows, and the other side for columns that ON says are equal.
// It does not where a row has a say in what becomes of others: LIMIT, window functions, EXCEPT, the side of an outer join that may be missing,
// subqueries in expressions. There, and wherever it is not known, all rows are read (RW-03).

// pruning finds what the predicate says of the relations that a query reads.
type pruning struct {
	*frame
	tree    *replacewhere.Predicate
	found   map[string][]*replacewhere.Predicate // by handle: of each mention
	blocked map[string]bool
	left    int // queries that are still looked into: one with many names for one subquery is not worth it
}

// carrier is a column of a query that has the values of a column of the predicate; days: its days are those values.
type carrier struct {
	stored, output int
	days           bool
}

// held is such a column of a table in FROM.
type held struct {
	stored int
	column *column
	days   bool
}

// sources are for each read a predicate over the columns of its relation: rows for which it is not TRUE need not be read. It is nil where
// nothing is known.
func (c *compiler) sources(p *Projection, reads []Read) []*replacewhere.Predicate {
	out := make([]*replacewhere.Predicate, len(reads))
	if c.needs.marks&random != 0 {
		return out
	}
	x := &pruning{frame: c.newFrame(&scope{}, ""), tree: c.window.Tree, found: map[string][]*replacewhere.Predicate{}, blocked: map[string]bool{}, left: 1000}
	var from []carrier
	for i, t := range p.Columns {
		if t.From >= 0 && c.root.outputs[t.From].value.typ.Equal(t.Field.Type) {
			from = append(from, carrier{stored: i, output: t.From})
		}
	}
	x.query(c.root, from)
	for i, r := range reads {
		mentions := x.found[r.Relation.Handle]
		if x.left < 0 || x.blocked[r.Relation.Handle] || len(mentions) == 0 {
			continue
		}
		out[i] = &replacewhere.Predicate{Op: replacewhere.Or, Args: mentions}
		if len(mentions) == 1 {
			out[i] = mentions[0]
		}
		if out[i].Bounds() < 0 {
			out[i] = nil
		}
	}
	return out
}

func (p *pruning) query(q *query, from []carrier) {
	if p.left--; p.left < 0 {
		return
	}
	switch b := q.body.(type) {
	case *selection:
		p.selection(q, b, from)
	case *setOperation:
		if !strings.HasPrefix(b.op, "UNION") {
			p.block(func(n *needs) { n.full(q) })
			return
		}
		p.query(b.left, from)
		p.query(b.right, from)
	default:
		p.block(func(n *needs) { n.full(q) })
	}
}

// block has the relations read whole that are marked.
func (p *pruning) block(mark func(n *needs)) {
	var n needs
	n.init()
	mark(&n)
	for _, u := range n.uses {
		p.blocked[u.relation.Handle] = true
	}
}

// expressions blocks what is read by subqueries in expressions.
func (p *pruning) expressions(values ...value) {
	for _, v := range values {
		for _, q := range v.inner {
			p.block(func(n *needs) { n.full(q) })
		}
	}
}

func (p *pruning) selection(q *query, s *selection, from []carrier) {
	windows := func(o *output) bool { return o.value.is(windowed) }
	if s.limit != nil || s.offset != nil || s.qualify != nil || slices.ContainsFunc(q.outputs, windows) || slices.ContainsFunc(s.order, func(k sortKey) bool { return k.value.is(windowed) }) {
		p.block(func(n *needs) { n.full(q) })
		return
	}
	grouped := len(s.groups) > 0 || s.whole || hasAggregate(q)
	var columns []held
	for _, c := range from {
		v := q.outputs[c.output].value
		if grouped && !slices.ContainsFunc(s.groups, func(g value) bool { return g.sql == v.sql && g.typ.Equal(v.typ) }) {
			continue
		}
		if column, days := p.under(v); column != nil && !(days && c.days) {
			columns = append(columns, held{c.stored, column, days || c.days})
		}
	}
	p.expressions(s.groups...)
	for _, v := range []*value{s.where, s.having} {
		if v != nil {
			p.expressions(*v)
		}
	}
	for _, o := range slices.Concat(q.outputs, s.made) {
		p.expressions(o.value)
	}
	for _, k := range s.order {
		p.expressions(k.value)
	}
	for _, t := range s.from {
		p.table(t, columns)
	}
}

// under is the column that a value is, or whose day it is; nil when it is something else.
func (p *pruning) under(v value) (c *column, days bool) {
	switch {
	case v.isColumn():
		return unmerged(v.refs[0]), false
	case len(v.refs) == 1 && v.typ.Kind == batch.Date && isInstant(v.refs[0].typ) && v.sql == p.cast(v.refs[0].value(), date, false).sql:
		return unmerged(v.refs[0]), true
	}
	return nil, false
}

func isInstant(t batch.Type) bool { return t.Kind == batch.Timestamp || t.Kind == batch.TimestampNTZ }

// unmerged is the column of a table that a column is which USING made.
func unmerged(c *column) *column {
	for len(c.merged) == 1 && c.merged[0].isColumn() {
		c = c.merged[0].refs[0]
	}
	return c
}

func (p *pruning) table(t tableExpr, columns []held) {
	switch t := t.(type) {
	case *use:
		p.found[t.relation.Handle] = append(p.found[t.relation.Handle], p.over(t, columns))
	case *derived:
		var from []carrier
		for _, h := range columns {
			if h.column.table == t {
				from = append(from, carrier{h.stored, slices.Index(t.query.outputs, h.column.output), h.days})
			}
		}
		p.query(t.query, from)
	case *joined:
		p.join(t, columns)
	default:
		p.block(t.mark)
	}
}

func (p *pruning) join(j *joined, columns []held) {
	if j.on != nil {
		p.expressions(*j.on)
	}
	toRight, toLeft := j.carry(columns, 0), j.carry(columns, 1)
	switch j.kind {
	case "INNER", "CROSS":
		p.table(j.left, append(toLeft, columns...))
		p.table(j.right, append(toRight, columns...))
	case "LEFT", "LEFT SEMI", "LEFT ANTI": // a row on the right that is not there has a row on the left as if it met none
		p.table(j.left, columns)
		p.table(j.right, toRight)
	case "RIGHT":
		p.table(j.left, toLeft)
		p.table(j.right, columns)
	default:
		p.block(j.mark)
	}
}

// carry finds the columns on the other side that have the same values as columns on one, in rows that meet.
func (j *joined) carry(columns []held, side int) (out []held) {
	for _, h := range columns {
		for _, pair := range j.equal {
			if pair[side] == h.column {
				out = append(out, held{h.stored, pair[1-side], h.days})
			}
		}
	}
	return out
}

// over is the predicate as far as it is about columns of a relation.
func (p *pruning) over(u *use, columns []held) *replacewhere.Predicate {
	return p.tree.Of(func(leaf replacewhere.Predicate) *replacewhere.Predicate {
		for _, h := range columns {
			if h.stored != leaf.Column || h.column.source != u || h.column.parent != nil || h.column.part != nil {
				continue
			}
			at := slices.IndexFunc(u.relation.Columns(), func(f batch.Field) bool { return f.Name == h.column.read })
			if at < 0 {
				continue
			}
			if leaf.Column = at; h.days {
				leaf.Days = p.zoneOf(h.column.typ)
			}
			return &leaf
		}
		return nil
	})
}

// equalColumns are the columns that a join has equal in rows that meet, one of each side.
func (f *frame) equalColumns(on syntax.Expr, ls, rs *scope) (out [][2]*column) {
	e, ok := on.(*syntax.Binary)
	if !ok {
		return nil
	}
	if e.Op == "AND" {
		return append(f.equalColumns(e.X, ls, rs), f.equalColumns(e.Y, ls, rs)...)
	}
	x, isX := e.X.(*syntax.Column)
	y, isY := e.Y.(*syntax.Column)
	if !isX || !isY || e.Op != "=" && e.Op != "==" {
		return nil
	}
	a, b := f.bind(x), f.bind(y)
	if !a.isColumn() || !b.isColumn() {
		return nil
	}
	return samePair(a.refs[0], b.refs[0], ls, rs)
}

// samePair is a pair of columns of one type, the left one first.
func samePair(a, b *column, ls, rs *scope) [][2]*column {
	if ls.has(b) && rs.has(a) {
		a, b = b, a
	}
	if !ls.has(a) || !rs.has(b) || !a.typ.Equal(b.typ) {
		return nil
	}
	return [][2]*column{{unmerged(a), unmerged(b)}}
}

// has reports whether a column is one of the scope's own.
func (s *scope) has(c *column) bool {
	return slices.Contains(s.using, c) || slices.ContainsFunc(s.sources, func(src *source) bool { return slices.Contains(src.columns, c) })
}
