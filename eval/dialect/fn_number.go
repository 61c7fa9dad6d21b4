package dialect

import (
	"fmt"

	"sluice/batch"
)

const oneULP = "within one unit in the last place"

var numbers = []*function{
	{name: "abs", args: "x", min: 1, max: 1, exact: "exact; also of a DECIMAL with more than 34 digits, which Spark rounds", bind: bindAbs},
	{name: "sign signum", args: "x", min: 1, max: 1, exact: "exact; a DOUBLE, as in Spark", bind: bindSign},
	{name: "negative", args: "x", min: 1, max: 1, exact: "exact; also of a DECIMAL with more than 34 digits, which Spark rounds", bind: func(c *call) value { return c.sign("-", c.args[0], c.pos) }},
	{name: "positive", args: "x", min: 1, max: 1, exact: exact, bind: func(c *call) value { return c.sign("+", c.args[0], c.pos) }},
	{name: "ceil ceiling", args: "x [, places]", min: 1, max: 2, exact: "exact; places is a constant", bind: bindWhole("ceil")},
	{name: "floor", args: "x [, places]", min: 1, max: 2, exact: "exact; places is a constant", bind: bindWhole("floor")},
	{name: "bround", args: "x [, places]", min: 1, max: 2, exact: "exact for integers, DECIMAL, and DOUBLE to 0 to 15 places; half to even; places is a constant", bind: bindBround},
	{name: "rint", args: "x", min: 1, max: 1, exact: exact, bind: computed("rint", double, double)},
	{name: "round", args: "x [, places]", min: 1, max: 2, exact: "exact, half away from zero; places is a constant", bind: bindRound},
	{name: "mod", args: "x, y", min: 2, max: 2, exact: exact, bind: func(c *call) value { return c.arithmetic("%", c.args[0], c.args[1], c.pos) }},
	{name: "pmod", args: "x, y", min: 2, max: 2, exact: exact, bind: bindPmod},
	{name: "div", args: "x, y", min: 2, max: 2, exact: exact, bind: func(c *call) value { return c.arithmetic("DIV", c.args[0], c.args[1], c.pos) }},
	{name: "try_add", args: "x, y", min: 2, max: 2, exact: "exact for numbers", bind: bindTry("+")},
	{name: "try_subtract", args: "x, y", min: 2, max: 2, exact: "exact for numbers", bind: bindTry("-")},
	{name: "try_multiply", args: "x, y", min: 2, max: 2, exact: "exact for numbers", bind: bindTry("*")},
	{name: "try_divide", args: "x, y", min: 2, max: 2, exact: "exact for numbers", bind: bindTry("/")},
	{name: "try_mod", args: "x, y", min: 2, max: 2, exact: "exact for numbers", bind: bindTry("%")},
	{name: "power pow", args: "x, y", min: 2, max: 2, exact: oneULP, bind: bindPower},
	{name: "sqrt", args: "x", min: 1, max: 1, exact: exact, bind: func(c *call) value {
		return onDouble(c, double, "CASE WHEN %[1]s < 0 THEN CAST('NaN' AS DOUBLE) ELSE sqrt(%[1]s) END")
	}},
	{name: "cbrt", args: "x", min: 1, max: 1, exact: oneULP, bind: func(c *call) value { return onDouble(c, double, "cbrt(%s)") }},
	{name: "exp", args: "x", min: 1, max: 1, exact: oneULP, bind: func(c *call) value { return onDouble(c, double, "exp(%s)") }},
	{name: "expm1", args: "x", min: 1, max: 1, exact: oneULP, bind: computed("expm1", double, double)},
	{name: "ln", args: "x", min: 1, max: 1, exact: oneULP, bind: bindLog},
	{name: "log", args: "[base,] x", min: 1, max: 2, exact: oneULP + "; with a base two of them", bind: bindLog},
	{name: "log1p", args: "x", min: 1, max: 1, exact: oneULP, bind: computed("log1p", double, double)},
	{name: "sin", args: "x", min: 1, max: 1, exact: oneULP, bind: bindCircular("isfinite(%[1]s)")},
	{name: "cos", args: "x", min: 1, max: 1, exact: oneULP, bind: bindCircular("isfinite(%[1]s)")},
	{name: "tan", args: "x", min: 1, max: 1, exact: oneULP, bind: bindCircular("isfinite(%[1]s)")},
	{name: "asin", args: "x", min: 1, max: 1, exact: oneULP, bind: bindCircular("abs(%[1]s) <= 1")},
	{name: "acos", args: "x", min: 1, max: 1, exact: oneULP, bind: bindCircular("abs(%[1]s) <= 1")},
	{name: "atan", args: "x", min: 1, max: 1, exact: oneULP, bind: func(c *call) value { return onDouble(c, double, "atan(%s)") }},
	{name: "atan2", args: "y, x", min: 2, max: 2, exact: oneULP, bind: simple(double, "atan2(%s + 0::DOUBLE, %s + 0::DOUBLE)", double)},
	{name: "degrees", args: "x", min: 1, max: 1, exact: exact, bind: func(c *call) value { return onDouble(c, double, "(%s * 57.29577951308232::DOUBLE)") }},
	{name: "radians", args: "x", min: 1, max: 1, exact: exact, bind: func(c *call) value { return onDouble(c, double, "(%s * 0.017453292519943295::DOUBLE)") }},
	{name: "e", args: "", min: 0, max: 0, exact: exact, bind: func(c *call) value { return fractional("2.718281828459045", double) }},
	{name: "log10", args: "x", min: 1, max: 1, exact: oneULP, bind: func(c *call) value {
		return onDouble(c, double, "CASE WHEN %[1]s > 0 THEN log10(%[1]s) END")
	}},
	{name: "log2", args: "x", min: 1, max: 1, exact: oneULP, bind: func(c *call) value {
		return onDouble(c, double, "CASE WHEN %[1]s > 0 THEN log2(%[1]s) END")
	}},
	{name: "pi", args: "", min: 0, max: 0, exact: exact, bind: func(c *call) value { return fractional("3.141592653589793", double) }},
	{name: "bit_get getbit", args: "x, position", min: 2, max: 2, exact: exact, bind: func(c *call) value {
		if !c.args[0].typ.IsInteger() {
			return c.mistyped(0, "an integer")
		}
		return c.builtin("bit_get", tinyint, nil, c.args[0], c.as(1, integer)).with(raises)
	}},
	{name: "shiftleft", args: "x, bits", min: 2, max: 2, exact: exact, bind: func(c *call) value { return c.shift("<<", c.args[0], c.args[1], c.pos) }},
	{name: "shiftright", args: "x, bits", min: 2, max: 2, exact: exact, bind: func(c *call) value { return c.shift(">>", c.args[0], c.args[1], c.pos) }},
	{name: "shiftrightunsigned", args: "x, bits", min: 2, max: 2, exact: exact, bind: func(c *call) value { return c.shift(">>>", c.args[0], c.args[1], c.pos) }},
	{name: "bin", args: "x", min: 1, max: 1, exact: exact, bind: computed("bin", text, bigint)},
	{name: "conv", args: "text, from base, to base", min: 3, max: 3, exact: exact, bind: func(c *call) value {
		return c.builtin("conv", text, nil, c.as(0, text), c.as(1, integer), c.as(2, integer)).with(raises)
	}},
	{name: "factorial", args: "x", min: 1, max: 1, exact: exact, bind: computed("factorial", bigint, integer)},
	{name: "bit_count", args: "x", min: 1, max: 1, exact: exact, bind: bindBitCount},
}

