package daemon

import (
	"context"
	"errors"
	"slices"
	"time"

	"sluice/admin"
	"sluice/batch"
	"sluice/eventlog"
	"sluice/fault"
	"sluice/option"
	"sluice/plan"
	"sluice/sink"
	"sluice/state"
)

// SinkFlow is a flow into a sink: what its target remembers beside what the store has sent (D-18).
type SinkFlow struct {
	Plan    *plan.Flow
	Keeps   bool // targets of this kind remember who writes to them
	Sent    Sent
	Memory  sink.Memory
	Refusal *fault.Error // why the next start would not go on, or why the target could not be asked
}

// Sent is how far a store has come with a flow into a sink.
type Sent struct {
	Store      string
	Epoch      uint64 // of the last opening
	Generation uint64
	Next       uint64   // number of the next batch; those below it were accepted
	Planned    bool     // the next batch has its rows, and may have been sent already
	Tried      []uint64 // under these epochs; nil: not known
}

// next is the first batch of the next start, if that is now.
func (s *Sent) next(p *plan.Pipeline, flow string) batch.ID {
	return batch.ID{Pipeline: p.Name, Flow: flow, Store: s.Store, Epoch: state.LeastEpoch(s.Epoch, time.Now()), Generation: s.Generation, Number: s.Next,
		Replay: s.Planned, Tried: s.Tried}
}

// SentBy returns how far a stopped store has come with a flow; one that has not run yet has sent nothing.
func SentBy(store *state.Store, flow string) (Sent, error) {
	who := store.Identity()
	s := Sent{Store: who.ID, Epoch: who.Epoch}
	flows, err := store.Flows()
	for _, f := range flows {
		if f.Name == flow {
			s.Generation, s.Next, s.Planned, s.Tried = f.Generation, f.NextBatch, f.Planned, f.Tried
		}
	}
	return s, err
}

// sentOf returns how far a running daemon has come with a flow.
func sentOf(s *admin.Status, flow string) Sent {
	out := Sent{Store: s.Store.ID, Epoch: s.Store.Epoch, Planned: true} // for all that is known here
	for i := range s.Flows {
		if f := &s.Flows[i]; f.Name == flow {
			out.Generation = f.Generation
			if f.LastBatch != nil {
				out.Next = *f.LastBatch + 1
			}
		}
	}
	return out
}

// IntoSinks are the flows of a pipeline into sinks.
func IntoSinks(p *plan.Pipeline) []*plan.Flow {
	return slices.DeleteFunc(slices.Clone(p.Flows), func(f *plan.Flow) bool { return f.Sink == nil })
}

// StoppedSinks looks at the targets of flows into sinks, beside a stopped store. It changes nothing.
func StoppedSinks(ctx context.Context, p *plan.Pipeline, store *state.Store, flows []*plan.Flow) ([]SinkFlow, error) {
	var out []SinkFlow
	for _, f := range flows {
		sent, err := SentBy(store, f.Name)
		if err != nil {
			return nil, err
		}
		out = append(out, look(ctx, p, f, sent))
	}
	return out, ctx.Err()
}

// RunningSinks is StoppedSinks beside a running daemon, whose status is asked for. Batches may come while a target is read:
// it is not ahead if it has no more than the store had afterwards, and has lost nothing if it has what the store had before.
func RunningSinks(ctx context.Context, p *plan.Pipeline, status func(context.Context) (admin.Status, error), flows []*plan.Flow) ([]SinkFlow, error) {
	before, err := status(ctx)
	if err != nil {
		return nil, err
	}
	var out []SinkFlow
	for _, f := range flows {
		out = append(out, look(ctx, p, f, sentOf(&before, f.Name)))
	}
	after, err := status(ctx)
	if err != nil {
		return nil, err
	}
	for i := range out {
		f := &out[i]
		if f.Refusal != nil && f.Refusal.Code == fault.SinkAhead {
			f.Sent, f.Refusal = sentOf(&after, f.Plan.Name), nil
			f.refuse(f.Memory.Admit(f.target(), f.Sent.next(p, f.Plan.Name), false))
		}
	}
	return out, nil
}

// askWithin bounds asking one target.
const askWithin = 30 * time.Second

// look asks the target of a flow.
func look(ctx context.Context, p *plan.Pipeline, f *plan.Flow, sent Sent) SinkFlow {
	out, next := SinkFlow{Plan: f, Sent: sent}, sent.next(p, f.Name)
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	err := withSink(p, f, func(s sink.Sink) (err error) {
		var keeper sink.Keeper
		if keeper, out.Keeps = s.(sink.Keeper); out.Keeps {
			out.Memory, err = keeper.Remembered(ctx, next)
		}
		return err
	})
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		err = fault.New(unanswered[f.Sink.Format], "no answer about the %s within %v", out.target(), askWithin)
	case err == nil && out.Keeps:
		err = out.Memory.Judge(out.target(), next)
	}
	out.refuse(err)
	return out
}

func (f *SinkFlow) target() string { return "sink " + f.Plan.Sink.Name }

// refuse takes a reason why the next start would not go on; nil is none.
func (f *SinkFlow) refuse(err error) {
	if err != nil {
		f.Refusal = option.NewMask(f.Plan.Secrets...).Fault(fault.From(err))
	}
}

// Adoptable reports whether the flow is refused for what its target remembers, so that it goes on when that is this store's.
func (f *SinkFlow) Adoptable() bool {
	return f.Keeps && f.Refusal != nil && slices.Contains([]*fault.Code{fault.SinkOtherStore, fault.SinkAhead, fault.SinkIdentityLost}, f.Refusal.Code)
}

// Adopt makes the target of a flow the store's, and says so in the event log. The store is open for writing, so that no daemon
// runs.
func Adopt(ctx context.Context, p *plan.Pipeline, store *state.Store, f *plan.Flow) error {
	sent, err := SentBy(store, f.Name)
	if err != nil {
		return err
	}
	last := batch.ID{Pipeline: p.Name, Flow: f.Name, Store: sent.Store, Epoch: sent.Epoch, Generation: sent.Generation, Number: max(sent.Next, 1) - 1}
	emit, failed := StoredLog(p.Name, store)
	emit(&eventlog.UserAction{Action: "adopt sink", Names: []string{f.Sink.Name, f.Name}})
	if err := failed(); err != nil {
		return err
	}
	return withSink(p, f, func(s sink.Sink) error {
		keeper, ok := s.(sink.Keeper)
		if !ok {
			return fault.New(fault.SinkNotAdoptable, "a sink of format %s does not remember who writes to it", f.Sink.Format)
		}
		return keeper.Adopt(ctx, last, sent.Next > 0)
	})
}

// withSink makes the sink of a flow for as long as do takes. No error tells a secret.
func withSink(p *plan.Pipeline, f *plan.Flow, do func(sink.Sink) error) (err error) {
	defer func() { err = option.NewMask(f.Secrets...).Error(err) }()
	s, err := OpenSink(p, f, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return do(s)
}
