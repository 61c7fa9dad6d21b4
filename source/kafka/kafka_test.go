package kafka

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/batch"
	"sluice/fault"
	"sluice/internal/broker"
	"sluice/internal/testenv"
	"sluice/option"
	"sluice/source"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// onEach runs a test on the embedded broker and on real Kafka.
func onEach(t *testing.T, f func(t *testing.T, k *cluster)) {
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		b := testenv.Broker(t, broker.Options{})
		k := newCluster(t, b.Brokers())
		k.compact = b.Cluster().Compact
		f(t, k)
	})
	t.Run("real", func(t *testing.T) {
		t.Parallel()
		f(t, newCluster(t, testenv.Kafka(t).Brokers))
	})
}

var topicNumber atomic.Int64

// cluster is a broker as a test sees it.
type cluster struct {
	t       *testing.T
	brokers []string
	client  *kgo.Client
	admin   *kadm.Client
	compact func() // nil on real Kafka, which does so when it likes
}

func newCluster(t *testing.T, brokers []string, opts ...kgo.Opt) *cluster {
	k := &cluster{t: t, brokers: brokers}
	k.client = k.newClient(opts...)
	k.admin = kadm.NewClient(k.client)
	return k
}

func (k *cluster) newClient(opts ...kgo.Opt) *kgo.Client {
	k.t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(k.brokers...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DisableClientMetrics()}, opts...)...)
	if err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(cl.Close)
	return cl
}

// topic creates a topic of a new name.
func (k *cluster) topic(partitions int32, config ...string) string {
	k.t.Helper()
	name := fmt.Sprintf("t%d-%d", time.Now().UnixNano()%1e9, topicNumber.Add(1))
	k.create(name, partitions, config...)
	return name
}

