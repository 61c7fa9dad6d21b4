package dialect

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"sluice/batch"
	"sluice/eval/builtin"
	"sluice/fault"
	"sluice/format"
)

// constantTo casts a constant here and now, where it can: texts to dates, times and numbers, numbers to numbers. It takes
// all the forms that Spark takes, and reports texts that are no value of the type.
func (f *frame) constantTo(v value, to batch.Type, try bool) (out value, done bool) {
	var err error
	switch {
	case v.typ.Kind == batch.String && isTime(to):
		out, err = f.timeConstant(v.konst.text, to)
	case v.typ.Kind == batch.String && to.IsInteger():
		out, err = integerConstant(v.konst.text, to)
	case v.typ.Kind == batch.String && to.Kind == batch.Decimal:
		out, err = decimalConstant(v.konst.text, to)
	case (v.typ.IsInteger() || v.typ.Kind == batch.Decimal) && (to.IsInteger() && v.typ.IsInteger() || to.Kind == batch.Decimal):
		out, err = numberConstant(v.konst.text, to)
	case v.typ.IsInteger() && to.Kind == batch.Double && len(v.konst.text) <= 15:
		out = fractional(v.konst.text, double)
	default:
		return value{}, false
	}
	if err != nil && try {
		out, err = f.convert(null(), to, false), nil
	}
	if err != nil {
		code := fault.CastInvalidInput
		switch {
		case errors.Is(err, errDigits):
			code = fault.NumericOutOfRange
		case errors.Is(err, errRange):
			code = fault.CastOverflow
		}
		return f.fail(fault.New(code, "%q is not a value of type %s: %v", v.konst.text, to, err).At(v.pos)), true
	}
	out.pos, out.name = v.pos, v.name
	return out, true
}

var (
	errDigits = errors.New("it has too many digits")
	errRange  = errors.New("it is out of range")
)

func integerConstant(s string, to batch.Type) (value, error) {
	n, ok := builtin.ParseInteger([]byte(s), to.Kind)
	if !ok {
		return value{}, fmt.Errorf("it is no whole number in its range")
	}
	return integerValue(big.NewInt(n), to), nil
}

func decimalConstant(s string, to batch.Type) (value, error) {
	n, code := format.ParseDecimal([]byte(s), int(to.Precision), int(to.Scale))
	switch code {
	case nil:
		return numberConstant(string(format.AppendDecimal(nil, n, int(to.Scale))), to)
	case fault.NumericOutOfRange:
		return value{}, errDigits
	}
	return value{}, fmt.Errorf("it is not a number")
}

// numberConstant is a number of a constant of another type.
func numberConstant(s string, to batch.Type) (value, error) {
	if to.IsInteger() {
		n, ok := new(big.Int).SetString(s, 10)
		if !ok || !fits(n, to) {
			return value{}, errRange
		}
		return integerValue(n, to), nil
	}
	d, ok := parseDecimal(s)
	if !ok {
		return value{}, fmt.Errorf("it is not a number")
	}
	d = d.rescale(int(to.Scale))
	if len(new(big.Int).Abs(d.unscaled).String()) > int(to.Precision) {
		return value{}, errDigits
	}
	out := decimalValue(d)
	out.typ, out.sql = to, fmt.Sprintf("'%s'::%s", d, duckType(to))
	return out, nil
}

func (f *frame) timeConstant(s string, to batch.Type) (value, error) {
	if to.Kind == batch.Date {
		y, m, d, ok := format.ParseDay([]byte(s))
		if !ok {
			return value{}, fmt.Errorf("it is no day written as yyyy-MM-dd")
		}
		return dateConstant(y, m, d), nil
	}
	micros, ok := format.NewTimeParser(f.zone.loc).Parse([]byte(s), to.Kind == batch.TimestampNTZ)
	if !ok {
		return value{}, fmt.Errorf("it is no time of the years 1 to 9999 written as yyyy-MM-dd HH:mm:ss")
	}
	out := value{typ: to, notNull: true, konst: &constant{text: strings.TrimSpace(s)}}
	out.sql = "TIMESTAMP '" + time.UnixMicro(micros).UTC().Format("2006-01-02 15:04:05.000000")
	if to.Kind == batch.TimestampNTZ {
		out.sql += "'"
	} else {
		out.sql = "TIMESTAMPTZ" + strings.TrimPrefix(out.sql, "TIMESTAMP") + "+00'"
	}
	return out, nil
}

// dateConstant writes a date by its day number where DuckDB would not read it as text.
func dateConstant(y, m, d int) value {
	t := time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC)
	sql := "DATE '" + t.Format(time.DateOnly) + "'"
	if y < 1 || y > 9999 {
		sql = fmt.Sprintf("(DATE '1970-01-01' + (%d)::INTEGER)", t.Unix()/86400)
	}
	return value{typ: date, sql: sql, notNull: true, konst: &constant{text: t.Format(time.DateOnly)}}
}
