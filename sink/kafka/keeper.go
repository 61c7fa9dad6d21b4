package kafka

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"sluice/batch"
	"sluice/fault"
	"sluice/sink"
	"sluice/source/kafka/client"
)

// Remembered implements sink.Keeper. A transaction that ends at the moment is waited for, since its producer knows sooner that it
// is committed than who asks for the offset; one that stays open for seconds is left alone, and what was before it counts. A
// topic that the first start would create remembers nothing.
func (s *Sink) Remembered(ctx context.Context, next batch.ID) (m sink.Memory, err error) {
	a, err := s.attachment()
	if err != nil {
		return m, err
	}
	defer a.client.Close()
	m.Where = "group " + s.group()
	exists, err := a.lookUp(ctx)
	switch {
	case err != nil:
		return m, err
	case !exists && s.opts.partitions > 0:
		return m, nil
	case !exists:
		return m, s.missing(ctx, a.client)
	}
	for wait := 100 * time.Millisecond; ; wait *= 2 { // the first batch of a group may be committed, and no broker show it yet
		m, err = a.remembered(ctx, next)
		if err != nil || wait > 400*time.Millisecond || !fault.Of(m.Judge(s.target, next), fault.SinkIdentityLost) {
			return m, err
		}
		select {
		case <-ctx.Done():
			return m, ctx.Err()
		case <-time.After(wait):
		}
	}
}

// remembered asks the group, and searches the topic where a batch must have been before next.
func (a *attachment) remembered(ctx context.Context, next batch.ID) (m sink.Memory, err error) {
	s := a.sink
	m.Where = "group " + s.group()
	m.Identity, m.Found, err = s.identity(kadm.RequireStable(ctx), a.admin)
	if errors.Is(err, kerr.UnstableOffsetCommit) {
		m.Identity, m.Found, err = s.identity(ctx, a.admin)
	}
	if err != nil || m.Found || next.Number == 0 {
		return m, err
	}
	if m.Identity, m.Found, err = a.scan(ctx, next.Store); m.Found {
		m.Where = "headers of the last records of " + s.target
	}
	return m, err
}

func (a *attachment) lookUp(ctx context.Context) (exists bool, err error) {
	s := a.sink
	a.topic, exists, err = client.Await(ctx, a.client, s.opts.topic)
	return exists, s.opts.client.Fault(ctx, err, "looking up %s", s.target)
}

// Adopt implements sink.Keeper. Whoever else writes to the topic is fenced.
func (s *Sink) Adopt(ctx context.Context, last batch.ID, ok bool) error {
	a, err := s.attachment()
	if err != nil {
		return err
	}
	defer a.client.Close()
	exists, err := a.lookUp(ctx)
	if err != nil {
		return err
	}
	if !exists {
		return s.missing(ctx, a.client)
	}
	if err := a.own(ctx); err != nil {
		return err
	}
	if ok {
		return a.commit(ctx, sink.IdentityOf(last))
	}
	var set kadm.TopicsSet
	set.Add(s.opts.topic, 0)
	answers, err := a.admin.DeleteOffsets(ctx, s.group(), set)
	if err == nil {
		err = answers.Error()
	}
	if errors.Is(err, kerr.GroupIDNotFound) {
		return nil
	}
	return s.opts.client.Fault(ctx, err, "deleting from the group %s", s.group())
}

var _ sink.Keeper = (*Sink)(nil)