// onDouble computes a function of one DOUBLE.
func onDouble(c *call, typ batch.Type, format string) value {
	x := c.as(0, double)
	if isBroken(x) {
		return x
	}
	return compose(typ, format, x)
}

// numeric is argument i as a number; a text is a DOUBLE.
func (c *call) numeric(i int) (value, bool) {
	x := c.args[i]
	if x.typ.Kind == batch.String || x.typ.Kind == batch.Void {
		x = c.as(i, double)
	}
	if !x.typ.IsNumeric() {
		c.mistyped(i, "a number")
		return x, false
	}
	return x, !isBroken(x)
}

func bindAbs(c *call) value {
	x, ok := c.numeric(0)
	if !ok {
		return wrong(c.pos)
	}
	return compose(x.typ, "abs(%s)", x).with(raises)
}

func bindSign(c *call) value {
	return onDouble(c, double, "CASE WHEN %[1]s > 0 AND NOT isnan(%[1]s) THEN 1::DOUBLE WHEN %[1]s < 0 THEN -1::DOUBLE ELSE %[1]s END")
}

// bindWhole is ceil and floor: a BIGINT, or a DECIMAL without a fraction.
func bindWhole(name string) func(*call) value {
	return func(c *call) value {
		if c.has(1) {
			return c.wholeAt(name)
		}
		x, ok := c.numeric(0)
		switch {
		case !ok:
			return wrong(c.pos)
		case x.typ.IsInteger():
			return c.convert(x, bigint, false)
		case x.typ.Kind == batch.Decimal:
			p, s := digits(x)
			if s == 0 {
				return x
			}
			typ := batch.DecimalOf(p-s+1, 0)
			return compose(typ, "CAST("+name+"(%s) AS "+duckType(typ)+")", x)
		}
		return compose(bigint, "CASE WHEN isnan(%[1]s) THEN 0::BIGINT ELSE CAST("+name+"(%[1]s) AS BIGINT) END", x).with(raises)
	}
}

