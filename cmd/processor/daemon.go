package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sort"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/admin"
	"sluice/batch"
	"sluice/eval"
	"sluice/eventlog"
	"sluice/fault"
	"sluice/metrics"
	"sluice/plan"
	"sluice/schedule"
	"sluice/state"
)

// daemon is a running pipeline. It is built once by startDaemon and stopped in reverse by close.
type daemon struct {
	plan     *plan.Pipeline
	log      *slog.Logger
	update   string
	store    *state.Store
	stream   *eval.Engine // one thread: flows, and queries whose result depends on order (D-22)
	parallel *eval.Engine // every core: the query verb
	tables   map[string]*state.Table
	jobs     []*job
	board    *schedule.Board
	watch    *admin.Watch
	durable  *eventlog.Durable
	emit     eventlog.Listener
	server   *admin.Server
	closers  []func() // in the order of building
}

// selection is what a run refreshes (FR-16).
type selection struct {
	refresh     map[string]bool // tables; nil is all
	fullRefresh map[string]bool
	all         bool // full refresh of everything
}

// startDaemon builds a daemon. fatal is called when the store cannot go on.
func startDaemon(ctx context.Context, p *plan.Pipeline, log *slog.Logger, s selection, fatal func(error)) (d *daemon, err error) {
	d = &daemon{plan: p, log: log, update: newUpdateID(), tables: map[string]*state.Table{}}
	defer func() {
		if err != nil {
			d.close()
		}
	}()
	registry := prometheus.NewRegistry()
	measured := metrics.New(registry)
	measured.SetBuild(version, commit())
	metrics.RegisterRuntime(registry)
	budget := split(p.Settings.MemoryLimit)
	debug.SetMemoryLimit(budget.heap)
	if d.store, err = state.Open(state.Options{Dir: p.Storage, Pipeline: p.Name, SyncInterval: p.Settings.SyncInterval, CacheSize: budget.cache,
		MemTableSize: budget.memtable, FloorBudget: budget.floors, Logger: log, OnFault: fatal, OnCommit: measured.ObserveCommit, OnSync: measured.ObserveFsync}); err != nil {
		return d, err
	}
	d.onClose(func() { d.logged("closing the store", d.store.Close()) })
	if err = d.openEngines(budget); err != nil {
		return d, err
	}
	d.listen(measured)
	d.emit(&eventlog.UpdateProgress{State: "INITIALIZING"})
	if err = d.reset(s); err != nil {
		return d, err
	}
	if err = d.build(ctx); err != nil {
		return d, err
	}
	return d, d.serve(registry, measured)
}

// memory is how the one limit is split (D-30): half to the Go heap, an eighth each to the store's cache, the floors and
// the two SQL engines; memtables have what their number needs.
type memory struct{ heap, cache, memtable, floors, engine int64 }

func split(limit int64) memory {
	return memory{heap: limit / 2, cache: limit / 8, memtable: min(64<<20, limit/32), floors: limit / 8, engine: limit / 16}
}

func (d *daemon) openEngines(m memory) (err error) {
	spill := filepath.Join(d.plan.Storage, "spill")
	if d.stream, err = eval.Open(eval.Options{Threads: 1, MemoryLimit: m.engine, Zone: d.plan.Zone}); err != nil {
		return err
	}
	d.onClose(func() { d.logged("closing the engine", d.stream.Close()) })
	if d.parallel, err = eval.Open(eval.Options{Threads: runtime.GOMAXPROCS(0), MemoryLimit: m.engine, TempDir: spill, Zone: d.plan.Zone}); err != nil {
		return err
	}
	d.onClose(func() { d.logged("closing the engine", d.parallel.Close()) })
	return nil
}

// listen joins everybody who wants to know what happens.
func (d *daemon) listen(measured *metrics.Metrics) {
	d.watch = admin.NewWatch(d.plan.Name, version, d.update, d.plan.Continuous)
	d.durable = eventlog.NewDurable(d.plan.Name, d.update, 5*time.Second, func(record func(uint64) []byte) {
		d.logged("keeping an event", d.store.AppendEvent(record))
	})
	d.onClose(d.durable.Flush)
	d.emit = eventlog.Tee(d.watch.Listen, measured.Listen, d.durable.Listen, d.tell)
	d.board = schedule.NewBoard(d.emit)
}

// tell writes an event to the log.
func (d *daemon) tell(e eventlog.Event) {
	level := map[eventlog.Level]slog.Level{eventlog.Info: slog.LevelInfo, eventlog.Warn: slog.LevelWarn, eventlog.Error: slog.LevelError, eventlog.Metrics: slog.LevelDebug}[e.Level()]
	d.log.Log(context.Background(), level, e.String(), "event", e.Type())
}

