package main

import (
	"strings"
	"testing"

	"sluice/admin"
	"sluice/eventlog"
)

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
