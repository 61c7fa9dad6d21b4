package state

import (
	"context"
	"math"
	"slices"

	"sluice/batch"
	"sluice/digest"
	"sluice/fault"
)

// A statement that changes rows of an append table writes the files anew that have some (D-34). Rows that stay keep their places, so that
// positions of readers stay valid; the files as they were are kept as long as a reader stands before the statement. What it brings new has the
// number of its commit.

// rewrite makes a new version of an append table: s.Remove go, s.Rows come. It is the caller's turn, and no tail is sealed meanwhile.
func (t *Table) rewrite(ctx context.Context, s *Swap) (version int64, err error) {
	removed, err := t.liveFiles(s.Remove)
	if err != nil {
		return 0, err
	}
	r := &rewriting{t: t, commit: t.version.version + 1}
	if t.digester != nil {
		if r.digest, err = t.without(ctx, s.Remove); err != nil {
			return 0, err
		}
	}
	added, err := r.write(ctx, s.Rows)
	if err != nil {
		return 0, err
	}
	if s.Finish != nil {
		s.Finish(s)
	}
	if len(removed) == 0 && len(added) == 0 {
		return t.version.version, nil
	}
	if err := t.commitRewrite(s, removed, added, r.digest); err != nil {
		t.store.files.removeAll(added)
		return 0, err
	}
	return t.version.version, nil
}

// without is the digest of the table without the rows of some files.
func (t *Table) without(ctx context.Context, files []FileID) (*digest.Sum, error) {
	snapshot := t.store.Snapshot()
	defer snapshot.Close()
	scan, err := snapshot.ScanFiles(t.name, files, nil)
	if err != nil {
		return nil, err
	}
	defer scan.Close()
	var gone digest.Sum
	for ctx.Err() == nil {
		rows, err := scan.Next(0)
		if err != nil {
			return nil, err
		}
		if rows.Len == 0 {
			break
		}
		t.digester.hasher.Add(&gone, &rows)
	}
	sum := t.digest.Minus(gone)
	return &sum, ctx.Err()
}

// rewriting writes the files of what comes.
type rewriting struct {
	t       *Table
	commit  int64
	ordinal int64       // of the next new row
	digest  *digest.Sum // nil where it is not kept
}

func (r *rewriting) write(ctx context.Context, rows []Rows) (added []*tableFile, err error) {
	schema := &r.t.record.Schema
	for _, rows := range rows {
		w := r.t.newFileWriter(schema, true, nil)
		w.next = func() (batch.Columns, error) {
			piece, err := rows.Next()
			if err != nil || piece.Len == 0 {
				return batch.Columns{}, err
			}
			return r.placed(schema, &piece, w.fields)
		}
		if err := w.write(ctx); err != nil {
			r.t.store.files.removeAll(added)
			return nil, err
		}
		added = append(added, w.written...)
	}
	if len(added) == 0 {
		return nil, nil
	}
	if err := r.t.store.files.settle(added); err != nil {
		r.t.store.files.removeAll(added)
		return nil, r.t.store.failed(err)
	}
	return added, nil
}

// placed brings rows in the order of the schema, with their places behind: those that they have, or new ones.
func (r *rewriting) placed(schema *schema, piece *batch.Columns, fields []batch.Field) (batch.Columns, error) {
	at, index := piece.Col(commitColumn), piece.Col(ordinalColumn)
	if at != nil {
		n := len(piece.Cols) - 2
		piece.Cols, piece.Fields = piece.Cols[:n], piece.Fields[:n]
	} else {
		if r.ordinal+int64(piece.Len) > math.MaxInt32 {
			return batch.Columns{}, fault.New(fault.StatementTooLarge, "a statement adds more rows to table %s than one commit can number (%d)", r.t.name, math.MaxInt32).
				WithHint("add them by several statements")
		}
		commits, ordinals := batch.NewBuilder(batch.Of(batch.BigInt), piece.Len), batch.NewBuilder(batch.Of(batch.Int), piece.Len)
		for range piece.Len {
			commits.AppendInt(r.commit)
			ordinals.AppendInt(r.ordinal)
			r.ordinal++
		}
		c, o := commits.Column(), ordinals.Column()
		at, index = &c, &o
	}
	cols, err := r.t.columns(schema, piece)
	if err != nil {
		return batch.Columns{}, err
	}
	if r.digest != nil {
		r.t.digester.append(r.digest, cols, piece.Len)
	}
	out := batch.Columns{Fields: fields, Len: piece.Len}
	for _, c := range append(cols, at, index) {
		out.Cols = append(out.Cols, *c)
	}
	return out, nil
}

