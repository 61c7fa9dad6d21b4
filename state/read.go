package state

import (
	"bytes"

	"github.com/cockroachdb/pebble/v2"

	"sluice/batch"
	"sluice/fault"
)

// Changes are rows of a change feed (D-43). Rows.Pos has (commit, ordinal); the commit is the version.
type Changes struct {
	Rows     batch.Columns
	Change   []batch.Change
	Time     []int64    // batch time of the commit, microseconds since the epoch
	Keys     batch.Keys // encoded key tuple (batch.EncodeKeys); of an append table empty
	Sequence batch.Keys // encoded sequence; of an append table empty
	Places   batch.Keys // where the row lies in the table, for Flow.Places; of an append table empty
}

// ReadAppends returns rows of an append table after from, within limit, at least one if there is any, and the range they
// cover. columns names the columns wanted, in the order they come back; nil means all. Rows have positions (commit,
// ordinal), Split 0. It does not wait: with nothing to read the range is empty.
//
// Rows that a statement has changed since f began to read come as they were appended; f may be nil for somebody who has just begun (D-34, DM-08).
func (t *Table) ReadAppends(f *Flow, from batch.Position, limit batch.Limit, columns []string) (batch.Columns, batch.Range, error) {
	r, err := t.reading(from, limit, columns)
	if err != nil || r == nil {
		return batch.Columns{}, batch.Range{}, err
	}
	if r.record.Replaced {
		return batch.Columns{}, batch.Range{}, notAppends(t.name)
	}
	r.since = t.since(f)
	if err := r.commits(kindAppends); err != nil {
		return batch.Columns{}, batch.Range{}, err
	}
	rng, err := r.rangeRead()
	return r.out.Rows, rng, err
}

// ReadChanges returns changes after from, for a subscribed flow: first the copied rows, then the feed; of an append table its rows as inserts.
// Only rows of keyed tables have keys. Otherwise it is as ReadAppends. Where limit falls between two rows
// of a key it stops before that key if it can, so that nobody sees old rows gone before the new ones are there.
func (t *Table) ReadChanges(f *Flow, from batch.Position, limit batch.Limit, columns []string) (Changes, batch.Range, error) {
	r, err := t.reading(from, limit, columns)
	if err != nil || r == nil {
		return Changes{}, batch.Range{}, err
	}
	t.mu.Lock()
	reader := t.readers[f.record.ID]
	var subscription readerRecord
	if reader != nil {
		subscription = reader.readerRecord
	}
	t.mu.Unlock()
	r.times, r.since = true, subscription.Since
	switch {
	case reader == nil || subscription.Copying:
		err = fault.New(fault.InternalError, "flow %s does not read table %s", f.name, t.name)
	case !r.record.Keyed && !r.record.Replaced:
		err = r.commits(kindAppends)
	default:
		if err = r.copied(f.record.ID, subscription); err == nil && !r.full {
			err = r.commits(kindChanges)
		}
	}
	if err != nil {
		return Changes{}, batch.Range{}, err
	}
	rng, err := r.rangeRead()
	return r.out, rng, err
}

// reading is one call of ReadAppends or ReadChanges.
type reading struct {
	t        *Table
	record   tableRecord
	last     int64 // version that is read up to
	from, at batch.Offset
	until    batch.Offset // not read
	rows     int          // that may still be read
	bytes    int64        // likewise; may be passed by one row
	full     bool         // a limit was met
	since    int64        // last commit that had changed rows when the reader began
	times    bool         // fill out.Time
	dec      *chunkDecoder
	out      Changes
	size     int64
	time     int64 // of the last commit read
}

// reading returns nil when limit leaves nothing to be read.
func (t *Table) reading(from batch.Position, limit batch.Limit, columns []string) (*reading, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at, err := t.place(from)
	if err != nil {
		return nil, err
	}
	r := &reading{t: t, record: t.record, last: t.version.version, from: at, at: at, rows: limit.Rows, bytes: limit.Bytes}
	r.until = batch.Offset{At: r.last + 1}
	if limit.Until != nil {
		m, ok := limit.Until.Find(t.name)
		if !ok {
			return nil, nil
		}
		if m.Next.Less(r.until) {
			r.until = m.Next
		}
	}
	if r.rows == 0 {
		r.rows = maxRead
	}
	if r.bytes == 0 {
		r.bytes = maxReadBytes
	}
	if !t.record.Keyed {
		if err := t.reachable(at); err != nil {
			return nil, err
		}
	}
	ids, err := t.record.Schema.resolve(t.name, columns)
	if err != nil {
		return nil, err
	}
	r.dec = newChunkDecoder(&t.record.Schema, ids)
	return r, nil
}

