package state

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"sluice/batch"
	"sluice/fault"
	"sluice/internal/model"
)

// TestAnyHistoryGivesTheModelsTable applies random batches, with ties, late rows, rows read again, values that spill, a
// budget that floors outgrow, the store closed and opened in between; the table must be the model's, and whoever follows
// the change feed must have the same rows (RU-07, D-1, D-30, D-43, D-59).
func TestAnyHistoryGivesTheModelsTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory(t)
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0:
				h.reopen()
			case 1:
				h.again()
			case 2:
				h.abort()
			default:
				h.batch(h.draw())
			}
		}
		h.follow()
		h.compare()
		h.close()
	})
}

type history struct {
	t         *rapid.T
	fs        vfs.FS
	budget    int64
	feed      bool
	digest    bool
	s         *Store
	table     *Table
	f, reader *Flow
	delivered []row
	next      int64
	copyOf    map[string]int // rows as a follower of the feed has them
}

func newHistory(t *rapid.T) *history {
	h := &history{t: t, fs: vfs.NewMem(), budget: rapid.SampledFrom([]int64{1 << 30, 1}).Draw(t, "budget"), feed: rapid.Bool().Draw(t, "feed"),
		digest: rapid.Bool().Draw(t, "digest"), copyOf: map[string]int{}}
	h.open()
	return h
}

func (h *history) open() {
	var err error
	h.s, err = Open(Options{Dir: "db", FS: h.fs, Pipeline: "p", FloorBudget: h.budget, FeedAhead: h.budget, OnFault: func(err error) { h.t.Fatal(err) }})
	h.ok(err)
	spec := ticks
	spec.Feed = h.feed
	h.table, err = h.s.Table(spec)
	h.ok(err)
	h.ok(h.table.KeepDigest(context.Background(), h.digest))
	h.f, err = h.s.Flow("f")
	h.ok(err)
	h.reader, err = h.s.Flow("reader")
	h.ok(err)
	if h.feed {
		h.ok(h.table.Subscribe(context.Background(), h.reader, true))
		if _, fixed := h.reader.Start(); !fixed {
			start, err := h.table.Start(h.reader)
			h.ok(err)
			h.ok(h.reader.SetStart(start))
		}
	}
}

func (h *history) ok(err error) {
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *history) close() {
	h.ok(h.s.Check())
	h.ok(h.s.Close())
}

func (h *history) reopen() {
	h.close()
	h.budget = rapid.SampledFrom([]int64{1 << 30, 1}).Draw(h.t, "budget")
	h.digest = rapid.Bool().Draw(h.t, "digest")
	h.open()
}

func (h *history) draw() (rows []row) {
	for range rapid.IntRange(1, 12).Draw(h.t, "rows") {
		v := rapid.SampledFrom([]string{"x", "y", strings.Repeat("long", 1500)}).Draw(h.t, "value")
		rows = append(rows, row{rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(h.t, "key"), rapid.Int64Range(0, 3).Draw(h.t, "seq"), v, h.next})
		h.next++
	}
	return rows
}

func (h *history) batch(rows []row) {
	cols := columnsOf(rows)
	_, counts, err := replaceColumns(h.table, h.f, spanOf(h.f, max(h.next, 1)), &cols)
	h.ok(err)
	if counts.Written+counts.Late+counts.Superseded+counts.Redelivered != int64(len(rows)) {
		h.t.Fatalf("%d rows: %+v", len(rows), counts)
	}
	h.delivered = append(h.delivered, rows...)
	if rapid.Bool().Draw(h.t, "follow") {
		h.follow()
	}
}

// again reads everything once more, as after a checkpoint reset (FR-13).
func (h *history) again() {
	h.ok(h.s.Reset(nil, []string{"f"}))
	if len(h.delivered) > 0 {
		h.batch(append([]row(nil), h.delivered...))
	}
}

// abort gives up a batch after it was applied: nothing of it may remain, in memory neither.
func (h *history) abort() {
	cols := columnsOf(h.draw())
	w, err := h.table.Begin(context.Background())
	h.ok(err)
	rng := spanOf(h.f, h.next)
	h.ok((&rule{}).apply(w, h.f, &rng, &cols))
	w.Abort()
}

