package kafka

import (
	"context"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/testcontainers/testcontainers-go"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"sluice/internal/testenv"
	"sluice/sink"
)

// A transaction that hangs is ended as it was to end, wherever that is missing: each batch is there once, and read_committed
// consumers go on. The broker is told not to verify transactions, so that one can be left open behind its back.
func TestHangingTransaction(t *testing.T) {
	brokers := testenv.StartKafka(t, testcontainers.WithEnv(map[string]string{"KAFKA_TRANSACTION_PARTITION_VERIFICATION_ENABLE": "false"})).Brokers
	for _, c := range []struct {
		end  string
		next uint64 // the store has all before it as accepted
		want string
	}{
		{"committed", 1, "before left left after"}, // the batch that comes again is dropped
		{"committed", 2, "before left left next after"},
		{"aborted", 1, "before next after"},
		{"open", 1, "before next after"}, // taking over aborts it
	} {
		for _, hangs := range []string{"", "0", "01", "g", "0g", "01g"} { // partitions, and the group
			t.Run(fmt.Sprintf("%s next %d hangs %s", c.end, c.next, hangs), func(t *testing.T) {
				t.Parallel()
				k := &cluster{t: t, brokers: brokers}
				topic := k.topic(2, nil)
				write(t, k.open(topic), id(topic, 1, 0, 0), rowsOf("before 0"))
				k.leave(topic, hangs, c.end)
				s := k.open(topic)
				write(t, s, again(id(topic, 2, 0, c.next)), rowsOf("next 0"))
				write(t, s, id(topic, 2, 0, c.next+1), rowsOf("after 0"))
				k.expect(topic, c.want)
			})
		}
	}
	// When the brokers come back it is the last batch of a sink that goes on that hangs: the next one does not join it. So in a
	// partition that was added since the sink was opened.
	for _, added := range []bool{false, true} {
		t.Run(fmt.Sprintf("attached, added %v", added), func(t *testing.T) {
			t.Parallel()
			k := &cluster{t: t, brokers: brokers}
			topic := k.topic(2, nil)
			s := k.open(topic)
			write(t, s, id(topic, 1, 0, 0), rowsOf("before 0"))
			producer, epoch, err := s.attached.client.ProducerID(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			// In a partition without a record, at the epoch before: the brokers raise it with each end of a transaction.
			p := 1 - k.records(topic)[0].Partition
			k.with(func(ctx context.Context, cl *kgo.Client, admin *kadm.Client) {
				if added {
					p = 2
					if answer, err := admin.CreatePartitions(ctx, 1, topic); err != nil || answer.Error() != nil {
						t.Fatal(err, answer.Error())
					}
				}
				k.left(ctx, cl, topic, p, producer, epoch-1)
			}, old)
			s.attached.OnBrokerDisconnect(kgo.BrokerMetadata{}, nil)
			if err := s.attached.settleLast(t.Context()); err != nil {
				t.Fatal(err)
			}
			k.expect(topic, "before left")
			write(t, s, id(topic, 1, 0, 1), rowsOf("next 0"))
			k.expect(topic, "before left next")
		})
	}
}

// old lets a client say what is in a transaction, and what is not.
var old = kgo.MaxVersions(kversion.V3_4_0())

func (k *cluster) expect(topic, want string) {
	k.t.Helper()
	var got []string
	for _, r := range k.records(topic) {
		got = append(got, strings.Split(string(r.Value), `"`)[3])
	}
	sorted := strings.Fields(want)
	slices.Sort(got)
	slices.Sort(sorted)
	if !slices.Equal(got, sorted) {
		k.t.Errorf("got %v, want %v", got, sorted)
	}
}

// leave writes batch 1, one record per partition, and ends it, except where it is to hang.
func (k *cluster) leave(topic, hangs, end string) {
	k.t.Helper()
	flow := "shop.publish-" + topic
	var id int64
	var epoch int16
	k.with(func(ctx context.Context, cl *kgo.Client, admin *kadm.Client) {
		last, err := admin.DescribeTransactions(ctx, flow)
		if err != nil {
			k.t.Fatal(err)
		}
		id, epoch = last[flow].ProducerID, last[flow].ProducerEpoch
		addGroup := func(name string) {
			add := kmsg.NewPtrAddOffsetsToTxnRequest()
			add.TransactionalID, add.ProducerID, add.ProducerEpoch, add.Group = flow, id, epoch, name
			k.send(ctx, cl, add)
		}
		addGroup(flow + ".other") // so that there is something to end
		for p := range int32(2) {
			if !strings.Contains(hangs, strconv.Itoa(int(p))) {
				add, t := kmsg.NewPtrAddPartitionsToTxnRequest(), kmsg.NewAddPartitionsToTxnRequestTopic()
				t.Topic, t.Partitions = topic, []int32{p}
				add.TransactionalID, add.ProducerID, add.ProducerEpoch, add.Topics = flow, id, epoch, append(add.Topics, t)
				k.send(ctx, cl, add)
			}
			k.left(ctx, cl, topic, p, id, epoch)
		}
		if !strings.Contains(hangs, "g") {
			addGroup(flow + ".sink")
		}
		offset, t, part := kmsg.NewPtrTxnOffsetCommitRequest(), kmsg.NewTxnOffsetCommitRequestTopic(), kmsg.NewTxnOffsetCommitRequestTopicPartition()
		text := metadata(sink.Identity{Store: "s1", Epoch: 1, Number: 1})
		part.Offset, part.LeaderEpoch, part.Metadata = 1, -1, &text
		t.Topic, t.Partitions = topic, append(t.Partitions, part)
		offset.TransactionalID, offset.ProducerID, offset.ProducerEpoch, offset.Group, offset.Generation = flow, id, epoch, flow+".sink", -1
		offset.Topics = append(offset.Topics, t)
		k.send(ctx, cl, offset)
	}, old)
	if end == "open" {
		return
	}
	k.with(func(ctx context.Context, cl *kgo.Client, _ *kadm.Client) {
		r := kmsg.NewPtrEndTxnRequest()
		r.TransactionalID, r.ProducerID, r.ProducerEpoch, r.Commit = flow, id, epoch, end == "committed"
		k.send(ctx, cl, r)
	})
}

// left puts a record into a partition, and tells the coordinator nothing.
func (k *cluster) left(ctx context.Context, cl *kgo.Client, topic string, p int32, id int64, epoch int16) {
	k.t.Helper()
	flow := "shop.publish-" + topic
	put, t, part := kmsg.NewPtrProduceRequest(), kmsg.NewProduceRequestTopic(), kmsg.NewProduceRequestTopicPartition()
	part.Partition, part.Records = p, rawBatch(id, epoch, `{"key":"left"}`)
	t.Topic, t.Partitions = topic, append(t.Partitions, part)
	put.TransactionID, put.Acks, put.TimeoutMillis, put.Topics = &flow, -1, 10_000, append(put.Topics, t)
	k.send(ctx, cl, put)
}

func (k *cluster) send(ctx context.Context, cl *kgo.Client, r kmsg.Request) {
	k.t.Helper()
	err := patiently(ctx, func() error {
		answer, err := cl.Request(ctx, r)
		if err != nil {
			return err
		}
		switch answer := answer.(type) {
		case *kmsg.ProduceResponse:
			return kerr.ErrorForCode(answer.Topics[0].Partitions[0].ErrorCode)
		case *kmsg.TxnOffsetCommitResponse:
			return kerr.ErrorForCode(answer.Topics[0].Partitions[0].ErrorCode)
		}
		return kerr.ErrorForCode(code(answer))
	})
	if err != nil {
		k.t.Fatalf("%T: %v", r, err)
	}
}

// rawBatch is a record batch of a transaction with one record.
func rawBatch(id int64, epoch int16, value string) []byte {
	r := kmsg.Record{Value: []byte(value)}
	r.Length = int32(len(r.AppendTo(nil)) - 1) // a length of 0 takes one byte
	b := kmsg.RecordBatch{PartitionLeaderEpoch: -1, Magic: 2, Attributes: 1 << 4, ProducerID: id, ProducerEpoch: epoch,
		NumRecords: 1, Records: r.AppendTo(nil)}
	const checked, lengthFrom = 21, 12 // what the checksum is of, and what the length counts, begin there
	raw := b.AppendTo(nil)
	b.Length = int32(len(raw) - lengthFrom)
	b.CRC = int32(crc32.Checksum(raw[checked:], crc32.MakeTable(crc32.Castagnoli)))
	return b.AppendTo(nil)
}
