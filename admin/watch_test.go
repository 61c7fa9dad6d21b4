package admin

import (
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"sluice/batch"
	"sluice/eventlog"
	"sluice/fault"
)

var rewrite = flag.Bool("rewrite", false, "rewrite testdata/status.json")

func ptr[T any](v T) *T { return &v }

// exercise tells w of a run: one flow live, one that drains files, one that fails.
func exercise(w *Watch) {
	at := time.Now()
	for _, e := range []eventlog.Event{
		&eventlog.UpdateProgress{State: "RUNNING"},
		&eventlog.FlowDefinition{Flow: "history", Target: "main.ticks", FlowType: "APPEND", InputKind: eventlog.FileInput, Once: true},
		&eventlog.FlowDefinition{Flow: "live", Target: "main.ticks", FlowType: "REPLACE_USING", InputKind: eventlog.KafkaInput, DependsOn: []string{"history"}},
		&eventlog.FlowDefinition{Flow: "publish", SinkTarget: "out", FlowType: "APPEND", InputKind: eventlog.FeedInput},
		&eventlog.FlowProgress{Flow: "history", Status: eventlog.Starting},
		&eventlog.FlowProgress{Flow: "history", Status: eventlog.Running},
		&eventlog.FlowProgress{Flow: "live", Status: eventlog.Starting},
		&eventlog.FlowProgress{Flow: "live", Status: eventlog.Running},
		&eventlog.FlowProgress{Flow: "publish", Status: eventlog.Failed, Retry: 2 * time.Second, Reason: "trying again in 2s",
			Err: fault.New(fault.ListenFailed, "the broker is away").Because(os.ErrDeadlineExceeded).WithHint("start it").At(fault.Pos{File: "a.sql", Line: 3, Column: 7})},
	} {
		w.Listen(e)
	}
	w.Resume("live", 1, ptr(uint64(41)), batch.Position{{Split: "ticks/0", Next: batch.Offset{At: 20}}, {Split: "ticks/3", Next: batch.Offset{At: 9}}})
	for range 2 {
		w.Listen(&eventlog.BatchDone{
			Flow: "live", Target: "main.ticks", ID: batch.ID{Generation: 1, Number: 42}, Time: at,
			Range: batch.Range{Splits: []batch.SplitRange{
				{Split: "ticks/0", To: batch.Offset{At: 40}, End: 100, Records: 20, Time: at.Add(-6 * time.Second).UnixMicro()},
				{Split: "ticks/1", To: batch.Offset{At: 50}, End: 50, Records: 10, Time: at.Add(-6 * time.Second).UnixMicro()},
			}},
			Outcome:      eventlog.Outcome{Read: 30, Written: 25, Dropped: 3, Late: 2},
			Expectations: []eventlog.Expectation{{Name: "traded", Dataset: "main.ticks", Passed: 27, Failed: 3, Errors: 1}},
			Stages:       eventlog.Stages{Read: time.Second, Eval: 300 * time.Millisecond, Commit: 200 * time.Millisecond},
		})
	}
	for i, file := range []string{"data/a.json", "data/b.json"} {
		w.Listen(&eventlog.BatchDone{
			Flow: "history", Target: "main.ticks", ID: batch.ID{Number: uint64(i)}, Time: at, Done: int64(100 * (i + 1)), Total: 1000,
			Range: batch.Range{Splits: []batch.SplitRange{{Split: file, To: batch.Offset{At: 100}, End: 500, Records: 5}}},
		})
	}
}

// TestStatus pins the whole answer: it is an interface that scripts rely on.
func TestStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWatch("stock_ticks", "1.2.3", "u-1", true)
		w.ReadStore(func() (Store, []Table) {
			return Store{ID: "s-1", Epoch: 3, Path: "/state", Bytes: 4096},
				[]Table{{Name: "main.ticks", Rows: 12, Keys: ptr(int64(9)), Bytes: ptr(int64(1024)), Version: 7}, {Name: "main.raw", Rows: 40, Version: 2}}
		})
		exercise(w)
		time.Sleep(4 * time.Second)
		got, err := json.MarshalIndent(w.Status(), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, '\n')
		const file = "testdata/status.json"
		if *rewrite {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("the status is not that of %s; if the change is meant: go test ./admin -rewrite\ngot:\n%s", file, got)
		}
	})
}

