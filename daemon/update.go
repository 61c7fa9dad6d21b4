package daemon

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"sluice/admin"
	"sluice/eventlog"
	"sluice/fault"
	"sluice/plan"
	"sluice/schedule"
)

// keptUpdates is how many updates that have ended are remembered.
const keptUpdates = 100

// updates are those that were asked for while the daemon runs (D-33).
type updates struct {
	mu  sync.Mutex
	all []*update // oldest first
}

// update is one of them.
type update struct {
	info    admin.UpdateInfo
	targets map[string]bool // tables and sinks, as target names them
	flows   map[string]bool
	resets  resets

	overrides map[string]*plan.Window
}

// StartUpdate starts an update and returns its id: full refreshes and checkpoint resets are done between two batches of the flows concerned, and
// flows that have failed for good are tried again; all others go on meanwhile (D-33). A request that is the same as one whose update is at
// work gets the id of that: clients ask once more when an answer was lost.
func (d *Daemon) StartUpdate(ctx context.Context, r admin.UpdateRequest) (string, error) {
	u, err := d.plannedUpdate(r)
	if err != nil {
		return "", err
	}
	if r.ValidateOnly {
		return d.remember(u, "COMPLETED"), nil
	}
	if !d.serving() {
		run := d.watch.Status().Update
		return "", fault.New(fault.UpdateActive, "the pipeline is triggered, and its update %s is at work", run.ID).WithHint("start it again when that has ended, with --refresh or --full-refresh, or run it with --serve")
	}
	if err := d.repeatable(ctx, u.resets, r.AcceptLoss); err != nil {
		return "", err
	}
	id, fresh, err := d.admit(u)
	if err != nil || !fresh {
		return id, err
	}
	select {
	case d.updating <- schedule.Update{Run: func(do context.Context) error { return d.carryOut(do, u) }, Ended: func(err error) { d.ended(u, err) }}:
		return id, nil
	case <-d.over:
		d.progress(u, "CANCELED", nil)
		return "", fault.New(fault.DaemonUnreachable, "the daemon is being stopped")
	case <-ctx.Done():
		d.progress(u, "CANCELED", nil)
		return "", ctx.Err()
	}
}

// plannedUpdate checks a request as a whole, before anything is done.
func (d *Daemon) plannedUpdate(r admin.UpdateRequest) (*update, error) {
	s, err := Select(d.Plan, r.RefreshSelection, r.FullRefreshSelection, r.FullRefresh)
	if err != nil {
		return nil, err
	}
	u := &update{info: admin.UpdateInfo{ID: newUpdateID(), Pipeline: d.Plan.Name, UpdateRequest: r, Mode: "DEFAULT", Created: time.Now().UTC()}, targets: map[string]bool{}, flows: map[string]bool{}}
	if u.info.Cause == "" {
		u.info.Cause = "API_CALL"
	}
	if u.resets, err = d.resetsOf(s); err != nil {
		return nil, err
	}
	excluded := s.excluded(d.Plan)
	for _, f := range d.Plan.Flows {
		if !excluded[f.Name] {
			u.targets[target(f)], u.flows[f.Name] = true, true
		}
	}
	if err := s.Override(d.Plan, r.Overrides); err != nil {
		return nil, err
	}
	u.overrides = s.Overrides
	for _, name := range r.ResetCheckpointSelection {
		i := slices.IndexFunc(d.Plan.Flows, func(f *plan.Flow) bool { return f.Name == name })
		if i < 0 {
			return nil, d.noFlow(name)
		}
		u.targets[target(d.Plan.Flows[i])], u.flows[name] = true, true
		if !slices.Contains(u.resets.flows, name) {
			u.resets.flows = append(u.resets.flows, name)
		}
	}
	return u, nil
}

// admit takes an update among those at work, unless one of them is the same, or works on one of its tables.
func (d *Daemon) admit(u *update) (id string, fresh bool, err error) {
	d.updates.mu.Lock()
	defer d.updates.mu.Unlock()
	for _, other := range d.updates.all {
		if other.info.Over() {
			continue
		}
		if sameRequest(&other.info.UpdateRequest, &u.info.UpdateRequest) {
			return other.info.ID, false, nil
		}
		for t := range u.targets {
			if other.targets[t] {
				return "", false, fault.New(fault.UpdateActive, "update %s is at work on %s", other.info.ID, strings.TrimPrefix(strings.TrimPrefix(t, plan.TargetTable), plan.TargetSink)).
					WithHint("wait for its end")
			}
		}
	}
	d.keep(u, "QUEUED")
	return u.info.ID, true, nil
}

func sameRequest(a, b *admin.UpdateRequest) bool {
	return a.FullRefresh == b.FullRefresh && a.AcceptLoss == b.AcceptLoss && a.ValidateOnly == b.ValidateOnly && slices.Equal(a.RefreshSelection, b.RefreshSelection) &&
		slices.Equal(a.FullRefreshSelection, b.FullRefreshSelection) && slices.Equal(a.ResetCheckpointSelection, b.ResetCheckpointSelection) &&
		slices.Equal(a.Overrides, b.Overrides)
}

