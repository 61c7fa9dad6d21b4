package dialect

import (
	"fmt"
	"strings"

	"sluice/batch"
	"sluice/fault"
	"sluice/syntax"
)

const inOrder = "depends on the order of the rows, which is that of their arrival (D-22)"

// signless is said of aggregates for which DuckDB keeps a nested value as a key to sort by.
const signless = "; a -0.0 inside of an array, a struct or a map becomes 0.0"

const zeros = "exact; which of 0.0 and -0.0 " + inOrder

var aggregates = []*function{
	{name: "count", args: "* | x, ...", min: 0, max: -1, kind: aggregate, exact: exact, bind: bindCount},
	{name: "count_if", args: "condition", min: 1, max: 1, kind: aggregate, exact: exact, bind: func(c *call) value {
		x := c.condition(c.args[0], "the argument of count_if")
		return c.over(bigint, "count(CASE WHEN %s THEN 1 END)", x)
	}},
	{name: "sum", args: "x", min: 1, max: 1, kind: aggregate, exact: "exact for integers and DECIMAL; of FLOAT and DOUBLE it " + inOrder, bind: bindSum},
	{name: "avg mean", args: "x", min: 1, max: 1, kind: aggregate, exact: "exact for DECIMAL; else a DOUBLE that " + inOrder, bind: bindAvg},
	{name: "min", args: "x", min: 1, max: 1, kind: aggregate, exact: zeros, bind: bindMinMax},
	{name: "max", args: "x", min: 1, max: 1, kind: aggregate, exact: zeros, bind: bindMinMax},
	{name: "min_by", args: "x, by", min: 2, max: 2, kind: aggregate, exact: "exact; which of equal ones " + inOrder + signless, bind: bindBy("arg_min_null")},
	{name: "max_by", args: "x, by", min: 2, max: 2, kind: aggregate, exact: "exact; which of equal ones " + inOrder + signless, bind: bindBy("arg_max_null")},
	{name: "first first_value any_value", args: "x [, ignore nulls]", min: 1, max: 2, kind: aggregate, exact: inOrder + signless, bind: bindFirst("first")},
	{name: "last last_value", args: "x [, ignore nulls]", min: 1, max: 2, kind: aggregate, exact: inOrder + signless, bind: bindFirst("last")},
	{name: "collect_list array_agg", args: "x", min: 1, max: 1, kind: aggregate, exact: inOrder, bind: bindCollect},
	{name: "bool_and every", args: "condition", min: 1, max: 1, kind: aggregate, exact: exact, bind: bindBool("bool_and")},
	{name: "bool_or some any", args: "condition", min: 1, max: 1, kind: aggregate, exact: exact, bind: bindBool("bool_or")},
}

var windows = []*function{
	{name: "row_number", args: "", max: 0, kind: window, exact: "exact; among equal rows it " + inOrder, bind: bindRank("row_number()", true)},
	{name: "rank", args: "", max: 0, kind: window, exact: exact, bind: bindRank("rank()", false)},
	{name: "dense_rank", args: "", max: 0, kind: window, exact: exact, bind: bindRank("dense_rank()", false)},
	{name: "percent_rank", args: "", max: 0, kind: window, exact: exact, bind: bindShare("percent_rank()")},
	{name: "cume_dist", args: "", max: 0, kind: window, exact: exact, bind: bindShare("cume_dist()")},
	{name: "ntile", args: "groups", min: 1, max: 1, kind: window, exact: "exact; groups is a constant; among equal rows it " + inOrder, bind: bindNtile},
	{name: "lag", args: "x [, rows [, default]]", min: 1, max: 3, kind: window, exact: "exact; among equal rows it " + inOrder, bind: bindNeighbour},
	{name: "lead", args: "x [, rows [, default]]", min: 1, max: 3, kind: window, exact: "exact; among equal rows it " + inOrder, bind: bindNeighbour},
}

