package main

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/internal/model"
	"sluice/internal/testenv"
	"sluice/sink"
	sinkkafka "sluice/sink/kafka"
	"sluice/state"
)

// record is a row that goes in. Its id is its place among all.
type record struct {
	key, seq int32
	n        int8 // -2 is dropped by raw, -1 by newest
}

// records are all that go in, and what a plain program makes of them.
type records struct {
	all    []record
	inRaw  int64 // rows that raw keeps
	valid  int64 // of these, rows that newest keeps
	newest []int // what newest ends with
}

// drawRecords draws records whose sequences rise by key, with ties (one of twelve), late rows (most), and rows that are dropped (one of
// twenty, with sequences above all that follows: one that set a floor would be missed).
func drawRecords(random *rand.Rand, size int) *records {
	const keys, dropped = 2000, 1 << 30
	r, latest, top := &records{all: make([]record, size)}, model.Latest{}, make([]int32, keys)
	for id := range r.all {
		key := random.Int32N(keys)
		c := record{key: key, n: int8(random.IntN(10))}
		switch chance := random.IntN(120); {
		case chance < 6:
			c.seq, c.n = dropped, int8(chance%2-2)
		case chance < 16:
			c.seq = top[key]
		case chance < 28:
			top[key]++
			c.seq = top[key]
		default:
			c.seq = random.Int32N(top[key] + 1)
		}
		r.all[id] = c
		if c.n > -2 {
			r.inRaw++
		}
		if c.n >= 0 {
			r.valid++
			latest.Deliver(int64(key), int64(c.seq), id)
		}
	}
	r.newest = latest.Rows()
	return r
}

