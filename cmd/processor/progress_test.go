package main

import (
	"slices"
	"strings"
	"testing"

	"sluice/admin"
	"sluice/eventlog"
)

// D-15: bad records, and such without a value that are left out, show in the lines of a run and in status.
func TestBadRecordsAreShown(t *testing.T) {
	counts := eventlog.Outcome{Read: 10, Written: 5, Bad: 4, Null: 1}
	s := admin.Status{Flows: []admin.Flow{{Name: "f", Target: "t", Status: eventlog.Running, Rate: 2, Counts: counts}}}
	s.Store.Totals = []admin.Totals{{Flow: "f", Counts: counts}}
	var out strings.Builder
	printSummary(&out, s)
	if want := "  flow f into t: RUNNING, 10 read, 5 written, 0 dropped, 0 late, 4 bad, 1 without a value\n"; out.String() != want {
		t.Errorf("%q", out.String())
	}
	if got, want := flowLine(s.Flows[0]), "f: 2 records/s, 10 read, 5 written, 4 bad, 1 without a value"; got != want {
		t.Errorf("%q", got)
	}
	live := liveStatus(s)
	for column, want := range map[string]string{"read": "10", "bad": "4", "null": "1"} {
		if got := string(live.rows[0][slices.Index(live.columns, column)]); got != want {
			t.Errorf("%s is %s", column, got)
		}
	}
}

// A run has caught up when every flow has everything there is for it: not while one is FAILED, be it for good or until it is tried
// again, or SKIPPED for another one.
func TestProgressSaysWhenAllFlowsHaveCaughtUp(t *testing.T) {
	waiting := admin.Flow{Name: "live", Status: eventlog.Running, Reason: "waiting for data"}
	for _, c := range []struct {
		other eventlog.Status
		want  bool
	}{
		{eventlog.Completed, true}, {eventlog.Idle, true}, {eventlog.Excluded, true},
		{eventlog.Failed, false}, {eventlog.Skipped, false}, {eventlog.Stopped, false}, {eventlog.Starting, false}, {eventlog.Queued, false}, {eventlog.Running, false},
	} {
		var out strings.Builder
		p := newProgress(&out, nil)
		p.look(admin.Status{Flows: []admin.Flow{waiting, {Name: "other", Status: c.other}}})
		if got := strings.Contains(out.String(), "all flows have caught up"); got != c.want {
			t.Errorf("beside a flow that is %s: %q", c.other, out.String())
		}
		p.look(admin.Status{Flows: []admin.Flow{waiting}})
		if n := strings.Count(out.String(), "all flows have caught up"); n != 1 {
			t.Errorf("said %d times", n)
		}
	}
}
