package scenario

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/internal/broker"
)

// topic is what the producer remembers of a topic.
type topic struct {
	partitions int32
	records    int
}

// createTopic makes a topic, or gives one that is there more partitions.
func (w *world) createTopic(ctx context.Context, name string, partitions int32) error {
	admin := kadm.NewClient(w.client)
	if t := w.topics[name]; t != nil {
		w.client.PurgeTopicsFromClient(name) // it would not look for new partitions at once
		answer, err := admin.UpdatePartitions(ctx, int(partitions), name)
		if err == nil {
			err = answer.Error()
		}
		t.partitions = partitions
		return err
	}
	_, err := admin.CreateTopic(ctx, partitions, 1, nil, name)
	w.topics[name] = &topic{partitions: partitions}
	return err
}

func (w *world) deleteTopic(ctx context.Context, name string) error {
	delete(w.topics, name)
	w.client.PurgeTopicsFromClient(name) // it would look for the old topic id
	answer, err := kadm.NewClient(w.client).DeleteTopics(ctx, name)
	if err == nil {
		err = answer.Error()
	}
	return err
}

// trimTopic removes the records of every partition below an offset.
func (w *world) trimTopic(ctx context.Context, name string, offset int64) error {
	var below kadm.Offsets
	for p := range w.topics[name].partitions {
		below.AddOffset(name, p, offset, -1)
	}
	answer, err := kadm.NewClient(w.client).DeleteRecords(ctx, below)
	if err == nil {
		err = answer.Error()
	}
	return err
}

// producing says what records are made of lines.
type producing struct {
	key     string // the member whose text is the record's key
	literal bool   // lines are Go string literals
	headers []kgo.RecordHeader
	time    time.Time // zero: now

	partition   int32  // where all go, or -1
	transaction string // the open one they are part of, or ""
}

// headersOf reads name:value, each as a Go string literal has it between its quotes, and a bare name for null.
func headersOf(args []string) (out []kgo.RecordHeader, err error) {
	for _, a := range args {
		name, value, isText := strings.Cut(a, ":")
		h := kgo.RecordHeader{}
		if h.Key, err = strconv.Unquote(`"` + name + `"`); err == nil && isText {
			value, err = strconv.Unquote(`"` + value + `"`)
			h.Value = []byte(value)
		}
		if err != nil {
			return nil, fmt.Errorf("the header %s: %w", a, err)
		}
		out = append(out, h)
	}
	return out, nil
}

// produce writes one record a line, into the partition of its key, else into all in turn.
func (w *world) produce(ctx context.Context, name, lines string, how producing) error {
	t := w.topics[name]
	client, err := w.producer(how.transaction)
	if err != nil {
		return err
	}
	partitioner := kgo.StickyKeyPartitioner(nil).ForTopic(name)
	var records []*kgo.Record
	for line := range strings.Lines(lines) {
		line = strings.TrimSuffix(line, "\n")
		r := &kgo.Record{Topic: name, Partition: int32(t.records) % t.partitions, Headers: how.headers, Timestamp: how.time}
		if how.literal {
			if line, err = strconv.Unquote(line); err != nil {
				return fmt.Errorf("the value %s: %w", line, err)
			}
		}
		if how.literal || line != "null" {
			r.Value = []byte(line)
		}
		if r.Key, err = broker.RecordKey(r.Value, how.key); err != nil {
			return err
		}
		if r.Key != nil {
			r.Partition = int32(partitioner.Partition(r, int(t.partitions)))
		}
		if how.partition >= 0 {
			r.Partition = how.partition
		}
		t.records++
		records = append(records, r)
	}
	if err := client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return fmt.Errorf("producing: %w", err)
	}
	return nil
}

// producer is the client that writes: of a transaction by its name, which is begun if it is not open.
func (w *world) producer(transaction string) (*kgo.Client, error) {
	if transaction == "" {
		return w.client, nil
	}
	if c := w.open[transaction]; c != nil {
		return c, nil
	}
	c, err := kgo.NewClient(kgo.SeedBrokers(w.broker.Brokers()...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0),
		kgo.TransactionalID(transaction), kgo.TransactionTimeout(10*time.Minute))
	if err != nil {
		return nil, err
	}
	w.open[transaction] = c
	return c, c.BeginTransaction()
}

// endTransaction commits an open transaction, or aborts it.
func (w *world) endTransaction(ctx context.Context, name string, how kgo.TransactionEndTry) error {
	c := w.open[name]
	if c == nil {
		return fmt.Errorf("no transaction %s is open", name)
	}
	delete(w.open, name)
	defer c.Close()
	return c.EndTransaction(ctx, how)
}

// committed shows the offsets of a consumer group.
func (w *world) committed(ctx context.Context, group string) (string, error) {
	offsets, err := kadm.NewClient(w.client).FetchOffsets(ctx, group)
	if err != nil {
		return "", err
	}
	var lines []string
	for _, o := range offsets.Sorted() {
		lines = append(lines, fmt.Sprintf("%s/%d %d", o.Topic, o.Partition, o.At))
	}
	return strings.Join(lines, "\n"), nil
}

// read returns the committed records of a topic.
func (w *world) read(ctx context.Context, name string) ([]*kgo.Record, error) {
	ends, err := kadm.NewClient(w.client).ListCommittedOffsets(ctx, name)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return nil, err
	}
	starts := map[int32]kgo.Offset{}
	left := map[int32]int64{}
	ends.Each(func(o kadm.ListedOffset) {
		if o.Offset > 0 {
			starts[o.Partition], left[o.Partition] = kgo.NewOffset().AtStart(), o.Offset
		}
	})
	if len(left) == 0 {
		return nil, nil
	}
	reader, err := kgo.NewClient(kgo.SeedBrokers(w.broker.Brokers()...), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{name: starts}))
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	var out []*kgo.Record
	for len(left) > 0 {
		fetches := reader.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return nil, err
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if !r.Attrs.IsControl() {
				out = append(out, r)
			}
			if r.Offset+1 >= left[r.Partition] {
				delete(left, r.Partition)
			}
		})
	}
	return out, nil
}
