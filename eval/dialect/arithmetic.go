package dialect

import (
	"fmt"

	"sluice/batch"
	"sluice/fault"
	"sluice/syntax"
)

// arithmetic types x op y for + - * / % and DIV.
func (f *frame) arithmetic(op string, x, y value, pos syntax.Pos) value {
	if isBroken(x, y) {
		return wrong(pos)
	}
	if x.typ.Kind == batch.Interval || y.typ.Kind == batch.Interval || isTime(x.typ) || isTime(y.typ) {
		return f.timeArithmetic(op, x, y, pos)
	}
	x, y, ok := f.operands(op, x, y, pos)
	if !ok {
		return wrong(pos)
	}
	switch op {
	case "/":
		if x.typ.Kind == batch.Decimal {
			return f.divideDecimals(x, y, pos)
		}
		x, y = f.convert(x, double, false), f.convert(y, double, false)
		return byZero(compose(double, "(%s / %s)", x, y), x, y, fault.DivideByZero)
	case "DIV":
		return f.wholeDivision(x, y, pos)
	case "%":
		return f.remainder(x, y, pos)
	}
	if x.typ.Kind == batch.Decimal {
		return f.decimalArithmetic(op, x, y, pos)
	}
	return compose(x.typ, "(%s "+op+" %s)", x, y).with(raises)
}

// operands brings two operands to one numeric type. A whole number that is constant beside a DECIMAL counts with its own digits
// only.
func (f *frame) operands(op string, x, y value, pos syntax.Pos) (value, value, bool) {
	if !x.typ.IsNumeric() && !y.typ.IsNumeric() && (x.typ.Kind == batch.String || y.typ.Kind == batch.String) {
		f.report(fault.New(fault.OperandWrongType, "%s takes a text only beside a number", op).At(pos).WithHint("%s", operandHint(op, text)))
		return x, y, false
	}
	x, y = f.asNumber(x, y), f.asNumber(y, x)
	if x.typ.Kind == batch.Decimal && y.typ.Kind == batch.Decimal || x.typ.Kind == batch.Decimal && y.typ.IsInteger() || y.typ.Kind == batch.Decimal && x.typ.IsInteger() {
		return f.toDecimal(x), f.toDecimal(y), true
	}
	typ, ok := common(x.typ, y.typ)
	switch {
	case !ok:
		f.report(fault.New(fault.OperandsDiffer, "%s has %s on one side and %s on the other", op, x.typ, y.typ).At(pos).WithHint("CAST one of them"))
		return x, y, false
	case typ.Kind == batch.Void:
		typ = double
	case !typ.IsNumeric():
		f.report(fault.New(fault.OperandWrongType, "%s does not take %s", op, typ).At(pos).WithHint("%s", operandHint(op, typ)))
		return x, y, false
	}
	return f.convert(x, typ, false), f.convert(y, typ, false), true
}

func operandHint(op string, typ batch.Type) string {
	if op == "+" && typ.Kind == batch.String {
		return "texts are put together by ||"
	}
	return "CAST it to a number"
}

// asNumber makes a number of a text beside another operand: BIGINT beside an integer, DOUBLE beside all else.
func (f *frame) asNumber(x, beside value) value {
	if x.typ.Kind != batch.String {
		return x
	}
	if beside.typ.IsInteger() {
		return f.convert(x, bigint, false)
	}
	return f.convert(x, double, false)
}

// toDecimal gives an integer operand of a DECIMAL operation its type; a literal has the precision of its digits.
func (f *frame) toDecimal(v value) value {
	switch {
	case v.typ.Kind == batch.Decimal:
		return v
	case v.konst != nil && !v.konst.null && !v.konst.cast && v.typ.Kind != batch.TinyInt: // which Spark forgot
		if d, ok := parseDecimal(v.konst.text); ok {
			out := decimalValue(d)
			out.pos, out.name = v.pos, v.name
			return out
		}
	}
	return f.convert(v, asDecimal(v.typ), false)
}

// nonZero reports whether v is a constant other than zero.
func (v value) nonZero() bool {
	if v.konst == nil || v.konst.null {
		return false
	}
	d, ok := parseDecimal(v.konst.text)
	return ok && d.unscaled.Sign() != 0
}

