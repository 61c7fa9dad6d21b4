package schedule

import (
	"time"

	"sluice/fault"
)

// Waits between tries double from first to most.
const (
	firstWait = 100 * time.Millisecond
	mostWait  = 30 * time.Second
	// otherTries is how often a retryable fault that is not external is tried again (DO-27).
	otherTries = 2
)

// tries counts the failures of a flow since it last got further.
type tries struct {
	count int
	since time.Time
}

// next says whether a flow that failed with code, which is one to try again after, is tried again, and after which wait (D-51): external faults for ever in
// continuous mode and up to timeout in triggered mode, other retryable ones twice, the rest never.
func (t *tries) next(code *fault.Code, continuous bool, timeout time.Duration) (time.Duration, bool) {
	if t.count == 0 {
		t.since = time.Now()
	}
	t.count++
	wait := mostWait
	if t.count < 10 {
		wait = min(mostWait, firstWait<<(t.count-1))
	}
	if code.Class != fault.External {
		return wait, t.count <= otherTries
	}
	if continuous {
		return wait, true
	}
	left := timeout - time.Since(t.since)
	return min(wait, max(left, 0)), left > 0
}
