package kafka

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"sluice/fault"
	"sluice/source/kafka/client"
)

// Check asks the cluster what a read would meet, as dry-run --connect does: whether a broker answers and lets the user in,
// has the topics, lets the user read them, and has the offsets that the options name. It reads and creates nothing. The
// error is a fault.List where there are several problems.
func (s *Source) Check(ctx context.Context) error {
	var problems fault.List
	for _, name := range s.opts.topics {
		err := s.checkTopic(ctx, name)
		if err == nil {
			continue
		}
		if ctx.Err() != nil {
			return err
		}
		problems = append(problems, fault.From(err))
		if !fault.Of(err, fault.UnknownTopic) && !fault.Of(err, fault.KafkaAuthorization) {
			break // it is not about the topic, so the next one would meet the same
		}
	}
	switch len(problems) {
	case 0:
		return s.checkOffsets(ctx)
	case 1:
		return problems[0]
	}
	return problems
}

func (s *Source) checkTopic(ctx context.Context, name string) error {
	topic, exists, err := client.Await(ctx, s.client, name)
	switch {
	case err != nil:
		return s.opts.client.Fault(ctx, err, "looking up topic %s", name)
	case !exists:
		return s.missing(ctx, name)
	case !topic.Allows(kmsg.ACLOperationRead):
		return fault.New(fault.KafkaAuthorization, "the user may not read topic %s", name).WithHint("ask for the right READ in the cluster's ACLs")
	}
	return nil
}

func (s *Source) checkOffsets(ctx context.Context) error {
	if _, err := s.Start(ctx); err != nil {
		return err
	}
	_, err := s.End(ctx)
	return err
}
