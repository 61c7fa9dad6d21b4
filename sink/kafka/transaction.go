package kafka

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sluice/fault"
	"sluice/sink"
)

// abortTimeout bounds how long a failed transaction is given to be ended; a broker does it after the transaction's
// timeout otherwise, and consumers wait for that.
const abortTimeout = 3 * time.Second

func (s *Sink) producer(more ...kgo.Opt) (*kgo.Client, error) {
	c := &s.opts.client
	codec := map[string]kgo.CompressionCodec{"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression()}[c.Compression]
	return c.New(append([]kgo.Opt{
		kgo.TransactionalID(s.name()),
		kgo.TransactionTimeout(c.TransactionTimeout),
		kgo.DefaultProduceTopic(s.opts.topic),
		kgo.ProducerBatchCompression(codec),
		kgo.ProducerBatchMaxBytes(int32(c.RequestBytes)),
		kgo.ProducerLinger(c.Linger),
		kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)), // as Java's: keys by murmur2
		kgo.MaxBufferedRecords(100_000),
		kgo.UnknownTopicRetries(4),
	}, more...)...)
}

// transact writes the records of a batch and its identity in one transaction. On an error it is not known to be there,
// and the client is of no more use.
func (a *attachment) transact(ctx context.Context, i sink.Identity, records []*kgo.Record) error {
	began, ending := time.Now(), false
	err := a.client.BeginTransaction()
	if err == nil {
		if err = a.produce(ctx, records); err == nil {
			if err = a.commitInTransaction(ctx, i); err == nil {
				ending = true
				err = a.bounded(ctx, func(ctx context.Context) error { return a.client.EndTransaction(ctx, kgo.TryCommit) })
			}
		}
	}
	if err == nil {
		return nil
	}
	if errors.Is(err, kerr.OperationNotAttempted) {
		if _, _, failed := a.client.ProducerID(ctx); failed != nil {
			err = failed // why it was not attempted
		}
	}
	a.abort(ending)
	if isFencing(err) && ctx.Err() == nil {
		return a.fenced(err, time.Since(began))
	}
	return a.fault(ctx, err, "writing batch %d to %s", i.Number, a.sink.target)
}

// produce sends the records and waits until all are acknowledged. It never takes back a record that is on its way
// when time is up or ctx ends it just stops waiting, and the client is thrown away.
func (a *attachment) produce(ctx context.Context, records []*kgo.Record) error {
	var (
		mu     sync.Mutex
		left   = len(records)
		failed error
		done   = make(chan struct{})
	)
	promise := func(r *kgo.Record, err error) {
		mu.Lock()
		defer mu.Unlock()
		if err != nil && failed == nil {
			failed = a.sink.records.fault(a.sink, r, err)
		}
		if left--; left == 0 {
			close(done)
		}
	}
	a.sending = make(chan struct{})
	go func() { // Produce blocks while the library's buffer is full
		defer close(a.sending)
		for _, r := range records {
			a.client.Produce(context.Background(), r, promise)
		}
	}()
	return a.bounded(ctx, func(ctx context.Context) error {
		select {
		case <-done:
			return failed
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

// bounded runs f with the delivery timeout, and says what is wrong with the brokers when that runs out.
func (a *attachment) bounded(ctx context.Context, f func(context.Context) error) error {
	limit := a.sink.opts.client.DeliveryTimeout
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := f(bounded)
	if err == nil || ctx.Err() != nil || bounded.Err() == nil {
		return err
	}
	asking, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if cause := a.client.Ping(asking); cause != nil && asking.Err() == nil {
		err = cause
	}
	return fault.New(fault.KafkaUnavailable, "%s did not acknowledge a batch within %v", a.sink.target, limit).Because(err)
}

// commitInTransaction adds the identity to the transaction. A client outside a group has to send the two requests
// itself.
func (a *attachment) commitInTransaction(ctx context.Context, i sink.Identity) error {
	id, epoch, err := a.client.ProducerID(ctx)
	if err != nil {
		return err
	}
	add := kmsg.NewPtrAddOffsetsToTxnRequest()
	add.TransactionalID, add.ProducerID, add.ProducerEpoch, add.Group = a.sink.name(), id, epoch, a.sink.group()
	added, err := add.RequestWith(ctx, a.client)
	if err != nil {
		return err
	}
	if err := kerr.ErrorForCode(added.ErrorCode); err != nil {
		return err
	}
	p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	p.Partition, p.Offset, p.LeaderEpoch, p.Metadata = 0, int64(i.Number), -1, kmsg.StringPtr(metadata(i))
	t := kmsg.NewTxnOffsetCommitRequestTopic()
	t.Topic, t.TopicID = a.topic.Name, a.topic.ID
	t.Partitions = append(t.Partitions, p)
	commit := kmsg.NewPtrTxnOffsetCommitRequest()
	commit.TransactionalID, commit.ProducerID, commit.ProducerEpoch, commit.Group, commit.Generation = a.sink.name(), id, epoch, a.sink.group(), -1
	commit.Topics = append(commit.Topics, t)
	committed, err := commit.RequestWith(ctx, a.client)
	if err != nil {
		return err
	}
	for _, t := range committed.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return err
			}
		}
	}
	return nil
}

// abort ends a failed transaction if that is quickly done, and the client in any case. One whose end was asked for already
// may be committed: the library would take the transactional id over, and the cluster forget what own has to know.
func (a *attachment) abort(ending bool) {
	ctx, cancel := context.WithTimeout(context.Background(), abortTimeout)
	defer cancel()
	if !ending && a.client.AbortBufferedRecords(ctx) == nil {
		_ = a.client.EndTransaction(ctx, kgo.TryAbort) // if it fails, whoever takes over does it
	}
	a.client.Close() // lets go what still waits
	if a.sending != nil {
		<-a.sending
	}
}

// isFencing reports an answer that says that another producer has the transactional id.
func isFencing(err error) bool {
	return errors.Is(err, kerr.InvalidProducerEpoch) || errors.Is(err, kerr.ProducerFenced) || errors.Is(err, kerr.OperationNotAttempted)
}

// fenced tells a newer run from a transaction that took so long that a broker ended it: both look the same to a producer.
func (a *attachment) fenced(err error, took time.Duration) error {
	if limit := a.sink.opts.client.TransactionTimeout; took >= limit {
		return fault.New(fault.KafkaUnavailable, "a batch took %v, and its transaction was ended by the broker after %v", took.Round(time.Millisecond), limit).
			Because(err).WithHint("set kafka.transaction.timeout.ms higher, or smaller batches")
	}
	return fault.New(fault.Fenced, "flow %s was taken over by a newer run that writes to %s", a.sink.config.Flow, a.sink.target).Because(err).
		WithHint("two daemons run this pipeline; stop one of them")
}

func (a *attachment) fault(ctx context.Context, err error, format string, args ...any) error {
	return a.sink.opts.client.Fault(ctx, err, format, args...)
}
