package replaceusing

import (
	"bytes"
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sluice/batch"
	"sluice/internal/model"
)

// delivery is a random history of a table with a two-column key that may be null: rows in some order, cut into batches,
// some of them read again.
type delivery struct {
	lines   []string
	batches []int // ends
}

func drawDelivery(t *rapid.T) delivery {
	value := rapid.SampledFrom([]string{"null", "1", "2"})
	device := rapid.SampledFrom([]string{"null", "", "a", "b"})
	var d delivery
	n := rapid.IntRange(1, 40).Draw(t, "rows")
	for i := range n {
		k := device.Draw(t, "device")
		if k == "" {
			k = "null0" // looks like a null
		}
		d.lines = append(d.lines, fmt.Sprintf("%s %s %s %d at %d/%d", value.Draw(t, "region"), k,
			rapid.SampledFrom([]string{"x", "y"}).Draw(t, "event"), rapid.IntRange(0, 4).Draw(t, "seq"), rapid.IntRange(0, 1).Draw(t, "split"), i))
	}
	for range rapid.IntRange(0, 10).Draw(t, "again") {
		d.lines = append(d.lines, d.lines[rapid.IntRange(0, n-1).Draw(t, "which")])
	}
	for i, j := range rapid.Permutation(indexes(len(d.lines))).Draw(t, "order") {
		if i < j {
			d.lines[i], d.lines[j] = d.lines[j], d.lines[i]
		}
	}
	for at := 0; at < len(d.lines); {
		at = min(len(d.lines), at+rapid.IntRange(1, 12).Draw(t, "batch"))
		d.batches = append(d.batches, at)
	}
	return d
}

func indexes(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// PT-01, RU-07: any order and any batches give the closed form of the model. PT-02, EX-15 to EX-18: with drops before the
// rule the result is that of the rows that are left.
func TestAnyOrderAndAnyBatchesGiveTheClosedForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDelivery(t)
		drop := rapid.Bool().Draw(t, "drop")
		tab := newTable("region_id", "device_type")
		var delivered []model.KeyedRow
		from, written, read := 0, int64(0), int64(0)
		for _, end := range d.batches {
			var lines []string
			for _, line := range d.lines[from:end] {
				if !drop || !strings.Contains(line, " y ") {
					lines = append(lines, line)
					delivered = append(delivered, modelRow(line))
				}
			}
			from = end
			next := int64(0)
			rows, err := parse(lines, &next)
			if err != nil {
				t.Fatal(err)
			}
			tab.apply(&rows)
			checkDecision(t, &tab.d, len(lines))
			written += tab.d.Counts.Written
			read += int64(len(lines))
		}
		var want []string
		for _, r := range model.ReplaceUsing(delivered) {
			want = append(want, r.Value)
		}
		sort.Strings(want)
		if got := tab.contents(); !slices.Equal(got, want) {
			t.Fatalf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		for _, g := range tab.groups {
			if !slices.IsSortedFunc(g.rows, func(a, b stored) int { return int(a.split-b.split)*100 + int(a.offset-b.offset) }) && len(d.batches) == 1 {
				t.Fatalf("rows of a key are not in the order of positions: %v", g.rows)
			}
		}
		if written > read {
			t.Fatalf("%d rows written of %d", written, read)
		}
	})
}

// checkDecision holds what is true of every decision: each row has a verdict, the kept rows are those that say so.
func checkDecision(t *rapid.T, d *Decision, rows int) {
	c := d.Counts
	if got := c.Written + c.Superseded + c.Late + c.Redelivered; got != int64(rows) {
		t.Fatalf("%d verdicts for %d rows: %+v", got, rows, c)
	}
	kept := 0
	for g, op := range d.Ops {
		if (len(d.Kept.Of(g)) == 0) != (op == batch.OpIgnore) {
			t.Fatalf("operation %v keeps %d rows", op, len(d.Kept.Of(g)))
		}
		for _, r := range d.Kept.Of(g) {
			want := Kept
			if op == batch.OpAppend {
				want = Tied
			}
			if d.Verdicts[r] != want {
				t.Fatalf("row %d of %v is %v", r, op, d.Verdicts[r])
			}
			kept++
		}
	}
	if int64(kept) != c.Written {
		t.Fatalf("%d rows kept, %d counted", kept, c.Written)
	}
}

func modelRow(line string) model.KeyedRow {
	words, at, _ := strings.Cut(line, " at ")
	w := strings.Fields(words)
	r := model.KeyedRow{Value: words, From: at}
	for _, k := range w[:2] {
		if k == "null" {
			r.Key = append(r.Key, nil)
		} else {
			r.Key = append(r.Key, k)
		}
	}
	_, _ = fmt.Sscan(w[3], &r.Sequence)
	return r
}

func TestGroupingIsASort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var keys batch.Keys
		keys.Offsets = []uint32{0}
		prefix := rapid.SliceOfN(rapid.Byte(), 0, 10).Draw(t, "prefix")
		part := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 'a', 255}), 0, 14)
		common := rapid.SliceOfN(rapid.Byte(), 0, 10).Draw(t, "common")
		for range rapid.IntRange(0, 60).Draw(t, "keys") {
			keys.Bytes = append(keys.Bytes, prefix...)
			if rapid.Bool().Draw(t, "shard") {
				keys.Bytes = append(append(keys.Bytes, rapid.Byte().Draw(t, "byte")), common...)
			}
			keys.Bytes = append(keys.Bytes, part.Draw(t, "key")...)
			keys.Offsets = append(keys.Offsets, uint32(len(keys.Bytes)))
		}
		var g Grouper
		var got batch.Groups
		g.Group(&got, &keys)
		rows := make([]int32, keys.Len())
		for i := range rows {
			rows[i] = int32(i)
		}
		slices.SortStableFunc(rows, func(a, b int32) int { return bytes.Compare(keys.At(int(a)), keys.At(int(b))) })
		if !slices.Equal(got.Rows, rows) {
			t.Fatalf("rows are %v, sorted they are %v", got.Rows, rows)
		}
		for i := range got.Len() {
			for _, r := range got.Of(i) {
				if !bytes.Equal(keys.At(int(r)), keys.At(int(got.Of(i)[0]))) {
					t.Fatalf("group %d has two keys", i)
				}
			}
			if i > 0 && bytes.Equal(keys.At(int(got.Of(i)[0])), keys.At(int(got.Of(i - 1)[0]))) {
				t.Fatalf("groups %d and %d have one key", i-1, i)
			}
		}
	})
}
