package state

import (
	"context"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"sluice/batch"
	"sluice/fault"
)

// An append table is files, then its tail: the chunks of the commits after the last file. Sealing writes the tail to files and deletes its
// chunks in the commit that names them. Nobody who reads the table sees a difference: rows keep their places, a snapshot has either the
// chunks or the files, and so has one who follows the table.

// Seal writes the tails of all append tables to files, however small they are. Without a Sealer it does nothing. A store does so by itself
// when a tail is large (Options.SealAt).
func (s *Store) Seal(ctx context.Context) error {
	names, err := s.names(kindTable)
	if err != nil {
		return err
	}
	for _, name := range names {
		t, err := s.table(name)
		if err != nil {
			return err
		}
		if err := t.seal(ctx, 1); err != nil {
			return err
		}
	}
	return nil
}

// sealDue seals the tails that are large. One that cannot be sealed stays, and is tried again when it has grown as much once more.
func (s *Store) sealDue(ctx context.Context) {
	for _, t := range s.openTables() {
		if err := t.seal(ctx, s.o.SealAt); err != nil && ctx.Err() == nil && s.failure.Load() == nil {
			s.o.Logger.Warn("the tail of a table cannot be written to a file; it stays where it is", "table", t.name, "error", err)
			t.mu.Lock()
			t.sealedBytes = t.version.bytes
			t.mu.Unlock()
		}
	}
}

// sealing is a tail that is written to files.
type sealing struct {
	t        *Table
	schema   *schema
	instance uint32
	from, to int64 // commits; to is not one of them
	bytes    int64 // of the table up to there
}

// seal writes the tail to files if it has so many bytes.
func (t *Table) seal(ctx context.Context, atLeast int64) error {
	s := t.store
	if s.o.Sealer == nil || s.o.ReadOnly {
		return nil
	}
	s.sealing.Lock() // a reset waits, and so does whoever else seals
	defer s.sealing.Unlock()
	if t.holds() {
		return nil
	}
	return t.sealTail(ctx, atLeast)
}

// holds reports whether a statement rewrites files.
func (t *Table) holds() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.held
}

// holdSealing writes the tail to files, and has none become files until the statement's end. It is the caller's turn.
func (t *Table) holdSealing(ctx context.Context) error {
	if t.store.o.Sealer == nil {
		return fault.New(fault.InternalError, "nothing writes the files of table %s", t.name)
	}
	t.mu.Lock()
	t.held = true
	t.mu.Unlock()
	t.store.sealing.Lock()
	defer t.store.sealing.Unlock()
	return t.sealTail(ctx, 1)
}

// sealTail writes the tail to files if it has so many bytes. The caller has the lock.
func (t *Table) sealTail(ctx context.Context, atLeast int64) error {
	s := t.store
	x, snapshot := t.beginSealing(atLeast)
	if x == nil {
		return nil
	}
	defer snapshot.Close()
	began := time.Now()
	tail, err := newTail(x, snapshot)
	if err != nil {
		return err
	}
	defer tail.it.Close()
	w := t.newFileWriter(x.schema, true, tail.next)
	if err := w.write(ctx); err != nil {
		return err
	}
	if err := s.files.settle(w.written); err != nil {
		w.abandon()
		return w.coded(err)
	}
	if sealed, err := x.commit(w.written); err != nil || !sealed {
		w.abandon()
		return err
	}
	s.o.Logger.Debug("a tail was written to files", "table", t.name, "commits", x.to-x.from, "files", len(w.written), "took", time.Since(began))
	return nil
}

// beginSealing takes a snapshot of a tail that is worth it.
func (t *Table) beginSealing(atLeast int64) (*sealing, *pebble.Snapshot) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.gone != nil || !t.appends() || t.version.bytes-t.sealedBytes < atLeast {
		return nil, nil
	}
	x := &sealing{t: t, schema: &t.record.Schema, instance: t.record.Instance, from: max(t.sealedTo()+1, t.trimmed.first, 1), to: t.version.version + 1, bytes: t.version.bytes}
	if x.from >= x.to {
		return nil, nil
	}
	schema := t.record.Schema
	x.schema = &schema
	return x, t.store.db.NewSnapshot()
}

