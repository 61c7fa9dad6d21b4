package state

import (
	"encoding/binary"

	"sluice/batch"
)

// A chunk is a run of rows, column by column: the rows of a commit of an append table, of a change feed, of a reader's
// first copy, of a planned batch. It is
//
//	flags u8, schema version uvarint, rows uvarint, columns uvarint
//	per column: size u32, the column (column.go)
//	flagged parts: one change type per row; the key tuples; the sequences; the places
//
// where tuples are the end of each, u32, then their bytes; so are places, which are positions (group.go).
const (
	chunkHasChange = 1 << iota
	chunkHasKeys
	chunkHasSequence
	chunkHasPlaces
)

// Chunks are cut after so many rows or so many bytes, so that a reader of a few rows need not load a whole commit.
const (
	chunkRows  = 4096
	chunkBytes = 1 << 20
)

// rowSet is what a chunk is made of. change, keys, sequence and places are one per row or empty.
type rowSet struct {
	version  int
	cols     []*batch.Column
	change   []batch.Change
	keys     *batch.Keys
	sequence *batch.Keys
	places   *batch.Keys
}

// appendChunk encodes rows from..to-1.
func appendChunk(dst []byte, s *rowSet, from, to int) []byte {
	var flags byte
	if len(s.change) > 0 {
		flags |= chunkHasChange
	}
	if s.keys != nil && s.keys.Len() > 0 {
		flags |= chunkHasKeys
	}
	if s.sequence != nil && s.sequence.Len() > 0 {
		flags |= chunkHasSequence
	}
	if s.places != nil && s.places.Len() > 0 {
		flags |= chunkHasPlaces
	}
	dst = append(dst, flags)
	dst = binary.AppendUvarint(dst, uint64(s.version))
	dst = binary.AppendUvarint(dst, uint64(to-from))
	dst = binary.AppendUvarint(dst, uint64(len(s.cols)))
	for _, c := range s.cols {
		at := len(dst)
		dst = append(dst, 0, 0, 0, 0)
		dst = appendColumn(dst, c, from, to)
		binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	}
	if flags&chunkHasChange != 0 {
		for _, c := range s.change[from:to] {
			dst = append(dst, byte(c))
		}
	}
	if flags&chunkHasKeys != 0 {
		dst = appendTuples(dst, s.keys, from, to)
	}
	if flags&chunkHasSequence != 0 {
		dst = appendTuples(dst, s.sequence, from, to)
	}
	if flags&chunkHasPlaces != 0 {
		dst = appendTuples(dst, s.places, from, to)
	}
	return dst
}

func appendTuples(dst []byte, k *batch.Keys, from, to int) []byte {
	dst = appendEnds(dst, k.Offsets, from, to)
	return append(dst, k.Bytes[k.Offsets[from]:k.Offsets[to]]...)
}