// reset does the full refreshes that were asked for, before any table is opened (FR-18).
func (d *daemon) reset(s selection) error {
	if !s.all && len(s.fullRefresh) == 0 {
		return nil
	}
	var tables, flows []string
	for _, t := range d.plan.Tables {
		if !s.all && !s.fullRefresh[t.Name] {
			continue
		}
		if !t.ResetAllowed {
			if s.all { // FR-06
				d.log.Warn("the table is left out of the full refresh: pipelines.reset.allowed is false", "table", t.Display)
				continue
			}
			return fault.New(fault.TableNotResettable, "table %s must not be reset", t.Display).WithHint("it has pipelines.reset.allowed = false")
		}
		tables = append(tables, t.Name)
		for _, f := range d.plan.Flows {
			if f.Table == t {
				flows = append(flows, f.Name)
			}
		}
	}
	if s.all {
		for _, f := range d.plan.Flows {
			if f.Sink != nil {
				flows = append(flows, f.Name) // FR-10
			}
		}
	}
	d.emit(&eventlog.UserAction{Action: "full refresh", Names: tables})
	return d.store.Reset(tables, flows)
}

// build opens the tables, makes the jobs and tells who they are.
func (d *daemon) build(ctx context.Context) error {
	d.emit(&eventlog.UpdateProgress{State: "SETTING_UP_TABLES"})
	var problems fault.List
	for _, t := range d.plan.Tables {
		table, err := d.store.Table(tableSpec(t))
		if err != nil {
			var list fault.List
			if !errors.As(err, &list) {
				list = fault.List{fault.From(err)}
			}
			problems = append(problems, list...)
			continue
		}
		d.tables[t.Name] = table
	}
	if err := problems.Err(); err != nil {
		return err
	}
	for _, f := range d.plan.Flows {
		s, err := d.store.Flow(f.Name)
		if err != nil {
			return err
		}
		j := &job{d: d, plan: f, state: s}
		if err := d.subscribe(ctx, j); err != nil {
			return err
		}
		if err := d.announce(j); err != nil {
			return err
		}
		d.jobs = append(d.jobs, j)
	}
	return nil
}

// tableSpec is a planned table as the store takes it.
func tableSpec(t *plan.Table) state.TableSpec {
	spec := state.TableSpec{Name: t.Name, Fields: t.Fields, Keys: t.Keys, Sequence: t.Sequence, Feed: t.Feed, Fingerprint: t.Fingerprint}
	switch t.Retention {
	case "", "forever":
	case "consumed":
		spec.Retention = state.RetainConsumed
	default:
		spec.Retention = state.RetainFor
		spec.MaxAge = retentionAge(t.Retention)
	}
	return spec
}

// input is the table a flow reads, nil when it reads none.
func (d *daemon) input(f *plan.Flow) *state.Table {
	if f.Input.Table == nil {
		return nil
	}
	return d.tables[f.Input.Table.Name]
}

// subscribe makes a flow a reader of the table it reads (D-41).
func (d *daemon) subscribe(ctx context.Context, j *job) error {
	table := d.input(j.plan)
	if table == nil {
		return nil
	}
	return table.Subscribe(ctx, j.state, j.plan.Input.Kind == plan.FromChangeFeed)
}

// announce tells what a flow is and where it stands, and warns when its query was edited (D-62).
func (d *daemon) announce(j *job) error {
	f, info := j.plan, j.state.Info()
	e := &eventlog.FlowDefinition{Flow: f.Name, Inputs: []string{f.Input.Name}, InputKind: f.Input.Kind.String(), Schema: batch.DDL(f.Query.Columns),
		FlowType: "APPEND", Once: f.Once, DependsOn: f.DependsOn, Query: f.Text, Comment: f.Comment}
	if f.Sink != nil {
		e.SinkTarget = f.Sink.Name
	} else {
		e.Target = f.Table.Display
		if len(f.Table.Keys) > 0 {
			e.FlowType = "REPLACE_USING"
		}
	}
	d.emit(e)
	var last *uint64
	if info.NextBatch > 0 {
		n := info.NextBatch - 1
		last = &n
	}
	d.watch.Resume(f.Name, info.Generation, last, info.Position)
	if info.Fingerprint == f.Fingerprint {
		return nil
	}
	if info.Fingerprint != "" {
		d.emit(&eventlog.FlowWarning{Flow: f.Name, Err: fault.New(fault.QueryFingerprintChanged, "the query of flow %s changed; it goes on from where it stands", f.Name).
			WithHint("a full refresh computes old rows anew")})
	}
	return j.state.SetFingerprint(f.Fingerprint)
}

