package dialect

import (
	"fmt"
	"strings"

	"sluice/batch"
	"sluice/fault"
	"sluice/syntax"
)

// Decimals are computed by Spark's rules or refused, and never through DOUBLE (D-37). Spark drops digits behind the point of
// results that would need more than 38 digits; what cannot be computed in 128 bits then is refused when the query is read.

// limited is Spark's adjustPrecisionScale: the type of a result that needs the given digits.
func limited(precision, scale int) batch.Type {
	if precision <= 38 {
		return batch.DecimalOf(precision, scale)
	}
	return batch.DecimalOf(38, max(38-(precision-scale), min(scale, 6)))
}

func digits(v value) (precision, scale int) { return int(v.typ.Precision), int(v.typ.Scale) }

// decimalArithmetic is + - and * of two decimals.
func (f *frame) decimalArithmetic(op string, x, y value, pos syntax.Pos) value {
	p1, s1 := digits(x)
	p2, s2 := digits(y)
	scale := max(s1, s2)
	precision := max(p1-s1, p2-s2) + scale + 1
	if op == "*" {
		precision, scale = p1+p2+1, s1+s2
	}
	typ := limited(precision, scale)
	if int(typ.Scale) < scale {
		return f.tooManyDigits(op, x, y, pos)
	}
	if p1 <= 18 && p2 <= 18 && precision > 18 { // or DuckDB computes in 64 bits
		x = derive(x.typ, safe(x.sql, batch.DecimalOf(19, s1)), x)
	}
	out := compose(typ, "CAST(%s "+op+" %s AS "+duckType(typ)+")", x, y)
	if precision > 38 {
		out.marks |= raises
	}
	return out
}

func (f *frame) tooManyDigits(op string, x, y value, pos syntax.Pos) value {
	return f.fail(fault.New(fault.UnsupportedMeaning, "%s %s %s needs more than 38 digits", x.typ, op, y.typ).At(pos).
		WithHint("CAST the operands to DECIMAL types with fewer digits (D-37)"))
}

// unscaled writes a decimal as the HUGEINT of its digits, without the point.
func unscaled(v value) string {
	p, s := digits(v)
	switch {
	case s == 0:
		return fmt.Sprintf("CAST(%s AS HUGEINT)", v.sql)
	case p+s+1 <= 38:
		wide := safe(v.sql, batch.DecimalOf(max(p, 19), s)) // or DuckDB computes in 64 bits
		return fmt.Sprintf("CAST(%s * %s AS HUGEINT)", wide, typed("1"+strings.Repeat("0", s), batch.DecimalOf(s+1, 0)))
	}
	return fmt.Sprintf("CAST(replace(CAST(%s AS VARCHAR), '.', '') AS HUGEINT)", v.sql)
}

// scaled turns a HUGEINT into the decimal that has it as its digits.
func scaled(n string, typ batch.Type) string {
	if typ.Scale == 0 {
		return safe(n, typ)
	}
	s := int(typ.Scale)
	unit := fmt.Sprintf("'0.%s1'::%s", strings.Repeat("0", s-1), duckType(batch.DecimalOf(s, s)))
	return safe(fmt.Sprintf("(CAST(%s AS DECIMAL(38, 0)) * %s)", n, unit), typ)
}

func powerOfTen(n int) string { return "1" + strings.Repeat("0", n) + "::HUGEINT" }

// divideDecimals is x / y with the type that Spark gives it.
func (f *frame) divideDecimals(x, y value, pos syntax.Pos) value {
	p1, s1 := digits(x)
	p2, s2 := digits(y)
	scale := max(6, s1+p2+1)
	return f.quotient(x, y, limited(p1-s1+s2+scale, scale), pos)
}

// quotient is x / y rounded to a given type. With a the digits of x moved to the scale of the result, and b those of y, it is
// a / b rounded half away from zero. Spark rounds twice, at 38 places first: that lifts a remainder which falls short of a
// half by less than half of the 38th place.
func (f *frame) quotient(x, y value, typ batch.Type, pos syntax.Pos) value {
	p1, s1 := digits(x)
	_, s2 := digits(y)
	shift := int(typ.Scale) - s1 + s2
	if shift < 0 || p1+shift > 38 {
		return f.tooManyDigits("/", x, y, pos)
	}
	a := unscaled(x)
	if shift > 0 {
		a = fmt.Sprintf("(%s * %s)", a, powerOfTen(shift))
	}
	b := unscaled(y)
	rest := fmt.Sprintf("abs(%s %% %s)", a, b)
	short := "0"
	if typ.Scale < 38 {
		short = fmt.Sprintf("abs(%s) // %s", b, powerOfTen(38-int(typ.Scale)))
	}
	up := fmt.Sprintf("abs(%[1]s) - %[2]s - %[2]s <= %[3]s", b, rest, short)
	sign := fmt.Sprintf("CASE WHEN (%s < 0) = (%s < 0) THEN 1 ELSE -1 END", x.sql, y.sql)
	n := fmt.Sprintf("(%s // %s + CASE WHEN %s THEN %s ELSE 0 END)", a, b, up, sign)
	return byZero(derive(typ, scaled(n, typ), x, y).with(raises), x, y, fault.DivideByZero)
}

// divideWhole is DIV of decimals.
func (f *frame) divideWhole(x, y value, pos syntax.Pos) value {
	a, b, ok := sameScale(x, y)
	if !ok {
		return f.tooManyDigits("DIV", x, y, pos)
	}
	return byZero(derive(bigint, fmt.Sprintf("CAST(%s // %s AS BIGINT)", a, b), x, y).with(raises), x, y, fault.DivideByZero)
}

// decimalRemainder is x % y.
func (f *frame) decimalRemainder(x, y value, pos syntax.Pos) value {
	p1, s1 := digits(x)
	p2, s2 := digits(y)
	scale := max(s1, s2)
	typ := batch.DecimalOf(min(p1-s1, p2-s2)+scale, scale)
	a, b, ok := sameScale(x, y)
	if !ok || typ.Precision == 0 {
		return f.tooManyDigits("%", x, y, pos)
	}
	return byZero(derive(typ, scaled(fmt.Sprintf("(%s %% %s)", a, b), typ), x, y), x, y, fault.RemainderByZero)
}

// sameScale writes the digits of two decimals at the larger of their scales.
func sameScale(x, y value) (a, b string, ok bool) {
	p1, s1 := digits(x)
	p2, s2 := digits(y)
	scale := max(s1, s2)
	if p1-s1+scale > 38 || p2-s2+scale > 38 {
		return "", "", false
	}
	at := func(v value, s int) string {
		if s == scale {
			return unscaled(v)
		}
		return fmt.Sprintf("(%s * %s)", unscaled(v), powerOfTen(scale-s))
	}
	return at(x, s1), at(y, s2), true
}
