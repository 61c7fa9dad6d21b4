package dialect

import (
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	"sluice/batch"
	"sluice/fault"
)

// constantTo casts a constant here and now, where it can: texts to dates, times and numbers, numbers to numbers. It takes
// all the forms that Spark takes, and reports texts that are no value of the type.
func (f *frame) constantTo(v value, to batch.Type, try bool) (out value, done bool) {
	var err error
	switch {
	case v.typ.Kind == batch.String && isTime(to):
		out, err = f.timeConstant(v.konst.text, to)
	case v.typ.Kind == batch.String && (to.IsInteger() || to.Kind == batch.Decimal):
		out, err = numberConstant(strings.Trim(v.konst.text, blanks), to)
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
		return f.fail(fault.New(fault.CastInvalidInput, "%q is not a value of type %s: %v", v.konst.text, to, err).At(v.pos)), true
	}
	out.pos, out.name = v.pos, v.name
	return out, true
}

var wholeNumber = regexp.MustCompile(`^[+-]?[0-9]+$`)
var anyNumber = regexp.MustCompile(`^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]{1,3})?$`)

func numberConstant(s string, to batch.Type) (value, error) {
	if to.IsInteger() {
		n, ok := new(big.Int).SetString(strings.TrimPrefix(s, "+"), 10)
		switch {
		case !ok || !wholeNumber.MatchString(s):
			return value{}, fmt.Errorf("it is not a whole number")
		case !fits(n, to):
			return value{}, fmt.Errorf("it is out of range")
		}
		return integerValue(n, to), nil
	}
	d, ok := parseDecimal(strings.TrimPrefix(s, "+"))
	if !ok || !anyNumber.MatchString(s) {
		return value{}, fmt.Errorf("it is not a number")
	}
	d = d.rescale(int(to.Scale))
	if len(new(big.Int).Abs(d.unscaled).String()) > int(to.Precision) {
		return value{}, fmt.Errorf("it has too many digits")
	}
	out := decimalValue(d)
	out.typ, out.sql = to, fmt.Sprintf("'%s'::%s", d, duckType(to))
	return out, nil
}

// Forms of Spark's casts to DATE and TIMESTAMP.
var (
	dateForm = regexp.MustCompile(`^([+-]?[0-9]{4,7})(?:-([0-9]{1,2})(?:-([0-9]{1,2}))?)?$`)
	timeForm = regexp.MustCompile(`^([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2})(?:[.]([0-9]*))?)?)?(.*)$`)
)

func (f *frame) timeConstant(s string, to batch.Type) (value, error) {
	s = strings.Trim(s, blanks)
	day, rest, hasTime := s, "", false
	if i := strings.IndexAny(s, " T"); i >= 0 {
		day, rest, hasTime = s[:i], s[i+1:], to.Kind != batch.Date && s[i+1:] != ""
	}
	y, m, d, err := parseDay(day)
	if err != nil {
		return value{}, err
	}
	if to.Kind == batch.Date {
		return dateConstant(y, m, d), nil
	}
	at, loc := time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC), f.zone.loc
	if hasTime {
		var clock time.Duration
		if clock, loc, err = parseClock(rest, f.zone.loc); err != nil {
			return value{}, err
		}
		at = at.Add(clock)
	}
	if y < 1 || y > 9999 {
		return value{}, fmt.Errorf("years of timestamps are 1 to 9999 here")
	}
	const layout = "2006-01-02 15:04:05.000000"
	out := value{typ: to, notNull: true, konst: &constant{text: s}}
	if to.Kind == batch.TimestampNTZ {
		out.sql = "TIMESTAMP '" + at.Format(layout) + "'"
		return out, nil
	}
	out.sql = "TIMESTAMPTZ '" + earlier(at, loc).UTC().Format(layout) + "+00'"
	return out, nil
}

// earlier is the instant of a local time: the earlier one where clocks were set back, and later by as much as they were set
// on where the local time does not exist.
func earlier(local time.Time, loc *time.Location) time.Time {
	at := func(near time.Time) time.Time {
		_, offset := near.In(loc).Zone()
		return local.Add(-time.Duration(offset) * time.Second)
	}
	before, after := at(local.AddDate(0, 0, -1)), at(local.AddDate(0, 0, 1))
	if same := after.In(loc).Format(time.DateTime) == local.Format(time.DateTime); same && before.In(loc).Format(time.DateTime) != local.Format(time.DateTime) {
		return after
	}
	return before
}

func parseDay(s string) (y, m, d int, err error) {
	parts := dateForm.FindStringSubmatch(s)
	if parts == nil {
		return 0, 0, 0, fmt.Errorf("it is not written as yyyy-MM-dd")
	}
	y, _ = strconv.Atoi(parts[1])
	m, d = 1, 1
	if parts[2] != "" {
		m, _ = strconv.Atoi(parts[2])
	}
	if parts[3] != "" {
		d, _ = strconv.Atoi(parts[3])
	}
	if t := time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC); m > 12 || t.Day() != d || int(t.Month()) != m {
		return 0, 0, 0, fmt.Errorf("there is no such day")
	}
	return y, m, d, nil
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

// parseClock reads a time of day and the zone behind it.
func parseClock(s string, session *time.Location) (time.Duration, *time.Location, error) {
	parts := timeForm.FindStringSubmatch(s)
	if parts == nil {
		return 0, nil, fmt.Errorf("its time is not written as HH:mm:ss")
	}
	var n [3]int
	for i := range n {
		n[i], _ = strconv.Atoi(parts[i+1])
	}
	if n[0] > 23 || n[1] > 59 || n[2] > 59 {
		return 0, nil, fmt.Errorf("there is no such time")
	}
	micros, _ := strconv.Atoi((parts[4] + "000000")[:6])
	clock := time.Duration(n[0])*time.Hour + time.Duration(n[1])*time.Minute + time.Duration(n[2])*time.Second + time.Duration(micros)*time.Microsecond
	loc, err := parseZone(strings.TrimSpace(parts[5]), session)
	return clock, loc, err
}

var offsetForm = regexp.MustCompile(`^(?:UTC|GMT|UT)?([+-])([0-9]{1,2})(?::?([0-9]{2}))?$`)

func parseZone(s string, session *time.Location) (*time.Location, error) {
	switch s {
	case "":
		return session, nil
	case "Z", "UTC", "GMT", "UT":
		return time.UTC, nil
	}
	if m := offsetForm.FindStringSubmatch(s); m != nil {
		hours, _ := strconv.Atoi(m[2])
		minutes, _ := strconv.Atoi(m[3])
		seconds := hours*3600 + minutes*60
		if seconds > 18*3600 || minutes > 59 {
			return nil, fmt.Errorf("its offset is more than 18 hours")
		}
		if m[1] == "-" {
			seconds = -seconds
		}
		return time.FixedZone(s, seconds), nil
	}
	if !strings.Contains(s, "/") {
		return nil, fmt.Errorf("there is no time zone %s", s)
	}
	return time.LoadLocation(s)
}
