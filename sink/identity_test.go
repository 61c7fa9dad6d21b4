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

// What the next start says to what a target remembers (D-18): the cases of sink status.
func TestJudge(t *testing.T) {
	mine := func(epoch, generation, number uint64) Memory {
		return Memory{Identity: Identity{"s", epoch, generation, number}, Found: true}
	}
	for name, c := range map[string]struct {
		memory                    Memory
		epoch, generation, number uint64
		replay                    bool
		want                      *fault.Code
	}{
		"the first batch":               {Memory{}, 1, 0, 0, false, nil},
		"goes on":                       {mine(3, 0, 4), 4, 0, 5, false, nil},
		"accepted, and nobody knows":    {mine(3, 0, 5), 4, 0, 5, true, nil},
		"a new generation":              {mine(3, 0, 9), 4, 1, 0, false, nil},
		"another store":                 {Memory{Identity: Identity{"other", 1, 0, 0}, Found: true}, 4, 0, 0, false, fault.SinkOtherStore},
		"a later batch":                 {mine(3, 0, 6), 4, 0, 5, true, fault.SinkAhead},
		"that batch, never sent":        {mine(3, 0, 5), 4, 0, 5, false, fault.SinkAhead},
		"a later generation":            {mine(3, 1, 0), 4, 0, 5, false, fault.SinkAhead},
		"a later start":                 {mine(5, 0, 4), 4, 0, 5, false, fault.SinkAhead},
		"an earlier batch":              {mine(3, 0, 3), 4, 0, 5, false, fault.SinkIdentityLost},
		"nothing":                       {Memory{}, 4, 0, 5, false, fault.SinkIdentityLost},
		"nothing of a later generation": {mine(3, 0, 9), 4, 1, 2, false, fault.SinkIdentityLost},
	} {
		err := c.memory.Judge("sink t", batch.ID{Store: "s", Epoch: c.epoch, Generation: c.generation, Number: c.number, Replay: c.replay})
		if c.want == nil && err != nil || c.want != nil && !fault.Of(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
