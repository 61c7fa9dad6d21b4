package state

import (
	"bytes"
	"encoding/binary"

	"sluice/batch"
)

// floorIndex holds the floor of every key of a table in memory, without a pointer that the collector would follow: an
// open-addressing table of slots, and entries in an arena. A hit compares the whole key.
//
// A slot is the low half of the key's hash and the place of its entry, in units of eight bytes, plus one; 0 is free.
// An entry begins at a multiple of eight:
//
//	meta u32, key length u16, floor length u16, key, floor
//
// with both lengths 0xffff and then two u32 of the true ones, where either does not fit.
type floorIndex struct {
	slots  []uint64
	used   int
	arena  [][]byte // blocks of arenaBlock bytes; a longer entry has a block of its own over several places
	free   int      // where the next entry goes, in bytes from the arena's start
	wasted int      // bytes of entries that moved because their floor grew
	warm   byte     // makes the loads of touch count
}

const (
	arenaBlock   = 1 << 20
	minSlots     = 1 << 10
	longEntry    = 0xffff
	shortHeader  = 8
	longHeader   = 16
	noEntry      = ^uint32(0)
	slotRef      = uint64(1)<<32 - 1
	loadLimit    = 10 // tenths of slots in use, at most 7
	loadMost     = 7
	entryAligned = 8
)

// memory is the size of the index in bytes.
func (x *floorIndex) memory() int64 { return int64(len(x.slots))*8 + int64(len(x.arena))*arenaBlock }

// block returns the arena from an entry on.
func (x *floorIndex) block(ref uint32) []byte {
	at := int(ref) * entryAligned
	return x.arena[at/arenaBlock][at%arenaBlock:]
}

// entry takes an entry apart.
func (x *floorIndex) entry(ref uint32) (meta groupMeta, key, floor []byte) {
	b := x.block(ref)
	meta = groupMeta(binary.LittleEndian.Uint32(b))
	k, f, h := int(binary.LittleEndian.Uint16(b[4:])), int(binary.LittleEndian.Uint16(b[6:])), shortHeader
	if k == longEntry && f == longEntry {
		k, f, h = int(binary.LittleEndian.Uint32(b[8:])), int(binary.LittleEndian.Uint32(b[12:])), longHeader
	}
	return meta, b[h : h+k], b[h+k : h+k+f]
}

// warmBlock is how many keys are worked on together: few enough for what was touched to be in the cache still.
const warmBlock = 128

// lookup fills refs with the entries of keys, noEntry where a key is new, and calls found with each key's meta and floor,
// empty where it is new. hash has the hash of each key's tuple.
//
// A probe costs two loads from memory that is seldom in a cache. They are made for a block of keys first, one after the
// other and not waiting for each other; the comparing comes after.
func (x *floorIndex) lookup(refs []uint32, keys *batch.Keys, hash []uint64, found func(g int, meta groupMeta, floor []byte)) {
	if len(x.slots) == 0 {
		x.slots = make([]uint64, minSlots)
	}
	mask := uint64(len(x.slots) - 1)
	var slots [warmBlock]uint64
	for from := 0; from < len(hash); from += warmBlock {
		block := hash[from:min(from+warmBlock, len(hash))]
		for i, h := range block {
			slots[i] = x.slots[h&mask]
		}
		for _, s := range slots[:len(block)] {
			if s != 0 {
				x.touch(uint32(s&slotRef) - 1)
			}
		}
		for i, h := range block {
			ref := x.find(slots[i], h, keys.At(from + i)[tupleAt:])
			refs[from+i] = ref
			if ref == noEntry {
				found(from+i, 0, nil)
				continue
			}
			meta, _, floor := x.entry(ref)
			found(from+i, meta, floor)
		}
	}
}

// touch brings an entry into the cache.
func (x *floorIndex) touch(ref uint32) { x.warm += x.block(ref)[0] }

