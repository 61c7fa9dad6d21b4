package main

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/internal/testenv"
)

// letting keeps what it refuses, and sends it to a topic.
const letting = `CREATE STREAMING TABLE t AS SELECT id, 10 / d AS q
FROM STREAM read_kafka(subscribe => 'TOPIC', format => 'json', schema => 'id INT, d INT', mode => 'QUARANTINE', deadLetterTopic => 'TOPIC_dead');
`

// lettingSite is a pipeline with small batches beside a cluster.
func lettingSite(t *testing.T, kafka *testenv.Cluster, sql string) *site {
	t.Helper()
	return newSite(t, kafka, map[string]string{
		"pipeline.yml": "name: TOPIC\nstorage: state\nlibraries:\n  - glob: {include: flows.sql}\ncontinuous: true\nconfiguration:\n  sluice.max_batch_rows: '20'\n" +
			"  sluice.sync_interval: 10ms\n  pipelines.trigger.interval: 5ms\n",
		"flows.sql": sql,
	})
}

// deadLetters is how many of a flow's dead letters wait, -1 when the daemon does not say.
func (s *site) deadLetters(flow string) int64 { return s.quarantine(flow).DeadLetters }

// header is the last header of a name.
func header(r *kgo.Record, name string) (value string) {
	for _, h := range r.Headers {
		if h.Key == name {
			value = string(h.Value)
		}
	}
	return value
}

