package state

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"sluice/batch"
)

// D-28: whoever follows the changes of a table with windows, from whatever version on and in whatever parts, over restarts, has its rows
// after every version; a version's changes are the difference of two bags, no more, and deletes come first.
func TestTheChangesOfWindowsAreTheDifference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ahead := rapid.SampledFrom([]int64{1, 1 << 20}).Draw(t, "ahead")
		limit := rapid.SampledFrom([]int64{1, 60, 1 << 20}).Draw(t, "size")
		h := &windowHistory{t: t, fs: vfs.NewMem(), bag: map[string]int{}, options: func(o *Options) { sealed(limit)(o); o.FeedAhead = ahead }}
		h.open()
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0:
				ok(t, h.table.Subscribe(context.Background(), h.reader, true))
				h.follow()
			case 1:
				ok(t, h.store.Check())
				ok(t, h.store.Close())
				h.open()
			case 2:
				h.follow()
			default:
				h.update()
			}
		}
		ok(t, h.table.Subscribe(context.Background(), h.reader, true))
		h.follow()
		want := contents(t, h.store, windows.Name)
		var got []string
		for line, n := range h.bag {
			got = append(got, slices.Repeat([]string{line}, n)...)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("the follower has\n%s\nthe table has\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		ok(t, h.store.Check())
		ok(t, h.store.Close())
	})
}

// windowHistory is a table with windows and somebody who follows it.
type windowHistory struct {
	t            *rapid.T
	fs           *vfs.MemFS
	options      func(*Options)
	store        *Store
	table        *Table
	flow, reader *Flow
	bag          map[string]int
}

func (h *windowHistory) open() {
	o := Options{Dir: "db", FS: h.fs, Pipeline: "p"}
	h.options(&o)
	var err error
	h.store, err = Open(o)
	ok(h.t, err)
	h.table, err = h.store.Table(windows)
	ok(h.t, err)
	h.flow, err = h.store.Flow("f")
	ok(h.t, err)
	h.reader, err = h.store.Flow("reader")
	ok(h.t, err)
}

// update replaces some files by rows, of which many were there before.
func (h *windowHistory) update() {
	snapshot := h.store.Snapshot()
	files, err := snapshot.Files(windows.Name)
	ok(h.t, err)
	ok(h.t, snapshot.Close())
	var remove []FileID
	for _, f := range files {
		if rapid.Bool().Draw(h.t, "remove") {
			remove = append(remove, f.ID)
		}
	}
	var rows []row
	for range rapid.IntRange(0, 9).Draw(h.t, "rows") {
		rows = append(rows, row{k: rapid.SampledFrom([]string{"", "a", "b"}).Draw(h.t, "k"), seq: int64(rapid.IntRange(0, 2).Draw(h.t, "seq"))})
	}
	_, err = swap(h.table, h.flow, remove, rows...)
	ok(h.t, err)
}

func (h *windowHistory) follow() {
	info := h.table.Info()
	if !slices.Contains(info.Readers, "reader") {
		return
	}
	if _, fixed := h.reader.Start(); !fixed {
		start, err := h.table.Start(h.reader)
		ok(h.t, err)
		ok(h.t, h.reader.SetStart(start))
	}
	version, inserted := int64(-1), false
	for !h.reader.Position().Reached(h.table.End()) {
		c, rng, err := h.table.ReadChanges(h.reader, h.reader.Position(), batch.Limit{Rows: rapid.IntRange(1, 9).Draw(h.t, "limit")}, nil)
		ok(h.t, err)
		if len(rng.Splits) == 0 {
			h.t.Fatalf("nothing to read at %v of %v", h.reader.Position(), h.table.End())
		}
		gone := map[string]bool{}
		for i, line := range text(c.Rows) {
			if at := c.Rows.Pos.Offset[i]; at != version {
				version, inserted = at, false
				clear(gone)
			}
			if c.Change[i] == batch.InsertRow {
				if gone[line] {
					h.t.Fatalf("%s went and came in version %d", line, version)
				}
				h.bag[line]++
				inserted = true
				continue
			}
			gone[line] = true
			if inserted {
				h.t.Fatalf("%s of version %d is deleted behind an insert", line, version)
			}
			if h.bag[line]--; h.bag[line] < 0 {
				h.t.Fatalf("%s is deleted and was not there", line)
			}
		}
		if c.Keys.Len() > 0 {
			h.t.Fatal("rows without a key have one")
		}
		ok(h.t, h.reader.Skip(Advance{Range: rng, Time: noon}))
	}
}

// Rows differ in everything that can be seen, the sign of a zero included, and NaN is NaN; more rows than are counted in one go are counted
// in several.
func TestDifferenceOfManyRows(t *testing.T) {
	s := open(t, vfs.NewMem(), sealed(1<<20))
	floats := TableSpec{Name: "c.s.floats", Fields: []batch.Field{{Name: "x", Type: batch.Of(batch.Double)}}, Replaced: true}
	table, err := s.Table(floats)
	ok(t, err)
	f, err := s.Flow("f")
	ok(t, err)
	write := func(values ...float64) {
		b := batch.NewBuilder(batch.Of(batch.Double), 0)
		for _, v := range values {
			batch.Append(b, v)
		}
		_, err := f.Swap(context.Background(), table, Swap{Base: table.Version(), Remove: idsOf(filesOf(t, s, floats.Name)),
			Rows: []Rows{&once{batch.Columns{Fields: floats.Fields, Cols: []batch.Column{b.Column()}, Len: len(values)}}}, Advance: Advance{Time: noon}})
		ok(t, err)
	}
	var before, after []float64
	for i := range 2000 {
		before, after = append(before, float64(i%700)), append(after, float64((i+1)%701))
	}
	negative := math.Copysign(0, -1)
	write(append(before, 0, math.NaN(), negative, 0)...)
	write(append(after, 0, math.Float64frombits(math.Float64bits(math.NaN())|1), negative, negative)...)
	want := map[string]int{}
	for _, v := range before {
		want[fmt.Sprint(v)]--
	}
	for _, v := range after {
		want[fmt.Sprint(v)]++
	}
	want["0"]--
	want["-0"]++
	for _, most := range []int64{1, 100, 5000} {
		got := map[string]int{}
		d := &differing{t: table, ctx: context.Background(), most: most}
		d.emit = func(change batch.Change, cols []*batch.Column, i int) error {
			n := 1
			if change == batch.DeleteRow {
				n = -1
			}
			got[fmt.Sprint(batch.Values[float64](cols[0])[i])] += n
			return nil
		}
		ok(t, d.beyond(table.past, table.live, batch.DeleteRow))
		ok(t, d.beyond(table.live, table.past, batch.InsertRow))
		for k, n := range want {
			if got[k] != n {
				t.Errorf("%d at once: %s changes by %d, want %d", most, k, got[k], n)
			}
			delete(got, k)
		}
		for k, n := range got {
			if n != 0 {
				t.Errorf("%d at once: %s changes by %d", most, k, n)
			}
		}
	}
}

// once are rows in one piece.
type once struct{ rows batch.Columns }

func (o *once) Next() (batch.Columns, error) {
	rows := o.rows
	o.rows = batch.Columns{}
	return rows, nil
}
