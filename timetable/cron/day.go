package cron

import (
	"strings"
	"time"
)

// day says which dates of a month an expression means: either by the day of the month or by the day of the week.
type day struct {
	dates   set // days of the month; nil when one of the others says it
	weekday set // days of the week, Sunday is 1

	nth      int // of the weekday in the month: the third Friday; -1 is the last one, 0 every one
	last     bool
	before   int  // days before the last one
	workday  bool // the workday nearest to the day
	fixedDay int  // for which workday is looked, unless last
}

// parseDay reads the fields day of month and day of week, of which one is ?.
func parseDay(date, weekday string) (day, error) {
	switch {
	case date == "?" && weekday == "?":
		return day{}, wrong("write * for one of them", "both the day of the month and the day of the week are ?")
	case date == "?":
		return parseWeekday(weekday)
	case weekday == "?":
		return parseDate(date)
	}
	hint := "write ? for the one that does not matter"
	return day{}, wrong(hint, "the day of the month is %q and the day of the week is %q, and one of both is to be ?", date, weekday)
}

func parseDate(text string) (d day, err error) {
	switch rest, workday := strings.CutSuffix(text, "W"); {
	case text == "L":
		return day{last: true}, nil
	case strings.HasPrefix(rest, "L"):
		d = day{last: true, workday: workday}
		if rest != "L" {
			before, isNumber := strings.CutPrefix(rest, "L-")
			if d.before, err = number(before); !isNumber || err != nil || d.before < 1 || d.before > 30 {
				return day{}, wrong("L is the last day, L-3 the third before it, LW the last workday", "%q is no day of month", text)
			}
		}
		return d, nil
	case workday:
		d.workday = true
		d.fixedDay, err = days.value(rest)
		return d, err
	}
	d.dates, err = days.parse(text)
	return d, err
}

func parseWeekday(text string) (d day, err error) {
	name, nth, numbered := strings.Cut(text, "#")
	last := false
	if !numbered {
		name, last = strings.CutSuffix(text, "L")
	}
	switch {
	case text == "L": // the last day of a week
		name = "SAT"
	case last:
		d.nth = -1
	case numbered:
		if d.nth, err = number(nth); err != nil || d.nth < 1 || d.nth > 5 {
			return day{}, wrong("FRI#3 is the third Friday", "the day of week %q has a number that is none from 1 to 5", text)
		}
	default:
		d.weekday, err = weekdays.parse(text)
		return d, err
	}
	if _, err = weekdays.value(name); err != nil {
		return day{}, err
	}
	d.weekday, err = weekdays.parse(name)
	return d, err
}

// is reports whether a date is meant.
func (d *day) is(date time.Time) bool {
	if d.weekday.in != nil {
		n, last := date.Day(), lastDay(date)
		return d.weekday.has(int(date.Weekday())+1) && (d.nth == 0 || d.nth == (n-1)/7+1 || d.nth < 0 && n+7 > last)
	}
	if d.dates.in != nil {
		return d.dates.has(date.Day())
	}
	n, last := d.fixedDay, lastDay(date)
	if d.last {
		n = last - d.before
	}
	if n < 1 || n > last {
		return false
	}
	if d.workday {
		n = nearestWorkday(date, n, last)
	}
	return date.Day() == n
}

func lastDay(date time.Time) int {
	return time.Date(date.Year(), date.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// nearestWorkday is the day from Monday to Friday nearest to the n-th of the month of date, within the month.
func nearestWorkday(date time.Time, n, last int) int {
	switch time.Date(date.Year(), date.Month(), n, 0, 0, 0, 0, time.UTC).Weekday() {
	case time.Saturday:
		if n == 1 {
			return 3
		}
		return n - 1
	case time.Sunday:
		if n == last {
			return n - 2
		}
		return n + 1
	}
	return n
}
