package trial

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"sluice/batch"
	"sluice/daemon"
	"sluice/eventlog"
	"sluice/fault"
	"sluice/internal/broker"
	"sluice/internal/disk"
	"sluice/plan"
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
	for _, f := range s.Plan.Flows { // the sinks of the harmless plan have lost their options
		if f.Sink == nil {
			continue
		}
		t, err := targetOf(f)
		if err != nil {
			return nil, err
		}
		w.folds[f.Name] = newFold(f.Query.Columns, t)
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
		Store: w.onDisk,
		Now:   func() time.Time { return w.Now },
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
	}
	if len(s.due) > 0 {
		return true, s.reset()
	}
	if s.left != nil {
		return true, nil
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
		s.again(e.Flow)
		if s.chaos.strikes() {
			s.crash()
		}
	}
}

// crash is a power cut: nothing reaches disk or sinks any more. It waits for sinks that are writing. Of what was not synced a
// random part reaches the disk; half of the times all has just been synced, so that crash after crash gets somewhere. A daemon
// that stops may still crash; one that has crashed may not, and the next one does instead.
func (s *session) crash() {
	s.power.Lock()
	defer s.power.Unlock()
	if s.dark {
		s.chaos.spare()
		return
	}
	survivors, synced := s.chaos.survivors()
	if synced {
		_ = s.daemon.State().Sync(context.Background())
	}
	s.dark = true
	s.left = s.disk.CrashClone(survivors)
	s.crashes++
	s.soft()
	s.hard()
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
		s.mu.Lock()
		s.due[flow] = at
		s.mu.Unlock()
		s.soft()
	}
}

// repeatable reports whether nothing comes of it when a flow reads again what it has read. In a keyed table a row whose position
// is known is not stored twice (D-1); a change feed gives the rows of its table instead, at other positions (D-41), and a table
// that forgets has forgotten them (D-16).
func repeatable(f *plan.Flow) bool {
	in := &f.Input
	return f.Table != nil && f.Table.Keys != nil && in.Kind != plan.FromChangeFeed && (in.Table == nil || in.Table.Retention == "forever")
}

// reset resets the checkpoints that are due in a store that nobody uses. A flow of which a crash has left nothing reads all anew
// by itself: that is no redelivery.
func (s *session) reset() error {
	store, err := s.store(false)
	if err != nil {
		return err
	}
	for flow, at := range s.due {
		stored, err := store.Flow(flow)
		if err != nil {
			return errors.Join(err, store.Close())
		}
		if len(stored.Info().Position) == 0 {
			continue
		}
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
	o := state.Options{Dir: w.plan.Storage, Pipeline: w.plan.Name, ReadOnly: readOnly}
	w.onDisk(&o)
	return state.Open(o)
}

// onDisk has a store on the disk in memory, the files of its tables too.
func (w *world) onDisk(o *state.Options) {
	o.FS, o.Sealer = w.disk, disk.NewMirror(w.disk, w.engine, w.engine.Files())
}
