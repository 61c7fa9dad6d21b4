package dialect

import (
	"slices"
	"strconv"
	"strings"

	"sluice/batch"
	"sluice/fault"
	"sluice/syntax"
)

func itoa(n int) string { return strconv.Itoa(n) }

func (b *binder) newFrame(s *scope, clause string) *frame {
	return &frame{binder: b, scope: s, clause: clause}
}

// forClause is the frame of another clause of the same SELECT.
func (f *frame) forClause(clause string, aggregates, windows bool) *frame {
	g := *f
	g.clause, g.aggregates, g.windows = clause, aggregates, windows
	return &g
}

// selection understands a SELECT and the ORDER BY and LIMIT behind it.
func (b *binder) selection(e *syntax.Select, q *syntax.Query, outer *scope) *query {
	s := &selection{distinct: e.Distinct}
	tables, in, stream := b.tables(e.From, outer)
	s.from = tables
	f := b.newFrame(in, "SELECT")
	f.stream = stream
	out := &query{body: s, stream: stream}

	if e.Where != nil {
		g := f.forClause("WHERE", false, false)
		s.where = ptr(g.condition(g.bind(e.Where), "the condition of WHERE"))
	}
	made := f.generated(s, e)
	items, whole := f.expand(e.Items, made)
	out.partial = !whole
	s.groups = f.grouping(e, items, whole)
	f = f.forClause("SELECT", true, true)
	f.groups = s.groups
	s.frame = f
	for _, item := range items {
		out.outputs = append(out.outputs, f.item(item))
		f.lateral = out.outputs
	}
	if e.GroupByAll {
		s.groups = groupAll(out.outputs)
		f.groups = s.groups
		for _, o := range out.outputs {
			o.value = f.grouped(o.value)
		}
	}
	if e.Having != nil {
		g := f.forClause("HAVING", true, false)
		s.having = ptr(g.condition(g.bind(e.Having), "the condition of HAVING"))
	}
	if e.Qualify != nil {
		g := f.forClause("QUALIFY", true, true)
		s.qualify = ptr(g.condition(g.bind(e.Qualify), "the condition of QUALIFY"))
		if !s.qualify.is(windowed|broken) && !slices.ContainsFunc(out.outputs, func(o *output) bool { return o.value.is(windowed | broken) }) {
			f.report(fault.New(fault.QualifyNoWindow, "QUALIFY stands in a query without a window function").At(s.qualify.pos).WithHint("use WHERE or HAVING"))
		}
	}
	b.ordering(s, out, q, f)
	b.checkGrouping(s, out, e)
	b.checkStream(s, out, e)
	return out
}

func ptr(v value) *value { return &v }

// item is one column of the select list before it is understood: an expression of the user, or a column that a star stands
// for.
type item struct {
	expr   syntax.Expr
	alias  *syntax.Ident
	column *value
}

// expand replaces stars by the columns they stand for. It is not whole when a star stands for those of a missing table.
func (f *frame) expand(items []syntax.SelectItem, made map[syntax.Expr][]item) (out []item, whole bool) {
	whole = true
	for _, i := range items {
		if columns, ok := made[i.Expr]; ok {
			out = append(out, columns...)
			continue
		}
		f.checkOne(i)
		star, ok := i.Expr.(*syntax.Star)
		if !ok {
			out = append(out, item{expr: i.Expr, alias: i.Alias})
			continue
		}
		columns, known := f.star(star)
		whole = whole && known
		for _, v := range columns {
			out = append(out, item{column: &v})
		}
	}
	return out, whole
}

// checkOne reports several names for what is one column.
func (f *frame) checkOne(i syntax.SelectItem) {
	if len(i.Aliases) > 0 {
		f.report(fault.New(fault.AliasCountMismatch, "there are %d names for one column", len(i.Aliases)).At(i.Aliases[0].Pos).WithHint("only functions that make rows give several columns"))
	}
}

