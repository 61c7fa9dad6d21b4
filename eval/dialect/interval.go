package dialect

import (
	"math/big"

	"sluice/batch"
	"sluice/fault"
	"sluice/syntax"
)

// interval is a span of time: months, or microseconds. Spark does not mix them.
type interval struct {
	months, micros int64
	daily          bool // written in days and weeks only, so that a DATE plus it is a DATE
	yearly         bool // written in months and years
}

var intervalMonths = map[string]int64{"YEAR": 12, "MONTH": 1}

// intervalMicros has the length of each unit; NANOSECOND counts in thousandths of it.
var intervalMicros = map[string]int64{"WEEK": 7 * microsPerDay, "DAY": microsPerDay, "HOUR": 3600e6, "MINUTE": 60e6, "SECOND": 1e6,
	"MILLISECOND": 1e3, "MICROSECOND": 1}

const microsPerDay = 24 * 3600 * 1_000_000

// interval reads an INTERVAL literal.
func (f *frame) interval(e *syntax.Literal) value {
	span := &interval{daily: true, yearly: true}
	for _, part := range e.Parts {
		lit := part.Value.(*syntax.Literal)
		amount, ok := parseDecimal(lit.Text)
		unit, month := intervalMicros[part.Unit], intervalMonths[part.Unit]
		if !ok || unit == 0 && month == 0 {
			return f.fail(fault.New(fault.UnsupportedMeaning, "an interval of %s %s is not supported", lit.Text, part.Unit).At(e.Pos).
				WithHint("the smallest unit is the MICROSECOND"))
		}
		span.yearly = span.yearly && month > 0
		span.daily = span.daily && unit >= microsPerDay
		total := new(big.Int).Mul(amount.unscaled, big.NewInt(unit+month))
		total = decimal{total, amount.scale}.rescale(0).unscaled
		if month > 0 {
			span.months += total.Int64()
		} else {
			span.micros += total.Int64()
		}
		if !total.IsInt64() || span.months > 1<<31 || span.months < -1<<31 {
			return f.fail(fault.New(fault.ArithmeticOverflow, "the interval is too long").At(e.Pos))
		}
	}
	if !span.yearly && span.months != 0 {
		return f.fail(fault.New(fault.UnsupportedMeaning, "an interval holds months and days together").At(e.Pos).
			WithHint("add one after the other: x + INTERVAL 1 MONTH + INTERVAL 1 DAY"))
	}
	return value{typ: batch.Of(batch.Interval), sql: "NULL", span: span}
}

// negate turns a span round.
func (i *interval) negate() *interval {
	return &interval{months: -i.months, micros: -i.micros, daily: i.daily, yearly: i.yearly}
}
