package daemon

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"sluice/admin"
	"sluice/batch"
	"sluice/catalog"
	"sluice/eval"
	"sluice/eval/dialect"
	"sluice/eventlog"
	"sluice/fault"
	"sluice/plan"
	"sluice/state"
	"sluice/syntax"
)

// dml is a statement that changes a table, at work (DM-01).
type dml struct {
	*Executor
	ctx    context.Context
	kind   string // INSERT, UPDATE or DELETE
	table  *plan.Table
	at     time.Time // which clock functions give
	edit   *state.DML
	scope  *tableScope // of the tables as they are
	fields []batch.Field

	where     string
	removed   int64
	added     int64
	files     int
	rewritten int
}

// change carries a statement out as one atomic change of its table, and returns when that is durable. rewrites says that it changes rows that
// are there, swap makes the change.
func (x *Executor) change(ctx context.Context, kind string, target syntax.Name, rewrites bool, swap func(*dml) error) (d *dml, err error) {
	d = &dml{Executor: x, ctx: ctx, kind: kind}
	if err := d.find(target, rewrites); err != nil {
		return d, err
	}
	table, err := d.begin(target, rewrites)
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, d.edit.End()) }()
	d.at, d.fields = x.now().UTC().Truncate(time.Microsecond), table.Fields()
	if d.scope, err = newTableScope(x.store); err != nil {
		return d, err
	}
	before := d.edit.Version()
	if err := swap(d); err != nil {
		return d, err
	}
	if d.edit.Version() != before {
		x.emit(&eventlog.UserAction{Action: strings.ToLower(kind), Names: []string{d.table.Display}, Change: &eventlog.TableChange{Version: d.edit.Version(), Predicate: d.where,
			Removed: d.removed, Added: d.added, Files: d.files, Rewritten: d.rewritten}})
	}
	return d, x.store.Sync(ctx)
}

// begin waits for the statement's turn. A table that was fully refreshed meanwhile is another one then.
func (d *dml) begin(target syntax.Name, rewrites bool) (table *state.Table, err error) {
	for {
		if table, err = d.store.OpenTable(d.table.Name); err != nil {
			return nil, err
		}
		if table == nil {
			return nil, notMade(d.table.Display).At(target.Pos)
		}
		if d.edit, err = table.BeginDML(d.ctx, rewrites); !fault.Of(err, fault.SourceReset) {
			return table, err
		}
	}
}

// find finds the table of a statement, and refuses what takes none (DM-O1, D-34).
func (d *dml) find(n syntax.Name, rewrites bool) error {
	name := catalog.Show(n)
	var sinks []*plan.Sink
	for _, s := range d.plan.Sinks {
		if strings.EqualFold(s.Name, name) {
			sinks = append(sinks, s)
		}
	}
	if strings.HasSuffix(strings.ToLower(name), catalog.QuarantineSuffix) {
		return fault.New(fault.DMLTarget, "%s of %s: it shows what flows have put into quarantine", d.kind, name).At(n.Pos).WithHint("`processor dlq` edits, replays and forgets such records")
	}
	found, err := targetNamed(d.plan.Tables, sinks, name)
	if err != nil {
		return fault.From(err).At(n.Pos)
	}
	at := slices.IndexFunc(d.plan.Tables, func(t *plan.Table) bool { return plan.TargetTable+t.Name == found })
	if at < 0 {
		return fault.New(fault.DMLTarget, "%s of %s: it is a sink, and gets its rows from flows alone", d.kind, name).At(n.Pos).WithHint("a sink's own system changes what is there")
	}
	d.table = d.plan.Tables[at]
	if len(d.table.Keys) > 0 {
		return fault.New(fault.DMLTarget, "%s of %s: its rows are those of its REPLACE USING flow", d.kind, d.table.Display).At(n.Pos).
			WithHint("send the rows through the flow's source, with a higher sequence; INSERT, UPDATE and DELETE are for append tables and REPLACE WHERE tables")
	}
	if readers := d.appendReaders(); rewrites && len(readers) > 0 {
		return fault.New(fault.TargetHasReaders, "%s of %s: %s", d.kind, d.table.Display, strings.Join(readers, ", ")).At(n.Pos).
			WithDetail("these flows read it as a table to which rows are only added, and would not learn of the change").
			WithHint("have them read STREAM(%s) WITH (skipChangeCommits = true), if they need not", d.table.Display)
	}
	return nil
}

