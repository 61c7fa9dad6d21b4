package kafka

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/batch"
	"sluice/fault"
	"sluice/internal/broker"
	"sluice/internal/testenv"
)

func (k *cluster) deleteRecords(topic string, partition int32, before int64) {
	k.t.Helper()
	var to kadm.Offsets
	to.AddOffset(topic, partition, before, -1)
	if _, err := k.admin.DeleteRecords(context.Background(), to); err != nil {
		k.t.Fatal(err)
	}
}

func (k *cluster) recreate(topic string, partitions int32) {
	k.t.Helper()
	if _, err := k.admin.DeleteTopic(context.Background(), topic); err != nil {
		k.t.Fatal(err)
	}
	k.create(topic, partitions)
	k.client = k.newClient() // the old one remembers the old topic's id
}

// D-6, A-66, A-69: retention overtakes the reader, before it starts and while it runs.
func TestRecordsGone(t *testing.T) {
	onEach(t, func(t *testing.T, k *cluster) {
		topic := k.topic(1)
		for range 9 {
			k.produce(topic, 0, "v")
		}
		s := k.source(topic)
		pos := start(t, s)
		pos[0].Next.At = 2
		k.deleteRecords(topic, 0, 5)
		_, _, _, err := s.Read(within(t, time.Minute), pos, batch.Limit{})
		mustFail(t, err, fault.DataLoss, topic, "partition 0", "offsets 2 to 4", "holds offsets 5 to 8", "allow_data_loss")
		for _, option := range [][2]string{{"allow_data_loss", "true"}, {"failOnDataLoss", "false"}} {
			s = k.source(topic, option[0], option[1])
			for range 2 { // the same range again
				got, r := next(t, s, pos, batch.Limit{})
				if x := r.Splits[0]; len(got) != 0 || x.From.At != 2 || x.To.At != 5 || x.Lost != 3 {
					t.Errorf("the gap is not recorded: %v %+v", got, x)
				}
				got, _ = drain(t, s, pos.With(r), end(t, s))
				equal(t, got, "0@5=v", "0@6=v", "0@7=v", "0@8=v") // at the log start, never at the end
			}
		}
		// While running, and everything is gone.
		k.deleteRecords(topic, 0, 9)
		pos[0].Next.At = 7
		got, r := next(t, s, pos, batch.Limit{Until: end(t, s)})
		if x := r.Splits[0]; len(got) != 0 || x.Lost != 2 || x.To.At != 9 {
			t.Errorf("%v %+v", got, x)
		}
	})
}

// retention overtakes a reader that is connected, and that an open transaction holds up: it has read 100 of 900 records when the log
// starts at 500. It says so in the Read that is under way, and one that may lose data goes on with what is there, without a new start.
func TestRecordsGoneWhileConnected(t *testing.T) {
	onEach(t, func(t *testing.T, k *cluster) {
		topic := k.topic(1)
		k.many(topic, 0, 100)
		open := k.begin(topic, 0, "b")
		k.many(topic, 0, 799)
		stops, goesOn := k.source(topic), k.source(topic, "allow_data_loss", "true")
		pos := start(t, stops)
		for _, s := range []*Source{stops, goesOn} {
			got, r := next(t, s, pos, batch.Limit{})
			if len(got) != 100 || r.Splits[0].To.At != 100 {
				t.Fatalf("%d rows, %+v", len(got), r)
			}
			await(t, s, pos.With(r), false) // it has nothing else, and waits
		}
		pos[0].Next.At = 100
		k.deleteRecords(topic, 0, 500)
		_, _, _, err := stops.Read(within(t, time.Minute), pos, batch.Limit{})
		mustFail(t, err, fault.DataLoss, topic, "partition 0", "offsets 100 to 499", "allow_data_loss")
		got, r := next(t, goesOn, pos, batch.Limit{})
		if x := r.Splits[0]; len(got) != 0 || x.From.At != 100 || x.To.At != 500 || x.Lost != 400 {
			t.Errorf("the gap is not recorded: %d rows, %+v", len(got), x)
		}
		open.end(kgo.TryCommit)
		rest, _ := drain(t, goesOn, pos.With(r), end(t, goesOn))
		if len(rest) != 400 || rest[0] != "0@500=v" || rest[399] != "0@899=v" {
			t.Errorf("%d rows", len(rest))
		}
	})
}

