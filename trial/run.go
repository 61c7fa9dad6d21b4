package trial

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"

	"sluice/batch"
	"sluice/daemon"
	"sluice/eventlog"
	"sluice/fault"
	"sluice/internal/broker"
	"sluice/plan"
	"sluice/sink"
	"sluice/state"
)

// world is what outlives the daemons of one run: topics, a disk, and what sinks hold.
type world struct {
	*sandbox
	plan  *plan.Pipeline
	disk  *vfs.MemFS
	folds map[string]*fold // by flow
	chaos *chaos
	variant
	tally
}

// tally counts what happened in a run.
type tally struct {
	crashes, resets int
	read            map[string]int64 // records by flow
	failed          map[string]*fault.Error
	skipped         map[string]string
}

// run lets a pipeline work off topics, through every crash and reset, and returns what came of it.
func (s *sandbox) run(ctx context.Context, topics map[string]Topic, v variant) (*outcome, error) {
	b, err := broker.Start(broker.Options{})
	if err != nil {
		return nil, err
	}
	defer b.Close()
	if s.harm.Topic != nil && v.shuffled {
		for name, t := range topics {
			topics[name] = s.harm.Topic(t)
		}
	}
	if err := fill(ctx, b, topics); err != nil {
		return nil, err
	}
	w := &world{sandbox: s, plan: s.harmless(b.Brokers(), v.limit), disk: vfs.NewCrashableMem(), folds: map[string]*fold{}, chaos: newChaos(v), variant: v}
	w.read = map[string]int64{}
	for _, f := range w.plan.Flows {
		if f.Sink != nil {
			w.folds[f.Name] = newFold(f.Query.Columns)
		}
	}
	for again := true; again; {
		if again, err = w.session(ctx); err != nil {
			return nil, err
		}
	}
	return w.outcome(ctx)
}

// session is one daemon, from its start to its end or crash.
type session struct {
	*world
	daemon     *daemon.Daemon
	soft, hard context.CancelFunc

	power sync.RWMutex // held by sinks while they write
	dark  bool         // nothing reaches a sink any more
	left  *vfs.MemFS   // after a crash: what the next daemon finds

	mu     sync.Mutex
	ending bool
	due    map[string]batch.Position // flows whose checkpoint is reset when the daemon has stopped, and how far they were
	status map[string]*eventlog.FlowProgress
	fatal  error
}

// session runs a daemon; again says that another has to go on where it ended.
func (w *world) session(ctx context.Context) (again bool, err error) {
	s := &session{world: w, due: map[string]batch.Position{}, status: map[string]*eventlog.FlowProgress{}}
	take, soft := context.WithCancel(ctx)
	do, hard := context.WithCancel(ctx)
	defer soft()
	defer hard()
	s.soft, s.hard = soft, hard
	s.daemon, err = daemon.Start(ctx, daemon.Options{
		Plan: w.plan, Engine: w.engine, Log: slog.New(slog.DiscardHandler), Listen: s.hear, OpenSink: s.openSink, Fatal: s.broke,
		Store: func(o *state.Options) { o.FS = w.disk },
	})
	if err != nil {
		return false, err
	}
	s.daemon.Run(take, do)
	s.daemon.Close()
	if err := errors.Join(ctx.Err(), s.fatal); err != nil {
		return false, err
	}
	if s.left != nil {
		w.disk = s.left
		return true, nil
	}
	if len(s.due) > 0 {
		return true, s.reset()
	}
	w.failed, w.skipped = map[string]*fault.Error{}, map[string]string{}
	for name, e := range s.status {
		switch e.Status {
		case eventlog.Failed:
			w.failed[name] = w.named(e.Err)
		case eventlog.Skipped:
			w.skipped[name] = e.Reason
		}
	}
	return false, nil
}

// broke ends a daemon whose store cannot go on.
func (s *session) broke(err error) {
	s.mu.Lock()
	s.fatal = err
	s.mu.Unlock()
	s.hard()
	s.soft()
}

// hear is called by the goroutine of the flow that an event is about.
func (s *session) hear(e eventlog.Event) {
	switch e := e.(type) {
	case *eventlog.FlowProgress:
		s.mu.Lock()
		s.status[e.Flow] = e
		s.mu.Unlock()
	case *eventlog.BatchDone:
		s.mu.Lock()
		s.read[e.Flow] += e.Outcome.Read
		s.mu.Unlock()
		if s.chaos.strikes() {
			s.crash()
		} else {
			s.again(e.Flow)
		}
	}
}

