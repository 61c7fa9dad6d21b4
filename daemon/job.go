package daemon

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"sluice/backfill"
	"sluice/batch"
	"sluice/eventlog"
	"sluice/fault"
	"sluice/flow"
	"sluice/format"
	"sluice/option"
	"sluice/plan"
	"sluice/schedule"
	"sluice/source"
	sourcekafka "sluice/source/kafka"
	"sluice/source/kafka/client"
	"sluice/state"
)

// job is one flow of the daemon. What it holds outside (source, sink, statement) is opened at each try and closed after it,
// so that a try never meets what a failed one left.
type job struct {
	d     *Daemon
	plan  *plan.Flow
	state *state.Flow
	// subscribed is why the flow cannot read its table, or nil: it fails, and nobody else (D-28).
	subscribed error
	looked     bool            // it was told which columns the first records of this start did not have
	brokers    *client.Monitor // nil for a flow that has nothing to do with Kafka
	starting   sync.Mutex      // held while the start is being fixed, by this flow or by one before it

	mu      sync.Mutex
	batches uint64             // of earlier tries
	seen    seen               // of a REPLACE WHERE flow: what it read at its last update
	held    int                // updates that compute its window themselves, and until then nobody else does
	now     *flow.Flow         // the present try
	cancel  context.CancelFunc // ends it softly
	ordered context.Context    // of the update that has the flow run; nil without one
	update  *update            // that one
	orders  []order            // things to be done between two tries
}

// order is something that is done between two tries, when nobody else uses the flow's state.
type order struct {
	carryOut func(context.Context) error
	done     chan error // told what became of it
}

// scheduled is the job as the schedule sees it.
func (j *job) scheduled() schedule.Job {
	return schedule.Job{
		Flow:    j.plan,
		Drained: func() bool { _, done := j.state.Completed(); return done },
		Ordered: func() bool { return j.state.Quarantined().Ordered > 0 },
		Batches: j.count,
		Endless: j.endless,
		Rests:   j.rests(),
		Run:     j.runOrdered,
	}
}

func (j *job) count() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.now == nil {
		return j.batches
	}
	return j.batches + j.now.Batches()
}

// run runs the flow; when something was ordered, it stops softly, carries that out and goes on (FR-13).
func (j *job) run(take, do context.Context, say func(string)) error {
	for {
		if j.before() {
			return schedule.ErrBefore
		}
		trying, cancel := context.WithCancel(take)
		j.begin(cancel)
		err := withChoices(j.plan, j.try(trying, do, say))
		cancel()
		j.warnIfBrokenOff(do, err)
		if ordered, failure := j.end(do); !ordered || failure != nil {
			if failure != nil {
				return failure
			}
			if err == nil || fault.From(err).Code.Retry != fault.Backoff {
				j.brokers.Forget()
			}
			return err
		}
	}
}

// before reports whether a once flow that this one waits for begins anew: it was reset, and this one too.
func (j *job) before() bool {
	return slices.ContainsFunc(j.d.jobs, func(other *job) bool {
		_, drained := other.state.Completed()
		return other.plan.Once && !drained && slices.Contains(j.plan.DependsOn, other.plan.Name)
	})
}

// warnIfBrokenOff tells of what the end of the grace period cut short (D-39).
func (j *job) warnIfBrokenOff(do context.Context, err error) {
	if do.Err() == nil || !errors.Is(err, do.Err()) {
		return
	}
	e := fault.New(fault.GracePeriodOver, "the flow had not finished what it had in hand when the grace period of %v was over", j.d.Plan.Settings.GracePeriod).
		WithHint("a longer sluice.grace_period gives it the time")
	if info := j.state.Info(); info.Planned {
		e.WithDetail("batch %d stays planned and comes again, with the same rows and the same number", info.NextBatch)
	} else {
		e.WithDetail("nothing of it is stored; the next start reads it again")
	}
	j.warn(e)
}

func (j *job) warn(e *fault.Error) { j.d.emit(&eventlog.FlowWarning{Flow: j.plan.Name, Err: e}) }

