package state

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"sluice/batch"
	memory "sluice/internal/disk"
)

// sliced is a table with windows whose slices are values of seq, with what it should hold, and one file after the other.
type sliced struct {
	t     rapid.TB
	s     *Store
	table *Table
	flow  *Flow
	rows  map[int64][]row
}

func newSliced(t rapid.TB, s *Store) *sliced {
	table, err := s.Table(windows)
	ok(t, err)
	f, err := s.Flow("f")
	ok(t, err)
	return &sliced{t, s, table, f, map[int64][]row{}}
}

// seqs are the least and the largest seq of a file.
func seqs(f *FileInfo) (low, high int64) {
	of := func(key []byte) int64 { return int64(binary.BigEndian.Uint64(key[1:]) ^ 1<<63) }
	return of(f.Columns[1].Min), of(f.Columns[1].Max)
}

// replace makes rows the content of the slices from..to, as an update would.
func (x *sliced) replace(from, to int64, rows map[int64][]row) (version int64) {
	x.t.Helper()
	snapshot := x.s.Snapshot()
	defer snapshot.Close()
	files, err := snapshot.Files(windows.Name)
	ok(x.t, err)
	var computed []row
	for seq := from; seq <= to; seq++ {
		computed = append(computed, rows[seq]...)
		x.rows[seq] = rows[seq]
	}
	swap := Swap{Base: x.table.Version(), Cluster: "seq", Rows: []Rows{&given{rows: computed, each: 3}}, Advance: Advance{Time: noon}}
	for _, f := range files {
		low, high := seqs(&f)
		if high < from || low > to {
			continue
		}
		swap.Remove = append(swap.Remove, f.ID)
		if low < from || high > to {
			scan, err := snapshot.ScanFiles(windows.Name, []FileID{f.ID}, nil)
			ok(x.t, err)
			defer scan.Close()
			swap.Rows = append(swap.Rows, &outside{scan, from, to})
		}
	}
	version, err = x.flow.Swap(context.Background(), x.table, swap)
	ok(x.t, err)
	return version
}

// outside are the rows of a scan that do not lie in a window.
type outside struct {
	scan     *Scan
	from, to int64
}

func (o *outside) Next() (batch.Columns, error) {
	for {
		rows, err := o.scan.Next(0)
		if err != nil || rows.Len == 0 {
			return rows, err
		}
		var kept []int32
		for i, seq := range batch.Values[int64](&rows.Cols[1])[:rows.Len] {
			if seq < o.from || seq > o.to {
				kept = append(kept, int32(i))
			}
		}
		if len(kept) > 0 {
			return rows.Take(kept), nil
		}
	}
}

// check compares the table with what it should hold.
func (x *sliced) check() {
	x.t.Helper()
	var want []string
	for _, rows := range x.rows {
		if len(rows) > 0 {
			want = append(want, text(columnsOf(rows))...)
		}
	}
	got := contents(x.t, x.s, windows.Name)
	slices.Sort(got)
	slices.Sort(want)
	same(x.t, "rows", got, want...)
}

func (x *sliced) files() []FileInfo {
	x.t.Helper()
	snapshot := x.s.Snapshot()
	defer snapshot.Close()
	out, err := snapshot.Files(windows.Name)
	ok(x.t, err)
	return out
}

