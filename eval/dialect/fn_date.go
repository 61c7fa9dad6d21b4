package dialect

import (
	"errors"
	"fmt"
	"strings"

	"sluice/batch"
	"sluice/eval/builtin"
	"sluice/fault"
	"sluice/format"
)

const (
	pastDomain  = "exact for years 1 to 9999"
	readLetters = "exact for the letters y yy yyyy M MM MMM MMMM d dd D DDD H h K k a m s S X XX XXX x xx xxx Z VV and [...], with numbers of one or two digits where Java takes more zeros"
)

var dates = []*function{
	{name: "current_date curdate", args: "", max: 0, kind: clock, exact: "the batch's day in the session's zone (D-48)", bind: func(c *call) value {
		return c.convert(c.now(), date, false)
	}},
	{name: "current_timestamp now", args: "", max: 0, kind: clock, exact: "the batch's time (D-48)", bind: func(c *call) value { return c.now() }},
	{name: "localtimestamp", args: "", max: 0, kind: clock, exact: "the batch's time as TIMESTAMP_NTZ (D-48)", bind: func(c *call) value {
		return c.convert(c.now(), localTime, false)
	}},
	{name: "current_timezone", args: "", max: 0, exact: exact, bind: func(c *call) value { return textValue(c.zone.name) }},
	{name: "date_add dateadd", args: "date, days | unit, n, time", min: 2, max: 3, exact: exact, bind: bindDateAdd},
	{name: "date_sub", args: "date, days", min: 2, max: 2, exact: exact, bind: func(c *call) value { return c.addDays(c.as(0, date), c.args[1], true, c.pos) }},
	{name: "datediff date_diff", args: "end, start | unit, start, end", min: 2, max: 3, exact: exact, bind: bindDateDiff},
	{name: "timestampadd", args: "unit, n, time", min: 3, max: 3, exact: "exact for years 1 to 9999", bind: bindDateAdd},
	{name: "timestampdiff", args: "unit, start, end", min: 3, max: 3, exact: exact, bind: bindDateDiff},
	{name: "months_between", args: "time, time [, rounded]", min: 2, max: 3, exact: "exact; rounded is a constant", bind: bindMonthsBetween},
	{name: "next_day", args: "date, day of week", min: 2, max: 2, exact: exact, bind: func(c *call) value {
		return c.builtin("next_day", date, nil, c.as(0, date), c.as(1, text)).with(raises)
	}},
	{name: "dayname", args: "date", min: 1, max: 1, exact: exact, bind: simple(text, "strftime(%s, '%%a')", date)},
	{name: "monthname", args: "date", min: 1, max: 1, exact: exact, bind: simple(text, "strftime(%s, '%%b')", date)},
	{name: "from_utc_timestamp", args: "timestamp, zone", min: 2, max: 2, exact: "exact; the zone is a constant", bind: bindUTC},
	{name: "to_utc_timestamp", args: "timestamp, zone", min: 2, max: 2, exact: "exact; the zone is a constant", bind: bindUTC},
	{name: "make_timestamp", args: "year, month, day, hour, minute, second", min: 6, max: 6, exact: pastDomain, bind: bindMakeTimestamp(timestamp)},
	{name: "make_timestamp_ntz", args: "year, month, day, hour, minute, second", min: 6, max: 6, exact: pastDomain, bind: bindMakeTimestamp(localTime)},
	{name: "add_months", args: "date, months", min: 2, max: 2, exact: exact, bind: func(c *call) value {
		return compose(date, "CAST(%s + to_months(%s) AS DATE)", c.as(0, date), c.as(1, integer)).with(raises)
	}},
	{name: "last_day", args: "date", min: 1, max: 1, exact: exact, bind: simple(date, "last_day(%s)", date)},
	{name: "year", args: "date", min: 1, max: 1, exact: exact, bind: datePart("YEAR")},
	{name: "quarter", args: "date", min: 1, max: 1, exact: exact, bind: datePart("QUARTER")},
	{name: "month", args: "date", min: 1, max: 1, exact: exact, bind: datePart("MONTH")},
	{name: "weekofyear", args: "date", min: 1, max: 1, exact: exact, bind: datePart("WEEK")},
	{name: "day dayofmonth", args: "date", min: 1, max: 1, exact: exact, bind: datePart("DAY")},
	{name: "dayofyear", args: "date", min: 1, max: 1, exact: exact, bind: datePart("DOY")},
	{name: "dayofweek", args: "date", min: 1, max: 1, exact: "exact; Sunday is 1", bind: datePart("DAYOFWEEK")},
	{name: "weekday", args: "date", min: 1, max: 1, exact: "exact; Monday is 0", bind: datePart("WEEKDAY")},
	{name: "hour", args: "timestamp", min: 1, max: 1, exact: exact, bind: datePart("HOUR")},
	{name: "minute", args: "timestamp", min: 1, max: 1, exact: exact, bind: datePart("MINUTE")},
	{name: "second", args: "timestamp", min: 1, max: 1, exact: exact, bind: datePart("SECOND")},
	{name: "extract date_part datepart", args: "part, time", min: 2, max: 2, exact: "exact; also EXTRACT(part FROM time)", bind: bindExtract},
	{name: "date_trunc", args: "unit, time", min: 2, max: 2, exact: "exact; the unit is constant", bind: bindDateTrunc},
	{name: "trunc", args: "date, unit", min: 2, max: 2, exact: "exact; the unit is constant", bind: bindTrunc},
	{name: "to_date", args: "text [, pattern]", min: 1, max: 2, exact: "as CAST; with a pattern " + readLetters, bind: func(c *call) value { return c.parse(date, false) }},
	{name: "to_timestamp to_timestamp_ltz", args: "text [, pattern]", min: 1, max: 2, exact: "as CAST; with a pattern " + readLetters, bind: func(c *call) value { return c.parse(timestamp, false) }},
	{name: "to_timestamp_ntz", args: "text [, pattern]", min: 1, max: 2, exact: "as CAST; with a pattern " + readLetters, bind: func(c *call) value { return c.parse(localTime, false) }},
	{name: "try_to_date", args: "text [, pattern]", min: 1, max: 2, exact: "as to_date; NULL where that is an error", bind: func(c *call) value { return c.parse(date, true) }},
	{name: "try_to_timestamp", args: "text [, pattern]", min: 1, max: 2, exact: "as to_timestamp; NULL where that is an error", bind: func(c *call) value { return c.parse(timestamp, true) }},
	{name: "date_format", args: "time, pattern", min: 2, max: 2, exact: "exact for the letters G y M L Q q d D F E a H h K k m s S X x Z O VV", bind: bindDateFormat},
	{name: "unix_timestamp to_unix_timestamp", args: "time [, pattern]", min: 1, max: 2, exact: exact, bind: bindUnixTimestamp},
	{name: "from_unixtime", args: "seconds [, pattern]", min: 1, max: 2, exact: pastDomain, bind: bindFromUnixtime},
	{name: "unix_seconds", args: "timestamp", min: 1, max: 1, exact: exact, bind: func(c *call) value { return c.epochIn(1_000_000) }},
	{name: "unix_millis", args: "timestamp", min: 1, max: 1, exact: exact, bind: func(c *call) value { return c.epochIn(1_000) }},
	{name: "unix_micros", args: "timestamp", min: 1, max: 1, exact: exact, bind: func(c *call) value { return c.epochIn(1) }},
	{name: "unix_date", args: "date", min: 1, max: 1, exact: exact, bind: func(c *call) value {
		if k := c.args[0].typ.Kind; k != batch.Date && k != batch.Void {
			return c.mistyped(0, "a DATE")
		}
		return compose(integer, "CAST(%s - DATE '1970-01-01' AS INTEGER)", c.as(0, date))
	}},
	{name: "timestamp_seconds", args: "number", min: 1, max: 1, exact: "exact; places behind the sixth are cut off", bind: func(c *call) value {
		if !c.args[0].typ.IsNumeric() && c.args[0].typ.Kind != batch.Void {
			return c.mistyped(0, "a number")
		}
		return c.secondsSince(c.args[0])
	}},
	{name: "timestamp_millis", args: "integer", min: 1, max: 1, exact: exact, bind: whole("make_timestamptz(%s * 1000)")},
	{name: "timestamp_micros", args: "integer", min: 1, max: 1, exact: exact, bind: whole("make_timestamptz(%s)")},
	{name: "date_from_unix_date", args: "days", min: 1, max: 1, exact: exact, bind: simple(date, "(DATE '1970-01-01' + %s)", integer)},
	{name: "make_date", args: "year, month, day", min: 3, max: 3, exact: pastDomain, bind: simple(date,
		"CASE WHEN %[1]s IS NOT NULL AND %[2]s IS NOT NULL AND %[3]s IS NOT NULL THEN make_date(CAST(%[1]s AS BIGINT), CAST(%[2]s AS BIGINT), CAST(%[3]s AS BIGINT)) END", integer)},
}

