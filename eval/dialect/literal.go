package dialect

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"strings"

	"sluice/batch"
	"sluice/fault"
	"sluice/syntax"
)

// literal gives a constant its type, as Spark's grammar does.
func (f *frame) literal(e *syntax.Literal) value {
	var v value
	switch e.Kind {
	case syntax.NullLiteral:
		v = null()
	case syntax.BoolLiteral:
		v = value{typ: boolean, sql: e.Text, konst: &constant{text: strings.ToLower(e.Text)}}
	case syntax.IntegerLiteral, syntax.DecimalLiteral, syntax.DoubleLiteral:
		v = f.number(e)
	case syntax.StringLiteral:
		v = textValue(e.Text)
	case syntax.BinaryLiteral:
		v = value{typ: binary, sql: blob(e.Text)}
	case syntax.DateLiteral:
		v = f.timeLiteral(e, date)
	case syntax.TimeLiteral:
		typ := timestamp
		if e.Type == "TIMESTAMP_NTZ" {
			typ = localTime
		}
		v = f.timeLiteral(e, typ)
	case syntax.IntervalLiteral:
		v = f.interval(e)
	}
	v.notNull = e.Kind != syntax.NullLiteral
	return v.at(e)
}

// textValue is a STRING constant.
func textValue(s string) value {
	return value{typ: text, sql: quoteText(s), konst: &constant{text: s}, notNull: true}
}

func blob(bytes string) string {
	var b strings.Builder
	for i := range len(bytes) {
		b.WriteString(`\x` + strings.ToUpper(hex.EncodeToString([]byte{bytes[i]})))
	}
	return "'" + b.String() + "'::BLOB"
}

// integerSuffixes and the range of each type; a number without a suffix takes the first type from INT on that holds it.
var (
	integerSuffixes = map[string]batch.Type{"Y": tinyint, "S": smallint, "L": bigint}
	integerBits     = map[batch.Kind]uint{batch.TinyInt: 7, batch.SmallInt: 15, batch.Int: 31, batch.BigInt: 63}
)

func (f *frame) number(e *syntax.Literal) value {
	suffix := strings.ToUpper(e.Suffix)
	switch {
	case suffix == "F":
		return f.inRange(e, float)
	case suffix == "D" || e.Kind == syntax.DoubleLiteral && suffix == "":
		return f.inRange(e, double)
	case suffix == "BD" || e.Kind == syntax.DecimalLiteral && suffix == "":
		return f.decimalLiteral(e)
	}
	n, ok := new(big.Int).SetString(e.Text, 10)
	if !ok {
		return f.fail(fault.New(fault.ParseSyntaxError, "%s%s is not a number", e.Text, e.Suffix).At(e.Pos))
	}
	if typ, ok := integerSuffixes[suffix]; ok {
		if !fits(n, typ) {
			return f.fail(fault.New(fault.NumericLiteralRange, "%s%s is outside the range of %s", e.Text, e.Suffix, typ).At(e.Pos))
		}
		return integerValue(n, typ)
	}
	for _, typ := range []batch.Type{integer, bigint} {
		if fits(n, typ) {
			return integerValue(n, typ)
		}
	}
	return f.decimalLiteral(e)
}

// fits reports whether n is in the range of an integer type.
func fits(n *big.Int, typ batch.Type) bool {
	limit := new(big.Int).Lsh(big.NewInt(1), integerBits[typ.Kind])
	return n.Cmp(limit) < 0 && n.Cmp(new(big.Int).Neg(limit)) >= 0
}

func integerValue(n *big.Int, typ batch.Type) value {
	return value{typ: typ, sql: typed(n.String(), typ), konst: &constant{text: n.String()}, notNull: true}
}

// typed writes a number so that DuckDB gives it this type and no other.
func typed(number string, typ batch.Type) string {
	if strings.HasPrefix(number, "-") {
		number = "(" + number + ")"
	}
	return number + "::" + duckType(typ)
}