// D-26, D-27, RW-18: whatever windows are replaced by whatever rows, the rows are right; a file in whose slices nothing changes stays, also when
// the window reaches into it or its rows come in another order; and what changes nothing makes no version.
func TestUnchangedSlicesKeepTheirFiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := Options{Dir: "db", FS: vfs.NewMem(), Pipeline: "p"}
		sealed(400)(&o)
		o.MergeAt = 100 // more than there are
		s, err := Open(o)
		ok(t, err)
		defer s.Close()
		x := newSliced(t, s)
		for range rapid.IntRange(2, 8).Draw(t, "updates") {
			from := rapid.Int64Range(0, 9).Draw(t, "from")
			to := rapid.Int64Range(from, 9).Draw(t, "to")
			rows, changed := map[int64][]row{}, map[int64]bool{}
			for seq := from; seq <= to; seq++ {
				if rapid.IntRange(0, 3).Draw(t, "same") > 0 {
					rows[seq] = rapid.Permutation(x.rows[seq]).Draw(t, "order")
					continue
				}
				for range rapid.SampledFrom([]int{0, 1, 2, 5, 30}).Draw(t, "rows") {
					rows[seq] = append(rows[seq], row{k: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "k"), seq: seq, v: strings.Repeat("v", rapid.IntRange(0, 9).Draw(t, "v"))})
				}
				changed[seq] = fmt.Sprint(sortedRows(rows[seq])) != fmt.Sprint(sortedRows(x.rows[seq]))
			}
			before, version := x.files(), x.table.Version()
			changes := slices.Contains(values(changed), true)
			if got := x.replace(from, to, rows); (got > version) != changes {
				t.Fatalf("version %d after %d, changes: %v", got, version, changes)
			}
			x.check()
			after := idsOf(x.files())
			for i, f := range before {
				low, high := seqs(&f)
				stays := true
				for seq := low; seq <= high; seq++ {
					stays = stays && !changed[seq]
				}
				for j, g := range before {
					l, h := seqs(&g)
					stays = stays && (i == j || h < low || l > high)
				}
				if stays && !slices.Contains(after, f.ID) {
					t.Fatalf("the file of %d to %d is gone, and nothing in it has changed", low, high)
				}
			}
		}
		ok(t, s.Check())
	})
}

func sortedRows(rows []row) []row {
	out := slices.Clone(rows)
	slices.SortFunc(out, func(a, b row) int { return strings.Compare(a.k+"|"+a.v, b.k+"|"+b.v) })
	return out
}

func values(m map[int64]bool) (out []bool) {
	for _, v := range m {
		out = append(out, v)
	}
	return out
}

// RW-18, D-26: a window in the middle of a table rewrites its own slices and what shares a file with them, once; from then on it has files of
// its own.
func TestAWindowTouchesItsOwnSlices(t *testing.T) {
	s := open(t, vfs.NewMem(), sealed(4000), func(o *Options) { o.SliceSize = 1000 })
	x := newSliced(t, s)
	of := func(v string, from, to int64) map[int64][]row {
		out := map[int64][]row{}
		for seq := from; seq <= to; seq++ {
			for i := range 5 {
				out[seq] = append(out[seq], row{k: fmt.Sprint(i), seq: seq, v: v})
			}
		}
		return out
	}
	x.replace(0, 99, of("all", 0, 99))
	before := x.files()
	if len(before) < 10 || len(before) > 50 {
		t.Fatalf("%d files for 100 small slices", len(before))
	}
	ranges := func(files []FileInfo) (out []string) {
		for _, f := range files {
			low, high := seqs(&f)
			out = append(out, fmt.Sprintf("%d-%d", low, high))
		}
		return out
	}
	gone := func(before, after []FileInfo) (n int) {
		for _, f := range before {
			if !slices.Contains(idsOf(after), f.ID) {
				n++
			}
		}
		return n
	}
	x.replace(50, 52, of("window", 50, 52))
	after := x.files()
	if n := gone(before, after); n > 2 {
		t.Errorf("%d files went for a window of three small slices", n)
	}
	for i, f := range after {
		low, high := seqs(&f)
		for _, g := range after[:i] {
			if l, h := seqs(&g); l <= high && low <= h {
				t.Errorf("two files have slices %d to %d and %d to %d: %v", l, h, low, high, ranges(after))
			}
		}
	}
	x.replace(50, 52, of("again", 50, 52))
	if n := gone(after, x.files()); n != 1 {
		t.Errorf("%d files went for a window that has a file of its own: %v", n, ranges(after))
	}
	x.check()
}

