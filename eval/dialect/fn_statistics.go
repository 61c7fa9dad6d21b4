package dialect

import (
	"fmt"
	"strconv"
	"strings"

	"sluice/batch"
	"sluice/fault"
)

const nearby = "a DOUBLE within a few units in the last place, which "

// statistics are aggregates over numbers, and those that gather values.
var statistics = []*function{
	{name: "stddev stddev_samp std", args: "x", min: 1, max: 1, kind: aggregate, exact: nearby + inOrder, bind: bindSpread("stddev_samp")},
	{name: "stddev_pop", args: "x", min: 1, max: 1, kind: aggregate, exact: nearby + inOrder, bind: bindSpread("stddev_pop")},
	{name: "variance var_samp", args: "x", min: 1, max: 1, kind: aggregate, exact: nearby + inOrder, bind: bindSpread("var_samp")},
	{name: "var_pop", args: "x", min: 1, max: 1, kind: aggregate, exact: nearby + inOrder, bind: bindSpread("var_pop")},
	{name: "median", args: "x", min: 1, max: 1, kind: aggregate, exact: exact, bind: bindPercentile},
	{name: "percentile", args: "x, fraction", min: 2, max: 2, kind: aggregate, exact: "exact; the fraction is one constant", bind: bindPercentile},
	{name: "collect_set", args: "x", min: 1, max: 1, kind: aggregate, exact: "exact; the order of the values " + inOrder, bind: bindCollectSet},
	{name: "listagg string_agg", args: "x [, separator]", min: 1, max: 2, kind: aggregate, exact: "exact by WITHIN GROUP (ORDER BY ...), among equal rows and without it it " + inOrder, bind: bindListAgg},
	{name: "bit_and", args: "x", min: 1, max: 1, kind: aggregate, exact: exact, bind: bindBits},
	{name: "bit_or", args: "x", min: 1, max: 1, kind: aggregate, exact: exact, bind: bindBits},
	{name: "bit_xor", args: "x", min: 1, max: 1, kind: aggregate, exact: exact, bind: bindBits},
}

// bindSpread is NaN where a value is not finite, for which DuckDB has an error.
func bindSpread(function string) func(*call) value {
	return func(c *call) value {
		x, ok := c.numeric(0)
		if !ok {
			return wrong(c.pos)
		}
		x = c.convert(x, double, false)
		strange := c.over(boolean, "bool_or(NOT isfinite(%s))", x)
		v := c.over(double, function+"("+c.distinct()+"CASE WHEN isfinite(%[1]s) THEN %[1]s END)", x)
		if isBroken(strange, v) {
			return wrong(c.pos)
		}
		v.sql = fmt.Sprintf("CASE WHEN %s THEN CAST('NaN' AS DOUBLE) ELSE %s END", strange.sql, v.sql)
		return v.with(unordered)
	}
}

// gathered is all values of an argument that are not null, in an array, NULL without any; with DISTINCT each once, as it came first.
func (c *call) gathered(x value) value {
	if c.expr.Over != nil {
		return c.refuse("aggregate in a subquery", "%s is not supported over a window", c.name)
	}
	if c.name == "collect_set" {
		x = zeroed(x)
	}
	typ := batch.ArrayOf(x.typ)
	format, parts, ok := c.sorted(x)
	if !ok {
		return wrong(c.pos)
	}
	v := c.filtered(typ, "list("+format+")", x.sql+" IS NOT NULL", parts...)
	if isBroken(v) || !c.expr.Distinct {
		return v
	}
	return c.builtin("array_distinct", typ, nil, v)
}

// sorted is an argument with the order of WITHIN GROUP behind it, if there is one: a format and what fills it.
func (c *call) sorted(x value) (format string, parts []value, ok bool) {
	format, parts = "%s", []value{x}
	inner := c.within(c.name)
	for i, o := range c.expr.OrderBy {
		key := inner.bind(o.Expr)
		if isBroken(key) {
			return "", nil, false
		}
		if err := noOrder("WITHIN GROUP", key.typ, key.pos); err != nil {
			c.report(err)
			return "", nil, false
		}
		if c.expr.Distinct && (i > 0 || key.sql != c.args[0].sql) {
			c.report(fault.New(fault.WithinGroupDistinct, "%s(DISTINCT x) is sorted by something else than x", c.name).At(key.pos))
			return "", nil, false
		}
		format += [...]string{" ORDER BY ", ", "}[min(i, 1)] + direction("%s", o)
		parts = append(parts, key)
	}
	return format, parts, true
}

func bindPercentile(c *call) value {
	fraction := "0.5"
	if c.has(1) {
		k := c.args[1].konst
		if k == nil || k.null || !c.args[1].typ.IsNumeric() {
			return c.fail(fault.New(fault.NonFoldable, "argument 2 of %s must be a constant number", c.name).At(c.args[1].pos))
		}
		if p, err := strconv.ParseFloat(k.text, 64); err != nil || !(p >= 0 && p <= 1) {
			return c.fail(fault.New(fault.ValueOutOfRange, "the fraction %s is not between 0 and 1", k.text).At(c.args[1].pos))
		}
		fraction = k.text
	}
	x, ok := c.numeric(0)
	if !ok {
		return wrong(c.pos)
	}
	return c.builtin("percentile", double, [][2]string{{"fraction", fraction}}, c.gathered(c.convert(x, double, false)))
}

func bindCollectSet(c *call) value {
	x := c.args[0]
	if err := c.incomparable(x.typ); err != nil {
		return c.fail(err)
	}
	v := c.gathered(x)
	if isBroken(v) {
		return v
	}
	v.sql = fmt.Sprintf("coalesce(%s, [])", v.sql)
	return c.builtin("array_distinct", v.typ, nil, v).with(unordered)
}

// bindListAgg joins texts; a separator that is NULL is none.
func bindListAgg(c *call) value {
	separator := textValue("")
	if c.has(1) {
		s, _, ok := c.constText(1)
		if !ok {
			return wrong(c.pos)
		}
		separator = textValue(s)
	}
	if c.args[0].typ.Kind == batch.Binary {
		return c.fail(fault.New(fault.DataDiffTypes, "%s has bytes and a text between them", c.name).At(c.args[0].pos).WithHint("CAST to STRING"))
	}
	return c.builtin("array_join", text, nil, c.gathered(c.as(0, text)), separator).with(unordered)
}

func bindBits(c *call) value {
	x := c.args[0]
	if x.typ.Kind == batch.Void {
		x = c.convert(x, bigint, false)
	}
	if !x.typ.IsInteger() {
		return c.mistyped(0, "an integer")
	}
	return c.over(x.typ, strings.ToLower(c.name)+"("+c.distinct()+"%s)", x)
}