// end ends the daemon in the given way unless it ends already.
func (s *session) end(how func()) {
	s.mu.Lock()
	first := !s.ending
	s.ending = true
	s.mu.Unlock()
	if first {
		how()
	}
}

// crash is a power cut: nothing reaches disk or sinks any more. It waits for sinks that are writing. Of what was not synced a
// random part reaches the disk; every second time all has just been synced, so that crash after crash gets somewhere.
func (s *session) crash() {
	s.end(func() {
		survivors, synced := s.chaos.survivors()
		if synced {
			_ = s.daemon.State().Sync(context.Background())
		}
		s.power.Lock()
		defer s.power.Unlock()
		s.dark = true
		s.left = s.disk.CrashClone(survivors)
		s.crashes++
		s.soft()
		s.hard()
	})
}

// again stops the daemon, now and then, to reset the checkpoint of a flow, so that what was read is read again.
func (s *session) again(flow string) {
	f := s.flowOf(flow)
	if !repeatable(f) && !(s.harm.Appends && f.Table != nil) {
		return
	}
	stored, err := s.daemon.State().Flow(flow)
	if err != nil {
		return // the flow itself will find out
	}
	if at := stored.Info().Position; s.chaos.repeats(flow, at) {
		s.end(func() {
			s.mu.Lock()
			s.due[flow] = at
			s.mu.Unlock()
			s.soft()
		})
	}
}

// repeatable reports whether nothing comes of it when a flow reads again what it has read. In a keyed table a row whose position
// is known is not stored twice (D-1); a change feed gives the rows of its table instead, at other positions (D-41), and a table
// that forgets has forgotten them (D-16).
func repeatable(f *plan.Flow) bool {
	in := &f.Input
	return f.Table != nil && f.Table.Keys != nil && in.Kind != plan.FromChangeFeed && (in.Table == nil || in.Table.Retention == "forever")
}

// reset resets the checkpoints that are due in a store that nobody uses.
func (s *session) reset() error {
	store, err := s.store(false)
	if err != nil {
		return err
	}
	for flow, at := range s.due {
		s.resets++
		s.chaos.again[flow] = at
		if err := store.Reset(nil, []string{flow}); err != nil {
			return errors.Join(err, store.Close())
		}
	}
	return store.Close()
}

// store opens the store of a stopped daemon.
func (w *world) store(readOnly bool) (*state.Store, error) {
	return state.Open(state.Options{Dir: w.plan.Storage, FS: w.disk, Pipeline: w.plan.Name, ReadOnly: readOnly})
}

// openSink makes what stands in for the sink of a flow.
func (s *session) openSink(_ *plan.Pipeline, f *plan.Flow) (sink.Sink, error) {
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

// chaos decides when the power fails and what is read again.
type chaos struct {
	mu    sync.Mutex
	rng   *rand.Rand
	kills int // still to come
	gap   int // most steps to the next
	next  int // steps to the next
	dup   float64
	again map[string]batch.Position // flows that have not caught up since their reset, and how far they had been
}

func newChaos(v variant) *chaos {
	c := &chaos{rng: rand.New(rand.NewPCG(v.seed, 2)), kills: v.kills, gap: v.gap, dup: v.dup, again: map[string]batch.Position{}}
	c.draw()
	return c
}

func (c *chaos) draw() {
	c.next = 1 + c.rng.IntN(max(c.gap, 1))
}

// strikes counts a step and reports whether the power fails at it.
func (c *chaos) strikes() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kills == 0 {
		return false
	}
	if c.next--; c.next > 0 {
		return false
	}
	c.kills--
	c.draw()
	return true
}

// survivors says what of a disk outlives a crash.
func (c *chaos) survivors() (vfs.CrashCloneCfg, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return vfs.CrashCloneCfg{UnsyncedDataPercent: []int{0, 50, 100}[c.rng.IntN(3)], RNG: rand.New(rand.NewPCG(c.rng.Uint64(), 0))}, c.rng.IntN(2) == 0
}

// repeats reports whether a flow that has come to a position is to read again. Batches that it reads again do not count: it
// would never come to an end.
func (c *chaos) repeats(flow string, at batch.Position) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dup == 0 {
		return false
	}
	if before, ok := c.again[flow]; ok {
		if at.Reached(before) {
			delete(c.again, flow)
		}
		return false
	}
	return c.rng.Float64() < c.dup
}