func (j *job) begin(cancel context.CancelFunc) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.cancel = cancel
	if j.orders != nil {
		cancel()
	}
}

// end closes the present try and carries out what was ordered meanwhile, if anything was. It fails when the flow cannot go on after it.
func (j *job) end(do context.Context) (ordered bool, failure error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.now != nil {
		j.batches += j.now.Batches()
	}
	orders := j.orders
	j.now, j.cancel, j.orders = nil, nil, nil
	for _, o := range orders {
		if failure == nil {
			failure = o.carryOut(do)
		}
		o.done <- failure
	}
	return orders != nil, failure
}

// between carries something out between two batches of the flow when it is running, else at once. One that has failed, or has
// something to do again, is tried again. After an error of carryOut it does not go on. Whoever ends ctx meanwhile takes the order back, unless
// it is being carried out.
func (j *job) between(ctx context.Context, carryOut func(context.Context) error) error {
	j.mu.Lock()
	if err := ctx.Err(); err != nil {
		j.mu.Unlock()
		return err
	}
	if j.cancel == nil {
		err := carryOut(context.WithoutCancel(ctx)) // what is begun is done whole, and what comes of it is done, whoever waits
		j.mu.Unlock()
		if err == nil {
			select {
			case j.d.again <- j.plan.Name:
			case <-j.d.over:
			}
		}
		return err
	}
	waiter := make(chan error, 1)
	j.orders = append(j.orders, order{carryOut, waiter})
	j.cancel()
	j.mu.Unlock()
	select {
	case err := <-waiter:
		return err
	case <-ctx.Done():
		return j.takeBack(ctx, waiter)
	}
}

// takeBack withdraws an order that nobody waits for any more. One that is out of the list was carried out: end holds the lock for as long as
// that takes. What is left of the list is not nil, since the flow was stopped for it and has to go on.
func (j *job) takeBack(ctx context.Context, waiter chan error) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	select {
	case err := <-waiter:
		return err
	default:
		j.orders = slices.DeleteFunc(j.orders, func(o order) bool { return o.done == waiter })
		return ctx.Err()
	}
}

func (j *job) resetNow(ctx context.Context) error {
	j.d.emit(&eventlog.UserAction{Action: "reset checkpoint", Names: []string{j.plan.Name}})
	if err := j.d.store.Reset(nil, []string{j.plan.Name}); err != nil {
		return err
	}
	j.subscribed, j.seen = j.d.subscribe(ctx, j), seen{}
	return j.subscribed
}

// try opens what the flow needs and runs it once.
func (j *job) try(take, do context.Context, say func(string)) (err error) {
	d := j.d
	if j.subscribed != nil {
		return j.subscribed
	}
	if j.plan.Window != nil {
		return j.recompute(take, do, say)
	}
	say("connecting")
	if err := d.fixStarts(take, j); err != nil {
		return err
	}
	in, reader, err := openInput(d.Plan, &j.plan.Input, d.input(j.plan), j.state, j.brokers, j.warn)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := j.fixStart(take, in); err != nil {
		return err
	}
	j.tellBehind(take, in)
	c := flow.Config{Plan: j.plan, Store: d.store, State: j.state, Source: in, Limit: d.batchLimit(j.plan), Turn: d.turn,
		Interval: d.Plan.Settings.TriggerInterval, Emit: d.emit, Show: showRow}
	if reader.Unseen != nil && !j.looked {
		c.Unseen = func() []format.Unseen { j.looked = true; return reader.Unseen() }
	}
	if kafka, ok := in.(*sourcekafka.Source); ok {
		group := kafka.Committer(d.Plan.Name+"."+j.plan.Name, j.durablePosition)
		defer group.Close()
		group.Moved()
		c.Emit = j.offering(group)
		var release func()
		c.Waiting, release = j.holding(kafka)
		defer release()
	}
	if j.plan.Sink != nil {
		if c.Sink, err = d.OpenSink(d.Plan, j.plan, j.brokers); err != nil {
			return err
		}
		defer c.Sink.Close()
		c.Sending = func(since time.Time) {
			d.watch.Sending(j.plan.Name, since)
			d.measured.Sending(j.plan.Name, since)
		}
	} else {
		c.Table, c.Shared = d.table(j.plan.Table.Name), d.shared(j.plan.Table)
	}
	if c.Statement, err = d.stream.Prepare(j.plan.Query); err != nil {
		return err
	}
	defer c.Statement.Close()
	f := flow.New(c)
	j.mu.Lock()
	j.now = f
	j.mu.Unlock()
	switch {
	case j.plan.Once:
		return backfill.Run(take, do, f, j.state, in, say)
	case j.endless():
		return f.Run(take, do, nil, say)
	}
	until, err := in.End(take)
	if err != nil {
		return err
	}
	return f.Run(take, do, &flow.End{Until: until}, say)
}

