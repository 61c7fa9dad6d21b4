package kafka

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
	"sluice/format/formattest"
	"sluice/format/json"
	"sluice/internal/broker"
	"sluice/internal/testenv"
	"sluice/option"
	"sluice/sink"
	"sluice/sink/sinktest"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// onEach runs a test on the embedded broker and on real Kafka.
func onEach(t *testing.T, f func(t *testing.T, k *cluster)) {
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		b := testenv.Broker(t, broker.Options{})
		f(t, &cluster{t: t, brokers: b.Brokers(), fake: b})
	})
	t.Run("real", func(t *testing.T) {
		t.Parallel()
		f(t, &cluster{t: t, brokers: testenv.Kafka(t).Brokers})
	})
}

var number atomic.Int64

// cluster is a broker as a test sees it.
type cluster struct {
	t       testing.TB
	brokers []string
	fake    *broker.Broker // nil on real Kafka
	options []kgo.Opt      // of the test's own clients
}

// with runs f with a client that is closed afterwards.
func (k *cluster) with(f func(ctx context.Context, cl *kgo.Client, admin *kadm.Client), opts ...kgo.Opt) {
	k.t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(k.brokers...), kgo.DisableClientMetrics(), kgo.FetchMaxWait(500 * time.Millisecond)}, slices.Concat(k.options, opts)...)...)
	if err != nil {
		k.t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	f(ctx, cl, kadm.NewClient(cl))
}

func (k *cluster) topic(partitions int32, settings map[string]*string) string {
	k.t.Helper()
	name := fmt.Sprintf("out%d-%d", time.Now().UnixNano()%1e9, number.Add(1))
	k.with(func(ctx context.Context, _ *kgo.Client, admin *kadm.Client) {
		if _, err := admin.CreateTopic(ctx, partitions, 1, settings, name); err != nil {
			k.t.Fatal(err)
		}
	})
	return name
}

// records reads everything that is committed.
func (k *cluster) records(topic string) (out []*kgo.Record) {
	k.t.Helper()
	testenv.Records(k.t, topic, (*kadm.Client).ListEndOffsets, func(r *kgo.Record) { out = append(out, r) }, append(k.options, kgo.SeedBrokers(k.brokers...))...)
	return out
}

// show prints records as key=value.
func show(records []*kgo.Record) string {
	var out []string
	for _, r := range records {
		text := string(r.Value)
		if r.Value == nil {
			text = "TOMBSTONE"
		}
		if r.Key != nil {
			text = string(r.Key) + "=" + text
		}
		out = append(out, text)
	}
	return strings.Join(out, "\n")
}

func (k *cluster) given(topic string, pairs ...string) option.Values {
	k.t.Helper()
	given := []option.Given{{Name: "bootstrapServers", Value: strings.Join(k.brokers, ",")}, {Name: "topic", Value: topic}}
	for i := 0; i < len(pairs); i += 2 {
		given = append(given, option.Given{Name: pairs[i], Value: pairs[i+1]})
	}
	v, problems := Options().Parse("sink format kafka", given, fault.Pos{})
	if err := problems.Err(); err != nil {
		k.t.Fatal(err)
	}
	return v
}

var fields = []batch.Field{{Name: "key", Type: batch.Of(batch.String)}, {Name: "n", Type: batch.Of(batch.BigInt)}}

func (k *cluster) open(topic string, pairs ...string) *Sink {
	k.t.Helper()
	s, err := New(Config{Options: k.given(topic, pairs...), Pipeline: "shop", Flow: "publish-" + topic, Fields: fields})
	if err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(func() { _ = s.Close() })
	return s
}