// Rates look back ten seconds and no further.
func TestRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWatch("p", "v", "u", true)
		w.Listen(&eventlog.FlowDefinition{Flow: "f", InputKind: eventlog.KafkaInput, Once: true})
		w.Listen(&eventlog.FlowProgress{Flow: "f", Status: eventlog.Starting})
		var done int64
		step := func(records int64) {
			done += records
			w.Listen(&eventlog.BatchDone{
				Flow: "f", Range: batch.Range{Splits: []batch.SplitRange{{Split: "t/0", Records: records, End: -1}}},
				Done: done, Total: 10_000, Stages: eventlog.Stages{Eval: 500 * time.Millisecond},
			})
			time.Sleep(time.Second)
		}
		show := func() Flow { return w.Status().Flows[0] }
		for range 4 {
			step(100)
		}
		if f := show(); f.Rate != 100 || f.Saturation != 0.5 {
			t.Errorf("after 4 s at 100 records/s and half of the time busy: rate %v, saturation %v", f.Rate, f.Saturation)
		}
		if f := show(); f.Progress.SecondsLeft == nil || *f.Progress.SecondsLeft != 96 {
			t.Errorf("9600 records at 100 a second: %v seconds left, want 96", *f.Progress.SecondsLeft)
		}
		for range 20 {
			step(200)
		}
		if f := show(); f.Rate < 190 || f.Rate > 210 {
			t.Errorf("rate %v after 20 s at 200 records/s: the time before still counts", f.Rate)
		}
		time.Sleep(10 * time.Second)
		if f := show(); f.Rate != 0 || f.Saturation != 0 || f.Progress.SecondsLeft != nil {
			t.Errorf("rate %v, saturation %v, %v left after 10 s of nothing", f.Rate, f.Saturation, f.Progress.SecondsLeft)
		}
	})
}

// A flow that waits long and then commits a batch at once shows a rate over what it worked, not over what it waited.
func TestRateOfFirstBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWatch("p", "v", "u", true)
		w.Listen(&eventlog.BatchDone{Flow: "f", Range: batch.Range{Splits: []batch.SplitRange{{Split: "t/0", Records: 50, End: -1}}}, Stages: eventlog.Stages{Eval: 2 * time.Second}})
		if f := w.Status().Flows[0]; f.Rate != 25 || f.Saturation != 1 {
			t.Errorf("50 records in one batch of 2 s: rate %v, saturation %v", f.Rate, f.Saturation)
		}
	})
}

func TestReasons(t *testing.T) {
	w := NewWatch("p", "v", "u", true)
	check := func(when string, want ...string) {
		t.Helper()
		s := w.Status()
		if s.Ready != (len(want) == 0) || !reflect.DeepEqual(s.Reasons, want) {
			t.Errorf("%s: ready %v, reasons %q, want %q", when, s.Ready, s.Reasons, want)
		}
	}
	check("at first", "the update is CREATED")
	w.Listen(&eventlog.UpdateProgress{State: "RUNNING"})
	check("running")
	broken := fault.New(fault.DaemonUnreachable, "the broker is away")
	w.Listen(&eventlog.FlowProgress{Flow: "f", Status: eventlog.Failed, Err: broken, Retry: time.Second, Reason: "trying again in 1s"})
	check("a failed flow", "flow f is FAILED: trying again in 1s: DAEMON_UNREACHABLE: the broker is away")
	w.Listen(&eventlog.FlowProgress{Flow: "f", Status: eventlog.Starting})
	check("a flow that is tried again")
	w.Listen(&eventlog.FlowProgress{Flow: "g", Status: eventlog.Skipped, Reason: "flow f is FAILED"})
	check("a skipped flow", "flow g is SKIPPED: flow f is FAILED")
	w.Listen(&eventlog.FlowProgress{Flow: "g", Status: eventlog.Queued})
	w.Listen(&eventlog.UpdateProgress{State: "STOPPING", Cause: "SIGTERM"})
	check("stopping", "the update is STOPPING: SIGTERM")
	w.Listen(&eventlog.UpdateProgress{State: "COMPLETED"})
	check("completed")
}

// What Status returned does not change under its reader.
func TestStatusIsACopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWatch("p", "v", "u", true)
		exercise(w)
		before := w.Status()
		text, _ := json.Marshal(before)
		exercise(w)
		if again, _ := json.Marshal(before); string(again) != string(text) {
			t.Errorf("the status changed afterwards:\n%s\n%s", text, again)
		}
	})
}

// An error goes out and comes back whole.
func TestErrorRoundTrip(t *testing.T) {
	e := fault.New(fault.BadRequest, "no").WithHint("do").WithDetail("more").At(fault.Pos{File: "a.sql", Line: 2, Column: 5})
	if got := ErrorOf(e).Fault(); !reflect.DeepEqual(got, e) {
		t.Errorf("got %#v, want %#v", got, e)
	}
	unknown := (&Error{Code: "FROM_THE_FUTURE", Message: "m", Hint: "h"}).Fault()
	if !fault.Of(unknown, fault.DaemonAnswerMalformed) || unknown.Message != "the daemon answered FROM_THE_FUTURE: m" || unknown.Hint != "h" {
		t.Errorf("a code of another version: %v", unknown)
	}
	if ErrorOf(nil) != nil {
		t.Error("no error must give none")
	}
}
