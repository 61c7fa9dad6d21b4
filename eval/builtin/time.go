package builtin

import (
	"math"
	"strings"
	"time"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
)

// Local times are microseconds since 1970 on a clock without a zone.
var times = map[string]func(*Spec) (Function, error){
	"months_between": newMonthsBetween, "next_day": plain(nextDay), "timestampdiff": newTimestampDiff, "timestampadd": newTimestampAdd,
	"from_utc_timestamp": newFromUTC, "to_utc_timestamp": newToUTC, "make_timestamp": newMakeTimestamp,
	"parse_time": newParseTime, "format_time": newFormatTime,
}

const (
	microsPerSecond = int64(1_000_000)
	microsPerDay    = 86400 * microsPerSecond
)

// unitMicros and unitMonths have the units of timestampdiff and timestampadd.
var (
	unitMicros = map[string]int64{"MICROSECOND": 1, "MILLISECOND": 1000, "SECOND": microsPerSecond, "MINUTE": 60 * microsPerSecond,
		"HOUR": 3600 * microsPerSecond, "DAY": microsPerDay, "WEEK": 7 * microsPerDay}
	unitMonths = map[string]int64{"MONTH": 1, "QUARTER": 3, "YEAR": 12}
)

// IsUnit reports whether timestampdiff and timestampadd have a unit of this name, in capitals.
func IsUnit(name string) bool { return unitMicros[name] > 0 || unitMonths[name] > 0 }

// split cuts a local time into its day and the time of the day.
func split(local int64) (day int32, rest int64) {
	d, rest := local/microsPerDay, local%microsPerDay
	if rest < 0 {
		d, rest = d-1, rest+microsPerDay
	}
	return int32(d), rest
}

func daysInMonth(year, month int) int {
	next := format.DaysOf(year, month, 1)
	if month == 12 {
		return 31
	}
	return int(format.DaysOf(year, month+1, 1) - next)
}

// plusMonths keeps the day of the month, or takes the last one of a shorter month.
func plusMonths(day int32, months int) int32 {
	y, m, d := format.DateOf(day)
	total := y*12 + m - 1 + months
	y, m = total/12, total%12
	if m < 0 {
		y, m = y-1, m+12
	}
	return format.DaysOf(y, m+1, min(d, daysInMonth(y, m+1)))
}

// newMonthsBetween counts months of 31 days between two instants, none of the days where both are the same of their month
// or both the last; rounded to eight places unless "exactly" is set. Days are those of the session's zone, and the time of the day is
// what has passed since it began: when clocks were moved, they show another.
func newMonthsBetween(s *Spec) (Function, error) {
	exactly, loc, zone := s.Options["exactly"] == "true", s.Zone, format.NewZone(s.Zone)
	passed := func(at int64) (day int32, rest int64) {
		day, _ = split(at + offsetAt(at, loc))
		return day, at - instant(zone, int64(day)*microsPerDay)
	}
	return strict(func(args []batch.Column, i int, out *batch.Builder) *fault.Error {
		dayA, restA := passed(int64At(&args[0], i))
		dayB, restB := passed(int64At(&args[1], i))
		ya, ma, da := format.DateOf(dayA)
		yb, mb, db := format.DateOf(dayB)
		months := float64((ya-yb)*12 + ma - mb)
		if da != db && (da != daysInMonth(ya, ma) || db != daysInMonth(yb, mb)) {
			seconds := int64(da-db)*86400 + restA/microsPerSecond - restB/microsPerSecond
			months += float64(seconds) / (31 * 86400)
			if !exactly {
				months = math.Floor(months*1e8+0.5) / 1e8
			}
		}
		batch.Append(out, months)
		return nil
	}), nil
}

var weekdays = map[string]int32{"SU": 3, "SUN": 3, "SUNDAY": 3, "MO": 4, "MON": 4, "MONDAY": 4, "TU": 5, "TUE": 5, "TUESDAY": 5, "WE": 6, "WED": 6, "WEDNESDAY": 6,
	"TH": 0, "THU": 0, "THURSDAY": 0, "FR": 1, "FRI": 1, "FRIDAY": 1, "SA": 2, "SAT": 2, "SATURDAY": 2} // days after a Thursday, as 1970 began

// nextDay is the first day behind a day that has a name.
func nextDay(args []batch.Column, i int, out *batch.Builder) *fault.Error {
	day, name := batch.Values[int32](&args[0])[i], args[1].Text(i)
	want, ok := weekdays[string(name)]
	if !ok {
		if want, ok = weekdays[strings.ToUpper(string(name))]; !ok {
			return fault.New(fault.IllegalDayOfWeek, "%s is no day of the week", fault.Payload(string(name)))
		}
	}
	batch.Append(out, day+1+((want-day-1)%7+7)%7)
	return nil
}

// newTimestampDiff counts whole units between two local times.
func newTimestampDiff(s *Spec) (Function, error) {
	micros, months := unitMicros[s.Options["unit"]], unitMonths[s.Options["unit"]]
	return strict(func(args []batch.Column, i int, out *batch.Builder) *fault.Error {
		from, to := int64At(&args[0], i), int64At(&args[1], i)
		if micros > 0 {
			batch.Append(out, (to-from)/micros)
		} else {
			batch.Append(out, wholeMonths(from, to)/months)
		}
		return nil
	}), nil
}

