package schedule

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"sluice/eventlog"
	"sluice/fault"
	"sluice/plan"
)

// PM-02b, SC-05, D-32: a run that serves goes on without flows; a flow that rests holds nobody up and runs when an order names it, after the flows
// of that order that it reads; one that runs is run again; and whoever gave the order hears of the end.
func TestOrders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		b.flow("raw", plan.Flow{}, after(time.Minute))
		b.flow("copy", plan.Flow{Upstream: []string{"raw"}}, after(time.Minute))
		b.flow("broken", plan.Flow{Upstream: []string{"copy"}}, func(context.Context, int) error { return errors.New("for good") })
		b.flow("reader", plan.Flow{Upstream: []string{"broken"}}, after(time.Minute))
		for i := range b.jobs {
			b.jobs[i].Rests = b.jobs[i].Flow.Name != "raw"
		}
		orders := make(chan Order)
		take, stop := context.WithCancel(context.Background())
		order := func(flows ...string) (got []eventlog.Status) {
			answer := make(chan []State, 1)
			orders <- Order{Flows: flows, Ended: func(s []State) { answer <- s }}
			for _, s := range <-answer {
				got = append(got, s.Status)
			}
			return got
		}
		time.AfterFunc(time.Second, func() {
			defer stop()
			if got := order("raw", "copy"); !slices.Equal(got, []eventlog.Status{eventlog.Completed, eventlog.Completed}) {
				t.Error(got)
			}
			if got := order("broken", "reader"); !slices.Equal(got, []eventlog.Status{eventlog.Failed, eventlog.Skipped}) {
				t.Error(got)
			}
			if got := order("reader"); !slices.Equal(got, []eventlog.Status{eventlog.Completed}) { // what failed in another order is nothing to this one
				t.Error(got)
			}
			stop()
			if got := order("copy"); !slices.Equal(got, []eventlog.Status{eventlog.Queued}) {
				t.Error("after the stop:", got)
			}
		})
		updates := make(chan Update, 1)
		release := make(chan struct{})
		updates <- Update{Run: func(context.Context) error { <-release; return nil }, Ended: func(error) {}}
		time.AfterFunc(time.Hour, func() { close(release) }) // an update at work keeps the run listening after its stop
		result, _ := b.run(t, take, Config{Stay: true, Orders: orders, Updates: updates})
		if !slices.Equal(result.Failed, []string{"broken"}) {
			t.Errorf("%+v", result)
		}
		runs := 0
		for _, line := range b.log {
			if line == "raw RUNNING" {
				runs++
			}
		}
		if runs != 2 {
			t.Errorf("raw ran %d times", runs)
		}
		b.before(t, "raw COMPLETED", "copy STARTING")
	})
}

// D-52, PM-02b: in a continuous run a flow with an end waits for none that goes on, and has the retries of a triggered run.
func TestAFlowWithAnEndInAContinuousRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		b.flow("live", plan.Flow{}, untilStopped)
		tries := 0
		b.flow("nightly", plan.Flow{Upstream: []string{"live"}}, func(context.Context, int) error { tries++; return fault.New(brokerDown, "no broker") })
		b.jobs[1].Endless = func() bool { return false }
		take, stop := context.WithTimeout(context.Background(), time.Hour)
		defer stop()
		_, got := b.run(t, take, Config{Continuous: true, RetryTimeout: time.Minute})
		if got["nightly"] != eventlog.Failed || tries < 3 || got["live"] != eventlog.Stopped {
			t.Errorf("%d tries, %v", tries, got)
		}
	})
}

// SC-O2: what is due is asked at the start, after each wait and when somebody wakes the run, and not any more once it is being stopped.
func TestTurnsAreAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		var asked []time.Duration
		start, wake, ran := time.Now(), make(chan struct{}), 0
		take, stop := context.WithTimeout(context.Background(), 34*time.Minute)
		defer stop()
		time.AfterFunc(5*time.Minute, func() { wake <- struct{}{} })
		_, _ = b.run(t, take, Config{Stay: true, Wake: wake, Turns: func() ([]Update, time.Duration) {
			asked = append(asked, time.Since(start))
			return []Update{{Run: func(context.Context) error { return nil }, Ended: func(error) { ran++ }}}, 10 * time.Minute
		}})
		if want := []time.Duration{0, 5 * time.Minute, 15 * time.Minute, 25 * time.Minute}; !slices.Equal(asked, want) || ran != len(want) {
			t.Errorf("asked at %v, %d updates", asked, ran)
		}
	})
}
