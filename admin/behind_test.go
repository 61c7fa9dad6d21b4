package admin

import (
	"strings"
	"testing"
	"time"

	"sluice/batch"
	"sluice/eventlog"
)

// D-63: a lag that is found at a start is shown for each partition beside the position that was resumed; its seconds are known
// only where nothing lags.
func TestBehind(t *testing.T) {
	w := NewWatch("p", "v", "u", true)
	w.Listen(&eventlog.FlowDefinition{Flow: "f", InputKind: eventlog.KafkaInput})
	w.Resume("f", 0, nil, batch.Position{{Split: "in/0", Next: batch.Offset{At: 7}}})
	w.Behind("f", "in/1", batch.Offset{At: 2}, 3)
	w.Behind("f", "in/0", batch.Offset{At: 7}, 0)
	got := w.Status().Flows[0].Positions
	if len(got) != 2 || got[0].Split != "in/0" || got[1].Next != "2" {
		t.Fatalf("%+v", got)
	}
	if got[0].LagRecords == nil || *got[0].LagRecords != 0 || got[0].LagSeconds == nil || *got[0].LagSeconds != 0 {
		t.Errorf("caught up: %+v", got[0])
	}
	if got[1].LagRecords == nil || *got[1].LagRecords != 3 || got[1].LagSeconds != nil {
		t.Errorf("behind: %+v", got[1])
	}
}

// D-7: what holds a partition up is shown beside its position until it does not, also where nothing was read yet.
func TestHeld(t *testing.T) {
	w := NewWatch("p", "v", "u", true)
	w.Listen(&eventlog.FlowDefinition{Flow: "f", InputKind: eventlog.KafkaInput})
	w.Resume("f", 0, nil, batch.Position{{Split: "in/1", Next: batch.Offset{At: 7}}})
	w.Held("f", []Position{{Split: "in/0", Next: "0", Waiting: "for x"}, {Split: "in/1", Next: "7", Waiting: "for y"}})
	got := w.Status().Flows[0].Positions
	if len(got) != 2 || got[0] != (Position{Split: "in/0", Next: "0", Waiting: "for x"}) || got[1] != (Position{Split: "in/1", Next: "7", Waiting: "for y"}) {
		t.Errorf("%+v", got)
	}
	w.Held("f", []Position{{Split: "in/1", Next: "7", Waiting: "for y"}})
	w.Listen(&eventlog.BatchDone{Flow: "f", Range: batch.Range{Splits: []batch.SplitRange{{Split: "in/0", To: batch.Offset{At: 3}, End: -1}}}})
	got = w.Status().Flows[0].Positions
	if len(got) != 2 || got[0] != (Position{Split: "in/0", Next: "3"}) || got[1].Waiting != "for y" {
		t.Errorf("%+v", got)
	}
	w.Held("f", nil)
	if got = w.Status().Flows[0].Positions; len(got) != 2 || got[1] != (Position{Split: "in/1", Next: "7"}) {
		t.Errorf("%+v", got)
	}
}

// a sink that has had its batch in hand for minutes is a reason not to be ready, and status says since when.
func TestASlowSinkIsAReason(t *testing.T) {
	w := NewWatch("p", "v", "u", true)
	w.Listen(&eventlog.UpdateProgress{State: "RUNNING"})
	for _, c := range []struct {
		ago   time.Duration
		ready bool
	}{{patience - time.Minute, true}, {10 * time.Minute, false}} {
		since := time.Now().Add(-c.ago)
		w.Sending("f", since)
		s := w.Status()
		if at := s.Flows[0].SendingSince; s.Ready != c.ready || at == nil || !at.Equal(since) || !c.ready && !strings.HasPrefix(s.Reasons[0], "flow f waits: its sink has had a batch in hand since ") {
			t.Errorf("%v: %+v", c, s)
		}
	}
	w.Sending("f", time.Time{})
	if s := w.Status(); !s.Ready || s.Flows[0].SendingSince != nil {
		t.Errorf("%+v", s)
	}
}
