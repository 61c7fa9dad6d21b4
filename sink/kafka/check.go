package kafka

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"sluice/fault"
	"sluice/source/kafka/client"
)

// Check asks the cluster whether there is the topic and whether the user may write it, as dry-run --connect does. It makes
// nothing.
func (s *Sink) Check(ctx context.Context) error {
	cl, err := s.opts.client.New()
	if err != nil {
		return err
	}
	defer cl.Close()
	topic, exists, err := client.Await(ctx, cl, s.opts.topic)
	switch {
	case err != nil:
		return s.opts.client.Fault(ctx, err, "looking up %s", s.target)
	case !exists && s.opts.partitions == 0:
		return s.missing(ctx, cl)
	case exists && !topic.Allows(kmsg.ACLOperationWrite):
		return fault.New(fault.KafkaAuthorization, "the user may not write %s", s.target).WithHint("ask for the right WRITE in the cluster's ACLs")
	}
	return nil
}