func (h *history) compare() {
	var rows []model.KeyedRow
	for _, r := range h.delivered {
		var key any = r.k
		if r.k == "" {
			key = nil
		}
		rows = append(rows, model.KeyedRow{Key: []any{key}, Sequence: r.seq, Value: rowLine(r), From: fmt.Sprint(r.at)})
	}
	var want []string
	for _, r := range model.ReplaceUsing(rows) {
		want = append(want, r.Value)
	}
	sort.Strings(want)
	if got := contents(h.t, h.s, ticks.Name); !slices.Equal(got, want) {
		h.t.Fatalf("table has\n%s\nmodel has\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	var followed []string
	for line, n := range h.copyOf {
		for range n {
			followed = append(followed, line)
		}
	}
	sort.Strings(followed)
	if h.feed && !slices.Equal(followed, want) {
		h.t.Fatalf("the follower has\n%s\nmodel has\n%s", strings.Join(followed, "\n"), strings.Join(want, "\n"))
	}
}

func rowLine(r row) string {
	k := r.k
	if k == "" {
		k = "NULL"
	}
	return fmt.Sprintf("%s,%d,%s", k, r.seq, r.v)
}

// follow reads the change feed to its end, in parts of random size, and folds it.
func (h *history) follow() {
	if !h.feed {
		return
	}
	for !h.reader.Position().Reached(h.table.End()) {
		from := h.reader.Position()
		c, rng, err := h.table.ReadChanges(h.reader, from, batch.Limit{Rows: rapid.IntRange(1, 9).Draw(h.t, "limit")}, nil)
		h.ok(err)
		if len(rng.Splits) == 0 {
			h.t.Fatalf("nothing to read at %v of %v", from, h.table.End())
		}
		for i, line := range text(c.Rows) {
			if c.Change[i] == batch.InsertRow {
				h.copyOf[line]++
			} else if h.copyOf[line]--; h.copyOf[line] < 0 {
				h.t.Fatalf("%s is deleted and was not there", line)
			}
		}
		h.ok(h.reader.Skip(Advance{Range: rng, Time: noon}))
	}
}

func TestAGroupSpillsAndComesBack(t *testing.T) {
	// D-59, A-102: rows of a hot key lie under keys of their own; a tie appends to them, a replace is one range deletion.
	s := open(t, vfs.NewMem())
	table, err := s.Table(ticks)
	ok(t, err)
	f, err := s.Flow("f")
	ok(t, err)
	var want []string
	value := strings.Repeat("v", 1000)
	for i := range int64(60) {
		_, _, err := replace(t, table, f, i+1, row{"hot", 5, fmt.Sprintf("%s%02d", value, i), i}, row{"z", i, "other", 1000 + i})
		ok(t, err)
		want = append(want, fmt.Sprintf("hot,5,%s%02d", value, i))
		if i == 10 || i == 59 {
			info := table.Info()
			if info.Rows != i+2 || info.KeyCount != 2 {
				t.Errorf("%d rows, %d keys", info.Rows, info.KeyCount)
			}
			ok(t, s.Check())
		}
	}
	same(t, "spilled", contents(t, s, ticks.Name), append(want, "z,59,other")...)
	small := table.Info().Bytes
	if small < 60_000 {
		t.Errorf("%d bytes are counted", small)
	}
	c, _, err := replace(t, table, f, 100, row{"hot", 6, "new", 99})
	ok(t, err)
	if c.Replaced != 60 || table.Info().Bytes > 200 {
		t.Errorf("%d rows were replaced, %d bytes are left", c.Replaced, table.Info().Bytes)
	}
	same(t, "replaced", contents(t, s, ticks.Name), "hot,6,new", "z,59,other")
}

func TestASingleRowMayBeLarge(t *testing.T) {
	s := open(t, vfs.NewMem())
	table, err := s.Table(ticks)
	ok(t, err)
	f, err := s.Flow("f")
	ok(t, err)
	large := strings.Repeat("x", 3<<20)
	_, _, err = replace(t, table, f, 2, row{"a", 1, large, 0}, row{large, 1, "k", 1})
	ok(t, err)
	same(t, "large", contents(t, s, ticks.Name), "a,1,"+large, large+",1,k")
	_, _, err = replace(t, table, f, 4, row{"a", 2, "small", 2}, row{large, 2, large, 3})
	ok(t, err)
	same(t, "replaced", contents(t, s, ticks.Name), "a,2,small", large+",2,"+large)
}

func TestTieGroupsHaveTheOrderOfPositions(t *testing.T) {
	// the order inside a tie group does not hang on the order of arrival, inline or spilled.
	for _, value := range []string{"v", strings.Repeat("v", 3000)} {
		s := open(t, vfs.NewMem())
		table, err := s.Table(ticks)
		ok(t, err)
		f, err := s.Flow("f")
		ok(t, err)
		for i, at := range []int64{7, 2, 9, 4, 0, 8, 1, 3, 6, 5} {
			_, _, err := replace(t, table, f, 10+int64(i), row{"k", 1, fmt.Sprint(value, at), at})
			ok(t, err)
		}
		snap := s.Snapshot()
		scan, err := snap.Scan(ticks.Name, []string{"v"}, 0, 1)
		ok(t, err)
		var got []string
		for {
			c, err := scan.Next(3)
			ok(t, err)
			if c.Len == 0 {
				break
			}
			got = append(got, text(c)...)
		}
		if !slices.IsSorted(got) || len(got) != 10 {
			t.Errorf("rows come as %.80q", got)
		}
		ok(t, scan.Close())
		ok(t, snap.Close())
		closeChecked(t, s)
	}
}

func TestFloorsMoveOutOfMemoryAndBack(t *testing.T) {
	// D-30: beyond the budget floors are stored under their own prefix; with room again they come back.
	fs := vfs.NewMem()
	apply := func(s *Store, seq int64) {
		table, err := s.Table(ticks)
		ok(t, err)
		f, err := s.Flow("f")
		ok(t, err)
		var rows []row
		for i := range int64(3000) {
			rows = append(rows, row{fmt.Sprintf("key-%d", i), seq, "v", seq*3000 + i})
		}
		c, counts, err := replace(t, table, f, (seq+1)*3000, rows...)
		ok(t, err)
		if counts.Written != 3000 || c.Replaced != 3000*min(seq, 1) {
			t.Errorf("%+v %+v", c, counts)
		}
	}
	budget := func(n int64) func(*Options) { return func(o *Options) { o.FloorBudget = n } }
	stored := func(s *Store) bool { return s.tables[ticks.Name].record.Floors }
	s := open(t, fs)
	apply(s, 0)
	if stored(s) || s.floors.Load() < 3000*20 {
		t.Errorf("floors are stored: %v, %d bytes in memory", stored(s), s.floors.Load())
	}
	closeChecked(t, s)
	s = open(t, fs, budget(10_000)) // too small from the start
	apply(s, 1)
	if !stored(s) || s.floors.Load() != 0 {
		t.Errorf("floors are stored: %v, %d bytes in memory", stored(s), s.floors.Load())
	}
	apply(s, 2)
	closeChecked(t, s)
	s = open(t, fs, budget(64<<20))
	apply(s, 3)
	if stored(s) || s.floors.Load() == 0 {
		t.Errorf("floors are stored: %v, %d bytes in memory", stored(s), s.floors.Load())
	}
	closeChecked(t, s)
	s = open(t, fs, budget(1_400_000)) // enough for a while
	for seq := int64(4); seq < 6; seq++ {
		apply(s, seq)
	}
	s.o.FloorBudget = 1
	apply(s, 6)
	if !stored(s) {
		t.Error("floors stay in memory beyond the budget")
	}
	closeChecked(t, s)
	same(t, "rows", contents(t, open(t, fs), ticks.Name, "k", "seq")[:2], "key-0,6", "key-1,6")
}

func TestColumnsMustFit(t *testing.T) {
	s := open(t, vfs.NewMem())
	table, err := s.Table(ticks)
	ok(t, err)
	w, err := table.Begin(context.Background())
	ok(t, err)
	defer w.Abort()
	rows := columnsOf([]row{{"a", 1, "x", 0}})
	if err := w.Append(&rows); !fault.Of(err, fault.InternalError) {
		t.Errorf("a keyed table takes appends: %v", err)
	}
	other := batch.Columns{Fields: []batch.Field{{Name: "unknown", Type: batch.Of(batch.Int)}}, Cols: rows.Cols[:1], Len: 1}
	if err := w.EncodeKeys(&Keys{}, &other); !fault.Of(err, fault.InternalError) {
		t.Errorf("a batch without the key: %v", err)
	}
	if err := w.Apply(Edit{Rows: &other, Positions: rows.Pos, Edits: &batch.Edits{}}); !fault.Of(err, fault.InternalError) {
		t.Errorf("a column the table does not have: %v", err)
	}
	if err := w.Apply(Edit{Rows: &rows, Edits: &batch.Edits{}}); !fault.Of(err, fault.InternalError) {
		t.Errorf("rows without positions: %v", err)
	}
}
