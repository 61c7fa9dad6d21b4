package schedule

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"sluice/eventlog"
	"sluice/fault"
	"sluice/plan"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a run whose jobs are written in the test. It records what happened in order.
type bench struct {
	mu      sync.Mutex
	log     []string
	drained map[string]bool
	batches map[string]uint64
	jobs    []Job
}

func newBench() *bench { return &bench{drained: map[string]bool{}, batches: map[string]uint64{}} }

func (b *bench) note(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.log = append(b.log, fmt.Sprintf(format, args...))
}

// flow adds a job. run is called at each try, counting from 1.
func (b *bench) flow(name string, f plan.Flow, run func(take context.Context, try int) error) {
	f.Name, f.Table = name, &plan.Table{}
	try := 0
	b.jobs = append(b.jobs, Job{
		Flow:    &f,
		Drained: func() bool { b.mu.Lock(); defer b.mu.Unlock(); return b.drained[name] },
		Batches: func() uint64 { b.mu.Lock(); defer b.mu.Unlock(); return b.batches[name] },
		Run: func(take, do context.Context, say func(string)) error {
			try++
			say("working")
			err := run(take, try)
			if err == nil && f.Once && take.Err() == nil {
				b.mu.Lock()
				b.drained[name] = true
				b.mu.Unlock()
			}
			return err
		},
	})
}

func (b *bench) run(t *testing.T, take context.Context, c Config) (Result, map[string]eventlog.Status) {
	t.Helper()
	c.Jobs = b.jobs
	c.Board = NewBoard(func(e eventlog.Event) {
		p := e.(*eventlog.FlowProgress)
		b.note("%s %s", p.Flow, p.Status)
	})
	result := Run(take, context.Background(), c)
	got := map[string]eventlog.Status{}
	for _, s := range c.Board.States() {
		got[s.Flow] = s.Status
	}
	return result, got
}

func (b *bench) before(t *testing.T, first, second string) {
	t.Helper()
	i, j := -1, -1
	for n, line := range b.log {
		if line == first && i < 0 {
			i = n
		}
		if line == second && j < 0 {
			j = n
		}
	}
	if i < 0 || j < 0 || i > j {
		t.Errorf("%q must come before %q in\n%s", first, second, strings.Join(b.log, "\n"))
	}
}

func after(d time.Duration) func(context.Context, int) error {
	return func(context.Context, int) error { time.Sleep(d); return nil }
}

func untilStopped(take context.Context, _ int) error { <-take.Done(); return nil }

var (
	brokerDown = &fault.Code{Name: "BROKER_DOWN", Class: fault.External, Retry: fault.Backoff}
	lockBusy   = &fault.Code{Name: "BUSY", Class: fault.Internal, Retry: fault.Backoff}
)

// DO-01, DO-02, DO-05, DO-06, DO-07, DO-12: in a triggered run every kind of predecessor holds its successors back.
func TestTriggeredRunFollowsDependsOnAndData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		b.flow("live", plan.Flow{DependsOn: []string{"y2024", "y2025"}}, after(time.Second))
		b.flow("y2025", plan.Flow{Once: true, DependsOn: []string{"y2024"}}, after(time.Second))
		b.flow("y2024", plan.Flow{Once: true}, after(time.Hour))
		b.flow("reader", plan.Flow{Upstream: []string{"live"}}, after(time.Second))
		result, got := b.run(t, context.Background(), Config{})
		if len(result.Failed) > 0 || result.Stopped {
			t.Errorf("%+v", result)
		}
		for f, s := range got {
			if s != eventlog.Completed {
				t.Errorf("%s is %s", f, s)
			}
		}
		b.before(t, "y2024 COMPLETED", "y2025 STARTING")
		b.before(t, "y2025 COMPLETED", "live STARTING")
		b.before(t, "live COMPLETED", "reader STARTING")
	})
}

// DO-08, D-52: data edges do not order a continuous run, DEPENDS ON does. DO-19, ON-01: a drained once flow is IDLE.
func TestContinuousRunStartsReadersAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		b.drained["old"] = true
		b.flow("old", plan.Flow{Once: true}, func(context.Context, int) error { t.Error("ran again"); return nil })
		b.flow("backfill", plan.Flow{Once: true, DependsOn: []string{"old"}}, after(time.Minute))
		b.flow("live", plan.Flow{DependsOn: []string{"backfill"}}, untilStopped)
		b.flow("reader", plan.Flow{Upstream: []string{"live"}}, untilStopped)
		take, stop := context.WithTimeout(context.Background(), time.Hour)
		defer stop()
		result, got := b.run(t, take, Config{Continuous: true})
		if !result.Stopped || got["old"] != eventlog.Idle || got["backfill"] != eventlog.Completed || got["live"] != eventlog.Stopped {
			t.Errorf("%+v %v", result, got)
		}
		b.before(t, "reader RUNNING", "backfill COMPLETED")
		b.before(t, "backfill COMPLETED", "live STARTING")
	})
}