// now is the time of the batch, the statement's one parameter (D-48).
func (c *call) now() value {
	return value{typ: timestamp, sql: "$1::TIMESTAMPTZ", marks: clocked, notNull: true}
}

// bindDateAdd is date_add(date, days), and date_add(unit, n, time).
func bindDateAdd(c *call) value {
	if !c.has(2) {
		return c.addDays(c.as(0, date), c.args[1], false, c.pos)
	}
	unit, ok := c.unit()
	if !ok {
		return wrong(c.pos)
	}
	x, typ, options := c.args[2], timestamp, [][2]string{{"unit", unit}}
	if x.typ.Kind == batch.TimestampNTZ {
		typ, options = localTime, append(options, [2]string{"local", "true"})
	}
	return c.builtin("timestampadd", typ, options, c.as(1, integer), c.as(2, typ)).with(raises)
}

// unit is argument 0, the name of a unit of time.
func (c *call) unit() (string, bool) {
	unit, _ := c.args[0].text()
	unit = strings.ToUpper(unit)
	if unit == "DAYOFYEAR" {
		unit = "DAY"
	}
	if !builtin.IsUnit(unit) {
		c.refuse("use YEAR, QUARTER, MONTH, WEEK, DAY, HOUR ...", "%s does not take the unit %s", c.name, unit)
		return "", false
	}
	return unit, true
}