// remember keeps an update in its last state and returns its id.
func (d *Daemon) remember(u *update, state string) string {
	d.updates.mu.Lock()
	defer d.updates.mu.Unlock()
	d.keep(u, state)
	return u.info.ID
}

// keep adds an update, and forgets the oldest that have ended.
func (d *Daemon) keep(u *update, state string) {
	u.info.State = state
	all := append(d.updates.all, u)
	for i := 0; len(all) > keptUpdates && i < len(all); {
		if all[i].info.Over() {
			all = slices.Delete(all, i, i+1)
		} else {
			i++
		}
	}
	d.updates.all = all
}

// Updates are the run itself and the updates that were asked for, newest first.
func (d *Daemon) Updates() []admin.UpdateInfo {
	run := d.watch.Status()
	mode := "DEFAULT"
	if run.Continuous {
		mode = "CONTINUOUS"
	}
	d.updates.mu.Lock()
	defer d.updates.mu.Unlock()
	var out []admin.UpdateInfo
	for _, u := range slices.Backward(d.updates.all) {
		out = append(out, u.info)
	}
	return append(out, admin.UpdateInfo{ID: run.Update.ID, Pipeline: d.Plan.Name, Mode: mode, State: run.Update.State, Created: d.began, Error: run.Update.Error,
		UpdateRequest: admin.UpdateRequest{Cause: "USER_ACTION"}})
}

// progress tells of the state of an update.
func (d *Daemon) progress(u *update, state string, err *fault.Error) {
	d.updates.mu.Lock()
	u.info.State, u.info.Error = state, admin.ErrorOf(err)
	d.updates.mu.Unlock()
	d.emit(&eventlog.UpdateProgress{Update: u.info.ID, State: state, Err: err})
}

// ended tells how an update has ended.
func (d *Daemon) ended(u *update, err error) {
	switch {
	case err == nil:
		d.progress(u, "COMPLETED", nil)
	case errors.Is(err, context.Canceled):
		d.progress(u, "CANCELED", nil)
	default:
		d.progress(u, "FAILED", fault.From(err))
	}
}

// carryOut does what an update asks for.
func (d *Daemon) carryOut(ctx context.Context, u *update) error {
	d.progress(u, "INITIALIZING", nil)
	defer d.hold(u)()
	if len(u.resets.flows) > 0 {
		d.progress(u, "RESETTING", nil)
		if err := d.resetRunning(ctx, &u.resets); err != nil {
			return err
		}
	}
	d.progress(u, "RUNNING", nil)
	var resting []*job
	for _, j := range d.jobs {
		switch {
		case !j.endless():
			if u.flows[j.plan.Name] {
				resting = append(resting, j)
			}
			continue
		case !u.targets[target(j.plan)] || d.board.State(j.plan.Name).Status != eventlog.Failed:
			continue
		}
		select {
		case d.again <- j.plan.Name:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := d.updateWindows(ctx, u); err != nil {
		return err
	}
	err := d.runResting(ctx, u, resting)
	if err != nil && ctx.Err() == nil {
		err = errors.Join(err, d.takeBack(u.resets.ordered))
	}
	if err != nil {
		return err
	}
	return d.store.Sync(ctx) // whoever is told that it is COMPLETED can rely on it
}

// resetRunning resets tables and flows while all others run. Those concerned, and flows that read the tables, stand still meanwhile.
func (d *Daemon) resetRunning(ctx context.Context, r *resets) error {
	d.resetting.Lock()
	defer d.resetting.Unlock()
	var still []*job
	for _, j := range slices.Backward(d.jobs) { // first those that wait for others: once they go on, the others have begun anew
		if in := j.plan.Input.Table; slices.Contains(r.flows, j.plan.Name) || in != nil && slices.Contains(r.tables, in.Name) {
			still = append(still, j)
		}
	}
	return d.between(ctx, still, func(ctx context.Context) error {
		if err := d.warnReaders(r.tables, r.flows); err != nil {
			return err
		}
		d.emit(&eventlog.UserAction{Action: r.action(), Names: r.names})
		var err error
		if r.ordered, err = d.unordered(r.renewed); err != nil {
			return err
		}
		if err := d.store.Reset(r.tables, r.flows, r.renewed...); err != nil {
			return err
		}
		if err := d.openTables(ctx, r.tables); err != nil {
			return err
		}
		for _, j := range still {
			j.subscribed, j.seen = d.subscribe(ctx, j), seen{}
		}
		return nil
	})
}

// between carries something out while all of the jobs stand still. If that fails they do not go on.
func (d *Daemon) between(ctx context.Context, jobs []*job, carryOut func(context.Context) error) error {
	if len(jobs) == 0 {
		return carryOut(ctx)
	}
	begun := false
	var failure error
	err := jobs[0].between(ctx, func(context.Context) error {
		failure = d.between(ctx, jobs[1:], func(ctx context.Context) error {
			begun = true
			return carryOut(ctx)
		})
		if begun {
			return failure
		}
		return nil // nothing has happened to the job
	})
	if err == nil {
		err = failure
	}
	return err
}
