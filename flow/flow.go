package flow

import (
	"context"
	"sync/atomic"
	"time"

	"sluice/batch"
	"sluice/eval"
	"sluice/eventlog"
	"sluice/expect"
	"sluice/format"
	"sluice/plan"
	"sluice/replaceusing"
	"sluice/sink"
	"sluice/source"
	"sluice/state"
)

// Config is what a flow works with. The caller owns all of it and closes it after Run.
type Config struct {
	Plan      *plan.Flow
	Store     *state.Store
	State     *state.Flow
	Table     *state.Table // target; nil when Sink is set
	Shared    bool         // other flows write the table too (D-13)
	Sink      sink.Sink
	Source    source.Source
	Statement *eval.Statement
	Limit     batch.Limit   // of one batch
	Turn      Turn          // for batches beyond the limit, shared by all flows; nil: there is no other flow
	Interval  time.Duration // least time between two reads of a run without end, unless more is there than one read takes
	Emit      eventlog.Listener
	Show      func(rows batch.Columns, row int) string // a record for the message of a violated expectation
	Unseen    func() []format.Unseen                   // columns that no record has had so far, of the source's goroutine; nil when nobody is to be told
	Sending   func(since time.Time)                    // told when the sink gets a batch, and with the zero time when it has answered; may be nil
	Waiting   func() string                            // asked each second of a run: why the source returns nothing, "" when nothing is there; may be nil
}

// Flow is one flow at work. Run may be called again after it returned; it goes on where the store stands.
type Flow struct {
	plan      *plan.Flow
	store     *state.Store
	state     *state.Flow
	table     *state.Table
	shared    bool
	sink      sink.Sink
	source    source.Source
	statement *eval.Statement
	decoder   *eval.Decoder // of the reading goroutine
	limit     batch.Limit
	turn      Turn
	interval  time.Duration
	emit      eventlog.Listener
	show      func(batch.Columns, int) string
	sending   func(time.Time)
	waiting   func() string
	unseen    func() []format.Unseen // nil once it was asked
	looked    int64                  // records until then
	fresh     bool                   // nothing was read before

	checks   []expect.Check
	position batch.Position // where the reader starts
	end      *End
	batches  atomic.Uint64
	opened   bool // the sink was opened
	tied     bool // a tie was told

	// Memory that is used again from batch to batch.
	judged    expect.Result
	grouper   replaceusing.Grouper
	keys      state.Keys
	sequences batch.Keys
	groups    batch.Groups
	floors    batch.Keys
	decision  replaceusing.Decision
}

// New returns a flow that has not read anything yet.
func New(c Config) *Flow {
	f := &Flow{plan: c.Plan, store: c.Store, state: c.State, table: c.Table, shared: c.Shared, sink: c.Sink, source: c.Source, statement: c.Statement,
		limit: c.Limit, turn: c.Turn, interval: c.Interval, emit: c.Emit, show: c.Show, waiting: c.Waiting, sending: c.Sending, unseen: c.Unseen, fresh: c.State.NextBatch() == 0}
	for _, check := range c.Plan.Checks {
		f.checks = append(f.checks, expect.Check{Name: check.Name, Action: actions[check.Action]})
	}
	return f
}

// actions maps what the plan says to what expect does.
var actions = [...]expect.Action{plan.Warn: expect.Warn, plan.DropRow: expect.DropRow, plan.FailUpdate: expect.FailUpdate}

// Batches is the number of batches committed since New. It may be asked by any goroutine.
func (f *Flow) Batches() uint64 { return f.batches.Load() }

// open puts the flow where the store says it stands.
func (f *Flow) open(ctx context.Context, end *End) (err error) {
	f.end = end
	if f.decoder, err = f.statement.Decoder(); err != nil {
		return err
	}
	f.position = f.state.Position()
	if f.sink == nil || f.opened {
		return nil
	}
	next := f.state.NextBatch()
	last := f.id(max(next, 1)-1, false)
	if err := f.sink.Open(ctx, last, next > 0); err != nil {
		return err
	}
	f.opened = true
	return nil
}

// id names a batch of the flow.
func (f *Flow) id(number uint64, replay bool) batch.ID {
	who := f.store.Identity()
	return batch.ID{Pipeline: who.Pipeline, Flow: f.plan.Name, Store: who.ID, Epoch: who.Epoch, Generation: f.state.Generation(), Number: number, Replay: replay}
}

// batchTime is the time SQL sees in the next batch: a once flow has one for its whole drain (D-48).
func (f *Flow) batchTime() time.Time {
	if _, once, ok := f.state.End(); ok {
		return once
	}
	return time.Now().UTC().Truncate(time.Microsecond)
}
