package state

import (
	"time"

	"github.com/cockroachdb/pebble/v2"

	"sluice/batch"
	"sluice/fault"
)

// Advance is what a batch does to its flow. It is committed together with the batch's rows.
type Advance struct {
	Range    batch.Range      // what was read; must begin where the flow stands
	Time     time.Time        // the batch's time, kept to the microsecond (D-48)
	Counters map[string]int64 // added to the flow's
	Events   []Event          // added to the log
	Complete bool             // the once flow is finished with this (DO-18)

	Quarantine Quarantine
}

// Skip commits a batch without rows and without a number: only the positions move, or the flow completes (ON-O3). Table
// flows may use it for a batch in which no row was left, sink flows for one that is not delivered.
func (f *Flow) Skip(a Advance) error {
	if f.hasPlan() {
		return fault.New(fault.InternalError, "flow %s has a planned batch, which comes first", f.name)
	}
	b := f.store.db.NewBatch()
	defer b.Close()
	_, err := f.commit(b, a, false, false)
	return err
}

func (f *Flow) hasPlan() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.planned
}

// commit adds a to what is in b and commits it. With number the batch takes the next number.
func (f *Flow) commit(b *pebble.Batch, a Advance, number, sync bool) (uint64, error) {
	quarantine, err := a.Quarantine.put(b, f, micros(a.Time))
	if err != nil {
		return 0, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	next, err := f.advance(b, a, number)
	if err != nil {
		return 0, err
	}
	dropped, err := f.store.passing(a.Range, b)
	if err != nil {
		return 0, err
	}
	taken, err := f.takeLetters(b, a.Range)
	if err != nil {
		return 0, err
	}
	if err := f.store.commit(b, sync); err != nil {
		return 0, err
	}
	f.store.passed(f, a.Range)
	for _, d := range dropped {
		f.store.files.drop(d.instance, d.files)
	}
	f.tookLetters(taken)
	n := f.progress.next
	f.progress = next
	f.hold(quarantine)
	for _, s := range a.Range.Splits {
		f.position = f.position.Put(batch.Mark{Split: s.Split, ID: s.ID, Next: s.To})
	}
	for name, by := range a.Counters {
		f.counters[name] += by
	}
	return n, nil
}

// advance writes a into b and returns the progress after it. It changes nothing in f.
func (f *Flow) advance(b *pebble.Batch, a Advance, number bool) (progress, error) {
	id := f.record.ID
	for i, s := range a.Range.Splits {
		if err := f.follows(a.Range.Splits[:i], s); err != nil {
			return progress{}, err
		}
		must(b.Set(positionKey(id, s.Split), encodeMark(s.ID, s.To), nil))
	}
	for name, by := range a.Counters {
		if by != 0 {
			must(b.Set(counterKey(id, name), encodeNumber(f.counters[name]+by), nil))
		}
	}
	next := f.progress
	if number {
		next.next++
	}
	if t := micros(a.Time); t != 0 {
		next.time = t
	}
	if a.Complete {
		if next.completed = micros(a.Time); next.completed == 0 {
			return progress{}, fault.New(fault.InternalError, "flow %s completes without a time", f.name)
		}
	}
	must(b.Set(idKey(kindProgress, id), next.encode(), nil))
	f.store.events.put(b, f.store.o.KeptEvents, a.Events)
	return next, nil
}

// follows checks that a range goes on where the flow stands: what was skipped would be lost, what is read again would be
// there twice.
func (f *Flow) follows(before []batch.SplitRange, s batch.SplitRange) error {
	have, ok := f.position.Find(s.Split)
	switch {
	case s.To.Less(s.From), len(before) > 0 && before[len(before)-1].Split >= s.Split:
	case !ok, have.ID != s.ID, have.Next == s.From:
		return nil
	}
	return fault.New(fault.InternalError, "flow %s stands at %s %s (id %q), the batch covers %s to %s (id %q)",
		f.name, s.Split, have.Next, have.ID, s.From, s.To, s.ID)
}