// appendReaders are the flows that follow what is added to the table and do not leave other changes out.
func (d *dml) appendReaders() (out []string) {
	for _, f := range d.plan.Flows {
		follows := d.table.Replaced && f.Input.Kind == plan.FromChangeFeed // the changes of a statement are told it
		if f.Input.Table == d.table && !follows && !f.Input.Options.Bool("skipChangeCommits") {
			out = append(out, f.Name)
		}
	}
	return out
}

// inputs are the tables that a statement's query reads.
func (d *dml) inputs(reads []dialect.Read) ([]eval.Input, error) {
	if err := d.scope.travel(d.ctx, d.edit.Snapshot(), d.ordered, d.plan.Zone, d.at); err != nil {
		return nil, err
	}
	out := make([]eval.Input, len(reads))
	for i, r := range reads {
		out[i].Open = d.scope.open(d.edit.Snapshot(), r)
	}
	return out, nil
}

// analyse understands a query over the tables as they are.
func (d *dml) analyse(q *syntax.Query) (*dialect.Analysis, error) {
	a, problems := dialect.Analyse(q, d.scope, dialect.Options{Zone: d.plan.Zone})
	return a, problems.Err()
}

// compile writes a query whose columns go to columns of the table.
func (d *dml) compile(a *dialect.Analysis, targets []dialect.Target) (*dialect.Compiled, error) {
	c, problems := a.Compile(dialect.Projection{Columns: targets})
	return c, problems.Err()
}

// whole refuses rows that have nothing where the table demands something, and notes those that come.
func (d *dml) whole(rows *batch.Columns) error {
	for row, path := range batch.AllMissing(d.fields, rows) {
		return fault.New(fault.NullInNotNull, "%s of %s: %s is NOT NULL and would have no value", d.kind, d.table.Display, path).OfColumn(path).
			WithDetail("in the row %s", fault.Payload(showRow(*rows, row)))
	}
	return d.edit.Touch(rows)
}

// laid is the column by which the rows of a REPLACE WHERE table lie in its files (D-26), -1 for none: rows that come from outside are sorted by it, as those
// of its flow are. Rows that a number with a fraction decides about are not: sorting would take the signs of its zeros.
func (d *dml) laid() int {
	for _, f := range d.plan.Flows {
		if f.Table != d.table || f.Window == nil {
			continue
		}
		at := f.Window.Query.Window.Cluster
		if at >= 0 && d.fields[at].Type.Kind != batch.Float && d.fields[at].Type.Kind != batch.Double {
			return at
		}
	}
	return -1
}

// lie says that the rows of a swap are sorted by a column.
func (d *dml) lie(s *state.Swap, column int) (err error) {
	s.Cluster = d.fields[column].Name
	s.Zone, err = time.LoadLocation(d.plan.Zone)
	return err
}

// swap is what the state is told of the statement.
func (d *dml) swap(rows ...state.Rows) state.Swap {
	return state.Swap{Rows: rows, Cause: d.kind, Predicate: d.where, Advance: state.Advance{Time: d.at},
		Finish: func(s *state.Swap) { s.RowsRemoved, s.RowsAdded = d.removed, d.added }}
}

var affected = []string{"num_affected_rows", "num_inserted_rows"}

// result is what clients are told.
func (d *dml) result() admin.Rows {
	if d.kind == "INSERT" {
		return counted(affected, d.added, d.added)
	}
	return counted(affected, d.removed)
}