// What a call without a limit returns at most: columns count bytes in 32 bits.
const (
	maxRead      = 1 << 20
	maxReadBytes = 1 << 30
)

// commits reads what was appended, or the change feed, from r.at on.
func (r *reading) commits(kind byte) error {
	s := r.t.store
	pin := s.files.pin()
	defer s.files.unpin(pin)
	for r.at.Less(r.until) && !r.full {
		files, next, it, err := r.look(kind)
		if err != nil {
			return s.readFailed(err)
		}
		if next > 0 {
			err = r.before(files, next)
		} else {
			err = r.current(kind, files, it)
		}
		if e := it.Close(); err == nil {
			err = e
		}
		if next == 0 || err != nil {
			return err
		}
	}
	return nil
}

// current reads what the table has now, chunks behind files.
func (r *reading) current(kind byte, files []*tableFile, it *pebble.Iterator) error {
	s, id := r.t.store, r.record.Instance
	if err := r.files(files); err != nil || r.full || !r.at.Less(r.until) {
		return err
	}
	r.at = r.behind(r.at)
	ok := it.SeekLT(chunkKey(kind, id, batch.Offset{At: r.at.At, Index: r.at.Index + 1})) || it.First()
	for !r.full && r.at.Less(r.until) {
		if !ok || r.at.Less(chunkAt(it.Key())) {
			return r.missing(it.Error())
		}
		start := chunkAt(it.Key())
		rows, err := r.chunkOf(it, start)
		if err != nil {
			return err
		}
		if r.at.Index < start.Index+int32(rows) {
			break // cut
		}
		if ok = it.Next(); !ok || chunkAt(it.Key()).At > start.At {
			r.at = batch.Offset{At: start.At + 1}
		}
	}
	if err := it.Error(); err != nil {
		return s.readFailed(err)
	}
	return nil
}

// look takes the files, and the chunks of the same moment. Where a statement that changed rows lies ahead, its commit is next, and the files are those
// of before it.
func (r *reading) look(kind byte) (files []*tableFile, next int64, it *pebble.Iterator, err error) {
	r.t.mu.Lock()
	defer r.t.mu.Unlock()
	if kind == kindAppends {
		if files, next = r.t.filesBefore(max(r.at.At, r.since)); next == 0 {
			files = r.t.live
		}
	}
	it, err = r.t.store.db.NewIter(&pebble.IterOptions{
		LowerBound: chunkKey(kind, r.record.Instance, batch.Offset{At: r.at.At}),
		UpperBound: chunkKey(kind, r.record.Instance, batch.Offset{At: r.last + 1}),
	})
	return files, next, it, err
}

// missing says why there is no chunk where there should be one: retention was faster, or the store is damaged.
func (r *reading) missing(err error) error {
	if err != nil {
		return r.t.store.readFailed(err)
	}
	r.t.mu.Lock()
	defer r.t.mu.Unlock()
	if err := r.t.reachable(r.at); err != nil {
		return err
	}
	return r.t.store.fail(r.t.store.corrupt("table %s has no rows at %s of %d commits", r.t.name, r.at, r.last))
}

// chunkOf reads what is wanted of the chunk the iterator stands at.
func (r *reading) chunkOf(it *pebble.Iterator, start batch.Offset) (int, error) {
	v, err := it.ValueAndErr()
	if err != nil {
		return 0, r.t.store.readFailed(err)
	}
	c, err := parseChunk(v)
	if err != nil {
		return 0, r.t.store.readFailed(err)
	}
	return r.chunk(c, start, len(v))
}

// chunk reads what is wanted of a chunk of some bytes, moves r.at, and returns the chunk's rows.
func (r *reading) chunk(c chunk, start batch.Offset, size int) (_ int, err error) {
	s := r.t.store
	from, to := int(r.at.Index-start.Index), c.rows
	if from >= to {
		return c.rows, nil
	}
	if r.until.At == start.At {
		to = min(to, int(r.until.Index-start.Index))
	}
	if to = r.within(&c, from, to, size); to == from {
		return c.rows, nil
	}
	if err := r.take(&c, start, from, to, size); err != nil {
		return 0, s.readFailed(err)
	}
	if r.time, err = r.timeOf(start.At); err != nil {
		return 0, err
	}
	for i := len(r.out.Time); r.times && i < r.dec.len; i++ {
		r.out.Time = append(r.out.Time, r.time)
	}
	r.at.Index = start.Index + int32(to)
	return c.rows, nil
}

