package cron

import (
	"fmt"
	"strings"
	"time"
)

// Expression is a CRON expression. It does not change, and several goroutines may use it.
type Expression struct {
	text                 string
	second, minute, hour set
	month, year          set
	day                  day
	severalWithinAnHour  bool
}

// Error says what is wrong with an expression.
type Error struct {
	Text string
	Hint string
}

func (e *Error) Error() string { return e.Text }

func wrong(hint, format string, args ...any) *Error {
	return &Error{Text: fmt.Sprintf(format, args...), Hint: hint}
}

// Parse reads an expression of six fields, or of seven with the year.
func Parse(text string) (_ *Expression, err error) {
	fields := strings.Fields(strings.ToUpper(text))
	switch {
	case len(fields) == 5:
		return nil, wrong("put the seconds before the minutes: 0 "+strings.Join(fields, " "), "%q has five fields, and Quartz has six: the first is the second", text)
	case len(fields) < 6 || len(fields) > 7:
		return nil, wrong("second, minute, hour, day of month, month, day of week and, if you like, year, such as 0 0 3 * * ?", "%q has %d fields, not 6 or 7", text, len(fields))
	case len(fields) == 6:
		fields = append(fields, "*")
	}
	e := &Expression{text: strings.Join(strings.Fields(text), " ")}
	for _, f := range []struct {
		field *field
		into  *set
		text  string
	}{{&seconds, &e.second, fields[0]}, {&minutes, &e.minute, fields[1]}, {&hours, &e.hour, fields[2]}, {&months, &e.month, fields[4]}, {&years, &e.year, fields[6]}} {
		if *f.into, err = f.field.parse(f.text); err != nil {
			return nil, err
		}
	}
	if e.day, err = parseDay(fields[3], fields[5]); err != nil {
		return nil, err
	}
	e.severalWithinAnHour = e.minute.count()*e.second.count() > 1
	return e, nil
}

// String is the expression as it was written, with one blank between fields.
func (e *Expression) String() string { return e.text }

// Next is the first time of the expression after another one, by the clocks of a zone; ok is false when there is none any more.
func (e *Expression) Next(after time.Time, zone *time.Location) (next time.Time, ok bool) {
	t := after.In(zone).Truncate(time.Second).Add(time.Second)
	for {
		_, end := t.ZoneBounds() // until then the clock is not changed
		wall, ok := e.onClock(clockOf(t))
		if !ok {
			return time.Time{}, false
		}
		_, offset := t.Zone()
		next := time.Unix(wall.Unix()-int64(offset), 0).In(zone)
		switch {
		case !end.IsZero() && !next.Before(end):
			t = end
		case !e.severalWithinAnHour && comesAgain(next, end):
			t = next.Add(time.Second)
		default:
			return next, true
		}
	}
}

// clockOf is what the clock shows at a time, as if it were UTC.
func clockOf(t time.Time) time.Time {
	_, offset := t.Zone()
	return time.Unix(t.Unix()+int64(offset), 0).UTC()
}

// comesAgain reports whether the clock shows the same once more, since it is set back at end.
func comesAgain(t, end time.Time) bool {
	return !end.IsZero() && !clockOf(t).Before(clockOf(end))
}

// onClock is the first time of the expression at or after what a clock shows.
func (e *Expression) onClock(from time.Time) (time.Time, bool) {
	date := from.Truncate(24 * time.Hour)
	if e.on(date) {
		if h, m, s, ok := e.timeOfDay(from.Clock()); ok {
			return at(date, h, m, s), true
		}
	}
	date, ok := e.dateAfter(date)
	return at(date, e.hour.next(0), e.minute.next(0), e.second.next(0)), ok
}

func at(date time.Time, h, m, s int) time.Time {
	return date.Add(time.Duration(h)*time.Hour + time.Duration(m)*time.Minute + time.Duration(s)*time.Second)
}

// timeOfDay is the first time of a day at or after the one given.
func (e *Expression) timeOfDay(h, m, s int) (hour, minute, second int, ok bool) {
	if e.hour.has(h) {
		if e.minute.has(m) {
			if second = e.second.next(s); second >= 0 {
				return h, m, second, true
			}
		}
		if minute = e.minute.next(m + 1); minute >= 0 {
			return h, minute, e.second.next(0), true
		}
	}
	hour = e.hour.next(h + 1)
	return hour, e.minute.next(0), e.second.next(0), hour >= 0
}

// on reports whether the expression has times on a date.
func (e *Expression) on(date time.Time) bool {
	return e.year.has(date.Year()) && e.month.has(int(date.Month())) && e.day.is(date)
}

// dateAfter is the first date after another one that has times.
func (e *Expression) dateAfter(date time.Time) (time.Time, bool) {
	for date = date.AddDate(0, 0, 1); date.Year() <= years.most; {
		switch y, m, _ := date.Date(); {
		case !e.year.has(y):
			date = time.Date(y+1, time.January, 1, 0, 0, 0, 0, time.UTC)
		case !e.month.has(int(m)):
			date = time.Date(y, m+1, 1, 0, 0, 0, 0, time.UTC)
		case e.day.is(date):
			return date, true
		default:
			date = date.AddDate(0, 0, 1)
		}
	}
	return time.Time{}, false
}
