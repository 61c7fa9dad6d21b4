package flow

import (
	"cmp"
	"context"
	"errors"
	"time"

	"sluice/batch"
	"sluice/eval"
	"sluice/fault"
	"sluice/state"
)

// End bounds a run.
type End struct {
	Until    batch.Position
	Complete bool // a once flow: the commit that reaches Until also records that the flow has drained (DO-18)
}

// read is what the reader hands to the path.
type read struct {
	rows batch.Columns
	rng  batch.Range
	bad  []batch.Bad
	took time.Duration
	err  error
	end  bool // every split of the end was reached

	documents *eval.Documents // of the rows

	carried chan struct{} // of a large one: closed when it is behind, and nothing is read before; else nil
	unseen  *fault.Error  // columns that the first records did not have

	replayed []state.Quarantined // of a replay: the records, of which rows were made
}

// Run applies batches until end is reached, or for ever when end is nil, and returns nil then and when take ends. What is
// in hand when take ends is committed first. do ends when even that must be given up.
func (f *Flow) Run(take, do context.Context, end *End, say func(reason string)) error {
	if err := f.open(do, end); err != nil {
		return err
	}
	if err := f.finishPlanned(do); err != nil {
		return err
	}
	if err := f.greet(do); err != nil {
		return err
	}
	if err := f.replay(take, do, false); err != nil {
		return err
	}
	ahead, halt := f.reader(take, end)
	defer func() { halt() }()
	idle := time.NewTimer(idleAfter)
	defer idle.Stop()
	look, stopLooking := f.looks()
	defer stopLooking()
	isIdle := false
	for {
		select {
		case r, more := <-ahead:
			if !more {
				return f.replay(take, do, true)
			}
			if r.err != nil {
				if take.Err() != nil && errors.Is(r.err, take.Err()) {
					return nil
				}
				return r.err
			}
			say("")
			if err := f.carry(do, r); err != nil {
				return err
			}
			if take.Err() != nil {
				return nil // what was read ahead is not in hand
			}
			isIdle = false
			idle.Reset(idleAfter)
		case <-idle.C:
			isIdle = true
			say(f.why())
			if f.state.Quarantined().Ordered > 0 { // of places that were to come: the source may have lost them since
				halt()
				if err := f.replay(take, do, false); err != nil {
					return err
				}
				ahead, halt = f.reader(take, end)
			}
		case <-look:
			if why := f.why(); isIdle {
				say(why)
			}
		}
	}
}

// why is the reason why the source returns nothing.
func (f *Flow) why() string {
	if f.waiting == nil {
		return noData
	}
	return cmp.Or(f.waiting(), noData)
}

// looks is when to ask why the source returns nothing.
func (f *Flow) looks() (<-chan time.Time, func()) {
	if f.waiting == nil {
		return nil, func() {}
	}
	t := time.NewTicker(time.Second)
	return t.C, t.Stop
}

// noData is the reason shown of a flow that has everything there is.
const noData = "waiting for data"

// idleAfter is how long a flow without records is shown as running before it is shown as waiting.
const idleAfter = 2 * time.Second

// reader reads ahead from where the flow stands, until halt is called. What was read and not taken is read again.
func (f *Flow) reader(take context.Context, end *End) (ahead <-chan read, halt func()) {
	reading, stop := context.WithCancel(take)
	out := make(chan read)
	go f.readAhead(reading, end, out)
	return out, func() {
		stop()
		for range out { // the reader ends once it sees the context
		}
	}
}

// readAhead reads one batch after the other into out and closes it. While the path works on one batch, the next is being
// fetched and decoded; it is never more than that, since out has no buffer, and not even that while the batch is a large one.
func (f *Flow) readAhead(ctx context.Context, end *End, out chan<- read) {
	defer close(out)
	limit := f.limit
	if end != nil {
		limit.Until = end.Until
	}
	from := f.position
	for {
		began := time.Now()
		var r read
		r.rows, r.rng, r.bad, r.err = f.source.Read(ctx, from, limit)
		if r.err == nil {
			r.err = f.mend(&r)
		}
		if r.err == nil {
			r.documents, r.err = f.decoder.Decode(&r.rows)
		}
		r.took = time.Since(began)
		from = from.With(r.rng)
		r.end = end != nil && from.Reached(end.Until)
		if f.large(&r.rows) {
			r.carried = make(chan struct{})
		}
		r.unseen = f.notSeen(&r)
		select {
		case out <- r:
		case <-ctx.Done():
			return
		}
		if r.err != nil || r.end {
			return
		}
		if r.carried != nil {
			select {
			case <-r.carried:
			case <-ctx.Done():
				return
			}
			forget(f.source)
			f.decoder.Forget()
		}
		if end == nil && !f.full(r.rng) && !pause(ctx, f.interval-time.Since(began)) {
			return
		}
	}
}

// full reports whether a read stopped because of its limit: then more is there, and the next read follows at once,
// whatever the trigger interval says.
func (f *Flow) full(r batch.Range) bool {
	if f.limit.Rows > 0 && r.Records() >= int64(f.limit.Rows) || f.limit.Bytes > 0 && r.Bytes() >= f.limit.Bytes {
		return true
	}
	for _, s := range r.Splits {
		if s.End >= 0 && s.To.At < s.End {
			return true
		}
	}
	return false
}

// pause waits for d and reports false when ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