// appends reports whether rows are only added to the table.
func (t *Table) appends() bool { return t.record.Declared && !t.record.Keyed && !t.record.Replaced }

// sealedTo is the last commit in files; the tail begins after it. Whole commits are sealed, and what a statement left of its table is files.
func (t *Table) sealedTo() (commit int64) {
	if len(t.live) > 0 {
		commit = t.live[len(t.live)-1].last.At
	}
	return max(commit, t.record.Rewritten)
}

// commit takes the place of chunks by files, unless the table is not what it was.
func (x *sealing) commit(files []*tableFile) (sealed bool, err error) {
	t := x.t
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.gone != nil || t.record.Instance != x.instance || t.trimmed.first >= x.to {
		return false, nil
	}
	b := t.store.db.NewBatch()
	defer b.Close()
	for _, f := range files {
		must(b.Set(fileKey(x.instance, f.id), f.encode(), nil))
	}
	must(b.DeleteRange(chunkKey(kindAppends, x.instance, batch.Offset{At: x.from}), chunkKey(kindAppends, x.instance, batch.Offset{At: x.to}), nil))
	t.store.nameFormat(b)
	if err := t.store.commit(b, false); err != nil {
		return false, err
	}
	t.live = append(t.live[:len(t.live):len(t.live)], files...)
	t.sealedBytes = x.bytes
	return true, nil
}

// tail reads the chunks of a tail, as rows with their places.
type tail struct {
	x      *sealing
	it     *pebble.Iterator
	ok     bool
	fields []batch.Field
}

func newTail(x *sealing, snapshot *pebble.Snapshot) (*tail, error) {
	it, err := snapshot.NewIter(&pebble.IterOptions{
		LowerBound: chunkKey(kindAppends, x.instance, batch.Offset{At: x.from}),
		UpperBound: chunkKey(kindAppends, x.instance, batch.Offset{At: x.to}),
	})
	if err != nil {
		return nil, x.t.store.readFailed(err)
	}
	return &tail{x: x, it: it, ok: it.First(), fields: x.schema.fileFields(len(x.schema.Versions)-1, true)}, nil
}

// next returns the next rows: those of a chunk, or of some small ones.
func (t *tail) next() (batch.Columns, error) {
	s := t.x.t.store
	dec := newChunkDecoder(t.x.schema, t.x.schema.visible())
	at, index := batch.NewBuilder(batch.Of(batch.BigInt), 0), batch.NewBuilder(batch.Of(batch.Int), 0)
	bytes := 0
	for ; t.ok && dec.len < chunkRows && bytes < chunkBytes; t.ok = t.it.Next() {
		v, err := t.it.ValueAndErr()
		if err != nil {
			return batch.Columns{}, s.readFailed(err)
		}
		c, err := parseChunk(v)
		if err == nil {
			err = dec.append(&c, 0, c.rows)
		}
		if err != nil {
			return batch.Columns{}, s.readFailed(err)
		}
		bytes += len(v)
		start := chunkAt(t.it.Key())
		for i := range c.rows {
			at.AppendInt(start.At)
			index.AppendInt(int64(start.Index) + int64(i))
		}
	}
	if err := t.it.Error(); err != nil {
		return batch.Columns{}, s.readFailed(err)
	}
	out := dec.columns()
	out.Fields, out.Cols = t.fields, append(out.Cols, at.Column(), index.Column())
	return out, nil
}

// notAppends is the error of reading in the order of commits a table that has none.
func notAppends(name string) error {
	return fault.New(fault.InternalError, "table %s has no rows in an order that a flow could follow: its windows are replaced", name)
}