// within is how far rows from..to-1 of a chunk of the given size fit in the limits: at least one row further if nothing
// has been read, and not between the rows of a key if that can be helped.
func (r *reading) within(c *chunk, from, to, size int) int {
	each := max(1, int64(size/c.rows))
	fits := min(int64(r.rows-r.dec.len), (r.bytes-r.size+each-1)/each)
	if fits >= int64(to-from) {
		r.full = fits == int64(to-from)
		return to
	}
	r.full = true
	cut := from + int(max(fits, 0))
	if cut == from && r.dec.len == 0 {
		cut++
	}
	if cut == to || c.keys.ends == nil {
		return cut
	}
	for back := cut; back > from; back-- {
		if !bytes.Equal(c.keys.at(back), c.keys.at(back-1)) {
			return back
		}
	}
	if r.dec.len > 0 {
		return from // a chunk begins with a key: what came before is enough
	}
	return cut
}

// take decodes rows from..to-1 of a chunk that begins at start.
func (r *reading) take(c *chunk, start batch.Offset, from, to, size int) error {
	if err := r.dec.append(c, from, to); err != nil {
		return err
	}
	r.size += int64(size) * int64(to-from) / int64(c.rows)
	p := &r.out.Rows.Pos
	for i := from; i < to; i++ {
		p.Split = append(p.Split, 0)
		p.Offset = append(p.Offset, start.At)
		p.Index = append(p.Index, start.Index+int32(i))
	}
	if c.change == nil {
		for range to - from {
			r.out.Change = append(r.out.Change, batch.InsertRow)
		}
	}
	for i := from; i < to && c.change != nil; i++ {
		r.out.Change = append(r.out.Change, batch.Change(c.change[i]))
	}
	c.keys.appendTo(&r.out.Keys, from, to)
	c.sequence.appendTo(&r.out.Sequence, from, to)
	c.places.appendTo(&r.out.Places, from, to)
	return nil
}

// timeOf is the batch time of a commit.
func (r *reading) timeOf(commit int64) (int64, error) {
	s := r.t.store
	v, err := s.get(s.db, commitKey(r.record.Instance, commit))
	if err != nil || v == nil {
		return 0, err
	}
	c, err := decodeCommit(v)
	if err != nil {
		return 0, s.readFailed(err)
	}
	return c.time, nil
}

// copied reads the chunks of a reader's first copy, which stand for its version.
func (r *reading) copied(flow uint32, sub readerRecord) error {
	s, id := r.t.store, r.record.Instance
	if sub.Copied == 0 || r.at.At > sub.From {
		return nil
	}
	prefix := copyPrefix(id, flow)
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: prefixEnd(prefix)})
	if err != nil {
		return s.readFailed(err)
	}
	defer it.Close()
	r.at.At = sub.From
	for ok := it.SeekLT(copyKey(id, flow, r.at.Index+1)) || it.First(); ok && !r.full && r.at.Less(r.until); ok = it.Next() {
		if _, err := r.chunkOf(it, batch.Offset{At: sub.From, Index: copyOrdinal(it.Key())}); err != nil {
			return err
		}
	}
	if err := it.Error(); err != nil {
		return s.readFailed(err)
	}
	for i := range r.out.Time {
		r.out.Time[i] = sub.Time
	}
	r.time = sub.Time
	if r.at.Index >= sub.Copied {
		r.at = batch.Offset{At: sub.From + 1}
	}
	return nil
}

// rangeRead is the range of what was read.
func (r *reading) rangeRead() (batch.Range, error) {
	rows := r.dec.columns()
	rows.Pos = r.out.Rows.Pos
	r.out.Rows = rows
	if r.at == r.from {
		return batch.Range{}, nil
	}
	mark := r.t.markOf(r.record.Generation)
	return batch.Range{Splits: []batch.SplitRange{{
		Split: mark.Split, ID: mark.ID, From: r.from, To: r.at, Records: int64(rows.Len), Bytes: r.size, End: r.last + 1, Time: r.time,
	}}}, nil
}
