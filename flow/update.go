package flow

import (
	"context"
	"time"

	"sluice/batch"
	"sluice/eval"
	"sluice/eval/dialect"
	"sluice/eventlog"
	"sluice/fault"
	"sluice/plan"
	"sluice/replacewhere"
	"sluice/state"
)

// Update is one update of a REPLACE WHERE flow (section 2.1): it computes its window in one go, from tables as of one moment, and
// takes the window's place in its table by one atomic commit. The caller owns what it works with.
type Update struct {
	Plan     *plan.Flow
	Window   *plan.Window // the flow's own, or another one for this update
	Override bool         // it is another one (PO-01)
	Store    *state.Store
	State    *state.Flow
	Table    *state.Table
	Engine   func(ordered bool) (*eval.Engine, error) // ordered: one whose results do not depend on the order of work (D-22)
	Zone     *time.Location                           // of the pipeline, whose days are slices (D-24)
	At       time.Time                                // the update's time, which SQL sees (RW-O2)
	ID       string                                   // of the pipeline's update
	Open     func(*plan.Input) (*Outside, error)      // opens a source that the query reads
	Limit    batch.Limit                              // of one read of such a source
	Emit     eventlog.Listener
	Show     func(rows batch.Columns, row int) string // a row for messages
}

// updating is an update at work.
type updating struct {
	*Update
	ctx      context.Context
	at       time.Time
	snapshot *state.Snapshot
	base     int64 // version of the table in the snapshot
	full     bool  // a full refresh of the table is ordered: everything in it goes (FR-02)
	sources  []*outside
	values   []replacewhere.Value // of the predicate, resolved (RW-O2)
	resolved string
	files    []state.FileInfo
	all      []state.FileInfo             // files in which every row lies in the window
	some     []state.FileInfo             // files in which some may
	skipped  []map[state.FileID]bool      // of each lookup: files of which no row is needed
	read     []eventlog.SourceInformation // of those that have files
	outcome  eventlog.Outcome
	errors   []eventlog.ColumnErrors
	seen     []int64 // marks of what was changed from outside in the window
	sample   string  // a row that the query gave and that lies outside
	stages   eventlog.Stages
}

// Run carries the update out. After an error nothing has been done (RW-O8).
func (u *Update) Run(ctx context.Context) error {
	end, err := u.Table.Exclude(ctx)
	if err != nil {
		return err
	}
	defer end()
	w := &updating{Update: u, ctx: ctx, at: u.At.UTC().Truncate(time.Microsecond), snapshot: u.Store.Snapshot()}
	defer w.snapshot.Close()
	if err := w.resolve(); err != nil {
		return err
	}
	if err := w.touch(); err != nil {
		return err
	}
	if err := w.prune(); err != nil {
		return err
	}
	if err := w.begin(); err != nil {
		return err
	}
	if err := w.covered(); err != nil {
		return err
	}
	w.announce()
	return w.swap()
}

// resolve computes the constants of the predicate: the same ones decide about the files, about new rows and about old ones.
func (w *updating) resolve() (err error) {
	w.values, w.resolved, err = Resolve(w.ctx, w.Window.Query.Window, w.Engine, w.at)
	return err
}

// Resolve computes the constants of a predicate at a time, and shows the predicate with them.
func Resolve(ctx context.Context, window *dialect.Window, engine func(ordered bool) (*eval.Engine, error), at time.Time) (values []replacewhere.Value, shown string, err error) {
	var row batch.Columns
	if c := window.Constants; c != nil {
		e, err := engine(c.Unordered)
		if err != nil {
			return nil, "", err
		}
		rows, err := e.Query(ctx, c, nil, at)
		if err != nil {
			return nil, "", err
		}
		defer rows.Close()
		if row, err = rows.Next(); err != nil {
			return nil, "", err
		}
	}
	constants := row
	constants.Cols = constants.Cols[:window.Values]
	return replacewhere.Values(constants), window.Resolved(row), nil
}

func (w *updating) query(c *dialect.Compiled, inputs []eval.Input) (*eval.Rows, error) {
	engine, err := w.Engine(c.Unordered)
	if err != nil {
		return nil, err
	}
	return engine.Query(w.ctx, c, inputs, w.at)
}

// touch finds the files that the window reaches into.
func (w *updating) touch() error {
	info, err := w.snapshot.Table(w.Plan.Table.Name)
	if err != nil {
		return err
	}
	w.base, w.full = info.Version, info.Renewing
	if w.files, err = w.snapshot.Files(w.Plan.Table.Name); err != nil {
		return err
	}
	if w.full {
		w.all = w.files
		return nil
	}
	for _, f := range w.files {
		switch w.Window.Query.Window.Tree.Over(Statistics(&f), w.values) {
		case replacewhere.All:
			w.all = append(w.all, f)
		case replacewhere.Some:
			w.some = append(w.some, f)
		}
	}
	return w.notice()
}

