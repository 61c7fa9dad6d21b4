package state

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"sluice/batch"
	"sluice/fault"
	memory "sluice/internal/disk"
)

// windows is the table with windows that tests use.
var windows = TableSpec{Name: "c.s.windows", Fields: ticks.Fields, Replaced: true}

// given are rows that come in pieces of a few.
type given struct {
	rows []row
	each int
	err  error // at the end
}

func (g *given) Next() (batch.Columns, error) {
	n := min(len(g.rows), max(g.each, 1))
	if n == 0 {
		return batch.Columns{}, g.err
	}
	out := columnsOf(g.rows[:n])
	out.Pos = batch.Positions{}
	g.rows = g.rows[n:]
	return out, nil
}

// swap replaces files by rows as an update of flow f.
func swap(t *Table, f *Flow, remove []FileID, rows ...row) (int64, error) {
	s := Swap{Base: t.Version(), Remove: remove, RowsAdded: int64(len(rows)), Update: "u", Cause: "test", Predicate: "true"}
	if len(rows) > 0 {
		s.Rows = []Rows{&given{rows: rows, each: 2}}
	}
	next := int64(f.NextBatch()) + 1
	s.Advance = Advance{Range: spanOf(f, next), Time: noon.Add(time.Duration(next) * time.Second)}
	return f.Swap(context.Background(), t, s)
}

func filesOf(t *testing.T, s *Store, table string) (out []FileInfo) {
	t.Helper()
	snapshot := s.Snapshot()
	defer snapshot.Close()
	out, err := snapshot.Files(table)
	ok(t, err)
	return out
}

func idsOf(files []FileInfo) (out []FileID) {
	for _, f := range files {
		out = append(out, f.ID)
	}
	return out
}

// Readers of a table with windows see the old version or the new one, and keep the one they began with, whatever is deleted meanwhile
// (RW-04, D-26).
func TestASwapIsSeenWholeOrNotAtAll(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs, sealed(1<<20))
	table, err := s.Table(windows)
	ok(t, err)
	f, err := s.Flow("f")
	ok(t, err)
	_, err = swap(table, f, nil, row{k: "a", seq: 1}, row{k: "b", seq: 2}, row{k: "", seq: 3})
	ok(t, err)
	old := s.Snapshot()
	defer old.Close()
	scan, err := old.Scan(windows.Name, nil, 0, 1)
	ok(t, err)
	defer scan.Close()
	first := idsOf(filesOf(t, s, windows.Name))
	version, err := swap(table, f, first, row{k: "c", seq: 4})
	if err != nil || version != 2 {
		t.Fatalf("version %d, %v", version, err)
	}
	same(t, "now", contents(t, s, windows.Name), "c,4,")
	rows, err := scan.Next(0)
	ok(t, err)
	more, err := scan.Next(0)
	ok(t, err)
	same(t, "before", append(text(rows), text(more)...), "a,1,", "b,2,", "NULL,3,")
	if info := table.Info(); info.Rows != 1 || info.Version != 2 || !info.Replaced {
		t.Errorf("%+v", info)
	}
	snapshot := s.Snapshot()
	defer snapshot.Close()
	ofOld, err := snapshot.ScanFiles(windows.Name, first, []string{"seq", "k"})
	ok(t, err)
	rows, err = ofOld.Next(0)
	ok(t, err)
	same(t, "a file that is history", text(rows), "1,a", "2,b")
	ok(t, ofOld.Close())
	if version, err = swap(table, f, nil); err != nil || version != 2 || f.NextBatch() != 3 {
		t.Errorf("a swap of nothing: version %d, batch %d, %v", version, f.NextBatch(), err)
	}
	if version, err = swap(table, f, idsOf(filesOf(t, s, windows.Name))); err != nil || version != 3 {
		t.Errorf("a swap that only removes: version %d, %v", version, err)
	}
	same(t, "in the end", contents(t, s, windows.Name))
}

