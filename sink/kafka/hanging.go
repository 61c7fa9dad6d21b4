package kafka

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"sluice/fault"
)

// hanging is where a transaction of this flow is still open, although the cluster takes it for ended: its end was never
// written there.
//
// Brokers 4.2 to 4.4 leave that out for a partition that has no leader at the moment, taking it for deleted (KAFKA-20734,
// apache/kafka#22680). A cluster of one broker finds itself so when it comes back from a stop inside a batch: the log of
// the transactions is read before the broker leads anything. TestBrokerStopped meets it with 4.4.0 in most of its runs. The
// group of the identity answers UNSTABLE_OFFSET_COMMIT for ever; a partition of the topic holds read_committed consumers
// at the transaction's first record, and the next batch would join it: one that was to be aborted would be committed beside
// its second copy. Kafka's own way out is an administrator's (kafka-transactions.sh abort), and knows only one end.
//
// The flow owns the transactional id, so it needs no administrator: a transaction without records over the same partitions
// writes the end that is missing. Which end that is the coordinator knows, until the id is taken over: a transaction that
// was to be committed stands there as such, and whatever else is open was to be aborted.
//
// While its requests are under way the coordinator knows that end no more, and would abort them when the id is taken over. So the sink
// remembers one that was broken off, and sends it again before anything else. That leaves one gap: if the process ends between the
// requests as well, what was to be committed is aborted. Where the identity was part of it the flow stops with SINK_IDENTITY_LOST.
type hanging struct {
	partitions []int32 // of the topic
	undecided  bool    // the identity
}

// ending is how a transaction that hangs is being ended, by a producer of the same id and epoch.
type ending struct {
	id     int64
	epoch  int16
	where  hanging
	commit bool
}

// own takes the transactional id over, which ends an open transaction, and ends it where that was left out.
func (a *attachment) own(ctx context.Context) error {
	if e := a.sink.ending; e != nil {
		var no *kerr.Error
		if err := a.end(ctx, *e); err != nil && (!errors.As(err, &no) || no.Retriable || no == kerr.ConcurrentTransactions) {
			return a.fault(ctx, err, "ending the transaction of %s that hangs", a.sink.name())
		}
		a.sink.ending = nil // ended now, or the coordinator will not have it: another one has taken the id over, or its time was up
	}
	last, committed, err := a.lastTransaction(ctx)
	if err != nil {
		return err
	}
	if committed {
		if err := a.settle(ctx, last.ProducerID, last.ProducerEpoch, true); err != nil {
			return err
		}
	}
	id, epoch, err := a.client.ProducerID(ctx)
	if err != nil {
		return a.fault(ctx, err, "taking over the transactional id %s", a.sink.name())
	}
	return a.settle(ctx, id, epoch, false)
}

// lastTransaction asks the coordinator whether the last transaction was committed, and waits for its end if so.
func (a *attachment) lastTransaction(ctx context.Context) (last kadm.DescribedTransaction, committed bool, err error) {
	name := a.sink.name()
	err = a.ask(ctx, "the last transaction", kmsg.DescribeTransactions, func() error {
		answer, err := a.admin.DescribeTransactions(ctx, name)
		if err != nil {
			return err
		}
		last = answer[name]
		if last.State == "PrepareCommit" {
			return kerr.ConcurrentTransactions
		}
		return last.Err
	})
	if errors.Is(err, kerr.TransactionalIDNotFound) {
		err = nil
	}
	return last, last.State == "CompleteCommit", err
}

// settle ends what hangs of a producer's last transaction. That transaction has ended for the coordinator.
func (a *attachment) settle(ctx context.Context, id int64, epoch int16, commit bool) error {
	h, known, err := a.findHanging(ctx, id)
	if err != nil || len(h.partitions) == 0 && !h.undecided {
		return err
	}
	if !known {
		return fault.New(fault.KafkaUnavailable, "a transaction of flow %s hangs in the cluster", a.sink.config.Flow).
			WithHint("Sluice ends it by itself if it has the right to read %s; else Kafka's kafka-transactions.sh find-hanging names it, and abort ends it", a.sink.target)
	}
	a.sink.ending = &ending{id, epoch, h, commit}
	if err := a.end(ctx, *a.sink.ending); err != nil {
		return a.fault(ctx, err, "ending the transaction of %s that hangs", a.sink.name())
	}
	a.sink.ending = nil
	slog.Warn("a transaction hung in the cluster and was ended", "flow", a.sink.config.Flow, "topic", a.topic.Name,
		"partitions", h.partitions, "identity", h.undecided, "committed", commit)
	return nil
}