// notice finds the statements that have changed rows from outside since an update took notice of them, and may have done so in the window (DM-04).
func (w *updating) notice() error {
	marks, err := w.snapshot.Marks(w.Plan.Table.Name)
	for _, m := range marks {
		if w.Window.Query.Window.Tree.Over(Statistics(&m), w.values) != replacewhere.Never {
			w.seen = append(w.seen, m.Added)
		}
	}
	return err
}

// Statistics is what the store knows of a file, for the predicate.
func Statistics(f *state.FileInfo) *replacewhere.Stats {
	s := &replacewhere.Stats{Rows: f.Rows}
	for _, c := range f.Columns {
		s.Columns = append(s.Columns, replacewhere.Column{Known: c.Known, Min: c.Min, Max: c.Max, Nulls: c.Nulls, NaN: c.NaN})
	}
	return s
}

// announce says how the update is computed and why.
func (w *updating) announce() {
	e := &eventlog.PlanningInformation{Flow: w.Plan.Name, Target: w.Plan.Target(), Predicate: w.resolved, Time: w.at,
		Technique: []eventlog.TechniqueInformation{{MaintenanceType: eventlog.CompleteRecompute, Chosen: true, Applicable: true, Issues: w.issues()}},
		Sources:   w.read,
		Table:     eventlog.TargetInformation{Table: w.Plan.Target(), Files: len(w.files), Removed: len(w.all), Rewritten: len(w.some)}}
	for _, f := range w.files {
		e.Table.Bytes += f.Bytes
	}
	for _, s := range w.sources {
		e.Sources = append(e.Sources, s.information())
	}
	w.Emit(e)
}

// issues are the reasons for computing the whole window. Every update does: only what else speaks for it is told beside that.
func (w *updating) issues() []eventlog.IncrementalizationIssue {
	out := []eventlog.IncrementalizationIssue{{Type: "PLAN_NOT_INCREMENTALIZABLE", Prevents: true, SubType: "OPERATOR_NOT_SUPPORTED"}}
	for _, i := range []struct {
		name string
		is   bool
	}{{"FIRST_UPDATE", w.State.NextBatch() == 0}, {"EXTERNAL_CHANGE_IN_REPLACE_WINDOW", len(w.seen) > 0}, {"REPLACE_WHERE_BACKFILL", w.Override}, {"REPLACE_WHERE_NOT_DETERMINISTIC", w.Window.Query.Window.Random}} {
		if i.is {
			out = append(out, eventlog.IncrementalizationIssue{Type: i.name, Prevents: true})
		}
	}
	return out
}

// swap writes what the window holds now, and the rows outside of it that stand in one file with rows inside, and takes away the files that
// had both (RW-01, RW-02).
func (w *updating) swap() error {
	began := time.Now()
	number := w.State.NextBatch()
	s := state.Swap{Base: w.base, Update: w.ID, Predicate: w.resolved, All: w.full, Cause: w.cause(), Seen: w.seen, Advance: state.Advance{Time: w.at}, Finish: w.count}
	if c := w.Window.Query.Window.Cluster; c >= 0 {
		s.Cluster, s.Zone = w.Plan.Table.Fields[c].Name, w.Zone
	}
	rows := []*windowRows{{updating: w, open: w.computed, inside: true}}
	for _, f := range w.all {
		w.outcome.Deleted += f.Rows
		if !w.full {
			s.Remove = append(s.Remove, f.ID)
		}
	}
	for _, f := range w.some {
		s.Remove = append(s.Remove, f.ID)
		rows = append(rows, &windowRows{updating: w, open: func() (*eval.Rows, error) { return w.stored(f.ID) }})
	}
	for _, r := range rows {
		defer r.close()
		s.Rows = append(s.Rows, r)
	}
	if _, err := w.State.Swap(w.ctx, w.Table, s); err != nil {
		return err
	}
	w.stages.Commit = time.Since(began) - w.stages.Eval
	w.done(number)
	return nil
}

func (w *updating) cause() string {
	switch {
	case w.full:
		return "FULL REFRESH"
	case w.Override:
		return "REFRESH WHERE"
	}
	return "UPDATE"
}

// computed are the rows that the query gives.
func (w *updating) computed() (*eval.Rows, error) {
	inputs := make([]eval.Input, len(w.Window.Query.Reads))
	for i, l := range w.Window.Lookups {
		inputs[l.Read] = lookUp(w.snapshot, l, w.Window.Query.Reads[l.Read].Columns, w.skipped[i])
	}
	for _, s := range w.sources {
		inputs[s.plan.Read] = eval.Input{Open: func() (eval.Scan, error) { return w.scan(s) }}
	}
	return w.query(w.Window.Query, inputs)
}

// stored are the rows of a file of the table.
func (w *updating) stored(file state.FileID) (*eval.Rows, error) {
	info, err := w.snapshot.Table(w.Plan.Table.Name)
	if err != nil {
		return nil, err
	}
	kept, err := w.Window.Kept(info.Fields)
	if err != nil {
		return nil, err
	}
	columns := kept.Reads[0].Columns
	return w.query(kept, []eval.Input{{Open: func() (eval.Scan, error) {
		return w.snapshot.ScanFiles(w.Plan.Table.Name, []state.FileID{file}, columns)
	}}})
}