// D-27: every version of the history is read as it was, by its number and by its time, and is told as it was made.
func TestVersionsAreRead(t *testing.T) {
	s := open(t, vfs.NewMem(), sealed(1<<20))
	table, err := s.Table(windows)
	ok(t, err)
	f, err := s.Flow("f")
	ok(t, err)
	for n := range int64(4) {
		var remove []FileID
		if n != 1 {
			remove = idsOf(filesOf(t, s, windows.Name))
		}
		_, err := swap(table, f, remove, row{k: "k", seq: n, v: strings.Repeat("v", int(n)*50)}) // what is older has room beside it
		ok(t, err)
	}
	snapshot := s.Snapshot()
	defer snapshot.Close()
	for version, want := range [][]string{{}, {"0"}, {"0", "1"}, {"2"}, {"3"}} {
		at, err := snapshot.VersionAt(windows.Name, noon.Add(time.Duration(version)*time.Second))
		ok(t, err)
		files, err := snapshot.FilesAt(windows.Name, at)
		ok(t, err)
		scan, err := snapshot.ScanFiles(windows.Name, idsOf(files), []string{"seq"})
		ok(t, err)
		got := drained(t, scan)
		slices.Sort(got)
		same(t, fmt.Sprint("version ", version), got, want...)
	}
	history, err := snapshot.History(windows.Name)
	ok(t, err)
	if want := (Update{4, noon.Add(4 * time.Second), "u", "test", "true", 0, 1}); len(history) != 4 || history[0] != want {
		t.Errorf("%+v", history)
	}
	if _, err := snapshot.History(events.Name); !fault.Of(err, fault.InternalError) {
		t.Errorf("the history of a table that does not exist: %v", err)
	}
}

// What an update was computed from must be what is there, and what fails leaves neither rows nor files.
func TestASwapThatFailsDoesNothing(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs, sealed(1<<20))
	table, err := s.Table(windows)
	ok(t, err)
	f, err := s.Flow("f")
	ok(t, err)
	_, err = swap(table, f, nil, row{k: "a"})
	ok(t, err)
	have := idsOf(filesOf(t, s, windows.Name))
	broken := errors.New("broken")
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for name, c := range map[string]struct {
		swap Swap
		ctx  context.Context
		is   func(error) bool
	}{
		"another version": {swap: Swap{Base: 0}, is: func(err error) bool { return fault.Of(err, fault.WriteConflict) }},
		"no such file":    {swap: Swap{Base: 1, Remove: []FileID{{1, 1}}}, is: func(err error) bool { return fault.Of(err, fault.WriteConflict) }},
		"a file twice":    {swap: Swap{Base: 1, Remove: []FileID{have[0], have[0]}}, is: func(err error) bool { return fault.Of(err, fault.WriteConflict) }},
		"rows break off":  {swap: Swap{Base: 1, Rows: []Rows{&given{rows: []row{{k: "b"}}}, &given{rows: []row{{k: "c"}}, err: broken}}}, is: func(err error) bool { return errors.Is(err, broken) }},
		"it is over":      {swap: Swap{Base: 1, Rows: []Rows{&given{rows: []row{{k: "b"}}}}}, ctx: ended, is: func(err error) bool { return errors.Is(err, context.Canceled) }},
		"a place that the flow does not have": {swap: Swap{Base: 1, Rows: []Rows{&given{rows: []row{{k: "b"}}}}, Advance: Advance{Range: batch.Range{Splits: []batch.SplitRange{{Split: "src", From: batch.Offset{At: 7}, To: batch.Offset{At: 9}}}}}},
			is: func(err error) bool { return fault.Of(err, fault.InternalError) }},
	} {
		if c.ctx == nil {
			c.ctx = context.Background()
		}
		if _, err := f.Swap(c.ctx, table, c.swap); !c.is(err) {
			t.Errorf("%s: %v", name, err)
		}
		same(t, name, contents(t, s, windows.Name), "a,0,")
		if names, err := fs.List("db/files"); err != nil || len(names) != 1 || f.NextBatch() != 1 {
			t.Errorf("%s: files %v %v, next batch %d", name, names, err, f.NextBatch())
		}
	}
	plain, err := s.Table(events)
	ok(t, err)
	if _, err := f.Swap(context.Background(), plain, Swap{}); !fault.Of(err, fault.InternalError) {
		t.Errorf("a swap of an append table: %v", err)
	}
	if _, err := s.Table(TableSpec{Name: windows.Name, Fields: windows.Fields}); !fault.Of(err, fault.TableKindDrift) || !strings.Contains(err.Error(), "was a REPLACE WHERE table and is an append table now") {
		t.Errorf("a table with windows that has none any more: %v", err)
	}
}

