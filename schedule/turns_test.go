package schedule

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sluice/eventlog"
	"sluice/fault"
	"sluice/timetable"
)

// clock is turns of tables with a clock and a store of their own.
type clock struct {
	t      *testing.T
	now    time.Time
	kept   map[string]string
	log    []string
	seen   map[string]int64
	turns  *Turns
	clause map[string]string // of the definition
}

func newClock(t *testing.T, clause string) *clock {
	c := &clock{t: t, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), kept: map[string]string{}, seen: map[string]int64{"up": 1}, clause: map[string]string{"a": clause}}
	c.start()
	return c
}

// start is a daemon that comes up.
func (c *clock) start() {
	c.t.Helper()
	var tables []Timed
	for name, clause := range c.clause {
		x := Timed{Table: name, Display: name, Versions: func() map[string]string { return map[string]string{"up": fmt.Sprint(c.seen["up"])} }}
		if text := c.kept[name]; text != "" {
			if err := json.Unmarshal([]byte(text), &x.Record); err != nil {
				c.t.Fatal(err)
			}
		}
		var file *timetable.Timetable
		var err error
		if clause != "" {
			if file, err = timetable.Parse(clause); err != nil {
				c.t.Fatal(err)
			}
		}
		dropped := ""
		if x.Schedule, dropped, err = x.Record.Settle(file, c.now); err != nil {
			c.t.Fatal(err)
		}
		if dropped != "" {
			c.log = append(c.log, "dropped "+dropped)
		}
		tables = append(tables, x)
	}
	c.turns = NewTurns(Clockwork{Now: func() time.Time { return c.now }, Poll: 5 * time.Second,
		Keep: func(table string, r Record) error {
			text, err := json.Marshal(r)
			c.kept[table] = string(text)
			return err
		},
		Emit: func(e eventlog.Event) {
			p := e.(*eventlog.ScheduleProgress)
			c.log = append(c.log, fmt.Sprintf("%s %s", p.Turn.UTC().Format("01-02T15:04"), p.State))
		}}, tables)
}

// due takes what is due, which is one turn at most, and says when.
func (c *clock) due() *Turn {
	c.t.Helper()
	due, _, err := c.turns.Due()
	if err != nil || len(due) > 1 {
		c.t.Fatal(due, err)
	}
	if len(due) == 0 {
		return nil
	}
	if err := c.turns.Begin(due[0], "u"); err != nil {
		c.t.Fatal(err)
	}
	return &due[0]
}

func (c *clock) end(turn *Turn, failure *fault.Error) {
	c.t.Helper()
	if turn == nil {
		c.t.Fatal("there was no turn", c.log)
	}
	if err := c.turns.End(*turn, false, failure); err != nil {
		c.t.Fatal(err)
	}
}

func (c *clock) run() { c.t.Helper(); c.end(c.due(), nil) }

func (c *clock) later(d time.Duration) { c.now = c.now.Add(d) }

func (c *clock) said(want string) {
	c.t.Helper()
	if got := strings.Join(c.log, ", "); got != want {
		c.t.Errorf("\n got %s\nwant %s", got, want)
	}
	c.log = nil
}

func (c *clock) nothing() {
	c.t.Helper()
	if turn := c.due(); turn != nil {
		c.t.Fatalf("%+v is due at %v", turn, c.now)
	}
}

// SA-02, D-32: the first load comes at once, then EVERY counts from it; a restart in between takes nothing twice.
func TestEvery(t *testing.T) {
	c := newClock(t, "SCHEDULE EVERY 6 HOURS")
	c.run()
	c.nothing()
	c.start()
	c.nothing()
	c.later(6*time.Hour - time.Second)
	c.nothing()
	c.later(time.Second)
	c.run()
	c.start()
	c.nothing()
	c.said("03-01T12:00 STARTED, 03-01T12:00 COMPLETED, 03-01T18:00 STARTED, 03-01T18:00 COMPLETED")
}

