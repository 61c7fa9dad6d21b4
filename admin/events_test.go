package admin

import (
	"context"
	"testing"

	"sluice/eventlog"
)

// Who asks for a part of the log is told that there is more, and where.
func TestEventsTellWhatIsLeftOut(t *testing.T) {
	d := daemon(t)
	for _, c := range []struct {
		q     EventQuery
		first uint64 // 0 when there is none
		next  uint64
		more  bool
		older int
	}{
		{EventQuery{After: 35, Limit: 2, Level: eventlog.Metrics}, 36, 37, true, 0},
		{EventQuery{After: 35, Limit: 1, Level: eventlog.Warn}, 38, 38, true, 0},
		{EventQuery{After: 35, Limit: 2, Level: eventlog.Warn}, 38, 40, false, 0}, // 40 is INFO
		{EventQuery{After: 35, Limit: 0, Level: eventlog.Error}, 0, 38, true, 0},
		{EventQuery{After: 35, Limit: 2, Level: eventlog.Info, Newest: true}, 39, 40, false, 2},
		{EventQuery{After: 35, Limit: 5, Level: eventlog.Metrics, Newest: true}, 36, 40, false, 0},
		{EventQuery{After: 35, Limit: 0, Level: eventlog.Metrics, Newest: true}, 0, 40, false, 5},
		{EventQuery{After: 40, Limit: 1, Level: eventlog.Metrics, Newest: true}, 0, 40, false, 0},
	} {
		got, err := c.q.Select(context.Background(), d.Events)
		if err != nil {
			t.Fatal(err)
		}
		var first uint64
		if len(got.Events) > 0 {
			first = got.Events[0].Sequence
		}
		if first != c.first || got.Next != c.next || got.More != c.more || got.Older != c.older {
			t.Errorf("%+v: first %d, next %d, more %t, older %d", c.q, first, got.Next, got.More, got.Older)
		}
	}
}