// D-26: a file ends between two values of the clustering column, unless the rows of one are too many for a file, and its statistics are
// bounds of what is in it.
func TestFilesEndBetweenSlices(t *testing.T) {
	s := open(t, vfs.NewMem(), sealed(400))
	table, err := s.Table(windows)
	ok(t, err)
	f, err := s.Flow("f")
	ok(t, err)
	var rows []row
	for slice := range int64(6) {
		for i := range []int{3, 9, 1, 80, 2, 5}[slice] {
			rows = append(rows, row{k: fmt.Sprint("k", i), seq: slice, v: strings.Repeat("v", 10)})
		}
	}
	_, err = f.Swap(context.Background(), table, Swap{Rows: []Rows{&given{rows: rows, each: 7}}, Cluster: "SEQ"})
	ok(t, err)
	files := filesOf(t, s, windows.Name)
	var ends []string
	for _, file := range files {
		seq := file.Columns[1]
		if !seq.Known || seq.NaN || seq.Nulls != 0 {
			t.Errorf("%+v", seq)
		}
		ends = append(ends, fmt.Sprintf("%d-%d", seq.Min[len(seq.Min)-1], seq.Max[len(seq.Max)-1]))
	}
	if len(ends) < 4 {
		t.Errorf("files %v", ends)
	}
	for i := 1; i < len(ends); i++ {
		if last, first := strings.Split(ends[i-1], "-")[1], strings.Split(ends[i], "-")[0]; last == first && last != "3" {
			t.Errorf("slice %s is in two files: %v", last, ends)
		}
	}
	if got := contents(t, s, windows.Name); len(got) != len(rows) {
		t.Errorf("%d rows of %d", len(got), len(rows))
	}
}

// D-27: what is older than the history, or too much beside what is live, goes, with its files once nobody looks at them.
func TestHistoryIsForgotten(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs, sealed(1<<20))
	table, err := s.Table(windows)
	ok(t, err)
	f, err := s.Flow("f")
	ok(t, err)
	at, n := noon, int64(0)
	update := func(after time.Duration, bytes int) {
		at, n = at.Add(after), n+1
		_, err := f.Swap(context.Background(), table, Swap{Base: table.Version(), Remove: idsOf(filesOf(t, s, windows.Name)),
			Rows: []Rows{&given{rows: []row{{seq: n, v: strings.Repeat("v", bytes)}}}}, Advance: Advance{Time: at}})
		ok(t, err)
	}
	for range 4 {
		update(time.Hour, 100)
	}
	if n := len(table.past); n != 2 {
		t.Errorf("%d old files beside one of the same size, want twice its size", n)
	}
	update(time.Hour, 1000)
	if n := len(table.past); n != 3 {
		t.Errorf("%d old files beside a large one", n)
	}
	update(24*time.Hour+time.Second, 1000)
	if n := len(table.past); n != 1 { // the version that the last update found was still seen until now
		t.Errorf("%d old files a day later", n)
	}
	snapshot := s.Snapshot()
	history, err := snapshot.History(windows.Name)
	ok(t, err)
	var versions []int64
	for _, u := range history {
		versions = append(versions, u.Version)
	}
	for version, found := range map[int64]bool{0: false, 4: false, 5: true, 6: true, 7: false} {
		if files, err := snapshot.FilesAt(windows.Name, version); found && (err != nil || len(files) != 1) || !found && !fault.Of(err, fault.VersionNotFound) {
			t.Errorf("version %d: %v %v", version, files, err)
		}
	}
	if _, err := snapshot.VersionAt(windows.Name, noon); !fault.Of(err, fault.VersionNotFound) {
		t.Errorf("the version of a time that is forgotten: %v", err)
	}
	if version, err := snapshot.VersionAt(windows.Name, at.Add(-time.Microsecond)); err != nil || version != 5 {
		t.Errorf("the version just before the last: %d, %v", version, err)
	}
	ok(t, snapshot.Close())
	if !slices.Equal(versions, []int64{6, 5}) {
		t.Errorf("versions %v", versions)
	}
	closeChecked(t, s)
	s = open(t, fs, sealed(1<<20))
	if names, err := fs.List("db/files"); err != nil || len(names) != 2 {
		t.Errorf("files %v %v", names, err)
	}
}

