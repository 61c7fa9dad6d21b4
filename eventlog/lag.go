package eventlog

import (
	"time"

	"sluice/batch"
)

// Lag is how far a flow is behind in one split of its input.
type Lag struct {
	Records int64         // records that are there and were not read; below zero when that is not known
	Time    time.Duration // batch time minus the last record's time while records lag, else 0 (D-63)
}

// LagOf returns the lag of split s after the batch of the given time was committed. It is meant for splits whose offsets
// count records: Kafka partitions.
func LagOf(s batch.SplitRange, at time.Time) Lag {
	if s.End < 0 {
		return Lag{Records: -1}
	}
	l := Lag{Records: max(0, s.End-s.To.At)}
	if l.Records > 0 && s.Time > 0 {
		l.Time = max(0, at.Sub(time.UnixMicro(s.Time)))
	}
	return l
}
