package client

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sluice/fault"
	"sluice/option"
)

// Topic is what the cluster says of a topic.
type Topic struct {
	Name       string
	ID         kadm.TopicID
	Partitions int
	operations int32 // that the user may do, one bit each
}

// Allows reports whether the user may do an operation with the topic, as far as the cluster says.
func (t Topic) Allows(o kmsg.ACLOperation) bool {
	return t.operations == math.MinInt32 || t.operations&(1<<int32(o)) != 0
}

// Await is Find for a topic that should exist: one that was created just now may not be known to the broker that is asked,
// so a missing one is asked for again, for a second.
func Await(ctx context.Context, cl *kgo.Client, name string) (t Topic, ok bool, err error) {
	for wait := 100 * time.Millisecond; ; wait *= 2 {
		t, ok, err = Find(ctx, cl, name)
		if ok || err != nil || wait > 400*time.Millisecond {
			return t, ok, err
		}
		select {
		case <-ctx.Done():
			return t, false, ctx.Err()
		case <-time.After(wait):
		}
	}
}

// Find asks for a topic, past the library's cache and without creating it. ok is false when it does not exist.
func Find(ctx context.Context, cl *kgo.Client, name string) (t Topic, ok bool, err error) {
	req := kmsg.NewPtrMetadataRequest()
	req.AllowAutoTopicCreation = false
	req.IncludeTopicAuthorizedOperations = true
	topic := kmsg.NewMetadataRequestTopic()
	topic.Topic = kmsg.StringPtr(name)
	req.Topics = append(req.Topics, topic)
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return t, false, err
	}
	if len(resp.Topics) == 0 {
		return t, false, nil
	}
	found := resp.Topics[0]
	err = kerr.ErrorForCode(found.ErrorCode)
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		return t, false, nil
	}
	return Topic{name, kadm.TopicID(found.TopicID), len(found.Partitions), found.AuthorizedOperations}, err == nil, err
}

// Missing is the error for a topic that does not exist: with the nearest name of one that does, else with hint.
func Missing(ctx context.Context, cl *kgo.Client, topic, hint string) error {
	e := fault.New(fault.UnknownTopic, "topic %s does not exist", topic)
	if resp, err := kmsg.NewPtrMetadataRequest().RequestWith(ctx, cl); err == nil {
		var names []string
		for _, t := range resp.Topics {
			if t.Topic != nil && !t.IsInternal {
				names = append(names, *t.Topic)
			}
		}
		if near := option.Nearest(topic, names); near != "" {
			return e.WithHint("did you mean %q?", near)
		}
	}
	return e.WithHint("%s", hint)
}