// misplaced reports a call that stands where its kind cannot, or has a clause that its kind does not take.
func (c *call) misplaced() *fault.Error {
	e, many := c.expr, c.fn.kind == aggregate || c.fn.kind == window
	switch {
	case !many && (e.Over != nil || e.Filter != nil || e.Distinct || len(e.OrderBy) > 0 || e.Nulls != ""):
		return fault.New(fault.InvalidAggregate, "%s is no aggregate function and takes no DISTINCT, FILTER, ORDER BY or OVER", c.name).At(c.pos)
	case len(e.ArgNames) > 0 && c.name != "struct":
		return fault.New(fault.UnsupportedFunction, "%s takes no named arguments", c.name).At(c.pos).WithHint("write %s(%s)", c.name, c.fn.args)
	case !many:
		return nil
	case c.stream != nil && c.opt.Streaming:
		return streaming(c.pos, "the "+c.kindName()+" "+c.name, "write it in a query without STREAM, over the table that a streaming flow fills")
	case c.fn.kind == window && e.Over == nil:
		return fault.New(fault.MissingWindow, "%s has no OVER", c.name).At(c.pos).WithHint("write %s(...) OVER (PARTITION BY ... ORDER BY ...)", c.name)
	case c.inside != "" && e.Over == nil:
		return fault.New(fault.NestedAggregate, "%s stands inside %s", c.name, c.inside).At(c.pos).WithHint("compute it in a subquery")
	case e.Over != nil && (!c.windows || c.inside != ""):
		return fault.New(fault.WindowNotAllowed, "a window function cannot stand in %s", c.place()).At(c.pos).WithHint("compute it in a subquery")
	case e.Over == nil && !c.aggregates:
		return fault.New(c.noAggregate(), "the aggregate %s cannot stand in %s", c.name, c.place()).At(c.pos).WithHint("use HAVING, or compute it in a subquery")
	case len(e.OrderBy) > 0 && c.name != "listagg" && c.name != "string_agg":
		return fault.New(fault.UnsupportedFunction, "ORDER BY inside %s is not supported", c.name).At(c.pos)
	case e.Over != nil && (e.Distinct || e.Filter != nil):
		return fault.New(fault.UnsupportedFunction, "DISTINCT and FILTER are not supported over a window").At(c.pos)
	}
	return nil
}

// noAggregate is the code of an aggregate in a clause that takes none.
func (c *call) noAggregate() *fault.Code {
	switch c.clause {
	case "WHERE":
		return fault.InvalidWhere
	case "GROUP BY":
		return fault.GroupByAggregate
	}
	return fault.InvalidAggregate
}

func (c *call) kindName() string {
	if c.expr.Over != nil {
		return "window function"
	}
	return "aggregate"
}

func (c *call) place() string {
	if c.inside != "" {
		return "the arguments of " + c.inside
	}
	return c.clause
}

// over makes the value of an aggregate: format is a call of DuckDB's aggregate whose SQL is followed by FILTER and OVER. The
// columns inside are no longer free.
func (c *call) over(typ batch.Type, format string, parts ...value) value {
	return c.filtered(typ, format, "", parts...)
}

// filtered is over with a condition of our own for the rows to take.
func (c *call) filtered(typ batch.Type, format, condition string, parts ...value) value {
	v := compose(typ, format, parts...)
	if isBroken(v) {
		return wrong(c.pos)
	}
	var conditions []string
	if c.expr.Filter != nil {
		inner := *c.within("FILTER")
		filter := inner.condition(inner.bind(c.expr.Filter), "the condition of FILTER")
		v = derive(typ, v.sql, v, filter)
		conditions = append(conditions, filter.sql)
	}
	if condition != "" {
		conditions = append(conditions, condition)
	}
	if len(conditions) > 0 {
		v.sql += " FILTER (WHERE " + strings.Join(conditions, " AND ") + ")"
	}
	if c.expr.Over != nil {
		return c.inWindow(v)
	}
	v.free, v.marks = nil, v.marks|aggregated
	return v
}

func (c *call) distinct() string {
	if c.expr.Distinct {
		return "DISTINCT "
	}
	return ""
}

func bindCount(c *call) value {
	if c.expr.Star || len(c.args) == 0 {
		if !c.expr.Star {
			return c.fail(fault.New(fault.WrongArguments, "count takes * or at least one argument").At(c.pos))
		}
		v := c.over(bigint, "count(*)")
		v.notNull = true
		return v
	}
	x := c.args[0]
	if len(c.args) > 1 { // rows in which none is null
		var nulls []string
		for _, a := range c.args {
			nulls = append(nulls, a.sql+" IS NULL")
		}
		row := compose(void, "CASE WHEN "+escapeFormat(strings.Join(nulls, " OR "))+" THEN NULL ELSE row("+placeholders(len(c.args))+") END", c.args...)
		x = row
	}
	v := c.over(bigint, "count("+c.distinct()+"%s)", x)
	v.notNull = true
	return v
}

// sumType is the type of sum, and whether the argument can be summed.
func sumType(t batch.Type) (batch.Type, bool) {
	switch {
	case t.IsInteger():
		return bigint, true
	case isFractional(t):
		return double, true
	case t.Kind == batch.Decimal:
		return batch.DecimalOf(min(int(t.Precision)+10, 38), int(t.Scale)), true
	}
	return void, false
}