// byZero makes a division fail where the divisor is zero. NULL divided by zero is NULL, as in Spark.
func byZero(quotient, x, y value, code *fault.Code) value {
	if y.nonZero() {
		return quotient
	}
	condition := y.sql + " = 0"
	if x.konst == nil || x.konst.null {
		condition += " AND " + x.sql + " IS NOT NULL"
	}
	failure := raise(code, "'the divisor is 0'", quotient.typ)
	return derive(quotient.typ, fmt.Sprintf("CASE WHEN %s THEN %s ELSE %s END", condition, failure, quotient.sql), quotient).with(raises)
}

// wholeDivision is DIV: a BIGINT, cut off towards zero.
func (f *frame) wholeDivision(x, y value, pos syntax.Pos) value {
	switch {
	case isFractional(x.typ):
		return f.fail(fault.New(fault.OperandWrongType, "DIV does not take %s", x.typ).At(pos).WithHint("write CAST(x / y AS BIGINT)"))
	case x.typ.Kind == batch.Decimal:
		return f.divideWhole(x, y, pos)
	}
	x, y = f.convert(x, bigint, false), f.convert(y, bigint, false)
	return byZero(compose(bigint, "(%s // %s)", x, y).with(raises), x, y, fault.DivideByZero)
}

func (f *frame) remainder(x, y value, pos syntax.Pos) value {
	if x.typ.Kind == batch.Decimal {
		return f.decimalRemainder(x, y, pos)
	}
	out := compose(x.typ, "(%s %% %s)", x, y)
	if x.typ.IsInteger() && (!y.nonZero() || y.konst.text == "-1") { // DuckDB finds that the smallest number % -1 overflows
		zero := typed("0", x.typ)
		out = derive(x.typ, fmt.Sprintf("CASE WHEN %s = -1 AND %s IS NOT NULL THEN %s ELSE %s END", y.sql, x.sql, zero, out.sql), out)
	}
	return byZero(out, x, y, fault.RemainderByZero)
}

// sign is -x, +x and ~x.
func (f *frame) sign(op string, x value, pos syntax.Pos) value {
	if isBroken(x) {
		return wrong(pos)
	}
	if x.typ.Kind == batch.Interval && op != "~" {
		if op == "-" {
			x.span = x.span.negate()
		}
		return x
	}
	if k := x.typ.Kind; k == batch.Void || k == batch.String && op != "~" {
		x = f.convert(x, double, false)
	}
	if !x.typ.IsNumeric() || op == "~" && !x.typ.IsInteger() {
		return f.fail(fault.New(fault.UnexpectedInput, "%s does not take %s", op, x.typ).At(pos))
	}
	switch op {
	case "+":
		return x
	case "-":
		return compose(x.typ, "(- %s)", x).with(raises)
	}
	return compose(x.typ, "(~ %s)", x)
}

// bits is x & y, x | y and x ^ y.
func (f *frame) bits(op string, x, y value, pos syntax.Pos) value {
	if isBroken(x, y) {
		return wrong(pos)
	}
	typ, ok := common(x.typ, y.typ)
	if typ.Kind == batch.Void {
		typ = integer
	}
	if !ok || !typ.IsInteger() {
		return f.fail(fault.New(fault.OperandWrongType, "%s takes integers, not %s and %s", op, x.typ, y.typ).At(pos))
	}
	x, y = f.convert(x, typ, false), f.convert(y, typ, false)
	if op == "^" {
		return compose(typ, "xor(%s, %s)", x, y)
	}
	return compose(typ, "(%s "+op+" %s)", x, y)
}

var shifts = map[string]string{"<<": "shiftleft", ">>": "shiftright", ">>>": "shiftrightunsigned"}

// shift is x << n, x >> n and x >>> n, on INT and BIGINT. Java takes n modulo the width.
func (f *frame) shift(op string, x, n value, pos syntax.Pos) value {
	if isBroken(x, n) {
		return wrong(pos)
	}
	typ := integer
	if x.typ.Kind == batch.BigInt {
		typ = bigint
	}
	if !x.typ.IsInteger() || !n.typ.IsInteger() {
		return f.fail(fault.New(fault.OperandWrongType, "%s takes integers, not %s and %s", op, x.typ, n.typ).At(pos))
	}
	c := &call{frame: f, name: op, pos: pos}
	return c.builtin(shifts[op], typ, nil, f.convert(x, typ, false), f.convert(n, integer, false))
}
