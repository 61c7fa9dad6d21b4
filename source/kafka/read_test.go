package kafka

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/batch"
	"sluice/fault"
	"sluice/internal/broker"
	"sluice/internal/testenv"
	"sluice/source"
)

func TestDrainReadsPartitionsInOrder(t *testing.T) {
	onEach(t, func(t *testing.T, k *cluster) {
		topic := k.topic(3)
		k.produce(topic, 0, "a", "b")
		k.produce(topic, 2, "c")
		s := k.source(topic)
		from, until := start(t, s), end(t, s)
		got, pos := drain(t, s, from, until)
		equal(t, got, "0@0=a", "0@1=b", "2@0=c")
		// The same range gives the same rows again, from this source and from another.
		got, _ = drain(t, s, from, until)
		equal(t, got, "0@0=a", "0@1=b", "2@0=c")
		got, _ = drain(t, k.source(topic), from, until)
		equal(t, got, "0@0=a", "0@1=b", "2@0=c")
		// Live: what comes later, from where the drain ended.
		k.produce(topic, 1, "d")
		got, r := next(t, s, pos, batch.Limit{})
		equal(t, got, "1@0=d")
		if x := r.Splits[0]; x.Records != 1 || x.Bytes <= 0 || x.End != 1 || x.Time == 0 || x.ID == "" {
			t.Errorf("range %+v", x)
		}
	})
}

