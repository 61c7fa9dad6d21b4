package daemon

import (
	"context"
	"slices"
	"time"

	"sluice/batch"
	"sluice/eval"
	"sluice/fault"
	"sluice/flow"
	"sluice/plan"
)

// recompute runs a REPLACE WHERE flow: once in a triggered run, and when its table has a schedule; in a continuous one at its start, and again when something that it reads has
// changed, at most once per trigger interval (RW-O7).
func (j *job) recompute(take, do context.Context, say func(string)) error {
	for take.Err() == nil {
		if err := j.filled(take, say); err != nil || take.Err() != nil {
			return err
		}
		began := time.Now()
		due := true
		var err error
		endless := j.endless()
		if endless { // it may have been computed by an order
			due, err = j.due(take)
		}
		if err == nil && due {
			err = j.computeWindow(do, say)
		}
		if err != nil {
			return err
		}
		if !endless {
			return nil
		}
		say("waiting for a change of " + j.plan.Input.Name)
		if changed, err := j.changed(take, began); err != nil || !changed {
			return err
		}
	}
	return nil
}

// computeWindow computes the flow's window, under the predicate that it has in this run.
func (j *job) computeWindow(ctx context.Context, say func(string)) error {
	say("computing its window")
	var now seen
	if j.endless() { // nobody asks otherwise
		var err error
		if now, err = j.look(ctx); err != nil {
			return err
		}
	}
	w, id := j.plan.Window, j.d.update
	if o := j.d.Select.Overrides[j.plan.Name]; o != nil && !j.d.serving() { // a run is one update (PO-O8)
		w = o
	}
	if u := j.updateAtWork(); u != nil {
		id = u.info.ID
		if o := u.overrides[j.plan.Name]; o != nil {
			w = o
		}
	}
	if err := j.updateWith(ctx, w, id); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.batches++
	j.seen = now
	return nil
}

// updateWith computes one update, of the given id, under a window of the flow. A full refresh that is ordered comes before another window. What
// changes the table while it is computed makes it be computed anew.
func (j *job) updateWith(ctx context.Context, w *plan.Window, id string) error {
	d := j.d
	zone, err := time.LoadLocation(d.Plan.Zone)
	if err != nil {
		return err
	}
	if w != j.plan.Window && d.table(j.plan.Table.Name).Renewing() {
		if err := j.updateWith(ctx, j.plan.Window, id); err != nil {
			return err
		}
	}
	u := flow.Update{Plan: j.plan, Window: w, Zone: zone, Override: w != j.plan.Window, Store: d.store, State: j.state, Table: d.table(j.plan.Table.Name),
		Engine: d.engine, At: d.Now(), ID: id, Emit: d.emit, Show: showRow, Open: j.outside, Limit: d.batchLimit(j.plan)}
	for {
		if err = u.Run(ctx); !fault.Of(err, fault.WriteConflict) {
			break
		}
		u.At = d.Now()
	}
	j.looked = j.looked || err == nil
	return err
}

// outside opens a source that the flow's query reads.
func (j *job) outside(in *plan.Input) (*flow.Outside, error) {
	s, reader, err := openInput(j.d.Plan, in, nil, j.state, j.brokers, j.warn)
	if err != nil {
		return nil, err
	}
	out := &flow.Outside{Source: s}
	if !j.looked {
		out.Unseen = reader.Unseen
	}
	return out, nil
}

// engine is where batch queries run: on every core, unless their result depends on the order of work (D-22).
func (d *Daemon) engine(ordered bool) (*eval.Engine, error) {
	if ordered || d.Engine != nil {
		return d.stream, nil
	}
	return d.parallel()
}

// seen is what a REPLACE WHERE flow reads, as far as it tells whether any of that has changed: a version for each of its tables, and where each
// source outside ends. That a topic loses records at its start is no change.
type seen struct {
	tables []version
	ends   []batch.Position
}

// version is what a table holds: another generation of it has other rows.
type version struct {
	generation uint64
	number     int64
}

func (s seen) equal(other seen) bool {
	return slices.Equal(s.tables, other.tables) && slices.EqualFunc(s.ends, other.ends, slices.Equal[batch.Position])
}

// look looks at what the flow reads. Of files it takes a listing, and of topics a question to their brokers.
func (j *job) look(ctx context.Context) (out seen, err error) {
	for _, l := range j.plan.Lookups {
		t := j.d.table(l.Table.Name)
		out.tables = append(out.tables, version{t.Generation(), t.Version()})
	}
	for _, in := range j.plan.Inputs() {
		end, err := j.endOf(ctx, in)
		if err != nil {
			return out, err
		}
		out.ends = append(out.ends, end)
	}
	return out, nil
}

// endOf is where a source ends now.
func (j *job) endOf(ctx context.Context, in *plan.Input) (_ batch.Position, err error) {
	s, err := j.outside(in)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return s.End(ctx)
}

// changed waits until something that the flow reads is another than at its last update, and reports false when ctx ends before.
func (j *job) changed(ctx context.Context, since time.Time) (bool, error) {
	interval := j.d.Plan.Settings.TriggerInterval
	timer := time.NewTimer(time.Until(since.Add(interval)))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return false, nil
		case <-timer.C:
		}
		if due, err := j.due(ctx); err != nil || due {
			if ctx.Err() != nil {
				return false, nil
			}
			return true, err
		}
		timer.Reset(interval)
	}
}

// current reports whether the flow has computed its window from what it reads as that is now.
func (j *job) current(ctx context.Context) (bool, error) {
	now, err := j.look(ctx)
	if err != nil {
		return false, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.batches > 0 && j.seen.equal(now), nil
}

// Current reports whether a REPLACE WHERE flow has computed its window from what it reads as that is now.
func (d *Daemon) Current(ctx context.Context, flow string) bool {
	i := slices.IndexFunc(d.jobs, func(j *job) bool { return j.plan.Name == flow })
	if i < 0 || d.jobs[i].plan.Window == nil {
		return false
	}
	current, err := d.jobs[i].current(ctx)
	return err == nil && current
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
	for _, in := range f.Inputs() {
		out = append(out, in.Name)
	}
	return out
}