// A table whose window is always its newest slice, and small, has few files in the end, and the versions of its history are what they were.
func TestSmallFilesAreMerged(t *testing.T) {
	s := open(t, vfs.NewMem(), sealed(4000))
	x := newSliced(t, s)
	most := 0
	for seq := range int64(300) {
		x.replace(seq, seq, map[int64][]row{seq: {{k: "a", seq: seq, v: "v"}, {k: "b", seq: seq}}})
		most = max(most, len(x.files()))
	}
	x.check()
	if n := len(x.files()); n > 2*s.o.MergeAt || most > 2*s.o.MergeAt {
		t.Errorf("%d files, %d at most, for 300 slices of two rows", n, most)
	}
	snapshot := s.Snapshot()
	defer snapshot.Close()
	history, err := snapshot.History(windows.Name)
	ok(t, err)
	for _, u := range history {
		files, err := snapshot.FilesAt(windows.Name, u.Version)
		ok(t, err)
		scan, err := snapshot.ScanFiles(windows.Name, idsOf(files), []string{"seq"})
		ok(t, err)
		if rows := drained(t, scan); int64(len(rows)) != 2*u.Version {
			t.Errorf("version %d has %d rows", u.Version, len(rows))
		}
	}
}

// D-26, D-24: days of a TIMESTAMP are slices in the pipeline's zone, and NaN, NULL and the zeros are where they are in the order of values.
func TestSlices(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	ok(t, err)
	at := func(kind batch.Kind, times ...string) batch.Columns {
		b := batch.NewBuilder(batch.Of(kind), 0)
		for _, text := range times {
			when, err := time.Parse(time.RFC3339, text)
			ok(t, err)
			b.AppendInt(when.UnixMicro())
		}
		return batch.Columns{Len: len(times), Cols: []batch.Column{b.Column()}}
	}
	slicesOf := func(rows batch.Columns) (n int) {
		laid := &slicing{zone: berlin}
		seen := map[string]bool{}
		for i := range rows.Len {
			seen[string(laid.slice(nil, &rows, i))] = true
		}
		return len(seen)
	}
	times := []string{"2026-03-28T22:59:59Z", "2026-03-28T23:00:00Z", "2026-03-29T21:59:59Z", "2026-03-29T22:00:00Z", "1969-12-31T22:00:00Z", "1969-12-31T23:00:00Z"}
	if n := slicesOf(at(batch.Timestamp, times...)); n != 5 { // 28, 29, 29, 30 March in summer time, 31 December, 1 January
		t.Errorf("%d days of a TIMESTAMP", n)
	}
	if n := slicesOf(at(batch.TimestampNTZ, times...)); n != 3 {
		t.Errorf("%d days of a TIMESTAMP_NTZ", n)
	}
	column := func(values ...float64) *fileRecord {
		b := batch.NewBuilder(batch.Of(batch.Double), 0)
		for _, v := range values {
			if v == 99 {
				b.AppendNull()
			} else {
				batch.Append(b, v)
			}
		}
		stats := newStats(batch.Of(batch.Double))
		c := b.Column()
		stats.add(&c)
		return &fileRecord{columns: []ColumnStats{stats.done()}}
	}
	for _, c := range []struct {
		file *fileRecord
		rows []float64
	}{{column(1, 2), []float64{1, 1.5, 2}}, {column(99, 2), []float64{99, 0, 2}}, {column(99), []float64{99}}, {column(math.NaN()), []float64{math.NaN()}},
		{column(-1, math.NaN()), []float64{0, math.Inf(1), math.NaN()}}} {
		b := c.file.boundsOf(0)
		for _, v := range c.rows {
			key := column(v).columns[0].Min
			if v == 99 {
				key = ofNull
			} else if v != v {
				x := batch.NewBuilder(batch.Of(batch.Double), 1)
				batch.Append(x, v)
				nan := x.Column()
				key = batch.AppendKey(nil, []*batch.Column{&nan}, 0)
			}
			if bytes.Compare(b.low, key) > 0 || bytes.Compare(b.high, key) < 0 {
				t.Errorf("%v lies outside of %x", v, b)
			}
		}
	}
}

