package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"sluice/admin"
	"sluice/catalog"
	"sluice/eventlog"
	"sluice/fault"
	"sluice/plan"
	"sluice/schedule"
	"sluice/state"
	"sluice/syntax"
	"sluice/timetable"
)

// definitionSchedule begins the names under which a store keeps the records of schedules.
const definitionSchedule = "schedule "

// readSchedule is a table's schedule as a store keeps it, held against the definition. dropped is what ALTER said until now and the definition
// has taken out of force by another clause (D-32).
func readSchedule(store *state.Store, t *plan.Table, now time.Time) (r schedule.Record, inForce *timetable.Timetable, dropped string, err error) {
	text, err := store.Definition(definitionSchedule + t.Name)
	if err != nil {
		return r, nil, "", err
	}
	if text != nil {
		if err := json.Unmarshal(text, &r); err != nil {
			return r, nil, "", fault.New(fault.InternalError, "the store's record of the schedule of %s cannot be read", t.Display).Because(err)
		}
	}
	inForce, dropped, err = r.Settle(t.Schedule, now)
	return r, inForce, dropped, err
}

// keepSchedule stores a record, on disk when it returns.
func keepSchedule(store *state.Store, table string, r schedule.Record) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := store.PutDefinitions(map[string][]byte{definitionSchedule + table: text}); err != nil {
		return err
	}
	return store.Sync(context.Background())
}

// openSchedules reads how the schedules of the tables stand.
func (d *Daemon) openSchedules() error {
	var tables []schedule.Timed
	now := d.Now()
	excluded := d.Select.excluded(d.Plan)
	for _, t := range d.Plan.Tables {
		r, inForce, dropped, err := readSchedule(d.store, t, now)
		if err != nil {
			return err
		}
		if dropped != "" {
			d.emit(&eventlog.UpdateWarning{Err: fault.New(fault.ScheduleAlterationDropped, "the definition of %s has another schedule now, and %s, as ALTER said, does not hold any more", t.Display, dropped)})
		}
		if inForce != nil || r.File != "" || r.Altered != nil || dropped != "" {
			if err := keepSchedule(d.store, t.Name, r); err != nil {
				return err
			}
		}
		off := slices.ContainsFunc(d.Plan.Flows, func(f *plan.Flow) bool { return f.Table == t && excluded[f.Name] })
		tables = append(tables, schedule.Timed{Table: t.Name, Display: t.Display, Schedule: inForce, Record: r, Off: off, Versions: func() map[string]string { return d.versions(t) }})
	}
	d.turns = schedule.NewTurns(schedule.Clockwork{Now: d.Now, Emit: d.emit, Poll: d.Plan.Settings.TriggerInterval,
		Keep: func(table string, r schedule.Record) error { return keepSchedule(d.store, table, r) }}, tables)
	return nil
}

// versions are those of the tables that are read for a table.
func (d *Daemon) versions(t *plan.Table) map[string]string {
	out := map[string]string{}
	for _, s := range d.Plan.Sources(t) {
		t := d.table(s.Name)
		out[s.Name] = fmt.Sprint(t.Generation(), "/", t.Version())
	}
	return out
}

// serving reports whether the daemon stays and serves schedules.
func (d *Daemon) serving() bool { return d.Plan.Continuous || d.Stay }

// hasSchedule reports whether the flow's table has a schedule that is served.
func (j *job) hasSchedule() bool {
	return j.d.serving() && j.plan.Table != nil && j.d.turns.Scheduled(j.plan.Table.Name)
}

// endless reports whether the flow goes on until it is stopped.
func (j *job) endless() bool { return j.d.Plan.Continuous && !j.hasSchedule() }

// rests reports whether the flow waits for a turn of its table when the run begins. What the run was asked for by name begins at once.
func (j *job) rests() bool {
	s := j.d.Select
	return j.hasSchedule() && !s.All && !s.Refresh[target(j.plan)] && !s.FullRefresh[target(j.plan)]
}

// dueTurns are the turns to be taken now.
func (d *Daemon) dueTurns() (out []schedule.Update, wait time.Duration) {
	due, wait, err := d.turns.Due()
	d.logged("keeping a schedule", err)
	if d.Look != nil {
		wait = math.MaxInt64
	}
	for _, turn := range due {
		left := false
		out = append(out, schedule.Update{
			Run: func(do context.Context) (err error) { left, err = d.takeTurn(do, turn); return err },
			Ended: func(err error) {
				if !left {
					d.endTurn(turn, err)
				}
			},
		})
	}
	return out, wait
}

