package admin

import "time"

// window is how many seconds of the clock, the present one included, a meter looks back.
const window = 10

// sample is work that was done.
type sample struct {
	records int64
	done    int64 // towards the end of a bounded read
	busy    time.Duration
}

// meter adds up the work of the last seconds.
type meter struct {
	began time.Time
	slots [window]slot
}

// slot is the work of one second of the clock.
type slot struct {
	second int64
	sample
}

func (m *meter) add(now time.Time, s sample) {
	if m.began.IsZero() {
		m.began = now.Add(-s.busy)
	}
	at := &m.slots[now.Unix()%window]
	if at.second != now.Unix() {
		*at = slot{second: now.Unix()}
	}
	at.records += s.records
	at.done += s.done
	at.busy += s.busy
}

// sum returns the work of the last seconds, and how long that time was: never less than a second, so that the first
// batch does not make a rate out of nothing.
func (m *meter) sum(now time.Time) (total sample, span time.Duration) {
	first := now.Unix() - window + 1
	for _, s := range m.slots {
		if s.second >= first {
			total.records += s.records
			total.done += s.done
			total.busy += s.busy
		}
	}
	since := time.Unix(first, 0)
	if m.began.After(since) {
		since = m.began
	}
	return total, max(time.Second, now.Sub(since))
}