// findHanging looks for an open transaction of a producer. known is false when the partitions do not say: older brokers
// cannot (and have no need to), and the flow must have the right to read the topic.
func (a *attachment) findHanging(ctx context.Context, id int64) (h hanging, known bool, err error) {
	err = patiently(ctx, func() error {
		_, _, err := a.sink.identityOnce(kadm.RequireStable(ctx), a.admin)
		if h.undecided = errors.Is(err, kerr.UnstableOffsetCommit); h.undecided {
			return nil
		}
		return err
	})
	if err != nil {
		return h, false, a.fault(ctx, err, "reading the group %s", a.sink.group())
	}
	var set kadm.TopicsSet
	for p := range int32(a.topic.Partitions) {
		set.Add(a.topic.Name, p)
	}
	err = a.ask(ctx, "the open transactions", kmsg.DescribeProducers, func() error {
		answer, err := a.admin.DescribeProducers(ctx, set)
		h.partitions, known = nil, true
		for _, p := range answer[a.topic.Name].Partitions {
			if p.Err != nil {
				return p.Err
			}
			if producer, ok := p.ActiveProducers[id]; ok && producer.CurrentTxnStartOffset >= 0 {
				h.partitions = append(h.partitions, p.Partition)
			}
		}
		slices.Sort(h.partitions)
		return err
	})
	if auth := (*kadm.AuthError)(nil); errors.As(err, &auth) {
		known, err = false, nil
	}
	return h, known, err
}

// ask calls f, unless the brokers do not know the request that it makes.
func (a *attachment) ask(ctx context.Context, what string, key kmsg.Key, f func() error) error {
	err := patiently(ctx, func() error {
		versions, err := kmsg.NewPtrApiVersionsRequest().RequestWith(ctx, a.client)
		if err != nil {
			return err
		}
		for _, k := range versions.ApiKeys {
			if k.ApiKey == key.Int16() {
				return f()
			}
		}
		return nil
	})
	return a.fault(ctx, err, "asking for %s of %s", what, a.sink.name())
}

// end ends a transaction in the places where it hangs, by one without records.
func (a *attachment) end(ctx context.Context, e ending) error {
	// As a client of Kafka 3.9: such a one says what is in a transaction before it writes, and need not write.
	cl, err := a.sink.opts.client.New(kgo.MaxVersions(kversion.V3_9_0()))
	if err != nil {
		return err
	}
	defer cl.Close()
	name := a.sink.name()
	partitions, topic := kmsg.NewPtrAddPartitionsToTxnRequest(), kmsg.NewAddPartitionsToTxnRequestTopic()
	topic.Topic, topic.Partitions = a.topic.Name, e.where.partitions
	partitions.TransactionalID, partitions.ProducerID, partitions.ProducerEpoch, partitions.Topics = name, e.id, e.epoch, append(partitions.Topics, topic)
	identity := kmsg.NewPtrAddOffsetsToTxnRequest()
	identity.TransactionalID, identity.ProducerID, identity.ProducerEpoch, identity.Group = name, e.id, e.epoch, a.sink.group()
	end := kmsg.NewPtrEndTxnRequest()
	end.TransactionalID, end.ProducerID, end.ProducerEpoch, end.Commit = name, e.id, e.epoch, e.commit
	for _, request := range []kmsg.Request{partitions, identity, end} {
		if request == partitions && len(e.where.partitions) == 0 || request == identity && !e.where.undecided {
			continue
		}
		err := patiently(ctx, func() error {
			answer, err := cl.Request(ctx, request)
			if err != nil {
				return err
			}
			return kerr.ErrorForCode(code(answer))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// code is the first error in the answer to a request of end.
func code(answer kmsg.Response) int16 {
	switch answer := answer.(type) {
	case *kmsg.AddPartitionsToTxnResponse:
		for _, t := range answer.Topics {
			for _, p := range t.Partitions {
				if p.ErrorCode != 0 {
					return p.ErrorCode
				}
			}
		}
	case *kmsg.AddOffsetsToTxnResponse:
		return answer.ErrorCode
	case *kmsg.EndTxnResponse:
		return answer.ErrorCode
	}
	return 0
}

// OnBrokerDisconnect implements kgo.HookBrokerDisconnect.
func (a *attachment) OnBrokerDisconnect(kgo.BrokerMetadata, net.Conn) { a.disconnected.Store(true) }

// settleLast makes sure that the last batch, which was committed, does not hang when the brokers may have been gone since:
// the next one would join it, and take it along if it is aborted.
func (a *attachment) settleLast(ctx context.Context) error {
	if !a.disconnected.Swap(false) {
		return nil
	}
	exists, err := a.lookUp(ctx) // partitions may have been added
	if err != nil {
		return err
	}
	if !exists {
		return a.sink.vanished(ctx, a.client)
	}
	id, epoch, err := a.client.ProducerID(ctx)
	if err != nil {
		return a.fault(ctx, err, "asking for the producer of %s", a.sink.name())
	}
	return a.settle(ctx, id, epoch, true)
}
