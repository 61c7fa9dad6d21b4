package daemon

import (
	"context"
	"slices"
	"time"

	"sluice/eventlog"
)

// A full refresh of a REPLACE WHERE table is an update of everything in it: the store holds the order for it, and the table its old rows, until
// that has been computed (FR-02, FR-O2).

// unordered are those tables whose full refresh nobody has ordered yet.
func (d *Daemon) unordered(tables []string) (out []string, err error) {
	for _, name := range tables {
		t, err := d.store.OpenTable(name)
		if err != nil {
			return nil, err
		}
		if t != nil && !t.Renewing() {
			out = append(out, name)
		}
	}
	return out, nil
}

// takeBack takes back orders for full refreshes that were not carried out.
func (d *Daemon) takeBack(tables []string) error {
	for _, name := range tables {
		if err := d.store.Renew(name, false); err != nil {
			return err
		}
	}
	return nil
}

// failedRenewals are the tables whose full refresh this run has ordered and whose flow has failed.
func (d *Daemon) failedRenewals() (out []string) {
	for _, j := range d.jobs {
		if j.plan.Window != nil && slices.Contains(d.ordered, j.plan.Table.Name) && d.board.State(j.plan.Name).Status == eventlog.Failed {
			out = append(out, j.plan.Table.Name)
		}
	}
	return out
}

// hold keeps the flows of an update from computing their windows until release is called: the update does it.
func (d *Daemon) hold(u *update) (release func()) {
	count := func(by int) {
		for _, j := range d.windows(u) {
			j.mu.Lock()
			j.held += by
			j.mu.Unlock()
		}
	}
	count(1)
	return func() { count(-1) }
}

// due reports whether the flow has to compute its window in a continuous run.
func (j *job) due(ctx context.Context) (bool, error) {
	j.mu.Lock()
	held := j.held > 0
	j.mu.Unlock()
	if held {
		return false, nil
	}
	current, err := j.current(ctx)
	return !current, err
}

// upstream are the jobs of this run that fill what the flow reads, directly or not, each behind those that fill what it reads. Those that wait for turns of
// their own are none of them.
func (j *job) upstream() (out []*job) {
	for _, other := range j.d.jobs {
		if !slices.Contains(j.plan.Upstream, other.plan.Name) || j.d.board.State(other.plan.Name).Status == eventlog.Excluded || j.d.Plan.Continuous && !other.endless() {
			continue
		}
		for _, u := range append(other.upstream(), other) {
			if !slices.Contains(out, u) {
				out = append(out, u)
			}
		}
	}
	return out
}

// filled waits, before a full refresh in a continuous run, until the flows that fill what this one reads have read what there was when the wait
// began, or readers would find a table that is filled no further than they are (FR-02). In a triggered run they come first anyway (D-52).
func (j *job) filled(ctx context.Context, say func(string)) error {
	if !j.d.Plan.Continuous || !j.renewing() {
		return nil
	}
	for _, u := range j.upstream() {
		say("waiting for flow " + u.plan.Name + " before the full refresh")
		if err := u.caughtUp(ctx, nil); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// filledNow is filled for an update that has reset some flows, which fails when a flow that it waits for has failed.
func (j *job) filledNow(ctx context.Context, reset []string) error {
	upstream := j.upstream()
	if !j.renewing() && !slices.ContainsFunc(upstream, func(u *job) bool { return slices.Contains(reset, u.plan.Name) }) {
		return nil
	}
	for _, u := range upstream {
		err := u.caughtUp(ctx, func() error {
			if s := j.d.board.State(u.plan.Name); s.Status == eventlog.Failed && s.Retry == 0 && s.Err != nil {
				own := *s.Err
				return own.WithDetail("flow %s fills what flow %s reads", u.plan.Name, j.plan.Name)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (j *job) renewing() bool { return j.d.table(j.plan.Table.Name).Renewing() }

// caughtUp waits until the flow has read what there is now. It ends when ctx does, or when broken says why it will not come to that.
func (j *job) caughtUp(ctx context.Context, broken func() error) error {
	reached, err := j.goal(ctx)
	if err != nil {
		return err
	}
	for !reached() {
		if broken != nil {
			if err := broken(); err != nil {
				return err
			}
		}
		select {
		case <-time.After(min(j.d.Plan.Settings.TriggerInterval, 100*time.Millisecond)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// goal reports what it means that the flow has read what there is now.
func (j *job) goal(ctx context.Context) (reached func() bool, err error) {
	switch {
	case j.plan.Window != nil:
		return func() bool { return !j.renewing() }, nil
	case j.plan.Once:
		return func() bool { _, drained := j.state.Completed(); return drained }, nil
	}
	end, err := j.d.End(ctx, j.plan.Name)
	return func() bool { return j.state.Position().Reached(end) }, err
}
