package dialect

import (
	"fmt"

	"sluice/batch"
	"sluice/fault"
	"sluice/syntax"
)

// timeArithmetic is + and - with a date, a timestamp or an interval on one side.
func (f *frame) timeArithmetic(op string, x, y value, pos syntax.Pos) value {
	if op == "+" && (x.typ.Kind == batch.Interval || isTime(y.typ)) {
		x, y = y, x
	}
	minus := op == "-"
	switch {
	case op != "+" && !minus || x.typ.Kind == batch.Interval:
		return f.fail(fault.New(fault.OperandWrongType, "%s does not take %s and %s", op, x.typ, y.typ).At(pos))
	case y.typ.Kind == batch.Interval:
		span := y.span
		if minus {
			span = span.negate()
		}
		return f.plus(x, y, span, pos)
	case x.typ.Kind == batch.Date && y.typ.Kind == batch.Date && minus:
		return f.fail(unsupported("the difference of two dates is an INTERVAL, which is not supported").At(pos).WithHint("write datediff(x, y) for the number of days"))
	case isTime(x.typ) && isTime(y.typ) && minus:
		return f.fail(unsupported("the difference of two timestamps is an INTERVAL, which is not supported").At(pos).
			WithHint("write unix_micros(x) - unix_micros(y)"))
	case x.typ.Kind == batch.Date:
		return f.addDays(x, y, minus, pos)
	}
	return f.fail(fault.New(fault.OperandsDiffer, "%s has %s on one side and %s on the other", op, x.typ, y.typ).At(pos).WithHint("add an INTERVAL"))
}

// addDays is date_add and date_sub: the days are at most an INT, or a text.
func (f *frame) addDays(day, days value, minus bool, pos syntax.Pos) value {
	if isBroken(day, days) {
		return wrong(pos)
	}
	if k := days.typ.Kind; k != batch.Int && k != batch.SmallInt && k != batch.TinyInt && k != batch.String && k != batch.Void {
		return f.fail(fault.New(fault.UnexpectedInput, "the days to add are %s, not INT", days.typ).At(pos).WithHint("CAST(... AS INT)"))
	}
	op := "+"
	if minus {
		op = "-"
	}
	return compose(date, "(%s "+op+" %s)", day, f.convert(days, integer, false)).with(raises)
}

// plus adds an interval to x. Days and months are those of the calendar in the session's zone.
func (f *frame) plus(x, y value, span *interval, pos syntax.Pos) value {
	months := span.months != 0 || span.yearly
	var sql string
	typ := x.typ
	switch {
	case isBroken(x):
		return wrong(pos)
	case x.typ.Kind == batch.Date && months:
		sql = safe(fmt.Sprintf("(%s + INTERVAL (%d) MONTH)", x.sql, span.months), date)
	case x.typ.Kind == batch.Date && span.daily:
		sql = fmt.Sprintf("(%s + (%d)::INTEGER)", x.sql, span.micros/microsPerDay)
	case x.typ.Kind == batch.Date:
		typ = timestamp
		x = f.convert(x, timestamp, false)
		sql = f.plusInstant(x.sql, span)
	case x.typ.Kind == batch.TimestampNTZ && months:
		sql = fmt.Sprintf("(%s + INTERVAL (%d) MONTH)", x.sql, span.months)
	case x.typ.Kind == batch.TimestampNTZ:
		sql = plusMicros(x.sql, span.micros)
	case x.typ.Kind == batch.Timestamp && months:
		sql = f.zone.instant(fmt.Sprintf("(%s + INTERVAL (%d) MONTH)", f.zone.local(x.sql), span.months))
	case x.typ.Kind == batch.Timestamp:
		sql = f.plusInstant(x.sql, span)
	case x.typ.Kind == batch.String || x.typ.Kind == batch.Void:
		return f.fail(fault.New(fault.UnsupportedMeaning, "an INTERVAL is added to %s", x.typ).At(pos).WithHint("CAST to DATE or TIMESTAMP"))
	default:
		return f.fail(fault.New(fault.OperandsDiffer, "an INTERVAL is added to %s", x.typ).At(pos).WithHint("CAST to DATE or TIMESTAMP"))
	}
	return derive(typ, sql, x, y).with(raises)
}

func plusMicros(x string, micros int64) string {
	return fmt.Sprintf("(%s + INTERVAL (%d) MICROSECOND)", x, micros)
}

// plusInstant adds whole days on the calendar, then the rest on the clock.
func (f *frame) plusInstant(x string, span *interval) string {
	days, rest := span.micros/microsPerDay, span.micros%microsPerDay
	if days != 0 && !f.zone.utc {
		x = f.zone.keeping(plusMicros(x, days*microsPerDay), fmt.Sprintf("(%s + INTERVAL (%d) DAY)", f.zone.local(x), days))
		days = 0
	}
	if rest += days * microsPerDay; rest != 0 {
		x = plusMicros(x, rest)
	}
	return x
}