// The power fails before every write of a few swaps: what is found is a whole version, never older than what was acknowledged, with the
// flow where that version had it; the change feed, which does not fit in a commit, leads to it (D-28); every file that it has is whole, and none lies there that it does not have.
func TestSwapsOutliveEveryCrash(t *testing.T) {
	for _, survives := range []int{0, 50, 100} {
		for k := 1; ; k++ {
			d := memory.New()
			var after *memory.Disk
			s := open(t, d.FS(), sealed(200), aheadOfCommits)
			table, err := s.Table(windows)
			ok(t, err)
			f, err := s.Flow("f")
			ok(t, err)
			reader, err := s.Flow("reader")
			ok(t, err)
			ok(t, table.Subscribe(context.Background(), reader, true))
			ok(t, s.Sync(context.Background()))
			acknowledged, durable := int64(0), int64(0)
			d.FailAt(k, func() { after, durable = d.Crash(survives, uint64(k)), acknowledged })
			for n := range int64(4) {
				var rows []row
				for i := range 5 {
					rows = append(rows, row{k: fmt.Sprint("k", i), seq: n, v: strings.Repeat("v", 30)})
				}
				_, err := swap(table, f, idsOf(filesOf(t, s, windows.Name)), rows...)
				ok(t, err)
				ok(t, s.Sync(context.Background()))
				acknowledged = n + 1
			}
			d.Disarm()
			closeChecked(t, s)
			if after == nil {
				break
			}
			s = open(t, after.FS(), sealed(200), aheadOfCommits)
			table, err = s.Table(windows)
			ok(t, err)
			f, err = s.Flow("f")
			ok(t, err)
			version := table.Version()
			if version < durable || version > durable+1 || int64(f.NextBatch()) != version {
				t.Fatalf("write %d: version %d and batch %d, of %d acknowledged", k, version, f.NextBatch(), durable)
			}
			var want []string
			for i := range 5 * min(version, 1) {
				want = append(want, fmt.Sprintf("k%d,%d,%s", i, version-1, strings.Repeat("v", 30)))
			}
			same(t, fmt.Sprint("write ", k), contents(t, s, windows.Name), want...)
			reader, err = s.Flow("reader")
			ok(t, err)
			same(t, fmt.Sprint("the changes at write ", k), folded(t, table, reader), want...)
			names, err := after.FS().List("db/files")
			ok(t, err)
			if len(names) != len(table.live)+len(table.past) {
				t.Fatalf("write %d: files %v, the table has %d and %d", k, names, len(table.live), len(table.past))
			}
			_, err = swap(table, f, idsOf(filesOf(t, s, windows.Name)), row{k: "on"})
			ok(t, err)
			closeChecked(t, s)
		}
	}
}

