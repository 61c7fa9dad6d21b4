package dialect

import (
	"slices"
	"strings"

	"sluice/batch"
	"sluice/fault"
	"sluice/syntax"
)

// tableExpr is something that stands in FROM: a *use, a *derived or a *joined.
type tableExpr interface {
	write(w *writer) string
	mark(n *needs)
	row(stream *use) string // the column with the input row's number, "" when the stream is not in it
}

// derived is a subquery or a common table expression in FROM.
type derived struct {
	alias   string
	query   *query
	cte     *cte
	columns []*column
}

// joined is a join of two tables.
type joined struct {
	left, right tableExpr
	kind        string
	on          *value
	equal       [][2]*column // columns of the left and of the right side that ON or USING says are equal, of one type
}

// relation makes the columns of a relation for one mention of it.
func (b *binder) relation(r *Relation) (*use, *source) {
	u := &use{relation: r, alias: b.alias()}
	src := &source{}
	for _, f := range r.Fields {
		src.columns = append(src.columns, u.column(f, f.Name))
	}
	for _, h := range r.Hidden {
		c := u.column(h, h.Name)
		if h.Type.Kind == batch.Struct {
			c.members = make([]*column, len(h.Type.Fields))
			parts := make([]string, len(h.Type.Fields))
			for i, m := range h.Type.Fields {
				c.members[i] = u.column(m, h.Name+"."+m.Name)
				parts[i] = quoteName(m.Name) + " := " + c.members[i].sql
			}
			c.sql = "struct_pack(" + strings.Join(parts, ", ") + ")"
			c.notNull = true
		}
		src.hidden = append(src.hidden, c)
	}
	return u, src
}

func (u *use) column(f batch.Field, read string) *column {
	return &column{name: f.Name, typ: f.Type, notNull: f.NotNull, sql: u.alias + "." + quoteName(u.relation.Identifier(read)), source: u, read: read}
}

// derive puts a query into FROM. names replace those of its columns.
func (b *binder) derive(q *query, names []string) *derived {
	d := &derived{alias: b.alias(), query: q}
	for i, o := range q.outputs {
		c := &column{name: o.name, typ: o.value.typ, notNull: o.value.notNull, sql: d.alias + ".c" + itoa(i), output: o, table: d}
		if i < len(names) {
			c.name = names[i]
		}
		d.columns = append(d.columns, c)
	}
	return d
}

// scope is the scope of a query that reads d alone.
func (d *derived) scope(outer *scope, names []string) *scope {
	return &scope{outer: outer, reached: reachedOf(outer), sources: []*source{{names: names, columns: d.columns, partial: d.query.partial}}, order: d.columns, broken: d.query.partial}
}

// reachedOf is where a subquery notes the columns that it uses of the queries around it.
func reachedOf(outer *scope) map[*column]bool {
	if outer == nil {
		return map[*column]bool{}
	}
	return outer.pending
}

// tables understands FROM. The stream is the one that the rows of the query come from.
func (b *binder) tables(refs []syntax.TableRef, outer *scope) ([]tableExpr, *scope, *use) {
	in := &scope{outer: outer, reached: reachedOf(outer)}
	var tables []tableExpr
	var stream *use
	for _, ref := range refs {
		if fn, ok := ref.(*syntax.TableFunc); ok && fn.Lateral {
			tables, in = b.lateral(fn, tables, in, stream)
			continue
		}
		t, s, st := b.table(ref, outer)
		if st != nil {
			stream = st
		}
		if t != nil {
			tables = append(tables, t)
		}
		in = in.join(s)
	}
	b.checkAliases(in, refs)
	return tables, in, stream
}

// checkAliases reports two tables of one name, between which a name could not choose.
func (b *binder) checkAliases(in *scope, refs []syntax.TableRef) {
	seen := map[string]bool{}
	for _, src := range in.sources {
		name := strings.ToLower(strings.Join(src.names, "."))
		if name != "" && seen[name] {
			b.report(fault.New(fault.AmbiguousReference, "FROM has two tables called %s", strings.Join(src.names, ".")).At(refs[0].Position()).WithHint("give one of them an alias"))
		}
		seen[name] = true
	}
}