// windowRows are those rows of a query that lie inside the window, or those that do not (RW-O1). It is a state.Rows.
type windowRows struct {
	*updating
	open   func() (*eval.Rows, error)
	rows   *eval.Rows // nil before the first and after the last
	inside bool       // they are new ones, else they are kept
}

// Next returns the next rows, none at the end.
func (r *windowRows) Next() (batch.Columns, error) {
	began := time.Now()
	defer func() { r.stages.Eval += time.Since(began) }()
	if r.rows == nil {
		var err error
		if r.rows, err = r.open(); err != nil {
			return batch.Columns{}, err
		}
	}
	for {
		result, err := r.rows.Checked()
		if err != nil || result.Rows.Len == 0 {
			if err == nil {
				err = r.close()
			}
			return batch.Columns{}, err
		}
		rows, err := r.choose(&result)
		if err != nil || rows.Len > 0 {
			return rows, err
		}
	}
}

// choose counts rows and leaves out those of the other side.
func (r *windowRows) choose(result *eval.Result) (batch.Columns, error) {
	verdicts := &result.Checks[len(result.Checks)-1]
	matches := batch.Values[uint8](verdicts)
	kept, inside := make([]int32, 0, result.Rows.Len), 0
	for i := range result.Rows.Len {
		is := !verdicts.IsNull(i) && matches[i] != 0
		if is {
			inside++
		}
		if is == r.inside {
			kept = append(kept, int32(i))
		}
	}
	if !r.inside {
		r.outcome.Deleted += int64(inside)
	} else if outside := result.Rows.Len - inside; outside > 0 {
		r.outsider(&result.Rows, kept)
		r.outcome.Outside += int64(outside)
	}
	rows := result.Rows
	if len(kept) < rows.Len {
		rows = rows.Take(kept)
	}
	if !r.inside {
		return rows, nil
	}
	r.outcome.Read += int64(result.Rows.Len)
	r.outcome.Written += int64(rows.Len)
	return rows, r.whole(&rows)
}

// outsider keeps the first row that lies outside as a sample (D-20).
func (r *windowRows) outsider(rows *batch.Columns, inside []int32) {
	if r.outcome.Outside > 0 {
		return
	}
	row := 0
	for row < len(inside) && int(inside[row]) == row {
		row++
	}
	r.sample = r.Show(*rows, row)
}

// whole refuses an update with a row that has nothing where the table demands something: it fails whole (D-15).
func (r *windowRows) whole(rows *batch.Columns) error {
	for row, path := range batch.AllMissing(r.Plan.Table.Fields, rows) {
		return fault.New(fault.NullInNotNull, "flow %s: %s is NOT NULL in table %s and has no value", r.Plan.Name, path, r.Plan.Table.Display).OfColumn(path).
			WithDetail("in the row %s", fault.Payload(r.Show(*rows, row))).WithHint("leave such rows out with WHERE, or give them a value with coalesce")
	}
	return nil
}

func (r *windowRows) close() (err error) {
	if r.rows != nil {
		err = r.rows.Close()
	}
	r.rows, r.open = nil, func() (*eval.Rows, error) {
		return nil, fault.New(fault.InternalError, "rows are read behind their end")
	}
	return err
}

// count tells the store what all the rows were.
func (w *updating) count(s *state.Swap) {
	s.RowsRemoved, s.RowsAdded = w.outcome.Deleted-s.Unchanged, w.outcome.Written-s.Unchanged
	s.Advance.Counters = map[string]int64{}
	for _, of := range w.sources {
		w.outcome.Null += of.outcome.Null
		w.outcome.Lost += of.outcome.Lost
		w.outcome.Bad += of.outcome.Bad
		w.errors = eventlog.AddColumnErrors(w.errors, of.errors)
	}
	for _, e := range w.errors {
		s.Advance.Counters[columnErrors+e.Column] = e.Values
	}
	for _, k := range kept {
		if n := *k.count(&w.outcome); n != 0 {
			s.Advance.Counters[k.name] = n
		}
	}
}

// done tells everybody that the update is committed.
func (w *updating) done(number uint64) {
	who := w.Store.Identity()
	w.Emit(&eventlog.BatchDone{Flow: w.Plan.Name, Target: w.Plan.Target(), Outcome: w.outcome, ColumnErrors: w.errors, Stages: w.stages, Time: w.at,
		ID: batch.ID{Pipeline: who.Pipeline, Flow: w.Plan.Name, Store: who.ID, Epoch: who.Epoch, Generation: w.State.Generation(), Number: number}})
	w.report()
	if w.outcome.Outside > 0 {
		w.Emit(&eventlog.FlowWarning{Flow: w.Plan.Name, Mild: true, Err: fault.New(fault.RowsOutside, "the query gave %d rows that the predicate %s does not match; they are not written", w.outcome.Outside, w.resolved).
			WithDetail("such as %s", fault.Payload(w.sample))})
	}
}
