package builtin

import (
	"bytes"
	"slices"

	"sluice/batch"
)

// list is one row of an array: elements[from:to].
type list struct {
	elements *batch.Column
	from, to int
}

func listAt(c *batch.Column, i int) list {
	return list{&c.Children[0], int(c.Offsets[i]), int(c.Offsets[i+1])}
}

func (l list) len() int { return l.to - l.from }

// append appends element j to the array that out is making.
func (l list) append(out *batch.Builder, j int) { out.Child(0).AppendFrom(l.elements, j) }

// keyed encodes elements of arrays so that their bytes compare as the elements do (D-36): equality and order of every type
// are those of keys.
type keyed struct {
	bytes []byte
	ends  []int
	seen  map[string]struct{}
}

func (k *keyed) reset() { k.bytes, k.ends = k.bytes[:0], k.ends[:0] }

// add encodes the elements of l, which get the numbers from the first free one on.
func (k *keyed) add(l list) {
	columns := [1]*batch.Column{l.elements}
	for j := l.from; j < l.to; j++ {
		k.one(columns[:], j)
	}
}

func (k *keyed) one(columns []*batch.Column, j int) {
	k.bytes = batch.AppendKey(k.bytes, columns, j)
	k.ends = append(k.ends, len(k.bytes))
}

// at is the key of element n.
func (k *keyed) at(n int) []byte {
	start := 0
	if n > 0 {
		start = k.ends[n-1]
	}
	return k.bytes[start:k.ends[n]]
}

// few is up to how many elements looking through them is faster than a map.
const few = 16

// firsts calls yield for each of the numbers that has no equal in front of it, among [from, to).
func (k *keyed) firsts(from, to int, yield func(n int)) {
	if to-from > few {
		k.clear()
		for n := from; n < to; n++ {
			if k.insert(n) {
				yield(n)
			}
		}
		return
	}
	for n := from; n < to; n++ {
		if !k.among(k.at(n), from, n) {
			yield(n)
		}
	}
}

func (k *keyed) clear() {
	if k.seen == nil {
		k.seen = map[string]struct{}{}
	}
	clear(k.seen)
}

// insert reports whether no equal of n has been inserted since clear.
func (k *keyed) insert(n int) bool {
	if _, ok := k.seen[string(k.at(n))]; ok {
		return false
	}
	k.seen[string(k.at(n))] = struct{}{}
	return true
}

// among reports whether an element of [from, to) has the key.
func (k *keyed) among(key []byte, from, to int) bool {
	for n := from; n < to; n++ {
		if bytes.Equal(k.at(n), key) {
			return true
		}
	}
	return false
}

// members makes a test whether a key is among [from, to).
func (k *keyed) members(from, to int) func(n int) bool {
	if to-from <= few {
		return func(n int) bool { return k.among(k.at(n), from, to) }
	}
	k.clear()
	for n := from; n < to; n++ {
		k.insert(n)
	}
	return func(n int) bool { _, ok := k.seen[string(k.at(n))]; return ok }
}

// sorted are the numbers [0, n) in the order of their keys.
func (k *keyed) sorted(order []int, n int) []int {
	order = order[:0]
	for i := range n {
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(x, y int) int { return bytes.Compare(k.at(x), k.at(y)) })
	return order
}
