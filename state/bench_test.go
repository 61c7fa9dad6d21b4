package state

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"sluice/batch"
)

// wide is a table as real ones are: a key of about 20 bytes, six columns.
var wide = TableSpec{
	Name: "c.s.wide",
	Fields: []batch.Field{{Name: "k", Type: batch.Of(batch.String)}, {Name: "status", Type: batch.Of(batch.String)},
		{Name: "amount", Type: batch.DecimalOf(10, 2)}, {Name: "seq", Type: batch.Of(batch.BigInt)},
		{Name: "at", Type: batch.Of(batch.Timestamp)}, {Name: "place", Type: batch.Of(batch.Int)}},
	Keys:     []int{0},
	Sequence: batch.Of(batch.BigInt),
}

// wideRows makes a batch of random keys whose sequences rise.
func wideRows(r *rand.Rand, n, keys int, offset int64) batch.Columns {
	out := batch.Columns{Fields: wide.Fields, Len: n}
	b := make([]batch.Builder, len(wide.Fields))
	for i, f := range wide.Fields {
		b[i].Init(f.Type, n)
	}
	var key []byte
	for i := range n {
		key = fmt.Appendf(key[:0], "booking-%012d", r.IntN(keys))
		b[0].AppendText(key)
		b[1].AppendString([]string{"NEW", "CONFIRMED", "CANCELLED"}[r.IntN(3)])
		b[2].AppendInt(int64(r.IntN(1_000_000)))
		b[3].AppendInt(offset + int64(i))
		b[4].AppendInt(1_750_000_000_000_000 + offset*1000)
		b[5].AppendInt(int64(r.IntN(300)))
		out.Pos.Split = append(out.Pos.Split, int32(i%4))
		out.Pos.Offset = append(out.Pos.Offset, offset+int64(i))
		out.Pos.Index = append(out.Pos.Index, 0)
	}
	for i := range b {
		out.Cols = append(out.Cols, b[i].Column())
	}
	return out
}

// BenchmarkKeyedApply measures the keyed path from columns to a committed batch: keys, grouping, floors, the rule, rows,
// commit. The store is on disk and loaded with every key twice before.
func BenchmarkKeyedApply(b *testing.B) {
	for _, c := range []struct {
		name string
		keys int
		rows int
		feed bool
		keep bool
	}{{"1M_keys/64k", 1_000_000, 64 << 10, false, false}, {"1M_keys/8k", 1_000_000, 8 << 10, false, false}, {"1M_keys/64k_feed", 1_000_000, 64 << 10, true, false},
		{"1M_keys/64k_digest", 1_000_000, 64 << 10, false, true}} {
		b.Run(c.name, func(b *testing.B) { benchmarkApply(b, c.keys, c.rows, c.feed, c.keep) })
	}
}

func benchmarkApply(b *testing.B, keys, rows int, feed, keep bool) {
	s, err := Open(Options{Dir: b.TempDir(), Pipeline: "p", CacheSize: 512 << 20})
	ok(b, err)
	spec := wide
	spec.Feed = feed
	table, err := s.Table(spec)
	ok(b, err)
	ok(b, table.KeepDigest(context.Background(), keep))
	f, err := s.Flow("f")
	ok(b, err)
	r := rand.New(rand.NewPCG(1, 2))
	run := benchRun{table: table, f: f}
	for run.offset < int64(2*keys) {
		cols := wideRows(r, 64<<10, keys, run.offset)
		ok(b, run.apply(&cols))
	}
	// A few batches are made before and used in turn with new sequences, so that making them is not measured.
	var made []batch.Columns
	for range 16 {
		made = append(made, wideRows(r, rows, keys, 0))
	}
	b.ReportAllocs()
	b.ResetTimer()
	before := cpuTime()
	for i := range b.N {
		cols := made[i%len(made)]
		for j := range cols.Len {
			batch.Values[int64](&cols.Cols[3])[j] = run.offset + int64(j)
			cols.Pos.Offset[j] = run.offset + int64(j)
		}
		ok(b, run.apply(&cols))
	}
	b.StopTimer()
	b.ReportMetric(float64((cpuTime()-before).Nanoseconds())/1000/float64(b.N*rows), "cpu-us/row")
	b.ReportMetric(float64(b.N*rows)/b.Elapsed().Seconds(), "rows/s")
	ok(b, s.Close())
}

// cpuTime is what the process has used so far, on all cores: of use where the machine has other work to do.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

type benchRun struct {
	table  *Table
	f      *Flow
	rule   rule
	offset int64
}

func (x *benchRun) apply(cols *batch.Columns) error {
	w, err := x.table.Begin(context.Background())
	if err != nil {
		return err
	}
	defer w.Abort()
	rng := batch.Range{}
	next := x.offset + int64(cols.Len)
	for p := range 4 {
		rng.Splits = append(rng.Splits, batch.SplitRange{Split: fmt.Sprintf("topic/%d", p), From: batch.Offset{At: x.offset}, To: batch.Offset{At: next}})
	}
	if err := x.rule.apply(w, x.f, &rng, cols); err != nil {
		return err
	}
	x.offset = next
	_, err = w.Commit(x.f, Advance{Range: rng, Time: noon})
	return err
}

// BenchmarkFloorLookup looks up the floors of a batch in a table of a million keys.
func BenchmarkFloorLookup(b *testing.B) {
	const keys, batches = 1_000_000, 16
	x := &floorIndex{}
	floor := bytes.Repeat([]byte{7}, 9)
	for i := range keys {
		k := floorTuple(i)
		x.insert(hashOf(k), k, floor, 1)
	}
	r := rand.New(rand.NewPCG(1, 2))
	var made [batches]Keys
	for i := range made {
		made[i] = floorKeys(r, keys)
	}
	refs := make([]uint32, 64<<10)
	var floors []byte
	b.ResetTimer()
	for i := range b.N {
		k := &made[i%batches]
		floors = floors[:0]
		x.lookup(refs[:k.Len()], &k.Keys, k.Hash, func(_ int, _ groupMeta, floor []byte) { floors = append(floors, floor...) })
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(made[0].Len()), "ns/key")
	b.ReportMetric(float64(x.memory())/keys, "B/key")
}

func floorTuple(i int) []byte { return fmt.Appendf(nil, "\x02acct-%011d\x00\x01", i) }

// floorKeys are the keys of a batch, in the order of the store.
func floorKeys(r *rand.Rand, keys int) (k Keys) {
	var sorted [][]byte
	for _, i := range r.Perm(keys)[:60_000] {
		tuple := floorTuple(i)
		sorted = append(sorted, append(append(idKey(kindRows, 1), shardOf(hashOf(tuple))), tuple...))
	}
	slices.SortFunc(sorted, bytes.Compare)
	k.Offsets = []uint32{0}
	for _, s := range sorted {
		appendTuple(&k.Keys, s)
		k.Hash = append(k.Hash, hashOf(s[tupleAt:]))
	}
	return k
}