// wholeAt is ceil or floor of a DECIMAL to places behind the point, or in front of it. Other numbers become one first.
func (c *call) wholeAt(name string) value {
	places, ok := c.constInt(1)
	if !ok {
		return wrong(c.pos)
	}
	typ := c.args[0].typ
	switch {
	case typ.IsInteger():
		typ = asDecimal(typ)
	case typ.Kind == batch.Float:
		typ = batch.DecimalOf(14, 7)
	case typ.Kind == batch.Double:
		typ = batch.DecimalOf(30, 15)
	case typ.Kind == batch.String || typ.Kind == batch.Void:
		typ = batch.DecimalOf(38, 18)
	case typ.Kind != batch.Decimal:
		return c.mistyped(0, "a number")
	}
	x := c.convert(c.args[0], typ, false)
	if isBroken(x) {
		return x
	}
	return c.roundTens(x, places, name)
}

// toPlaces are the arguments of round and bround: a number, and how many places behind the point are kept, none if it does not say.
func (c *call) toPlaces() (x value, places int, ok bool) {
	if c.has(1) {
		if places, ok = c.constInt(1); !ok {
			return x, 0, false
		}
	}
	x, ok = c.numeric(0)
	return x, places, ok
}

// bindRound rounds half away from zero. DuckDB rounds the binary value of a DOUBLE, Spark its text.
func bindRound(c *call) value {
	x, places, ok := c.toPlaces()
	switch {
	case !ok:
		return wrong(c.pos)
	case x.typ.IsInteger():
		return c.roundInteger(x, places)
	case x.typ.Kind == batch.Decimal:
		return c.roundDecimal(x, places)
	}
	return c.roundFraction(x, places)
}

func (c *call) roundInteger(x value, places int) value {
	if places >= 0 {
		return x
	}
	if places < -19 {
		return compose(x.typ, "CASE WHEN %s IS NOT NULL THEN "+typed("0", x.typ)+" END", x)
	}
	unit := powerOfTen(-places)
	half := fmt.Sprintf("(%s // 2)", unit)
	wide := fmt.Sprintf("CAST(%s AS HUGEINT)", x.sql)
	rounded := fmt.Sprintf("(CASE WHEN %[1]s < 0 THEN (%[1]s - %[2]s) // %[3]s ELSE (%[1]s + %[2]s) // %[3]s END * %[3]s)", wide, half, unit)
	return derive(x.typ, safe(rounded, x.typ), x).with(raises)
}

func (c *call) roundDecimal(x value, places int) value {
	p, s := digits(x)
	if places < 0 {
		return c.roundTens(x, places, "up")
	}
	typ := batch.DecimalOf(min(p-s+1+min(places, s), 38), min(places, s))
	if typ.Equal(x.typ) {
		return derive(typ, x.sql, x)
	}
	return derive(typ, safe(x.sql, typ), x)
}

// roundTens rounds a DECIMAL: half up or to even, or ceil or floor.
func (c *call) roundTens(x value, places int, half string) value {
	p, s := digits(x)
	typ := batch.DecimalOf(min(p-s+1+min(places, s), 38), min(places, s))
	if places < 0 {
		typ = batch.DecimalOf(min(max(p-s+1, 1-places), 38), 0)
	}
	return c.builtin("round_decimal", typ, [][2]string{{"half", half}, {"places", fmt.Sprint(places)}}, x).with(raises)
}

func (c *call) roundFraction(x value, places int) value {
	if places < 0 || places > 15 {
		return c.refuse("round to 0 to 15 places", "round(%s, %d) is not supported", x.typ, places)
	}
	// From 2^53 on a DOUBLE is a whole number, and has no digits to round.
	wide := safe(x.sql, double)
	if x.typ.Kind == batch.Double {
		wide = x.sql
	}
	rounded := fmt.Sprintf("CAST(CAST(%s AS DECIMAL(38, %d)) AS VARCHAR)", plainText(wide), places)
	sql := fmt.Sprintf("CASE WHEN isfinite(%[1]s) AND abs(%[1]s) < 9007199254740992 THEN CAST(%[2]s AS %[3]s) ELSE %[1]s END", x.sql, rounded, duckType(x.typ))
	return derive(x.typ, sql, x)
}

