package kafka

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"sluice/batch"
	"sluice/sink"
	"sluice/source/kafka/client"
)

// Remembered implements sink.Keeper. It reads what is committed: a transaction that is under way is neither waited for nor
// ended. A topic that the first start would create remembers nothing.
func (s *Sink) Remembered(ctx context.Context, next batch.ID) (m sink.Memory, err error) {
	a, err := s.attachment()
	if err != nil {
		return m, err
	}
	defer a.client.Close()
	m.Where = "group " + s.group()
	exists, err := a.lookUp(ctx)
	if err != nil || !exists && s.opts.partitions > 0 {
		return m, err
	}
	if !exists {
		return m, s.missing(ctx, a.client)
	}
	if m.Identity, m.Found, err = s.identity(ctx, a.admin); err != nil || m.Found || next.Number == 0 {
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
