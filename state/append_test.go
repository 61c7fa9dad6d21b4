package state

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"sluice/batch"
	"sluice/fault"
)

// An append table gives its rows in the order of its commits, however they are read, before and after a restart; a reader
// of a table that was reset is told so (D-28).
func TestAppendsAreReadInOrder(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs)
	table, err := s.Table(events)
	ok(t, err)
	writer, err := s.Flow("w")
	ok(t, err)
	var want []string
	for commit := range int64(5) {
		var batchRows []row
		for i := range commit + 1 {
			batchRows = append(batchRows, row{k: "k", seq: commit, v: fmt.Sprint(i)})
			want = append(want, fmt.Sprintf("k,%d,%d", commit, i))
		}
		_, err := appendRows(table, writer, commit+1, batchRows...)
		ok(t, err)
	}
	for _, limit := range []int{0, 1, 4} {
		if got := appended(t, s, limit); !slices.Equal(got, want) {
			t.Errorf("limit %d: got %q, want %q", limit, got, want)
		}
	}
	closeChecked(t, s)
	s = open(t, fs)
	if got := appended(t, s, 3); !slices.Equal(got, want) {
		t.Errorf("after a restart: got %q", got)
	}
	table, err = s.OpenTable(events.Name)
	ok(t, err)
	old := table.End()
	ok(t, s.Reset([]string{events.Name}, nil))
	table, err = s.Table(events)
	ok(t, err)
	if err := table.Wait(context.Background(), old); !fault.Of(err, fault.SourceReset) {
		t.Errorf("a reader of a table that was reset gets %v", err)
	}
	if table.Generation() != 1 || table.Info().Rows != 0 {
		t.Errorf("after the reset: %+v", table.Info())
	}
}

// appended reads the appends of events from the start, limit rows at a time.
func appended(t *testing.T, s *Store, limit int) (out []string) {
	t.Helper()
	table, err := s.OpenTable(events.Name)
	ok(t, err)
	reader, err := s.Flow("r")
	ok(t, err)
	ok(t, table.Subscribe(context.Background(), reader, false))
	pos, err := table.Start(reader)
	ok(t, err)
	for !pos.Reached(table.End()) {
		rows, r, err := table.ReadAppends(nil, pos, batch.Limit{Rows: limit}, nil)
		ok(t, err)
		if limit > 0 && rows.Len > limit || rows.Len == 0 {
			t.Fatalf("%d rows at %v", rows.Len, pos)
		}
		out = append(out, text(rows)...)
		pos = pos.With(r)
	}
	return out
}
