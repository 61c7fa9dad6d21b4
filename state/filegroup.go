package state

import (
	"bytes"
	"context"
	"slices"

	"sluice/batch"
	"sluice/digest"
)

// fileGroup is files that a swap takes away, whose values of the clustering column overlap, and the files that are to take their place. They
// do not when they hold the same rows: the slices of the group are unchanged, and keep their files (D-27). Which of the new rows are held
// against which files is only a matter of finding many such: a group may be left as it is whenever the rows are the same.
type fileGroup struct {
	bounds
	old, written []*tableFile
	computed     int64 // rows of written that are the first of Swap.Rows
}

// groupsOf puts files together in the order of their values.
func (s *schema) groupsOf(files []*tableFile, laid *slicing) (out []*fileGroup) {
	for _, f := range files {
		out = append(out, &fileGroup{bounds: s.boundsOf(f, laid), old: []*tableFile{f}})
	}
	slices.SortFunc(out, func(a, b *fileGroup) int { return bytes.Compare(a.low, b.low) })
	n := 0
	for _, g := range out {
		if n > 0 && bytes.Compare(g.low, out[n-1].high) <= 0 {
			before := out[n-1]
			before.old = append(before.old, g.old...)
			if bytes.Compare(g.high, before.high) > 0 {
				before.high = g.high
			}
			continue
		}
		out[n], n = g, n+1
	}
	return out[:n]
}

// boundsOf are the bounds of a file under the schema. A file of another schema version may have the column elsewhere.
func (s *schema) boundsOf(f *tableFile, laid *slicing) bounds {
	if laid == nil {
		return bounds{lowest, highest}
	}
	versions := s.Versions
	column := versions[len(versions)-1][laid.column]
	return f.boundsOf(slices.IndexFunc(versions[f.schema], func(c storedField) bool { return c.ID == column.ID && c.typ().Equal(column.typ()) }))
}

// same reports whether what is written are the rows that the group has.
func (g *fileGroup) same() bool {
	var have, come digest.Sum
	for _, f := range g.written {
		come = come.Plus(f.sum)
	}
	for _, f := range g.old {
		if !f.summed || len(g.written) > 0 && f.schema != g.written[0].schema {
			return false
		}
		have = have.Plus(f.sum)
	}
	return have == come
}

// swapping is the files of a swap while they are written.
type swapping struct {
	t      *Table
	s      *Swap
	schema *schema
	laid   *slicing
	live   []*tableFile // that the table has
	groups []*fileGroup
	added  []*tableFile
	gone   []*tableFile
}

// writeSwap writes the files of what comes under a schema, and finds out which of remove go. live are the files that the table has.
func (t *Table) writeSwap(ctx context.Context, s *Swap, schema *schema, live, remove []*tableFile) (*swapping, error) {
	w := &swapping{t: t, s: s, schema: schema, live: live}
	if s.Cluster != "" {
		id := w.schema.find(s.Cluster)
		if at := slices.IndexFunc(w.schema.latest(), func(f storedField) bool { return f.ID == id }); at >= 0 {
			w.laid = &slicing{column: at, zone: s.zone()}
		}
	}
	w.groups = w.schema.groupsOf(remove, w.laid)
	if err := w.all(ctx); err != nil {
		w.abandon()
		return nil, err
	}
	return w, nil
}

func (w *swapping) all(ctx context.Context) error {
	for i, rows := range w.s.Rows {
		if err := w.write(ctx, rows, i == 0); err != nil {
			return err
		}
	}
	w.settleGroups()
	if err := w.merge(ctx); err != nil || len(w.added) == 0 {
		return err
	}
	if err := w.t.store.files.settle(w.added); err != nil {
		return w.t.store.failed(err)
	}
	return nil
}

// abandon deletes what was written.
func (w *swapping) abandon() {
	w.t.store.files.removeAll(w.added)
}

// write writes files of some rows: none has rows of two groups, and none of the rows that stay reaches over a file of those that come.
func (w *swapping) write(ctx context.Context, rows Rows, computed bool) error {
	out := w.t.newFileWriter(w.schema, false, nil)
	if out.slicing = w.laid; w.laid != nil {
		for _, g := range w.groups {
			out.ends = append(out.ends, ends(nil).with(g.bounds)...)
		}
		for _, f := range w.added {
			out.ends = append(out.ends, ends(nil).with(w.schema.boundsOf(f, w.laid))...)
		}
		out.ends = out.ends.with()
	}
	out.next = func() (batch.Columns, error) {
		piece, err := rows.Next()
		if err != nil || piece.Len == 0 {
			return batch.Columns{}, err
		}
		return w.t.arranged(w.schema, &piece, out.fields)
	}
	if err := out.write(ctx); err != nil {
		return err
	}
	w.added = append(w.added, out.written...)
	for _, f := range out.written {
		if g := w.groupOf(f); g != nil {
			g.written = append(g.written, f)
			if computed {
				g.computed += f.rows
			}
		}
	}
	return nil
}

// groupOf is the group that a written file lies in.
func (w *swapping) groupOf(f *tableFile) *fileGroup {
	b := w.schema.boundsOf(f, w.laid)
	for _, g := range w.groups {
		if bytes.Compare(g.low, b.high) <= 0 && bytes.Compare(b.low, g.high) <= 0 {
			return g
		}
	}
	return nil
}

// settleGroups leaves the groups alone that are as they were.
func (w *swapping) settleGroups() {
	for _, g := range w.groups {
		if !g.same() {
			w.gone = append(w.gone, g.old...)
			continue
		}
		w.s.Unchanged += g.computed
		w.t.store.files.removeAll(g.written)
		w.added = slices.DeleteFunc(w.added, func(f *tableFile) bool { return slices.Contains(g.written, f) })
	}
}

// summing adds up the digest of rows (D-27). It is that of their bytes under a schema version, so that NaN and the sign of a zero count, and no
// order does.
type summing struct {
	version int
	sum     digest.Sum
	cols    []*batch.Column
	row     []byte
}

func (s *summing) add(rows *batch.Columns) {
	s.cols = rows.Refs(s.cols[:0])
	enc := newRowEncoder(s.version, s.cols)
	for i := range rows.Len {
		s.row = enc.append(s.row[:0], i)
		s.sum = s.sum.Plus(digest.Of(s.row))
	}
}
