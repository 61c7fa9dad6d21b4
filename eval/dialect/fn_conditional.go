package dialect

import (
	"fmt"
	"math/big"
	"strings"

	"sluice/batch"
	"sluice/fault"
)

var conditionals = []*function{
	{name: "coalesce", args: "x, ...", min: 1, max: -1, exact: exact, bind: func(c *call) value { return c.coalesce(c.args) }},
	{name: "nvl ifnull", args: "x, y", min: 2, max: 2, exact: exact, bind: func(c *call) value { return c.coalesce(c.args) }},
	{name: "nvl2", args: "x, not_null, null", min: 3, max: 3, exact: exact, bind: func(c *call) value {
		return c.choose(c.name, []value{compose(boolean, "(%s IS NOT NULL)", c.args[0])}, c.args[1:], c.pos)
	}},
	{name: "nullif", args: "x, y", min: 2, max: 2, exact: exact, bind: bindNullIf},
	{name: "if", args: "condition, then, else", min: 3, max: 3, exact: exact, bind: func(c *call) value {
		return c.choose(c.name, []value{c.condition(c.args[0], "the condition of if")}, c.args[1:], c.pos)
	}},
	{name: "nullifzero", args: "x", min: 1, max: 1, exact: exact, bind: func(c *call) value {
		d := *c
		d.args = []value{c.args[0], integerValue(new(big.Int), integer)}
		return bindNullIf(&d)
	}},
	{name: "zeroifnull", args: "x", min: 1, max: 1, exact: exact, bind: func(c *call) value {
		return c.coalesce([]value{c.args[0], integerValue(new(big.Int), integer)})
	}},
	{name: "equal_null", args: "x, y", min: 2, max: 2, exact: exact, bind: func(c *call) value { return c.compare("<=>", c.args[0], c.args[1], c.pos) }},
	{name: "greatest", args: "x, y, ...", min: 2, max: -1, exact: "exact; nested types are refused", bind: bindExtreme},
	{name: "least", args: "x, y, ...", min: 2, max: -1, exact: "exact; nested types are refused", bind: bindExtreme},
	{name: "isnull", args: "x", min: 1, max: 1, exact: exact, bind: func(c *call) value { return compose(boolean, "(%s IS NULL)", c.args[0]) }},
	{name: "isnotnull", args: "x", min: 1, max: 1, exact: exact, bind: func(c *call) value { return compose(boolean, "(%s IS NOT NULL)", c.args[0]) }},
	{name: "isnan", args: "x", min: 1, max: 1, exact: exact, bind: bindIsNaN},
	{name: "nanvl", args: "x, y", min: 2, max: 2, exact: exact, bind: func(c *call) value {
		typ := double
		if c.args[0].typ.Kind == batch.Float && (c.args[1].typ.Kind == batch.Float || c.args[1].typ.Kind == batch.Void) {
			typ = float
		}
		x, y := c.as(0, typ), c.as(1, typ)
		if isBroken(x, y) {
			return wrong(c.pos)
		}
		return compose(typ, "CASE WHEN isnan(%[1]s) THEN %[2]s ELSE %[1]s END", x, y)
	}},
}

// coalesce computes its arguments one after the other, up to the first that is not null; DuckDB does the same.
func (f *frame) coalesce(args []value) value {
	args, ok := f.unify("coalesce", args, args[0].pos)
	if !ok {
		return wrong(args[0].pos)
	}
	return compose(args[0].typ, "coalesce("+placeholders(len(args))+")", args...)
}

// placeholders are n verbs for compose, with commas between them.
func placeholders(n int) string { return repeated(n, ", ") }

func repeated(n int, between string) string {
	return strings.TrimSuffix(strings.Repeat("%s"+between, n), between)
}

func bindNullIf(c *call) value {
	same := c.compare("=", c.args[0], c.args[1], c.pos)
	if isBroken(same) {
		return same
	}
	out := derive(c.args[0].typ, fmt.Sprintf("CASE WHEN %s THEN NULL ELSE %s END", same.sql, c.args[0].sql), same, c.args[0])
	if out.typ.Kind == batch.Void {
		out.sql = "NULL"
	}
	return out
}

func bindExtreme(c *call) value {
	args := c.args
	for _, a := range args { // Spark casts numbers to each other here, but no text to a number
		if wide, ok := common(args[0].typ, a.typ); ok && (args[0].typ.Kind == batch.String) != (a.typ.Kind == batch.String) && wide.Kind != batch.String && args[0].typ.Kind != batch.Void && a.typ.Kind != batch.Void {
			return c.fail(fault.New(fault.DataDiffTypes, "%s has %s and %s, which have no common type", c.name, args[0].typ, a.typ).At(c.pos).WithHint("CAST one of them"))
		}
	}
	args, ok := c.unify(c.name, args, c.pos)
	if !ok {
		return wrong(c.pos)
	}
	if err := noOrder(c.name, args[0].typ, c.pos); err != nil {
		return c.fail(err)
	}
	if !isFractional(args[0].typ) {
		return compose(args[0].typ, c.name+"("+placeholders(len(args))+")", args...)
	}
	// Of 0.0 and -0.0, which are equal, the first one counts; DuckDB has no rule for that.
	zeros := strings.TrimSuffix(strings.Repeat("CASE WHEN %s = 0 THEN %s END, ", len(args)), ", ")
	var parts []value
	parts = append(parts, args...)
	for _, a := range args {
		parts = append(parts, a, a)
	}
	all := c.name + "(" + placeholders(len(args)) + ")"
	return compose(args[0].typ, "CASE WHEN "+all+" = 0 THEN coalesce("+zeros+") ELSE "+all+" END", append(parts, args...)...)
}

func bindIsNaN(c *call) value {
	x := c.args[0]
	if !isFractional(x.typ) {
		x = c.as(0, double)
	}
	return compose(boolean, "coalesce(isnan(%s), FALSE)", x)
}
