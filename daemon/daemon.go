package daemon

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/admin"
	"sluice/eval"
	"sluice/eventlog"
	"sluice/fault"
	"sluice/flow"
	"sluice/metrics"
	"sluice/plan"
	"sluice/schedule"
	"sluice/sink"
	"sluice/source/kafka/client"
	"sluice/state"
)

// Options say how a daemon runs a pipeline.
type Options struct {
	Plan   *plan.Pipeline
	Select Selection
	Stay   bool // a triggered pipeline stays, and serves the schedules of its tables (D-32); a continuous one does so anyway
	Log    *slog.Logger
	Build  admin.Build
	Fatal  func(error) // called once when the store cannot go on

	// For tests. Store changes how the store is opened, Engine is used for flows instead of an engine of the daemon's own,
	// OpenSink makes a flow's sink instead of the package's OpenSink, Now is the time of updates of REPLACE WHERE flows, and Listen hears every
	// event last; each may be nil. With Look, what is due is looked for when it gets something, and not after a time.
	Store    func(*state.Options)
	Engine   *eval.Engine
	OpenSink func(*plan.Pipeline, *plan.Flow, *client.Monitor) (sink.Sink, error)
	Now      func() time.Time
	Listen   eventlog.Listener
	Look     chan struct{}
}

// Daemon is a running pipeline.
type Daemon struct {
	Options
	store     *state.Store
	stream    *eval.Engine                 // one thread: flows, and queries whose result depends on order (D-22)
	parallel  func() (*eval.Engine, error) // every core: queries; opened by the first one
	opened    sync.RWMutex                 // of tables
	tables    map[string]*state.Table
	jobs      []*job
	ordered   []string         // tables whose full refresh this run has ordered and does as an update (FR-02)
	removed   []state.FlowInfo // flows of the store that the pipeline does not declare any more
	again     chan string      // flows to try once more although they failed for good
	over      <-chan struct{}  // closed when nobody hears again any more
	end       func()           // closes over
	began     time.Time
	updates   updates
	updating  chan schedule.Update
	orders    chan schedule.Order
	turns     *schedule.Turns
	wake      chan struct{} // the schedules are others than before
	update    string        // id of the run
	resetting sync.Mutex    // held while something is reset beside running flows
	board     *schedule.Board
	registry  *prometheus.Registry
	measured  *metrics.Metrics
	watch     *admin.Watch
	emit      eventlog.Listener
	turn      flow.Turn // of large batches
	closers   []func()  // in the order of building
}

