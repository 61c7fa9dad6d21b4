package dialect

import (
	"math/big"
	"slices"
	"strings"

	"sluice/batch"
	"sluice/fault"
	"sluice/syntax"
)

// interval is a span of time: months, or microseconds. Spark does not mix them.
type interval struct {
	months, micros int64
	daily          bool // written in days and weeks only, so that a DATE plus it is a DATE
	yearly         bool // written in months and years
	from, to       int  // the largest and the smallest unit it is written in, as numbers of intervalFields
}

// intervalFields are the units that types of intervals are called by.
var intervalFields = []string{"year", "month", "day", "hour", "minute", "second"}

// fieldOf has the number of the field that a unit belongs to, where it is not called so.
var fieldOf = map[string]string{"WEEK": "day", "MILLISECOND": "second", "MICROSECOND": "second"}

// typeName is what Spark calls the type.
func (i *interval) typeName() string {
	if i.from == i.to {
		return "interval " + intervalFields[i.from]
	}
	return "interval " + intervalFields[i.from] + " to " + intervalFields[i.to]
}

// wrote notes that the interval has a part in a unit.
func (i *interval) wrote(unit string) {
	name, other := fieldOf[unit]
	if !other {
		name = strings.ToLower(unit)
	}
	field := slices.Index(intervalFields, name)
	i.from, i.to = min(i.from, field), max(i.to, field)
}

var intervalMonths = map[string]int64{"YEAR": 12, "MONTH": 1}

// intervalMicros has the length of each unit; NANOSECOND counts in thousandths of it.
var intervalMicros = map[string]int64{"WEEK": 7 * microsPerDay, "DAY": microsPerDay, "HOUR": 3600e6, "MINUTE": 60e6, "SECOND": 1e6,
	"MILLISECOND": 1e3, "MICROSECOND": 1}

const microsPerDay = 24 * 3600 * 1_000_000

// interval reads an INTERVAL literal.
func (f *frame) interval(e *syntax.Literal) value {
	span := &interval{daily: true, yearly: true, from: len(intervalFields)}
	for _, part := range e.Parts {
		lit := part.Value.(*syntax.Literal)
		amount, ok := parseDecimal(lit.Text)
		unit, month := intervalMicros[part.Unit], intervalMonths[part.Unit]
		if !ok || unit == 0 && month == 0 {
			return f.fail(fault.New(fault.UnsupportedMeaning, "an interval of %s %s is not supported", lit.Text, part.Unit).At(e.Pos).
				WithHint("the smallest unit is the MICROSECOND"))
		}
		span.wrote(part.Unit)
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
	out := *i
	out.months, out.micros = -i.months, -i.micros
	return &out
}
