package broker_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/fault"
	"sluice/internal/broker"
	"sluice/internal/broker/topic"
	"sluice/internal/testenv"
)

var ctx = context.Background()

func start(t *testing.T, o broker.Options) *broker.Broker {
	t.Helper()
	b, err := broker.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func cat(t *testing.T, b *broker.Broker, name string) string {
	t.Helper()
	var out bytes.Buffer
	if err := topic.Cat(ctx, b.Brokers(), name, &out, topic.CatOptions{}); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

func file(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "seed.json")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// A restart keeps topics, their ids and their records.
func TestRestartKeepsEverything(t *testing.T) {
	o := broker.Options{DataDir: t.TempDir(), Listen: fmt.Sprintf("127.0.0.1:%d", testenv.FreePort(t)), Topics: map[string]int32{"made": 3}}
	b := start(t, o)
	if got := b.Brokers()[0]; got != o.Listen {
		t.Errorf("listens on %s, not %s", got, o.Listen)
	}
	if n, err := topic.Put(ctx, b.Brokers(), "t", strings.NewReader("{\"a\":1}\n\n{\"a\":2}\r\n"), topic.PutOptions{Create: 2}); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	before, err := topic.List(ctx, b.Brokers())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := broker.Start(broker.Options{DataDir: o.DataDir}); !fault.Of(err, fault.BrokerData) {
		t.Errorf("two brokers in one folder: %v", err)
	}
	b.Close()
	b = start(t, o)
	defer b.Close()
	after, err := topic.List(ctx, b.Brokers())
	if err != nil || len(after) != 2 || fmt.Sprint(before) != fmt.Sprint(after) {
		t.Errorf("before %v\nafter  %v %v", before, after, err)
	}
	if after[1].Name != "t" || after[1].Partitions != 2 || after[1].Records != 2 {
		t.Errorf("%+v", after[1])
	}
}

// A reader of committed records gets none of a transaction that was aborted, however small the answers are that it asks for.
func TestAbortedRecordsAreToldInSmallAnswers(t *testing.T) {
	b := start(t, broker.Options{Topics: map[string]int32{"t": 1}})
	defer b.Close()
	for i, how := range []kgo.TransactionEndTry{kgo.TryAbort, kgo.TryCommit, kgo.TryAbort} {
		cl, err := kgo.NewClient(kgo.SeedBrokers(b.Brokers()...), kgo.TransactionalID(fmt.Sprint(i)))
		if err == nil {
			err = cl.BeginTransaction()
		}
		for range 3 {
			if err == nil {
				err = cl.ProduceSync(ctx, &kgo.Record{Topic: "t", Value: fmt.Append(nil, i)}).FirstErr()
			}
		}
		if err == nil {
			err = cl.EndTransaction(ctx, how)
		}
		if err != nil {
			t.Fatal(err)
		}
		cl.Close()
	}
	for _, size := range []int32{1, 100, 200, 1 << 20} {
		cl, err := kgo.NewClient(kgo.SeedBrokers(b.Brokers()...), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxBytes(size), kgo.FetchMaxPartitionBytes(size),
			kgo.KeepControlRecords(), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"t": {0: kgo.NewOffset().AtStart()}}))
		if err != nil {
			t.Fatal(err)
		}
		got, at := "", int64(0)
		for at < 11 { // the last marker
			fetches := cl.PollFetches(ctx)
			if err := fetches.Err(); err != nil {
				t.Fatal(err)
			}
			fetches.EachRecord(func(r *kgo.Record) {
				if at = r.Offset; !r.Attrs.IsControl() {
					got += string(r.Value)
				}
			})
		}
		cl.Close()
		if got != "111" {
			t.Errorf("with answers of %d bytes it gets %s", size, got)
		}
	}
}