// A store is of format 1 until it has a file: a version that knows none opens it until then, and refuses it from then on. What belongs to
// no table is deleted at the next start; a file that a table has must be there, and whole.
func TestFilesAreLookedAtWhenAStoreIsOpened(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs, sealed(1<<20))
	table, err := s.Table(windows)
	ok(t, err)
	f, err := s.Flow("f")
	ok(t, err)
	format := func() int {
		var r identityRecord
		_, err := readJSON(s, s.db, identityKey, &r)
		ok(t, err)
		return r.Format
	}
	if n := format(); n != 1 {
		t.Errorf("a store without files has format %d", n)
	}
	_, err = swap(table, f, nil, row{k: "a"})
	ok(t, err)
	if n := format(); n != 2 {
		t.Errorf("a store with a file has format %d", n)
	}
	for _, name := range []string{"1-1.parquet", "mine.parquet"} {
		w, err := fs.Create("db/files/"+name, vfs.WriteCategoryUnspecified)
		ok(t, err)
		ok(t, w.Close())
	}
	closeChecked(t, s)
	s = open(t, fs, sealed(1<<20))
	names, err := fs.List("db/files")
	ok(t, err)
	slices.Sort(names)
	id := filesOf(t, s, windows.Name)[0].ID
	if want := []string{id.fileName(), "mine.parquet"}; !slices.Equal(names, want) || format() != 2 {
		t.Errorf("files %v, want %v; format %d", names, want, format())
	}
	ok(t, s.Reset([]string{windows.Name}, nil))
	closeChecked(t, s)
	s = open(t, fs, sealed(1<<20))
	if names, err := fs.List("db/files"); err != nil || !slices.Equal(names, []string{"mine.parquet"}) {
		t.Errorf("after a reset: %v %v", names, err)
	}
	table, err = s.Table(windows)
	ok(t, err)
	f, err = s.Flow("f")
	ok(t, err)
	_, err = swap(table, f, nil, row{k: "a"})
	ok(t, err)
	path := s.files.path(filesOf(t, s, windows.Name)[0].ID)
	closeChecked(t, s)
	w, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	ok(t, err)
	ok(t, w.Close())
	for range 2 {
		if _, err := Open(Options{Dir: "db", FS: fs, Pipeline: "p"}); !fault.Of(err, fault.StoreCorrupt) || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("a file that was changed or is gone: %v", err)
		}
		_ = fs.Remove(path)
	}
}

// Rows that come in large pieces are written in smaller ones, and nothing is lost between them.
func TestLargePiecesAreDivided(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawColumns(t, everyType, rapid.IntRange(1, 300).Draw(t, "rows"))
		from := rapid.IntRange(0, (c.Len-1)/64).Draw(t, "from") * 64
		to := rapid.IntRange(from+1, c.Len).Draw(t, "to")
		got := part(&c, from, to)
		var index []int32
		for i := from; i < to; i++ {
			index = append(index, int32(i))
		}
		want := c.Take(index)
		compare(t, "a part", got, text(want))
		set := rowSet{cols: pointers(&got)}
		again, err := parseChunk(appendChunk(nil, &set, 0, got.Len))
		ok(t, err)
		s := schemaOf(t, everyType)
		dec := newChunkDecoder(s, s.visible())
		ok(t, dec.append(&again, 0, got.Len))
		compare(t, "its chunk", dec.columns(), text(want))
	})
}

// aheadOfCommits has every chunk of a change feed written before its commit.
func aheadOfCommits(o *Options) { o.FeedAhead = 1 }

// folded are the rows that a reader has who has followed a table's changes to their end.
func folded(t *testing.T, table *Table, reader *Flow) (out []string) {
	t.Helper()
	at, err := table.Start(reader)
	ok(t, err)
	rows := map[string]int{}
	for !at.Reached(table.End()) {
		c, rng, err := table.ReadChanges(reader, at, batch.Limit{Rows: 3}, nil)
		ok(t, err)
		for i, line := range text(c.Rows) {
			if c.Change[i] == batch.InsertRow {
				rows[line]++
			} else if rows[line]--; rows[line] < 0 {
				t.Fatalf("%s is deleted and was not there", line)
			}
		}
		at = at.With(rng)
	}
	for line, n := range rows {
		out = append(out, slices.Repeat([]string{line}, n)...)
	}
	slices.Sort(out)
	return out
}
