package state

import (
	"context"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"sluice/batch"
	"sluice/digest"
	"sluice/fault"
)

// Writer is one batch being written to a table. A table has one writer at a time; others wait in Begin (D-13, D-33).
// Columns handed to a Writer are read before the call returns.
type Writer struct {
	t       *Table
	b       *pebble.Batch
	s       *scratch
	schema  *schema
	version tableVersion // as it will be
	commit  int64        // number the table's next commit has
	ordinal int32        // rows of an append table so far
	changed bool
	applied bool // floors in memory are ahead of the store
	feed    *feedWriter
	digest  *digest.Sum // of the rows as they will be, nil where it is not kept
	done    bool
	dropped droppedFiles
	out     Committed
}

// scratch is memory a table's writers use in turn.
type scratch struct {
	batch      int // bytes of the largest write so far
	key        []byte
	value      []byte
	rows       []byte     // kept rows, encoded
	rowAt      []uint32   // where they begin
	tied       batch.Keys // values of the groups that Redelivered looked at
	tiedGroups []int32    // which they are
}

// keptBatch is how many bytes at most are kept of a batch's memory for the next one. One that is larger than a memtable is written beside it.
func (s *Store) keptBatch() int { return int(min(32<<20, s.o.MemTableSize)) }

// Forget gives up the memory of writers, which a large batch has made large, unless one is at work in it.
func (t *Table) Forget() {
	select {
	case <-t.turn:
		t.scratch = scratch{}
		t.giveTurn()
	default:
	}
}

// Begin waits for its turn to write the table.
func (t *Table) Begin(ctx context.Context) (*Writer, error) {
	if err := t.takeTurn(ctx); err != nil {
		return nil, err
	}
	w, err := t.writer()
	if err != nil {
		t.giveTurn()
	}
	return w, err
}

// writer begins a batch. It is the caller's turn.
func (t *Table) writer() (*Writer, error) {
	if f := t.store.failure.Load(); f != nil {
		return nil, f
	}
	w := &Writer{t: t, b: t.store.db.NewBatch(pebble.WithInitialSizeBytes(t.scratch.batch), pebble.WithMaxRetainedSizeBytes(t.store.keptBatch())), s: &t.scratch, schema: &t.record.Schema, version: t.version, commit: t.version.version + 1}
	if t.record.Keyed {
		if err := t.floors.prepare(); err != nil {
			w.drop()
			return nil, err
		}
	}
	if t.record.Feed {
		w.feed = t.newFeedWriter(w.b, w.commit)
	}
	if t.digester != nil {
		sum := *t.digest
		w.digest = &sum
	}
	return w, nil
}

// Abort drops the batch and gives the turn on. After Commit it does nothing, so it can be deferred.
func (w *Writer) Abort() {
	if w.done {
		return
	}
	if w.applied {
		w.t.floors.drop()
	}
	if w.feed != nil {
		w.feed.undone(w.t)
	}
	w.end()
}

func (w *Writer) end() {
	w.drop()
	w.t.giveTurn()
}

// drop gives up the batch's memory.
func (w *Writer) drop() {
	w.done = true
	w.s.batch = max(w.s.batch, min(w.t.store.keptBatch(), w.b.Len()))
	_ = w.b.Close()
}

// Committed is what a commit did.
type Committed struct {
	Number   uint64        // of the batch
	Version  int64         // of the table; it rises only when rows changed
	Replaced int64         // old rows removed
	Changes  int64         // rows added to the change feed
	Took     time.Duration // writing to the store, without the disk's part
}

// Commit makes the batch the next of flow f, in one atomic write, and gives the turn on. Also when it fails: the store is
// then as it was before Begin, or has failed for good.
func (w *Writer) Commit(f *Flow, a Advance) (Committed, error) {
	if w.done {
		return Committed{}, fault.New(fault.InternalError, "table %s: a finished batch is committed", w.t.name)
	}
	defer w.Abort()
	start := time.Now()
	if err := w.finish(micros(a.Time)); err != nil {
		return Committed{}, err
	}
	number, err := f.commit(w.b, a, true, false)
	if err != nil {
		return Committed{}, err
	}
	w.t.store.files.drop(w.dropped.instance, w.dropped.files)
	if w.changed {
		w.t.committed(w.version, w.digest)
	}
	w.out.Number, w.out.Version, w.out.Took = number, w.version.version, time.Since(start)
	w.end()
	return w.out, nil
}

