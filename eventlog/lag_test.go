package eventlog

import (
	"testing"
	"time"

	"sluice/batch"
)

// D-63.
func TestLagOf(t *testing.T) {
	at := time.UnixMicro(10_000_000)
	for name, c := range map[string]struct {
		split batch.SplitRange
		want  Lag
	}{
		"behind":                 {batch.SplitRange{To: batch.Offset{At: 40}, End: 100, Time: 4_000_000}, Lag{60, 6 * time.Second}},
		"caught up":              {batch.SplitRange{To: batch.Offset{At: 100}, End: 100, Time: 4_000_000}, Lag{}},
		"end older than read":    {batch.SplitRange{To: batch.Offset{At: 101}, End: 100, Time: 4_000_000}, Lag{}},
		"end unknown":            {batch.SplitRange{To: batch.Offset{At: 40}, End: -1, Time: 4_000_000}, Lag{Records: -1}},
		"no record time":         {batch.SplitRange{To: batch.Offset{At: 40}, End: 100}, Lag{Records: 60}},
		"record from the future": {batch.SplitRange{To: batch.Offset{At: 40}, End: 100, Time: 11_000_000}, Lag{Records: 60}},
	} {
		if got := LagOf(c.split, at); got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}
