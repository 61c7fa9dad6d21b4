package daemon

import (
	"cmp"
	"context"
	"io"

	"sluice/admin"
	"sluice/batch"
	"sluice/catalog"
	"sluice/fault"
	"sluice/syntax"
)

// historyFields are the columns of DESCRIBE HISTORY (D-27).
var historyFields = []batch.Field{
	{Name: "version", Type: batch.Of(batch.BigInt)}, {Name: "timestamp", Type: batch.Of(batch.Timestamp)}, {Name: "update_id", Type: batch.Of(batch.String)},
	{Name: "operation", Type: batch.Of(batch.String)}, {Name: "predicate", Type: batch.Of(batch.String)},
	{Name: "num_removed_rows", Type: batch.Of(batch.BigInt)}, {Name: "num_added_rows", Type: batch.Of(batch.BigInt)},
}

// describe lists what made the versions of a table that can still be read, the newest first.
func (x *Executor) describe(s *syntax.DescribeHistory) (admin.Rows, error) {
	t, err := tableNamed(x.plan, catalog.Show(s.Name))
	if err != nil {
		return nil, fault.From(err).At(s.Name.Pos)
	}
	snapshot := x.store.Snapshot()
	defer snapshot.Close()
	if info, err := snapshot.Table(t.Name); err != nil || info == nil {
		return nil, cmp.Or(err, error(notMade(t.Name).At(s.Name.Pos)))
	}
	history, err := snapshot.History(t.Name)
	if err != nil {
		return nil, fault.From(err).At(s.Name.Pos)
	}
	var b []*batch.Builder
	for _, f := range historyFields {
		b = append(b, batch.NewBuilder(f.Type, len(history)))
	}
	text := func(b *batch.Builder, s string) {
		if s == "" {
			b.AppendNull()
		} else {
			b.AppendString(s)
		}
	}
	for _, u := range history {
		b[0].AppendInt(u.Version)
		b[1].AppendInt(u.Time.UnixMicro())
		text(b[2], u.Update)
		text(b[3], u.Cause)
		text(b[4], u.Predicate)
		b[5].AppendInt(u.RowsRemoved)
		b[6].AppendInt(u.RowsAdded)
	}
	rows := batch.Columns{Fields: historyFields, Len: len(history)}
	for i := range b {
		rows.Cols = append(rows.Cols, b[i].Column())
	}
	return &listed{rows: rows}, nil
}

// listed are rows that are there as a whole.
type listed struct{ rows batch.Columns }

// Columns implements admin.Rows.
func (l *listed) Columns() (out []admin.Column) {
	for _, f := range l.rows.Fields {
		out = append(out, admin.Column{Name: f.Name, Type: f.Type.String()})
	}
	return out
}

// Next implements admin.Rows.
func (l *listed) Next(context.Context) ([]byte, int, error) {
	n := l.rows.Len
	if n == 0 {
		return nil, 0, io.EOF
	}
	lines, err := newArrayEncoder(l.rows.Fields).encode(l.rows)
	l.rows.Len = 0
	return lines, n, err
}

// Close implements admin.Rows.
func (l *listed) Close() error { return nil }