// shared reports whether several flows write a table.
func (d *Daemon) shared(t *plan.Table) bool {
	flows := 0
	for _, f := range d.Plan.Flows {
		if f.Table == t {
			flows++
		}
	}
	return flows > 1
}

// End is where the input of a flow ends now.
func (d *Daemon) End(ctx context.Context, flow string) (batch.Position, error) {
	for _, j := range d.jobs {
		if j.plan.Name == flow {
			in, err := openSource(d.Plan, j.plan, d.input(j.plan), j.state, nil)
			if err != nil {
				return nil, err
			}
			defer in.Close()
			return in.End(ctx)
		}
	}
	return nil, d.noFlow(flow)
}

// fixStart stores where the flow begins, at its first start in a generation (D-40).
func (j *job) fixStart(ctx context.Context, in source.Source) error {
	j.starting.Lock()
	defer j.starting.Unlock()
	if _, fixed := j.state.Start(); fixed {
		return nil
	}
	start, err := in.Start(ctx)
	if err != nil {
		return err
	}
	return j.state.SetStart(start)
}

// fixStarts stores where flows begin that have not begun yet, before j reads anything: what comes while j is at work is
// theirs to read, wherever they start (D-40). Before a once flow these are all others, and a source that may answer later
// holds it up; before another flow they are those that wait for their turn. What else is wrong with a source is for its own
// flow to say.
func (d *Daemon) fixStarts(ctx context.Context, j *job) error {
	for _, other := range d.jobs {
		if other == j || !j.plan.Once && d.board.State(other.plan.Name).Status != eventlog.Queued {
			continue
		}
		err := other.fixStartEarly(ctx)
		if err == nil || !j.plan.Once {
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if failure := fault.From(err); failure.Code.Retry == fault.Backoff {
			return option.NewMask(other.plan.Secrets...).Fault(failure).WithDetail("flow %s begins there, and what comes while %s is drained must not escape it", other.plan.Name, j.plan.Name)
		}
	}
	return nil
}

// fixStartEarly stores where the flow begins before its turn has come. A table begins where its own commits say.
func (j *job) fixStartEarly(ctx context.Context) error {
	if _, fixed := j.state.Start(); fixed || j.plan.Input.Table != nil || j.plan.Window != nil {
		return nil
	}
	in, err := openSource(j.d.Plan, j.plan, nil, j.state, j.brokers)
	if err != nil {
		return err
	}
	return errors.Join(j.fixStart(ctx, in), in.Close())
}

// durablePosition is how far the flow has read, once that is on disk.
func (j *job) durablePosition(ctx context.Context) (batch.Position, error) {
	pos := j.state.Position()
	return pos, j.d.store.Sync(ctx)
}

// offering passes events on and has the flow's positions written to its consumer group (D-17).
func (j *job) offering(group *sourcekafka.Committer) eventlog.Listener {
	return func(e eventlog.Event) {
		j.d.emit(e)
		if _, done := e.(*eventlog.BatchDone); done {
			group.Moved()
		}
	}
}
