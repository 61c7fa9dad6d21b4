package replaceusing

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"sluice/batch"
)

// Grouper sorts the rows of batches by key. The zero Grouper is ready; it keeps its memory from batch to batch.
type Grouper struct {
	entries []entry
	ends    [256]int32
}

// entry is a row with the eight bytes of its key that tell it apart from its neighbours, nearly always.
type entry struct {
	window uint64
	row    int32
}

// Group fills dst with the rows of keys by key: groups in the order of the keys' bytes, rows of a group in the order of
// the batch.
//
// Keys of one table begin alike, then have a byte that spreads them evenly (state's shard), then often begin alike again.
// So rows are dealt into 256 piles by the first byte that differs, and each pile is sorted by the eight bytes after what
// all keys have in common behind that byte; whole keys are compared only where those are equal. Keys are read from front
// to back: in the order of the piles they lie all over memory.
func (g *Grouper) Group(dst *batch.Groups, keys *batch.Keys) {
	dst.Reset()
	n := keys.Len()
	if n == 0 {
		return
	}
	at := commonPrefix(keys, 0)
	g.deal(keys, at, at+1+commonPrefix(keys, at+1))
	start := int32(0)
	for _, end := range g.ends {
		if end > start+1 {
			sortPile(g.entries[start:end], keys)
		}
		start = end
	}
	dst.Rows = slices.Grow(dst.Rows, n)
	for i, e := range g.entries {
		if i > 0 && !g.same(i-1, i, keys) {
			dst.Starts = append(dst.Starts, int32(i))
		}
		dst.Rows = append(dst.Rows, e.row)
	}
	dst.Starts = append(dst.Starts, int32(n))
}

// deal puts the rows into piles by the byte at the place pile of their keys, with the window at the place window; g.ends
// says where each pile ends.
func (g *Grouper) deal(keys *batch.Keys, pile, window int) {
	n := keys.Len()
	g.entries = slices.Grow(g.entries[:0], n)[:n]
	var next [256]int32
	for i := range n {
		next[byteAt(keys.At(i), pile)]++
	}
	sum := int32(0)
	for b := range next {
		next[b], sum = sum, sum+next[b]
	}
	for i := range n {
		k := keys.At(i)
		b := byteAt(k, pile)
		g.entries[next[b]] = entry{windowAt(k, window), int32(i)}
		next[b]++
	}
	g.ends = next
}

func sortPile(pile []entry, keys *batch.Keys) {
	slices.SortFunc(pile, func(a, b entry) int {
		if a.window != b.window {
			return cmp.Compare(a.window, b.window)
		}
		if c := bytes.Compare(keys.At(int(a.row)), keys.At(int(b.row))); c != 0 {
			return c
		}
		return cmp.Compare(a.row, b.row)
	})
}

// same reports whether two neighbouring entries have the same key.
func (g *Grouper) same(i, j int, keys *batch.Keys) bool {
	a, b := g.entries[i], g.entries[j]
	return a.window == b.window && bytes.Equal(keys.At(int(a.row)), keys.At(int(b.row)))
}

// commonPrefix is how many bytes all keys have in common from a place on.
func commonPrefix(keys *batch.Keys, from int) int {
	first := after(keys.At(0), from)
	for i := 1; i < keys.Len() && len(first) > 0; i++ {
		first = first[:matching(first, after(keys.At(i), from))]
	}
	return len(first)
}

func after(key []byte, from int) []byte { return key[min(from, len(key)):] }

// matching is the length of the longest common prefix of a and b.
func matching(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for ; i+8 <= n; i += 8 {
		if binary.LittleEndian.Uint64(a[i:]) != binary.LittleEndian.Uint64(b[i:]) {
			break
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

func byteAt(key []byte, at int) byte {
	if at < len(key) {
		return key[at]
	}
	return 0
}

// windowAt is the eight bytes of key from at on, zeros after its end, as a number that orders as they do.
func windowAt(key []byte, at int) uint64 {
	if at+8 <= len(key) {
		return binary.BigEndian.Uint64(key[at:])
	}
	var b [8]byte
	copy(b[:], key[min(at, len(key)):])
	return binary.BigEndian.Uint64(b[:])
}
