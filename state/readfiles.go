package state

import (
	"cmp"
	"slices"

	"sluice/batch"
)

// since is what the subscription of a flow says of it.
func (t *Table) since(f *Flow) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f != nil && t.readers[f.record.ID] != nil {
		return t.readers[f.record.ID].Since
	}
	return t.record.Rewritten
}

// before reads what was appended before the next statement that changed rows, as it was then: a reader sees each row once, whether it was
// quick or slow.
func (r *reading) before(files []*tableFile, next int64) error {
	until := r.until
	if bound := (batch.Offset{At: next}); bound.Less(until) {
		r.until = bound
	}
	err := r.files(files)
	if !r.full && err == nil {
		r.at = r.until
	}
	r.until = until
	return err
}

// filesBefore are the files that an append table had before the first statement behind a commit that changed rows, and the commit of that, 0 when
// there is none. The table is locked.
func (t *Table) filesBefore(commit int64) (files []*tableFile, next int64) {
	for _, f := range t.past {
		if f.removed > commit && (next == 0 || f.removed < next) {
			next = f.removed
		}
	}
	if next == 0 {
		return nil, 0
	}
	for _, f := range slices.Concat(t.live, t.past) {
		if f.first.At < next && f.added < next && (f.removed == 0 || f.removed >= next) {
			files = append(files, f)
		}
	}
	slices.SortFunc(files, byPlace)
	return files, next
}

// byPlace is the order of the files of an append table.
func byPlace(a, b *tableFile) int {
	return cmp.Compare(a.first.At, b.first.At)*2 + cmp.Compare(a.first.Index, b.first.Index)
}

// byName is the order of the keys of files.
func byName(a, b *tableFile) int {
	if c := cmp.Compare(a.id.Epoch, b.id.Epoch); c != 0 {
		return c
	}
	return cmp.Compare(a.id.Number, b.id.Number)
}

// behind is the first place that can have a row, behind what statements have left of the commits before it.
func (r *reading) behind(at batch.Offset) batch.Offset {
	if at.At <= r.record.Rewritten {
		return batch.Offset{At: r.record.Rewritten + 1}
	}
	return at
}

// files reads what is wanted of the files of an append table, from r.at on.
func (r *reading) files(files []*tableFile) error {
	for i, f := range files {
		if f.last.Less(r.at) {
			continue
		}
		if r.full || !r.at.Less(r.until) {
			return nil
		}
		goesOn := i+1 < len(files) && files[i+1].first.At == f.last.At
		if err := r.file(f, goesOn); err != nil {
			return err
		}
	}
	return nil
}

// file reads what is wanted of one file, commit by commit. goesOn says that its last commit does so in the next file.
func (r *reading) file(f *tableFile, goesOn bool) error {
	opened, err := r.t.store.openFile(&r.record.Schema, f, r.dec.ids, r.at, batch.Offset{At: r.last + 1}, true)
	if err != nil {
		return err
	}
	defer opened.close()
	rows, err := opened.rows()
	for at := 0; err == nil && at < rows.Len && !r.full && r.at.Less(r.until); {
		start, to := placeOf(&rows, at), endOfRun(&rows, at)
		if start.At > r.at.At { // r.at is behind the last row of its commit
			r.at = batch.Offset{At: r.at.At + 1}
		}
		if r.at.Less(start) && r.at.At <= r.record.Rewritten { // a statement has taken the rows between
			r.at = start
			if !r.at.Less(r.until) {
				return nil
			}
		}
		if start != r.at {
			return r.missing(nil)
		}
		c, size := opened.chunk(&rows, at, to), int(f.weight*int64(to-at)/f.rows)
		if at = to; at == rows.Len { // the chunk has memory of its own
			at = 0
			if rows, err = opened.rows(); err != nil {
				return err
			}
		}
		if _, err := r.chunk(c, start, size); err != nil {
			return err
		}
		if r.at.Index < start.Index+int32(c.rows) {
			return nil // cut
		}
		if rows.Len == 0 && !(goesOn && start.At == f.last.At) || rows.Len > 0 && placeOf(&rows, at).At > start.At {
			r.at = batch.Offset{At: start.At + 1}
		}
	}
	return err
}

// endOfRun is the first row after at that is of another commit, or does not follow the one before it.
func endOfRun(rows *batch.Columns, at int) int {
	commits := batch.Values[int64](&rows.Cols[len(rows.Cols)-2])
	ordinals := batch.Values[int32](&rows.Cols[len(rows.Cols)-1])
	to := at + 1
	for to < rows.Len && commits[to] == commits[at] && ordinals[to] == ordinals[to-1]+1 {
		to++
	}
	return to
}
