package state

import (
	"encoding/binary"

	"sluice/batch"
)

// A group is all rows of one key with their floor. Small ones are one value:
//
//	0, floor (uvarint length, bytes), rows uvarint, then per row: its position (split uvarint, offset varint, index
//	varint), uvarint length, the row (row.go)
//
// in the order of positions. A value longer than spillAt bytes is spilled (D-59): its rows lie under keys of their own
// (appendRowKey), so that a tie appends without reading them, and the group's value is
//
//	1, floor, rows uvarint, bytes uvarint, last position (as above)
//
// where bytes are those of the rows and their keys.
const (
	spillAt      = 16 << 10
	groupInline  = 0
	groupSpilled = 1
)

// groupMeta is what is kept of a group beside its floor, wherever floors are: for an inline group the number of rows and
// the length of the value, for a spilled one that it is.
type groupMeta uint32

const metaSpilled groupMeta = 1 << 31

func inlineMeta(rows, size int) groupMeta { return groupMeta(rows)<<15 | groupMeta(size) }

func (m groupMeta) spilled() bool { return m&metaSpilled != 0 }
func (m groupMeta) rows() int64   { return int64(m &^ metaSpilled >> 15) }
func (m groupMeta) size() int64   { return int64(m & (1<<15 - 1)) }

// group is a group's value taken apart. Its parts belong to the value.
type group struct {
	spilled bool
	floor   []byte
	rows    int64
	inline  []byte      // the rows of an inline group
	bytes   int64       // of a spilled group
	last    rowPosition // of a spilled group
	size    int         // of the value
}

func parseGroup(v []byte) (g group, err error) {
	r := reader{b: v}
	g.size = len(v)
	kind := r.byte()
	g.floor = r.text()
	g.rows = int64(r.uvarint())
	switch kind {
	case groupInline:
		g.inline = r.b
		return g, r.err
	case groupSpilled:
		g.spilled = true
		g.bytes = int64(r.uvarint())
		g.last = readPosition(&r)
		return g, r.done()
	}
	return g, errShort
}

func (g *group) meta() groupMeta {
	if g.spilled {
		return metaSpilled
	}
	return inlineMeta(int(g.rows), g.size)
}

// storedBytes is what the group takes, its own key of the given length included.
func (g *group) storedBytes(key int) int64 { return int64(key) + int64(g.size) + g.bytes }

// nextRow takes the next row off the rows of an inline group.
func nextRow(r *reader) (rowPosition, []byte) {
	p := readPosition(r)
	return p, r.text()
}

func readPosition(r *reader) rowPosition {
	return rowPosition{int32(r.uvarint()), r.varint(), int32(r.varint())}
}

func appendPosition(dst []byte, p rowPosition) []byte {
	dst = binary.AppendUvarint(dst, uint64(p.split))
	dst = binary.AppendVarint(dst, p.offset)
	return binary.AppendVarint(dst, int64(p.index))
}

func appendInlineHead(dst, floor []byte, rows int) []byte {
	dst = appendText(append(dst, groupInline), floor)
	return binary.AppendUvarint(dst, uint64(rows))
}

func appendSpilledGroup(dst, floor []byte, rows, bytes int64, last rowPosition) []byte {
	dst = appendText(append(dst, groupSpilled), floor)
	dst = binary.AppendUvarint(dst, uint64(rows))
	dst = binary.AppendUvarint(dst, uint64(bytes))
	return appendPosition(dst, last)
}

// positionAt is the position of row i of a batch.
func positionAt(p *batch.Positions, i int32) rowPosition {
	return rowPosition{p.Split[i], p.Offset[i], p.Index[i]}
}