// id is the identity of a batch of store s1.
func id(topic string, epoch, generation, number uint64) batch.ID {
	return batch.ID{Pipeline: "shop", Flow: "publish-" + topic, Store: "s1", Epoch: epoch, Generation: generation, Number: number, Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
}

// again is the identity of a batch that was sent before.
func again(id batch.ID) batch.ID {
	id.Replay = true
	return id
}

// rowsOf makes rows of "key n" pairs; a key of NULL is null. A leading + or - makes it a change feed.
func rowsOf(lines ...string) sink.Rows {
	key, n := batch.NewBuilder(fields[0].Type, 0), batch.NewBuilder(fields[1].Type, 0)
	var out sink.Rows
	for _, line := range lines {
		if line[0] == '+' || line[0] == '-' {
			out.Change = append(out.Change, map[byte]sink.Change{'+': sink.InsertRow, '-': sink.DeleteRow}[line[0]])
			line = line[1:]
		}
		var k string
		var v int64
		fmt.Sscan(line, &k, &v)
		if k == "NULL" {
			key.AppendNull()
		} else {
			key.AppendString(k)
		}
		n.AppendInt(v)
	}
	out.Columns = batch.Columns{Fields: fields, Cols: []batch.Column{key.Column(), n.Column()}, Len: len(lines)}
	if out.Change != nil {
		batch.EncodeKeys(&out.Keys, &out.Columns.Cols[0])
		batch.EncodeKeys(&out.Sequence, &out.Columns.Cols[1])
	}
	return out
}

func write(t *testing.T, s *Sink, id batch.ID, rows sink.Rows) {
	t.Helper()
	if err := s.Write(context.Background(), id, rows); err != nil {
		t.Fatal(err)
	}
}

func mustFail(t *testing.T, err error, code *fault.Code, parts ...string) {
	t.Helper()
	if !fault.Of(err, code) {
		t.Fatalf("got %v, want %s", err, code)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("%q does not say %q", err, p)
		}
	}
}

func TestConformance(t *testing.T) {
	t.Run("embedded", func(t *testing.T) {
		b := testenv.Broker(t, broker.Options{})
		conformance(t, &cluster{brokers: b.Brokers(), fake: b})
	})
	t.Run("real", func(t *testing.T) {
		conformance(t, &cluster{brokers: testenv.Kafka(t).Brokers})
	})
}

// Values as CSV and as they are, with their keys.
func TestFormats(t *testing.T) {
	of := func(ddl string, texts ...string) batch.Columns {
		fields, _ := formattest.Fields(t, ddl)
		built := formattest.Builders(fields, 0)
		var s format.Scalars
		for i, text := range texts {
			if why, ok := s.Append(&built[i%len(fields)], []byte(text)); !ok {
				t.Fatal(why)
			}
		}
		return formattest.Columns(t, fields, built)
	}
	two := of("id INT, s STRING", "1", "a,b", "2", "", "3", "line\nbreak")
	for _, c := range []struct {
		options []string
		rows    batch.Columns
		feed    bool
		want    string
	}{
		{[]string{"format", "csv"}, two, false, "1,\"a,b\"\n2,\"\"\n3,\"line\nbreak\""},
		{[]string{"format", "csv", "sep", ";", "emptyValue", "-", "keys", "id"}, two, false, "{\"id\":1}=1;a,b\n{\"id\":2}=2;-\n{\"id\":3}=3;\"line\nbreak\""},
		{[]string{"format", "raw", "keys", "s"}, of("s STRING, b BINARY", "k", "AP8="), false, "k=\x00\xff"},
		{[]string{"format", "raw"}, of("s STRING", "as it is", ""), false, "as it is\n"},
		{[]string{"format", "raw"}, two, false, fault.UnsupportedTypes.Name},
		{[]string{"format", "raw", "keys", "id"}, two, false, fault.UnsupportedTypes.Name},
		{[]string{"format", "raw"}, of("s STRING", "x"), true, fault.UnsupportedTypes.Name},
		{[]string{"format", "raw", "keys", "id", "mode", "upsert"}, two, true, fault.UnsupportedTypes.Name},
		{[]string{"sep", ";"}, two, false, fault.InvalidOption.Name},
		{[]string{"format", "csv", "bigint_as_text", "true"}, two, false, fault.InvalidOption.Name},
		{[]string{"format", "csv", "sep", "\n"}, two, false, fault.InvalidOption.Name},
	} {
		k := &cluster{t: t, brokers: []string{"127.0.0.1:1"}}
		s, err := New(Config{Options: k.given("x", c.options...), Pipeline: "p", Flow: "f", Fields: c.rows.Fields, Feed: c.feed})
		got := ""
		if err == nil {
			var records []*kgo.Record
			records, err = s.records.build(batch.ID{}, &sink.Rows{Columns: c.rows})
			got = show(records)
			s.Close()
		}
		if err != nil {
			got = fault.From(err).Code.Name
		}
		if got != c.want {
			t.Errorf("%v: got\n%s\nwant\n%s", c.options, got, c.want)
		}
	}
}

