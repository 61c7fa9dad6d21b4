package flow

import (
	"sluice/batch"
	"sluice/fault"
)

// A query may make several rows of one record (a join). They come one after the other, and are told apart by the upper
// bits of the index, so that each keeps a position of its own (D-1).
const (
	fanBits = 20
	fanMost = 1 << (31 - fanBits)
)

// fanOut numbers the rows that were made of the same input row. from has the input row of each row, in order.
func fanOut(pos batch.Positions, from []int32) (batch.Positions, error) {
	again := int32(0)
	for i := 1; i < len(from); i++ {
		if from[i] != from[i-1] {
			again = 0
			continue
		}
		again++
		if again >= fanMost || pos.Index[i] >= 1<<fanBits {
			return pos, fault.New(fault.FanOutTooLarge, "one record became more than %d rows", fanMost).WithHint("join with a table that has fewer rows for a key")
		}
		pos.Index[i] |= again << fanBits
	}
	return pos, nil
}