// bindDateDiff counts days, or whole units between two times on the session's clock.
func bindDateDiff(c *call) value {
	if !c.has(2) {
		return simple(integer, "CAST(%s - %s AS INTEGER)", date)(c)
	}
	unit, ok := c.unit()
	if !ok {
		return wrong(c.pos)
	}
	return c.builtin("timestampdiff", bigint, [][2]string{{"unit", unit}}, c.onClock(1), c.onClock(2))
}

func bindMonthsBetween(c *call) value {
	exactly := "false"
	if c.has(2) {
		k := c.args[2].konst
		if k == nil || k.null || c.args[2].typ.Kind != batch.Boolean {
			return c.fail(fault.New(fault.NonFoldable, "argument 3 of months_between must be TRUE or FALSE").At(c.args[2].pos))
		}
		exactly = fmt.Sprint(k.text == "false")
	}
	return c.builtin("months_between", double, [][2]string{{"exactly", exactly}}, c.as(0, timestamp), c.as(1, timestamp))
}

func bindUTC(c *call) value {
	name, isNull, ok := c.constText(1)
	x := c.as(0, timestamp)
	switch {
	case !ok || isBroken(x):
		return wrong(c.pos)
	case isNull:
		return c.convert(null(), timestamp, false)
	}
	if _, err := format.LoadZone(name); err != nil {
		return c.fail(fault.From(err).At(c.args[1].pos))
	}
	return c.builtin(c.name, timestamp, [][2]string{{"zone", name}}, x)
}

// bindMakeTimestamp makes a time of its parts, the seconds with a fraction.
func bindMakeTimestamp(typ batch.Type) func(*call) value {
	return func(c *call) value {
		var args []value
		for i := range 5 {
			args = append(args, c.as(i, integer))
		}
		seconds := c.as(5, batch.DecimalOf(16, 6))
		args = append(args, compose(bigint, "CAST(%s * 1000000 AS BIGINT)", seconds))
		return c.convert(c.builtin("make_timestamp", localTime, nil, args...).with(raises), typ, false)
	}
}

// dateParts writes the parts of a date, and of a local time behind them.
var dateParts = map[string]string{"YEAR": "year(%s)", "YEARS": "year(%s)", "Y": "year(%s)", "YR": "year(%s)", "QUARTER": "quarter(%s)", "QTR": "quarter(%s)",
	"MONTH": "month(%s)", "MON": "month(%s)", "MONTHS": "month(%s)", "WEEK": "weekofyear(%s)", "WEEKS": "weekofyear(%s)", "W": "weekofyear(%s)",
	"DAY": "day(%s)", "DAYS": "day(%s)", "D": "day(%s)", "DOY": "dayofyear(%s)", "DAYOFWEEK": "(dayofweek(%s) + 1)", "DOW": "(dayofweek(%s) + 1)",
	"DAYOFWEEK_ISO": "isodow(%s)", "DOW_ISO": "isodow(%s)", "WEEKDAY": "(isodow(%s) - 1)", "YEAROFWEEK": "isoyear(%s)"}
var clockParts = map[string]string{"HOUR": "hour(%s)", "HOURS": "hour(%s)", "H": "hour(%s)", "MINUTE": "minute(%s)", "MINUTES": "minute(%s)", "MIN": "minute(%s)",
	"M": "minute(%s)", "SECOND": "second(%s)"}