// run runs every flow until all have ended or take ends. Soft stop is take, hard stop is do.
func (d *daemon) run(take, do context.Context, s selection) schedule.Result {
	d.emit(&eventlog.UpdateProgress{State: "RUNNING"})
	c := schedule.Config{Continuous: d.plan.Continuous, RetryTimeout: d.plan.Settings.RetryTimeout, Board: d.board, Excluded: d.excluded(s)}
	for _, j := range d.jobs {
		c.Jobs = append(c.Jobs, j.scheduled())
	}
	result := schedule.Run(take, do, c)
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

// excluded are the flows into tables and sinks that are not selected.
func (d *daemon) excluded(s selection) map[string]bool {
	if s.all || s.refresh == nil && s.fullRefresh == nil {
		return nil
	}
	out := map[string]bool{}
	for _, f := range d.plan.Flows {
		if f.Table == nil || !s.refresh[f.Table.Name] && !s.fullRefresh[f.Table.Name] {
			out[f.Name] = true
		}
	}
	return out
}

// serve starts the HTTP server and writes where it is found (D-57).
func (d *daemon) serve(registry *prometheus.Registry, measured *metrics.Metrics) (err error) {
	d.watch.ReadStore(d.readStore)
	measured.ReadStore(d.readMetrics)
	if d.server, err = admin.Listen(admin.Config{Listen: d.plan.Settings.Listen, TokenFile: d.plan.Settings.TokenFile, Log: d.log,
		Build: admin.Build{Version: version, Revision: commit(), Go: runtime.Version()}, Metrics: metrics.Handler(registry), Status: d.watch.Status,
		Events: d.events, Query: d.query, ResetCheckpoint: d.resetCheckpoint}); err != nil {
		return err
	}
	d.onClose(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		d.logged("closing the server", d.server.Close(ctx))
	})
	where := filepath.Join(d.plan.Storage, daemonFile)
	if err := writeDaemonFile(where, daemonInfo{PID: os.Getpid(), Address: d.server.Addr(), Started: time.Now().UTC(), Version: version, TokenFile: d.plan.Settings.TokenFile}); err != nil {
		return err
	}
	d.onClose(func() { d.logged("removing "+daemonFile, os.Remove(where)) })
	return nil
}

func (d *daemon) readStore() (admin.Store, []admin.Table) {
	who := d.store.Identity()
	s := admin.Store{ID: who.ID, Epoch: who.Epoch, Path: d.plan.Storage, Bytes: int64(d.store.Metrics().DiskSpaceUsage())}
	var tables []admin.Table
	for _, t := range d.plan.Tables {
		info := d.tables[t.Name].Info()
		row := admin.Table{Name: t.Display, Rows: info.Rows, Bytes: &info.Bytes, Version: uint64(info.Version)}
		if info.Keyed {
			row.Keys = &info.KeyCount
		}
		tables = append(tables, row)
	}
	return s, tables
}

func (d *daemon) readMetrics() metrics.Store {
	store, tables := d.readStore()
	out := metrics.Store{Epoch: store.Epoch, Bytes: store.Bytes}
	for _, t := range tables {
		row := metrics.Table{Name: t.Name, Rows: t.Rows, Keys: -1, Bytes: -1}
		if t.Keys != nil {
			row.Keys = *t.Keys
		}
		if t.Bytes != nil {
			row.Bytes = *t.Bytes
		}
		out.Tables = append(out.Tables, row)
	}
	sort.Slice(out.Tables, func(i, j int) bool { return out.Tables[i].Name < out.Tables[j].Name })
	return out
}

func (d *daemon) events(ctx context.Context, after uint64, visit func(eventlog.Record) bool) error {
	return visitEvents(ctx, d.store, after, visit)
}

// visitEvents reads the log of a store in steps.
func visitEvents(ctx context.Context, s *state.Store, after uint64, visit func(eventlog.Record) bool) error {
	const step = 1000
	for ctx.Err() == nil {
		stored, err := s.Events(after+1, step)
		if err != nil {
			return err
		}
		for _, e := range stored {
			var r eventlog.Record
			if err := json.Unmarshal(e.Bytes, &r); err != nil {
				return fault.New(fault.InternalError, "event %d cannot be read", e.Sequence).Because(err)
			}
			if !visit(r) {
				return nil
			}
			after = e.Sequence
		}
		if len(stored) < step {
			return nil
		}
	}
	return ctx.Err()
}

func (d *daemon) query(ctx context.Context, sql string) (admin.Rows, error) {
	if err := d.store.Sync(ctx); err != nil {
		return nil, err
	}
	return runQuery(ctx, d.store, d.stream, d.parallel, d.plan.Zone, sql)
}

func (d *daemon) resetCheckpoint(ctx context.Context, name string) (uint64, error) {
	for _, j := range d.jobs {
		if j.plan.Name == name {
			err := j.resetCheckpoint(ctx)
			return j.state.Generation(), err
		}
	}
	return 0, unknownFlow(d.plan, name)
}

// close stops what was built, in reverse.
func (d *daemon) close() {
	for i := len(d.closers) - 1; i >= 0; i-- {
		d.closers[i]()
	}
	d.closers = nil
}

func (d *daemon) onClose(f func()) { d.closers = append(d.closers, f) }

func (d *daemon) logged(what string, err error) {
	if err != nil {
		d.log.Error(what, "error", err)
	}
}

func newUpdateID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