func TestReadWaitsUntilItsContextEnds(t *testing.T) {
	onEach(t, func(t *testing.T, k *cluster) {
		s := k.source(k.topic(1))
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		if _, _, _, err := s.Read(ctx, start(t, s), batch.Limit{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		for ctx := within(t, time.Minute); s.Waiting() != ""; time.Sleep(10 * time.Millisecond) { // until the broker has said that there just is nothing
			if ctx.Err() != nil {
				t.Fatalf("still waiting: %s", s.Waiting())
			}
		}
	})
}

func TestLimits(t *testing.T) {
	onEach(t, func(t *testing.T, k *cluster) {
		topic := k.topic(3)
		var want []string
		for p := range 3 {
			for i := range 40 {
				k.produce(topic, int32(p), fmt.Sprintf("value-%d", i))
				want = append(want, fmt.Sprintf("%d@%d=value-%d", p, i, i))
			}
		}
		for name, limit := range map[string]batch.Limit{"one row": {Rows: 1}, "seven rows": {Rows: 7}, "one byte": {Bytes: 1}, "100 bytes": {Bytes: 100}, "all": {}} {
			s := k.source(topic)
			pos := start(t, s)
			limit.Until = end(t, s)
			byPartition := map[int][]string{}
			served := map[string]int{}
			reads := 0
			for ; !pos.Reached(limit.Until); reads++ {
				got, r := next(t, s, pos, limit)
				if limit.Rows > 0 && len(got) > limit.Rows || limit.Bytes == 1 && len(got) > 1 {
					t.Fatalf("%s: %v", name, got)
				}
				for _, x := range r.Splits {
					served[x.Split]++
				}
				if reads == 6 && limit.Rows+int(limit.Bytes) == 1 && len(served) < 3 {
					t.Errorf("%s: after seven reads only %v were served", name, served)
				}
				for _, row := range got {
					byPartition[int(row[0]-'0')] = append(byPartition[int(row[0]-'0')], row)
				}
				pos = pos.With(r)
			}
			var got []string
			for p := range 3 {
				got = append(got, byPartition[p]...)
			}
			equal(t, got, want...)
		}
		s := k.source(topic, "maxOffsetsPerTrigger", "5")
		if got, _ := next(t, s, start(t, s), batch.Limit{Rows: 100}); len(got) != 5 {
			t.Errorf("maxOffsetsPerTrigger => 5 gave %d rows", len(got))
		}
		s = k.source(topic, "maxBytesPerTrigger", "1")
		if got, _ := next(t, s, start(t, s), batch.Limit{Rows: 100}); len(got) != 1 {
			t.Errorf("maxBytesPerTrigger => 1 gave %d rows", len(got))
		}
	})
}

// An end in the middle of a batch of the producer: nothing past it is returned, and reading goes on there (A-62's end).
func TestUntilInsideABatch(t *testing.T) {
	onEach(t, func(t *testing.T, k *cluster) {
		topic := k.topic(1)
		k.send(&kgo.Record{Topic: topic, Value: []byte("a")}, &kgo.Record{Topic: topic, Value: []byte("b")}, &kgo.Record{Topic: topic, Value: []byte("c")})
		s := k.source(topic)
		until := end(t, s)
		until[0].Next.At = 2
		got, pos := drain(t, s, start(t, s), until)
		equal(t, got, "0@0=a", "0@1=b")
		got, _ = next(t, s, pos, batch.Limit{})
		equal(t, got, "0@2=c")
	})
}

// the last offset is a transaction's marker; aborted rows are never seen (A-65, D-12).
func TestTransactions(t *testing.T) {
	onEach(t, func(t *testing.T, k *cluster) {
		topic := k.topic(2)
		k.begin(topic, 0, "a", "b", "c").end(kgo.TryCommit)
		k.begin(topic, 1, "x", "y").end(kgo.TryAbort)
		s := k.source(topic)
		got, pos := drain(t, s, start(t, s), end(t, s))
		equal(t, got, "0@0=a", "0@1=b", "0@2=c")
		if at, _ := pos.Find(topic + "/0"); at.Next.At != 4 {
			t.Errorf("partition 0 is read up to %v, not over its marker", at.Next)
		}
		if at, _ := pos.Find(topic + "/1"); at.Next.At != 3 {
			t.Errorf("partition 1 is read up to %v, not over its marker", at.Next)
		}
		// Interleaved: one transaction aborts while another, of the same partition, commits.
		one, two := k.begin(topic, 0, "no"), k.begin(topic, 0, "yes")
		k.produce(topic, 0, "plain")
		one.end(kgo.TryAbort)
		two.end(kgo.TryCommit)
		got, _ = drain(t, s, pos, end(t, s))
		equal(t, got, "0@5=yes", "0@6=plain")
		u := k.source(topic, "kafka.isolation.level", "read_uncommitted")
		got, _ = drain(t, u, start(t, u), end(t, u))
		equal(t, got, "0@0=a", "0@1=b", "0@2=c", "0@4=no", "0@5=yes", "0@6=plain", "1@0=x", "1@1=y")
	})
}

// D-7, A-62: a drain waits for an open transaction, and its end is the high watermark at the start.
func TestDrainAgainstAnOpenTransaction(t *testing.T) {
	onEach(t, func(t *testing.T, k *cluster) {
		topic := k.topic(1)
		k.many(topic, 0, 200)
		open := k.begin(topic, 0, "b")
		k.many(topic, 0, 1462)
		s := k.open(Config{Options: k.options(topic), DrainTimeout: 2 * time.Second})
		until := end(t, s)
		if until[0].Next.At != 1663 {
			t.Fatalf("the end is %v, not the high watermark", until)
		}
		pos := start(t, s)
		for read := 0; read < 200; {
			got, r := next(t, s, pos, batch.Limit{Until: until})
			read, pos = read+len(got), pos.With(r)
		}
		_, _, _, err := s.Read(within(t, time.Minute), pos, batch.Limit{Until: until})
		mustFail(t, err, fault.OpenTransaction, topic, "partition 0", "offset 200", "producer id", "transactional id")
		open.end(kgo.TryCommit)
		got, _ := drain(t, s, pos, until)
		if len(got) != 1463 || got[0] != "0@200=b" || got[1462] != "0@1662=v" {
			t.Errorf("%d rows, the first is %s", len(got), got[0])
		}
	})
}

// compaction leaves holes, at the end too; the drain ends all the same.
func TestHolesOfDeletedAndCompactedRecords(t *testing.T) {
	onEach(t, func(t *testing.T, k *cluster) {
		topic := k.topic(1, "cleanup.policy", "compact", "segment.ms", "100", "min.cleanable.dirty.ratio", "0.001", "delete.retention.ms", "0", "min.compaction.lag.ms", "0")
		for i := range 60 {
			k.send(&kgo.Record{Topic: topic, Key: []byte{byte('a' + i%3)}, Value: fmt.Append(nil, i)})
		}
		s := k.source(topic)
		for deadline := time.Now().Add(time.Minute); ; {
			time.Sleep(200 * time.Millisecond)
			k.send(&kgo.Record{Topic: topic, Key: []byte("roll"), Value: []byte("r")}) // a new record makes the segment roll
			if k.compact != nil {
				k.compact()
			}
			got, _ := drain(t, k.source(topic), start(t, s), end(t, s))
			if len(got) < 60 {
				t.Logf("compacted to %d records", len(got))
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("the broker did not compact within a minute")
			}
		}
	})
}

// of offsets 0 to 1000 compaction has left 0, 7, 8 and 1000, and the end is 1001. Then the record at 1000, the last before that end,
// goes, too: a drain to it comes to its end all the same, and what is read next is what stands behind it.
func TestOffsetsThatCompactionLeaves(t *testing.T) {
	b := testenv.Broker(t, broker.Options{})
	k := newCluster(t, b.Brokers())
	topic := k.topic(1, "cleanup.policy", "compact", "min.cleanable.dirty.ratio", "0.001", "delete.retention.ms", "0", "min.compaction.lag.ms", "0", "segment.bytes", "1")
	records := make([]*kgo.Record, 1001)
	for i := range records {
		records[i] = &kgo.Record{Topic: topic, Key: []byte("often"), Value: []byte("v")}
	}
	for _, at := range []int{0, 7, 8} {
		records[at].Key = fmt.Append(nil, at)
	}
	k.send(records[:1000]...)
	k.send(records[1000])
	s := k.source(topic)
	from, until := start(t, s), end(t, s)
	roll := func(offset int64) { // the last segment is not compacted
		k.send(&kgo.Record{Topic: topic, Key: fmt.Append(nil, "at ", offset), Value: []byte("last")})
		b.Cluster().Compact()
	}
	roll(1001)
	if until[0].Next.At != 1001 {
		t.Fatalf("the end is %v", until)
	}
	got, pos := drain(t, s, from, until)
	equal(t, got, "0@0=v", "0@7=v", "0@8=v", "0@1000=v")
	if pos[0].Next.At != 1001 {
		t.Errorf("it goes on at %v", pos)
	}
	k.send(&kgo.Record{Topic: topic, Key: []byte("often"), Value: []byte("newer")}) // 1002, so that 1000 goes
	roll(1003)
	s = k.source(topic)
	got, pos = drain(t, s, from, until)
	equal(t, got, "0@0=v", "0@7=v", "0@8=v")
	got, _ = next(t, s, pos, batch.Limit{})
	equal(t, got, "0@1001=last", "0@1002=newer", "0@1003=last")
}

// empty partitions, an empty topic, a topic whose records were all deleted.
func TestEmptyPartitions(t *testing.T) {
	onEach(t, func(t *testing.T, k *cluster) {
		topic := k.topic(6)
		k.produce(topic, 4, "a")
		s := k.source(topic)
		got, _ := drain(t, s, start(t, s), end(t, s))
		equal(t, got, "4@0=a")
		s = k.source(k.topic(2))
		got, _ = drain(t, s, start(t, s), end(t, s))
		equal(t, got)
		topic = k.topic(1)
		k.produce(topic, 0, "a", "b", "c")
		k.deleteRecords(topic, 0, 3)
		s = k.source(topic)
		from := start(t, s)
		if from[0].Next.At != 3 {
			t.Errorf("start %v", from)
		}
		got, _ = drain(t, s, from, end(t, s))
		equal(t, got)
	})
}

// a partition found while running starts at 0, whatever startingOffsets says (D-40).
func TestPartitionAddedWhileRunning(t *testing.T) {
	onEach(t, func(t *testing.T, k *cluster) {
		topic := k.topic(1)
		s := k.source(topic, "kafka.metadata.max.age.ms", "100", "startingOffsets", "latest")
		pos := start(t, s)
		k.produce(topic, 0, "a")
		got, r := next(t, s, pos, batch.Limit{})
		equal(t, got, "0@0=a")
		pos = pos.With(r)
		if _, err := k.admin.CreatePartitions(context.Background(), 1, topic); err != nil {
			t.Fatal(err)
		}
		cl := k.newClient()
		if err := cl.ProduceSync(context.Background(), &kgo.Record{Topic: topic, Partition: 1, Value: []byte("b")}).FirstErr(); err != nil {
			t.Fatal(err)
		}
		got, r = next(t, s, pos, batch.Limit{})
		equal(t, got, "1@0=b")
		if r.Splits[0].ID == "" {
			t.Error("no topic id")
		}
	})
}

func TestNullValues(t *testing.T) {
	onEach(t, func(t *testing.T, k *cluster) {
		topic := k.topic(1)
		k.send(&kgo.Record{Topic: topic, Key: []byte("k"), Value: nil, Headers: []kgo.RecordHeader{{Key: "h", Value: []byte("v")}}}, &kgo.Record{Topic: topic, Value: []byte{}}, &kgo.Record{Topic: topic, Value: []byte("a")})
		s := k.source(topic)
		got, r := next(t, s, start(t, s), batch.Limit{})
		equal(t, got, "0@1=", "0@2=a") // an empty value is not a null one
		if r.Splits[0].Nulls != 1 || r.Splits[0].Records != 3 {
			t.Errorf("D-5: %+v", r.Splits[0])
		}
		s = k.source(topic, "on_null_value", "keep")
		got, _ = next(t, s, start(t, s), batch.Limit{})
		equal(t, got, "0@0=NULL", "0@1=", "0@2=a")
		s = k.source(topic, "on_null_value", "error")
		cols, r, bad, err := s.Read(within(t, time.Minute), start(t, s), batch.Limit{})
		if err != nil {
			t.Fatal(err)
		}
		equal(t, rows(cols, r), "0@1=", "0@2=a")
		if len(bad) != 1 || bad[0].Split != topic+"/0" || bad[0].At.At != 0 || string(bad[0].Key) != "k" || bad[0].Headers[0].Key != "h" || bad[0].Kept {
			t.Fatalf("%+v", bad)
		}
		mustFail(t, bad[0].Err, fault.NullValue)
	})
}

// D-15, A-35, A-104: the record of a row comes back as it was sent: bytes that are no text, null and empty told apart, headers with a
// repeated name, a null value and one that is not UTF-8.
func TestOriginal(t *testing.T) {
	onEach(t, func(t *testing.T, k *cluster) {
		topic := k.topic(1)
		at := time.UnixMilli(1_700_000_000_123)
		sent := []*kgo.Record{
			{Topic: topic, Timestamp: at, Key: []byte{0xff, 1}, Value: []byte{0, 0xfe}, Headers: []kgo.RecordHeader{{Key: "h"}, {Key: "h", Value: []byte{0xff}}, {Key: "", Value: []byte{}}}},
			{Topic: topic, Timestamp: at, Key: []byte{}, Value: []byte{}},
			{Topic: topic, Timestamp: at, Value: []byte("v")},
		}
		k.send(sent...)
		s := k.open(Config{Options: k.options(topic), Columns: append(metaColumns("offset"), source.Record())})
		cols, _, _, err := s.Read(within(t, time.Minute), start(t, s), batch.Limit{})
		if err != nil || cols.Len != len(sent) {
			t.Fatal(cols.Len, err)
		}
		for i, want := range sent {
			got := s.Original(&cols, i, topic+"/0")
			if !reflect.DeepEqual(got.Key, want.Key) || !reflect.DeepEqual(got.Value, want.Value) || got.Time != at.UnixMicro() || len(got.Headers) != len(want.Headers) {
				t.Errorf("%d: got %+v", i, got)
			}
			for n, h := range got.Headers {
				if h.Key != want.Headers[n].Key || !reflect.DeepEqual(h.Value, want.Headers[n].Value) {
					t.Errorf("%d: header %d is %+v", i, n, h)
				}
			}
		}
	})
}

func TestMetaColumns(t *testing.T) {
	onEach(t, func(t *testing.T, k *cluster) {
		topic := k.topic(2)
		at := time.UnixMilli(1_700_000_000_123)
		k.send(&kgo.Record{Topic: topic, Partition: 1, Timestamp: at, Key: []byte{0xff, 1}, Value: []byte("v"),
			Headers: []kgo.RecordHeader{{Key: "trace", Value: []byte("a")}, {Key: "trace", Value: []byte("b")}, {Key: "x"}, {Key: "x", Value: []byte{}}}})
		s := k.open(Config{Options: k.options(topic), Columns: metaColumns("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers")})
		cols, r, _, err := s.Read(within(t, time.Minute), start(t, s), batch.Limit{})
		if err != nil {
			t.Fatal(err)
		}
		if cols.Len != 1 || string(cols.Col("key").Text(0)) != "\xff\x01" || string(cols.Col("topic").Text(0)) != topic ||
			batch.Values[int32](cols.Col("partition"))[0] != 1 || batch.Values[int64](cols.Col("offset"))[0] != 0 ||
			batch.Values[int64](cols.Col("timestamp"))[0] != at.UnixMicro() || batch.Values[int32](cols.Col("timestampType"))[0] != 0 {
			t.Fatalf("%+v", cols)
		}
		if r.Splits[0].Time != at.UnixMicro() {
			t.Errorf("time of the range %d", r.Splits[0].Time)
		}
		// order, repetition, null and empty.
		h := cols.Col("headers").Children[0]
		var got string
		for i := range h.Len {
			got += string(h.Children[0].Text(i)) + "=" + string(h.Children[1].Text(i))
			if h.Children[1].IsNull(i) {
				got += "NULL"
			}
			got += ";"
		}
		if got != "trace=a;trace=b;x=NULL;x=;" {
			t.Error(got)
		}
		if k.compact != nil {
			return // the embedded broker knows only the producer's times
		}
		topic = k.topic(1, "message.timestamp.type", "LogAppendTime")
		k.send(&kgo.Record{Topic: topic, Timestamp: at, Value: []byte("v")})
		s = k.open(Config{Options: k.options(topic), Columns: metaColumns("timestamp", "timestampType")})
		cols, _, _, err = s.Read(within(t, time.Minute), start(t, s), batch.Limit{})
		if err != nil {
			t.Fatal(err)
		}
		if batch.Values[int32](cols.Col("timestampType"))[0] != 1 || batch.Values[int64](cols.Col("timestamp"))[0] < at.Add(time.Hour).UnixMicro() {
			t.Error("LogAppendTime is not the broker's time")
		}
	})
}

func TestCompression(t *testing.T) {
	onEach(t, func(t *testing.T, k *cluster) {
		topic := k.topic(1)
		var want []string
		for i, c := range []kgo.CompressionCodec{kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression()} {
			cl := k.newClient(kgo.ProducerBatchCompression(c))
			var records []*kgo.Record
			for j := range 100 {
				v := fmt.Sprintf("codec %d, value %d", i, j)
				records = append(records, &kgo.Record{Topic: topic, Value: []byte(v)})
				want = append(want, fmt.Sprintf("0@%d=%s", len(want), v))
			}
			if err := cl.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
				t.Fatalf("codec %d: %v", i, err)
			}
		}
		for _, rows := range []int{0, 3} {
			s := k.source(topic)
			pos, until := start(t, s), end(t, s)
			var got []string
			for !pos.Reached(until) {
				part, r := next(t, s, pos, batch.Limit{Rows: rows, Until: until})
				got, pos = append(got, part...), pos.With(r)
			}
			equal(t, got, want...)
		}
	})
}