// DO-27, DO-O3, PM-06: two more tries, then FAILED; what waits for it is SKIPPED, the rest goes on.
func TestFailureSkipsDependentsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		tries := 0
		b.flow("a", plan.Flow{}, func(context.Context, int) error { tries++; return fault.New(lockBusy, "busy") })
		b.flow("b", plan.Flow{DependsOn: []string{"a"}}, after(0))
		b.flow("c", plan.Flow{DependsOn: []string{"b"}}, after(0))
		b.flow("d", plan.Flow{}, after(time.Hour))
		result, got := b.run(t, context.Background(), Config{})
		if tries != 3 || got["a"] != eventlog.Failed || got["b"] != eventlog.Skipped || got["c"] != eventlog.Skipped || got["d"] != eventlog.Completed {
			t.Errorf("tries %d, %v", tries, got)
		}
		if fmt.Sprint(result.Failed) != "[a b c]" {
			t.Errorf("failed: %v", result.Failed)
		}
	})
}

// D-51: external faults are tried again for ever in continuous mode, up to retry_timeout in triggered mode; a fault that
// needs a change is final at once; progress starts the count anew.
func TestRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		b.flow("triggered", plan.Flow{}, func(context.Context, int) error { return fault.New(brokerDown, "no broker") })
		start := time.Now()
		if _, got := b.run(t, context.Background(), Config{RetryTimeout: 10 * time.Minute}); got["triggered"] != eventlog.Failed {
			t.Error(got)
		}
		if d := time.Since(start); d < 9*time.Minute || d > 11*time.Minute {
			t.Errorf("gave up after %v", d)
		}

		b = newBench()
		b.flow("continuous", plan.Flow{}, func(take context.Context, try int) error {
			if try < 200 {
				return fault.New(brokerDown, "no broker")
			}
			return untilStopped(take, try)
		})
		b.flow("final", plan.Flow{}, func(context.Context, int) error { return errors.New("uncoded") })
		b.flow("progress", plan.Flow{}, func(take context.Context, try int) error {
			if try < 20 {
				b.mu.Lock()
				b.batches["progress"]++
				b.mu.Unlock()
				return fault.New(lockBusy, "busy")
			}
			return untilStopped(take, try)
		})
		take, stop := context.WithTimeout(context.Background(), 10*time.Hour)
		defer stop()
		_, got := b.run(t, take, Config{Continuous: true})
		if got["continuous"] != eventlog.Stopped || got["progress"] != eventlog.Stopped || got["final"] != eventlog.Failed {
			t.Error(got)
		}
	})
}

// FR-13: a flow that failed for good is tried once more when that is asked for, also if it was just failing; what was
// skipped because of it runs then. For one that works it means nothing.
func TestAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		again := make(chan string, 8)
		b.flow("a", plan.Flow{Once: true}, func(_ context.Context, try int) error {
			switch try {
			case 1:
				again <- "a"
				time.Sleep(time.Second) // said while it still works
				return errors.New("first")
			case 2:
				return errors.New("second")
			}
			return nil
		})
		b.flow("b", plan.Flow{DependsOn: []string{"a"}}, untilStopped)
		b.flow("c", plan.Flow{}, untilStopped)
		take, stop := context.WithTimeout(context.Background(), time.Hour)
		defer stop()
		time.AfterFunc(time.Minute, func() { again <- "c"; again <- "a" })
		result, got := b.run(t, take, Config{Continuous: true, Again: again})
		if got["a"] != eventlog.Completed || got["b"] != eventlog.Stopped || got["c"] != eventlog.Stopped || len(result.Failed) > 0 {
			t.Errorf("%v %+v", got, result)
		}
		b.before(t, "b SKIPPED", "a COMPLETED")
		b.before(t, "a COMPLETED", "b RUNNING")
		if n := strings.Count(strings.Join(b.log, "\n"), "c RUNNING"); n != 1 {
			t.Errorf("c ran %d times", n)
		}
	})
}

// PM-02: a continuous run ends when it is stopped and not before, also when nothing is left to run: until then a flow that failed
// for good can be wanted again, and a once flow whose checkpoint was reset drains again (FR-13).
func TestContinuousRunGoesOnWithoutFlows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		again := make(chan string, 8)
		drains := 0
		b.flow("failed", plan.Flow{}, func(context.Context, int) error { return errors.New("for good") })
		b.flow("mended", plan.Flow{}, func(take context.Context, try int) error {
			if try == 1 {
				return errors.New("until it is reset")
			}
			return untilStopped(take, try)
		})
		b.flow("once", plan.Flow{Once: true}, func(context.Context, int) error { drains++; return nil })
		take, stop := context.WithTimeout(context.Background(), time.Hour)
		defer stop()
		time.AfterFunc(time.Minute, func() {
			b.mu.Lock()
			delete(b.drained, "once")
			b.mu.Unlock()
			again <- "mended"
			again <- "once"
		})
		start := time.Now()
		result, got := b.run(t, take, Config{Continuous: true, Again: again})
		if took := time.Since(start); took != time.Hour {
			t.Errorf("ended after %v", took)
		}
		if got["failed"] != eventlog.Failed || got["mended"] != eventlog.Stopped || got["once"] != eventlog.Completed || drains != 2 {
			t.Errorf("%v, drained %d times", got, drains)
		}
		if fmt.Sprint(result.Failed) != "[failed]" { // D-51: what the command's exit code says
			t.Errorf("failed: %v", result.Failed)
		}
	})
}