func TestListen(t *testing.T) {
	for _, listen := range []string{"nonsense", "127.0.0.1:port"} {
		if _, err := broker.Start(broker.Options{Listen: listen}); !fault.Of(err, fault.BrokerListen) {
			t.Errorf("%s: %v", listen, err)
		}
	}
	b := start(t, broker.Options{Listen: fmt.Sprintf(":%d", testenv.FreePort(t))})
	defer b.Close()
	if !strings.HasPrefix(b.Brokers()[0], "127.0.0.1:") {
		t.Errorf("all addresses are advertised as %s", b.Brokers())
	}
	if _, err := broker.Start(broker.Options{Listen: b.Brokers()[0]}); !fault.Of(err, fault.BrokerListen) {
		t.Errorf("a port in use: %v", err)
	}
}

func TestPutAndCat(t *testing.T) {
	b := start(t, broker.Options{})
	defer b.Close()
	_, err := topic.Put(ctx, b.Brokers(), "ticks", strings.NewReader("{}"), topic.PutOptions{})
	if !fault.Of(err, fault.UnknownTopic) {
		t.Errorf("a topic that does not exist: %v", err)
	}
	in := `{"k":"a","v":1}` + "\n" + `{"k":7}` + "\n" + `{"v":2}` + "\n"
	if n, err := topic.Put(ctx, b.Brokers(), "ticks", strings.NewReader(in), topic.PutOptions{Key: "k", Create: 1}); n != 3 || err != nil {
		t.Fatal(n, err)
	}
	if n, err := topic.Put(ctx, b.Brokers(), "ticks", strings.NewReader(in), topic.PutOptions{IfEmpty: true}); n != 0 || err != nil {
		t.Errorf("a topic with records: %d written, %v", n, err)
	}
	if got := cat(t, b, "ticks"); got+"\n" != in {
		t.Errorf("got %s", got)
	}
	if n, err := topic.Put(ctx, b.Brokers(), "empty", strings.NewReader("{}"), topic.PutOptions{Create: 3, IfEmpty: true}); n != 1 || err != nil {
		t.Errorf("a new topic: %d written, %v", n, err)
	}
	var out bytes.Buffer
	if err := topic.Cat(ctx, b.Brokers(), "ticks", &out, topic.CatOptions{Records: true, Limit: 2}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], `{"topic":"ticks","partition":0,"offset":0,"timestamp":"`) ||
		!strings.Contains(lines[0], `"key":"a","value":"{\"k\":\"a\",\"v\":1}"`) || !strings.Contains(lines[1], `"key":"7"`) {
		t.Errorf("%s", out.String())
	}
	_, err = topic.Put(ctx, b.Brokers(), "ticks", strings.NewReader("{}\nnonsense"), topic.PutOptions{Key: "k"})
	if !fault.Of(err, fault.SeedFile) || !strings.Contains(err.Error(), "input:2:1") {
		t.Errorf("%v", err)
	}
	following, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	if err := topic.Cat(following, b.Brokers(), "ticks", &out, topic.CatOptions{Follow: true}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("following ended with %v", err)
	}
}