// FR-O1, D-6: what lies between the start of a flow and where it stands, and is before the start of the log today.
func TestGone(t *testing.T) {
	onEach(t, func(t *testing.T, k *cluster) {
		topic := k.topic(2)
		for i := range 8 {
			k.produce(topic, int32(i%2), "v")
		}
		s := k.source(topic)
		from := start(t, s)
		to := end(t, s)
		gone := func(s *Source, from, to batch.Position) *fault.Error {
			t.Helper()
			lost, allowed, err := s.Gone(within(t, time.Minute), from, to)
			if err != nil || allowed != s.opts.allowLoss {
				t.Errorf("%v %v", allowed, err)
			}
			return lost
		}
		if lost := gone(s, from, to); lost != nil {
			t.Errorf("everything is there: %v", lost)
		}
		k.deleteRecords(topic, 0, 1)
		k.deleteRecords(topic, 1, 3)
		mustFail(t, gone(s, from, to), fault.DataLoss, topic, "partition 0: offsets 0 to 0", "partition 1: offsets 0 to 2", "allow_data_loss")
		mustFail(t, gone(k.source(topic, "allow_data_loss", "true"), from, to), fault.DataLoss, "partition 1")
		to[0].Next.At, to[1].Next.At = 0, 2 // what was not read is not lost by reading again
		mustFail(t, gone(s, nil, to), fault.DataLoss, topic, "partition 1: offsets 0 to 1")
		from[1].Next.At = 2
		if lost := gone(s, from, to); lost != nil {
			t.Errorf("nothing was read of what is gone: %v", lost)
		}
		k.recreate(topic, 2)
		if lost := gone(k.source(topic), from, to); lost != nil {
			t.Errorf("the topic is another one: %v", lost)
		}
	})
}

// D-6: what is lost is said of every partition that was read, whichever has the records, and of one that is not there any more.
func TestTopicRecreatedSaysWhatIsLostPerPartition(t *testing.T) {
	onEach(t, func(t *testing.T, k *cluster) {
		topic := k.topic(3)
		k.produce(topic, 1, "old", "old", "old")
		running := k.source(topic)
		pos := start(t, running)
		_, r := next(t, running, pos, batch.Limit{})
		pos = pos.With(r)
		k.recreate(topic, 2)
		k.produce(topic, 1, "new")
		_, _, _, err := running.Read(within(t, time.Minute), pos, batch.Limit{})
		mustFail(t, err, fault.TopicRecreated, "partition 0 from offset 0 on (today it is empty)", "partition 1 from offset 3 on (today it holds offsets 0 to 0)",
			"partition 2 from offset 0 on (the topic of today does not have it)")
	})
}

// D-6, A-67: a topic that was created again is always a stop, for a running source and for a new one.
func TestTopicRecreated(t *testing.T) {
	onEach(t, func(t *testing.T, k *cluster) {
		topic := k.topic(1)
		k.produce(topic, 0, "old", "old", "old")
		running := k.source(topic, "allow_data_loss", "true")
		pos := start(t, running)
		got, r := next(t, running, pos, batch.Limit{})
		equal(t, got, "0@0=old", "0@1=old", "0@2=old")
		pos = pos.With(r)
		k.recreate(topic, 1)
		k.produce(topic, 0, "new", "new", "new", "new", "new")
		_, _, _, err := running.Read(within(t, time.Minute), pos, batch.Limit{})
		mustFail(t, err, fault.TopicRecreated, topic, "partition 0", "offset 3", "offsets 0 to 4", "checkpoint")
		_, _, _, err = running.Read(within(t, time.Minute), pos, batch.Limit{})
		mustFail(t, err, fault.TopicRecreated)
		fresh := k.source(topic)
		_, _, _, err = fresh.Read(within(t, time.Minute), pos, batch.Limit{})
		mustFail(t, err, fault.TopicRecreated)
		// After a reset of the checkpoint both go on, in the new topic.
		for _, s := range []*Source{running, fresh} {
			got, _ = next(t, s, start(t, s), batch.Limit{})
			equal(t, got, "0@0=new", "0@1=new", "0@2=new", "0@3=new", "0@4=new")
		}
	})
}

// a position beyond the end: a broker without topic ids shows a new topic so, and an unclean election lost records.
func TestPositionBeyondTheEnd(t *testing.T) {
	onEach(t, func(t *testing.T, k *cluster) {
		topic := k.topic(1)
		k.produce(topic, 0, "a")
		s := k.source(topic, "allow_data_loss", "true")
		pos := start(t, s)
		pos[0].Next.At = 800
		_, _, _, err := s.Read(within(t, time.Minute), pos, batch.Limit{})
		mustFail(t, err, fault.TopicRecreated, topic, "offset 800", "ends at 1")
	})
}

func TestTopicDeletedWhileRunning(t *testing.T) {
	onEach(t, func(t *testing.T, k *cluster) {
		topic := k.topic(1)
		k.produce(topic, 0, "a")
		s := k.source(topic)
		pos := start(t, s)
		_, r := next(t, s, pos, batch.Limit{})
		if _, err := k.admin.DeleteTopic(context.Background(), topic); err != nil {
			t.Fatal(err)
		}
		_, _, _, err := s.Read(within(t, time.Minute), pos.With(r), batch.Limit{})
		mustFail(t, err, fault.UnknownTopic, topic)
	})
}

