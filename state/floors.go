package state

import (
	"encoding/binary"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"sluice/batch"
)

// floors answers for many keys at once whether a table has rows of them, and their floors. They are in memory while they
// fit in the store's budget, else under a prefix of their own, much denser than the rows (D-30). Only the writer whose
// turn it is uses them.
type floors struct {
	table  *Table
	loaded bool
	memory *floorIndex // nil: they are stored
	// Of the last lookup, by group:
	keys  batch.Keys  // as rows are stored under
	hash  []uint64    // of their tuples
	refs  []uint32    // entries of memory
	metas []groupMeta // 0 where the key is new
	key   []byte
	value []byte
}

// A stored floor is its group's meta, u32 little-endian, and the floor.

// prepare loads the floors if that has not been done, and moves them out of memory when they no longer fit.
func (x *floors) prepare() error {
	s := x.table.store
	if !x.loaded {
		if err := x.load(); err != nil {
			return err
		}
		x.loaded = true
	}
	if x.memory == nil {
		return nil
	}
	x.memory.compact()
	if x.account(); s.floors.Load() <= s.o.FloorBudget {
		return nil
	}
	s.o.Logger.Info("floors no longer fit in memory and are stored from now on", "table", x.table.name, "keys", x.memory.used)
	return x.store()
}

// account tells the store how much memory is in use.
func (x *floors) account() {
	now := int64(0)
	if x.memory != nil {
		now = x.memory.memory()
	}
	x.table.store.floors.Add(now - x.table.floorBytes.Swap(now))
}

// drop forgets what is in memory; the next prepare loads it again.
func (x *floors) drop() {
	x.loaded, x.memory = false, nil
	x.account()
}

// load reads the floors into memory, if they fit.
func (x *floors) load() error {
	s, r := x.table.store, x.table.record
	if r.Floors && x.table.version.keys*averageFloor > s.o.FloorBudget/2 {
		return nil // they did not fit before and have not shrunk much
	}
	x.memory = &floorIndex{}
	err := x.eachStored(func(key, floor []byte, meta groupMeta) error {
		x.memory.insert(hashOf(key[tupleAt:]), key[tupleAt:], floor, meta)
		if x.memory.used%1024 == 0 {
			if x.account(); s.floors.Load() > s.o.FloorBudget {
				return errEnough
			}
		}
		return nil
	})
	x.account()
	switch {
	case err == errEnough && r.Floors:
		x.memory = nil
		x.account()
		return nil
	case err == errEnough:
		return x.store()
	case err != nil || !r.Floors:
		return err
	}
	return x.table.setFloors(false)
}

// averageFloor is a guess of the memory one floor takes.
const averageFloor = 64

// store writes every floor under its own prefix and forgets those in memory.
func (x *floors) store() error {
	x.memory = nil
	x.account()
	s := x.table.store
	b := s.db.NewBatch()
	prefix := idKey(kindFloors, x.table.record.Instance)
	must(b.DeleteRange(prefix, prefixEnd(prefix), nil)) // of an attempt that was cut short
	err := x.eachGroup(func(key, floor []byte, meta groupMeta) error {
		x.put(b, key, floor, meta)
		if b.Len() < chunkBytes {
			return nil
		}
		err := s.commit(b, false)
		must(b.Close())
		b = s.db.NewBatch()
		return err
	})
	if err == nil {
		err = s.commit(b, false)
	}
	must(b.Close())
	if err != nil {
		return err
	}
	return x.table.setFloors(true)
}

func (x *floors) put(b *pebble.Batch, key, floor []byte, meta groupMeta) {
	x.key = floorKey(x.key, key)
	x.value = append(binary.LittleEndian.AppendUint32(x.value[:0], uint32(meta)), floor...)
	must(b.Set(x.key, x.value, nil))
}

func parseFloor(v []byte) (groupMeta, []byte, error) {
	if len(v) < 4 {
		return 0, nil, errShort
	}
	return groupMeta(binary.LittleEndian.Uint32(v)), v[4:], nil
}

// eachStored calls f with every floor, from where it is cheapest to read.
func (x *floors) eachStored(f func(key, floor []byte, meta groupMeta) error) error {
	if !x.table.record.Floors {
		return x.eachGroup(f)
	}
	prefix := idKey(kindFloors, x.table.record.Instance)
	return x.table.store.each(x.table.store.db, prefix, prefixEnd(prefix), func(k, v []byte) error {
		meta, floor, err := parseFloor(v)
		if err != nil {
			return err
		}
		return f(k, floor, meta)
	})
}

