package state

import (
	"bytes"
	"slices"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/pebble/v2"

	"sluice/batch"
	"sluice/fault"
)

// Keys are the store's keys of a batch's rows: sorting them is the order of the store.
type Keys struct {
	batch.Keys
	Hash []uint64 // of the key tuples
}

// hashOf is the hash of a key tuple. Its top byte, the shard, lies on disk.
func hashOf(tuple []byte) uint64 { return xxhash.Sum64(tuple) }

// EncodeKeys fills dst with the keys of rows, from the table's key columns.
func (w *Writer) EncodeKeys(dst *Keys, rows *batch.Columns) error {
	cols := make([]*batch.Column, len(w.t.record.Keys))
	for i, name := range w.t.record.Keys {
		if cols[i] = rows.Col(name); cols[i] == nil {
			return fault.New(fault.InternalError, "table %s: the batch has no key column %q", w.t.name, name)
		}
	}
	batch.EncodeKeysAfter(&dst.Keys, tupleAt, cols...)
	n := dst.Len()
	prefix := idKey(kindRows, w.t.record.Instance)
	dst.Hash = slices.Grow(dst.Hash[:0], n)[:n]
	for i := range n {
		k := dst.At(i)
		dst.Hash[i] = hashOf(k[tupleAt:])
		k[copy(k, prefix)] = shardOf(dst.Hash[i])
	}
	return nil
}

// Floors fills dst with the floor of each group's key, empty where the key has no rows.
func (w *Writer) Floors(dst *batch.Keys, keys *Keys, groups *batch.Groups) error {
	return w.t.floors.lookup(dst, keys, groups)
}

// rowsIter reads the table's groups.
func (w *Writer) rowsIter() (*pebble.Iterator, error) {
	prefix := idKey(kindRows, w.t.record.Instance)
	it, err := w.t.store.db.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: prefixEnd(prefix)})
	if err != nil {
		return nil, w.t.store.readFailed(err)
	}
	return it, nil
}

// seekGroup returns the value of a key, which the floors say is there. It belongs to the iterator.
func (w *Writer) seekGroup(it *pebble.Iterator, k []byte) ([]byte, error) {
	s := w.t.store
	if !it.SeekGE(k) || !bytes.Equal(it.Key(), k) {
		if err := it.Error(); err != nil {
			return nil, s.readFailed(err)
		}
		return nil, s.fail(s.corrupt("table %s: a key has a floor and no rows", w.t.name))
	}
	v, err := it.ValueAndErr()
	if err != nil {
		return nil, s.readFailed(err)
	}
	return v, nil
}

// Redelivered returns the kept rows of groups with OpAppend that the store has already, by position (D-1). It is called
// after Floors and before Apply, with every batch: it also reads what Apply appends to.
func (w *Writer) Redelivered(keys *Keys, groups *batch.Groups, pos batch.Positions, e *batch.Edits) ([]int32, error) {
	w.s.tied.Offsets, w.s.tied.Bytes, w.s.tiedGroups = append(w.s.tied.Offsets[:0], 0), w.s.tied.Bytes[:0], w.s.tiedGroups[:0]
	var again []int32
	var it *pebble.Iterator
	for g, op := range e.Ops {
		if op != batch.OpAppend {
			continue
		}
		if it == nil {
			var err error
			if it, err = w.rowsIter(); err != nil {
				return nil, err
			}
			defer it.Close()
		}
		k := w.t.floors.keys.At(g)
		v, err := w.seekGroup(it, k)
		if err != nil {
			return nil, err
		}
		w.s.tied.Bytes = append(w.s.tied.Bytes, v...)
		w.s.tied.Offsets = append(w.s.tied.Offsets, uint32(len(w.s.tied.Bytes)))
		w.s.tiedGroups = append(w.s.tiedGroups, int32(g))
		stored, err := parseGroup(v)
		if err == nil {
			again, err = w.storedAlready(again, it, k, &stored, &pos, e.Kept.Of(g))
		}
		if err != nil {
			return nil, w.t.store.readFailed(err)
		}
	}
	return again, nil
}

// storedAlready appends those of rows whose position a group has. Both sides are in the order of positions.
func (w *Writer) storedAlready(again []int32, it *pebble.Iterator, k []byte, stored *group, pos *batch.Positions, rows []int32) ([]int32, error) {
	if stored.spilled {
		for _, row := range rows {
			p := positionAt(pos, row)
			if p.compare(stored.last) > 0 {
				break
			}
			w.s.key = appendRowKey(w.s.key[:0], k, p)
			if it.SeekGE(w.s.key) && bytes.Equal(it.Key(), w.s.key) {
				again = append(again, row)
			}
		}
		return again, it.Error()
	}
	r := reader{b: stored.inline}
	for range stored.rows {
		have, _ := nextRow(&r)
		for len(rows) > 0 {
			c := positionAt(pos, rows[0]).compare(have)
			if c > 0 {
				break
			}
			if c == 0 {
				again = append(again, rows[0])
			}
			rows = rows[1:]
		}
	}
	return again, r.err
}