// SC-O4: however many turns pass while nobody serves them, one catches up, and the steps stay where they were.
func TestMissedTurnsAreCaughtUpByOne(t *testing.T) {
	for _, clause := range []string{"SCHEDULE EVERY 1 DAY", "SCHEDULE CRON '0 0 12 * * ?'"} {
		c := newClock(t, clause)
		c.run()
		c.log = nil
		c.later(5*24*time.Hour + 3*time.Hour)
		c.start()
		c.run()
		c.nothing()
		at := "03-06T12:00"
		if strings.Contains(clause, "CRON") {
			at = "03-02T12:00"
		}
		c.said(at + " MISSED, " + at + " STARTED, " + at + " COMPLETED")
		if s := c.turns.Standing("a"); !s.Next.Equal(time.Date(2026, 3, 7, 12, 0, 0, 0, time.UTC)) {
			t.Errorf("%s: the next turn is %v", clause, s.Next)
		}
	}
}

// SC-O2: turns that come while the table is being refreshed are skipped, each is told, and none waits.
func TestTurnsDuringARefreshAreSkipped(t *testing.T) {
	c := newClock(t, "SCHEDULE EVERY 1 HOUR")
	long := c.due()
	for range 2 {
		c.later(time.Hour)
		c.nothing()
	}
	c.later(time.Minute)
	c.nothing()
	c.end(long, nil)
	c.nothing()
	c.later(time.Hour)
	c.run()
	c.said("03-01T12:00 STARTED, 03-01T13:00 SKIPPED, 03-01T14:00 SKIPPED, 03-01T12:00 COMPLETED, 03-01T15:00 STARTED, 03-01T15:00 COMPLETED")

	c.later(time.Hour) // a manual refresh is at work (SC-05)
	due, _, err := c.turns.Due()
	if err != nil || len(due) != 1 {
		t.Fatal(due, err)
	}
	if err := c.turns.Leave(due[0]); err != nil {
		t.Fatal(err)
	}
	c.nothing()
	c.start()
	c.nothing()
	c.said("03-01T16:00 SKIPPED")
}

// SC-07: a turn that failed waits for the next one, also across a restart.
func TestAFailedTurnWaitsForTheNext(t *testing.T) {
	c := newClock(t, "SCHEDULE EVERY 1 HOUR")
	c.end(c.due(), fault.New(fault.RefreshTimeout, "too long"))
	c.start()
	c.nothing()
	c.later(time.Hour)
	c.run()
	c.said("03-01T12:00 STARTED, 03-01T12:00 FAILED, 03-01T13:00 STARTED, 03-01T13:00 COMPLETED")
}

// D-32: a turn that a crash or a stop cut short is taken again by the next start, and by that only.
func TestATurnThatWasCutShortIsTakenAgain(t *testing.T) {
	c := newClock(t, "SCHEDULE CRON '0 0 3 * * ?'")
	c.run()
	c.now = time.Date(2026, 3, 2, 3, 0, 0, 0, time.UTC)
	c.due()
	c.log = nil
	c.later(time.Minute)
	c.start() // it crashed
	again := c.due()
	if err := c.turns.End(*again, true, nil); err != nil {
		t.Fatal(err)
	}
	c.start() // it was stopped
	c.run()
	c.start()
	c.nothing()
	c.said("03-02T03:00 STARTED, 03-02T03:00 CANCELED, 03-02T03:00 STARTED, 03-02T03:00 COMPLETED")
}

// SC-03: TRIGGER ON UPDATE has its turn when a table that is read has changed, also while nobody looked, at most every interval.
func TestTriggerOnUpdate(t *testing.T) {
	c := newClock(t, "TRIGGER ON UPDATE AT MOST EVERY INTERVAL 10 MINUTES")
	c.run()
	c.later(time.Hour)
	c.nothing()
	c.seen["up"]++
	running := c.due()
	c.seen["up"]++ // while it runs: it may have been too late for it
	c.later(time.Minute)
	c.nothing()
	c.end(running, nil)
	c.nothing()
	c.later(9 * time.Minute)
	c.run()
	c.later(time.Hour)
	c.nothing()
	c.seen["up"]++
	c.start()
	c.run()
	c.start()
	c.later(time.Hour)
	c.nothing()
	c.said("03-01T12:00 STARTED, 03-01T12:00 COMPLETED, 03-01T13:00 STARTED, 03-01T13:00 COMPLETED, 03-01T13:10 STARTED, 03-01T13:10 COMPLETED, 03-01T14:10 STARTED, 03-01T14:10 COMPLETED")
}