// eachGroup calls f with the floor of every group of the table, passing over the rows of spilled ones.
func (x *floors) eachGroup(f func(key, floor []byte, meta groupMeta) error) error {
	s := x.table.store
	prefix := idKey(kindRows, x.table.record.Instance)
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: prefixEnd(prefix)})
	if err != nil {
		return s.readFailed(err)
	}
	defer it.Close()
	for ok := it.First(); ok; {
		v, err := it.ValueAndErr()
		if err != nil {
			return s.readFailed(err)
		}
		g, err := parseGroup(v)
		if err != nil {
			return s.readFailed(err)
		}
		if err := f(it.Key(), g.floor, g.meta()); err != nil {
			return err
		}
		if g.spilled {
			_, after := rowsOf(it.Key())
			ok = it.SeekGE(after)
		} else {
			ok = it.Next()
		}
	}
	if err := it.Error(); err != nil {
		return s.readFailed(err)
	}
	return nil
}

// lookup fills dst with the floor of each group's key, empty where the key has no rows, and keeps what update needs.
func (x *floors) lookup(dst *batch.Keys, keys *Keys, groups *batch.Groups) error {
	n := groups.Len()
	x.refs = slices.Grow(x.refs[:0], n)[:n]
	x.metas = slices.Grow(x.metas[:0], n)[:n]
	dst.Offsets, dst.Bytes = append(slices.Grow(dst.Offsets[:0], n+1), 0), dst.Bytes[:0]
	x.gather(keys, groups)
	if x.memory == nil {
		return x.lookupStored(dst)
	}
	x.memory.lookup(x.refs, &x.keys, x.hash, func(g int, meta groupMeta, floor []byte) {
		x.metas[g] = meta
		dst.Bytes = append(dst.Bytes, floor...)
		dst.Offsets = append(dst.Offsets, uint32(len(dst.Bytes)))
	})
	return nil
}

// gather copies the keys of the groups into their order: what follows then reads memory from front to back.
func (x *floors) gather(keys *Keys, groups *batch.Groups) {
	x.keys.Offsets, x.keys.Bytes = append(slices.Grow(x.keys.Offsets[:0], groups.Len()+1), 0), slices.Grow(x.keys.Bytes[:0], len(keys.Bytes))
	x.hash = slices.Grow(x.hash[:0], groups.Len())
	for g := range groups.Len() {
		row := groups.Rows[groups.Starts[g]]
		x.hash = append(x.hash, keys.Hash[row])
		appendTuple(&x.keys, keys.At(int(row)))
	}
}

// lookupStored seeks, in the order of the store. Bloom filters tell that a key is new without a block being read.
func (x *floors) lookupStored(dst *batch.Keys) error {
	s := x.table.store
	prefix := idKey(kindFloors, x.table.record.Instance)
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: prefixEnd(prefix), UseL6Filters: true})
	if err != nil {
		return s.readFailed(err)
	}
	defer it.Close()
	for g := range x.keys.Len() {
		x.refs[g], x.metas[g] = noEntry, 0
		x.key = floorKey(x.key, x.keys.At(g))
		if it.SeekPrefixGE(x.key) { // the prefix of a key is all of it
			v, err := it.ValueAndErr()
			if err != nil {
				return s.readFailed(err)
			}
			meta, floor, err := parseFloor(v)
			if err != nil {
				return s.readFailed(err)
			}
			x.metas[g] = meta
			dst.Bytes = append(dst.Bytes, floor...)
		}
		dst.Offsets = append(dst.Offsets, uint32(len(dst.Bytes)))
	}
	if err := it.Error(); err != nil {
		return s.readFailed(err)
	}
	return nil
}

// set gives the key of group g, as of the last lookup, a floor. What lies in memory changes at once: who gives up the
// batch must drop the floors.
func (x *floors) set(b *pebble.Batch, g int, floor []byte, meta groupMeta) {
	switch {
	case x.memory == nil:
		x.put(b, x.keys.At(g), floor, meta)
	case x.refs[g] == noEntry:
		x.memory.insert(x.hash[g], x.keys.At(g)[tupleAt:], floor, meta)
	default:
		x.memory.update(x.refs[g], x.hash[g], floor, meta)
	}
}
