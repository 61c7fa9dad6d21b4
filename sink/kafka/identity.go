package kafka

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/batch"
	"sluice/fault"
	"sluice/sink"
	"sluice/source/kafka/client"
)

// HeaderName is the header that carries a batch's identity in every record: pipeline.flow/store/epoch/generation/number.
const HeaderName = "sluice.batch"

// attachment is a producer that has taken over the transactional id, and what the target remembers.
type attachment struct {
	sink   *Sink
	client *kgo.Client
	admin  *kadm.Client
	topic  client.Topic
	last   sink.Identity // of the last batch that was accepted
	found  bool          // there is one

	sending      chan struct{} // closed when the last produce has handed over its records; nil before the first
	disconnected atomic.Bool   // a broker was, since it was last looked for transactions that hang
}

// attach takes the transactional id over, unless the target belongs to somebody else. The identity is read before, so
// that nobody is fenced who must not be, and again afterwards: taking over ended whatever transaction was open.
func (s *Sink) attach(ctx context.Context, id batch.ID) error {
	a, err := s.attachment()
	if err != nil {
		return err
	}
	if err := a.open(ctx, id); err != nil {
		a.client.Close()
		return err
	}
	s.attached = a
	if !s.wrote {
		s.wrote = true
		s.renewing.Add(1)
		go s.renew()
	}
	return nil
}

// attachment makes one that has not taken anything over.
func (s *Sink) attachment() (*attachment, error) {
	a := &attachment{sink: s}
	var err error
	if a.client, err = s.producer(kgo.WithHooks(a)); err != nil {
		return nil, err
	}
	a.admin = kadm.NewClient(a.client)
	return a, nil
}

func (a *attachment) open(ctx context.Context, id batch.ID) error {
	s := a.sink
	exists, err := a.lookUp(ctx)
	if err != nil {
		return err
	}
	if !exists {
		return s.vanished(ctx, a.client)
	}
	before, found, err := s.identity(ctx, a.admin)
	if err != nil {
		return err
	}
	if found {
		if err := before.Admit(s.target, id, s.wrote); err != nil {
			return err
		}
	}
	if err := a.own(ctx); err != nil {
		return err
	}
	if a.last, a.found, err = s.identity(kadm.RequireStable(ctx), a.admin); err != nil {
		return err
	}
	if a.found {
		if err := a.last.Follows(s.target, id); err != nil {
			return err
		}
	}
	if !a.found && id.Number > 0 {
		if a.last, a.found, err = a.scan(ctx, id.Store); err != nil {
			return err
		}
		if !a.found {
			return sink.IdentityLost(s.target, id)
		}
	}
	if !a.found {
		return nil
	}
	if err := a.last.Admit(s.target, id, s.wrote); err != nil {
		return err
	}
	// With today's epoch, so that an older run that still lives sees it when it connects again.
	a.last.Epoch = id.Epoch
	return a.commit(ctx, a.last)
}

// identity reads what the target remembers.
func (s *Sink) identity(ctx context.Context, admin *kadm.Client) (i sink.Identity, ok bool, err error) {
	err = patiently(ctx, func() error {
		i, ok, err = s.identityOnce(ctx, admin)
		return err
	})
	if errors.Is(err, kerr.UnstableOffsetCommit) && ctx.Err() == nil {
		return i, false, fault.New(fault.KafkaUnavailable, "a transaction of flow %s has not ended in the cluster", s.config.Flow).Because(err).
			WithHint("if it stays so, the transaction hangs: Kafka's kafka-transactions.sh find-hanging names it, and abort ends it")
	}
	return i, ok, s.opts.client.Fault(ctx, err, "reading the group %s", s.group())
}

// patiently repeats f, for some seconds, while a broker answers that it is not ready: a transaction is just being ended, or
// a new cluster makes its coordinators.
func patiently(ctx context.Context, f func() error) error {
	for wait := 50 * time.Millisecond; ; wait *= 2 {
		err := f()
		if !kerr.IsRetriable(err) && !errors.Is(err, kerr.ConcurrentTransactions) || wait > 4*time.Second {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

func (s *Sink) identityOnce(ctx context.Context, admin *kadm.Client) (i sink.Identity, ok bool, err error) {
	offsets, err := admin.FetchOffsets(ctx, s.group())
	if errors.Is(err, kerr.GroupIDNotFound) {
		return i, false, nil
	}
	if err != nil {
		return i, false, err
	}
	o, ok := offsets.Lookup(s.opts.topic, 0)
	if !ok || o.Err != nil || o.At < 0 {
		return i, false, o.Err
	}
	i, ok = parseMetadata(o.At, o.Metadata)
	if !ok {
		return i, false, fault.New(fault.SinkOtherStore, "the group %s holds %q at offset %d, which is no identity of a batch", s.group(), o.Metadata, o.At).
			WithHint("something else commits to that group: give the flow another name, or delete the group")
	}
	return i, true, nil
}

// The metadata of the offset are store, epoch and generation; the offset is the number.
func metadata(i sink.Identity) string {
	text := i.String()
	return text[:strings.LastIndexByte(text, '/')]
}

func parseMetadata(offset int64, text string) (sink.Identity, bool) {
	i, ok := sink.ParseIdentity(text + "/0")
	i.Number = uint64(offset)
	return i, ok
}

// commit writes an identity by itself.
func (a *attachment) commit(ctx context.Context, i sink.Identity) error {
	var offsets kadm.Offsets
	offsets.Add(kadm.Offset{Topic: a.topic.Name, Partition: 0, At: int64(i.Number), LeaderEpoch: -1, Metadata: metadata(i)})
	err := patiently(ctx, func() error {
		answer, err := a.admin.CommitOffsets(ctx, a.sink.group(), offsets)
		if err == nil {
			err = answer.Error()
		}
		return err
	})
	return a.sink.opts.client.Fault(ctx, err, "writing the group %s", a.sink.group())
}