func (b *binder) table(ref syntax.TableRef, outer *scope) (tableExpr, *scope, *use) {
	switch ref := ref.(type) {
	case *syntax.TableName:
		if c := b.commonTable(ref); c != nil {
			return b.named(c.query, c.names, c, ref.Alias, ref.Name.Parts[0].Text, ref.Pos, outer)
		}
		return b.stored(ref, ref.Name.Parts, ref.Alias, outer)
	case *syntax.TableFunc:
		if ref.Lateral {
			b.report(unsupportedQuery(ref.Pos, "LATERAL inside a join", "write it at the end of FROM, behind a comma"))
		}
		return b.stored(ref, nil, ref.Alias, outer)
	case *syntax.SubqueryRef:
		if ref.Lateral {
			b.report(unsupportedQuery(ref.Pos, "LATERAL", "join on columns"))
		}
		return b.named(b.query(ref.Query, nil), nil, nil, ref.Alias, "", ref.Pos, outer)
	case *syntax.Join:
		return b.join(ref, outer)
	}
	b.report(fault.New(fault.InternalError, "FROM has a %T", ref))
	return nil, &scope{outer: outer, reached: reachedOf(outer)}, nil
}

func unsupportedQuery(pos syntax.Pos, what, instead string) *fault.Error {
	return fault.New(fault.UnsupportedQuery, "%s is not supported", what).At(pos).WithHint("%s", instead)
}

// commonTable finds the common table expression that a name means.
func (b *binder) commonTable(ref *syntax.TableName) *cte {
	if len(ref.Name.Parts) != 1 || ref.Stream || len(ref.With) > 0 {
		return nil
	}
	for e := b.env; e != nil; e = e.outer {
		if matches(ref.Name.Parts[0], e.name) {
			return e.cte
		}
	}
	return nil
}

// named puts a query with a name into FROM.
func (b *binder) named(q *query, names []string, c *cte, alias *syntax.Alias, name string, pos syntax.Pos, outer *scope) (tableExpr, *scope, *use) {
	if alias != nil {
		name = alias.Name.Text
		b.checkNames(alias.Columns, q, pos)
		if len(alias.Columns) == len(q.outputs) {
			names = identTexts(alias.Columns)
		}
	}
	d := b.derive(q, names)
	d.cte = c
	var called []string
	if name != "" {
		called = []string{name}
	}
	return d, d.scope(outer, called), q.stream
}

// stored puts a relation into FROM.
func (b *binder) stored(ref syntax.TableRef, parts []syntax.Ident, alias *syntax.Alias, outer *scope) (tableExpr, *scope, *use) {
	none := &scope{outer: outer, reached: reachedOf(outer)}
	r, err := b.catalog.Relation(ref)
	if err != nil {
		b.report(err)
		none.broken = true
		return nil, none, nil
	}
	for _, f := range r.Fields {
		if hollow(f.Type) {
			b.report(hollowed(f.Type, ref.Position()))
			none.broken = true
			return nil, none, nil
		}
	}
	u, src := b.relation(r)
	src.names = identTexts(parts)
	if alias != nil {
		src.names = []string{alias.Name.Text}
		b.checkCount(alias.Columns, len(src.columns), ref.Position())
		for i, id := range alias.Columns {
			if i < len(src.columns) {
				src.columns[i].name = id.Text
			}
		}
	}
	none.sources, none.order = []*source{src}, src.columns
	var stream *use
	if r.Stream {
		stream = u
		if len(b.streams) > 0 && b.opt.Streaming {
			b.report(fault.New(fault.UnsupportedStreaming, "the query reads a second stream").At(ref.Position()).
				WithHint("read one of the two as a table, without STREAM: it is seen as of the batch's start"))
		}
		b.streams = append(b.streams, u)
	}
	return u, none, stream
}

