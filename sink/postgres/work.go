package postgres

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"sluice/batch"
	"sluice/fault"
	"sluice/sink"
)

const stageName = "_sluice_stage"

// work is what a batch does to the table: a COPY and statements after it.
type work struct {
	copySQL    string
	data       []byte
	statements []string
	deletes    int64 // rows that the first statement is to delete, where it is to be exact
}

func (w *work) run(ctx context.Context, c *pgx.Conn, t *table) error {
	if len(w.data) == 0 {
		return nil
	}
	if _, err := c.PgConn().CopyFrom(ctx, bytes.NewReader(w.data), w.copySQL); err != nil {
		return err
	}
	for i, sql := range w.statements {
		done, err := c.Exec(ctx, sql)
		if err != nil {
			return err
		}
		if n := done.RowsAffected(); i == 0 && w.deletes > 0 && n != w.deletes {
			return t.missing(n, w.deletes)
		}
	}
	return nil
}

// stage makes the temporary table that batches of keyed modes go through. It has the table's types and is emptied by
// every commit.
func (s *Sink) stage(ctx context.Context, c *pgx.Conn, t *table) error {
	if s.opts.mode == appendRows {
		return nil
	}
	var columns []string
	for i, typ := range t.types {
		columns = append(columns, fmt.Sprintf("c%d %s", i, typ))
	}
	last := "live boolean NOT NULL"
	if s.opts.mode == mirror {
		last = "many integer NOT NULL"
	}
	_, err := c.Exec(ctx, fmt.Sprintf("CREATE TEMPORARY TABLE %s (%s) ON COMMIT DELETE ROWS", stageName, strings.Join(append(columns, last), ", ")))
	return s.fault(ctx, err, "making a temporary table")
}

// plan turns a batch into work.
func (s *Sink) plan(rows *sink.Rows) (*work, error) {
	switch {
	case rows.Columns.Len == 0:
		return &work{}, nil
	case s.opts.mode == appendRows:
		return s.planAppend(rows)
	case s.opts.mode == mirror:
		return s.planMirror(rows)
	}
	return s.planKeyed(rows)
}

func (s *Sink) planAppend(rows *sink.Rows) (*work, error) {
	t := s.table
	columns := t.fields
	var after []extra
	if rows.Change != nil && !hasField(s.config.Fields, sink.ChangeColumn) {
		if t.change == "" {
			return nil, t.noChangeColumn()
		}
		columns = append(columns[:len(columns):len(columns)], t.change)
		after = append(after, func(b []byte, row int) []byte {
			b, _ = appendBytes(b, []byte(rows.Change[row].String()))
			return b
		})
	}
	data, err := t.copier.encode(rows, nil, after...)
	return &work{copySQL: fmt.Sprintf("COPY %s (%s) FROM STDIN (FORMAT binary)", t.name, strings.Join(columns, ", ")), data: data}, err
}

func (t *table) noChangeColumn() *fault.Error {
	return fault.New(fault.PostgresColumn, "mode => 'append' writes every change of the feed, and the table %s has no column %s to say what each is", t.name, sink.ChangeColumn).
		WithHint("add the column %s text, or use mode => 'upsert' or 'replace_using'", sink.ChangeColumn)
}

// planKeyed puts the net effect of the batch into the temporary table: the rows that are left, and for a key of which
// nothing is left the row that was deleted last (D-43).
func (s *Sink) planKeyed(rows *sink.Rows) (*work, error) {
	keys := make([]*batch.Column, len(s.keyed.keys))
	for i, k := range s.keyed.keys {
		keys[i] = &rows.Columns.Cols[k]
	}
	batch.EncodeKeys(&s.keys, keys...)
	net := sink.Fold(rows, &s.keys)
	index, live, err := s.pick(rows, &net)
	if err != nil {
		return nil, err
	}
	t := s.table
	data, err := t.copier.encode(rows, index, func(b []byte, i int) []byte {
		b = fixed(b, 1)
		if live[i] {
			return append(b, 1)
		}
		return append(b, 0)
	})
	if err != nil {
		return nil, err
	}
	w := &work{copySQL: fmt.Sprintf("COPY %s FROM STDIN (FORMAT binary)", stageName), data: data}
	match := s.match(rows)
	if s.opts.mode == upsert {
		w.statements = s.upsertSQL(match)
	} else {
		w.statements = s.replaceSQL(match)
	}
	return w, nil
}