// write writes some of the records as JSON.
func (r *records) write(t *testing.T, name string, from, to int) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	for id := from; id < to; id++ {
		c := r.all[id]
		fmt.Fprintf(w, "{\"k\":%d,\"seq\":%d,\"id\":%d,\"n\":%d}\n", c.key, c.seq, id, c.n)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// dropped counts the records of a part that raw drops.
func (r *records) dropped(from, to int) (n int64) {
	for _, c := range r.all[from:to] {
		if c.n == -2 {
			n++
		}
	}
	return n
}

// checkCounts compares what the store has counted. How many rows of newest are late and how many are superseded depends on where
// batches began.
func (k *killing) checkCounts(end *standings) {
	k.t.Helper()
	r, half := k.records, len(k.records.all)/2
	for flow, part := range map[string][2]int{"backfill": {0, half}, "live": {half, len(r.all)}} {
		size, dropped := int64(part[1]-part[0]), r.dropped(part[0], part[1])
		k.counted(end, flow, map[string]int64{"records": size, "dropped": dropped, "written": size - dropped, "failed whole": dropped, "passed whole": size - dropped})
	}
	for _, counter := range []string{"superseded", "late", "written", "tied"} {
		delete(end.flows["newest"].Counters, counter) // the sum of the first three was checked
	}
	k.counted(end, "newest", map[string]int64{"records": r.inRaw, "dropped": r.inRaw - r.valid, "failed valid": r.inRaw - r.valid, "passed valid": r.valid})
	changes := end.tables["newest"].FeedRows
	for _, flow := range []string{"to_topic", "to_rows", "to_files"} {
		k.counted(end, flow, map[string]int64{"records": changes, "written": changes})
	}
	if f := end.flows["backfill"]; f.Generation != 0 || f.Completed.IsZero() {
		k.t.Errorf("the backfill is in generation %d, completed %v", f.Generation, f.Completed)
	}
}

func (k *killing) counted(end *standings, flow string, want map[string]int64) {
	k.t.Helper()
	if got := end.flows[flow].Counters; !maps.Equal(got, want) {
		k.t.Errorf("%s counts %v, want %v", flow, got, want)
	}
}

// checkTables compares newest row by row, and raw, which has every record once, by sums.
func (k *killing) checkTables() {
	k.t.Helper()
	query := func(sql string) []string {
		k.t.Helper()
		code, out, err := k.command("query", "-o", "csv", sql)
		if code != exitOK {
			k.t.Fatalf("%s: %s", sql, err)
		}
		return strings.Split(strings.TrimSpace(out), "\n")[1:]
	}
	var want []string
	for _, id := range k.records.newest {
		c := k.records.all[id]
		want = append(want, fmt.Sprintf("%d,%d,%d,%d", c.key, c.seq, id, c.n))
	}
	got := query("SELECT k, seq, id, n FROM newest ORDER BY id")
	if !slices.Equal(got, want) {
		k.t.Errorf("newest has %d rows, want %d", len(got), len(want))
	}
	var keys, seqs, ids, ns int64
	for id, c := range k.records.all {
		if c.n > -2 {
			keys, seqs, ids, ns = keys+int64(c.key), seqs+int64(c.seq), ids+int64(id), ns+int64(c.n)
		}
	}
	n := k.records.inRaw
	sums := query("SELECT count(*) AS rows, count(DISTINCT id) AS ids, sum(k) AS k, sum(seq) AS seq, sum(id) AS id, sum(n) AS n FROM raw")
	if want := fmt.Sprintf("%d,%d,%d,%d,%d,%d", n, n, keys, seqs, ids, ns); sums[0] != want {
		k.t.Errorf("raw comes to %s, want %s", sums[0], want)
	}
}

// changes are the changes that a sink got: of each row whether it was inserted, and whether it was deleted.
type changes struct {
	k                 *killing
	inserted, deleted []bool
	n                 int64
}

func (k *killing) newChanges() *changes {
	return &changes{k: k, inserted: make([]bool, len(k.records.all)), deleted: make([]bool, len(k.records.all))}
}

// add takes a change in. A row of newest comes once, and goes at most once.
func (c *changes) add(change string, key, seq, id int64) {
	of := map[string][]bool{"insert": c.inserted, "delete": c.deleted}[change]
	switch {
	case of == nil || id < 0 || id >= int64(len(of)):
		c.k.t.Fatalf("%s of row %d is no change", change, id)
	case of[id]:
		c.k.t.Fatalf("row %d has its %s twice", id, change)
	case int64(c.k.records.all[id].key) != key || int64(c.k.records.all[id].seq) != seq:
		c.k.t.Fatalf("row %d has key %d and sequence %d", id, key, seq)
	}
	of[id] = true
	c.n++
}

// line takes a change in that is a line of JSON.
func (c *changes) line(text string) {
	change, rest, _ := strings.Cut(strings.TrimPrefix(text, `{"_change_type":"`), `"`)
	var key, seq, id int64
	if _, err := fmt.Sscanf(rest, `,"k":%d,"seq":%d,"id":%d}`, &key, &seq, &id); err != nil {
		c.k.t.Fatalf("not a change: %s", text)
	}
	c.add(change, key, seq, id)
}

// check compares what the changes come to, and how many there were.
func (c *changes) check(name string, end *standings) {
	c.k.t.Helper()
	var left []int
	for id := range c.inserted {
		if c.inserted[id] != c.deleted[id] {
			left = append(left, id)
		}
		if c.deleted[id] && !c.inserted[id] {
			c.k.t.Fatalf("the %s has the delete of row %d without its insert", name, id)
		}
	}
	if want := c.k.records.newest; !slices.Equal(left, want) {
		c.k.t.Errorf("the %s comes to %d rows, want %d", name, len(left), len(want))
	}
	if want := end.tables["newest"].FeedRows; c.n != want {
		c.k.t.Errorf("the %s has %d changes, newest has made %d", name, c.n, want)
	}
}

// inTopic is what a read_committed consumer sees, which must be each batch once: all its records of one transaction, numbers
// without a hole, in order in each partition (D-18).
func (k *killing) inTopic(broker string, flow state.FlowInfo) *changes {
	k.t.Helper()
	out, batches, last := k.newChanges(), map[uint64]string{}, map[int32]uint64{}
	testenv.Records(k.t, "out", (*kadm.Client).ListEndOffsets, func(r *kgo.Record) {
		name := string(r.Headers[0].Value)
		i, ok := sink.ParseIdentity(strings.TrimPrefix(name, "killed.to_topic/"))
		before, again := batches[i.Number]
		if r.Headers[0].Key != sinkkafka.HeaderName || !ok || i.Generation != 0 || i.Number < last[r.Partition] || again && before != name {
			k.t.Fatalf("a record of batch %q at %d of partition %d, after batch %d; that batch was %q", name, r.Offset, r.Partition, last[r.Partition], before)
		}
		batches[i.Number], last[r.Partition] = name, i.Number
		out.line(string(r.Value))
	}, kgo.SeedBrokers(broker))
	if n := uint64(len(batches)); n != flow.NextBatch || slices.Max(slices.Collect(maps.Keys(batches))) != n-1 {
		k.t.Errorf("the topic has %d batches, the flow has sent %d", n, flow.NextBatch)
	}
	return out
}

// inDatabase is what the table has.
func (k *killing) inDatabase(url string, flow state.FlowInfo) *changes {
	k.t.Helper()
	c, err := pgx.Connect(k.t.Context(), url)
	if err != nil {
		k.t.Fatal(err)
	}
	defer c.Close(context.Background())
	out := k.newChanges()
	var change string
	var key, seq, id int64
	rows, _ := c.Query(k.t.Context(), "SELECT _change_type, k, seq, id FROM out")
	if _, err := pgx.ForEachRow(rows, []any{&change, &key, &seq, &id}, func() error { out.add(change, key, seq, id); return nil }); err != nil {
		k.t.Fatal(err)
	}
	var number int64
	if err := c.QueryRow(k.t.Context(), "SELECT number FROM _sluice_batches").Scan(&number); err != nil || number+1 != int64(flow.NextBatch) {
		k.t.Errorf("the table remembers batch %d (%v), the flow has sent %d", number, err, flow.NextBatch)
	}
	return out
}

// inFiles is what the files have, one for each batch.
func (k *killing) inFiles(flow state.FlowInfo) *changes {
	k.t.Helper()
	names, err := filepath.Glob(filepath.Join(k.dir, "out", "*.json"))
	if err != nil {
		k.t.Fatal(err)
	}
	out, numbers := k.newChanges(), map[uint64]bool{}
	for _, name := range names {
		parts := strings.Split(filepath.Base(name), ".") // pipeline, flow, generation, number, json
		number, err := strconv.ParseUint(parts[3], 10, 64)
		if err != nil || number >= flow.NextBatch {
			k.t.Fatalf("a file %s of %d batches: %v", name, flow.NextBatch, err)
		}
		numbers[number] = true
		text, err := os.ReadFile(name)
		if err != nil {
			k.t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			out.line(strings.TrimSuffix(line, "\n"))
		}
	}
	if n := uint64(len(numbers)); n != uint64(len(names)) || n != flow.NextBatch {
		k.t.Errorf("%d files of %d batches, the flow has sent %d", len(names), n, flow.NextBatch)
	}
	return out
}