// Start builds a daemon. Nothing runs before Run.
func Start(ctx context.Context, o Options) (d *Daemon, err error) {
	if o.OpenSink == nil {
		o.OpenSink = OpenSink
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	over := make(chan struct{})
	d = &Daemon{over: over, end: sync.OnceFunc(func() { close(over) }), began: time.Now().UTC(), updating: make(chan schedule.Update), orders: make(chan schedule.Order), wake: o.Look,
		Options: o, tables: map[string]*state.Table{}, again: make(chan string, 1), turn: flow.NewTurn(), registry: prometheus.NewRegistry()}
	if d.wake == nil {
		d.wake = make(chan struct{}, 1)
	}
	defer func() {
		if err != nil {
			d.Close()
			d = nil
		}
	}()
	d.measured = metrics.New(d.registry)
	d.measured.SetBuild(o.Build.Version, o.Build.Revision)
	metrics.RegisterRuntime(d.registry)
	budget := MemoryOf(o.Plan)
	if err = d.openEngines(budget); err != nil {
		return d, err
	}
	if err = d.openStore(budget); err != nil { // closed before the engine that writes its files
		return d, err
	}
	d.listen()
	d.emit(&eventlog.UpdateProgress{State: "INITIALIZING"})
	if err = d.reset(ctx); err != nil {
		return d, err
	}
	if err = d.build(ctx); err != nil {
		return d, err
	}
	d.watch.ReadStore(d.readStore)
	d.measured.ReadStore(d.readMetrics)
	return d, nil
}

func (d *Daemon) openStore(m Memory) (err error) {
	o := state.Options{Dir: d.Plan.Storage, Sealer: d.stream, RowGroup: rowGroup(m), Pipeline: d.Plan.Name, SyncInterval: d.Plan.Settings.SyncInterval, CacheSize: m.Cache,
		MemTableSize: m.Memtable, FloorBudget: m.Floors, FeedAhead: m.Feed, Logger: d.Log, OnFault: d.Fatal, OnForget: d.forgotten, OnCommit: d.measured.ObserveCommit, OnSync: d.measured.ObserveFsync}
	if d.Options.Store != nil {
		d.Options.Store(&o)
	}
	if d.store, err = state.Open(o); err != nil {
		return err
	}
	d.onClose(func() { d.logged("closing the store", d.store.Close()) })
	return nil
}

func (d *Daemon) openEngines(m Memory) (err error) {
	if d.stream = d.Engine; d.stream == nil {
		if d.stream, err = eval.Open(eval.Options{Threads: 1, MemoryLimit: m.Engine, TempDir: spillFlows(d.Plan.Storage), Zone: d.Plan.Zone, Files: filesIn(d.Plan.Storage)}); err != nil {
			return err
		}
		d.onClose(func() { d.logged("closing the engine", d.stream.Close()) })
	}
	var opened *eval.Engine
	d.parallel = sync.OnceValues(func() (_ *eval.Engine, err error) {
		opened, err = eval.Open(eval.Options{Threads: m.Threads, MemoryLimit: m.Queries, TempDir: spillQueries(d.Plan.Storage), Zone: d.Plan.Zone})
		return opened, err
	})
	d.onClose(func() {
		if opened != nil {
			d.logged("closing the engine", opened.Close())
		}
	})
	return nil
}

// listen joins everybody who wants to know what happens.
func (d *Daemon) listen() {
	d.update = newUpdateID()
	d.watch = admin.NewWatch(d.Plan.Name, d.Build.Version, d.update, d.Plan.Continuous)
	durable := eventlog.NewDurable(d.Plan.Name, d.update, 5*time.Second, func(record func(uint64) []byte) {
		d.logged("keeping an event", d.store.AppendEvent(record))
	})
	d.onClose(durable.Flush)
	listeners := []eventlog.Listener{d.watch.Listen, d.measured.Listen, durable.Listen, d.tell}
	if d.Listen != nil {
		listeners = append(listeners, d.Listen)
	}
	d.emit = d.concealing(eventlog.Tee(listeners...))
	d.board = schedule.NewBoard(d.emit)
}

// tell writes an event to the log, what came out of records at level debug only.
func (d *Daemon) tell(e eventlog.Event) {
	level, whole, text := logLevels[e.Level()], e.String(), eventlog.WithoutPayload(e).String()
	d.Log.Log(context.Background(), level, text, "event", e.Type())
	if whole != text && level > slog.LevelDebug {
		d.Log.Debug(whole, "event", e.Type())
	}
}

var logLevels = map[eventlog.Level]slog.Level{eventlog.Info: slog.LevelInfo, eventlog.Warn: slog.LevelWarn, eventlog.Error: slog.LevelError, eventlog.Metrics: slog.LevelDebug}

// Run runs every flow until all have ended or take ends. Soft stop is take, hard stop is do.
func (d *Daemon) Run(take, do context.Context) schedule.Result {
	d.emit(&eventlog.UpdateProgress{State: "RUNNING"})
	c := schedule.Config{Continuous: d.Plan.Continuous, Stay: d.Stay, RetryTimeout: d.Plan.Settings.RetryTimeout, Board: d.board, Excluded: d.Select.excluded(d.Plan),
		Again: d.again, Updates: d.updating, Orders: d.orders, Wake: d.wake}
	if d.serving() {
		c.Turns = d.dueTurns
	}
	for _, j := range d.jobs {
		c.Jobs = append(c.Jobs, j.scheduled())
	}
	defer d.end()
	result := schedule.Run(take, do, c)
	if !d.Plan.Continuous && take.Err() == nil {
		d.logged("taking back full refreshes that failed", d.takeBack(d.failedRenewals()))
	}
	switch {
	case len(result.Failed) > 0:
		d.emit(&eventlog.UpdateProgress{State: "FAILED"})
	case result.Stopped:
		d.emit(&eventlog.UpdateProgress{State: "CANCELED", Cause: "stopped"})
	default:
		d.emit(&eventlog.UpdateProgress{State: "COMPLETED"})
	}
	return result
}

// State is the open store.
func (d *Daemon) State() *state.Store { return d.store }

// Status is what every flow is doing.
func (d *Daemon) Status() admin.Status { return d.watch.Status() }

// Metrics is what the daemon measures.
func (d *Daemon) Metrics() prometheus.Gatherer { return d.registry }

// Events calls visit with the events behind a sequence number, in order, until it returns false.
func (d *Daemon) Events(ctx context.Context, after uint64, visit func(eventlog.Record) bool) error {
	return Events(ctx, d.store, after, visit)
}

// Query runs one SELECT over the tables as of now. What it shows is durable.
func (d *Daemon) Query(ctx context.Context, sql string) (admin.Rows, error) {
	if err := d.store.Sync(ctx); err != nil {
		return nil, err
	}
	parallel, err := d.parallel()
	if err != nil {
		return nil, err
	}
	return Query(ctx, d.store, d.stream, parallel, d.Plan.Zone, sql)
}

// ResetCheckpoint makes a flow start anew from an empty checkpoint, between two of its batches when it is running, once more
// when it has failed, and returns its new generation (FR-13).
func (d *Daemon) ResetCheckpoint(ctx context.Context, flow string) (uint64, error) {
	for _, j := range d.jobs {
		if j.plan.Name == flow {
			err := j.between(ctx, j.resetNow)
			return j.state.Generation(), err
		}
	}
	return 0, d.noFlow(flow)
}

func (d *Daemon) noFlow(name string) error {
	return fault.New(fault.FlowNotFound, "the pipeline has no flow %q", name)
}

// Close stops what was built, in reverse. Run must have returned.
func (d *Daemon) Close() {
	d.end()
	for i := len(d.closers) - 1; i >= 0; i-- {
		d.closers[i]()
	}
	d.closers = nil
}

func (d *Daemon) onClose(f func()) { d.closers = append(d.closers, f) }

func (d *Daemon) logged(what string, err error) {
	if err != nil {
		d.Log.Error(what, "error", err)
	}
}

func newUpdateID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