// cut calls emit with the bounds of the chunks of n rows of s.
func (s *rowSet) cut(n int, emit func(from, to int) error) error {
	for from := 0; from < n; {
		to := min(n, from+chunkRows)
		for to-from > 1 && s.bytes(from, to) > chunkBytes {
			to = from + (to-from)/2
		}
		if err := emit(from, to); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// bytes is about the size of rows from..to-1.
func (s *rowSet) bytes(from, to int) (n int) {
	for _, c := range s.cols {
		n += columnBytes(c, from, to)
	}
	return n
}

func columnBytes(c *batch.Column, from, to int) int {
	if w := c.Type.Width(); w > 0 {
		return w * (to - from)
	}
	if c.Type.IsText() {
		return int(c.Offsets[to]-c.Offsets[from]) + 4*(to-from)
	}
	n := 4 * (to - from)
	if c.Type.Kind != batch.Struct {
		from, to = int(c.Offsets[from]), int(c.Offsets[to])
	}
	for f := range c.Children {
		n += columnBytes(&c.Children[f], from, to)
	}
	return n
}

// chunk is an encoded chunk, taken apart but not decoded.
type chunk struct {
	version  uint64
	rows     int
	cols     [][]byte
	change   []byte
	keys     tuples
	sequence tuples
	places   tuples
}

// tuples are encoded tuples of a chunk.
type tuples struct{ ends, bytes []byte }

func parseChunk(b []byte) (c chunk, err error) {
	r := reader{b: b}
	flags := r.byte()
	c.version = r.uvarint()
	rows := r.uvarint()
	if rows > 1<<31 {
		r.fail()
	}
	c.rows = int(rows)
	c.cols = make([][]byte, r.count(4))
	for i := range c.cols {
		c.cols[i] = r.take(int(r.uint32()))
	}
	if flags&chunkHasChange != 0 {
		c.change = r.take(c.rows)
	}
	if flags&chunkHasKeys != 0 {
		c.keys = readTuples(&r, c.rows)
	}
	if flags&chunkHasSequence != 0 {
		c.sequence = readTuples(&r, c.rows)
	}
	if flags&chunkHasPlaces != 0 {
		c.places = readTuples(&r, c.rows)
	}
	return c, r.done()
}

func readTuples(r *reader, n int) tuples {
	t := tuples{ends: r.take(4 * n)}
	if r.err != nil {
		return tuples{}
	}
	last := 0
	for i := range n {
		if t.end(i+1) < last {
			r.fail()
			return tuples{}
		}
		last = t.end(i + 1)
	}
	t.bytes = r.take(last)
	return t
}

func (t tuples) end(i int) int {
	if i == 0 {
		return 0
	}
	return int(binary.LittleEndian.Uint32(t.ends[4*(i-1):]))
}

func (t tuples) at(i int) []byte { return t.bytes[t.end(i):t.end(i+1)] }

// appendTo appends tuples from..to-1 to k.
func (t tuples) appendTo(k *batch.Keys, from, to int) {
	if len(k.Offsets) == 0 {
		k.Offsets = append(k.Offsets, 0)
	}
	for i := from; i < to && t.ends != nil; i++ {
		k.Bytes = append(k.Bytes, t.at(i)...)
		k.Offsets = append(k.Offsets, uint32(len(k.Bytes)))
	}
}

// chunkDecoder appends rows of chunks to columns, one per wanted column, whatever schema version they were written under.
type chunkDecoder struct {
	schema *schema
	ids    []int
	want   []batch.Field
	into   []columnBuffer
	len    int
}

func newChunkDecoder(s *schema, ids []int) *chunkDecoder {
	d := &chunkDecoder{schema: s, ids: ids, into: make([]columnBuffer, len(ids))}
	for i, id := range ids {
		d.want = append(d.want, s.field(id))
		d.into[i].init(d.want[i].Type)
	}
	return d
}

// append decodes rows from..to-1 of c.
func (d *chunkDecoder) append(c *chunk, from, to int) error {
	if c.version >= uint64(len(d.schema.Versions)) || len(c.cols) != len(d.schema.Versions[c.version]) {
		return errShort
	}
	for w, id := range d.ids {
		if err := d.appendOne(c, &d.into[w], id, from, to); err != nil {
			return err
		}
	}
	d.len += to - from
	return nil
}

func (d *chunkDecoder) appendOne(c *chunk, into *columnBuffer, id, from, to int) error {
	for f, stored := range d.schema.Versions[c.version] {
		if stored.ID != id {
			continue
		}
		if t := stored.typ(); !t.Equal(into.Type) {
			return appendWidenedColumn(into, c.cols[f], t, c.rows, from, to)
		}
		r := reader{b: c.cols[f]}
		into.read(&r, c.rows, from, to)
		return r.done()
	}
	into.nulls(to - from)
	return nil
}

// appendWidenedColumn reads a column of a narrower type: a chunk from before an ALTER. Such chunks do not become more.
func appendWidenedColumn(into *columnBuffer, encoded []byte, t batch.Type, n, from, to int) error {
	var narrow columnBuffer
	narrow.init(t)
	r := reader{b: encoded}
	narrow.read(&r, n, from, to)
	if err := r.done(); err != nil {
		return err
	}
	wide := widen(&narrow.Column, into.Type)
	r = reader{b: appendColumn(nil, &wide, 0, wide.Len)}
	into.read(&r, wide.Len, 0, wide.Len)
	return r.done()
}

// columns returns the rows decoded.
func (d *chunkDecoder) columns() batch.Columns {
	out := batch.Columns{Fields: d.want, Cols: make([]batch.Column, len(d.into)), Len: d.len}
	for i := range d.into {
		out.Cols[i] = d.into[i].Column
	}
	return out
}