// wholeMonths counts as Java's LocalDateTime.until does.
func wholeMonths(from, to int64) int64 {
	dayA, restA := split(from)
	dayB, restB := split(to)
	switch { // the last day is not a whole one
	case dayB > dayA && restB < restA:
		dayB--
	case dayB < dayA && restB > restA:
		dayB++
	}
	ya, ma, da := format.DateOf(dayA)
	yb, mb, db := format.DateOf(dayB)
	return int64((yb*12+mb)*32+db-(ya*12+ma)*32-da) / 32
}

// newTimestampAdd adds a number of units to an instant; days and months are those of the calendar in the session's zone.
func newTimestampAdd(s *Spec) (Function, error) {
	unit, loc := s.Options["unit"], s.Zone
	if s.Options["local"] == "true" {
		loc = time.UTC
	}
	zone := format.NewZone(loc)
	micros, months := unitMicros[unit], unitMonths[unit]
	return strict(func(args []batch.Column, i int, out *batch.Builder) *fault.Error {
		n, at := int64(int32At(&args[0], i)), int64At(&args[1], i)
		var ok bool
		switch {
		case months > 0:
			at, ok = onCalendar(at, loc, zone, func(day int32) (int32, bool) {
				m := n * months
				return plusMonths(day, int(m)), m > -12*10_000 && m < 12*10_000
			})
		case micros >= microsPerDay:
			at, ok = onCalendar(at, loc, zone, func(day int32) (int32, bool) {
				d := n * (micros / microsPerDay)
				return day + int32(d), d > -4_000_000 && d < 4_000_000
			})
		default:
			at, ok = at+n*micros, true
		}
		if year := time.UnixMicro(at).UTC().Year(); !ok || year < 1 || year > 9999 {
			return fault.New(fault.DatetimeOutOfBounds, "a time %d %ss later is outside the years 1 to 9999", n, strings.ToLower(unit))
		}
		batch.Append(out, at)
		return nil
	}), nil
}

// onCalendar moves the day of an instant. The offset from UTC stays where the new local time allows it, as Java's
// ZonedDateTime does.
func onCalendar(at int64, loc *time.Location, zone *format.Zone, move func(day int32) (int32, bool)) (int64, bool) {
	offset := offsetAt(at, loc)
	day, rest := split(at + offset)
	day, ok := move(day)
	if !ok {
		return 0, false
	}
	local := int64(day)*microsPerDay + rest
	if near := local - offset; offsetAt(near, loc) == offset {
		return near, true
	}
	return instant(zone, local), true
}

// instant is the time at which clocks of a zone show a local time.
func instant(zone *format.Zone, local int64) int64 {
	seconds, rest := local/microsPerSecond, local%microsPerSecond
	if rest < 0 {
		seconds, rest = seconds-1, rest+microsPerSecond
	}
	return zone.Instant(seconds)*microsPerSecond + rest
}

// offsetAt is the distance of local time from UTC.
func offsetAt(at int64, loc *time.Location) int64 {
	if loc == nil {
		return 0
	}
	_, seconds := time.UnixMicro(at).In(loc).Zone()
	return int64(seconds) * microsPerSecond
}

// newFromUTC shows an instant as a clock in the option's zone would show it, were it in UTC.
func newFromUTC(s *Spec) (Function, error) {
	loc, err := format.LoadZone(s.Options["zone"])
	return strict(func(args []batch.Column, i int, out *batch.Builder) *fault.Error {
		at := int64At(&args[0], i)
		batch.Append(out, at+offsetAt(at, loc))
		return nil
	}), err
}

// newToUTC is the way back.
func newToUTC(s *Spec) (Function, error) {
	loc, err := format.LoadZone(s.Options["zone"])
	zone := format.NewZone(loc)
	return strict(func(args []batch.Column, i int, out *batch.Builder) *fault.Error {
		batch.Append(out, instant(zone, int64At(&args[0], i)))
		return nil
	}), err
}

// newMakeTimestamp makes a local time of year, month, day, hour, minute and seconds in microseconds. Sixty seconds are the next
// minute.
func newMakeTimestamp(*Spec) (Function, error) {
	return strict(func(args []batch.Column, i int, out *batch.Builder) *fault.Error {
		var v [6]int64
		for a := range v {
			v[a] = args[a].Int(i)
		}
		year, month, day, hour, minute, micros := v[0], v[1], v[2], v[3], v[4], v[5]
		switch {
		case year < 1 || year > 9999 || month < 1 || month > 12 || day < 1 || day > int64(daysInMonth(int(year), int(month))):
			return fault.New(fault.DatetimeOutOfBounds, "there is no day %d-%d-%d", year, month, day)
		case hour < 0 || hour > 23 || minute < 0 || minute > 59 || micros < 0 || micros >= 61*microsPerSecond:
			return fault.New(fault.DatetimeOutOfBounds, "there is no time %d:%d with %d microseconds", hour, minute, micros)
		}
		if micros > 60*microsPerSecond {
			return fault.New(fault.InvalidFraction, "there is no time of %d microseconds behind the minute", micros)
		}
		batch.Append(out, int64(format.DaysOf(int(year), int(month), int(day)))*microsPerDay+(hour*3600+minute*60)*microsPerSecond+micros)
		return nil
	}), nil
}