func bindSum(c *call) value {
	x, ok := c.numeric(0)
	if !ok {
		return wrong(c.pos)
	}
	typ, _ := sumType(x.typ)
	if isFractional(x.typ) {
		x = c.convert(x, double, false)
		return c.over(double, "sum("+c.distinct()+"%s)", x).with(unordered)
	}
	v := c.over(typ, "sum("+c.distinct()+"%s)", x)
	if typ.Precision == 38 { // DuckDB does not look whether the sum has more digits
		v.sql = safe(v.sql, text)
	}
	v.sql = safe(v.sql, typ)
	return v.with(raises)
}

// bindAvg divides the sum by the count. DuckDB's own avg of a DECIMAL goes through DOUBLE (D-37).
func bindAvg(c *call) value {
	x, ok := c.numeric(0)
	if !ok {
		return wrong(c.pos)
	}
	if x.typ.Kind != batch.Decimal {
		return c.over(double, "avg("+c.distinct()+"%s)", c.convert(x, double, false)).with(unordered)
	}
	p, s := digits(x)
	if p+14 > 38 {
		return c.refuse("CAST it to a DECIMAL of at most 24 digits (D-37)", "avg of %s is not supported", x.typ)
	}
	total := c.over(batch.DecimalOf(p+10, s), "sum("+c.distinct()+"%s)", x)
	count := c.over(batch.DecimalOf(20, 0), "count("+c.distinct()+"%s)", x)
	total.sql, count.sql = safe(total.sql, total.typ), fmt.Sprintf("nullif(%s, 0)", safe(count.sql, count.typ))
	v := c.quotient(total, count, batch.DecimalOf(p+4, s+4), c.pos)
	v.free = nil
	if c.expr.Over != nil {
		v.free = total.free
	}
	return v
}

func bindMinMax(c *call) value {
	x := c.args[0]
	if err := noOrder(c.name, x.typ, x.pos); err != nil {
		return c.fail(err)
	}
	v := c.over(x.typ, c.name+"(%s)", x)
	if isFractional(x.typ) { // which of 0.0 and -0.0 it is
		return v.with(unordered)
	}
	return v
}

func bindBy(function string) func(*call) value {
	return func(c *call) value {
		by := c.args[1]
		if err := noOrder(c.name, by.typ, by.pos); err != nil {
			return c.fail(err)
		}
		x := c.args[0]
		if x.typ.Kind != batch.Float {
			return c.over(x.typ, function+"(%s, %s)", x, by).with(unordered)
		}
		// DuckDB would keep a FLOAT as a key to sort by, in which -0.0 is 0.0.
		v := c.over(double, function+"(%s, %s)", c.convert(x, double, false), by)
		return compose(x.typ, "CAST(%s AS FLOAT)", v).with(unordered)
	}
}

func bindFirst(function string) func(*call) value {
	return func(c *call) value {
		condition := ""
		ignore := c.expr.Nulls == "IGNORE"
		if c.has(1) {
			k := c.args[1].konst
			if k == nil || k.null || c.args[1].typ.Kind != batch.Boolean {
				return c.fail(fault.New(fault.NonFoldable, "argument 2 of %s must be TRUE or FALSE", c.name).At(c.args[1].pos))
			}
			ignore = ignore || k.text == "true"
		}
		if ignore {
			if c.expr.Over != nil {
				return c.refuse("leave it out", "IGNORE NULLS is not supported over a window")
			}
			condition = c.args[0].sql + " IS NOT NULL"
		}
		return c.filtered(c.args[0].typ, function+"(%s)", condition, c.args[0]).with(unordered)
	}
}

// bindCollect leaves nulls out and gives an empty array where nothing is left.
func bindCollect(c *call) value {
	x := c.args[0]
	if c.expr.Over != nil {
		return c.refuse("aggregate in a subquery", "collect_list is not supported over a window")
	}
	v := c.filtered(batch.ArrayOf(x.typ), "list("+c.distinct()+"%s)", x.sql+" IS NOT NULL", x)
	if isBroken(v) {
		return v
	}
	v.sql = fmt.Sprintf("coalesce(%s, [])", v.sql)
	return v.with(unordered)
}

func bindBool(function string) func(*call) value {
	return func(c *call) value {
		return c.over(boolean, function+"(%s)", c.condition(c.args[0], "the argument of "+c.name))
	}
}