// DO-29, DO-O4: a flow outside the selection satisfies readers, but a once flow only if it has drained.
func TestExcludedPredecessors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		b.drained["drained"] = true
		b.flow("drained", plan.Flow{Once: true}, after(0))
		b.flow("never", plan.Flow{Once: true}, after(0))
		b.flow("plain", plan.Flow{}, after(0))
		b.flow("x", plan.Flow{DependsOn: []string{"drained", "plain"}}, after(0))
		b.flow("y", plan.Flow{DependsOn: []string{"never"}}, after(0))
		_, got := b.run(t, context.Background(), Config{Excluded: map[string]bool{"drained": true, "never": true, "plain": true}})
		if got["x"] != eventlog.Completed || got["y"] != eventlog.Skipped || got["plain"] != eventlog.Excluded {
			t.Error(got)
		}
	})
}

func TestPanicStopsOneFlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		b.flow("a", plan.Flow{}, func(context.Context, int) error { panic("boom") })
		b.flow("b", plan.Flow{}, after(time.Second))
		_, got := b.run(t, context.Background(), Config{})
		if got["a"] != eventlog.Failed || got["b"] != eventlog.Completed {
			t.Error(got)
		}
	})
}

// DO-28: flows start one after the other, in their order, and run beside each other up to a limit; one that ends makes room.
// A continuous run has no limit: a flow that never ends would keep the rest out.
func TestFlowsRunBesideEachOtherUpToALimit(t *testing.T) {
	for _, c := range []struct {
		config Config
		most   int
		took   time.Duration
	}{{Config{Concurrent: 3}, 3, 3 * time.Second}, {Config{}, 16, 2 * time.Second}, {Config{Concurrent: 3, Continuous: true}, 20, time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench()
			var mu sync.Mutex
			running, most, changed := 0, 0, time.Time{}
			add := func(n int) {
				mu.Lock()
				defer mu.Unlock()
				running += n
				most = max(most, running)
				changed = time.Now()
			}
			flows := 20
			if c.most < 16 {
				flows = 9
			}
			for i := range flows {
				b.flow(fmt.Sprintf("f%02d", i), plan.Flow{}, func(context.Context, int) error {
					add(1)
					time.Sleep(time.Second)
					add(-1)
					return nil
				})
			}
			start := time.Now()
			take, stop := context.WithTimeout(context.Background(), time.Hour) // a continuous run ends with it
			defer stop()
			b.run(t, take, c.config)
			if took := changed.Sub(start); most != c.most || took != c.took {
				t.Errorf("%+v: %d at a time, in %v, want %d in %v", c.config, most, took, c.most, c.took)
			}
			for i := range flows - 1 {
				b.before(t, fmt.Sprintf("f%02d STARTING", i), fmt.Sprintf("f%02d STARTING", i+1))
			}
		})
	}
}

// A listener hears that a flow is through before the flows that wait for it begin, however slow it is (PT-08).
func TestSuccessorsBeginWhenTheEndWasHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard []string
		b := newBench()
		b.flow("a", plan.Flow{}, after(0))
		b.flow("other", plan.Flow{}, after(time.Second)) // its end makes the run look again
		b.flow("b", plan.Flow{DependsOn: []string{"a"}}, func(context.Context, int) error { heard = append(heard, "b begins"); return nil })
		Run(context.Background(), context.Background(), Config{Jobs: b.jobs, Board: NewBoard(func(e eventlog.Event) {
			if p := e.(*eventlog.FlowProgress); p.Flow == "a" && p.Status == eventlog.Completed {
				time.Sleep(time.Minute)
				heard = append(heard, "a is through")
			}
		})})
		if strings.Join(heard, ", ") != "a is through, b begins" {
			t.Errorf("%v", heard)
		}
	})
}

// PT-08: for random graphs no successor starts before its predecessors have completed, whatever the limit on concurrency.
func TestRandomGraphs(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(rt, "flows")
		b := newBench()
		var mu sync.Mutex
		done := map[string]bool{}
		for i := range n {
			name := fmt.Sprint("f", i)
			var depends, upstream []string
			for j := range i {
				switch rapid.IntRange(0, 5).Draw(rt, "edge") {
				case 0:
					depends = append(depends, fmt.Sprint("f", j))
				case 1:
					upstream = append(upstream, fmt.Sprint("f", j))
				}
			}
			b.flow(name, plan.Flow{DependsOn: depends, Upstream: upstream}, func(context.Context, int) error {
				mu.Lock()
				defer mu.Unlock()
				for _, p := range append(depends, upstream...) {
					if !done[p] {
						rt.Errorf("%s ran before %s had completed", name, p)
					}
				}
				done[name] = true
				return nil
			})
		}
		b.run(t, context.Background(), Config{Concurrent: rapid.IntRange(1, 4).Draw(rt, "concurrent")})
		if len(done) != n {
			rt.Errorf("%d of %d flows ran", len(done), n)
		}
	})
}
