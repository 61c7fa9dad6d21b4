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
// Keys of one table begin alike, then have a byte that spreads them evenly (state's shard). So rows are dealt into 256
// piles by the first byte that differs, and each pile is sorted by the eight bytes after what its keys have in common;
// whole keys are compared only where those are equal.
func (g *Grouper) Group(dst *batch.Groups, keys *batch.Keys) {
	dst.Reset()
	n := keys.Len()
	if n == 0 {
		return
	}
	g.deal(keys, commonPrefix(keys, nil))
	start := int32(0)
	for _, end := range g.ends {
		if end > start {
			g.sortPile(g.entries[start:end], keys)
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

// deal puts the rows into piles by the byte at the given place of their keys; g.ends says where each pile ends.
func (g *Grouper) deal(keys *batch.Keys, at int) {
	n := keys.Len()
	g.entries = slices.Grow(g.entries[:0], n)[:n]
	var next [256]int32
	for i := range n {
		next[byteAt(keys.At(i), at)]++
	}
	sum := int32(0)
	for b := range next {
		next[b], sum = sum, sum+next[b]
	}
	for i := range n {
		b := byteAt(keys.At(i), at)
		g.entries[next[b]].row = int32(i)
		next[b]++
	}
	g.ends = next
}

func (g *Grouper) sortPile(pile []entry, keys *batch.Keys) {
	if len(pile) == 1 {
		return
	}
	at := commonPrefix(keys, pile)
	for i := range pile {
		pile[i].window = windowAt(keys.At(int(pile[i].row)), at)
	}
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

// same reports whether two neighbouring entries have the same key. Those of different piles may have equal windows.
func (g *Grouper) same(i, j int, keys *batch.Keys) bool {
	a, b := g.entries[i], g.entries[j]
	return a.window == b.window && bytes.Equal(keys.At(int(a.row)), keys.At(int(b.row)))
}

// commonPrefix is how many bytes the keys of a pile, or of all rows when pile is nil, have in common at their start.
func commonPrefix(keys *batch.Keys, pile []entry) int {
	if pile == nil {
		first := keys.At(0)
		for i := 1; i < keys.Len() && len(first) > 0; i++ {
			first = first[:matching(first, keys.At(i))]
		}
		return len(first)
	}
	first := keys.At(int(pile[0].row))
	for _, e := range pile[1:] {
		first = first[:matching(first, keys.At(int(e.row)))]
	}
	return len(first)
}

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
