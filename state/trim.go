package state

import (
	"encoding/binary"

	"github.com/cockroachdb/pebble/v2"

	"sluice/batch"
)

// trimRecord is what retention removed from an append table: the commits before first, with so many rows and bytes.
type trimRecord struct {
	first       int64 // 0 and 1 say that nothing was
	rows, bytes int64
}

func (r trimRecord) encode() []byte {
	return binary.AppendVarint(binary.AppendVarint(binary.AppendVarint(nil, r.first), r.rows), r.bytes)
}

func (s *Store) trimOf(r pebble.Reader, instance uint32) (trimRecord, error) {
	v, err := s.get(r, idKey(kindTrim, instance))
	if err != nil || v == nil {
		return trimRecord{}, err
	}
	in := reader{b: v}
	out := trimRecord{in.varint(), in.varint(), in.varint()}
	if err := in.done(); err != nil {
		return out, s.readFailed(err)
	}
	return out, nil
}

// A feed or an append table is trimmed when so many commits have become useless, or when so many rows were written since
// the last time: each trim leaves a mark in the store that readers step over until it is compacted away.
const (
	trimCommits = 256
	trimRows    = 1 << 20
	trimAtLeast = 16 // commits
)

// passing is called with the batch by which a flow moves over a range. Tables that are read drop what every reader has
// committed; the removal goes into b, and the files are deleted later. The flow's own new position counts from the next time on, when it is known to be
// committed.
func (s *Store) passing(r batch.Range, b *pebble.Batch) (dropped []droppedFiles, err error) {
	for _, split := range r.Splits {
		if t := s.openTable(split.Split); t != nil {
			files, err := t.trim(b)
			if err != nil {
				return nil, err
			}
			dropped = append(dropped, files)
		}
	}
	return dropped, nil
}

// droppedFiles are files that a table does not have any more once a batch is committed.
type droppedFiles struct {
	instance uint32
	files    []*tableFile
}

// passed is called when that batch was committed.
func (s *Store) passed(f *Flow, r batch.Range) {
	for _, split := range r.Splits {
		if t := s.openTable(split.Split); t != nil {
			t.mu.Lock()
			if reader := t.readers[f.record.ID]; reader != nil {
				reader.at = split.To
			}
			t.mu.Unlock()
		}
	}
}

// openTable returns a table if it is open.
func (s *Store) openTable(name string) *Table {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tables[name]
}

// trim removes what no subscribed reader needs: copies that were read, change feed, and, where retention says so, appends.
func (t *Table) trim(b *pebble.Batch) (droppedFiles, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.readers) == 0 {
		return droppedFiles{}, nil
	}
	low := t.version.version + 1
	for flow, r := range t.readers {
		low = min(low, r.at.At)
		if r.Copied > 0 && r.at.At > r.From {
			t.dropCopy(b, flow, r)
		}
	}
	switch {
	case t.record.Feed && t.worthTrimming(low-t.feedFirst, t.version.feed):
		t.trimFeed(b, low)
	case t.appends() && t.retention == RetainConsumed && t.worthTrimming(low-t.trimmed.first, t.version.rows):
		return t.trimAppends(b, low)
	}
	return droppedFiles{}, nil
}

// worthTrimming judges a trim of some commits, when so many rows have been written in all.
func (t *Table) worthTrimming(commits, written int64) bool {
	if commits < trimCommits && (commits < trimAtLeast || written-t.trimmedAt < trimRows) {
		return false
	}
	t.trimmedAt = written
	return true
}

// trimFeed removes the changes before a commit.
func (t *Table) trimFeed(b *pebble.Batch, low int64) {
	id := t.record.Instance
	must(b.DeleteRange(idKey(kindChanges, id), chunkKey(kindChanges, id, batch.Offset{At: low}), nil))
	must(b.DeleteRange(idKey(kindCommit, id), commitKey(id, low), nil))
	t.feedFirst = low
}

// trimAppends removes the commits before first: their chunks, and files that have no others. Of a file that has both nobody sees the rows
// that are gone.
func (t *Table) trimAppends(b *pebble.Batch, first int64) (dropped droppedFiles, err error) {
	if first <= t.record.Rewritten {
		return t.trimFiles(b, first), nil
	}
	id := t.record.Instance
	v, err := t.store.get(t.store.db, commitKey(id, first-1))
	if err != nil || v == nil {
		return dropped, err
	}
	c, err := decodeCommit(v)
	if err != nil {
		return dropped, t.store.readFailed(err)
	}
	dropped.instance = id
	for len(t.live) > 0 && t.live[0].last.At < first {
		must(b.Delete(fileKey(id, t.live[0].id), nil))
		dropped.files, t.live = append(dropped.files, t.live[0]), t.live[1:]
	}
	t.sealedBytes = max(t.sealedBytes, c.bytes)
	r := trimRecord{first, c.rows, c.bytes}
	must(b.DeleteRange(idKey(kindAppends, id), chunkKey(kindAppends, id, batch.Offset{At: first}), nil))
	must(b.DeleteRange(idKey(kindCommit, id), commitKey(id, first), nil))
	must(b.Set(idKey(kindTrim, id), r.encode(), nil))
	t.trimmed = r
	return dropped, nil
}

// trimFiles is trimAppends where statements have changed rows since: what the commits had is not what they have, so that whole files go.
func (t *Table) trimFiles(b *pebble.Batch, first int64) (dropped droppedFiles) {
	id, r := t.record.Instance, t.trimmed
	if len(t.live) == 0 || t.live[0].first.At < r.first {
		return dropped // of the first file some rows have gone already
	}
	dropped.instance = id
	rows := int64(0)
	for i, f := range t.live {
		next := first
		if i+1 < len(t.live) {
			next = min(first, t.live[i+1].first.At)
		}
		if f.last.At >= next {
			break
		}
		r.first, rows = next, rows+f.rows
		dropped.files = t.live[:i+1]
	}
	if rows == 0 {
		return dropped
	}
	for _, f := range dropped.files {
		must(b.Delete(fileKey(id, f.id), nil))
	}
	t.live = t.live[len(dropped.files):]
	r.bytes += (t.version.bytes - r.bytes) * rows / (t.version.rows - r.rows)
	r.rows += rows
	must(b.DeleteRange(idKey(kindCommit, id), commitKey(id, r.first), nil))
	must(b.Set(idKey(kindTrim, id), r.encode(), nil))
	t.trimmed = r
	return dropped
}

// trimOld removes the commits of an append table that are older than its retention allows at the given time. It is
// called with the batch of the next commit.
func (t *Table) trimOld(b *pebble.Batch, now int64) (dropped droppedFiles, err error) {
	if t.retention != RetainFor || now == 0 {
		return dropped, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	first := int64(0)
	err = t.store.eachOf(t.store.db, idKey(kindCommit, t.record.Instance), func(k, v []byte) error {
		c, err := decodeCommit(v)
		if err != nil {
			return err
		}
		if c.time >= now-t.maxAge.Microseconds() {
			return errEnough
		}
		first = int64(binary.BigEndian.Uint64(k)) + 1
		return nil
	})
	if err != nil && err != errEnough {
		return dropped, err
	}
	if !t.worthTrimming(first-t.trimmed.first, t.version.rows) {
		return dropped, nil
	}
	return t.trimAppends(b, first)
}
