package daemon

import (
	"runtime"
	"slices"

	"sluice/batch"
	"sluice/catalog"
	"sluice/plan"
)

// Memory is how the one limit is split (D-30). What the program takes whatever it does comes first: its code, which DuckDB's
// is most of, the runtime with a heap of its own, and what the C libraries keep. Of the rest five eighths are the Go heap's, one eighth
// the store's cache and memtables, which lie outside of it, and one eighth the two SQL engines'. The last eighth is what
// allocators keep and what DuckDB does not count. Where windows are replaced, the engine that sorts their rows has a quarter, of which the batches of
// flows on their way give most.
type Memory struct {
	Heap     int64 // of Go, everything in it
	Floors   int64 // in the heap: floors of keyed tables
	Batches  int64 // in the heap: the batches of all flows that are on their way
	Feed     int64 // in the heap: change feed of a commit before it is written ahead
	Cache    int64 // blocks of the store, and its memtables
	Memtable int64 // one of three
	Engine   int64 // of the engine that streams
	Queries  int64 // of the one with several threads
	Threads  int   // so many
}

// fixed is that memory: 93 MB of code that is in use, about 10 of C's allocator, and idle, the Go runtime's part. A daemon that does
// nothing has 88 in all.
const (
	fixed = 120 << 20
	idle  = 16 << 20
)

// perThread is what DuckDB needs for each thread to sort more than fits in memory.
const perThread = 48 << 20

// MemoryOf splits the memory limit of a pipeline.
func MemoryOf(p *plan.Pipeline) Memory {
	rest := max(p.Settings.MemoryLimit, catalog.LeastMemory) - fixed
	m := Memory{Heap: idle + rest*5/8, Floors: rest / 8, Batches: rest / 4, Feed: rest / 64, Cache: rest / 8, Memtable: min(64<<20, rest/32), Engine: rest / 16, Queries: rest / 16}
	if slices.ContainsFunc(p.Flows, func(f *plan.Flow) bool { return f.Window != nil }) {
		m.Heap, m.Batches, m.Queries = idle+rest*7/16, rest/8, rest/4
	}
	m.Threads = min(runtime.GOMAXPROCS(0), max(1, int(m.Queries/perThread)))
	return m
}

const (
	// copies is how often what is read of a batch is in memory at once: fetched, decompressed, and decoded, all of it twice
	// since the next batch is read meanwhile, evaluated, encoded, and on its way to the store or the sink.
	copies = 10
	// original is how often more it is where records are kept beside their rows, since they may have to go into quarantine.
	original = 3
	// leastRow is what a row costs on that way although it has next to no bytes: its positions, its hash, its places in columns.
	leastRow = 64
	// leastBatch keeps batches from becoming so small that their number is what costs.
	leastBatch = 256 << 10
	// leastRecord is how large a record may be whatever the memory.
	leastRecord = 1 << 20
)

// batchLimit bounds a batch of one flow: as the settings say, and so that the batches of all flows at once fit in memory.
func (d *Daemon) batchLimit(f *plan.Flow) batch.Limit {
	s := d.Plan.Settings
	budget := MemoryOf(d.Plan).Batches
	times := int64(copies)
	if f.Input.Mode == batch.Quarantine {
		times += original
	}
	bytes := max(leastBatch, budget/int64(len(d.Plan.Flows))/times)
	return batch.Limit{Rows: min(s.MaxBatchRows, int(bytes/leastRow)), Bytes: min(s.MaxBatchBytes, bytes), Record: max(leastRecord, budget/8)}
}
