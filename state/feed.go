package state

import (
	"context"
	"math"

	"github.com/cockroachdb/pebble/v2"

	"sluice/batch"
	"sluice/fault"
)

// changeSet collects changes and cuts them into chunks. Per key, deletes come before inserts (D-43). A chunk ends between
// two keys, unless one key has very many rows.
type changeSet struct {
	version int
	rows    *rowDecoder // its builders take old rows, and new ones too
	change  []batch.Change
	keys    batch.Keys
	floors  batch.Keys
	places  batch.Keys // positions of the rows in the table
	ordinal int32      // of the first row not yet written
	emit    func(ordinal int32, chunk []byte) error
	scratch []byte
}

// manyRows is how far a chunk may grow past its size to keep the rows of a key together.
const manyRows = 4 * chunkRows

func newChangeSet(s *schema, emit func(ordinal int32, chunk []byte) error) *changeSet {
	c := &changeSet{version: len(s.Versions) - 1, rows: newRowDecoder(s, s.visible()), emit: emit}
	c.clear()
	return c
}

func (c *changeSet) clear() {
	c.rows.reset()
	c.change = c.change[:0]
	c.keys.Offsets, c.keys.Bytes = append(c.keys.Offsets[:0], 0), c.keys.Bytes[:0]
	c.floors.Offsets, c.floors.Bytes = append(c.floors.Offsets[:0], 0), c.floors.Bytes[:0]
	c.places.Offsets, c.places.Bytes = append(c.places.Offsets[:0], 0), c.places.Bytes[:0]
}

// stored adds a stored row, which lies at a place of the table.
func (c *changeSet) stored(change batch.Change, tuple, floor []byte, place rowPosition, row []byte) error {
	if err := c.rows.append(row); err != nil {
		return err
	}
	return c.added(change, tuple, floor, place)
}

// copy takes over row i of columns in the order of the schema's latest version.
func (c *changeSet) copy(cols []*batch.Column, i int) {
	for to, from := range cols {
		c.rows.into[to].AppendFrom(from, i)
	}
	c.rows.len++
}

// keyless adds row i of a table without keys.
func (c *changeSet) keyless(change batch.Change, cols []*batch.Column, i int) error {
	if int64(c.ordinal)+int64(len(c.change)) == math.MaxInt32 {
		return fault.New(fault.CopyTooLarge, "more than %d rows change in one version of the table", math.MaxInt32)
	}
	c.copy(cols, i)
	c.change = append(c.change, change)
	return c.keyEnd()
}

func (c *changeSet) added(change batch.Change, tuple, floor []byte, place rowPosition) error {
	c.change = append(c.change, change)
	appendTuple(&c.keys, tuple)
	appendTuple(&c.floors, floor)
	c.places.Bytes = appendPosition(c.places.Bytes, place)
	c.places.Offsets = append(c.places.Offsets, uint32(len(c.places.Bytes)))
	if len(c.change) >= manyRows {
		return c.flush()
	}
	return nil
}

func appendTuple(k *batch.Keys, tuple []byte) {
	k.Bytes = append(k.Bytes, tuple...)
	k.Offsets = append(k.Offsets, uint32(len(k.Bytes)))
}

// keyEnd says that the rows of a key are complete.
func (c *changeSet) keyEnd() error {
	if len(c.change) >= chunkRows {
		return c.flush()
	}
	return nil
}

// flush writes what has been collected.
func (c *changeSet) flush() error {
	cols := c.rows.columns()
	set := rowSet{version: c.version, cols: cols.Refs(nil), change: c.change, keys: &c.keys, sequence: &c.floors, places: &c.places}
	err := set.cut(len(c.change), func(from, to int) error {
		c.scratch = appendChunk(c.scratch[:0], &set, from, to)
		if err := c.emit(c.ordinal, c.scratch); err != nil {
			return err
		}
		c.ordinal += int32(to - from)
		return nil
	})
	c.clear()
	return err
}

// feedWriter writes the change feed of one commit.
//
// The old rows of a batch's keys are without bound: one record may replace millions of rows. What does not fit in
// Options.FeedAhead is therefore written ahead of the commit, in batches of its own (D-30). It stands there under the number
// of a commit that does not exist yet, which no reader looks for. If the commit does not come, it is removed: by Abort, and
// after a crash when the table is opened (dropAhead), before anything else can be written under that number.
type feedWriter struct {
	*changeSet
	sources []*batch.Column // the batch's columns, in the order of the schema's latest version
	commit  int64
	held    int64 // bytes of chunks that are in the commit's own batch
	ahead   bool  // some were written ahead
}

// newFeedWriter writes the changes of the commit that b will be.
func (t *Table) newFeedWriter(b *pebble.Batch, commit int64) *feedWriter {
	s, id := t.store, t.record.Instance
	f := &feedWriter{commit: commit}
	f.changeSet = newChangeSet(&t.record.Schema, func(ordinal int32, chunk []byte) error {
		k := chunkKey(kindChanges, id, batch.Offset{At: commit, Index: ordinal})
		if f.held+int64(len(chunk)) <= s.o.FeedAhead {
			f.held += int64(len(chunk))
			return b.Set(k, chunk, nil)
		}
		f.ahead = true
		return s.update(func(b *pebble.Batch) { must(b.Set(k, chunk, nil)) })
	})
	return f
}

// dropAhead removes what was written ahead of a commit that did not come.
func (t *Table) dropAhead() error {
	s, id := t.store, t.record.Instance
	from, to := chunkKey(kindChanges, id, batch.Offset{At: t.version.version + 1}), prefixEnd(idKey(kindChanges, id))
	err := s.each(s.db, from, to, func([]byte, []byte) error { return errEnough })
	if err != errEnough || s.o.ReadOnly {
		return err
	}
	return s.update(func(b *pebble.Batch) { must(b.DeleteRange(from, to, nil)) })
}

func (f *feedWriter) delete(tuple, floor []byte, place rowPosition, row []byte) error {
	return f.stored(batch.DeleteRow, tuple, floor, place, row)
}

// insert adds row i of the batch.
func (f *feedWriter) insert(tuple, floor []byte, place rowPosition, i int) error {
	f.copy(f.sources, i)
	return f.added(batch.InsertRow, tuple, floor, place)
}

// undone removes what was written ahead if the commit did not come.
func (f *feedWriter) undone(t *Table) {
	if f.ahead && t.Version() < f.commit {
		_ = t.dropAhead() // a store that cannot do it has failed; the next one to open it will
	}
}

// finish writes the last chunk and returns the number of changes.
func (f *feedWriter) finish() (int64, error) {
	err := f.flush()
	return int64(f.ordinal), err
}

// differ writes what a version of a table with windows changes, and counts it in v.
func (f *feedWriter) differ(ctx context.Context, t *Table, v *tableVersion, removed, added []*tableFile, b *pebble.Batch) error {
	if err := t.difference(ctx, removed, added, f.keyless); err != nil {
		return err
	}
	changes, err := f.finish()
	if err == nil && changes == 0 {
		err = f.emit(0, appendChunk(nil, &rowSet{version: f.version}, 0, 0)) // readers step over it
	}
	v.feed += changes
	must(b.Set(commitKey(t.record.Instance, v.version), commitRecord{v.feed, 0, v.time}.encode(), nil))
	return err
}
