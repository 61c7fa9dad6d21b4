package kafka

import (
	"context"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"sluice/batch"
)

// Committer writes the positions of a flow to an ordinary consumer group, so that stock tools can tell its lag (D-17).
// Nothing is ever read back: the positions in the store are the truth, and a commit that fails is made up for by the next.
type Committer struct {
	source *Source
	group  string
	wake   chan struct{}
	done   chan struct{}
	cancel context.CancelFunc

	mu     sync.Mutex
	next   batch.Position // to be written
	failed int64
	err    error
}

// Committer returns a Committer for a group. It uses the source's connections and is closed before the source.
func (s *Source) Committer(group string) *Committer {
	ctx, cancel := context.WithCancel(s.ctx)
	c := &Committer{source: s, group: group, wake: make(chan struct{}, 1), done: make(chan struct{}), cancel: cancel}
	go c.run(ctx)
	return c
}

// Commit writes a position some time soon, unless a later one comes before. It does not wait.
func (c *Committer) Commit(pos batch.Position) {
	c.mu.Lock()
	c.next = pos
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Failed counts the commits that failed, and says why the last one did.
func (c *Committer) Failed() (n int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed, c.err
}

// Close writes the last position, for at most a second.
func (c *Committer) Close() {
	c.cancel()
	<-c.done
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	c.write(ctx)
}

func (c *Committer) run(ctx context.Context) {
	defer close(c.done)
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
		}
		c.write(ctx)
		if sleep(ctx, 100*time.Millisecond) != nil { // many small batches are one commit
			return
		}
	}
}

// write writes the position that is due, if there is one.
func (c *Committer) write(ctx context.Context) {
	c.mu.Lock()
	pos := c.next
	c.next = nil
	c.mu.Unlock()
	if len(pos) == 0 {
		return
	}
	var offsets kadm.Offsets
	for _, m := range pos {
		topic, partition := splitParts(m.Split)
		offsets.AddOffset(topic, partition, m.Next.At, -1)
	}
	answers, err := c.source.admin.CommitOffsets(ctx, c.group, offsets)
	if err == nil {
		err = answers.Error()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		return
	}
	if c.next == nil {
		c.next = pos // Close tries once more
	}
	c.failed++
	c.err = c.source.opts.client.Fault(ctx, err, "writing the consumer group %s", c.group)
}
