package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/admin"
	"sluice/daemon"
	"sluice/eventlog"
	"sluice/fault"
)

// timed is a pipeline whose daemon runs in this process, by a clock of its own.
type timed struct {
	*site
	set []string // settings

	mu  sync.Mutex
	now time.Time
	log []string // what became of turns

	held chan chan struct{} // takes a channel that a flow into hourly waits for before it does anything

	d    *daemon.Daemon
	look chan struct{}
	stop func()
}

func newTimed(t *testing.T, sql string, set ...string) *timed {
	return &timed{site: local(t, sql, map[string]string{"in/1.json": "{\"a\":1}\n"}), now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), set: set, held: make(chan chan struct{}, 1)}
}

// up starts the daemon; a pipeline that is not continuous stays.
func (s *timed) up() {
	s.t.Helper()
	a := &app{spec: s.dir, out: io.Discard, err: io.Discard, set: append([]string{"sluice.listen=127.0.0.1:0", "pipelines.trigger.interval=20ms"}, s.set...)}
	p, err := a.load()
	if err != nil {
		s.t.Fatal(err)
	}
	s.look = make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(context.Background())
	s.d, err = daemon.Start(ctx, daemon.Options{Plan: p, Stay: true, Log: slog.New(slog.DiscardHandler), Fatal: func(err error) { s.t.Error(err) }, Look: s.look, Listen: s.hear,
		Now: func() time.Time { s.mu.Lock(); defer s.mu.Unlock(); return s.now }})
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.d.Serve(); err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { s.d.Run(ctx, context.Background()); close(ended) }()
	s.stop = sync.OnceFunc(func() { cancel(); <-ended; s.d.Close() })
	s.t.Cleanup(s.stop)
}

func (s *timed) hear(e eventlog.Event) {
	if f, ok := e.(*eventlog.FlowProgress); ok && f.Flow == "hourly" && f.Status == eventlog.Running {
		select {
		case release := <-s.held:
			<-release
		default:
		}
	}
	p, ok := e.(*eventlog.ScheduleProgress)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	text := fmt.Sprintf("%s %s %s", p.Dataset, p.Turn.UTC().Format("02T15:04"), p.State)
	if p.Err != nil {
		text += " " + p.Err.Code.Name
	}
	s.log = append(s.log, text)
}

// later moves the clock and has the daemon look at it.
func (s *timed) later(d time.Duration) {
	s.mu.Lock()
	s.now = s.now.Add(d)
	s.mu.Unlock()
	s.look <- struct{}{}
}