// commitRewrite commits a statement whose files are written.
func (t *Table) commitRewrite(s *Swap, removed, added []*tableFile, sum *digest.Sum) error {
	b := t.store.db.NewBatch()
	defer b.Close()
	id, v, record := t.record.Instance, t.version, t.record
	v.version, v.time = v.version+1, micros(s.Advance.Time)
	past := slices.Clone(t.past)
	slices.SortFunc(removed, byName) // as filesOf gives them
	for _, f := range removed {
		after := *f
		after.removed = v.version
		past = append(past, &after)
		must(b.Set(fileKey(id, f.id), after.encode(), nil))
	}
	for _, f := range added {
		f.added = v.version
		must(b.Set(fileKey(id, f.id), f.encode(), nil))
	}
	if len(removed) > 0 {
		record.Rewritten = v.version
		must(b.Set(nameKey(kindTable, t.name), mustJSON(record), nil))
	}
	v.bytes += t.growth(s, added)
	v.rows += s.RowsAdded - s.RowsRemoved
	must(b.Set(updateKey(id, v.version), s.record(v.time), nil))
	must(b.Set(commitKey(id, v.version), commitRecord{v.rows, v.bytes, v.time}.encode(), nil))
	must(b.Set(idKey(kindVersion, id), v.encode(), nil))
	if sum != nil {
		d := digestRecord{v.version, len(record.Schema.Versions), t.digester.hasher.Seed(), *sum}
		must(b.Set(idKey(kindDigest, id), d.encode(), nil))
	}
	t.store.nameFormat(b)
	forgotten, past, err := t.forget(b, past, v)
	if err != nil {
		return err
	}
	if err := t.store.commit(b, false); err != nil {
		return err
	}
	live := slices.DeleteFunc(slices.Clone(t.live), func(f *tableFile) bool { return slices.Contains(removed, f) })
	live = append(live, added...)
	slices.SortStableFunc(live, byPlace)
	t.mu.Lock()
	t.live, t.past, t.record, t.sealedBytes = live, past, record, v.bytes
	t.mu.Unlock()
	t.committed(v, sum)
	t.store.forgot(forgotten)
	return nil
}

// growth is by how many bytes a statement changes what the table has: of rows that go, about.
func (t *Table) growth(s *Swap, added []*tableFile) (n int64) {
	if len(s.Remove) > 0 {
		return (t.version.bytes - t.trimmed.bytes) * (s.RowsAdded - s.RowsRemoved) / max(1, t.version.rows-t.trimmed.rows)
	}
	for _, f := range added {
		n += f.weight
	}
	return n
}

// PlacedScan reads a file of an append table, with the places of its rows in two more columns.
type PlacedScan struct {
	reader *fileReader
}

// Placed are the fields of the places of rows.
func Placed() []batch.Field {
	return []batch.Field{{Name: commitColumn, Type: batch.Of(batch.BigInt)}, {Name: ordinalColumn, Type: batch.Of(batch.Int)}}
}

// ScanPlaced reads a file of an append table that Snapshot.Files has listed, but not what its retention has removed.
func (d *DML) ScanPlaced(file FileID, columns []string) (*PlacedScan, error) {
	t := d.t
	files, err := t.liveFiles([]FileID{file})
	if err != nil {
		return nil, err
	}
	stored := slices.DeleteFunc(slices.Clone(columns), func(name string) bool { return name == commitColumn || name == ordinalColumn })
	ids, err := t.record.Schema.resolve(t.name, stored)
	if err != nil {
		return nil, err
	}
	r, err := t.store.openFile(&t.record.Schema, files[0], ids, batch.Offset{At: max(1, t.trimmed.first)}, batch.Offset{At: t.version.version + 1}, true)
	return &PlacedScan{r}, err
}

// Next returns the next rows, none at the end. They are valid until the next call.
func (s *PlacedScan) Next(int) (batch.Columns, error) {
	rows, err := s.reader.rows()
	if err != nil || rows.Len == 0 {
		return batch.Columns{}, err
	}
	n := len(rows.Cols)
	places := rows.Cols[n-2 : n : n]
	out := s.reader.shown(rows)
	if !s.reader.asWanted {
		dec := newChunkDecoder(s.reader.schema, s.reader.ids)
		c := s.reader.chunk(&rows, 0, rows.Len)
		if err := dec.append(&c, 0, c.rows); err != nil {
			return batch.Columns{}, err
		}
		out = dec.columns()
	}
	out.Fields, out.Cols, out.Len = append(slices.Clip(out.Fields), Placed()...), append(slices.Clip(out.Cols), places...), rows.Len
	return out, nil
}

// Close ends the scan.
func (s *PlacedScan) Close() error { return s.reader.close() }