// generated understands the generator in a select list, if there is one. The tables and the condition of WHERE move into a query that
// has its columns, and f sees that query.
func (f *frame) generated(s *selection, e *syntax.Select) map[syntax.Expr][]item {
	var call *syntax.Func
	var at syntax.SelectItem
	for _, i := range e.Items {
		c, ok := isGenerator(i.Expr)
		switch {
		case ok && call != nil:
			f.report(fault.New(fault.GeneratorTwice, "the select list has two functions that make rows").At(c.Pos).WithHint("write each behind LATERAL in FROM"))
			return map[syntax.Expr][]item{call: nil, c: nil}
		case ok:
			call, at = c, i
		}
	}
	if call == nil {
		return nil
	}
	if len(e.GroupBy) > 0 || e.GroupByAll || e.Having != nil || slices.ContainsFunc(e.Items, func(i syntax.SelectItem) bool { return isAggregated(i.Expr) }) {
		f.report(unsupportedQuery(call.Pos, "a function that makes rows beside GROUP BY or an aggregate", "aggregate in a subquery, and let the function stand over that: SELECT n, explode(a) FROM (SELECT count(*) AS n, ...)"))
		return map[syntax.Expr][]item{call: nil}
	}
	tables, in, columns, ok := f.generate(call, s.from, f.scope, f.stream, s.where)
	if !ok {
		return map[syntax.Expr][]item{call: nil}
	}
	s.from, s.where, f.scope = tables, nil, in
	names := at.Aliases
	if at.Alias != nil {
		names = []syntax.Ident{*at.Alias}
	}
	if len(names) > 0 && len(names) != len(columns) {
		f.report(fault.New(fault.GeneratorAliases, "%s makes %s, and there is a list of %s", call.Name.Parts[0].Text, counted(len(columns), "column"), counted(len(names), "name")).At(call.Pos).
			WithHint("write AS (a, b) with a name for each"))
	}
	var out []item
	for i, c := range columns {
		if i < len(names) {
			c.name = names[i].Text
		}
		v := c.value()
		v.pos = call.Pos
		out = append(out, item{column: &v})
	}
	return map[syntax.Expr][]item{call: out}
}

// isAggregated reports whether there is an aggregate function in an expression, outside of subqueries and windows.
func isAggregated(e syntax.Expr) (found bool) {
	syntax.Inspect(e, func(node any) bool {
		switch n := node.(type) {
		case *syntax.Query, *syntax.Subquery:
			return false
		case *syntax.Func:
			fn := functions[strings.ToLower(n.Name.Parts[len(n.Name.Parts)-1].Text)]
			found = found || fn != nil && fn.kind == aggregate && n.Over == nil
		}
		return true
	})
	return found
}

// star lists the columns of * or t.*, without those behind EXCEPT. They are not known where a table is missing, which has
// been reported.
func (f *frame) star(e *syntax.Star) (out []value, known bool) {
	var columns []value
	known = true
	switch {
	case e.Qualifier == nil && f.scope.broken:
		known = false
		fallthrough
	case e.Qualifier == nil && len(f.scope.order) > 0:
		for _, c := range f.scope.order {
			columns = append(columns, c.value())
		}
	case e.Qualifier == nil:
		f.report(fault.New(fault.UnresolvedStar, "* stands for no column, since there is no FROM").At(e.Pos))
		return nil, true
	default:
		if columns, known = f.qualified(e); columns == nil {
			return nil, known
		}
	}
	excluded := make([]bool, len(columns))
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.name
	}
	for _, id := range e.Except {
		found := false
		for i, n := range names {
			if matches(id, n) {
				excluded[i], found = true, true
			}
		}
		if !found && known {
			err := fault.New(fault.UnresolvedColumn, "EXCEPT names %s, which * does not have", batch.QuoteName(id.Text)).At(id.Pos)
			f.report(err.WithHint("the columns are %s", strings.Join(batchNames(names), ", ")))
		}
	}
	for i, c := range columns {
		if !excluded[i] {
			c.pos = e.Pos
			out = append(out, c)
		}
	}
	return out, known
}

