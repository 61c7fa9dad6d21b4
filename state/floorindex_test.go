package state

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"sluice/batch"
)

// TestFloorIndexIsAMap runs random look-ups, inserts and updates against a Go map. Floors change their length, so entries
// move and the arena is compacted; hashes are poor, so probes collide.
func TestFloorIndexIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type entry struct {
			floor []byte
			meta  groupMeta
		}
		x, want := &floorIndex{}, map[string]entry{}
		hash := func(key []byte) uint64 { return hashOf(key) & 0xffff_000f_0000_00ff }
		keyOf := func(n int) []byte { return fmt.Appendf(nil, "prefix.%d", n) }
		for range rapid.IntRange(1, 40).Draw(t, "batches") {
			var keys batch.Keys
			keys.Offsets = []uint32{0}
			var hashes []uint64
			for _, n := range rapid.SliceOfNDistinct(rapid.IntRange(0, 500), 1, 60, rapid.ID).Draw(t, "keys") {
				appendTuple(&keys, append(make([]byte, tupleAt), keyOf(n)...))
				hashes = append(hashes, hash(keyOf(n)))
			}
			refs := make([]uint32, keys.Len())
			x.lookup(refs, &keys, hashes, func(g int, meta groupMeta, floor []byte) {
				e, known := want[string(keys.At(g)[tupleAt:])]
				if meta != e.meta || !bytes.Equal(floor, e.floor) {
					t.Fatalf("%s has floor %x %x, want %+v (%v)", keys.At(g), floor, meta, e, known)
				}
			})
			for g, ref := range refs {
				key := keys.At(g)[tupleAt:]
				if _, known := want[string(key)]; known != (ref != noEntry) {
					t.Fatalf("%s: known %v, entry %d", key, known, ref)
				}
				e := entry{rapid.SliceOfN(rapid.Byte(), 1, 12).Draw(t, "floor"), inlineMeta(g+1, 9)}
				if ref == noEntry {
					x.insert(hashes[g], key, e.floor, e.meta)
				} else {
					x.update(ref, hashes[g], e.floor, e.meta)
				}
				want[string(key)] = e
			}
			if rapid.Bool().Draw(t, "rewrite") {
				for i := range x.shards {
					s := &x.shards[i]
					want := len(s.entries) - s.wasted
					if s.rewrite(); len(s.entries) != want || s.wasted != 0 {
						t.Fatalf("%d bytes are left of %d, %d wasted", len(s.entries), want, s.wasted)
					}
				}
			}
			x.compact()
			if x.used != len(want) {
				t.Fatalf("%d entries, want %d", x.used, len(want))
			}
		}
	})
}

// TestLongEntries: keys and floors beyond 64 KiB.
func TestLongEntries(t *testing.T) {
	x := &floorIndex{}
	sizes := [][2]int{{10, 10}, {0xfffe, 5}, {0xffff, 5}, {5, 0xffff}, {70_000, 70_000}, {1 << 20, 3}, {3 << 20, 7}, {1, 1<<20 + 1}, {12, 9}}
	key := func(i int) []byte { return append(bytes.Repeat([]byte{byte(i)}, sizes[i][0]-1), 'k') }
	for i, s := range sizes {
		x.insert(hashOf(key(i)), key(i), bytes.Repeat([]byte{'a'}, s[1]), groupMeta(i))
	}
	for i, s := range sizes {
		ref := x.shard(hashOf(key(i))).get(hashOf(key(i)), key(i))
		if ref == noEntry {
			t.Fatalf("key of %d bytes is lost", s[0])
		}
		if meta, k, floor := x.shard(hashOf(key(i))).entry(ref); meta != groupMeta(i) || !bytes.Equal(k, key(i)) || len(floor) != s[1] {
			t.Errorf("key of %d bytes: meta %d, floor of %d bytes", s[0], meta, len(floor))
		}
		x.update(ref, hashOf(key(i)), []byte{1, 2}, 99)
	}
	x.compact()
	for i, s := range sizes {
		shard := x.shard(hashOf(key(i)))
		if shard.wasted > 0 {
			shard.rewrite()
		}
		if meta, _, floor := shard.entry(shard.get(hashOf(key(i)), key(i))); meta != 99 || !bytes.Equal(floor, []byte{1, 2}) {
			t.Errorf("key of %d bytes after a rewrite: %d %x", s[0], meta, floor)
		}
	}
}
