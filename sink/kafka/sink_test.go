package kafka

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/batch"
	"sluice/fault"
	"sluice/option"
	"sluice/sink"
)

func TestAppend(t *testing.T) {
	onEach(t, func(t *testing.T, k *cluster) {
		topic := k.topic(1, nil)
		s := k.open(topic)
		if err := s.Open(context.Background(), batch.ID{}, false); err != nil {
			t.Fatal(err)
		}
		write(t, s, id(topic, 1, 0, 0), rowsOf("a 1", "NULL 2"))
		write(t, s, id(topic, 1, 0, 1), rowsOf("+a 3", "-a 1"))
		got := k.records(topic)
		if want := `{"key":"a","n":1}
{"key":null,"n":2}
{"_change_type":"insert","key":"a","n":3}
{"_change_type":"delete","key":"a","n":1}`; show(got) != want {
			t.Errorf("got\n%s\nwant\n%s", show(got), want)
		}
		// The identity stands in a header; the time is that of sending.
		if h := got[3].Headers; len(h) != 1 || h[0].Key != HeaderName || string(h[0].Value) != "shop.publish-"+topic+"/s1/1/0/1" {
			t.Errorf("headers %+v", h)
		}
		if time.Since(got[0].Timestamp) > time.Hour {
			t.Errorf("time %v", got[0].Timestamp)
		}
		// With keys, records have keys, too.
		topic = k.topic(1, nil)
		s = k.open(topic, "keys", "KEY,n")
		write(t, s, id(topic, 1, 0, 0), rowsOf("a 1", "NULL 2"))
		if got, want := show(k.records(topic)), `{"key":"a","n":1}={"key":"a","n":1}
{"key":null,"n":2}={"key":null,"n":2}`; got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}

// D-43, D-45.
func TestUpsert(t *testing.T) {
	onEach(t, func(t *testing.T, k *cluster) {
		topic := k.topic(1, nil)
		s := k.open(topic, "mode", "upsert", "keys", "key")
		write(t, s, id(topic, 1, 0, 0), rowsOf("+a 1", "-a 1", "+a 2", "-b 7", "+NULL 5", "-c 1", "+c 2"))
		if got, want := show(k.records(topic)), `{"key":"a"}={"key":"a","n":2}
{"key":"b"}=TOMBSTONE
{"key":null}={"key":null,"n":5}
{"key":"c"}={"key":"c","n":2}`; got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		err := s.Write(context.Background(), id(topic, 1, 0, 1), rowsOf("x 1", "a 1", "a 2"))
		mustFail(t, err, fault.SinkKeyNotUnique, `{"key":"a"}`, `"n":1`, `"n":2`)
		write(t, s, id(topic, 1, 0, 1), rowsOf("a 3")) // the refusal left nothing behind
		if got := k.records(topic); len(got) != 5 {
			t.Errorf("got\n%s", show(got))
		}
	})
}

// -0.0 and 0.0 are one key, so one record key (D-36, A-14).
func TestRecordKeyOfZeros(t *testing.T) {
	f := []batch.Field{{Name: "d", Type: batch.Of(batch.Double)}, {Name: "s", Type: batch.StructOf(batch.Field{Name: "f", Type: batch.Of(batch.Float)})}}
	r, err := newRecords(&options{upsert: true, keys: []string{"d", "s"}}, "p.f", f, false)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, zero := range []float64{0, negativeZero()} {
		d, s := batch.NewBuilder(f[0].Type, 1), batch.NewBuilder(f[1].Type, 1)
		batch.Append(d, zero)
		batch.Append(s.Child(0), float32(zero))
		s.AppendNested()
		out, err := r.build(batch.ID{}, &sink.Rows{Columns: batch.Columns{Fields: f, Cols: []batch.Column{d.Column(), s.Column()}, Len: 1}})
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, string(out[0].Key))
		if negative := strings.Contains(string(out[0].Value), "-0"); negative != (1/zero < 0) {
			t.Errorf("the value is %s", out[0].Value) // the value keeps its sign
		}
	}
	if keys[0] != keys[1] {
		t.Errorf("keys %v", keys)
	}
}

func negativeZero() float64 { return math.Copysign(0, -1) }

// FB-09, D-42: the batch comes again after a crash between the sink's answer and the store's commit.
func TestReplay(t *testing.T) {
	onEach(t, func(t *testing.T, k *cluster) {
		topic := k.topic(2, nil)
		s := k.open(topic)
		write(t, s, id(topic, 1, 0, 0), rowsOf("a 1"))
		write(t, s, id(topic, 1, 0, 1), rowsOf("b 2"))
		write(t, s, again(id(topic, 1, 0, 1)), rowsOf("b 2")) // in the same run
		second := k.open(topic)
		if err := second.Open(context.Background(), id(topic, 1, 0, 0), true); err != nil {
			t.Fatal(err)
		}
		write(t, second, again(id(topic, 2, 0, 1)), rowsOf("b 2"))
		write(t, second, id(topic, 2, 0, 2), rowsOf())
		write(t, second, id(topic, 2, 0, 3), rowsOf("c 3"))
		if got := k.records(topic); len(got) != 3 {
			t.Errorf("got\n%s", show(got))
		}
		third := k.open(topic)
		write(t, third, again(id(topic, 3, 0, 3)), rowsOf("c 3"))
		write(t, third, id(topic, 3, 1, 0), rowsOf("d 4")) // a new generation
		if got := k.records(topic); len(got) != 4 {
			t.Errorf("got\n%s", show(got))
		}
	})
}

// D-18: whose target it is.
func TestIdentity(t *testing.T) {
	onEach(t, func(t *testing.T, k *cluster) {
		topic := k.topic(1, nil)
		s := k.open(topic)
		write(t, s, id(topic, 1, 0, 0), rowsOf("a 1"))
		write(t, s, id(topic, 1, 0, 1), rowsOf("b 2"))
		other := func(number uint64) batch.ID {
			o := id(topic, 1, 0, number)
			o.Store = "s2"
			return o
		}
		thief := k.open(topic)
		mustFail(t, thief.Open(context.Background(), other(0), true), fault.SinkOtherStore, "s1", "s2", "adopt")
		mustFail(t, thief.Write(context.Background(), other(0), rowsOf("x 1")), fault.SinkOtherStore)
		mustFail(t, thief.Write(context.Background(), other(0), rowsOf()), fault.SinkOtherStore)
		write(t, s, id(topic, 1, 0, 2), rowsOf("c 3")) // and the owner was not fenced by that

		// An old backup: batch 3 of today would be other rows than those accepted as batch 3.
		write(t, s, id(topic, 1, 0, 3), rowsOf("d 4"))
		backup := k.open(topic)
		mustFail(t, backup.Open(context.Background(), id(topic, 1, 0, 1), true), fault.SinkAhead, "batch 3")
		mustFail(t, backup.Write(context.Background(), id(topic, 2, 0, 2), rowsOf("x 1")), fault.SinkAhead)

		// Adopted.
		if err := thief.Adopt(context.Background(), other(0), true); err != nil {
			t.Fatal(err)
		}
		mustFail(t, s.Write(context.Background(), id(topic, 1, 0, 4), rowsOf("e 5")), fault.Fenced)
		mustFail(t, s.Write(context.Background(), id(topic, 1, 0, 4), rowsOf("e 5")), fault.Fenced)
		write(t, thief, other(1), rowsOf("x 1"))
		if err := thief.Adopt(context.Background(), other(0), false); err != nil {
			t.Fatal(err)
		}
		fresh := k.open(topic)
		write(t, fresh, other(0), rowsOf("y 1"))
		if got, want := show(k.records(topic)), `{"key":"a","n":1}
{"key":"b","n":2}
{"key":"c","n":3}
{"key":"d","n":4}
{"key":"x","n":1}
{"key":"y","n":1}`; got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}

// D-18: two copies of one stopped store, which number rows of their own. Who comes second with a number is refused, also where its
// own batch may have been sent, by this start or by one before, and whichever was started later.
func TestCopies(t *testing.T) {
	onEach(t, func(t *testing.T, k *cluster) {
		topic := k.topic(1, nil)
		write(t, k.open(topic), id(topic, 1, 0, 0), rowsOf("a 1"))
		tried := func(number uint64, epochs ...uint64) batch.ID {
			i := again(id(topic, epochs[len(epochs)-1], 0, number))
			i.Tried = epochs
			return i
		}
		one, other := k.open(topic), k.open(topic)
		write(t, one, tried(0, 1, 10), rowsOf("a 1"))
		write(t, other, id(topic, 20, 0, 1), rowsOf("b 2"))
		for range 2 {
			mustFail(t, one.Write(context.Background(), tried(1, 10), rowsOf("x 1")), fault.Fenced)
		}
		mustFail(t, k.open(topic).Write(context.Background(), tried(1, 10, 30), rowsOf("x 1")), fault.SinkAhead, "batch 1", "a copy")
		write(t, other, id(topic, 20, 0, 2), rowsOf("c 3")) // that did not fence it
		write(t, k.open(topic), tried(2, 20, 40), rowsOf("x 1"))
		mustFail(t, other.Write(context.Background(), id(topic, 20, 0, 3), rowsOf("x 1")), fault.Fenced)
		if got, want := show(k.records(topic)), `{"key":"a","n":1}
{"key":"b","n":2}
{"key":"c","n":3}`; got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}

// The group's offset is gone: what the tail of the topic says counts, and nothing there is a stop.
func TestIdentityLost(t *testing.T) {
	onEach(t, func(t *testing.T, k *cluster) {
		topic := k.topic(3, nil)
		s := k.open(topic)
		write(t, s, id(topic, 1, 0, 0), rowsOf("a 1"))
		write(t, s, id(topic, 1, 0, 1), rowsOf("b 2"))
		forget := func() {
			k.with(func(ctx context.Context, _ *kgo.Client, admin *kadm.Client) {
				if _, err := admin.DeleteGroup(ctx, s.group()); err != nil {
					t.Fatal(err)
				}
			})
		}
		forget()
		second := k.open(topic)
		write(t, second, again(id(topic, 2, 0, 1)), rowsOf("b 2")) // found in the tail: it is there
		write(t, second, id(topic, 2, 0, 2), rowsOf("c 3"))
		if got := k.records(topic); len(got) != 3 {
			t.Errorf("got\n%s", show(got))
		}
		forget()
		mustFail(t, k.open(topic).Write(context.Background(), id(topic, 3, 0, 1), rowsOf("x 1")), fault.SinkAhead)
		other := id(topic, 1, 0, 5)
		other.Store = "s2"
		mustFail(t, k.open(topic).Write(context.Background(), other, rowsOf("x 1")), fault.SinkOtherStore)
		// The same flow into a topic that remembers nothing at all.
		empty := k.topic(1, nil)
		mustFail(t, k.open(empty).Write(context.Background(), id(empty, 3, 0, 1), rowsOf("x 1")), fault.SinkIdentityLost, "adopt")
		write(t, k.open(empty), id(empty, 3, 0, 0), rowsOf("x 1")) // batch 0 needs no memory
	})
}

// a newer run takes over while the older one still lives.
func TestFenced(t *testing.T) {
	onEach(t, func(t *testing.T, k *cluster) {
		topic := k.topic(1, nil)
		old := k.open(topic)
		write(t, old, id(topic, 1, 0, 0), rowsOf("a 1"))
		newer := k.open(topic)
		write(t, newer, id(topic, 2, 0, 1), rowsOf("b 2"))
		mustFail(t, old.Write(context.Background(), id(topic, 1, 0, 1), rowsOf("x 1")), fault.Fenced, "newer run")
		mustFail(t, old.Write(context.Background(), id(topic, 1, 0, 1), rowsOf()), fault.Fenced)
		write(t, newer, id(topic, 2, 0, 2), rowsOf("c 3"))
		// An older run whose connection broke looks before it takes over again.
		late := k.open(topic)
		late.wrote = true
		mustFail(t, late.Write(context.Background(), id(topic, 1, 0, 1), rowsOf("x 1")), fault.Fenced)
		write(t, newer, id(topic, 2, 0, 3), rowsOf("d 4"))
		if got := k.records(topic); len(got) != 4 {
			t.Errorf("got\n%s", show(got))
		}
	})
}

// A-101, D-56, and what cannot be.
func TestRefusals(t *testing.T) {
	onEach(t, func(t *testing.T, k *cluster) {
		topic := k.topic(1, nil)
		s := k.open(topic, "kafka.compression.type", "none")
		big := rowsOf("a 1", strings.Repeat("x", 1_200_000)+" 2")
		big.Columns.Pos = batch.Positions{Split: []int32{0, 1}, Offset: []int64{7, 8}, Index: []int32{0, 1}}
		big.Splits = []batch.SplitRange{{Split: "in/0"}, {Split: "in/1"}}
		mustFail(t, s.Write(context.Background(), id(topic, 1, 0, 0), big), fault.SinkRecordTooLarge, "row 1", "from 8.1 of in/1", "makes a record of 12000", "the key", "1048576", topic)
		write(t, s, id(topic, 1, 0, 0), rowsOf("a 1"))
		if got := k.records(topic); len(got) != 1 {
			t.Errorf("half a batch is there:\n%s", show(got))
		}
		// The topic's own limit, of 1 MB.
		most := "1000000"
		limited := k.topic(1, map[string]*string{"max.message.bytes": &most})
		s = k.open(limited, "kafka.compression.type", "none", "kafka.max.request.size", "2000000")
		err := s.Write(context.Background(), id(limited, 1, 0, 0), big)
		mustFail(t, err, fault.SinkRecordTooLarge, limited)

		typo := topic + "x"
		mustFail(t, k.open(typo).Open(context.Background(), batch.ID{}, false), fault.UnknownTopic, "did you mean")
		mustFail(t, k.open(typo).Check(context.Background()), fault.UnknownTopic)
		made := k.open(typo, "create_topic", "3", "mode", "upsert", "keys", "key")
		if err := made.Check(context.Background()); err != nil {
			t.Error(err)
		}
		if err := made.Open(context.Background(), batch.ID{}, false); err != nil {
			t.Fatal(err)
		}
		write(t, made, id(typo, 1, 0, 0), rowsOf("a 1"))
		k.with(func(ctx context.Context, _ *kgo.Client, admin *kadm.Client) {
			topics, err := admin.ListTopics(ctx, typo)
			if err != nil || len(topics[typo].Partitions) != 3 {
				t.Errorf("%v %v", topics, err)
			}
		})
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := made.Write(ctx, id(typo, 1, 0, 1), rowsOf("b 1")); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// The brokers go away in the middle: the batch comes again and is there once.
func TestBrokersGoneForAWhile(t *testing.T) {
	onEach(t, func(t *testing.T, k *cluster) {
		if k.fake == nil {
			t.Skip("the embedded broker is broken on purpose; restarts of a real one are tests of the source")
		}
		topic := k.topic(1, nil)
		x := &target{k: k, topic: topic}
		s := k.open(topic, "kafka.delivery.timeout.ms", "500")
		write(t, s, id(topic, 1, 0, 0), rowsOf("a 1"))
		mend := x.Break(t)
		began := time.Now()
		err := s.Write(context.Background(), id(topic, 1, 0, 1), rowsOf("b 2", "c 3"))
		mustFail(t, err, fault.KafkaUnavailable, topic)
		t.Logf("%v after %v", err, time.Since(began))
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		if err := s.Write(ctx, id(topic, 1, 0, 1), rowsOf("b 2", "c 3")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Write does not stop with its context: %v", err)
		}
		mend()
		write(t, s, id(topic, 1, 0, 1), rowsOf("b 2", "c 3"))
		if got := k.records(topic); len(got) != 3 {
			t.Errorf("got\n%s", show(got))
		}
	})
}

func TestOptionProblems(t *testing.T) {
	for _, c := range []struct {
		pairs []string
		code  *fault.Code
	}{
		{[]string{"topic", "t"}, nil},
		{[]string{"topic", "t", "mode", "upsert"}, fault.MissingOption},
		{[]string{"topic", "t", "mode", "upsert", "keys", "a"}, nil},
		{[]string{"mode", "append"}, fault.MissingOption},
		{[]string{"topic", "t", "mode", "merge"}, fault.InvalidOption},
		{[]string{"topic", "t", "create_topic", "0"}, fault.InvalidOption},
		{[]string{"topic", "t", "kafka.acks", "1"}, fault.InvalidOption},
		{[]string{"topic", "t", "kafka.compresion.type", "lz4"}, fault.UnknownOption},
		{[]string{"topic", "t", "kafka.isolation.level", "read_committed"}, fault.UnknownOption},
	} {
		var given []option.Given
		for i := 0; i < len(c.pairs); i += 2 {
			given = append(given, option.Given{Name: c.pairs[i], Value: c.pairs[i+1]})
		}
		v, problems := Options().Parse("sink format kafka", given, fault.Pos{})
		err := append(problems, Validate(v, "b:9092", fault.Pos{})...).Err()
		if c.code == nil && err != nil || c.code != nil && !fault.Of(err, c.code) {
			t.Errorf("%v: got %v, want %v", c.pairs, err, c.code)
		}
	}
}

// D-18: what the topic remembers is read without fencing who writes to it, and nothing is made for it.
func TestRemembered(t *testing.T) {
	onEach(t, func(t *testing.T, k *cluster) {
		topic := k.topic(2, nil)
		missing := topic + "-missing"
		if m, err := k.open(missing, "create_topic", "1").Remembered(context.Background(), id(missing, 1, 0, 0)); err != nil || m.Found {
			t.Errorf("without a topic: %+v %v", m, err)
		}
		_, err := k.open(missing).Remembered(context.Background(), id(missing, 1, 0, 0))
		mustFail(t, err, fault.UnknownTopic)
		s := k.open(topic)
		remembered := func(next uint64, found bool, number uint64, where string) {
			t.Helper()
			m, err := k.open(topic).Remembered(context.Background(), id(topic, 2, 0, next))
			if err != nil || m.Found != found || found && m.Identity != (sink.Identity{Store: "s1", Epoch: 1, Number: number}) || !strings.HasPrefix(m.Where, where) {
				t.Errorf("%+v %v, want %v %d in the %s", m, err, found, number, where)
			}
		}
		remembered(0, false, 0, "group")
		for n := range uint64(3) {
			write(t, s, id(topic, 1, 0, n), rowsOf("a 1"))
			remembered(n+1, true, n, "")
		}
		k.with(func(ctx context.Context, _ *kgo.Client, admin *kadm.Client) {
			if _, err := admin.DeleteGroup(ctx, "shop.publish-"+topic+".sink"); err != nil {
				t.Fatal(err)
			}
		})
		remembered(3, true, 2, "headers")
		remembered(0, false, 0, "group") // a first batch looks for nothing
		write(t, s, id(topic, 1, 0, 3), rowsOf("a 1"))
		remembered(4, true, 3, "")
	})
}