// inWindow puts OVER behind an aggregate or window function.
func (c *call) inWindow(v value) value {
	inner := c.within("OVER")
	var partition, order []string
	for _, e := range c.expr.Over.Partition {
		p := inner.bind(e)
		if !isBroken(p) {
			c.checkOrdered(p.typ, "PARTITION BY", p.pos)
		}
		v = derive(v.typ, v.sql, v, p)
		partition = append(partition, zeroed(p).sql)
	}
	for _, o := range c.expr.Over.OrderBy {
		key := inner.bind(o.Expr)
		if err := noOrder("ORDER BY", key.typ, key.pos); err != nil {
			return c.fail(err)
		}
		v = derive(v.typ, v.sql, v, key)
		order = append(order, direction(zeroed(key).sql, o))
	}
	frame, err := c.windowFrame()
	if err != nil {
		return c.fail(err)
	}
	var clauses []string
	if len(partition) > 0 {
		clauses = append(clauses, "PARTITION BY "+strings.Join(partition, ", "))
	}
	if len(order) > 0 {
		clauses = append(clauses, "ORDER BY "+strings.Join(order, ", "))
	}
	if frame != "" {
		clauses = append(clauses, frame)
	}
	v.sql += " OVER (" + strings.Join(clauses, " ") + ")"
	v.marks |= windowed
	if strings.HasPrefix(frame, "ROWS") {
		v.marks |= unordered // which rows are in the frame depends on the order among equal ones
	}
	return v
}

// direction writes a key of ORDER BY with the place of nulls that Spark gives it.
func direction(key string, o syntax.OrderItem) string {
	way, nulls := "ASC", "FIRST"
	if o.Desc {
		way, nulls = "DESC", "LAST"
	}
	if o.Nulls != "" {
		nulls = o.Nulls
	}
	return key + " " + way + " NULLS " + nulls
}

// windowFrame checks the frame, which the parser keeps as text.
func (c *call) windowFrame() (string, *fault.Error) {
	frame := c.expr.Over.Frame
	if frame == "" {
		return "", nil
	}
	if c.fn.kind == window {
		return "", fault.New(fault.InvalidWindowFrame, "%s takes no frame", c.name).At(c.pos)
	}
	words := strings.Fields(frame)
	for i, w := range words {
		number := strings.Trim(w, "0123456789") == ""
		if number && words[0] == "RANGE" {
			return "", unsupported("a RANGE of values is not supported").At(c.pos).WithHint("use ROWS, or RANGE with UNBOUNDED and CURRENT ROW")
		}
		if known := " ROWS RANGE BETWEEN AND UNBOUNDED PRECEDING FOLLOWING CURRENT ROW "; !number && (i == 0 && w == "AND" || !strings.Contains(known, " "+w+" ")) {
			return "", unsupported("the frame %s is not supported", frame).At(c.pos).WithHint("its bounds are UNBOUNDED, CURRENT ROW and whole numbers")
		}
	}
	return frame, nil
}

// bindRank is a window function without arguments. They need an order.
func bindRank(sql string, byOrder bool) func(*call) value {
	return func(c *call) value {
		if len(c.expr.Over.OrderBy) == 0 {
			return c.needsOrder()
		}
		v := c.over(integer, sql)
		if isBroken(v) {
			return v
		}
		v.sql, v.notNull = safe(v.sql, integer), true
		if byOrder {
			v.marks |= unordered
		}
		return v
	}
}

// bindShare is a rank as a part of one.
func bindShare(sql string) func(*call) value {
	return func(c *call) value {
		if len(c.expr.Over.OrderBy) == 0 {
			return c.needsOrder()
		}
		return c.over(double, sql)
	}
}

func bindNtile(c *call) value {
	n, ok := c.constInt(0)
	switch {
	case !ok:
		return wrong(c.pos)
	case n < 1:
		return c.fail(fault.New(fault.ValueOutOfRange, "ntile makes %d groups", n).At(c.args[0].pos))
	}
	return bindRank(fmt.Sprintf("ntile(%d)", n), true)(c)
}

func (c *call) needsOrder() value {
	return c.fail(fault.New(fault.WindowNotOrdered, "the window of %s has no ORDER BY", c.name).At(c.pos).WithHint("add ORDER BY to OVER (...)"))
}

// bindNeighbour is lag and lead.
func bindNeighbour(c *call) value {
	if len(c.expr.Over.OrderBy) == 0 {
		return c.needsOrder()
	}
	if c.expr.Nulls == "IGNORE" {
		return c.refuse("leave it out", "IGNORE NULLS is not supported")
	}
	parts := []value{c.args[0]}
	if c.has(1) {
		if _, ok := c.constInt(1); !ok {
			return wrong(c.pos)
		}
		parts = append(parts, c.args[1])
	}
	if c.has(2) {
		both, ok := c.unify(c.name, []value{c.args[0], c.args[2]}, c.pos)
		if !ok {
			return wrong(c.pos)
		}
		parts[0], parts = both[0], append(parts, both[1])
	}
	return c.over(parts[0].typ, c.name+"("+placeholders(len(parts))+")", parts...).with(unordered)
}

// streaming refuses what needs more than one row of a stream.
func streaming(pos syntax.Pos, what, instead string) *fault.Error {
	return fault.New(fault.UnsupportedStreaming, "%s is not possible over a stream, whose rows come batch by batch", what).At(pos).WithHint("%s", instead)
}
