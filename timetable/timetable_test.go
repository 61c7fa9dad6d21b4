package timetable

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sluice/fault"
	"sluice/syntax"
)

func of(t *testing.T, s syntax.Schedule) *Timetable {
	t.Helper()
	out, err := Of(&s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func at(t *testing.T, text string) time.Time {
	t.Helper()
	out, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// SC-08, SC-O3: what is as long is the same schedule, however it is written.
func TestOneForm(t *testing.T) {
	for _, c := range []struct {
		clause syntax.Schedule
		want   string
	}{
		{syntax.Schedule{Every: 24, Unit: "HOUR"}, "SCHEDULE EVERY 1 DAY"},
		{syntax.Schedule{Every: 1, Unit: "DAY"}, "SCHEDULE EVERY 1 DAY"},
		{syntax.Schedule{Every: 14, Unit: "DAY"}, "SCHEDULE EVERY 2 WEEKS"},
		{syntax.Schedule{Every: 36, Unit: "HOUR"}, "SCHEDULE EVERY 36 HOURS"},
		{syntax.Schedule{Cron: "0  0 3 * * ?"}, "SCHEDULE CRON '0 0 3 * * ?' AT TIME ZONE 'UTC'"},
		{syntax.Schedule{Cron: "0 0 3 * * ?", Zone: "Europe/Berlin"}, "SCHEDULE CRON '0 0 3 * * ?' AT TIME ZONE 'Europe/Berlin'"},
		{syntax.Schedule{OnUpdate: true}, "TRIGGER ON UPDATE AT MOST EVERY INTERVAL 1 MINUTE"},
		{syntax.Schedule{OnUpdate: true, AtMost: "900 SECOND"}, "TRIGGER ON UPDATE AT MOST EVERY INTERVAL 15 MINUTES"},
		{syntax.Schedule{OnUpdate: true, AtMost: "1 HOUR 30 MINUTE"}, "TRIGGER ON UPDATE AT MOST EVERY INTERVAL 90 MINUTES"},
	} {
		if got := of(t, c.clause).String(); got != c.want {
			t.Errorf("%+v: %s, not %s", c.clause, got, c.want)
		}
		if again, err := Parse(c.want); err != nil || again.String() != c.want {
			t.Errorf("%s is read as %v: %v", c.want, again, err)
		}
	}
}

// SC-01, SC-02, SC-03, SC-O1: bounds, zones and expressions that are none.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		clause syntax.Schedule
		code   *fault.Code
	}{
		{syntax.Schedule{Every: 73, Unit: "HOUR"}, fault.SchedulePeriodInvalid},
		{syntax.Schedule{Every: 32, Unit: "DAY"}, fault.SchedulePeriodInvalid},
		{syntax.Schedule{Every: 9, Unit: "WEEK"}, fault.SchedulePeriodInvalid},
		{syntax.Schedule{Cron: "0 3 * * *"}, fault.InvalidCron},
		{syntax.Schedule{}, fault.InvalidCron},
		{syntax.Schedule{Cron: "0 0 3 * * ?", Zone: "LOCAL"}, fault.InvalidTimeZone},
		{syntax.Schedule{Cron: "0 0 3 * * ?", Zone: "Mars/Base"}, fault.InvalidTimeZone},
		{syntax.Schedule{OnUpdate: true, AtMost: "59 SECOND"}, fault.TriggerIntervalInvalid},
		{syntax.Schedule{OnUpdate: true, AtMost: "1 MONTH"}, fault.TriggerIntervalInvalid},
		{syntax.Schedule{OnUpdate: true, AtMost: "90.5 SECOND"}, fault.TriggerIntervalInvalid},
	} {
		c.clause.Pos = syntax.Pos{File: "a.sql", Line: 3, Column: 7}
		_, err := Of(&c.clause)
		var e *fault.Error
		if !errors.As(err, &e) || e.Code != c.code || e.Pos.Line != 3 {
			t.Errorf("%+v: %v", c.clause, err)
		}
	}
	for _, s := range []syntax.Schedule{{Every: 72, Unit: "HOUR"}, {Every: 31, Unit: "DAY"}, {Every: 8, Unit: "WEEK"}, {OnUpdate: true, AtMost: "60 SECOND"}} {
		of(t, s)
	}
}

// D-32: EVERY counts elapsed time from the last turn. A day has 24 hours, also when the clocks of the country change.
func TestEveryIsElapsedTime(t *testing.T) {
	day := of(t, syntax.Schedule{Every: 1, Unit: "DAY"})
	if next, _ := day.Next(at(t, "2026-10-24T22:30:00+02:00")); !next.Equal(at(t, "2026-10-25T21:30:00+01:00")) {
		t.Error(next)
	}
}

// SC-O4, D-32: however many turns have passed, one is taken, and EVERY goes on in its steps.
func TestDue(t *testing.T) {
	hours := of(t, syntax.Schedule{Every: 6, Unit: "HOUR"})
	cron := of(t, syntax.Schedule{Cron: "0 0 3 * * ?"})
	trigger := of(t, syntax.Schedule{OnUpdate: true, AtMost: "5 MINUTE"})
	for _, c := range []struct {
		table           *Timetable
		last, now, turn string
		missed          bool
	}{
		{hours, "2026-01-01T00:00:00Z", "2026-01-01T05:59:59Z", "", false},
		{hours, "2026-01-01T00:00:00Z", "2026-01-01T06:00:00Z", "2026-01-01T06:00:00Z", false},
		{hours, "2026-01-01T00:00:00Z", "2026-01-01T11:00:00Z", "2026-01-01T06:00:00Z", false},
		{hours, "2026-01-01T00:00:00Z", "2026-01-03T13:00:00Z", "2026-01-03T12:00:00Z", true},
		{cron, "2026-01-01T03:00:00Z", "2026-01-02T02:59:59Z", "", false},
		{cron, "2026-01-01T03:00:00Z", "2026-01-02T05:00:00Z", "2026-01-02T03:00:00Z", false},
		{cron, "2026-01-01T03:00:00Z", "2026-01-09T05:00:00Z", "2026-01-02T03:00:00Z", true},
		{trigger, "2026-01-01T03:00:00Z", "2026-01-01T03:04:00Z", "", false},
		{trigger, "2026-01-01T03:00:00Z", "2026-01-01T04:04:00Z", "2026-01-01T04:04:00Z", false},
	} {
		turn, missed, ok := c.table.Due(at(t, c.last), at(t, c.now))
		if ok != (c.turn != "") || ok && !turn.Equal(at(t, c.turn)) || missed != c.missed {
			t.Errorf("%s after %s at %s: %v %v %v", c.table, c.last, c.now, turn, missed, ok)
		}
	}
}

// D-32: whenever one looks, the turns of EVERY lie on one grid, none is taken twice, and one that has passed is due.
func TestEveryDoesNotDrift(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(1, 72).Draw(r, "hours")
		every := of(t, syntax.Schedule{Every: n, Unit: "HOUR"})
		first := at(t, "2026-03-28T23:17:05Z")
		last, now := first, first
		for range 20 {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(200*time.Hour)).Draw(r, "later")))
			turn, _, ok := every.Due(last, now)
			step := time.Duration(n) * time.Hour
			switch {
			case !ok && now.Sub(last) >= step:
				r.Fatalf("nothing is due at %v after %v", now, last)
			case !ok:
			case !turn.After(last) || turn.After(now) || turn.Sub(first)%step != 0 || now.Sub(turn) >= step:
				r.Fatalf("%v is due at %v after %v", turn, now, last)
			default:
				last = turn
			}
		}
	})
}