// find returns the entry of a key; slot is the content of the first slot its hash leads to.
func (x *floorIndex) find(slot, hash uint64, key []byte) uint32 {
	mask := uint64(len(x.slots) - 1)
	for i := hash & mask; slot != 0; slot = x.slots[i] {
		if slot>>32 == hash&slotRef {
			ref := uint32(slot&slotRef) - 1
			if _, k, _ := x.entry(ref); bytes.Equal(k, key) {
				return ref
			}
		}
		i = (i + 1) & mask
	}
	return noEntry
}

// get finds one entry.
func (x *floorIndex) get(hash uint64, key []byte) uint32 {
	if len(x.slots) == 0 {
		return noEntry
	}
	return x.find(x.slots[hash&uint64(len(x.slots)-1)], hash, key)
}

// insert adds a key that is not there.
func (x *floorIndex) insert(hash uint64, key, floor []byte, meta groupMeta) {
	if (x.used+1)*loadLimit > len(x.slots)*loadMost {
		x.grow()
	}
	x.place(hash, x.store(key, floor, meta))
	x.used++
}

// update gives a key a new floor. hash leads to its slot, should the entry have to move.
func (x *floorIndex) update(ref uint32, hash uint64, floor []byte, meta groupMeta) {
	_, key, old := x.entry(ref)
	if len(floor) == len(old) {
		copy(old, floor)
		binary.LittleEndian.PutUint32(x.block(ref), uint32(meta))
		return
	}
	x.wasted += entrySize(len(key), len(old))
	moved := x.store(key, floor, meta)
	mask := uint64(len(x.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		if uint32(x.slots[i]&slotRef) == ref+1 {
			x.slots[i] = x.slots[i]&^slotRef | uint64(moved+1)
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

// store writes an entry into the arena and returns its place.
func (x *floorIndex) store(key, floor []byte, meta groupMeta) uint32 {
	size := entrySize(len(key), len(floor))
	if left := len(x.arena)*arenaBlock - x.free; size > left {
		x.free = len(x.arena) * arenaBlock
		block := make([]byte, (size+arenaBlock-1)/arenaBlock*arenaBlock)
		for at := 0; at < len(block); at += arenaBlock {
			x.arena = append(x.arena, block[at:])
		}
	}
	ref := uint32(x.free / entryAligned)
	x.free += size
	b := x.block(ref)
	binary.LittleEndian.PutUint32(b, uint32(meta))
	h := shortHeader
	if len(key) >= longEntry || len(floor) >= longEntry {
		h = longHeader
		binary.LittleEndian.PutUint32(b[4:], longEntry<<16|longEntry)
		binary.LittleEndian.PutUint32(b[8:], uint32(len(key)))
		binary.LittleEndian.PutUint32(b[12:], uint32(len(floor)))
	} else {
		binary.LittleEndian.PutUint16(b[4:], uint16(len(key)))
		binary.LittleEndian.PutUint16(b[6:], uint16(len(floor)))
	}
	copy(b[h:], key)
	copy(b[h+len(key):], floor)
	return ref
}

func (x *floorIndex) place(hash uint64, ref uint32) {
	mask := uint64(len(x.slots) - 1)
	i := hash & mask
	for x.slots[i] != 0 {
		i = (i + 1) & mask
	}
	x.slots[i] = hash<<32 | uint64(ref+1)
}

// grow doubles the slots. The half of the hash a slot holds is enough to place it again.
func (x *floorIndex) grow() {
	old := x.slots
	x.slots = make([]uint64, max(minSlots, 2*len(old)))
	for _, s := range old {
		if s != 0 {
			x.place(s>>32, uint32(s&slotRef)-1)
		}
	}
}

// compact drops the room of entries that moved, when it is most of the arena.
func (x *floorIndex) compact() {
	if x.wasted*2 >= x.free && x.free >= arenaBlock {
		x.rewrite()
	}
}

// rewrite copies the entries into a new arena.
func (x *floorIndex) rewrite() {
	fresh := floorIndex{slots: make([]uint64, len(x.slots)), used: x.used}
	for _, s := range x.slots {
		if s != 0 {
			meta, key, floor := x.entry(uint32(s&slotRef) - 1)
			fresh.place(s>>32, fresh.store(key, floor, meta))
		}
	}
	*x = fresh
}
