package state

import (
	"bytes"
	"encoding/binary"

	"sluice/batch"
)

// floorIndex holds the floor of every key of a table in memory, without a pointer per key that the collector would follow.
//
// It is a hash table per shard. Batches come in the order of shards, so that a batch works its way through the memory of
// the index from one end to the other: memory is far away wherever it is, but addresses next to each other are found faster
// than such that lie all over.
type floorIndex struct {
	shards [shards]floorShard
	used   int
	warm   byte // makes the loads of touch count
}

// floorShard is an open-addressing table of slots, and entries. A hit compares the whole key.
//
// A slot is the low half of the key's hash and the place of its entry, in units of eight bytes, plus one; 0 is free.
// An entry begins at a multiple of eight:
//
//	meta u32, key length u16, floor length u16, key, floor
//
// with both lengths 0xffff and then two u32 of the true ones, where either does not fit.
type floorShard struct {
	slots   []uint64
	entries []byte
	used    int
	wasted  int // bytes of entries that moved because their floor grew
}

const (
	minSlots     = 8
	longEntry    = 0xffff
	shortHeader  = 8
	longHeader   = 16
	noEntry      = ^uint32(0)
	slotRef      = uint64(1)<<32 - 1
	loadLimit    = 10 // tenths of slots in use, at most 7
	loadMost     = 7
	entryAligned = 8
)

// shard is where a key of the given hash belongs.
func (x *floorIndex) shard(hash uint64) *floorShard { return &x.shards[shardOf(hash)] }

// memory is the size of the index in bytes.
func (x *floorIndex) memory() (n int64) {
	for i := range x.shards {
		n += int64(len(x.shards[i].slots))*8 + int64(cap(x.shards[i].entries))
	}
	return n
}

// warmBlock is how many keys are worked on together: few enough for what was touched to be in the cache still.
const warmBlock = 128

// lookup fills refs with the entries of keys, noEntry where a key is new, and calls found with each key's meta and floor,
// empty where it is new. hash has the hash of each key's tuple.
//
// A probe costs two loads from memory that is seldom in a cache. They are made for a block of keys first, one after the
// other and not waiting for each other; the comparing comes after.
func (x *floorIndex) lookup(refs []uint32, keys *batch.Keys, hash []uint64, found func(g int, meta groupMeta, floor []byte)) {
	var slots [warmBlock]uint64
	for from := 0; from < len(hash); from += warmBlock {
		block := hash[from:min(from+warmBlock, len(hash))]
		for i, h := range block {
			slots[i] = x.shard(h).first(h)
		}
		for i, h := range block {
			if s := slots[i]; s != 0 {
				x.touch(h, uint32(s&slotRef)-1)
			}
		}
		for i, h := range block {
			s := x.shard(h)
			ref := s.find(slots[i], h, keys.At(from + i)[tupleAt:])
			refs[from+i] = ref
			if ref == noEntry {
				found(from+i, 0, nil)
				continue
			}
			meta, _, floor := s.entry(ref)
			found(from+i, meta, floor)
		}
	}
}

// touch brings an entry into the cache.
func (x *floorIndex) touch(hash uint64, ref uint32) {
	x.warm += x.shard(hash).entries[int(ref)*entryAligned]
}

// insert adds a key that is not there.
func (x *floorIndex) insert(hash uint64, key, floor []byte, meta groupMeta) {
	s := x.shard(hash)
	if (s.used+1)*loadLimit > len(s.slots)*loadMost {
		s.grow()
	}
	s.place(hash, s.store(key, floor, meta))
	s.used++
	x.used++
}

// update gives a key a new floor.
func (x *floorIndex) update(ref uint32, hash uint64, floor []byte, meta groupMeta) {
	x.shard(hash).update(ref, hash, floor, meta)
}

// compact drops the room of entries that moved, in shards of which it is the most.
func (x *floorIndex) compact() {
	for i := range x.shards {
		if s := &x.shards[i]; s.wasted > 0 && s.wasted*2 >= len(s.entries) {
			s.rewrite()
		}
	}
}

