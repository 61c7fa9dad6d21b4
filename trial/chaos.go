package trial

import (
	"math/rand/v2"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"

	"sluice/batch"
)

// chaos decides when the power fails and what is read again.
type chaos struct {
	mu    sync.Mutex
	rng   *rand.Rand
	kills int // still to come
	gap   int // most steps to the next
	next  int // steps to the next
	dup   float64
	again map[string]batch.Position // flows that have not caught up since their reset, and how far they had been
}

func newChaos(v variant) *chaos {
	c := &chaos{rng: rand.New(rand.NewPCG(v.seed, 2)), kills: v.kills, gap: v.gap, dup: v.dup, again: map[string]batch.Position{}}
	c.draw()
	return c
}

func (c *chaos) draw() {
	c.next = 1 + c.rng.IntN(max(c.gap, 1))
}

// strikes counts a step and reports whether the power fails at it.
func (c *chaos) strikes() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kills == 0 {
		return false
	}
	if c.next--; c.next > 0 {
		return false
	}
	c.kills--
	c.draw()
	return true
}

// spare takes a crash back that met a daemon without power.
func (c *chaos) spare() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kills++
}

// survivors says what of a disk outlives a crash.
func (c *chaos) survivors() (vfs.CrashCloneCfg, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return vfs.CrashCloneCfg{UnsyncedDataPercent: []int{0, 50, 100}[c.rng.IntN(3)], RNG: rand.New(rand.NewPCG(c.rng.Uint64(), 0))}, c.rng.IntN(2) == 0
}

// repeats reports whether a flow that has come to a position is to read again. Batches that it reads again do not count: it
// would never come to an end.
func (c *chaos) repeats(flow string, at batch.Position) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dup == 0 {
		return false
	}
	if before, ok := c.again[flow]; ok {
		if at.Reached(before) {
			delete(c.again, flow)
		}
		return false
	}
	return c.rng.Float64() < c.dup
}