// one broken record between 1,000 good ones, for each policy. Fail stops at it, and at the same place again; drop counts it; the dead-letter topic gets
// its bytes, key and headers, and where it stood, when, and why. dry-run --connect says when there is no such topic.
func TestOneBrokenRecordAmongAThousand(t *testing.T) {
	s := lettingSite(t, &testenv.Cluster{Brokers: []string{brokerProcess(t)}}, letting+
		`CREATE STREAMING TABLE dropping AS SELECT id FROM STREAM read_kafka(subscribe => 'TOPIC', format => 'json', schema => 'id INT', mode => 'DROPMALFORMED');
CREATE STREAMING TABLE failing AS SELECT id FROM STREAM read_kafka(subscribe => 'TOPIC', format => 'json', schema => 'id INT');`)
	s.create(s.name, 1)
	var records []*kgo.Record
	for i := range 1001 {
		records = append(records, &kgo.Record{Topic: s.name, Value: fmt.Appendf(nil, `{"id":%d,"d":1}`, i)})
	}
	at := time.UnixMilli(1_700_000_000_123)
	broken := &kgo.Record{Topic: s.name, Key: []byte("k\x00\xff"), Value: []byte("{\"id\":500,\xfe"), Timestamp: at, Headers: []kgo.RecordHeader{{Key: "trace", Value: []byte{0, 1}}, {Key: "trace"}}}
	records[500] = broken
	if err := s.client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if code, out := s.verb("dry-run", "--connect"); code == exitOK || !strings.Contains(out, "UNKNOWN_TOPIC_OR_PARTITION") || !strings.Contains(out, "flows.sql:2:") {
		t.Errorf("without the topic: exit %d\n%s", code, out)
	}
	s.create(s.name+"_dead", 1)
	if code, out := s.verb("dry-run", "--connect"); code != exitOK {
		t.Errorf("with the topic: exit %d\n%s", code, out)
	}
	for range 2 {
		d := s.start()
		s.until("all rows", func() bool {
			return s.query("SELECT count(*) FROM t") == "1000" && s.query("SELECT count(*) FROM dropping") == "1000" && s.flow("failing").Status == "FAILED"
		})
		s.until("the dead letter", func() bool { return s.deadLetters("t") == 0 })
		if got, why := s.query("SELECT count(*) FROM failing"), s.flow("failing").Reason; got != "500" || !strings.Contains(why, "at 500 of "+s.name+"/0") {
			t.Errorf("failing has %s rows: %s", got, why)
		}
		d.stop(exitFailure)
	}
	letters := s.committed(s.name + "_dead")
	if len(letters) != 1 {
		t.Fatalf("%d dead letters", len(letters))
	}
	r := letters[0]
	if string(r.Key) != string(broken.Key) || string(r.Value) != string(broken.Value) || len(r.Headers) < 2 || r.Headers[0].Key != "trace" || string(r.Headers[0].Value) != "\x00\x01" || r.Headers[1].Value != nil {
		t.Errorf("the dead letter is %q %q %v", r.Key, r.Value, r.Headers)
	}
	for name, want := range map[string]string{
		"__connect.errors.topic": s.name, "__connect.errors.partition": "0", "__connect.errors.offset": "500", "__connect.errors.connector.name": s.name + ".t",
		"__connect.errors.exception.class.name": "MALFORMED_RECORD_IN_PARSING", "__streams.errors.exception": "MALFORMED_RECORD_IN_PARSING",
		"__streams.errors.topic": s.name, "__streams.errors.partition": "0", "__streams.errors.offset": "500",
		"sluice.record.timestamp": strconv.FormatInt(at.UnixMilli(), 10),
	} {
		if got := header(r, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got := header(r, "__connect.errors.exception.message"); got == "" || got != header(r, "__streams.errors.message") {
		t.Errorf("the message is %q", got)
	}
}

// D-15, D-18: kill -9 at any moment while records are refused and sent: a read_committed consumer sees each dead letter once.
func TestKilledDaemonSendsEachDeadLetterOnce(t *testing.T) {
	s := lettingSite(t, &testenv.Cluster{Brokers: []string{brokerProcess(t)}}, letting)
	s.create(s.name, 2)
	s.create(s.name+"_dead", 2)
	s.killWhileSending(8, 500)
}

// killWhileSending puts so many records before each of some kills, every second of which is refused, and counts what arrives.
func (s *site) killWhileSending(kills, records int) {
	s.t.Helper()
	refused := map[string]int{}
	for _, r := range s.committed(s.name + "_dead") { // which are sent once, too
		refused[string(r.Value)] = 0
	}
	all := kills*records/2 + len(refused)
	for round := range kills {
		var values []string
		for i := range records {
			value := fmt.Sprintf(`{"id":%d,"d":%d}`, round*records+i, i%2)
			if i%2 == 0 {
				refused[value] = 0
			}
			values = append(values, value)
		}
		s.put(s.name, 2, values...)
		d := s.start()
		sent := s.flow("t.dlq").Written
		s.until("the daemon", func() bool { f := s.flow("t.dlq"); return f.Status != "" && f.Status != "not running" })
		if round%2 == 1 { // or while it starts
			s.until("a dead letter", func() bool { return s.flow("t.dlq").Written > sent })
		}
		time.Sleep(time.Duration(s.random.Int64N(int64(100 * time.Millisecond)))) // any moment: nothing depends on which
		d.kill()
	}
	d := s.start()
	s.until("all rows", func() bool { return s.query("SELECT count(*) FROM t WHERE id >= 0") == strconv.Itoa(kills*records/2) })
	s.until("all dead letters", func() bool { return s.deadLetters("t") == 0 })
	d.stop(exitOK)
	for _, r := range s.committed(s.name + "_dead") {
		refused[string(r.Value)]++
	}
	if len(refused) != all {
		s.t.Errorf("%d records among the dead letters, %d were refused", len(refused), all)
	}
	for value, n := range refused {
		if n != 1 {
			s.t.Errorf("%s is sent %d times", value, n)
		}
	}
}

// D-30: what waits for a topic that is not there takes room in the store, and none in memory; nothing else waits for it. When the topic is there, all of it goes there.
func TestMemoryOfDeadLetters(t *testing.T) {
	m := memory()
	n := m.of(1_000_000)
	s := m.site(t, letting+`CREATE STREAMING TABLE other AS SELECT d FROM STREAM read_kafka(subscribe => 'TOPIC', format => 'json', schema => 'd INT');`, nil)
	text := strings.Repeat("x", 500)
	s.fill(s.name, s.lines("in", n, func(i int) string { return fmt.Sprintf(`{"id":"no number %d","d":1,"text":%q}`, i, text) }))
	d := s.start()
	s.written(n, "other")
	s.until("the quarantine", func() bool { return s.quarantined("t") == int64(n) && s.deadLetters("t") == int64(n) })
	s.until("the missing topic to be told", func() bool { return strings.Contains(s.flow("t.dlq").Reason, "UNKNOWN_TOPIC_OR_PARTITION") })
	if series := `sluice_dead_letters{flow="t"} ` + strconv.FormatFloat(float64(n), 'g', -1, 64) + "\n"; !strings.Contains(s.get(d.address()+"/metrics"), series) {
		t.Errorf("the metrics have no %s", series)
	}
	m.within(d)
	d.stop(exitFailure)
	s.create(s.name+"_dead", 2)
	d = s.start() // which tries at once
	s.until("the dead letters", func() bool { return s.deadLetters("t") == 0 })
	m.within(d)
	d.stop(exitOK)
	if got := len(s.committed(s.name + "_dead")); got != n {
		t.Errorf("%d dead letters of %d", got, n)
	}
}

// A dead-letter topic that its flow reads as well would come round for ever; options of a producer, the password among them, stand beside it, and nowhere else.
func TestDeadLetterTopicsThatAreRefused(t *testing.T) {
	const source = `CREATE STREAMING TABLE t AS SELECT * FROM STREAM read_kafka(%s, bootstrapServers => 'h:1', format => 'json', schema => 'id INT', mode => 'QUARANTINE'%s);`
	for _, c := range []struct{ topics, more, want string }{
		{"subscribe => 'a, dead'", ", deadLetterTopic => 'dead'", "the dead-letter topic is read as well"},
		{"subscribePattern => 'd.*'", ", deadLetterTopic => 'dead'", "the dead-letter topic is read as well"},
		{"subscribe => 'a'", ", kafka.max.request.size => '2000000'", "read_kafka has no option"},
		{"subscribe => 'a'", ", deadLetterTopic => 'dead', kafka.max.request.size => 'many'", "is not a whole number"},
		{"subscribe => 'a'", ", deadLetterTopic => 'dead', kafka.max.request.size => '2000000', kafka.security.protocol => 'SASL_SSL', kafka.sasl.mechanism => 'PLAIN', kafka.sasl.username => 'u', kafka.sasl.password => 'hush'", ""},
		{"subscribe => 'a'", ", deadLetterTopic => 'dead', kafka.sasl.password => 'hush'", "SASL settings are given without a security protocol"},
	} {
		code, out, errs := command("dry-run", "--spec", pipeline(t, fmt.Sprintf(source, c.topics, c.more)))
		if (code == exitOK) != (c.want == "") || !strings.Contains(errs, c.want) || strings.Contains(out+errs, "hush") || strings.Count(errs, "INVALID") > 1 || strings.Count(errs, "MISSING") > 1 {
			t.Errorf("%s%s: exit %d\n%s%s", c.topics, c.more, code, out, errs)
		}
	}
}
