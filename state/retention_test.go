package state

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"sluice/batch"
	"sluice/fault"
)

// D-16: rows of an append table that are older than its retention go, in steps of many commits, whoever has read them; a
// reader that they are gone under is stopped with the range, and so is one that comes later. What is left is read as ever,
// before and after a restart.
func TestRowsAgeOutOfAnAppendTable(t *testing.T) {
	for _, every := range []int64{1 << 30, 1, 37} { // commits of which the tail becomes files
		t.Run(fmt.Sprint(every), func(t *testing.T) { ageOut(t, every) })
	}
}

func ageOut(t *testing.T, every int64) {
	const commits, age = 600, 100 // a commit a second
	fs := vfs.NewMem()
	s := open(t, fs, sealed(1<<20))
	spec := events
	spec.Retention, spec.MaxAge = RetainFor, age*time.Second
	table, err := s.Table(spec)
	ok(t, err)
	writer, err := s.Flow("w")
	ok(t, err)
	slow, err := s.Flow("slow")
	ok(t, err)
	ok(t, table.Subscribe(context.Background(), slow, false))
	for n := range int64(commits) {
		_, err := appendRows(table, writer, n+1, row{k: "k", seq: n})
		ok(t, err)
		if n%every == every-1 {
			ok(t, s.Seal(context.Background()))
		}
	}
	check := func(s *Store, table *Table) {
		t.Helper()
		rows := table.Info().Rows
		if rows < age || rows >= age+trimCommits {
			t.Errorf("%d rows are left, want those of %d seconds and of less than %d commits", rows, age, trimCommits)
		}
		if left := contents(t, s, spec.Name); int64(len(left)) != rows {
			t.Errorf("a scan gives %d rows, the table says it has %d", len(left), rows)
		}
		if _, _, err := table.ReadAppends(nil, slow.Position(), batch.Limit{}, nil); !fault.Of(err, fault.RowsTrimmed) {
			t.Errorf("a reader that stands before what is left gets %v", err)
		}
		late, err := s.Flow("late")
		ok(t, err)
		if err := table.Subscribe(context.Background(), late, false); !fault.Of(err, fault.RowsTrimmed) {
			t.Errorf("a reader that comes later gets %v", err)
		}
	}
	check(s, table)
	closeChecked(t, s)
	s = open(t, fs, sealed(1<<20))
	table, err = s.Table(spec)
	ok(t, err)
	check(s, table)
}
