package dialect

import (
	"fmt"
	"strings"

	"sluice/batch"
	"sluice/fault"
)

const pastDomain = "exact for years 1 to 9999"

var dates = []*function{
	{name: "current_date curdate", args: "", max: 0, kind: clock, exact: "the batch's day in the session's zone (D-48)", bind: func(c *call) value {
		return c.convert(c.now(), date, false)
	}},
	{name: "current_timestamp now", args: "", max: 0, kind: clock, exact: "the batch's time (D-48)", bind: func(c *call) value { return c.now() }},
	{name: "localtimestamp", args: "", max: 0, kind: clock, exact: "the batch's time as TIMESTAMP_NTZ (D-48)", bind: func(c *call) value {
		return c.convert(c.now(), localTime, false)
	}},
	{name: "current_timezone", args: "", max: 0, exact: exact, bind: func(c *call) value { return textValue(c.zone.name) }},
	{name: "date_add dateadd", args: "date, days | unit, n, time", min: 2, max: 3, exact: "exact; with a unit, n is a constant", bind: bindDateAdd},
	{name: "date_sub", args: "date, days", min: 2, max: 2, exact: exact, bind: func(c *call) value { return c.addDays(c.as(0, date), c.args[1], true, c.pos) }},
	{name: "datediff date_diff", args: "end, start", min: 2, max: 2, exact: "exact; the form with a unit is refused", bind: simple(integer, "CAST(%s - %s AS INTEGER)", date)},
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
	{name: "to_date", args: "text [, pattern]", min: 1, max: 2, exact: "as CAST; exact for numeric patterns", bind: func(c *call) value { return c.parse(date) }},
	{name: "to_timestamp to_timestamp_ltz", args: "text [, pattern]", min: 1, max: 2, exact: "as CAST; exact for numeric patterns", bind: func(c *call) value { return c.parse(timestamp) }},
	{name: "to_timestamp_ntz", args: "text [, pattern]", min: 1, max: 2, exact: "as CAST; exact for numeric patterns", bind: func(c *call) value { return c.parse(localTime) }},
	{name: "date_format", args: "time, pattern", min: 2, max: 2, exact: "exact for the letters y M d E a H h m s S", bind: bindDateFormat},
	{name: "unix_timestamp to_unix_timestamp", args: "time [, pattern]", min: 1, max: 2, exact: exact, bind: bindUnixTimestamp},
	{name: "from_unixtime", args: "seconds [, pattern]", min: 1, max: 2, exact: pastDomain, bind: bindFromUnixtime},
	{name: "unix_seconds", args: "timestamp", min: 1, max: 1, exact: exact, bind: func(c *call) value { return c.epochIn(1_000_000) }},
	{name: "unix_millis", args: "timestamp", min: 1, max: 1, exact: exact, bind: func(c *call) value { return c.epochIn(1_000) }},
	{name: "unix_micros", args: "timestamp", min: 1, max: 1, exact: exact, bind: func(c *call) value { return c.epochIn(1) }},
	{name: "unix_date", args: "date", min: 1, max: 1, exact: exact, bind: simple(integer, "CAST(%s - DATE '1970-01-01' AS INTEGER)", date)},
	{name: "timestamp_seconds", args: "number", min: 1, max: 1, exact: exact, bind: func(c *call) value {
		if !c.args[0].typ.IsNumeric() && c.args[0].typ.Kind != batch.Void {
			return c.mistyped(0, "a number")
		}
		return c.convert(c.args[0], timestamp, false)
	}},
	{name: "timestamp_millis", args: "integer", min: 1, max: 1, exact: exact, bind: simple(timestamp, "make_timestamptz(%s * 1000)", bigint)},
	{name: "timestamp_micros", args: "integer", min: 1, max: 1, exact: exact, bind: simple(timestamp, "make_timestamptz(%s)", bigint)},
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
	unit, ok := c.args[0].text()
	n, constant := c.constInt(1)
	if !ok || !constant {
		return wrong(c.pos)
	}
	unit = strings.ToUpper(unit)
	span := &interval{months: int64(n) * intervalMonths[unit], micros: int64(n) * intervalMicros[unit], yearly: intervalMonths[unit] > 0}
	if unit == "QUARTER" {
		span.months, span.yearly = int64(n)*3, true
	}
	if !span.yearly && intervalMicros[unit] == 0 || n > 1e7 || n < -1e7 {
		return c.refuse("use YEAR, MONTH, DAY, HOUR ...", "%s(%s, %d, ...) is not supported", c.name, unit, n)
	}
	return c.plus(c.as(2, timestamp), c.args[2], span, c.pos)
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
	// The part that is cut off is the same on every clock.
	return derive(timestamp, fmt.Sprintf("(%s - (%s - %s))", x.sql, local, truncated), x)
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

// parse is to_date and to_timestamp, with or without a pattern.
func (c *call) parse(typ batch.Type) value {
	if !c.has(1) || c.args[0].typ.Kind != batch.String {
		return c.as(0, typ)
	}
	p, isNull, ok := c.constText(1)
	if !ok {
		return wrong(c.pos)
	}
	if isNull {
		return c.convert(null(), typ, false)
	}
	pattern, err := parsePattern(p)
	if err == nil {
		err = pattern.readable()
	}
	if err != nil {
		return c.fail(patternError(p, err).At(c.args[1].pos))
	}
	x := c.as(0, text)
	failure := raise(fault.CannotParseTime, fmt.Sprintf("'the text ''' || %s || ''' is not written as ' || %s", x.sql, quoteText(p)), localTime)
	local := fmt.Sprintf("coalesce(CASE WHEN %s THEN try_strptime(%s, %s) END, %s)", fullMatch(x.sql, pattern.regex()), x.sql, quoteText(pattern.duck()), failure)
	return derive(typ, (&caster{zone: c.zone}).write(local, localTime, typ), x).with(raises)
}

func bindDateFormat(c *call) value {
	x := c.localTime(0)
	p, isNull, ok := c.constText(1)
	if !ok || isBroken(x) {
		return wrong(c.pos)
	}
	if isNull {
		return c.convert(null(), text, false)
	}
	return c.format(x, p, 1)
}

// format writes a local time by a pattern.
func (c *call) format(x value, pattern string, arg int) value {
	p, err := parsePattern(pattern)
	if err != nil {
		return c.fail(patternError(pattern, err).At(c.args[arg].pos))
	}
	return derive(text, fmt.Sprintf("strftime(%s, %s)", x.sql, quoteText(p.duck())), x)
}

func bindUnixTimestamp(c *call) value {
	x := c.args[0]
	switch {
	case x.typ.Kind == batch.TimestampNTZ: // taken as a time of UTC, whatever the session's zone
	case x.typ.Kind == batch.String && !c.has(1):
		x = c.parseWith("yyyy-MM-dd HH:mm:ss")
	case x.typ.Kind == batch.String:
		x = c.parse(timestamp)
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
	return d.parse(timestamp)
}

func bindFromUnixtime(c *call) value {
	seconds := c.as(0, bigint)
	if isBroken(seconds) {
		return seconds
	}
	instant := c.convert(seconds, timestamp, false)
	local := c.convert(instant, localTime, false)
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
	return c.format(local, pattern, len(c.args)-1)
}

// epochIn is the number of units since 1970, rounded down.
func (c *call) epochIn(micros int) value {
	x := c.as(0, timestamp)
	if isBroken(x) {
		return x
	}
	if micros == 1 {
		return compose(bigint, "epoch_us(%s)", x)
	}
	return derive(bigint, floorDivide(fmt.Sprintf("epoch_us(%s)", x.sql), micros), x)
}