// SC-06, D-32: what ALTER says holds over restarts, until the clause of the definition is another one.
func TestAlter(t *testing.T) {
	c := newClock(t, "SCHEDULE EVERY 1 DAY")
	c.run()
	alter := func(action, clause string) error {
		var to *timetable.Timetable
		if clause != "" {
			var err error
			if to, err = timetable.Parse(clause); err != nil {
				t.Fatal(err)
			}
		}
		return c.turns.Alter("a", action, to)
	}
	c.log = nil
	c.later(5 * time.Hour)
	if err := alter("ALTER", "SCHEDULE EVERY 2 HOURS"); err != nil {
		t.Fatal(err)
	}
	c.run() // counted from the last turn
	c.start()
	c.nothing()
	c.said("03-01T16:00 MISSED, 03-01T16:00 STARTED, 03-01T16:00 COMPLETED")
	c.clause["a"] = "SCHEDULE EVERY 24 HOURS" // says the same
	c.start()
	if s := c.turns.Standing("a"); s.Schedule != "SCHEDULE EVERY 2 HOURS" || !s.Altered {
		t.Error(s)
	}
	if err := alter("ADD", "TRIGGER ON UPDATE"); !fault.Of(err, fault.ScheduleExists) {
		t.Error(err)
	}
	if err := alter("DROP", ""); err != nil {
		t.Fatal(err)
	}
	c.start()
	if c.later(100 * time.Hour); c.turns.Scheduled("a") {
		t.Error("it was dropped")
	}
	c.nothing()
	if err := alter("DROP", ""); !fault.Of(err, fault.DropScheduleNotFound) {
		t.Error(err)
	}
	if err := alter("ALTER", "SCHEDULE EVERY 2 HOURS"); !fault.Of(err, fault.AlterScheduleNotFound) {
		t.Error(err)
	}
	if err := alter("ADD", "SCHEDULE CRON '0 0 0 * * ?'"); err != nil {
		t.Fatal(err)
	}
	c.nothing() // what passed before was no turn
	c.clause["a"] = "SCHEDULE EVERY 3 HOURS"
	c.start()
	c.said("dropped SCHEDULE CRON '0 0 0 * * ?' AT TIME ZONE 'UTC'")
	if s := c.turns.Standing("a"); s.Schedule != "SCHEDULE EVERY 3 HOURS" || s.Altered {
		t.Error(s)
	}
}

// D-32, SC-O2, SC-O4: whatever happens when, no turn is completed twice, turns rise, and EVERY keeps its steps.
func TestNoTurnIsTakenTwice(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		clause := rapid.SampledFrom([]string{"SCHEDULE EVERY 1 HOUR", "SCHEDULE EVERY 7 HOURS", "SCHEDULE CRON '0 30 * * * ?'", "SCHEDULE CRON '0 0/20 1-5 * * ?' AT TIME ZONE 'Europe/Berlin'"}).Draw(r, "clause")
		c := newClock(t, clause)
		var first, done time.Time
		var at *Turn
		for range 40 {
			switch rapid.IntRange(0, 4).Draw(r, "what") {
			case 0:
				c.start()
				at = nil
			case 1, 2:
				c.later(time.Duration(rapid.IntRange(1, 600).Draw(r, "minutes")) * time.Minute)
			case 3:
				if turn := c.due(); turn != nil {
					if at != nil {
						r.Fatalf("%v begins while %v is at work", turn, at)
					}
					at = turn
				}
			case 4:
				if at == nil {
					continue
				}
				if !at.At.After(done) {
					r.Fatalf("%v is taken after %v", at.At, done)
				}
				if first.IsZero() {
					first = at.At
				}
				if strings.Contains(clause, "EVERY") && at.At.Sub(first)%time.Hour != 0 {
					r.Fatalf("%v is off the steps", at.At)
				}
				done = at.At
				c.end(at, nil)
				at = nil
			}
		}
	})
}
