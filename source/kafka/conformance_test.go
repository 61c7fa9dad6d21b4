package kafka

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/batch"
	"sluice/format/json"
	"sluice/internal/broker"
	"sluice/internal/testenv"
	"sluice/source"
	"sluice/source/sourcetest"
)

func TestConformance(t *testing.T) {
	t.Run("embedded", func(t *testing.T) {
		sourcetest.Run(t, sourcetest.Kind{New: func(t *testing.T) sourcetest.Input {
			return newInput(t, testenv.Broker(t, broker.Options{}).Brokers())
		}})
	})
	t.Run("real", func(t *testing.T) {
		k := testenv.Kafka(t)
		sourcetest.Run(t, sourcetest.Kind{New: func(t *testing.T) sourcetest.Input { return newInput(t, k.Brokers) }})
	})
}

// input is a topic of two partitions.
type input struct {
	k     *cluster
	topic string
}

func newInput(t *testing.T, brokers []string) *input {
	k := newCluster(t, brokers)
	in := &input{k, k.topic(2)}
	k.client.Close() // its goroutines are not the source's
	return in
}

func (in *input) Append(t *testing.T, part int, values ...string) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(in.k.brokers...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DisableClientMetrics())
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	for _, v := range values {
		if err := cl.ProduceSync(context.Background(), &kgo.Record{Topic: in.topic, Partition: int32(part), Value: []byte(v)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

func (in *input) Open(t *testing.T, mode batch.Mode) source.Source {
	t.Helper()
	columns := sourcetest.Columns()
	fields := make([]batch.Field, len(columns))
	for i, c := range columns {
		fields[i] = c.Field
	}
	decoder, err := json.NewDecoder(json.Options{Fields: fields, Mode: mode, CorruptRecord: -1})
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Config{Options: in.k.options(in.topic), Stream: true, Columns: columns, Decoder: decoder})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
