package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"runtime"
	"time"

	"sluice/admin"
	"sluice/eval"
	"sluice/eventlog"
	"sluice/fault"
	"sluice/plan"
	"sluice/state"
	"sluice/syntax"
	"sluice/timetable"
)

// Executor runs the statements of a script over the tables of a pipeline: of a running daemon, or of one that is stopped.
type Executor struct {
	plan     *plan.Pipeline
	store    *state.Store
	ordered  *eval.Engine
	parallel func() (*eval.Engine, error)
	now      func() time.Time
	emit     eventlog.Listener
	refresh  func(context.Context, *syntax.Refresh) (admin.Rows, error)
	alter    func(ctx context.Context, t *plan.Table, action string, to *timetable.Timetable) error // nil: the store alone is altered
	closers  []func() error
}

// Execute runs one statement of a script.
func (d *Daemon) Execute(ctx context.Context, s admin.Statement) (admin.Rows, error) {
	if err := d.store.Sync(ctx); err != nil { // what a query shows is durable
		return nil, err
	}
	x := &Executor{plan: d.Plan, store: d.store, ordered: d.stream, parallel: d.parallel, now: d.Now, emit: d.emit, refresh: d.refreshSQL, alter: d.alterSchedule}
	return x.Execute(ctx, s)
}

// NewExecutor runs statements over the open store of a stopped pipeline: what depends on the order of work on one engine, the rest on the other (D-22). now
// is the time that they have, emit is told what they change.
func NewExecutor(p *plan.Pipeline, store *state.Store, ordered *eval.Engine, parallel func() (*eval.Engine, error), now func() time.Time, emit eventlog.Listener) *Executor {
	return &Executor{plan: p, store: store, ordered: ordered, parallel: parallel, now: now, emit: emit, refresh: func(context.Context, *syntax.Refresh) (admin.Rows, error) {
		return nil, fault.New(fault.InternalError, "a stopped pipeline is refreshed by a run")
	}}
}

// OpenExecutor opens the store of a stopped pipeline for statements. It has half of the memory that the daemon may use: the other half is for what
// is read and printed.
func OpenExecutor(p *plan.Pipeline) (x *Executor, err error) {
	x = &Executor{plan: p, now: time.Now}
	defer func() {
		if err != nil {
			err = errors.Join(err, x.Close())
		}
	}()
	open := func(threads int, spill string) (*eval.Engine, error) {
		e, err := eval.Open(eval.Options{Threads: threads, MemoryLimit: p.Settings.MemoryLimit / 4, Zone: p.Zone, TempDir: spill, Files: filesIn(p.Storage)})
		if err == nil {
			x.closers = append(x.closers, e.Close)
		}
		return e, err
	}
	if x.ordered, err = open(1, spillFlows(p.Storage)); err != nil {
		return x, err
	}
	parallel, err := open(runtime.GOMAXPROCS(0), spillQueries(p.Storage))
	if err != nil {
		return x, err
	}
	x.parallel = func() (*eval.Engine, error) { return parallel, nil }
	if x.store, err = state.Open(state.Options{Dir: p.Storage, Pipeline: p.Name, Sealer: x.ordered}); err != nil {
		return x, err
	}
	x.closers = append(x.closers, x.store.Close)
	emit, failed := StoredLog(p.Name, x.store)
	x.emit, x.closers = emit, append(x.closers, failed)
	return x, nil
}

// Close closes what OpenExecutor has opened.
func (x *Executor) Close() (err error) {
	for i := len(x.closers) - 1; i >= 0; i-- {
		err = errors.Join(err, x.closers[i]())
	}
	x.closers = nil
	return err
}

// Execute runs one statement.
func (x *Executor) Execute(ctx context.Context, s admin.Statement) (admin.Rows, error) {
	parsed, problems := syntax.ParseScriptStatement(s.Text, s.Position())
	if err := problems.Err(); err != nil {
		return nil, err
	}
	switch s := parsed.(type) {
	case *syntax.SelectStatement:
		parallel, err := x.parallel()
		if err != nil {
			return nil, err
		}
		return selectRows(ctx, x.store, x.ordered, parallel, x.plan.Zone, s.Query)
	case *syntax.InsertStatement:
		return x.insert(ctx, s)
	case *syntax.UpdateStatement:
		return x.update(ctx, s)
	case *syntax.DeleteStatement:
		return x.delete(ctx, s)
	case *syntax.Refresh:
		return x.refresh(ctx, s)
	case *syntax.Alter:
		return x.alterSchedule(ctx, s)
	case *syntax.DescribeHistory:
		return x.describe(s)
	}
	return nil, fault.New(fault.InternalError, "a statement of kind %T cannot be run", parsed)
}

// engine is where a query runs, see Daemon.engine.
func (x *Executor) engine(ordered bool) (*eval.Engine, error) {
	if ordered {
		return x.ordered, nil
	}
	return x.parallel()
}

// answer is one row, as the result of a statement that is no query.
type answer struct {
	columns []admin.Column
	row     []any
	wait    func(context.Context) ([]any, error) // gives the row, when it is not there at once
	done    bool
}

// counted is an answer of counts.
func counted(names []string, counts ...int64) *answer {
	a := &answer{}
	for i, n := range counts {
		a.columns, a.row = append(a.columns, admin.Column{Name: names[i], Type: "BIGINT"}), append(a.row, n)
	}
	return a
}

// Columns implements admin.Rows.
func (a *answer) Columns() []admin.Column { return a.columns }

// Next implements admin.Rows.
func (a *answer) Next(ctx context.Context) (lines []byte, rows int, err error) {
	if a.done {
		return nil, 0, io.EOF
	}
	if a.done = true; a.wait != nil {
		if a.row, err = a.wait(ctx); err != nil {
			return nil, 0, err
		}
	}
	line, err := json.Marshal(a.row)
	return append(line, '\n'), 1, err
}

// Close implements admin.Rows.
func (a *answer) Close() error { return nil }
