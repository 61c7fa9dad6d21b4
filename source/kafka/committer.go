package kafka

import (
	"context"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"sluice/batch"
	"sluice/fault"
)

const (
	// commitEvery is how often a group is written at most: many small batches are one commit.
	commitEvery = time.Second
	// lasting is after how long a fault that may pass by itself is told. If it is one of the brokers the flow fails long before, and
	// says why.
	lasting = 30 * time.Second
)

// Committer writes the positions of a flow to an ordinary consumer group, so that stock tools can tell its lag (D-17).
// Nothing is ever read back: the positions in the store are the truth. A commit that fails is tried again.
type Committer struct {
	source   *Source
	group    string
	position func(context.Context) (batch.Position, error)
	moved    chan struct{}
	done     chan struct{}
	cancel   context.CancelFunc

	failing time.Time // since when nothing was written; zero when the last commit was
	told    bool
	warn    func(message string, args ...any)
}

// Committer returns a Committer for a group, which asks for the position that is to be written. It uses the source's
// connections and is closed before the source.
func (s *Source) Committer(group string, position func(context.Context) (batch.Position, error)) *Committer {
	ctx, cancel := context.WithCancel(s.ctx)
	c := &Committer{source: s, group: group, position: position, moved: make(chan struct{}, 1), done: make(chan struct{}), cancel: cancel, warn: slog.Warn}
	go c.run(ctx)
	return c
}

// Moved says that there is another position, which is written some time soon. It does not wait.
func (c *Committer) Moved() {
	select {
	case c.moved <- struct{}{}:
	default:
	}
}

// Close writes the last position, for at most a second.
func (c *Committer) Close() {
	c.cancel()
	<-c.done
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	select {
	case <-c.moved:
		c.write(ctx)
	default:
	}
}

func (c *Committer) run(ctx context.Context) {
	defer close(c.done)
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.moved:
		}
		c.write(ctx)
		if sleep(ctx, commitEvery) != nil {
			return
		}
	}
}

// write writes the position as it is now. If that fails it is still to be done.
func (c *Committer) write(ctx context.Context) {
	err := c.commit(ctx)
	if err == nil {
		c.failing, c.told = time.Time{}, false
		return
	}
	c.Moved()
	if ctx.Err() == nil {
		c.tell(err, time.Now())
	}
}

// tell warns of a failure, once, when it lasts or does not pass by itself.
func (c *Committer) tell(err error, now time.Time) {
	if c.failing.IsZero() {
		c.failing = now
	}
	if c.told || fault.From(err).Code.Retry == fault.Backoff && now.Sub(c.failing) < lasting {
		return
	}
	c.told = true
	c.warn("the consumer group cannot be written, so other tools see no progress", "group", c.group, "error", err)
}

func (c *Committer) commit(ctx context.Context) error {
	pos, err := c.position(ctx)
	if err != nil || len(pos) == 0 {
		return err
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
	return c.source.opts.client.Fault(ctx, err, "writing the consumer group %s", c.group)
}