// pick chooses the rows that go over, and says which of them are there after the batch.
func (s *Sink) pick(rows *sink.Rows, net *sink.Net) (index []int32, live []bool, err error) {
	var sequence batch.Keys
	if s.keyed.sequence >= 0 {
		if err := sink.EncodeSequence(&sequence, rows, s.keyed.sequence); err != nil {
			return nil, nil, err
		}
	}
	for i := range net.Key {
		left := net.Left(i)
		if s.opts.mode == replaceUsing {
			left = sink.Highest(left, &sequence)
		} else if e := net.Unique(i, "one key in "+s.table.name); e != nil {
			return nil, nil, e.WithHint("name all key columns in keys, or use mode => 'replace_using'")
		}
		for _, row := range left {
			index, live = append(index, row), append(live, true)
		}
		if len(left) == 0 && net.Deleted[i] >= 0 {
			index, live = append(index, net.Deleted[i]), append(live, false)
		}
	}
	return index, live, nil
}

// match is the condition that t and s, the table and the temporary one, have the same key. Null keys match null, which
// keeps the database from joining by hash or merge; so the plain form is used for a batch without null keys, where both
// mean the same.
func (s *Sink) match(rows *sink.Rows) string {
	nulls := false
	for _, k := range s.keyed.keys {
		c := &rows.Columns.Cols[k]
		for i := 0; c.Valid != nil && i < c.Len && !nulls; i++ {
			nulls = c.IsNull(i)
		}
	}
	var parts []string
	for _, k := range s.keyed.keys {
		column := s.table.fields[k]
		if nulls {
			parts = append(parts, fmt.Sprintf("(t.%s = s.c%d OR (t.%s IS NULL AND s.c%d IS NULL))", column, k, column, k))
		} else {
			parts = append(parts, fmt.Sprintf("t.%s = s.c%d", column, k))
		}
	}
	return strings.Join(parts, " AND ")
}

// upsertSQL deletes, updates and inserts. Columns of the table that the flow does not give are kept by the update.
func (s *Sink) upsertSQL(match string) []string {
	t := s.table
	var set, from []string
	for i, column := range t.fields {
		set = append(set, fmt.Sprintf("%s = s.c%d", column, i))
		from = append(from, fmt.Sprintf("s.c%d", i))
	}
	return []string{
		fmt.Sprintf("DELETE FROM %s t USING %s s WHERE NOT s.live AND %s", t.name, stageName, match),
		fmt.Sprintf("UPDATE %s t SET %s FROM %s s WHERE s.live AND %s", t.name, strings.Join(set, ", "), stageName, match),
		fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s s WHERE s.live AND NOT EXISTS (SELECT 1 FROM %s t WHERE %s)",
			t.name, strings.Join(t.fields, ", "), strings.Join(from, ", "), stageName, t.name, match),
	}
}

// replaceSQL deletes the rows of the keys that have a lower sequence, and inserts where no row has a higher one (D-44).
// A key of which the batch leaves nothing loses the rows of the deleted row's sequence, too.
func (s *Sink) replaceSQL(match string) []string {
	t := s.table
	table, staged := "t."+t.fields[s.keyed.sequence], fmt.Sprintf("s.c%d", s.keyed.sequence)
	if t.texts[s.keyed.sequence] {
		table += ` COLLATE "C"` // bytes, as Sluice compares
		staged += ` COLLATE "C"`
	}
	var from []string
	for i := range t.fields {
		from = append(from, fmt.Sprintf("s.c%d", i))
	}
	return []string{
		fmt.Sprintf("DELETE FROM %s t USING %s s WHERE %s AND (%s < %s OR NOT s.live AND %s = %s)", t.name, stageName, match, table, staged, table, staged),
		fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s s WHERE s.live AND NOT EXISTS (SELECT 1 FROM %s t WHERE %s AND %s > %s)",
			t.name, strings.Join(t.fields, ", "), strings.Join(from, ", "), stageName, t.name, match, table, staged),
	}
}