// qualified lists the columns of t.*, or the fields of the struct s.*.
func (f *frame) qualified(e *syntax.Star) (out []value, known bool) {
	for _, src := range f.scope.sources {
		if src.called(e.Qualifier.Parts) {
			for _, c := range src.columns {
				out = append(out, c.value())
			}
			return out, !src.partial
		}
	}
	if c, used, _ := f.scope.find(e.Qualifier.Parts); c != nil {
		column := &syntax.Column{Name: *e.Qualifier, Pos: e.Pos}
		v := f.path(c, e.Qualifier.Parts[used:], column)
		if v.typ.Kind == batch.Struct {
			for _, field := range v.typ.Fields {
				out = append(out, f.member(v, syntax.Ident{Text: field.Name, Quoted: true, Pos: e.Pos}))
			}
			return out, true
		}
	}
	if f.scope.broken {
		return nil, false
	}
	var names []string
	for _, src := range f.scope.sources {
		if n := len(src.names); n > 0 {
			names = append(names, src.names[n-1])
		}
	}
	err := fault.New(fault.UnresolvedStar, "there is no table %s here", written(e.Qualifier.Parts)).At(e.Pos)
	f.report(err.WithHint("the tables are %s", strings.Join(names, ", ")))
	return nil, true
}

// item understands a column of the select list and names it.
func (f *frame) item(i item) *output {
	if i.column != nil {
		return &output{name: i.column.name, value: f.grouped(*i.column)}
	}
	v := f.bind(i.expr)
	if isAggregated(i.expr) {
		v.marks |= aggregated // also where it has no use for the aggregate: typeof(sum(x))
	}
	name := columnName(i.expr)
	if i.alias != nil {
		name = i.alias.Text
	}
	return &output{name: name, value: v}
}

// grouping understands GROUP BY: expressions, numbers of the select list, and its names.
func (f *frame) grouping(e *syntax.Select, items []item, whole bool) []value {
	g := f.forClause("GROUP BY", false, false)
	var out []value
	for _, x := range e.GroupBy {
		v := g.groupKey(x, items, whole)
		if !isBroken(v) {
			f.checkOrdered(v.typ, "GROUP BY", x.Position())
		}
		out = append(out, v)
	}
	return out
}

func (f *frame) groupKey(x syntax.Expr, items []item, whole bool) value {
	chosen := -1
	switch e := x.(type) {
	case *syntax.Literal:
		if e.Kind == syntax.IntegerLiteral && e.Suffix == "" {
			if !whole {
				return wrong(e.Pos)
			}
			n, _ := strconv.Atoi(e.Text)
			if n < 1 || n > len(items) {
				return f.fail(fault.New(fault.GroupByPosition, "GROUP BY %s, but the select list has %s", e.Text, counted(len(items), "column")).At(e.Pos))
			}
			chosen = n - 1
		}
	case *syntax.Column:
		if c, _, ambiguous := f.scope.find(e.Name.Parts); c == nil && ambiguous == nil && len(e.Name.Parts) == 1 {
			for i := range items {
				if items[i].alias != nil && matches(e.Name.Parts[0], items[i].alias.Text) {
					chosen = i
				}
			}
		}
	}
	switch {
	case chosen < 0:
		return f.bind(x)
	case items[chosen].column != nil:
		return *items[chosen].column
	}
	return f.bind(items[chosen].expr)
}

// groupAll are the columns of the select list that GROUP BY ALL groups by: those without an aggregate.
func groupAll(outputs []*output) []value {
	var out []value
	for _, o := range outputs {
		if !o.value.is(aggregated | windowed) {
			out = append(out, o.value)
		}
	}
	return out
}

// checkGrouping reports columns that are neither grouped by nor inside an aggregate.
func (b *binder) checkGrouping(s *selection, out *query, e *syntax.Select) {
	values := []value{}
	grouped := len(e.GroupBy) > 0 || e.GroupByAll || e.Having != nil
	for _, o := range out.outputs {
		values = append(values, o.value)
		grouped = grouped || o.value.is(aggregated)
	}
	for _, v := range []*value{s.having, s.qualify} {
		if v != nil {
			values = append(values, *v)
		}
	}
	for _, k := range s.order {
		values = append(values, k.value)
		grouped = grouped || k.value.is(aggregated)
	}
	s.whole = grouped && len(s.groups) == 0
	if !grouped || isBroken(s.groups...) {
		return
	}
	if b.opt.Streaming && out.stream != nil {
		if !e.GroupPos.IsValid() { // an aggregate or HAVING, which is reported where it stands
			return
		}
		b.report(streaming(e.GroupPos, "GROUP BY", "write it in a query without STREAM, over the table that a streaming flow fills"))
		return
	}
	for _, v := range values {
		if len(v.free) > 0 && !isBroken(v) {
			code := fault.MissingAggregation
			if len(e.GroupBy) == 0 && !e.GroupByAll {
				code = fault.MissingGroupBy
			}
			b.report(fault.New(code, "the column %s is neither in GROUP BY nor inside an aggregate function", batch.QuoteName(v.free[0].name)).At(v.pos).
				WithHint("add it to GROUP BY, or take any_value(%s)", batch.QuoteName(v.free[0].name)))
		}
	}
}