// takeTurn refreshes a table whose turn has come; left says that an update was at work on it.
func (d *Daemon) takeTurn(do context.Context, turn schedule.Turn) (left bool, err error) {
	u, err := d.plannedUpdate(admin.UpdateRequest{RefreshSelection: []string{turn.Table}, Cause: "JOB_TASK"})
	if err != nil {
		return false, err
	}
	_, fresh, err := d.admit(u)
	if err == nil && !fresh || fault.Of(err, fault.UpdateActive) {
		return true, d.turns.Leave(turn)
	}
	if err != nil {
		return false, err
	}
	if err = d.turns.Begin(turn, u.info.ID); err == nil {
		err = d.carryOutInTime(do, u)
	}
	d.ended(u, err)
	return false, err
}

// carryOutInTime carries an update out within sluice.refresh_timeout (SC-07).
func (d *Daemon) carryOutInTime(do context.Context, u *update) error {
	limit := d.Plan.Settings.RefreshTimeout
	tooLate := fault.New(fault.RefreshTimeout, "the refresh has not ended within the %v of sluice.refresh_timeout", limit).WithHint("what it has committed stays; the next turn goes on")
	ctx, cancel := context.WithTimeoutCause(do, limit, tooLate)
	defer cancel()
	err := d.carryOut(ctx, u)
	if err != nil && do.Err() == nil && ctx.Err() != nil {
		return tooLate
	}
	return err
}

func (d *Daemon) endTurn(turn schedule.Turn, err error) {
	stopped := errors.Is(err, context.Canceled)
	var failure *fault.Error
	if err != nil && !stopped {
		failure = fault.From(err)
	}
	d.logged("keeping a schedule", d.turns.End(turn, stopped, failure))
}