// said waits for what became of turns since the last time, in any order, and for nothing else.
func (s *timed) said(want ...string) {
	s.t.Helper()
	heard := func() []string {
		s.mu.Lock()
		defer s.mu.Unlock()
		return slices.Sorted(slices.Values(s.log))
	}
	slices.Sort(want)
	s.until(fmt.Sprint(want), func() bool { return len(heard()) >= len(want) })
	if got := heard(); !slices.Equal(got, want) {
		s.t.Fatalf("turns:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = nil
}

// holds waits for the rows of a query.
func (s *timed) holds(sql, want string) {
	s.t.Helper()
	s.until(sql+" giving "+want, func() bool { return s.query(sql) == want })
}

// refresh is a manual refresh (SC-05).
func (s *timed) refresh(tables ...string) {
	s.t.Helper()
	if code, out := s.verb(append([]string{"refresh"}, tables...)...); code != exitOK {
		s.t.Fatalf("exit %d\n%s", code, out)
	}
}

func (s *timed) file(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *timed) schedule(table string) *admin.Schedule {
	for _, t := range s.d.Status().Tables {
		if t.Name == table {
			return t.Schedule
		}
	}
	return nil
}

func (s *timed) alter(sql string) error {
	s.t.Helper()
	rows, err := s.d.Execute(s.t.Context(), admin.Statement{Text: sql})
	if err == nil {
		err = rows.Close()
	}
	return err
}

const timedTables = `CREATE STREAMING TABLE raw AS SELECT a FROM STREAM read_files('in/*.json', format => 'json', schema => 'a INT');
CREATE STREAMING TABLE hourly SCHEDULE EVERY 1 HOUR AS SELECT a FROM STREAM(raw);
CREATE STREAMING TABLE nightly SCHEDULE CRON '0 0 3 * * ?' FLOW REPLACE WHERE a > 0 BY NAME SELECT a, count(*) AS n FROM raw GROUP BY a;
`

// SA-02, SC-01, SC-02, SC-05, SC-O4, D-32: a pipeline that is not continuous stays, loads its tables once, and refreshes those with a schedule at
// their turns and no others; a restart takes no turn twice, and one catches up for those that nobody served.
func TestSchedulesAreServed(t *testing.T) {
	s := newTimed(t, timedTables)
	s.triggered()
	s.up()
	s.said("hourly 01T12:00 STARTED", "hourly 01T12:00 COMPLETED", "nightly 01T12:00 STARTED", "nightly 01T12:00 COMPLETED")
	s.holds("SELECT a FROM hourly", "1")
	s.holds("SELECT a, n FROM nightly", "1,1")

	s.file("in/2.json", "{\"a\":2}\n")
	s.refresh("raw")
	s.later(59 * time.Minute) // nothing
	if got := s.query("SELECT count(*) FROM raw") + s.query("SELECT count(*) FROM hourly"); got != "21" {
		t.Errorf("a refresh of one table gives %s", got)
	}
	s.later(time.Minute)
	s.said("hourly 01T13:00 STARTED", "hourly 01T13:00 COMPLETED")
	s.holds("SELECT a FROM hourly", "1\n2")
	if got := s.query("SELECT a FROM nightly"); got != "1" {
		t.Errorf("the table of the night has %s", got)
	}

	s.file("in/3.json", "{\"a\":3}\n")
	s.refresh("raw", "hourly") // beside the schedule
	s.holds("SELECT a FROM hourly", "1\n2\n3")
	s.stop()
	s.up()
	s.later(13*time.Hour + 30*time.Minute) // 02:30
	s.said("hourly 02T02:00 MISSED", "hourly 02T02:00 STARTED", "hourly 02T02:00 COMPLETED")
	s.later(30 * time.Minute)
	s.said("hourly 02T03:00 STARTED", "hourly 02T03:00 COMPLETED", "nightly 02T03:00 STARTED", "nightly 02T03:00 COMPLETED")
	s.holds("SELECT a FROM nightly", "1\n2\n3")
	if next := s.schedule("nightly"); next == nil || !next.Next.Equal(time.Date(2026, 3, 3, 3, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v", next)
	}
	s.stop()
	s.mu.Lock()
	s.now = s.now.Add(50 * time.Hour)
	s.mu.Unlock()
	s.up()
	s.said("hourly 04T05:00 MISSED", "hourly 04T05:00 STARTED", "hourly 04T05:00 COMPLETED", "nightly 03T03:00 MISSED", "nightly 03T03:00 STARTED", "nightly 03T03:00 COMPLETED")
}

// triggered makes the pipeline one that is not continuous.
func (s *timed) triggered() {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, "pipeline.yml"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.file("pipeline.yml", strings.Replace(string(text), "continuous: true\n", "", 1))
}

// PM-02b, SC-06, D-32: in a continuous pipeline a table with a schedule is refreshed at its turns only; ALTER takes it out of them and puts it
// back, over restarts, until the definition has another clause.
func TestSchedulesOfAContinuousPipeline(t *testing.T) {
	s := newTimed(t, timedTables)
	s.up()
	s.said("hourly 01T12:00 STARTED", "hourly 01T12:00 COMPLETED", "nightly 01T12:00 STARTED", "nightly 01T12:00 COMPLETED")
	s.file("in/2.json", "{\"a\":2}\n")
	s.holds("SELECT a FROM raw", "1\n2")
	s.later(time.Hour)
	s.said("hourly 01T13:00 STARTED", "hourly 01T13:00 COMPLETED")
	s.holds("SELECT count(*) FROM hourly", "2")

	if err := s.alter("ALTER STREAMING TABLE hourly DROP SCHEDULE"); err != nil {
		t.Fatal(err)
	}
	s.file("in/3.json", "{\"a\":3}\n")
	s.holds("SELECT count(*) FROM hourly", "3")
	s.stop()
	s.up()
	s.file("in/4.json", "{\"a\":4}\n")
	s.holds("SELECT count(*) FROM hourly", "4")
	if sch := s.schedule("hourly"); sch == nil || !sch.Altered || sch.Clause != "" {
		t.Errorf("%+v", sch)
	}

	if err := s.alter("ALTER STREAMING TABLE hourly ADD SCHEDULE EVERY 2 HOURS"); err != nil {
		t.Fatal(err)
	}
	s.until("the end of its flow", func() bool { return s.flow("hourly").Status == string(eventlog.Completed) })
	s.file("in/5.json", "{\"a\":5}\n")
	s.holds("SELECT count(*) FROM raw", "5")
	s.later(2 * time.Hour)
	s.said("hourly 01T15:00 STARTED", "hourly 01T15:00 COMPLETED")
	s.holds("SELECT count(*) FROM hourly", "5")

	for sql, code := range map[string]*fault.Code{
		"ALTER STREAMING TABLE raw ALTER SCHEDULE EVERY 1 DAY":         fault.AlterScheduleNotFound,
		"ALTER STREAMING TABLE raw DROP SCHEDULE":                      fault.DropScheduleNotFound,
		"ALTER STREAMING TABLE hourly ADD TRIGGER ON UPDATE":           fault.ScheduleExists,
		"ALTER STREAMING TABLE raw ADD TRIGGER ON UPDATE":              fault.TriggerWithoutUpstream,
		"ALTER STREAMING TABLE hourly ALTER SCHEDULE CRON '0 3 * * *'": fault.InvalidCron,
		"ALTER MATERIALIZED VIEW hourly ALTER SCHEDULE EVERY 1 DAY":    fault.TableNotFound,
		"ALTER STREAMING TABLE nowhere ALTER SCHEDULE EVERY 1 DAY":     fault.TableNotFound,
	} {
		if err := s.alter(sql); !fault.Of(err, code) {
			t.Errorf("%s: %v", sql, err)
		}
	}
	s.stop()
	s.file("flows.sql", strings.Replace(timedTables, "EVERY 1 HOUR", "EVERY 3 HOURS", 1))
	s.up()
	if sch := s.schedule("hourly"); sch == nil || sch.Altered || sch.Clause != "SCHEDULE EVERY 3 HOURS" {
		t.Errorf("%+v", sch)
	}
	if code, out := s.verb("events", "--level", "warn"); code != exitOK || !strings.Contains(out, "SCHEDULE_ALTERATION_DROPPED") {
		t.Errorf("exit %d\n%s", code, out)
	}
	s.said()
}

// SC-03: TRIGGER ON UPDATE refreshes a table when one that it reads has changed.
func TestTriggerOnUpdate(t *testing.T) {
	s := newTimed(t, strings.NewReplacer("SCHEDULE EVERY 1 HOUR", "TRIGGER ON UPDATE AT MOST EVERY INTERVAL 10 MINUTES", "SCHEDULE CRON '0 0 3 * * ?'", "").Replace(timedTables))
	s.triggered()
	s.up()
	s.said("hourly 01T12:00 STARTED", "hourly 01T12:00 COMPLETED")
	s.file("in/2.json", "{\"a\":2}\n")
	s.refresh("raw")
	s.later(time.Hour)
	s.said("hourly 01T13:00 STARTED", "hourly 01T13:00 COMPLETED")
	s.holds("SELECT a FROM hourly", "1\n2")
	s.file("in/3.json", "{\"a\":3}\n")
	s.refresh("raw")
	s.later(time.Minute)
	s.later(9 * time.Minute)
	s.said("hourly 01T13:10 STARTED", "hourly 01T13:10 COMPLETED")
	s.holds("SELECT a FROM hourly", "1\n2\n3")
}

// SC-07, SC-O2, PM-06: a refresh that fails or takes too long ends its turn, nothing else, and the table waits for the next one; one that is at
// work when the next turn comes has it skipped.
func TestTurnsThatFailOrOverlap(t *testing.T) {
	s := newTimed(t, timedTables+`CREATE STREAMING TABLE divided SCHEDULE EVERY 1 DAY AS SELECT 10 / (a - 2) AS q FROM STREAM(raw);`)
	s.triggered()
	s.up()
	first := []string{"hourly 01T12:00 STARTED", "hourly 01T12:00 COMPLETED", "nightly 01T12:00 STARTED", "nightly 01T12:00 COMPLETED"}
	s.said(append(slices.Clone(first), "divided 01T12:00 STARTED", "divided 01T12:00 COMPLETED")...)
	s.file("in/2.json", "{\"a\":2}\n")
	s.refresh("raw")
	s.later(24 * time.Hour)
	s.said("divided 02T12:00 STARTED", "divided 02T12:00 FAILED DIVIDE_BY_ZERO", "hourly 02T12:00 MISSED", "hourly 02T12:00 STARTED", "hourly 02T12:00 COMPLETED",
		"nightly 02T03:00 STARTED", "nightly 02T03:00 COMPLETED")
	s.stop()
	s.set = []string{"sluice.refresh_timeout=1ns"}
	s.up()
	s.later(time.Hour)
	s.said("hourly 02T13:00 STARTED", "hourly 02T13:00 FAILED REFRESH_TIMEOUT")
	s.stop()

	s.set = nil
	s.up()
	release := make(chan struct{})
	s.held <- release
	manual := make(chan int)
	go func() { code, _ := s.verb("refresh", "hourly"); manual <- code }()
	s.until("the manual refresh", func() bool { return len(s.held) == 0 })
	s.later(time.Hour)
	s.said("hourly 02T14:00 SKIPPED")
	close(release)
	if code := <-manual; code != exitOK {
		t.Errorf("the manual refresh ends with %d", code)
	}
	release = make(chan struct{})
	s.held <- release
	s.later(time.Hour)
	s.said("hourly 02T15:00 STARTED")
	s.later(time.Hour)
	s.said("hourly 02T16:00 SKIPPED")
	close(release)
	s.said("hourly 02T15:00 COMPLETED")
}

// D-32: a run that ends refreshes everything, names the schedules that it does not serve, and takes no turn; status tells of them beside a stopped daemon.
func TestARunThatEndsServesNoSchedule(t *testing.T) {
	s := newTimed(t, timedTables)
	s.triggered()
	if code, out := s.verb("run"); code != exitOK || !strings.Contains(out, "does not serve the schedules of hourly, nightly; run --serve does") {
		t.Errorf("exit %d\n%s", code, out)
	}
	s.holds("SELECT a FROM hourly", "1")
	if code, out := s.verb("status", "-o", "csv"); code != exitOK || !strings.Contains(out, ",next_turn") || strings.Count(out, "Z\n") != 2 {
		t.Errorf("exit %d\n%s", code, out)
	}
	for sql, want := range map[string]string{"ALTER STREAMING TABLE nightly DROP SCHEDULE": "nightly,", "ALTER STREAMING TABLE raw ADD SCHEDULE EVERY 48 HOURS": "raw,SCHEDULE EVERY 2 DAYS"} { // SC-06
		if code, out := s.verb("sql", "-e", sql, "-o", "csv"); code != exitOK || !strings.Contains(out, want) {
			t.Errorf("%s: exit %d\n%s", sql, code, out)
		}
	}
	s.up()
	s.said("hourly 01T12:00 STARTED", "hourly 01T12:00 COMPLETED")
	for _, sql := range []string{"ALTER STREAMING TABLE raw DROP SCHEDULE", "ALTER STREAMING TABLE nightly ADD SCHEDULE CRON '0 0 3 * * ?'"} {
		if code, out := s.verb("sql", "-e", sql); code != exitOK {
			t.Errorf("%s: exit %d\n%s", sql, code, out)
		}
	}
	if code, out := s.verb("status", "-o", "csv"); code != exitOK || !strings.Contains(out, ",2026-03-01T13:00:00Z") || !strings.Contains(out, ",2026-03-02T03:00:00Z") {
		t.Errorf("exit %d\n%s", code, out)
	}
}