// finish writes what hangs on the batch's time and on its sums.
func (w *Writer) finish(now int64) error {
	if !w.changed {
		return nil
	}
	id := w.t.record.Instance
	w.version.version, w.version.time = w.commit, now
	log := commitRecord{w.version.rows, w.version.bytes, now}
	if w.feed != nil {
		var err error
		if w.out.Changes, err = w.feed.finish(); err != nil {
			return err
		}
		w.version.feed += w.out.Changes
		log.rows, log.bytes = w.version.feed, 0
	}
	if w.feed != nil || !w.t.record.Keyed {
		must(w.b.Set(commitKey(id, w.commit), log.encode(), nil))
	}
	var err error
	if w.dropped, err = w.t.trimOld(w.b, now); err != nil {
		return err
	}
	must(w.b.Set(idKey(kindVersion, id), w.version.encode(), nil))
	if w.digest != nil {
		d := digestRecord{w.commit, len(w.schema.Versions), w.t.digester.hasher.Seed(), *w.digest}
		must(w.b.Set(idKey(kindDigest, id), d.encode(), nil))
	}
	return nil
}

func (w *Writer) columns(rows *batch.Columns) ([]*batch.Column, error) {
	return w.t.columns(w.schema, rows)
}

// columns finds the columns of the latest schema version in rows, by name. Columns that are missing are NULL; columns the
// table does not have, and other types, are mistakes of the plan.
func (t *Table) columns(s *schema, rows *batch.Columns) ([]*batch.Column, error) {
	version := s.latest()
	out := make([]*batch.Column, len(version))
	found := 0
	for i, f := range version {
		c := rows.Col(s.Columns[f.ID].Name)
		switch {
		case c == nil:
			c = nullColumn(f.typ(), rows.Len)
		case !c.Type.Equal(f.typ()):
			return nil, fault.New(fault.InternalError, "table %s: column %q is %v, the batch has %v", t.name, s.Columns[f.ID].Name, f.typ(), c.Type)
		case c.Len != rows.Len:
			return nil, fault.New(fault.InternalError, "table %s: column %q has %d rows, the batch %d", t.name, s.Columns[f.ID].Name, c.Len, rows.Len)
		default:
			found++
		}
		out[i] = c
	}
	if found < len(rows.Fields) {
		return nil, fault.New(fault.InternalError, "table %s has not all of the columns (%s)", t.name, batch.DDL(rows.Fields))
	}
	return out, nil
}

func nullColumn(t batch.Type, n int) *batch.Column {
	var b columnBuffer
	b.init(t)
	b.nulls(n)
	return &b.Column
}

// Append adds rows to an append table. Columns are matched by name; those missing are NULL, those unknown are an error.
func (w *Writer) Append(rows *batch.Columns) error {
	if w.t.record.Keyed || w.t.record.Replaced {
		return fault.New(fault.InternalError, "table %s is not an append table", w.t.name)
	}
	if rows.Len == 0 {
		return nil
	}
	cols, err := w.columns(rows)
	if err != nil {
		return err
	}
	if w.digest != nil {
		w.t.digester.append(w.digest, cols, rows.Len)
	}
	set := rowSet{version: len(w.schema.Versions) - 1, cols: cols}
	id := w.t.record.Instance
	w.changed = true
	return set.cut(rows.Len, func(from, to int) error {
		w.s.value = appendChunk(w.s.value[:0], &set, from, to)
		k := chunkKey(kindAppends, id, batch.Offset{At: w.commit, Index: w.ordinal})
		must(w.b.Set(k, w.s.value, nil))
		w.version.rows += int64(to - from)
		w.version.bytes += int64(len(k) + len(w.s.value))
		w.ordinal += int32(to - from)
		return nil
	})
}