func conformance(t *testing.T, k *cluster) {
	sinktest.Run(t, sinktest.Kind{OnceOnly: true, Feed: true, New: func(t *testing.T, fields []batch.Field) sinktest.Target {
		k.t = t
		return &target{k, k.topic(1, nil), fields, endOfTransaction()}
	}})
}

// endOfTransaction is a network that can lose the answer to the end of a transaction.
func endOfTransaction() *sinktest.Lossy {
	return sinktest.NewLossy(func(sent []byte) bool {
		return len(sent) > 6 && kmsg.Key(binary.BigEndian.Uint16(sent[4:])) == kmsg.EndTxn // behind the size
	})
}

// target is a topic of the conformance suite.
type target struct {
	k      *cluster
	topic  string
	fields []batch.Field
	net    *sinktest.Lossy
}

// Doubt implements sinktest.Doubtful.
func (x *target) Doubt(*testing.T) func() bool { return x.net.Lose() }

func (x *target) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return x.net.Conn(c), nil
}

func (x *target) Open(t *testing.T) sink.Sink {
	t.Helper()
	s, err := New(Config{Options: x.k.given(x.topic, "kafka.delivery.timeout.ms", "1000"), Pipeline: "conformance", Flow: x.topic, Fields: x.fields,
		Dial: x.dial})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (x *target) Read(t *testing.T, feed bool) batch.Columns {
	t.Helper()
	fields := x.fields
	if feed {
		fields = sink.FieldsWithChange(fields)
	}
	decoder, err := json.NewDecoder(json.Options{Fields: fields, CorruptRecord: -1, NumbersAsStrings: true})
	if err != nil {
		t.Fatal(err)
	}
	var values [][]byte
	for _, r := range x.k.records(x.topic) {
		values = append(values, r.Value)
	}
	builders := make([]batch.Builder, len(fields))
	for i, f := range fields {
		builders[i].Init(f.Type, 0)
	}
	if bad := decoder.Decode(values, builders); len(bad) > 0 {
		t.Fatalf("%s: %v", values[bad[0].Index], bad[0].Err)
	}
	out := batch.Columns{Fields: fields, Len: len(values)}
	for i := range builders {
		out.Cols = append(out.Cols, builders[i].Column())
	}
	return out
}

func (x *target) Break(t *testing.T) func() {
	if x.k.fake == nil {
		return nil
	}
	var broken atomic.Bool
	broken.Store(true)
	x.k.fake.Cluster().ControlKey(int16(kmsg.Produce), func(req kmsg.Request) (kmsg.Response, error, bool) {
		x.k.fake.Cluster().KeepControl()
		if !broken.Load() {
			return nil, nil, false
		}
		answer := req.ResponseKind().(*kmsg.ProduceResponse)
		for _, t := range req.(*kmsg.ProduceRequest).Topics {
			at := kmsg.NewProduceResponseTopic()
			at.Topic, at.TopicID = t.Topic, t.TopicID
			for _, p := range t.Partitions {
				ap := kmsg.NewProduceResponseTopicPartition()
				ap.Partition, ap.ErrorCode = p.Partition, kerr.NotEnoughReplicas.Code
				at.Partitions = append(at.Partitions, ap)
			}
			answer.Topics = append(answer.Topics, at)
		}
		return answer, nil, true
	})
	return func() { broken.Store(false) }
}