// entry takes an entry apart.
func (s *floorShard) entry(ref uint32) (meta groupMeta, key, floor []byte) {
	b := s.entries[int(ref)*entryAligned:]
	meta = groupMeta(binary.LittleEndian.Uint32(b))
	k, f, h := int(binary.LittleEndian.Uint16(b[4:])), int(binary.LittleEndian.Uint16(b[6:])), shortHeader
	if k == longEntry && f == longEntry {
		k, f, h = int(binary.LittleEndian.Uint32(b[8:])), int(binary.LittleEndian.Uint32(b[12:])), longHeader
	}
	return meta, b[h : h+k], b[h+k : h+k+f]
}

// first is the content of the first slot that a hash leads to.
func (s *floorShard) first(hash uint64) uint64 {
	if len(s.slots) == 0 {
		return 0
	}
	return s.slots[hash&uint64(len(s.slots)-1)]
}

// find returns the entry of a key; slot is the first of its hash.
func (s *floorShard) find(slot, hash uint64, key []byte) uint32 {
	mask := uint64(len(s.slots) - 1)
	for i := hash & mask; slot != 0; slot = s.slots[i] {
		if slot>>32 == hash&slotRef {
			ref := uint32(slot&slotRef) - 1
			if _, k, _ := s.entry(ref); bytes.Equal(k, key) {
				return ref
			}
		}
		i = (i + 1) & mask
	}
	return noEntry
}

// get finds one entry.
func (s *floorShard) get(hash uint64, key []byte) uint32 { return s.find(s.first(hash), hash, key) }

// update writes over the floor of an entry, or moves the entry when the floor has another length.
func (s *floorShard) update(ref uint32, hash uint64, floor []byte, meta groupMeta) {
	_, key, old := s.entry(ref)
	if len(floor) == len(old) {
		copy(old, floor)
		binary.LittleEndian.PutUint32(s.entries[int(ref)*entryAligned:], uint32(meta))
		return
	}
	s.wasted += entrySize(len(key), len(old))
	moved := s.store(key, floor, meta)
	mask := uint64(len(s.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		if uint32(s.slots[i]&slotRef) == ref+1 {
			s.slots[i] = s.slots[i]&^slotRef | uint64(moved+1)
			return
		}
	}
}

func entrySize(key, floor int) int {
	h := shortHeader
	if key >= longEntry || floor >= longEntry {
		h = longHeader
	}
	return (h + key + floor + entryAligned - 1) &^ (entryAligned - 1)
}

// store appends an entry and returns its place.
func (s *floorShard) store(key, floor []byte, meta groupMeta) uint32 {
	at := len(s.entries)
	b := binary.LittleEndian.AppendUint32(s.entries, uint32(meta))
	if len(key) >= longEntry || len(floor) >= longEntry {
		b = binary.LittleEndian.AppendUint32(b, longEntry<<16|longEntry)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(key)))
		b = binary.LittleEndian.AppendUint32(b, uint32(len(floor)))
	} else {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(key)))
		b = binary.LittleEndian.AppendUint16(b, uint16(len(floor)))
	}
	b = append(append(b, key...), floor...)
	for len(b)%entryAligned != 0 {
		b = append(b, 0)
	}
	s.entries = b
	return uint32(at / entryAligned)
}

func (s *floorShard) place(hash uint64, ref uint32) {
	mask := uint64(len(s.slots) - 1)
	i := hash & mask
	for s.slots[i] != 0 {
		i = (i + 1) & mask
	}
	s.slots[i] = hash<<32 | uint64(ref+1)
}

// grow doubles the slots. The half of the hash a slot holds is enough to place it again.
func (s *floorShard) grow() {
	old := s.slots
	s.slots = make([]uint64, max(minSlots, 2*len(old)))
	for _, slot := range old {
		if slot != 0 {
			s.place(slot>>32, uint32(slot&slotRef)-1)
		}
	}
}

// rewrite copies the entries in use.
func (s *floorShard) rewrite() {
	fresh := floorShard{slots: make([]uint64, len(s.slots)), entries: make([]byte, 0, len(s.entries)-s.wasted), used: s.used}
	for _, slot := range s.slots {
		if slot != 0 {
			meta, key, floor := s.entry(uint32(slot&slotRef) - 1)
			fresh.place(slot>>32, fresh.store(key, floor, meta))
		}
	}
	*s = fresh
}
