package state

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"sluice/fault"
	memory "sluice/internal/disk"
)

// undo puts a version of the table with windows back.
func undo(t rapid.TB, table *Table, to int64) Undone {
	t.Helper()
	u, err := table.Undo(context.Background(), to, noon.Add(time.Duration(table.Version()+1)*time.Second), "undo")
	ok(t, err)
	return u
}

func rowsAt(t rapid.TB, s *Store, version int64) []string {
	t.Helper()
	snapshot := s.Snapshot()
	defer snapshot.Close()
	scan, err := snapshot.ScanAt(windows.Name, version, nil)
	ok(t, err)
	got := drained(t, scan)
	slices.Sort(got)
	return got
}

// generous is a definition whose history keeps everything that a test makes.
func generous(spec TableSpec) TableSpec {
	spec.History = History{Age: 1000 * time.Hour, Times: 1 << 20}
	return spec
}

// D-27: an undo appends a version with the old rows, moves no flow, is told in the history, and can be undone. What is as it was makes no version.
func TestUndoPutsAVersionBack(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs, sealed(1<<20))
	table, err := s.Table(generous(windows))
	ok(t, err)
	f, err := s.Flow("f")
	ok(t, err)
	_, err = swap(table, f, nil, row{k: "a", seq: 1}, row{k: "b", seq: 2})
	ok(t, err)
	_, err = swap(table, f, nil, row{k: "c", seq: 3})
	ok(t, err)
	_, err = swap(table, f, idsOf(filesOf(t, s, windows.Name)), row{k: "d", seq: 4})
	ok(t, err)
	at, next := f.Position(), f.NextBatch()
	if u := undo(t, table, 2); u.Version != 4 || u.RowsAdded != 3 || u.RowsRemoved != 1 || u.Files != 2 {
		t.Errorf("%+v", u)
	}
	same(t, "version 2 again", rowsAt(t, s, 4), "a,1,", "b,2,", "c,3,")
	if u := undo(t, table, 2); u.Version != 4 || u.Files != 0 {
		t.Errorf("an undo to what the table is: %+v", u)
	}
	if u := undo(t, table, 4); u.Version != 4 {
		t.Errorf("an undo to the present version: %+v", u)
	}
	undo(t, table, 3)
	same(t, "the undo undone", rowsAt(t, s, 5), "d,4,")
	undo(t, table, 0)
	same(t, "before everything", rowsAt(t, s, 6))
	undo(t, table, 4)
	same(t, "version 4 again", contents(t, s, windows.Name), "a,1,", "b,2,", "c,3,")
	if !slices.Equal(f.Position(), at) || f.NextBatch() != next {
		t.Errorf("the flow stands at %v, batch %d; it stood at %v, %d", f.Position(), f.NextBatch(), at, next)
	}
	snapshot := s.Snapshot()
	history, err := snapshot.History(windows.Name)
	ok(t, err)
	if h := history[0]; h.Cause != "UNDO TO VERSION 4" || h.Version != 7 || h.Update != "undo" || !h.Time.Equal(noon.Add(7*time.Second)) {
		t.Errorf("%+v", h)
	}
	ok(t, snapshot.Close())
	closeChecked(t, s)
	s = open(t, fs, sealed(1<<20))
	for version, want := range [][]string{{}, {"a,1,", "b,2,"}, {"a,1,", "b,2,", "c,3,"}, {"d,4,"}, {"a,1,", "b,2,", "c,3,"}, {"d,4,"}, {}, {"a,1,", "b,2,", "c,3,"}} {
		same(t, fmt.Sprint("version ", version, " after a restart"), rowsAt(t, s, int64(version)), want...)
	}
	closeChecked(t, s)
}

// What cannot be put back is refused by name, and nothing is done.
func TestUndoIsRefused(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs, sealed(1<<20))
	for _, spec := range []TableSpec{windows, ticks} {
		_, err := s.Table(spec)
		ok(t, err)
	}
	table, err := s.OpenTable(windows.Name)
	ok(t, err)
	past(t, s, table, 100, 100, 100, 100)
	for _, c := range []struct {
		table string
		to    int64
		is    *fault.Code
		says  string
	}{
		{windows.Name, 1, fault.VersionNotFound, "has no version 1: there are 2 to 4"},
		{windows.Name, 5, fault.VersionNotFound, "there are 2 to 4"},
		{windows.Name, -1, fault.VersionNotFound, "there are 2 to 4"},
		{ticks.Name, 0, fault.UndoNotPossible, "only the present rows are kept"},
	} {
		table, err := s.OpenTable(c.table)
		ok(t, err)
		before := table.Version()
		if _, err := table.Undo(context.Background(), c.to, noon, ""); !fault.Of(err, c.is) || !strings.Contains(err.Error(), c.says) || table.Version() != before {
			t.Errorf("%s to version %d: version %d, %v", c.table, c.to, table.Version(), err)
		}
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	names, err := fs.List("db/files")
	ok(t, err)
	if _, err := table.Undo(cancelled, 2, noon, ""); err == nil || table.Version() != 4 {
		t.Errorf("interrupted: version %d, %v", table.Version(), err)
	}
	after, err := fs.List("db/files")
	ok(t, err)
	for _, name := range after {
		if !slices.Contains(names, name) {
			t.Errorf("the file %s is left of an undo that was interrupted", name)
		}
	}
	closeChecked(t, s)
}

