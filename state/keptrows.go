package state

import (
	"encoding/binary"

	"sluice/batch"
)

// keptRows are the rows a batch stores, encoded in the order they came: their columns are read from front to back, and
// the order of the keys, in which they are written, only jumps between encoded rows.
//
// Each is an inline group of this one row: nearly always that is what its key's value becomes.
type keptRows struct {
	bytes []byte
	at    []uint32 // by row of the batch, one more; empty for rows that are not kept
}

// group returns a kept row as an inline group of its own.
func (k *keptRows) group(i int32) []byte { return k.bytes[k.at[i]:k.at[i+1]] }

// row returns the sequence of a kept row, and the row as it stands in an inline group.
func (k *keptRows) row(i int32) (sequence, row []byte) {
	b := k.group(i)[1:]
	n, used := binary.Uvarint(b)
	from, to := used, used+int(n)
	return b[from:to], b[to+1:] // behind the number of rows, which is one
}

// encode fills a.rows, and adds the kept rows to the digest.
func (a *applier) encode(enc rowEncoder) {
	s := a.w.s
	n := a.e.Rows.Len
	kept := batch.Bitmap(make([]uint64, (n+63)/64))
	for _, i := range a.e.Edits.Kept.Rows {
		kept.Set(int(i))
	}
	s.rows, s.rowAt = s.rows[:0], append(s.rowAt[:0], 0)
	for i := range n {
		if kept.Get(i) {
			s.rows = appendInlineHead(s.rows, a.e.Sequences.At(i), 1)
			s.rows = appendPosition(s.rows, positionAt(&a.e.Positions, int32(i)))
			s.rows = appendSized(s.rows, &enc, i)
			if a.w.digest != nil {
				a.w.t.digester.hasher.AddRow(a.w.digest, enc.cols, i)
			}
		}
		s.rowAt = append(s.rowAt, uint32(len(s.rows)))
	}
	a.rows = keptRows{s.rows, s.rowAt}
}

// appendSized writes row i after its length, for which one byte is nearly always enough.
func appendSized(dst []byte, enc *rowEncoder, i int) []byte {
	at := len(dst)
	dst = enc.append(append(dst, 0), i)
	n := len(dst) - at - 1
	if n < 0x80 {
		dst[at] = byte(n)
		return dst
	}
	var size [binary.MaxVarintLen64]byte
	used := binary.PutUvarint(size[:], uint64(n))
	dst = append(dst, size[:used-1]...)
	copy(dst[at+used:], dst[at+1:at+1+n])
	copy(dst[at:], size[:used])
	return dst
}