// D-56, A-98: a topic that does not exist fails with near names, and is not created by asking, whether brokers make topics that are asked for
// or not.
func TestMistypedTopic(t *testing.T) {
	for name, opts := range map[string][]kfake.Opt{"auto create off": nil, "auto create on": {kfake.AllowAutoTopicCreation()}} {
		t.Run(name, func(t *testing.T) {
			b := testenv.Broker(t, broker.Options{Topics: map[string]int32{"orders": 1}, Cluster: opts})
			k := newCluster(t, b.Brokers())
			for range 2 {
				_, err := k.source("ordres").Start(within(t, time.Minute))
				mustFail(t, err, fault.UnknownTopic, "ordres", `did you mean "orders"?`)
				mustFail(t, k.source("ordres").Check(within(t, time.Minute)), fault.UnknownTopic)
			}
			topics, err := k.admin.ListTopics(t.Context())
			if err != nil || topics.Has("ordres") || !topics.Has("orders") {
				t.Errorf("%v %v", topics.Names(), err)
			}
		})
	}
}

func TestMissingTopic(t *testing.T) {
	onEach(t, func(t *testing.T, k *cluster) {
		topic := k.topic(1)
		typo := topic[:len(topic)-1] + "x"
		for range 2 {
			s := k.source(typo)
			_, err := s.Start(within(t, time.Minute))
			mustFail(t, err, fault.UnknownTopic, typo, "did you mean")
			mustFail(t, s.Check(within(t, time.Minute)), fault.UnknownTopic)
			if fault.From(err).Code.Retry == fault.Backoff {
				t.Error("a missing topic is final")
			}
		}
	})
}

// A pattern takes topics that appear later, and leaves out a deleted one only if data may be lost.
func TestSubscribePattern(t *testing.T) {
	onEach(t, func(t *testing.T, k *cluster) {
		one := k.topic(1)
		k.produce(one, 0, "a")
		s := k.open(Config{Options: k.options("", "subscribePattern", one+".*", "kafka.metadata.max.age.ms", "100"), Stream: true})
		pos := start(t, s)
		got, r := next(t, s, pos, batch.Limit{})
		equal(t, got, "0@0=a")
		pos = pos.With(r)
		k.create(one+"-later", 1)
		k.send(&kgo.Record{Topic: one + "-later", Value: []byte("b")})
		got, r = next(t, s, pos, batch.Limit{})
		equal(t, got, "0@0=b")
		pos = pos.With(r)
		if len(pos) != 2 {
			t.Fatalf("%v", pos)
		}
		if _, err := k.admin.DeleteTopic(context.Background(), one); err != nil {
			t.Fatal(err)
		}
		_, _, _, err := s.Read(within(t, time.Minute), pos, batch.Limit{})
		mustFail(t, err, fault.UnknownTopic, one+"/0", "offset 1")
		s = k.open(Config{Options: k.options("", "subscribePattern", one+".*", "allow_data_loss", "true"), Stream: true})
		k.send(&kgo.Record{Topic: one + "-later", Value: []byte("c")})
		got, _ = next(t, s, pos, batch.Limit{})
		equal(t, got, "0@1=c")
	})
}

// leaders move in mid batch, back and forth. Every record is there once, in the order of its partition.
func TestLeadersMove(t *testing.T) {
	b := testenv.Broker(t, broker.Options{Cluster: []kfake.Opt{kfake.NumBrokers(3)}})
	k := newCluster(t, b.Brokers())
	topic := k.topic(3)
	const each = 300
	stop := make(chan struct{})
	var moving sync.WaitGroup
	moving.Go(func() {
		for n := int32(0); ; n++ {
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Millisecond):
				_ = b.Cluster().MoveTopicPartition(topic, n%3, (n/3)%3)
			}
		}
	})
	var records []*kgo.Record
	for i := range each {
		for p := range int32(3) {
			records = append(records, &kgo.Record{Topic: topic, Partition: p, Value: fmt.Append(nil, i)})
		}
	}
	moving.Go(func() {
		for len(records) > 0 {
			if err := k.client.ProduceSync(context.Background(), records[:9]...).FirstErr(); err != nil {
				t.Error(err)
				return
			}
			records = records[9:]
		}
	})
	defer moving.Wait()
	defer close(stop)
	s := k.source(topic)
	pos := start(t, s)
	seen := map[string]int{}
	for read := 0; read < 3*each; {
		cols, r, _, err := s.Read(within(t, time.Minute), pos, batch.Limit{Rows: 17})
		if fault.Of(err, fault.KafkaUnavailable) {
			continue // a leader moved once too often; the schedule tries again, too
		}
		if err != nil {
			t.Fatal(err)
		}
		pos = pos.With(r)
		read += cols.Len
		for _, row := range rows(cols, r) {
			partition, rest, _ := strings.Cut(row, "@")
			if want := fmt.Sprintf("%d=%d", seen[partition], seen[partition]); rest != want {
				t.Fatalf("partition %s gave %s, want %s", partition, rest, want)
			}
			seen[partition]++
		}
	}
}
