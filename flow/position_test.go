package flow

import (
	"math"
	"testing"
)

// D-1: whatever a record's index and however many rows are made of it, no two rows have one position, and the record is found again.
func TestNumbered(t *testing.T) {
	seen := map[int32][2]int32{}
	for _, index := range []int32{0, 1, 2, 2047, 2048, indexMost - 1, indexMost, indexMost + 1, 5 * indexMost, math.MaxInt32} {
		for _, again := range []int32{0, 1, 2, fanMost - 1, fanMost, fanMost + 1, indexMost - 1, indexMost, indexMost + fanMost - 1, indexMost + fanMost, math.MaxInt32} {
			n, ok := numbered(index, again)
			if want := int64(again) < int64(rowsMost(index)); ok != want {
				t.Errorf("index %d, row %d: %v, though %d rows can be told apart", index, again, ok, rowsMost(index))
			}
			if !ok {
				continue
			}
			if other, twice := seen[n]; twice {
				t.Errorf("index %d, row %d and index %d, row %d are both %d", index, again, other[0], other[1], n)
			}
			seen[n] = [2]int32{index, again}
			if got := recordIndex(n); got != index {
				t.Errorf("index %d, row %d: %d is of the record %d", index, again, n, got)
			}
		}
	}
}
