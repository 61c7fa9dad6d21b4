// Package timetable says when a table with a schedule is refreshed (SC-01 to SC-03): every so many hours, days or weeks, at the times of a
// CRON expression, or when a table that it reads has changed.
//
// It promises that turns are a function of the schedule and of the last turn: who comes late finds the turns that have passed, and the same
// ones each time. EVERY counts elapsed time from the last turn, so a day has 24 hours, and does not drift when a turn comes late; CRON goes by
// the clocks of its zone (D-32). It does not run anything and asks no clock.
package timetable

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // zones must mean the same on every machine

	"sluice/fault"
	"sluice/syntax"
	"sluice/timetable/cron"
)

// Timetable is one schedule. It does not change, and several goroutines may use it.
type Timetable struct {
	every    time.Duration // SCHEDULE EVERY
	cron     *cron.Expression
	zone     *time.Location
	onUpdate bool
	atMost   time.Duration // TRIGGER ON UPDATE: between two turns
}

// bounds are the largest numbers of EVERY (SC-O1).
var bounds = map[string]struct {
	most int
	unit time.Duration
}{"HOUR": {72, time.Hour}, "DAY": {31, 24 * time.Hour}, "WEEK": {8, 7 * 24 * time.Hour}}

// leastTrigger is the least interval of TRIGGER ON UPDATE, and the one that holds when none is written (SC-03).
const leastTrigger = time.Minute

// Of checks a clause. Errors have the place of the clause.
func Of(s *syntax.Schedule) (*Timetable, error) {
	switch {
	case s.OnUpdate:
		return onUpdate(s)
	case s.Cron != "" || s.Every == 0:
		return byClock(s)
	}
	b := bounds[s.Unit]
	if s.Every < 1 || s.Every > b.most {
		return nil, fault.New(fault.SchedulePeriodInvalid, "SCHEDULE EVERY %d %sS is not within 1 and %d", s.Every, s.Unit, b.most).At(s.Pos).
			WithHint("SCHEDULE CRON has longer ones: '0 0 3 1 * ?' is the first day of each month at three o'clock")
	}
	return &Timetable{every: time.Duration(s.Every) * b.unit}, nil
}

func onUpdate(s *syntax.Schedule) (*Timetable, error) {
	t := &Timetable{onUpdate: true, atMost: leastTrigger}
	if s.AtMost == "" {
		return t, nil
	}
	length, fixed := lengthOf(s.AtMost)
	switch {
	case !fixed:
		return nil, fault.New(fault.TriggerIntervalInvalid, "AT MOST EVERY INTERVAL %s has no fixed length in whole seconds", s.AtMost).At(s.Pos).WithHint("write weeks, days, hours, minutes or seconds, as in INTERVAL 5 MINUTES")
	case length < leastTrigger:
		return nil, fault.New(fault.TriggerIntervalInvalid, "AT MOST EVERY INTERVAL %s is shorter than a minute", s.AtMost).At(s.Pos).
			WithHint("leave AT MOST EVERY out for one minute; in a continuous pipeline a table without a schedule follows within pipelines.trigger.interval")
	}
	t.atMost = length
	return t, nil
}

// lengthOf reads an interval such as "1 DAY 12 HOUR".
func lengthOf(text string) (length time.Duration, ok bool) {
	words := strings.Fields(text)
	for i := 0; i+1 < len(words); i += 2 {
		unit, known := intervalUnits[strings.ToUpper(strings.TrimSuffix(strings.ToUpper(words[i+1]), "S"))]
		n, err := strconv.Atoi(strings.Trim(words[i], "'"))
		if err != nil || !known || n < 0 || n > 1_000_000 {
			return 0, false
		}
		length += time.Duration(n) * unit
	}
	return length, len(words) > 0 && len(words)%2 == 0
}

var intervalUnits = map[string]time.Duration{"WEEK": 7 * 24 * time.Hour, "DAY": 24 * time.Hour, "HOUR": time.Hour, "MINUTE": time.Minute, "SECOND": time.Second}

// byClock reads SCHEDULE CRON. Without a zone it is UTC (SC-O3).
func byClock(s *syntax.Schedule) (*Timetable, error) {
	expression, err := cron.Parse(s.Cron)
	var wrong *cron.Error
	if errors.As(err, &wrong) {
		return nil, fault.New(fault.InvalidCron, "SCHEDULE CRON %q: %s", s.Cron, wrong.Text).At(s.Pos).WithHint("%s", wrong.Hint)
	}
	name := s.Zone
	if name == "" {
		name = "UTC"
	}
	zone, err := time.LoadLocation(name)
	if err != nil || strings.EqualFold(name, "local") { // LOCAL is another one on each machine (SC-02)
		return nil, fault.New(fault.InvalidTimeZone, "no time zone %q", s.Zone).At(s.Pos).WithHint("use a name such as Europe/Berlin or UTC")
	}
	return &Timetable{cron: expression, zone: zone}, nil
}

// Parse reads a clause as String writes it.
func Parse(text string) (*Timetable, error) {
	statements, problems := syntax.ParseFile("", "ALTER STREAMING TABLE t ADD "+text)
	if len(problems) > 0 {
		return nil, problems.Err()
	}
	return Of(statements[0].(*syntax.Alter).Schedule)
}

// String is the clause in one form: the same for schedules that mean the same (SC-08).
func (t *Timetable) String() string {
	switch {
	case t.onUpdate:
		return "TRIGGER ON UPDATE AT MOST EVERY INTERVAL " + counted(t.atMost)
	case t.cron != nil:
		return fmt.Sprintf("SCHEDULE CRON '%s' AT TIME ZONE '%s'", t.cron, t.zone)
	}
	return "SCHEDULE EVERY " + counted(t.every)
}

// counted writes a length in the largest unit that it is a whole number of.
func counted(d time.Duration) string {
	for _, unit := range []string{"WEEK", "DAY", "HOUR", "MINUTE", "SECOND"} {
		if n := d / intervalUnits[unit]; d%intervalUnits[unit] == 0 {
			if n == 1 {
				return "1 " + unit
			}
			return strconv.FormatInt(int64(n), 10) + " " + unit + "S"
		}
	}
	return d.String()
}

// OnUpdate reports whether turns come when a table that is read has changed. Next is then the earliest time for it.
func (t *Timetable) OnUpdate() bool { return t.onUpdate }

// ByClock reports whether turns are times of a clock, so that one that nobody waited for is no turn that was missed.
func (t *Timetable) ByClock() bool { return t.cron != nil }

// Next is the turn after another one; ok is false when there is none any more.
func (t *Timetable) Next(last time.Time) (turn time.Time, ok bool) {
	switch {
	case t.onUpdate:
		return last.Add(t.atMost), true
	case t.cron != nil:
		return t.cron.Next(last, t.zone)
	}
	return last.Add(t.every), true
}

// Due is the turn to be taken now, given the last one. Of several that have passed it is one, for all of them (SC-O4), and missed is true.
// EVERY keeps its steps; of CRON it is the first one, and the next one is to be counted from now on.
func (t *Timetable) Due(last, now time.Time) (turn time.Time, missed, ok bool) {
	turn, ok = t.Next(last)
	if !ok || turn.After(now) {
		return time.Time{}, false, false
	}
	if t.onUpdate {
		return now, false, true
	}
	if t.every > 0 {
		passed := now.Sub(last) / t.every
		return last.Add(passed * t.every), passed > 1, true
	}
	next, more := t.Next(turn)
	return turn, more && !next.After(now), true
}
