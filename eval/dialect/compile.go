package dialect

import (
	"fmt"
	"strings"

	"sluice/batch"
	"sluice/fault"
	"sluice/syntax"
)

// compiler writes one statement: the query as it is, in the middle its columns cast to the types they are stored in, and
// around that the checks, which see the row as it would be written (EX-O5).
type compiler struct {
	*binder
	a      *Analysis
	root   *query
	top    *selection // of the root, when columns can be added to it
	table  *derived   // the root in FROM, when they cannot
	stored []*output
	needs  needs
	window *Window // of the predicate, if there is one
}

func compile(a *Analysis, p Projection) (*Compiled, fault.List) {
	b := *a.query.binder
	b.problems, b.reported = nil, map[string]bool{}
	c := &compiler{binder: &b, a: a, root: a.query.root}
	out := c.statement(p)
	if len(b.problems) > 0 {
		b.problems.Sort()
		return nil, b.problems
	}
	return out, nil
}

func (c *compiler) statement(p Projection) *Compiled {
	if s, ok := c.root.body.(*selection); ok && s.plain() {
		c.top = s
	} else {
		c.table = c.derive(c.root, nil)
	}
	out := &Compiled{Checks: len(p.Checks), Row: p.Row}
	for _, t := range p.Columns {
		out.Columns = append(out.Columns, t.Field)
		c.stored = append(c.stored, &output{name: t.Field.Name, value: c.assign(t)})
	}
	var sequence *value
	if p.Sequence != nil {
		v := c.sequence(p.Sequence)
		sequence, out.Sequence = &v, v.typ
	}
	for _, o := range c.stored {
		out.Tried = append(out.Tried, tried(o.value))
	}
	checks := c.checks(p.Checks)
	if p.Where != nil {
		var verdict value
		verdict, c.window = c.where(p.Where)
		out.Window = c.window
		checks, out.Checks = append(checks, verdict), out.Checks+1
	}
	if p.Row && c.root.stream == nil {
		c.report(fault.New(fault.UnsupportedStreaming, "the query reads nothing as a stream, so its rows come from no input row"))
	}
	if len(c.problems) > 0 {
		return nil
	}
	c.mark(sequence, checks, p.Row)
	sql := c.write(sequence, checks, p.Row, plain)
	out.SQL, out.Documents = c.calm(sql), c.decoded(sql)
	out.Guarded = c.calm(c.write(sequence, checks, p.Row, guarded))
	out.Tolerant = c.calm(c.write(sequence, checks, p.Row, tolerant))
	out.Functions = c.functions
	out.Reads = c.needs.reads()
	if c.window != nil {
		c.window.Sources = c.sources(&p, out.Reads)
	}
	out.Clock = c.needs.marks&clocked != 0
	out.Unordered = c.needs.marks&unordered != 0
	return out
}

// result is column i of the query, where the stored columns are made.
func (c *compiler) result(i int) value {
	if c.top != nil {
		return c.root.outputs[i].value
	}
	return c.table.columns[i].value()
}

// assign casts a column of the query to the type of the target, as far as Spark's store assignment allows it in ANSI mode.
func (c *compiler) assign(t Target) value {
	to := t.Field.Type
	f := c.newFrame(&scope{}, "the target")
	if t.From < 0 {
		return f.convert(null(), to, false)
	}
	v := c.result(t.From)
	v.pos = c.root.outputs[t.From].value.pos
	if !assignable(v.typ, to) {
		return f.fail(fault.New(fault.CannotSafelyCast, "the column %s is %s and cannot be stored as %s", batch.QuoteName(t.Field.Name), v.typ, to).At(v.pos).
			WithHint("CAST it in the query"))
	}
	return stated(f.convert(v, to, false))
}

// stated writes a value so that DuckDB gives it the type that it has here, whatever it thinks of the expression.
func stated(v value) value {
	stored := len(v.refs) == 1 && v.refs[0].source != nil && v.refs[0].sql == v.sql
	if !stored && !isBroken(v) && !(strings.HasPrefix(v.sql, "CAST(") && strings.HasSuffix(v.sql, " AS "+duckType(v.typ)+")")) {
		v.sql = safe(v.sql, v.typ)
	}
	return v
}

// assignable is Spark's canANSIStoreAssign.
func assignable(from, to batch.Type) bool {
	switch {
	case from.Kind == batch.Interval || to.Kind == batch.Interval:
		return false
	case from.Equal(to) || from.Kind == batch.Void:
		return true
	case from.IsNested() && from.Kind == to.Kind && len(from.Fields) == len(to.Fields):
		for i := range from.Fields {
			if !assignable(from.Fields[i].Type, to.Fields[i].Type) {
				return false
			}
		}
		return true
	case from.IsNumeric() && to.IsNumeric(), isTime(from) && isTime(to):
		return true
	}
	return isAtomic(from) && to.Kind == batch.String
}

