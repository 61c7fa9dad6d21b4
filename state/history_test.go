package state

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// past makes versions of the table with windows, an hour after each other, that have one file of so many letters each.
func past(t *testing.T, s *Store, table *Table, letters ...int) {
	t.Helper()
	f, err := s.Flow("f")
	ok(t, err)
	for _, n := range letters {
		at := noon.Add(time.Duration(table.Version()) * time.Hour)
		_, err := f.Swap(context.Background(), table, Swap{Base: table.Version(), Remove: idsOf(filesOf(t, s, windows.Name)),
			Rows: []Rows{&given{rows: []row{{seq: table.Version(), v: strings.Repeat("v", n)}}}}, Advance: Advance{Time: at}})
		ok(t, err)
	}
}

// oldest is the first version that can be read.
func oldest(t *testing.T, s *Store) int64 {
	t.Helper()
	snapshot := s.Snapshot()
	defer snapshot.Close()
	r, err := snapshot.versioned(windows.Name)
	ok(t, err)
	first, _, err := snapshot.versions(r)
	ok(t, err)
	if first > 0 {
		if err := snapshot.HasVersion(windows.Name, first-1); err == nil {
			t.Errorf("version %d is there, before the first", first-1)
		}
	}
	_, err = snapshot.FilesAt(windows.Name, first)
	ok(t, err)
	return first
}

// D-27: a table keeps as much history as its definition says, from the moment at which it says so, and somebody is told what goes. A reader who
// has begun keeps his version.
func TestHistoryIsAsLongAsDefined(t *testing.T) {
	fs := vfs.NewMem()
	var told []Forgotten
	options := func(o *Options) {
		sealed(1 << 20)(o)
		o.OnForget = func(f Forgotten) { told = append(told, f) }
	}
	s := open(t, fs, options)
	define := func(h History) *Table {
		t.Helper()
		spec := windows
		spec.History = h
		table, err := s.Table(spec)
		ok(t, err)
		return table
	}
	table := define(History{Age: 100 * time.Hour, Times: 100})
	past(t, s, table, 100, 100, 100, 100, 100, 100)
	if first := oldest(t, s); first != 0 || len(told) != 0 {
		t.Errorf("the history begins with %d, %+v went", first, told)
	}
	snapshot := s.Snapshot()
	scan, err := snapshot.ScanAt(windows.Name, 1, nil)
	ok(t, err)
	define(History{Age: 2 * time.Hour, Times: 100})
	if first := oldest(t, s); first != 3 || len(told) != 1 || told[0].Before != 3 || told[0].Files != 2 || told[0].Versions != 2 || told[0].Bytes == 0 || told[0].Table != windows.Name {
		t.Errorf("the history begins with %d, %+v went", first, told)
	}
	if rows := drained(t, scan); len(rows) != 1 {
		t.Errorf("the reader of a version that went: %v", rows)
	}
	ok(t, snapshot.Close())
	each := filesOf(t, s, windows.Name)[0].Bytes
	define(History{Age: 100 * time.Hour, Bytes: 3 * each / 2})
	if first := oldest(t, s); first != 5 || len(told) != 2 {
		t.Errorf("the history begins with %d, %+v went", first, told)
	}
	closeChecked(t, s)
	s = open(t, fs, options)
	table = define(History{Age: 100 * time.Hour, Bytes: 3 * each / 2})
	past(t, s, table, 100)
	if first := oldest(t, s); first != 6 || len(told) != 3 || told[2].Before != 6 || told[2].Versions != 1 {
		t.Errorf("the history begins with %d, %+v went", first, told)
	}
	closeChecked(t, s)
}

// A table that was emptied keeps what it had, also when its definition changes.
func TestAnEmptiedTableKeepsItsHistory(t *testing.T) {
	s := open(t, vfs.NewMem(), sealed(1<<20))
	table, err := s.Table(windows)
	ok(t, err)
	past(t, s, table, 1000)
	f, err := s.Flow("f")
	ok(t, err)
	_, err = f.Swap(context.Background(), table, Swap{Base: 1, Remove: idsOf(filesOf(t, s, windows.Name)), Advance: Advance{Time: noon.Add(time.Hour)}})
	ok(t, err)
	spec := windows
	spec.History = History{Age: 2 * time.Hour}
	_, err = s.Table(spec)
	ok(t, err)
	if first := oldest(t, s); first != 0 {
		t.Errorf("the history begins with %d", first)
	}
	closeChecked(t, s)
}