// datePart is a function that takes one part out of its argument.
func datePart(part string) func(*call) value {
	return func(c *call) value { return c.part(part, 0) }
}

func (c *call) part(part string, i int) value {
	if format, ok := dateParts[part]; ok {
		return compose(integer, "CAST("+format+" AS INTEGER)", c.as(i, date))
	}
	x := c.localTime(i)
	if isBroken(x) {
		return x
	}
	return compose(integer, "CAST("+clockParts[part]+" AS INTEGER)", x)
}

// localTime is argument i as a local time of the session's zone.
func (c *call) localTime(i int) value {
	x := c.args[i]
	if x.typ.Kind != batch.TimestampNTZ {
		x = c.as(i, timestamp)
	}
	return c.convert(x, localTime, false)
}

// onClock is argument i as what the clocks of the session's zone show. A TIMESTAMP_NTZ is taken as an instant first: those that a clock
// leaves out are later.
func (c *call) onClock(i int) value { return c.convert(c.as(i, timestamp), localTime, false) }

func bindExtract(c *call) value {
	part, isNull, ok := c.constText(0)
	if !ok {
		return wrong(c.pos)
	}
	part = strings.ToUpper(part)
	switch {
	case isNull:
		return c.fail(fault.New(fault.InvalidExtractField, "the part to extract is NULL").At(c.pos))
	case part == "WEEKDAY":
		part = "" // a function, but no part
	case part == "SECOND" || part == "SECONDS" || part == "SEC" || part == "S":
		micros := compose(bigint, "(epoch_us(%s) %% 60000000 + 60000000) %% 60000000", c.localTime(1))
		typ := batch.DecimalOf(8, 6)
		return derive(typ, scaled(micros.sql, typ), micros)
	}
	if dateParts[part] == "" && clockParts[part] == "" {
		return c.fail(fault.New(fault.InvalidExtractField, "%s is no part of a time", part).At(c.args[0].pos).
			WithHint("the parts are YEAR, QUARTER, MONTH, WEEK, DAY, DOY, DOW, HOUR, MINUTE and SECOND"))
	}
	return c.part(part, 1)
}

// Units of date_trunc and trunc, as DuckDB calls them.
var (
	dayUnits = map[string]string{"YEAR": "year", "YYYY": "year", "YY": "year", "QUARTER": "quarter", "MONTH": "month", "MM": "month", "MON": "month", "WEEK": "week"}
	allUnits = map[string]string{"DAY": "day", "DD": "day", "HOUR": "hour", "MINUTE": "minute", "SECOND": "second", "MILLISECOND": "milliseconds", "MICROSECOND": "microseconds"}
)

func bindDateTrunc(c *call) value {
	name, isNull, ok := c.constText(0)
	x := c.as(1, timestamp)
	if !ok || isBroken(x) {
		return wrong(c.pos)
	}
	unit := dayUnits[strings.ToUpper(name)]
	if unit == "" {
		unit = allUnits[strings.ToUpper(name)]
	}
	if isNull || unit == "" {
		return derive(timestamp, "CAST(NULL AS TIMESTAMPTZ)", x) // an unknown unit is no error in Spark
	}
	local := c.zone.local(x.sql)
	truncated := fmt.Sprintf("date_trunc('%s', %s)", unit, local)
	switch {
	case unit == "microseconds":
		return x
	case unit == "day" || dayUnits[strings.ToUpper(name)] != "":
		return derive(timestamp, c.zone.instant(safe(truncated, localTime)), x)
	}
	// The part that is cut off is the same on every clock, unless a clock left out where it begins.
	near := fmt.Sprintf("(%s - (%s - %s))", x.sql, local, truncated)
	if unit == "hour" || unit == "minute" {
		near = c.zone.keeping(near, truncated)
	}
	return derive(timestamp, near, x)
}

func bindTrunc(c *call) value {
	name, isNull, ok := c.constText(1)
	x := c.as(0, date)
	if !ok || isBroken(x) {
		return wrong(c.pos)
	}
	unit := dayUnits[strings.ToUpper(name)]
	if isNull || unit == "" {
		return derive(date, "CAST(NULL AS DATE)", x)
	}
	return compose(date, "CAST(date_trunc('"+unit+"', %s) AS DATE)", x)
}