// D-15: the verb that people look at a bad record with shows all of it: also a header whose name is no text.
func TestCatOfHeadersThatAreNoText(t *testing.T) {
	b := start(t, broker.Options{Topics: map[string]int32{"t": 1}})
	defer b.Close()
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Brokers()...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	headers := []kgo.RecordHeader{{Key: "a", Value: []byte("1")}, {Key: "\xff", Value: []byte("\xfe")}, {Key: "a"}}
	if err := client.ProduceSync(ctx, &kgo.Record{Topic: "t", Value: []byte("v"), Headers: headers}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := topic.Cat(ctx, b.Brokers(), "t", &out, topic.CatOptions{Records: true}); err != nil {
		t.Fatal(err)
	}
	want := `"key":null,"value":"v","base64":["header name 1","header /w=="],"headers":[{"key":"a","value":"1"},{"key":"/w==","value":"/g=="},{"key":"a","value":null}]}`
	if !strings.HasSuffix(strings.TrimSpace(out.String()), want) {
		t.Errorf("%s", out.String())
	}
}

func TestParseSeed(t *testing.T) {
	for text, want := range map[string]broker.Seed{
		"ticks=data/a.json":     {Topic: "ticks", File: "data/a.json"},
		"ticks=data/a.json@500": {Topic: "ticks", File: "data/a.json", Rate: 500},
		"ticks=a@b.json@1":      {Topic: "ticks", File: "a@b.json", Rate: 1},
	} {
		if got, err := broker.ParseSeed(text); err != nil || got != want {
			t.Errorf("%s: %+v %v", text, got, err)
		}
	}
	for _, text := range []string{"", "ticks", "ticks=", "=a", "ticks=a@", "ticks=a@x", "ticks=a@0", "ticks=a@-1", "ticks=@5"} {
		if _, err := broker.ParseSeed(text); !fault.Of(err, fault.SeedFile) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A topic is filled once: not again at the next start, and not where somebody else made it.
func TestSeedOnlyWhereAbsent(t *testing.T) {
	dir := t.TempDir()
	s := broker.Seed{Topic: "ticks", File: file(t, "1", "2", "", "3"), Partitions: 2}
	b := start(t, broker.Options{DataDir: dir})
	for want := 3; want >= 0; want -= 3 {
		if n, err := b.Seed(ctx, s); n != want || err != nil {
			t.Fatalf("%d records, want %d: %v", n, want, err)
		}
	}
	b.Close()
	b = start(t, broker.Options{DataDir: dir})
	defer b.Close()
	if n, err := b.Seed(ctx, s); n != 0 || err != nil {
		t.Fatal(n, err)
	}
	if got := cat(t, b, "ticks"); got != "1\n3\n2" {
		t.Errorf("got %q", got)
	}
	if _, err := topic.Put(ctx, b.Brokers(), "mine", strings.NewReader("x"), topic.PutOptions{Create: 1}); err != nil {
		t.Fatal(err)
	}
	s.Topic = "mine"
	if n, err := b.Seed(ctx, s); n != 0 || err != nil || cat(t, b, "mine") != "x" {
		t.Errorf("%d records went into a topic of somebody else: %v", n, err)
	}
	if _, err := b.Seed(ctx, broker.Seed{Topic: "new", File: "/nowhere"}); !fault.Of(err, fault.SeedFile) {
		t.Error(err)
	}
}

// A seed that was cut at any point is completed by the next start, and nothing is there twice.
func TestSeedIsCompleted(t *testing.T) {
	var lines []string
	for i := range 40 {
		lines = append(lines, fmt.Sprintf(`{"k":"key%d","n":%d}`, i%7, i))
	}
	for _, key := range []string{"", "k"} {
		whole := start(t, broker.Options{})
		s := broker.Seed{Topic: "ticks", File: file(t, lines...), Key: key, Partitions: 3}
		if n, err := whole.Seed(ctx, s); n != 40 || err != nil {
			t.Fatal(n, err)
		}
		want := cat(t, whole, "ticks")
		whole.Close()
		dir := t.TempDir()
		cuts := 0
		for round := 0; ; round++ {
			b := start(t, broker.Options{DataDir: dir})
			cutting, cancel := context.WithTimeout(ctx, 60*time.Millisecond)
			s.Rate = 100 // 5 records every 50 ms
			_, err := b.Seed(cutting, s)
			cancel()
			if err == nil {
				if got := cat(t, b, "ticks"); got != want {
					t.Fatalf("key %q, after %d cuts:\n%s\nwant\n%s", key, cuts, got, want)
				}
				b.Close()
				break
			}
			if !errors.Is(err, context.DeadlineExceeded) || round > 100 {
				t.Fatal(err)
			}
			cuts++
			b.Close()
		}
		if cuts < 2 {
			t.Errorf("only %d cuts", cuts)
		}
	}
	// Between the note and the topic, and with a file that is another one by then.
	dir := t.TempDir()
	b := start(t, broker.Options{DataDir: dir})
	defer b.Close()
	s := broker.Seed{Topic: "ticks", File: file(t, "1", "2", "3"), Rate: 1}
	cut, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	if _, err := b.Seed(cut, s); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.File, []byte("4\n5\n6\n7\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Seed(ctx, s); !fault.Of(err, fault.SeedFile) {
		t.Errorf("the file changed: %v", err)
	}
}