// runResting runs flows that do not run by themselves, as one order, and returns when all have ended. When ctx ends they are broken off.
func (d *Daemon) runResting(ctx context.Context, u *update, jobs []*job) error {
	if len(jobs) == 0 {
		return nil
	}
	var names []string
	for _, j := range jobs {
		names = append(names, j.plan.Name)
		defer j.underOrder(ctx, u)()
	}
	answer := make(chan []schedule.State, 1)
	select {
	case d.orders <- schedule.Order{Flows: names, Ended: func(s []schedule.State) { answer <- s }}:
		return outcomeOf(<-answer)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// outcomeOf is what flows have come to, as one error.
func outcomeOf(states []schedule.State) error {
	for _, s := range states {
		switch s.Status {
		case eventlog.Failed:
			return s.Err
		case eventlog.Skipped:
			return fault.New(fault.RunFailed, "flow %s was skipped: %s", s.Flow, s.Reason)
		case eventlog.Stopped, eventlog.Queued:
			return context.Canceled
		}
	}
	return nil
}

// underOrder says that an update has the flow run, until release is called.
func (j *job) underOrder(ctx context.Context, u *update) (release func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ordered, j.update = ctx, u
	return func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.ordered, j.update = nil, nil
	}
}

// updateAtWork is the update that has the flow run, or nil.
func (j *job) updateAtWork() *update {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.update
}

// runOrdered runs the flow; one that an update has run ends when that does.
func (j *job) runOrdered(take, do context.Context, say func(string)) error {
	j.mu.Lock()
	ordered := j.ordered
	j.mu.Unlock()
	if ordered == nil {
		return j.run(take, do, say)
	}
	taking, stop := context.WithCancel(take)
	defer stop()
	doing, end := context.WithCancel(do)
	defer end()
	defer context.AfterFunc(ordered, func() { stop(); end() })()
	err := j.run(taking, doing, say)
	if ordered.Err() != nil && do.Err() == nil {
		return context.Cause(ordered)
	}
	return err
}

// alterSchedule gives a table another schedule, or none. It holds until the clause of the definition is another one (D-32).
func (d *Daemon) alterSchedule(ctx context.Context, t *plan.Table, action string, to *timetable.Timetable) error {
	if err := d.turns.Alter(t.Name, action, to); err != nil {
		return err
	}
	d.emit(altered(t, action))
	select {
	case d.wake <- struct{}{}:
	default: // it is about to look
	}
	return d.rejoin(ctx, t)
}

// rejoin has the flows into a table of a continuous pipeline go on, or end, as its schedule says now.
func (d *Daemon) rejoin(ctx context.Context, t *plan.Table) error {
	if !d.Plan.Continuous {
		return nil
	}
	var idle []string
	for _, j := range d.jobs {
		if j.plan.Table != t {
			continue
		}
		if j.endless() {
			idle = append(idle, j.plan.Name)
		} else if err := j.between(ctx, func(context.Context) error { return nil }); err != nil { // it goes on to its end only
			return err
		}
	}
	if idle == nil {
		return nil
	}
	select {
	case d.orders <- schedule.Order{Flows: idle, Ended: func([]schedule.State) {}}:
	case <-d.over:
	case <-ctx.Done():
	}
	return nil
}

// alterSchedule runs ALTER STREAMING TABLE ... ADD, ALTER or DROP SCHEDULE (SC-06), and answers with the schedule in force.
func (x *Executor) alterSchedule(ctx context.Context, a *syntax.Alter) (admin.Rows, error) {
	t, to, err := alterationOf(x.plan, a)
	if err != nil {
		return nil, err
	}
	alter := x.alter
	if alter == nil {
		alter = x.alterStored
	}
	if err := alter(ctx, t, a.Action, to); err != nil {
		return nil, err
	}
	out := &answer{columns: []admin.Column{{Name: "table", Type: "STRING"}, {Name: "schedule", Type: "STRING"}}, row: []any{t.Display, nil}}
	if to != nil {
		out.row[1] = to.String()
	}
	return out, nil
}

// alterStored is Daemon.alterSchedule on the store of a stopped daemon.
func (x *Executor) alterStored(_ context.Context, t *plan.Table, action string, to *timetable.Timetable) error {
	now := x.now()
	r, _, _, err := readSchedule(x.store, t, now)
	if err != nil {
		return err
	}
	if r, err = r.Alter(action, to, now); err != nil {
		return err
	}
	x.emit(altered(t, action))
	return keepSchedule(x.store, t.Name, r)
}

// alterationOf checks an ALTER: the table, and the schedule that it is to have, nil for none.
func alterationOf(p *plan.Pipeline, a *syntax.Alter) (t *plan.Table, to *timetable.Timetable, err error) {
	if t, err = tableNamed(p, catalog.Show(a.Name)); err != nil {
		return nil, nil, err
	}
	if a.Materialized {
		return nil, nil, fault.New(fault.TableNotFound, "%s is a streaming table", t.Display).At(a.Name.Pos).WithHint("write ALTER STREAMING TABLE %s", t.Display)
	}
	if a.Schedule == nil {
		return t, nil, nil
	}
	if to, err = timetable.Of(a.Schedule); err != nil {
		return nil, nil, err
	}
	if e := p.CheckSchedule(t, to); e != nil {
		return nil, nil, e.At(a.Schedule.Pos)
	}
	return t, to, nil
}

func altered(t *plan.Table, action string) *eventlog.UserAction {
	return &eventlog.UserAction{Action: strings.ToLower(action) + " schedule", Names: []string{t.Display}}
}

// StoredSchedule is how the schedule of a table stands in the store of a stopped daemon, nil without one.
func StoredSchedule(store *state.Store, t *plan.Table, now time.Time) (*admin.Schedule, error) {
	r, inForce, _, err := readSchedule(store, t, now)
	return scheduleOf(r.Standing(inForce, now)), err
}

// Unserved are the tables whose schedules this run does not serve.
func (d *Daemon) Unserved() (out []string) {
	if d.serving() {
		return nil
	}
	for _, t := range d.Plan.Tables {
		if d.turns.Scheduled(t.Name) {
			out = append(out, t.Display)
		}
	}
	return out
}

func scheduleOf(s schedule.Standing) *admin.Schedule {
	if s.Schedule == "" && !s.Altered {
		return nil
	}
	out := &admin.Schedule{Clause: s.Schedule, Altered: s.Altered, Running: s.Running}
	if !s.Last.IsZero() {
		out.Last = &s.Last
	}
	if !s.Next.IsZero() {
		out.Next = &s.Next
	}
	return out
}
