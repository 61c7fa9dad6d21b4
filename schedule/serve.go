package schedule

import (
	"context"
	"slices"
	"time"

	"sluice/eventlog"
)

// ordered is an order that is being carried out.
type ordered struct {
	Order
	later map[string]bool // flows that run now, and again when that has ended
}

// endless reports whether a job goes on until it is stopped.
func (r *run) endless(j *Job) bool {
	if j.Endless == nil {
		return r.Continuous
	}
	return j.Endless()
}

// take begins to carry an order out.
func (r *run) take(o Order) {
	order := &ordered{Order: o, later: map[string]bool{}}
	r.orders = append(r.orders, order)
	for _, name := range o.Flows {
		delete(r.resting, name)
		if r.live[name] {
			order.later[name] = true
		} else {
			r.queue(name)
		}
	}
}

// queueOrdered queues a flow that has ended and that an order waits for.
func (r *run) queueOrdered(name string) {
	for _, o := range r.orders {
		if o.later[name] {
			delete(o.later, name)
			r.queue(name)
		}
	}
}

// queue queues a flow whatever it has come to. One outside of the selection of the run stays there.
func (r *run) queue(name string) {
	if status := r.Board.State(name).Status; status != "" && status != eventlog.Excluded {
		r.Board.set(name, eventlog.Queued, "", nil, 0)
	}
}

// settledApart reports whether one flow has failed or was not run, and is nothing to another one that an order has run without it: that takes what
// is there, as in an update of its own.
func (r *run) settledApart(one, another string) bool {
	switch r.Board.State(one).Status {
	case eventlog.Failed, eventlog.Skipped, eventlog.Stopped, eventlog.Excluded:
	default:
		return false
	}
	ordered := false
	for _, o := range r.orders {
		if slices.Contains(o.Flows, another) {
			ordered = true
			if slices.Contains(o.Flows, one) {
				return false
			}
		}
	}
	return ordered && !r.live[one]
}

// answer tells of the orders that are carried out, of all that nobody carries out any more when the run is being stopped.
func (r *run) answer(stopping bool) {
	var open []*ordered
	for _, o := range r.orders {
		states, over := make([]State, len(o.Flows)), true
		for i, name := range o.Flows {
			states[i] = r.Board.State(name)
			over = over && !r.live[name] && !o.later[name] && (stopping || states[i].Status.Final())
		}
		if over {
			o.Ended(states)
		} else {
			open = append(open, o)
		}
	}
	r.orders = open
}

// begin carries an update out beside the flows.
func (r *run) begin(do context.Context, u Update) {
	r.updates++
	go func() {
		u.Ended(protect(func() error { return u.Run(do) }))
		r.updated <- struct{}{}
	}()
}

// turns is the timer after which there may be something due.
func (r *run) turns() *time.Timer {
	t := time.NewTimer(0)
	if r.Turns == nil {
		t.Stop()
	}
	return t
}

// takeTurns begins what is due, unless the run is being stopped.
func (r *run) takeTurns(do context.Context, timer *time.Timer, stopping bool) {
	if stopping || r.Turns == nil {
		return
	}
	due, wait := r.Turns()
	for _, u := range due {
		r.begin(do, u)
	}
	timer.Reset(wait)
}