// Whatever updates and undos come after each other, every version that the history has is read as it was made, before and after restarts, and the
// store is in order (D-27).
func TestAnyUndosGiveTheVersionsAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fs := vfs.NewMem()
		var s *Store
		var table *Table
		var f *Flow
		first := int64(0)
		start := func() {
			var err error
			s, err = Open(Options{Dir: "db", FS: fs, Pipeline: "p", Sealer: plainSealer{fs}, FileSize: 150, RowGroup: 50, OnForget: func(g Forgotten) { first = g.Before }})
			ok(t, err)
			spec := windows
			spec.History = History{Age: time.Duration(rapid.IntRange(3, 30).Draw(t, "age")) * time.Second, Times: rapid.Int64Range(1, 20).Draw(t, "times")}
			table, err = s.Table(spec)
			ok(t, err)
			f, err = s.Flow("f")
			ok(t, err)
		}
		start()
		versions := [][]string{{}}
		made := func(version int64, rows []string) {
			slices.Sort(rows)
			if version == int64(len(versions)) {
				versions = append(versions, rows)
			} else if now := versions[len(versions)-1]; version != int64(len(versions))-1 || !slices.Equal(now, rows) {
				t.Fatalf("version %d is %v, the one before %v", version, rows, now)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"update": func(t *rapid.T) {
				var remove []FileID
				var rows []row
				var want []string
				snapshot := s.Snapshot()
				files, err := snapshot.Files(windows.Name)
				ok(t, err)
				for _, file := range files {
					if rapid.Bool().Draw(t, "goes") {
						remove = append(remove, file.ID)
					}
				}
				kept := slices.DeleteFunc(idsOf(files), func(id FileID) bool { return slices.Contains(remove, id) })
				scan, err := snapshot.ScanFiles(windows.Name, kept, nil)
				ok(t, err)
				want = drained(t, scan)
				ok(t, snapshot.Close())
				for range rapid.IntRange(0, 6).Draw(t, "rows") {
					r := row{k: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "k"), seq: rapid.Int64Range(0, 3).Draw(t, "seq")}
					rows, want = append(rows, r), append(want, fmt.Sprintf("%s,%d,", r.k, r.seq))
				}
				s := Swap{Base: table.Version(), Remove: remove, Advance: Advance{Time: noon.Add(time.Duration(len(versions)) * time.Second)}}
				if len(rows) > 0 {
					s.Rows = []Rows{&given{rows: rows, each: 2}}
				}
				version, err := f.Swap(context.Background(), table, s)
				ok(t, err)
				made(version, want)
			},
			"undo": func(t *rapid.T) {
				to := rapid.Int64Range(0, int64(len(versions))-1).Draw(t, "to")
				u, err := table.Undo(context.Background(), to, noon.Add(time.Duration(len(versions))*time.Second), "")
				if fault.Of(err, fault.VersionNotFound) && to < max(first, 1) {
					return
				}
				ok(t, err)
				made(u.Version, slices.Clone(versions[to]))
			},
			"restart": func(t *rapid.T) {
				ok(t, s.Check())
				ok(t, s.Close())
				start()
			},
			"": func(t *rapid.T) {
				for version := first; version < int64(len(versions)); version++ {
					if got := rowsAt(t, s, version); !slices.Equal(got, versions[version]) {
						t.Fatalf("version %d is %v, it was %v", version, got, versions[version])
					}
				}
			},
		})
		ok(t, s.Check())
		ok(t, s.Close())
	})
}

// The power fails before every write of an undo: what is found is the table as it was before or after it, with the flow where it stood, whole files and
// no other ones, and the undo can be done again.
func TestAnUndoOutlivesEveryCrash(t *testing.T) {
	for _, survives := range []int{0, 50, 100} {
		seen := map[int64]bool{}
		for k := 1; ; k++ {
			d := memory.New()
			var after *memory.Disk
			s := open(t, d.FS(), sealed(200))
			table, err := s.Table(generous(windows))
			ok(t, err)
			f, err := s.Flow("f")
			ok(t, err)
			var rows []row
			for i := range int64(9) {
				rows = append(rows, row{k: "k", seq: i, v: strings.Repeat("v", 30)})
			}
			_, err = swap(table, f, nil, rows...)
			ok(t, err)
			_, err = swap(table, f, idsOf(filesOf(t, s, windows.Name)), row{k: "new"})
			ok(t, err)
			ok(t, s.Sync(context.Background()))
			acknowledged, durable := int64(2), int64(0)
			d.FailAt(k, func() { after, durable = d.Crash(survives, uint64(k)), acknowledged })
			undo(t, table, 1)
			ok(t, s.Sync(context.Background()))
			acknowledged = 3
			d.Disarm()
			closeChecked(t, s)
			if after == nil {
				break
			}
			s = open(t, after.FS(), sealed(200))
			table, err = s.Table(generous(windows))
			ok(t, err)
			f, err = s.Flow("f")
			ok(t, err)
			version := table.Version()
			seen[version] = true
			if version < durable || version > 3 || f.NextBatch() != 2 {
				t.Fatalf("write %d: version %d and batch %d, version %d was acknowledged", k, version, f.NextBatch(), durable)
			}
			if got := rowsAt(t, s, version); len(got) != map[int64]int{2: 1, 3: 9}[version] {
				t.Fatalf("write %d: version %d is %v", k, version, got)
			}
			names, err := after.FS().List("db/files")
			ok(t, err)
			if len(names) != len(table.live)+len(table.past) {
				t.Fatalf("write %d: files %v, the table has %d and %d", k, names, len(table.live), len(table.past))
			}
			undo(t, table, 1)
			if got := rowsAt(t, s, table.Version()); len(got) != 9 {
				t.Fatalf("write %d: after the undo %v", k, got)
			}
			closeChecked(t, s)
		}
		if !seen[2] || survives == 100 && !seen[3] {
			t.Errorf("with %d %% of what was not synced only versions %v were found", survives, seen)
		}
	}
}