// join understands a join.
func (b *binder) join(e *syntax.Join, outer *scope) (tableExpr, *scope, *use) {
	left, ls, lst := b.table(e.Left, outer)
	right, rs, rst := b.table(e.Right, outer)
	if e.Lateral {
		b.report(unsupportedQuery(e.Pos, "LATERAL inside a join", "write FROM t, LATERAL explode(t.x) AS e(x), with explode_outer for a LEFT JOIN"))
	}
	kind := e.Kind
	if kind == "" {
		kind = "INNER"
	}
	stream := b.joinedStream(kind, lst, rst, e.Pos)
	if kind == "RIGHT" || kind == "FULL" {
		ls.nullable()
	}
	if kind == "LEFT" || kind == "FULL" {
		rs.nullable()
	}
	j := &joined{left: left, right: right, kind: kind}
	both := ls.join(rs)
	f := b.newFrame(both, "ON")
	var conditions []value
	for i, id := range b.usingColumns(e, ls, rs) {
		if c, pair, ok := f.using(i, id, kind, ls, rs, both); ok {
			conditions, j.equal = append(conditions, c), append(j.equal, pair...)
		}
	}
	if e.On != nil {
		conditions = append(conditions, f.condition(f.bind(e.On), "the condition of ON"))
		j.equal = append(j.equal, f.equalColumns(e.On, ls, rs)...)
	}
	switch {
	case len(conditions) > 0 && !isBroken(conditions...):
		j.on = ptr(f.junction("AND", conditions))
	case kind != "CROSS" && kind != "INNER" && len(conditions) == 0:
		j.on = &value{typ: boolean, sql: "TRUE"}
	}
	if left == nil || right == nil {
		return nil, both, stream
	}
	if kind == "LEFT SEMI" || kind == "LEFT ANTI" {
		return j, ls, stream // the right side is not seen behind the join
	}
	return j, both, stream
}

// joinedStream checks that a stream keeps each of its rows, and returns it.
func (b *binder) joinedStream(kind string, left, right *use, pos syntax.Pos) *use {
	stream := left
	if stream == nil {
		stream = right
	}
	if !b.opt.Streaming || stream == nil {
		return stream
	}
	lost := kind == "FULL" || kind == "RIGHT" && stream == left || stream == right && kind != "RIGHT" && kind != "INNER" && kind != "CROSS"
	if lost || kind == "RIGHT" {
		b.report(fault.New(fault.UnsupportedStreaming, "a %s join with a stream on this side is not possible", kind).At(pos).
			WithHint("write the stream on the left of an INNER or LEFT join"))
	}
	return stream
}

// usingColumns are the columns of USING, or those that both sides of a NATURAL join have.
func (b *binder) usingColumns(e *syntax.Join, ls, rs *scope) []syntax.Ident {
	if !e.Natural {
		return e.Using
	}
	var out []syntax.Ident
	for _, l := range ls.order {
		for _, r := range rs.order {
			if strings.EqualFold(l.name, r.name) {
				out = append(out, syntax.Ident{Text: l.name, Pos: e.Pos})
			}
		}
	}
	return out
}

// using joins on one column of both sides and makes one column of the two, the i-th of the join.
func (f *frame) using(i int, id syntax.Ident, kind string, ls, rs, both *scope) (on value, equal [][2]*column, ok bool) {
	l, _, many := ls.find([]syntax.Ident{id})
	r, _, manyRight := rs.find([]syntax.Ident{id})
	if l == nil || r == nil {
		err := fault.New(fault.UnresolvedColumn, "USING names %s, which is not one column of each side", batch.QuoteName(id.Text)).At(id.Pos)
		if many != nil || manyRight != nil {
			err.WithHint("write ON with both columns")
		}
		if !ls.broken && !rs.broken {
			f.report(err)
		}
		return value{}, nil, false
	}
	x, y, ok := f.alike("USING", l.value(), r.value(), id.Pos)
	if !ok {
		return value{}, nil, false
	}
	if !x.typ.Orderable() {
		f.report(fault.New(fault.OperandNotOrdered, "USING: values of type %s are not compared", x.typ).At(id.Pos).WithHint("join on parts of them"))
		return value{}, nil, false
	}
	equal = samePair(l, r, ls, rs)
	if kind == "LEFT SEMI" || kind == "LEFT ANTI" {
		return compose(boolean, "(%s = %s)", x, y), equal, true
	}
	merged := l.value()
	switch kind {
	case "RIGHT":
		merged = r.value()
	case "FULL":
		merged = compose(x.typ, "coalesce(%s, %s)", x, y)
	}
	c := &column{name: l.name, typ: merged.typ, sql: merged.sql, merged: []value{merged}, notNull: merged.notNull}
	both.hides[l], both.hides[r] = true, true
	both.using = append(both.using, c)
	both.order = slices.DeleteFunc(slices.Clone(both.order), func(o *column) bool { return o == l || o == r })
	both.order = slices.Insert(both.order, i, c)
	return compose(boolean, "(%s = %s)", x, y), equal, true
}
