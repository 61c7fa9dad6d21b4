package kafka

import (
	"context"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/batch"
	"sluice/fault"
	"sluice/format/json"
	"sluice/internal/broker"
	"sluice/internal/testenv"
	"sluice/option"
	"sluice/source"
)

const benchRecords = 500_000

// benchBroker has a topic "w" of four partitions with records of about 230 bytes.
func benchBroker(b *testing.B) []string {
	b.Helper()
	x := testenv.Broker(b, broker.Options{Topics: map[string]int32{"w": 4}})
	cl, err := kgo.NewClient(kgo.SeedBrokers(x.Brokers()...), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()), kgo.ProducerBatchCompression(kgo.Lz4Compression()))
	if err != nil {
		b.Fatal(err)
	}
	defer cl.Close()
	for i := range benchRecords {
		v := fmt.Sprintf(`{"booking_id":%d,"status":"CONFIRMED","total_amount":"%d.%02d","booking_update_id":%d,"check_in":"2026-0%d-1%d","guest":{"id":%d,"country":"NL"},"channel":"web","updated_at":"2026-05-18T10:%02d:00.123456Z","note":"%x"}`,
			i*7, i%1000, i%100, i, 1+i%9, i%10, i%5000, i%60, i*2654435761)
		cl.Produce(context.Background(), &kgo.Record{Topic: "w", Value: []byte(v)}, nil)
	}
	if err := cl.Flush(context.Background()); err != nil {
		b.Fatal(err)
	}
	return x.Brokers()
}

// BenchmarkRead compares a plain consume by the library with a Source that only counts, and one that decodes three fields.
func BenchmarkRead(b *testing.B) {
	brokers := benchBroker(b)
	b.Run("library", func(b *testing.B) {
		for range b.N {
			cl, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.ConsumeTopics("w"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
			if err != nil {
				b.Fatal(err)
			}
			for n := 0; n < benchRecords; {
				n += cl.PollFetches(context.Background()).NumRecords()
			}
			cl.Close()
		}
		b.ReportMetric(float64(benchRecords)*float64(b.N)/b.Elapsed().Seconds(), "records/s")
	})
	for name, fields := range map[string][]batch.Field{
		"source": nil,
		"decode": {{Name: "booking_id", Type: batch.Of(batch.BigInt)}, {Name: "status", Type: batch.Of(batch.String)}, {Name: "total_amount", Type: batch.Of(batch.String)}, {Name: "booking_update_id", Type: batch.Of(batch.BigInt)}},
	} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				benchSource(b, brokers, fields)
			}
			b.ReportMetric(float64(benchRecords)*float64(b.N)/b.Elapsed().Seconds(), "records/s")
		})
	}
}

func benchSource(b *testing.B, brokers []string, fields []batch.Field) {
	v, problems := Options().Parse("read_kafka", []option.Given{{Name: "bootstrapServers", Value: brokers[0]}, {Name: "subscribe", Value: "w"}}, fault.Pos{})
	if err := problems.Err(); err != nil {
		b.Fatal(err)
	}
	c := Config{Options: v, Stream: true}
	if fields != nil {
		decoder, err := json.NewDecoder(json.Options{Fields: fields, CorruptRecord: -1})
		if err != nil {
			b.Fatal(err)
		}
		c.Decoder = decoder
		for _, f := range fields {
			c.Columns = append(c.Columns, source.Column{Field: f})
		}
	}
	s, err := New(c)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	pos, err := s.Start(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	reads := 0
	for n := int64(0); n < benchRecords; reads++ {
		_, r, _, err := s.Read(context.Background(), pos, batch.Limit{Rows: 65536})
		if err != nil {
			b.Fatal(err)
		}
		n += r.Records()
		pos = pos.With(r)
	}
	b.ReportMetric(float64(benchRecords)/float64(reads), "rows/read")
}
