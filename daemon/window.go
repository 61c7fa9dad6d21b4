package daemon

import (
	"context"
	"slices"
	"time"

	"sluice/eval"
	"sluice/flow"
	"sluice/plan"
	"sluice/state"
)

// update runs a REPLACE WHERE flow: once in a triggered run; in a continuous one at its start, and again when a table that it reads has
// changed, at most once per trigger interval (RW-O7).
func (j *job) update(take, do context.Context, say func(string)) error {
	for take.Err() == nil {
		began := time.Now()
		if !j.d.Plan.Continuous || !j.current() { // it may have been computed by an order
			if err := j.computeWindow(do, say); err != nil {
				return err
			}
		}
		if !j.d.Plan.Continuous {
			return nil
		}
		say("waiting for a change of " + j.plan.Input.Name)
		if !j.changed(take, began) {
			return nil
		}
	}
	return nil
}

// computeWindow computes the flow's window, under the predicate that it has in this run.
func (j *job) computeWindow(ctx context.Context, say func(string)) error {
	say("computing its window")
	seen, w := j.sources(), j.plan.Window
	if o := j.d.Select.Overrides[j.plan.Name]; o != nil && !j.d.Plan.Continuous { // a run is one update (PO-O8)
		w = o
	}
	if err := j.updateWith(ctx, w, j.d.update); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.batches++
	j.seen = seen
	return nil
}

// updateWith computes one update, of the given id, under a window of the flow.
func (j *job) updateWith(ctx context.Context, w *plan.Window, id string) error {
	d := j.d
	zone, err := time.LoadLocation(d.Plan.Zone)
	if err != nil {
		return err
	}
	u := flow.Update{Plan: j.plan, Window: w, Zone: zone, Override: w != j.plan.Window, Store: d.store, State: j.state, Table: d.table(j.plan.Table.Name),
		Engine: d.engine, At: d.Now(), ID: id, Emit: d.emit, Show: showRow}
	return u.Run(ctx)
}

// engine is where batch queries run: on every core, unless their result depends on the order of work (D-22).
func (d *Daemon) engine(ordered bool) (*eval.Engine, error) {
	if ordered || d.Engine != nil {
		return d.stream, nil
	}
	return d.parallel()
}

// sources are the versions of the tables that the flow reads.
func (j *job) sources() (out []int64) {
	for _, t := range j.reads() {
		out = append(out, t.Version())
	}
	return out
}

func (j *job) reads() (out []*state.Table) {
	for _, l := range j.plan.Lookups {
		out = append(out, j.d.table(l.Table.Name))
	}
	return out
}

// changed waits until a table that the flow reads is another than at its last update, and reports false when ctx ends before.
func (j *job) changed(ctx context.Context, since time.Time) bool {
	interval := j.d.Plan.Settings.TriggerInterval
	timer := time.NewTimer(time.Until(since.Add(interval)))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
		}
		if !j.current() {
			return true
		}
		timer.Reset(interval)
	}
}

// current reports whether the flow has computed its window from its tables as they are now.
func (j *job) current() bool {
	now := j.sources()
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.batches > 0 && slices.Equal(j.seen, now)
}

// Current reports whether a REPLACE WHERE flow has computed its window from its tables as they are now.
func (d *Daemon) Current(flow string) bool {
	i := slices.IndexFunc(d.jobs, func(j *job) bool { return j.plan.Name == flow })
	return i >= 0 && d.jobs[i].plan.Window != nil && d.jobs[i].current()
}

// inputs are what a flow reads, for those who look at it.
func inputs(f *plan.Flow) []string {
	if f.Window == nil {
		return []string{f.Input.Name}
	}
	var out []string
	for _, l := range f.Lookups {
		out = append(out, l.Table.Display)
	}
	return out
}
