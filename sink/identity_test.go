package sink

import (
	"testing"

	"sluice/batch"
	"sluice/fault"
)

// A target that remembers an older batch than the last accepted one has lost some (D-18).
func TestFollows(t *testing.T) {
	for _, c := range []struct {
		generation, number         uint64 // remembered
		nextGeneration, nextNumber uint64
		lost                       bool
	}{
		{0, 4, 0, 5, false},
		{0, 5, 0, 5, false}, // accepted, and the store did not come to know
		{0, 3, 0, 5, true},
		{0, 9, 1, 0, false}, // a full refresh starts
		{0, 9, 1, 1, true},
		{1, 0, 1, 1, false},
	} {
		err := Identity{Store: "s", Generation: c.generation, Number: c.number}.Follows("topic t", batch.ID{Store: "s", Generation: c.nextGeneration, Number: c.nextNumber})
		if fault.Of(err, fault.SinkIdentityLost) != c.lost {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