// largest are the largest numbers of types with an exponent; a literal beyond them is none, also where it would be rounded to them.
var largest = map[batch.Kind]string{batch.Float: "3.4028234663852886e38", batch.Double: "1.7976931348623157e308"}

func (f *frame) inRange(e *syntax.Literal, typ batch.Type) value {
	n, _, err := big.ParseFloat(e.Text, 10, 512, big.ToNearestEven)
	limit, _, _ := big.ParseFloat(largest[typ.Kind], 10, 512, big.ToNearestEven)
	if err != nil || n.Abs(n).Cmp(limit) > 0 {
		return f.fail(fault.New(fault.NumericLiteralRange, "%s%s is outside the range of %s", e.Text, e.Suffix, typ).At(e.Pos))
	}
	return fractional(e.Text, typ)
}

func fractional(number string, typ batch.Type) value {
	return value{typ: typ, sql: fmt.Sprintf("'%s'::%s", number, duckType(typ)), konst: &constant{text: number}, notNull: true}
}

// decimalLiteral has the precision and scale of its digits.
func (f *frame) decimalLiteral(e *syntax.Literal) value {
	n, ok := parseDecimal(e.Text)
	if !ok || n.precision() > 38 {
		return f.fail(fault.New(fault.InvalidDecimalPrecision, "%s has more than 38 digits", e.Text).At(e.Pos).WithHint("write it as a DOUBLE: %sD", e.Text))
	}
	return decimalValue(n)
}

func decimalValue(n decimal) value {
	typ := batch.DecimalOf(n.precision(), n.scale)
	return value{typ: typ, sql: fmt.Sprintf("'%s'::%s", n, duckType(typ)), konst: &constant{text: n.String()}, notNull: true}
}

func (f *frame) timeLiteral(e *syntax.Literal, typ batch.Type) value {
	v, err := f.timeConstant(e.Text, typ)
	if err != nil {
		return f.fail(fault.New(fault.InvalidTypedLiteral, "%q is not a %s: %v", e.Text, typ, err).At(e.Pos))
	}
	return v
}

// decimal is an exact number: unscaled * 10^-scale.
type decimal struct {
	unscaled *big.Int
	scale    int
}

// parseDecimal reads digits with an optional sign, point and exponent.
func parseDecimal(s string) (decimal, bool) {
	mantissa, exponent := s, 0
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mantissa = s[:i]
		if n, err := fmt.Sscanf(s[i+1:], "%d", &exponent); n != 1 || err != nil || exponent > 400 || exponent < -400 {
			return decimal{}, false
		}
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	n, ok := new(big.Int).SetString(whole+fraction, 10)
	if !ok {
		return decimal{}, false
	}
	d := decimal{n, len(fraction) - exponent}
	if d.scale < 0 {
		d = d.rescale(0)
	}
	return d, true
}

// precision is the number of digits, at least the scale.
func (d decimal) precision() int {
	digits := len(new(big.Int).Abs(d.unscaled).String())
	return max(digits, d.scale, 1)
}

// rescale gives d another scale, rounding half away from zero.
func (d decimal) rescale(scale int) decimal {
	factor := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(scale-d.scale, d.scale-scale))), nil)
	if scale >= d.scale {
		return decimal{new(big.Int).Mul(d.unscaled, factor), scale}
	}
	quotient, rest := new(big.Int).QuoRem(d.unscaled, factor, new(big.Int))
	if rest.Abs(rest).Lsh(rest, 1).Cmp(factor) >= 0 {
		quotient.Add(quotient, big.NewInt(int64(d.unscaled.Sign())))
	}
	return decimal{quotient, scale}
}

func (d decimal) String() string {
	digits := new(big.Int).Abs(d.unscaled).String()
	if d.scale > 0 {
		for len(digits) <= d.scale {
			digits = "0" + digits
		}
		digits = digits[:len(digits)-d.scale] + "." + digits[len(digits)-d.scale:]
	}
	if d.unscaled.Sign() < 0 {
		return "-" + digits
	}
	return digits
}