func (k *cluster) create(name string, partitions int32, config ...string) {
	k.t.Helper()
	settings := map[string]*string{}
	for i := 0; i < len(config); i += 2 {
		settings[config[i]] = &config[i+1]
	}
	for i := 0; ; i++ { // a topic that is being deleted is in the way for a moment
		_, err := k.admin.CreateTopic(context.Background(), partitions, 1, settings, name)
		if err == nil {
			return
		}
		if i > 200 {
			k.t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (k *cluster) produce(topic string, partition int32, values ...string) {
	k.t.Helper()
	for _, v := range values {
		k.send(&kgo.Record{Topic: topic, Partition: partition, Value: []byte(v)})
	}
}

// many writes n records of the value v.
func (k *cluster) many(topic string, partition int32, n int) {
	k.t.Helper()
	records := make([]*kgo.Record, n)
	for i := range records {
		records[i] = &kgo.Record{Topic: topic, Partition: partition, Value: []byte("v")}
	}
	k.send(records...)
}

func (k *cluster) send(records ...*kgo.Record) {
	k.t.Helper()
	if err := k.client.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
		k.t.Fatal(err)
	}
}

// transaction is an open transaction over one partition.
type transaction struct {
	*cluster
	cl        *kgo.Client
	topic     string
	partition int32
}

func (k *cluster) begin(topic string, partition int32, values ...string) transaction {
	k.t.Helper()
	cl := k.newClient(kgo.TransactionalID(fmt.Sprintf("x%d", topicNumber.Add(1))+topic), kgo.TransactionTimeout(5*time.Minute))
	x := transaction{k, cl, topic, partition}
	x.check(cl.BeginTransaction())
	for _, v := range values {
		x.check(cl.ProduceSync(context.Background(), &kgo.Record{Topic: topic, Partition: partition, Value: []byte(v)}).FirstErr())
	}
	return x
}

func (x transaction) check(err error) {
	x.t.Helper()
	if err != nil {
		x.t.Fatal(err)
	}
}

// end returns when the marker is in the partition: Kafka answers as soon as it has decided and writes the markers after that.
func (x transaction) end(how kgo.TransactionEndTry) {
	x.t.Helper()
	before := x.watermark()
	x.check(x.cl.EndTransaction(context.Background(), how))
	for ctx := within(x.t, time.Minute); x.watermark() == before; time.Sleep(time.Millisecond) {
		if ctx.Err() != nil {
			x.t.Fatal("the transaction was ended, and its marker is not in the partition")
		}
	}
}

func (x transaction) watermark() int64 {
	x.t.Helper()
	offsets, err := x.admin.ListEndOffsets(within(x.t, time.Minute), x.topic)
	x.check(err)
	o, _ := offsets.Lookup(x.topic, x.partition)
	x.check(o.Err)
	return o.Offset
}

// options parses "name", "value" pairs for a topic.
func (k *cluster) options(topic string, pairs ...string) option.Values {
	k.t.Helper()
	given := []option.Given{{Name: "bootstrapServers", Value: strings.Join(k.brokers, ",")}}
	if topic != "" {
		given = append(given, option.Given{Name: "subscribe", Value: topic})
	}
	for i := 0; i < len(pairs); i += 2 {
		given = append(given, option.Given{Name: pairs[i], Value: pairs[i+1]})
	}
	v, problems := Options().Parse("read_kafka", given, fault.Pos{})
	if err := problems.Err(); err != nil {
		k.t.Fatal(err)
	}
	return v
}

// metaColumns asks for things a source knows of a record.
func metaColumns(names ...string) (out []source.Column) {
	for _, f := range Meta() {
		if slices.Contains(names, f.Name) {
			out = append(out, source.Column{Field: f, Meta: f.Name})
		}
	}
	return out
}

func (k *cluster) open(c Config) *Source {
	k.t.Helper()
	if c.Columns == nil {
		c.Columns = metaColumns("value")
	}
	s, err := New(c)
	if err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(func() { _ = s.Close() })
	return s
}

func (k *cluster) source(topic string, pairs ...string) *Source {
	return k.open(Config{Options: k.options(topic, pairs...), Stream: true})
}

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

func start(t *testing.T, s *Source) batch.Position {
	t.Helper()
	p, err := s.Start(within(t, time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func end(t *testing.T, s *Source) batch.Position {
	t.Helper()
	p, err := s.End(within(t, time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// rows prints a batch's values as partition@offset=value.
func rows(cols batch.Columns, r batch.Range) (out []string) {
	value := cols.Col("value")
	for i := range cols.Len {
		_, partition := splitParts(r.Splits[cols.Pos.Split[i]].Split)
		text := "NULL"
		if !value.IsNull(i) {
			text = string(value.Text(i))
		}
		out = append(out, fmt.Sprintf("%d@%d=%s", partition, cols.Pos.Offset[i], text))
	}
	return out
}

// drain reads from one position to another.
func drain(t *testing.T, s *Source, from, until batch.Position) ([]string, batch.Position) {
	t.Helper()
	var out []string
	for {
		cols, r, bad, err := s.Read(within(t, time.Minute), from, batch.Limit{Until: until})
		if err != nil {
			t.Fatal(err)
		}
		if len(bad) > 0 {
			t.Fatalf("bad records: %+v", bad)
		}
		if len(r.Splits) == 0 {
			if !from.Reached(until) {
				t.Fatalf("Read says the end %v is reached at %v", until, from)
			}
			return out, from
		}
		out = append(out, rows(cols, r)...)
		from = from.With(r)
	}
}

// next reads the next batch of a stream.
func next(t *testing.T, s *Source, from batch.Position, limit batch.Limit) ([]string, batch.Range) {
	t.Helper()
	cols, r, _, err := s.Read(within(t, time.Minute), from, limit)
	if err != nil {
		t.Fatal(err)
	}
	return rows(cols, r), r
}

func equal(t *testing.T, got []string, want ...string) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	same := 0
	for same < min(len(got), len(want)) && got[same] == want[same] {
		same++
	}
	part := func(list []string) []string { return list[same:min(len(list), same+10)] }
	t.Fatalf("%d rows, want %d; from row %d on\ngot  %v\nwant %v", len(got), len(want), same, part(got), part(want))
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