// ordering understands ORDER BY, LIMIT and OFFSET. Names mean columns of the select list first.
func (b *binder) ordering(s *selection, out *query, q *syntax.Query, f *frame) {
	g := f.forClause("ORDER BY", f.aggregates, f.windows)
	g.preferred = out.outputs
	for _, o := range q.OrderBy {
		v := g.sortKey(o.Expr, out)
		if err := noOrder("ORDER BY", v.typ, o.Expr.Position()); err != nil {
			b.report(err)
		}
		if v.konst == nil { // what is the same for every row orders none, and DuckDB takes none but numbers
			s.order = append(s.order, sortKey{value: v, item: o})
		}
	}
	s.limit, s.offset = b.count(q.Limit, "LIMIT"), b.count(q.Offset, "OFFSET")
	if !b.opt.Streaming || out.stream == nil {
		return
	}
	if len(q.OrderBy) > 0 {
		b.report(streaming(q.OrderBy[0].Expr.Position(), "ORDER BY", "leave it out; a table has no order, and the query that reads it may sort"))
	}
	for _, l := range []syntax.Expr{q.Limit, q.Offset} {
		if l != nil {
			b.report(streaming(l.Position(), "LIMIT", "choose rows with WHERE"))
		}
	}
}

func (f *frame) sortKey(x syntax.Expr, q *query) value {
	if lit, ok := x.(*syntax.Literal); ok && lit.Kind == syntax.IntegerLiteral && lit.Suffix == "" {
		if q.partial {
			return wrong(lit.Pos)
		}
		n, _ := strconv.Atoi(lit.Text)
		if n < 1 || n > len(q.outputs) {
			return f.fail(fault.New(fault.OrderByPosition, "ORDER BY %s, but the select list has %s", lit.Text, counted(len(q.outputs), "column")).At(lit.Pos))
		}
		return q.outputs[n-1].value
	}
	v := f.bind(x)
	if isAggregated(x) {
		v.marks |= aggregated
	}
	return v
}

// count understands the number of rows of LIMIT and OFFSET: a constant.
func (b *binder) count(x syntax.Expr, clause string) *value {
	if x == nil {
		return nil
	}
	f := b.newFrame(&scope{}, clause)
	if lit, ok := x.(*syntax.Literal); ok && lit.Kind == syntax.IntegerLiteral && !strings.HasPrefix(lit.Text, "-") {
		return ptr(f.convert(f.bind(x), bigint, false))
	}
	if c, ok := x.(*syntax.Column); ok && len(c.Name.Parts) == 1 && strings.EqualFold(c.Name.Parts[0].Text, "ALL") {
		return nil
	}
	b.report(fault.New(fault.InvalidLimit, "%s takes a whole number of at least 0", clause).At(x.Position()))
	return nil
}

// checkStream refuses what cannot be done batch by batch.
func (b *binder) checkStream(s *selection, out *query, e *syntax.Select) {
	if s.distinct {
		for _, o := range out.outputs {
			b.checkOrdered(o.value.typ, "DISTINCT", e.Pos)
		}
	}
	if !b.opt.Streaming || out.stream == nil {
		return
	}
	if s.distinct {
		b.report(streaming(e.Pos, "DISTINCT", "keep one row per key with REPLACE USING (key) SEQUENCE BY ..."))
	}
	for _, v := range []*value{s.having, s.qualify} {
		if v != nil {
			what := "HAVING"
			if v == s.qualify {
				what = "QUALIFY"
			}
			b.report(streaming(v.pos, what, "keep the newest rows of a key with REPLACE USING (key) SEQUENCE BY ..."))
		}
	}
}
