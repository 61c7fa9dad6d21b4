package trial

import (
	"context"
	"errors"

	"sluice/batch"
	"sluice/plan"
	"sluice/sink"
	"sluice/source/kafka/client"
)

// openSink makes what stands in for the sink of a flow.
func (s *session) openSink(_ *plan.Pipeline, f *plan.Flow, _ *client.Monitor) (sink.Sink, error) {
	var out sink.Sink = &keeper{s.folds[f.Name]}
	if s.shuffled {
		out = s.harm.sink(out)
	}
	return &powered{out, s}, nil
}

// keeper writes to a fold.
type keeper struct{ fold *fold }

func (k *keeper) Open(ctx context.Context, _ batch.ID, _ bool) error { return ctx.Err() }
func (k *keeper) Close() error                                       { return nil }
func (k *keeper) Write(ctx context.Context, id batch.ID, rows sink.Rows) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return k.fold.accept(id, rows)
}

// powered is a sink that writes nothing after a crash of its daemon. It is also where some crashes come: before the sink has
// accepted a batch that the store has planned, and after it, before the store learns of it.
type powered struct {
	sink.Sink
	session *session
}

var errDark = errors.New("the daemon crashed")

func (p *powered) Write(ctx context.Context, id batch.ID, rows sink.Rows) error {
	if p.session.chaos.strikes() {
		p.session.crash()
	}
	if err := p.deliver(ctx, id, rows); err != nil {
		return err
	}
	if p.session.chaos.strikes() {
		p.session.crash()
	}
	return nil
}

func (p *powered) deliver(ctx context.Context, id batch.ID, rows sink.Rows) error {
	p.session.power.RLock()
	defer p.session.power.RUnlock()
	if p.session.dark {
		return errDark
	}
	return p.Sink.Write(ctx, id, rows)
}

// Harm is done to rehearsed runs, so that a test sees that it is noticed. The zero value is none.
type Harm struct {
	Sink    func(sink.Sink) sink.Sink // called for each sink that is opened
	Topic   func(Topic) Topic         // called for each topic that is filled
	Appends bool                      // flows into append tables read again, too
	Blind   bool                      // what the planner leaves out is compared, too
}

func (h Harm) sink(s sink.Sink) sink.Sink {
	if h.Sink == nil {
		return s
	}
	return h.Sink(s)
}