// D-27, D-28: rows that differ in the sign of a zero only, in how often they are there, or in one NULL, are other rows.
func TestChangesThatAreHardToSee(t *testing.T) {
	s := open(t, vfs.NewMem(), sealed(1<<20))
	spec := TableSpec{Name: "c.s.floats", Fields: []batch.Field{{Name: "x", Type: batch.Of(batch.Double)}, {Name: "l", Type: batch.ArrayOf(batch.Of(batch.Float))}}, Replaced: true}
	table, err := s.Table(spec)
	ok(t, err)
	f, err := s.Flow("f")
	ok(t, err)
	negative := math.Copysign(0, -1)
	version := int64(0)
	for i, c := range []struct {
		rows    [][2]float64 // 99 is NULL
		changes bool
	}{
		{[][2]float64{{0, 1}, {math.NaN(), 2}, {99, 3}}, true},
		{[][2]float64{{99, 3}, {math.NaN(), 2}, {0, 1}}, false},
		{[][2]float64{{99, 3}, {math.NaN(), 2}, {negative, 1}}, true},
		{[][2]float64{{99, 3}, {math.NaN(), 2}, {negative, 0}}, true},
		{[][2]float64{{99, 3}, {math.NaN(), 2}, {negative, negative}}, true},
		{[][2]float64{{99, 3}, {math.NaN(), 2}, {negative, 99}}, true},
		{[][2]float64{{99, 3}, {math.NaN(), 2}, {negative, 99}, {99, 3}}, true},
		{[][2]float64{{99, 3}, {99, 3}, {math.NaN(), 2}, {negative, 99}}, false},
		{[][2]float64{{99, 3}, {math.NaN(), 2}, {math.NaN(), 2}, {negative, 99}}, true},
	} {
		x, l := batch.NewBuilder(spec.Fields[0].Type, 0), batch.NewBuilder(spec.Fields[1].Type, 0)
		for _, r := range c.rows {
			if r[0] == 99 {
				x.AppendNull()
			} else {
				batch.Append(x, r[0])
			}
			if r[1] == 99 {
				l.AppendNull()
			} else {
				batch.Append(l.Child(0), float32(r[1]))
				l.AppendNested()
			}
		}
		rows := batch.Columns{Fields: spec.Fields, Len: len(c.rows), Cols: []batch.Column{x.Column(), l.Column()}}
		got, err := f.Swap(context.Background(), table, Swap{Base: version, Remove: idsOf(filesOf(t, s, spec.Name)), Rows: []Rows{&whole{rows}}, Cluster: "x", Advance: Advance{Time: noon}})
		ok(t, err)
		if (got > version) != c.changes {
			t.Errorf("%d: version %d after %d", i, got, version)
		}
		version = got
	}
}

// whole are rows in one piece.
type whole struct{ rows batch.Columns }

func (w *whole) Next() (rows batch.Columns, err error) {
	rows, w.rows = w.rows, batch.Columns{}
	return rows, nil
}

// D-26: small files are merged in the commit of an update, so the power may fail before any write: what is found is a whole version.
func TestMergesOutliveEveryCrash(t *testing.T) {
	merging := func(o *Options) { sealed(1 << 20)(o); o.MergeAt = 2 }
	for k := 1; ; k++ {
		d := memory.New()
		var after *memory.Disk
		x := newSliced(t, open(t, d.FS(), merging))
		ok(t, x.s.Sync(context.Background()))
		acknowledged, durable := int64(0), int64(0)
		d.FailAt(k, func() { after, durable = d.Crash(50, uint64(k)), acknowledged })
		for seq := range int64(5) {
			x.replace(seq, seq, map[int64][]row{seq: {{k: "a", seq: seq}, {k: "b", seq: seq}}})
			ok(t, x.s.Sync(context.Background()))
			acknowledged++
		}
		d.Disarm()
		if n := len(x.files()); n > 2 {
			t.Fatalf("%d files: nothing was merged", n)
		}
		closeChecked(t, x.s)
		if after == nil {
			return
		}
		y := newSliced(t, open(t, after.FS(), merging))
		version := y.table.Version()
		if version < durable || version > durable+1 {
			t.Fatalf("write %d: version %d, of %d acknowledged", k, version, durable)
		}
		for seq := range version {
			y.rows[seq] = x.rows[seq]
		}
		y.check()
		names, err := after.FS().List("db/files")
		ok(t, err)
		if len(names) != len(y.table.live)+len(y.table.past) {
			t.Fatalf("write %d: files %v, the table has %d and %d", k, names, len(y.table.live), len(y.table.past))
		}
		closeChecked(t, y.s)
	}
}
