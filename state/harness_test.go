package state

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"sluice/batch"
	"sluice/replaceusing"
)

// open opens a store on fs and closes it, checked, at the end of the test.
func open(t *testing.T, fs vfs.FS, change ...func(*Options)) *Store {
	t.Helper()
	o := Options{Dir: "db", FS: fs, Pipeline: "p", OnFault: func(err error) { t.Errorf("store failed: %v", err) }}
	for _, c := range change {
		c(&o)
	}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeChecked(t, s) })
	return s
}

// closeChecked closes a store unless the test did so.
func closeChecked(t *testing.T, s *Store) {
	t.Helper()
	select {
	case <-s.syncer.ended:
		return
	default:
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func ok(t rapid.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ticks is the keyed table most tests use: a key that may be null, a sequence, a value.
var ticks = TableSpec{
	Name:     "c.s.ticks",
	Fields:   []batch.Field{{Name: "k", Type: batch.Of(batch.String)}, {Name: "seq", Type: batch.Of(batch.BigInt)}, {Name: "v", Type: batch.Of(batch.String)}},
	Keys:     []int{0},
	Sequence: batch.Of(batch.BigInt),
}

// events is the append table most tests use.
var events = TableSpec{Name: "c.s.events", Fields: ticks.Fields}

// row is a row of ticks or events: "k" is a key, "" a null one.
type row struct {
	k   string
	seq int64
	v   string
	at  int64 // offset in split "src"
}

func columnsOf(rows []row) batch.Columns {
	b := make([]batch.Builder, 3)
	for i, f := range ticks.Fields {
		b[i].Init(f.Type, len(rows))
	}
	out := batch.Columns{Fields: ticks.Fields, Len: len(rows)}
	for _, r := range rows {
		if r.k == "" {
			b[0].AppendNull()
		} else {
			b[0].AppendString(r.k)
		}
		b[1].AppendInt(r.seq)
		b[2].AppendString(r.v)
		out.Pos.Split = append(out.Pos.Split, 0)
		out.Pos.Offset = append(out.Pos.Offset, r.at)
		out.Pos.Index = append(out.Pos.Index, 0)
	}
	for i := range b {
		out.Cols = append(out.Cols, b[i].Column())
	}
	return out
}

// spanOf is the range of "src" from where a flow stands to next.
func spanOf(f *Flow, next int64) batch.Range {
	from := batch.Offset{}
	if m, ok := f.Position().Find("src"); ok {
		from = m.Next
	}
	return batch.Range{Splits: []batch.SplitRange{{Split: "src", From: from, To: batch.Offset{At: next}}}}
}

var noon = time.Date(2026, 1, 10, 12, 0, 0, 0, time.UTC)

// replace applies rows to a keyed table as flow does.
func replace(tb rapid.TB, table *Table, f *Flow, next int64, rows ...row) (Committed, replaceusing.Counts, error) {
	tb.Helper()
	cols := columnsOf(rows)
	return replaceColumns(table, f, spanOf(f, next), &cols)
}

func replaceColumns(table *Table, f *Flow, rng batch.Range, cols *batch.Columns) (Committed, replaceusing.Counts, error) {
	var x rule
	w, err := table.Begin(context.Background())
	if err != nil {
		return Committed{}, replaceusing.Counts{}, err
	}
	defer w.Abort()
	if err := x.apply(w, f, &rng, cols); err != nil {
		return Committed{}, replaceusing.Counts{}, err
	}
	c, err := w.Commit(f, Advance{Range: rng, Time: noon.Add(time.Duration(w.commit) * time.Second)})
	return c, x.decision.Counts, err
}

// rule is what flow keeps between batches.
type rule struct {
	grouper   replaceusing.Grouper
	groups    batch.Groups
	keys      Keys
	sequences batch.Keys
	floors    batch.Keys
	decision  replaceusing.Decision
}

func (x *rule) apply(w *Writer, f *Flow, rng *batch.Range, cols *batch.Columns) error {
	pos, err := f.Positions(rng, cols.Pos)
	if err != nil {
		return err
	}
	if err := w.EncodeKeys(&x.keys, cols); err != nil {
		return err
	}
	batch.EncodeKeys(&x.sequences, cols.Col("seq"))
	x.grouper.Group(&x.groups, &x.keys.Keys)
	if err := w.Floors(&x.floors, &x.keys, &x.groups); err != nil {
		return err
	}
	replaceusing.Apply(&x.decision, &x.groups, &x.sequences, &x.floors, pos)
	again, err := w.Redelivered(&x.keys, &x.groups, pos, &x.decision.Edits)
	if err != nil {
		return err
	}
	x.decision.DropRedelivered(again)
	return w.Apply(Edit{Rows: cols, Positions: pos, Keys: &x.keys, Sequences: &x.sequences, Groups: &x.groups, Edits: &x.decision.Edits})
}

// appendRows adds rows to an append table.
func appendRows(table *Table, f *Flow, next int64, rows ...row) (Committed, error) {
	w, err := table.Begin(context.Background())
	if err != nil {
		return Committed{}, err
	}
	defer w.Abort()
	cols := columnsOf(rows)
	if err := w.Append(&cols); err != nil {
		return Committed{}, err
	}
	return w.Commit(f, Advance{Range: spanOf(f, next), Time: noon.Add(time.Duration(w.commit) * time.Second)})
}

// text prints columns one row per line: values by comma, NULL for null.
func text(c batch.Columns) []string {
	var out []string
	for i := range c.Len {
		var parts []string
		for f := range c.Cols {
			parts = append(parts, value(&c.Cols[f], i))
		}
		out = append(out, strings.Join(parts, ","))
	}
	return out
}

func value(c *batch.Column, i int) string {
	if c.IsNull(i) {
		return "NULL"
	}
	switch c.Type.Kind {
	case batch.Boolean, batch.TinyInt:
		return fmt.Sprint(batch.Values[int8](c)[i])
	case batch.SmallInt:
		return fmt.Sprint(batch.Values[int16](c)[i])
	case batch.Int, batch.Date:
		return fmt.Sprint(batch.Values[int32](c)[i])
	case batch.Float:
		return fmt.Sprint(batch.Values[float32](c)[i])
	case batch.Double:
		return fmt.Sprint(batch.Values[float64](c)[i])
	case batch.Struct:
		var parts []string
		for f := range c.Children {
			parts = append(parts, value(&c.Children[f], i))
		}
		return "{" + strings.Join(parts, " ") + "}"
	case batch.Array, batch.Map:
		var parts []string
		for j := c.Offsets[i]; j < c.Offsets[i+1]; j++ {
			for f := range c.Children {
				parts = append(parts, value(&c.Children[f], int(j)))
			}
		}
		return "[" + strings.Join(parts, " ") + "]"
	}
	switch c.Type.Width() {
	case 8:
		return fmt.Sprint(batch.Values[int64](c)[i])
	case 16:
		return fmt.Sprint(batch.Values[batch.Int128](c)[i])
	}
	return string(c.Text(i))
}

// contents reads a whole table, rows sorted unless it is an append table.
func contents(t rapid.TB, s *Store, name string, columns ...string) []string {
	t.Helper()
	snap := s.Snapshot()
	defer snap.Close()
	info, err := snap.Table(name)
	ok(t, err)
	var out []string
	for part := range 3 {
		scan, err := snap.Scan(name, columns, part, 3)
		ok(t, err)
		out = append(out, drained(t, scan)...)
	}
	if info.Keyed {
		sort.Strings(out)
	}
	return out
}

// drained are all rows of a scan, which is closed.
func drained(t rapid.TB, scan *Scan) (out []string) {
	t.Helper()
	for {
		c, err := scan.Next(0)
		ok(t, err)
		if c.Len == 0 {
			ok(t, scan.Close())
			return out
		}
		out = append(out, text(c)...)
	}
}

func same(t rapid.TB, what string, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s: got\n  %s\nwant\n  %s", what, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}
