package eval

import (
	"unsafe"

	"sluice/batch"
)

// bits views DuckDB's validity mask of n rows; nil means no nulls on both sides.
func bits(mask *uint64, n int) batch.Bitmap {
	if mask == nil {
		return nil
	}
	return unsafe.Slice(mask, (n+63)/64)
}

// appendValidity appends the bits of n rows of the mask, from start on. The bitmap begins with the first null.
func (o *output) appendValidity(mask *uint64, start, n int) {
	src := bits(mask, start+n)
	if !o.nulls {
		if src == nil || allSet(src, start, n) {
			return
		}
		o.nulls = true
		o.growValid(o.n + n)
		for i := range (o.n + 63) / 64 {
			o.valid[i] = ^uint64(0)
		}
	}
	o.growValid(o.n + n)
	copyBits(o.valid, o.n, src, start, n)
}

func (o *output) growValid(n int) {
	if words := (n + 63) / 64; words > len(o.valid) {
		grown := make(batch.Bitmap, max(words, 2*len(o.valid)))
		copy(grown, o.valid)
		o.valid = grown
	}
}

// copyBits writes n bits of src, from start on, to dst at the given place. A nil src is all ones.
func copyBits(dst batch.Bitmap, at int, src batch.Bitmap, start, n int) {
	for n > 0 {
		k := min(n, 64-at&63) // up to the end of a word of dst
		word, ones := &dst[at>>6], ^uint64(0)>>(64-k)<<(at&63)
		*word = *word&^ones | load(src, start, k)<<(at&63)&ones
		at, start, n = at+k, start+k, n-k
	}
}

// load returns k bits of src from i on, in the lowest bits; the others are not defined.
func load(src batch.Bitmap, i, k int) uint64 {
	if src == nil {
		return ^uint64(0)
	}
	v := src[i>>6] >> (i & 63)
	if i&63+k > 64 {
		v |= src[i>>6+1] << (64 - i&63)
	}
	return v
}

func allSet(src batch.Bitmap, start, n int) bool {
	for n > 0 {
		k := min(n, 64)
		if ones := ^uint64(0) >> (64 - k); load(src, start, k)&ones != ones {
			return false
		}
		start, n = start+k, n-k
	}
	return true
}
