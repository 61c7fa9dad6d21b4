package state

import (
	"github.com/cockroachdb/pebble/v2"

	"sluice/batch"
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
	emit    func(ordinal int32, chunk []byte)
	scratch []byte
}

// manyRows is how far a chunk may grow past its size to keep the rows of a key together.
const manyRows = 4 * chunkRows

func newChangeSet(s *schema, emit func(ordinal int32, chunk []byte)) *changeSet {
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
	c.added(change, tuple, floor, place)
	return nil
}

func (c *changeSet) added(change batch.Change, tuple, floor []byte, place rowPosition) {
	c.change = append(c.change, change)
	appendTuple(&c.keys, tuple)
	appendTuple(&c.floors, floor)
	c.places.Bytes = appendPosition(c.places.Bytes, place)
	c.places.Offsets = append(c.places.Offsets, uint32(len(c.places.Bytes)))
	if len(c.change) >= manyRows {
		c.flush()
	}
}

func appendTuple(k *batch.Keys, tuple []byte) {
	k.Bytes = append(k.Bytes, tuple...)
	k.Offsets = append(k.Offsets, uint32(len(k.Bytes)))
}

// keyEnd says that the rows of a key are complete.
func (c *changeSet) keyEnd() {
	if len(c.change) >= chunkRows {
		c.flush()
	}
}

// flush writes what has been collected.
func (c *changeSet) flush() {
	cols := c.rows.columns()
	set := rowSet{version: c.version, change: c.change, keys: &c.keys, sequence: &c.floors, places: &c.places}
	for i := range cols.Cols {
		set.cols = append(set.cols, &cols.Cols[i])
	}
	_ = set.cut(len(c.change), func(from, to int) error {
		c.scratch = appendChunk(c.scratch[:0], &set, from, to)
		c.emit(c.ordinal, c.scratch)
		c.ordinal += int32(to - from)
		return nil
	})
	c.clear()
}

// feedWriter writes the change feed of one commit.
type feedWriter struct {
	*changeSet
	sources []*batch.Column // the batch's columns, in the order of the schema's latest version
}

func newFeedWriter(b *pebble.Batch, s *schema, instance uint32, commit int64) *feedWriter {
	return &feedWriter{changeSet: newChangeSet(s, func(ordinal int32, chunk []byte) {
		must(b.Set(chunkKey(kindChanges, instance, batch.Offset{At: commit, Index: ordinal}), chunk, nil))
	})}
}

func (f *feedWriter) delete(tuple, floor []byte, place rowPosition, row []byte) error {
	return f.stored(batch.DeleteRow, tuple, floor, place, row)
}

// insert adds row i of the batch.
func (f *feedWriter) insert(tuple, floor []byte, place rowPosition, i int) {
	for c := range f.sources {
		f.rows.into[c].AppendFrom(f.sources[c], i)
	}
	f.rows.len++
	f.added(batch.InsertRow, tuple, floor, place)
}

// finish writes the last chunk and returns the number of changes.
func (f *feedWriter) finish() int64 {
	f.flush()
	return int64(f.ordinal)
}