// parse is to_date and to_timestamp, with or without a pattern; with try, what cannot be read is NULL.
func (c *call) parse(typ batch.Type, try bool) value {
	if !c.has(1) || c.args[0].typ.Kind != batch.String {
		if try && castable(c.args[0].typ, typ) {
			return c.convert(c.args[0], typ, true)
		}
		return c.as(0, typ)
	}
	p, isNull, ok := c.constText(1)
	if !ok {
		return wrong(c.pos)
	}
	if isNull {
		return c.convert(null(), typ, false)
	}
	pattern, err := format.ParseTimePattern(p)
	if err == nil {
		err = pattern.Readable()
	}
	if err == nil && pattern.HasOffset() && typ.Kind == batch.TimestampNTZ {
		err = errors.New("an offset from UTC, which a TIMESTAMP_NTZ has not")
	}
	if err != nil {
		return c.fail(patternError(p, err).At(c.args[1].pos))
	}
	from := localTime
	if pattern.HasOffset() {
		from = timestamp
	}
	v := c.builtin("parse_time", from, [][2]string{{"pattern", p}, {"try", fmt.Sprint(try)}}, c.as(0, text))
	if !try {
		v = v.with(raises)
	}
	return c.convert(v, typ, false)
}

func bindDateFormat(c *call) value {
	p, isNull, ok := c.constText(1)
	if !ok {
		return wrong(c.pos)
	}
	if isNull {
		return c.convert(null(), text, false)
	}
	return c.format(c.as(0, timestamp), p, 1)
}

// format writes a TIMESTAMP by a pattern.
func (c *call) format(x value, pattern string, arg int) value {
	p, err := format.ParseTimePattern(pattern)
	if err != nil {
		return c.fail(patternError(pattern, err).At(c.args[arg].pos))
	}
	typ := localTime
	if p.HasOffset() {
		typ = timestamp
	}
	return c.builtin("format_time", text, [][2]string{{"pattern", pattern}}, c.convert(x, typ, false))
}

func patternError(pattern string, err error) *fault.Error {
	return fault.New(fault.UnsupportedFunction, "the pattern %q is not supported: it has %v", pattern, err).
		WithHint("patterns are made of yyyy MM dd HH mm ss SSS XXX and text in quotes; docs/sql.md has all letters")
}

func bindUnixTimestamp(c *call) value {
	x := c.args[0]
	switch {
	case x.typ.Kind == batch.TimestampNTZ: // taken as a time of UTC, whatever the session's zone
	case x.typ.Kind == batch.String && !c.has(1):
		x = c.parseWith("yyyy-MM-dd HH:mm:ss")
	case x.typ.Kind == batch.String:
		x = c.parse(timestamp, false)
	default:
		x = c.as(0, timestamp)
	}
	if isBroken(x) {
		return x
	}
	return compose(bigint, "(epoch_us(%s) // 1000000)", x)
}

// parseWith parses argument 0 with a pattern of our own.
func (c *call) parseWith(pattern string) value {
	d := *c
	p := textValue(pattern)
	p.pos = c.pos
	d.args = []value{c.args[0], p}
	return d.parse(timestamp, false)
}

func bindFromUnixtime(c *call) value {
	seconds := c.as(0, bigint)
	if isBroken(seconds) {
		return seconds
	}
	instant := c.convert(seconds, timestamp, false)
	pattern := "yyyy-MM-dd HH:mm:ss"
	if c.has(1) {
		p, isNull, ok := c.constText(1)
		if !ok {
			return wrong(c.pos)
		}
		if isNull {
			return c.convert(null(), text, false)
		}
		pattern = p
	}
	return c.format(instant, pattern, len(c.args)-1)
}

// secondsSince is the time that a number of seconds behind 1970 is. NaN and Infinity are none.
func (c *call) secondsSince(x value) value {
	if isFractional(x.typ) {
		x = compose(x.typ, "CASE WHEN isfinite(%[1]s) THEN %[1]s END", x)
	}
	return c.convert(x, timestamp, false)
}

// whole is a function from an integer to a time, which takes nothing else for one.
func whole(format string) func(*call) value {
	return func(c *call) value {
		if x := c.args[0].typ; !x.IsInteger() && x.Kind != batch.Void {
			return c.mistyped(0, "an integer")
		}
		return compose(timestamp, format, c.as(0, bigint))
	}
}

// epochIn is the number of units since 1970, rounded down. A TIMESTAMP_NTZ is taken as a time of UTC, whatever the session's zone.
func (c *call) epochIn(micros int) value {
	x := c.args[0]
	switch x.typ.Kind {
	case batch.Void:
		return c.convert(x, bigint, false)
	case batch.Timestamp, batch.TimestampNTZ:
	default:
		return c.mistyped(0, "a TIMESTAMP")
	}
	if micros == 1 {
		return compose(bigint, "epoch_us(%s)", x)
	}
	return derive(bigint, floorDivide(fmt.Sprintf("epoch_us(%s)", x.sql), micros), x)
}