// sequence understands the expression of SEQUENCE BY: over the query's input, else over its columns.
func (c *compiler) sequence(e syntax.Expr) value {
	var f frame
	switch {
	case c.top != nil && c.top.frame != nil:
		f = *c.top.frame
		f.binder, f.lateral = c.binder, c.root.outputs
	default:
		f = *c.newFrame(c.table.scope(nil, nil), "")
	}
	grouped := c.top != nil && (len(c.top.groups) > 0 || hasAggregate(c.root))
	f.clause, f.windows, f.aggregates = "SEQUENCE BY", false, grouped
	v := f.bind(e)
	if isBroken(v) {
		return v
	}
	if v.typ.Kind == batch.Interval || v.typ.Kind == batch.Void {
		return f.fail(fault.New(fault.UnexpectedInput, "the sequence is %s", v.typ).At(e.Position()))
	}
	if grouped && len(v.free) > 0 {
		return f.fail(fault.New(fault.MissingAggregation, "the sequence uses %s, which is neither in GROUP BY nor inside an aggregate function", v.free[0].name).At(e.Position()))
	}
	return stated(v)
}

func hasAggregate(q *query) bool {
	for _, o := range q.outputs {
		if o.value.is(aggregated) {
			return true
		}
	}
	return false
}

// checks understands expectations over the stored columns.
func (c *compiler) checks(list []syntax.Expr) []value {
	row := &source{}
	for i := range c.stored {
		row.columns = append(row.columns, c.storedColumn(i))
	}
	f := c.newFrame(&scope{sources: []*source{row}, order: row.columns}, "an expectation")
	f.alone = true
	var out []value
	for _, e := range list {
		v := f.condition(f.bind(e), "the expectation")
		v.sql = hushed(v.sql)
		out = append(out, v)
	}
	return out
}

func (c *compiler) mark(sequence *value, checks []value, row bool) {
	if c.table != nil {
		c.table.mark(&c.needs)
	} else {
		c.needs.query(c.root)
	}
	for _, o := range c.stored {
		c.needs.value(o.value)
	}
	if sequence != nil {
		c.needs.value(*sequence)
	}
	c.needs.value(checks...)
	if row {
		c.needs.use(c.root.stream)
	}
}

// tried reports whether the tolerant statement makes a value NULL that a row makes fail. DuckDB's TRY takes no subquery: one that fails
// refuses its row.
func tried(v value) bool { return v.is(raises) && !v.is(nested) }

// care is what a statement does about errors that rows raise.
type care uint8

const (
	plain    care = iota // they end it
	guarded              // those of checks are NULL
	tolerant             // those of columns too
)

// write puts the statement together.
func (c *compiler) write(sequence *value, checks []value, row bool, care care) string {
	w := &writer{needs: &c.needs}
	if row || len(c.documents) > 0 {
		w.stream = c.root.stream
	}
	names := func(i int) string { return quoteName(c.stored[i].name) }
	if len(checks) > 0 {
		names = func(i int) string { return fmt.Sprintf("c%d", i) }
	}
	var items []string
	for i, o := range c.stored {
		sql := o.value.sql
		if care == tolerant && tried(o.value) {
			sql = safe("TRY("+sql+")", o.value.typ)
		}
		items = append(items, sql+" AS "+names(i))
	}
	if sequence != nil {
		items = append(items, sequence.sql+" AS "+sequenceColumn)
	}
	var inner string
	if c.top != nil {
		if row {
			items = append(items, w.row(c.top, c.root)+" AS "+rowColumn)
		}
		inner = c.top.rest(w, items)
	} else {
		if row {
			items = append(items, c.table.row(w.stream)+" AS "+rowColumn)
		}
		inner = "SELECT " + strings.Join(items, ", ") + " FROM " + c.table.write(w)
	}
	if len(checks) > 0 {
		inner = c.around(inner, sequence != nil, checks, row, care >= guarded)
	}
	if c.window != nil && c.window.Cluster >= 0 {
		inner += " ORDER BY " + c.clusterKey() + " NULLS FIRST"
	}
	return w.with(c.ctes) + inner
}

const sequenceColumn = "_sequence"

// around writes the checks around the row that they judge. A guarded check that raises an error is NULL, and NULL too is
// what the guarded statement says at the end of whether it ran (D-4, D-49).
func (c *compiler) around(inner string, sequence bool, checks []value, row, guarded bool) string {
	var items []string
	for i, o := range c.stored {
		items = append(items, fmt.Sprintf("r.c%d AS %s", i, quoteName(o.name)))
	}
	if sequence {
		items = append(items, "r."+sequenceColumn)
	}
	for i, v := range checks {
		sql := v.sql
		if guarded {
			sql = "TRY(" + sql + ")"
		}
		items = append(items, fmt.Sprintf("%s AS check%d", safe(sql, boolean), i+1)) // NULL alone would be an INTEGER
	}
	if row {
		items = append(items, "r."+rowColumn)
	}
	if guarded {
		for i, v := range checks {
			items = append(items, fmt.Sprintf("TRY(CASE WHEN %s THEN TRUE ELSE FALSE END) AS ran%d", v.sql, i+1))
		}
	}
	return "SELECT " + strings.Join(items, ", ") + " FROM (" + inner + ") AS r"
}
