package state

import (
	"fmt"
	"slices"

	"sluice/batch"
)

// checkFiles compares the files that a table has in memory with the stored ones, with what lies on disk, and with the table's counts.
func (t *Table) checkFiles() error {
	live, past, err := t.store.filesOf(t.store.db, t.record.Instance)
	if err != nil {
		return err
	}
	same := func(a, b *tableFile) bool { return a.id == b.id && string(a.encode()) == string(b.encode()) }
	if !slices.EqualFunc(live, t.live, same) || !slices.EqualFunc(past, t.past, same) {
		return fmt.Errorf("has %d files and %d old ones, in memory it has %d and %d, or others", len(live), len(past), len(t.live), len(t.past))
	}
	rows, bytes := int64(0), int64(0)
	for _, f := range live {
		rows, bytes = rows+f.rows, bytes+f.weight
	}
	for _, f := range slices.Concat(live, past) {
		if f.added > t.version.version || f.removed > t.version.version || f.removed != 0 && f.removed <= f.added {
			return fmt.Errorf("file %s is of versions %d to %d, the table has %d", f.id.fileName(), f.added, f.removed, t.version.version)
		}
		if err := t.checkFile(f); err != nil {
			return err
		}
	}
	if t.record.Replaced && (rows != t.version.rows || bytes != t.version.bytes) {
		return fmt.Errorf("has %d rows of %d bytes in files, the counts say %d of %d", rows, bytes, t.version.rows, t.version.bytes)
	}
	return nil
}

// checkFile reads a file, and compares it with what is known of it.
func (t *Table) checkFile(f *tableFile) error {
	r, err := t.store.openFile(&t.record.Schema, f, t.record.Schema.visible(), batch.Offset{}, batch.Offset{}, f.first != batch.Offset{})
	if err != nil {
		return err
	}
	defer r.close()
	stats := make([]statsOf, len(f.columns))
	for i := range stats {
		stats[i] = newStats(t.record.Schema.Versions[f.schema][i].typ())
	}
	rows := int64(0)
	sum := summing{version: int(f.schema)}
	for {
		piece, err := r.rows()
		if err != nil {
			return err
		}
		if piece.Len == 0 {
			break
		}
		rows += int64(piece.Len)
		sum.add(&piece)
		for i, at := range r.at {
			if at >= 0 {
				stats[at].add(&piece.Cols[r.as[i]])
			}
		}
	}
	if rows != f.rows {
		return fmt.Errorf("file %s has %d rows, not %d", f.id.fileName(), rows, f.rows)
	}
	if whole := r.asWanted && len(r.at) == len(f.columns); whole && f.summed && sum.sum != f.sum {
		return fmt.Errorf("file %s has rows of the digest %s, not %s", f.id.fileName(), sum.sum, f.sum)
	}
	for _, at := range r.at {
		if at >= 0 {
			if have := stats[at].done(); string(have.append(nil)) != string(f.columns[at].append(nil)) {
				return fmt.Errorf("file %s has %+v in column %d, not %+v", f.id.fileName(), have, at, f.columns[at])
			}
		}
	}
	return nil
}

// checkAppends walks the commits of an append table, those in files first.
func (t *Table) checkAppends() error {
	first, rows := max(1, t.trimmed.first), t.trimmed.rows
	want := batch.Offset{At: first}
	for i, f := range t.live {
		if want.Less(f.first) && want.At <= t.record.Rewritten {
			want = f.first // a statement has taken the rows between
		}
		if i > 0 && f.first != want && f.first != (batch.Offset{At: want.At + 1}) || i == 0 && want.Less(f.first) || f.last.Less(want) {
			return fmt.Errorf("file %s begins at %v, after %v", f.id.fileName(), f.first, want)
		}
		n, err := t.checkPlaces(f, want)
		if err != nil {
			return err
		}
		rows += n
		want = batch.Offset{At: f.last.At, Index: f.last.Index + 1}
	}
	return t.checkChunks(kindAppends, max(first, t.sealedTo()+1), rows)
}

// checkPlaces walks the rows of a file from a place on, and counts them.
func (t *Table) checkPlaces(f *tableFile, want batch.Offset) (n int64, err error) {
	r, err := t.store.openFile(&t.record.Schema, f, nil, want, batch.Offset{At: t.version.version + 1}, true)
	if err != nil {
		return 0, err
	}
	defer r.close()
	for {
		rows, err := r.rows()
		if err != nil || rows.Len == 0 {
			return n, err
		}
		for i := range rows.Len {
			at := placeOf(&rows, i)
			if want.Less(at) && want.At <= t.record.Rewritten {
				want = at
			}
			if at != want && at != (batch.Offset{At: want.At + 1}) {
				return n, fmt.Errorf("file %s has a row at %v, after %v", f.id.fileName(), at, want)
			}
			want = batch.Offset{At: at.At, Index: at.Index + 1}
		}
		n += int64(rows.Len)
	}
}
