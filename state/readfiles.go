package state

import "sluice/batch"

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
		start, to := placeOf(&rows, at), endOfCommit(&rows, at)
		if start.At > r.at.At { // r.at is behind the last row of its commit
			r.at = batch.Offset{At: r.at.At + 1}
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

// endOfCommit is the first row after at that is of another commit.
func endOfCommit(rows *batch.Columns, at int) int {
	commits := batch.Values[int64](&rows.Cols[len(rows.Cols)-2])
	to := at + 1
	for to < rows.Len && commits[to] == commits[at] {
		to++
	}
	return to
}