// bindPmod is the remainder with the sign of the divisor, when it is not zero.
func bindPmod(c *call) value {
	r := c.arithmetic("%", c.args[0], c.args[1], c.pos)
	if isBroken(r) {
		return r
	}
	_, y, _ := c.operands("%", c.args[0], c.args[1], c.pos)
	sum := "%[1]s + %[2]s"
	switch r.typ.Kind { // Java adds bytes and shorts as ints, and sums of the others go round
	case batch.TinyInt, batch.SmallInt:
		sum = "CAST(%[1]s AS INTEGER) + %[2]s"
	case batch.Int:
		sum = wrapped("CAST(%[1]s AS BIGINT) + %[2]s", "4294967296", "-2147483648")
	case batch.BigInt:
		sum = wrapped("CAST(%[1]s AS HUGEINT) + %[2]s", "18446744073709551616::HUGEINT", "-9223372036854775808")
	}
	again := compose(r.typ, "CASE WHEN %[1]s < 0 THEN CAST(("+sum+") %% %[2]s AS "+duckType(r.typ)+") ELSE %[1]s END", r, y)
	return again.with(raises)
}

// wrapped is a sum of two negative numbers that goes round below the smallest one.
func wrapped(sum, round, smallest string) string {
	return fmt.Sprintf("CASE WHEN %[1]s < %[3]s THEN %[1]s + %[2]s ELSE %[1]s END", sum, round, smallest)
}

// bindTry makes NULL of an operation that fails on its operands. An operand that fails still fails.
func bindTry(op string) func(*call) value {
	return func(c *call) value {
		x, y := c.args[0], c.args[1]
		for i, v := range []value{x, y} {
			if !v.typ.IsNumeric() && v.typ.Kind != batch.Void {
				return c.mistyped(i, "numbers")
			}
			if v.is(raises) {
				return c.refuse("compute its operands in a subquery first", "an operand of %s may fail itself", c.name)
			}
		}
		v := c.arithmetic(op, x, y, c.pos)
		if isBroken(v) {
			return v
		}
		out := compose(v.typ, "TRY(%s)", v)
		out.marks &^= raises
		return out
	}
}

func bindPower(c *call) value {
	x, y := c.as(0, double), c.as(1, double)
	if isBroken(x, y) {
		return wrong(c.pos)
	}
	// C has a result of 1 where Java has none.
	return compose(double, "CASE WHEN isnan(%[2]s) OR isinf(%[2]s) AND abs(%[1]s) = 1 THEN CAST('NaN' AS DOUBLE) ELSE power(%[1]s, %[2]s) END", x, y)
}

func bindBitCount(c *call) value {
	x := c.args[0]
	if !x.typ.IsInteger() {
		return c.mistyped(0, "an integer")
	}
	return compose(integer, "CAST(bit_count(%s) AS INTEGER)", c.convert(x, bigint, false))
}

// bindLog is ln(x), or the logarithm to a base.
func bindLog(c *call) value {
	x := c.as(len(c.args)-1, double)
	if isBroken(x) {
		return x
	}
	if len(c.args) == 1 {
		return compose(double, "CASE WHEN %[1]s > 0 THEN ln(%[1]s) END", x)
	}
	return compose(double, "CASE WHEN %[1]s > 0 AND %[2]s > 0 THEN ln(%[2]s) / ln(%[1]s) END", c.as(0, double), x)
}

// bindCircular is a function that gives NaN where its condition does not hold.
func bindCircular(condition string) func(*call) value {
	return func(c *call) value {
		return onDouble(c, double, "CASE WHEN "+condition+" THEN "+c.name+"(%[1]s) WHEN %[1]s IS NOT NULL THEN CAST('NaN' AS DOUBLE) END")
	}
}

// bindBround rounds half to even.
func bindBround(c *call) value {
	x, places, ok := c.toPlaces()
	switch {
	case !ok:
		return wrong(c.pos)
	case x.typ.IsInteger():
		return c.builtin("bround", x.typ, [][2]string{{"places", fmt.Sprint(places)}}, x).with(raises)
	case x.typ.Kind == batch.Decimal:
		return c.roundTens(x, places, "even")
	case x.typ.Kind != batch.Double || places < 0 || places > 15:
		return c.refuse("CAST it to DOUBLE, or use round()", "bround(%s, %d) is not supported", x.typ, places)
	}
	return c.builtin("bround", double, [][2]string{{"places", fmt.Sprint(places)}}, x)
}
