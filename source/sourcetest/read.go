package sourcetest

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"testing"
	"time"

	"sluice/batch"
	"sluice/source"
)

// patience bounds waits that end by themselves when the source is right.
const patience = 30 * time.Second

// row is a row of the suite's columns with its position.
type row struct {
	id    int64
	text  string
	split string
	at    batch.Offset
}

func (r row) String() string { return fmt.Sprintf("%d %q at %s:%s", r.id, r.text, r.split, r.at) }

// reading is what a series of reads brought.
type reading struct {
	rows    []row
	bad     []batch.Bad
	records int64
	at      batch.Position
}

// drain reads from one position until every split of until is reached, checking the contract of each Read.
func drain(t *testing.T, s source.Source, from, until batch.Position, rows int, bytes int64) reading {
	t.Helper()
	out := reading{at: from}
	for !out.at.Reached(until) {
		out.step(t, s, batch.Limit{Rows: rows, Bytes: bytes, Until: until})
	}
	return out
}

// step does one Read and adds what it brought.
func (r *reading) step(t *testing.T, s source.Source, limit batch.Limit) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cols, covered, bad, err := s.Read(ctx, r.at, limit)
	if err != nil {
		t.Fatalf("Read from %v: %v", r.at, err)
	}
	r.add(t, &cols, covered, bad, limit)
}

func (r *reading) add(t *testing.T, cols *batch.Columns, covered batch.Range, bad []batch.Bad, limit batch.Limit) {
	t.Helper()
	if len(covered.Splits) == 0 {
		t.Fatalf("Read from %v covered nothing and did not fail; limit %+v", r.at, limit)
	}
	checkRange(t, r.at, covered, limit)
	rows := rowsOf(t, cols, covered)
	kept := 0
	for _, b := range bad {
		if b.Kept {
			kept++
		}
		checkInside(t, covered, b.Split, b.At)
	}
	if got, want := int64(len(rows)+len(bad)-kept), covered.Records(); got > want {
		t.Fatalf("%d rows and bad records in a range of %d records", got, want)
	}
	r.rows = append(r.rows, rows...)
	for _, b := range bad {
		b.Value = append([]byte(nil), b.Value...)
		r.bad = append(r.bad, b)
	}
	r.records += covered.Records()
	r.at = r.at.With(covered)
}

// checkRange checks that a range starts where its splits stood, moves on, keeps the limit and is sorted.
func checkRange(t *testing.T, from batch.Position, covered batch.Range, limit batch.Limit) {
	t.Helper()
	if !sort.SliceIsSorted(covered.Splits, func(i, j int) bool { return covered.Splits[i].Split < covered.Splits[j].Split }) {
		t.Fatalf("splits of the range are not sorted: %v", covered)
	}
	for _, s := range covered.Splits {
		have, _ := from.Find(s.Split)
		if s.From != have.Next {
			t.Fatalf("split %s was at %v, the range starts at %v", s.Split, have.Next, s.From)
		}
		if !s.From.Less(s.To) {
			t.Fatalf("split %s moves from %v to %v", s.Split, s.From, s.To)
		}
		if limit.Until != nil {
			if end, ok := limit.Until.Find(s.Split); !ok || end.Next.Less(s.To) {
				t.Fatalf("split %s was read to %v, past the end %v", s.Split, s.To, end.Next)
			}
		}
	}
	if limit.Rows > 0 && covered.Records() > int64(limit.Rows) {
		t.Fatalf("%d records under a limit of %d", covered.Records(), limit.Rows)
	}
}

// checkInside checks that a position lies in its split's part of the range.
func checkInside(t *testing.T, covered batch.Range, split string, at batch.Offset) {
	t.Helper()
	for _, s := range covered.Splits {
		if s.Split == split && !at.Less(s.From) && at.Less(s.To) {
			return
		}
	}
	t.Fatalf("position %s:%v is not in the range %v", split, at, covered)
}

// rowsOf copies rows out, checking that positions lie in the range and rise within each split.
func rowsOf(t *testing.T, cols *batch.Columns, covered batch.Range) []row {
	t.Helper()
	if cols.Len == 0 {
		return nil
	}
	want := Columns()
	if len(cols.Cols) != len(want) || cols.Pos.Len() != cols.Len {
		t.Fatalf("%d columns and %d positions for %d rows", len(cols.Cols), cols.Pos.Len(), cols.Len)
	}
	for i, c := range cols.Cols {
		if c.Len != cols.Len || !c.Type.Equal(want[i].Field.Type) {
			t.Fatalf("column %d has %d rows of %s, want %d of %s", i, c.Len, c.Type, cols.Len, want[i].Field.Type)
		}
	}
	ids := batch.Values[int64](&cols.Cols[0])
	last := map[string]batch.Offset{}
	var out []row
	for i := range cols.Len {
		s := covered.Splits[cols.Pos.Split[i]].Split
		at := batch.Offset{At: cols.Pos.Offset[i], Index: cols.Pos.Index[i]}
		checkInside(t, covered, s, at)
		if before, ok := last[s]; ok && !before.Less(at) {
			t.Fatalf("positions of split %s do not rise: %v then %v", s, before, at)
		}
		last[s] = at
		r := row{split: s, at: at, id: ids[i], text: string(cols.Cols[1].Text(i))}
		if cols.Cols[0].IsNull(i) {
			r.id = -1
		}
		if cols.Cols[1].IsNull(i) {
			r.text = "NULL"
		}
		out = append(out, r)
	}
	return out
}

// bySplit orders rows by split and keeps their order inside: reads of several splits may interleave in any way.
func bySplit(rows []row) []row {
	out := append([]row(nil), rows...)
	sort.SliceStable(out, func(i, j int) bool { return out[i].split < out[j].split })
	return out
}

// sameRows compares rows split by split.
func sameRows(t *testing.T, what string, got, want []row) {
	t.Helper()
	got, want = bySplit(got), bySplit(want)
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("%s: row %d differs\n got %v\nwant %v", what, i, at(got, i), at(want, i))
		}
	}
}

func at(rows []row, i int) any {
	if i < len(rows) {
		return rows[i]
	}
	return "nothing"
}

func start(t *testing.T, s source.Source) batch.Position { return ask(t, "Start", s.Start) }

func end(t *testing.T, s source.Source) batch.Position { return ask(t, "End", s.End) }

func ask(t *testing.T, what string, f func(context.Context) (batch.Position, error)) batch.Position {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	p, err := f(ctx)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if !sort.SliceIsSorted(p, func(i, j int) bool { return p[i].Split < p[j].Split }) {
		t.Fatalf("%s is not sorted by split: %v", what, p)
	}
	return p
}

func closed(t *testing.T, s source.Source) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
}

// waits checks that a Read finds nothing and ends with its context's error.
func waits(t *testing.T, s source.Source, from batch.Position) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	cols, covered, bad, err := s.Read(ctx, from, batch.Limit{})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Read with nothing to read gave %d rows, %v, %d bad and the error %v, want its context's error", cols.Len, covered, len(bad), err)
	}
}
