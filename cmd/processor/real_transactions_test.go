package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/admin"
	"sluice/eventlog"
	"sluice/fault"
	"sluice/internal/testenv"
)

// numbered is a record {"k":n} for one partition.
func numbered(topic string, partition int32, k int) *kgo.Record {
	return &kgo.Record{Topic: topic, Partition: partition, Value: fmt.Appendf(nil, `{"k":%d}`, k)}
}

// produce writes records, and returns the offset of the last one.
func (s *site) produce(records ...*kgo.Record) int64 {
	s.t.Helper()
	results := s.client.ProduceSync(s.t.Context(), records...)
	if err := results.FirstErr(); err != nil {
		s.t.Fatal(err)
	}
	return results[len(results)-1].Record.Offset
}

// transaction is one of somebody else's.
type transaction struct {
	t      *testing.T
	client *kgo.Client
	id     string
	first  int64 // offset of its first record
}

// begin opens a transaction and writes records in it.
func (s *site) begin(timeout time.Duration, records ...*kgo.Record) *transaction {
	s.t.Helper()
	x := &transaction{t: s.t, id: fmt.Sprintf("%s-of-%d", records[0].Topic, time.Now().UnixNano())}
	var err error
	x.client, err = kgo.NewClient(append(s.options, kgo.TransactionalID(x.id), kgo.TransactionTimeout(timeout), kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	x.check(err)
	s.t.Cleanup(x.client.Close)
	x.check(x.client.BeginTransaction())
	results := x.client.ProduceSync(s.t.Context(), records...)
	x.check(results.FirstErr())
	x.first = results[0].Record.Offset
	return x
}

func (x *transaction) check(err error) {
	x.t.Helper()
	if err != nil {
		x.t.Fatal(err)
	}
}

func (x *transaction) end(how kgo.TransactionEndTry) {
	x.t.Helper()
	x.check(x.client.EndTransaction(x.t.Context(), how))
}

// numbers are the k of what a read_committed consumer sees of a topic, sorted.
func (s *site) numbers(topic string) (out []int) {
	s.t.Helper()
	for _, r := range s.committed(topic) {
		var row struct{ K int }
		if err := json.Unmarshal(r.Value, &row); err != nil {
			s.t.Fatal(err)
		}
		out = append(out, row.K)
	}
	slices.Sort(out)
	return out
}

// ks are the k of a table, sorted, as numbers has them.
func (s *site) ks(from string) (out []int) {
	for line := range strings.SplitSeq(s.query("SELECT k FROM "+from), "\n") {
		if k, err := strconv.Atoi(line); err == nil {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}

// holds waits until a table has these k and no others.
func (s *site) holds(from string, want ...int) {
	s.t.Helper()
	s.until(fmt.Sprintf("%v in %s", want, from), func() bool { return slices.Equal(s.ks(from), want) })
}

// address is where a daemon listens, "" before it does.
func (d *running) address() string {
	_, address, ok := strings.Cut(d.output(), "status at http://")
	if !ok {
		return ""
	}
	address, _, _ = strings.Cut(address, "/")
	return "http://" + address
}

// api is the status of every flow as the daemon answers it, nothing before it does. It costs less than the verb.
func (d *running) api() map[string]admin.Flow {
	flows := map[string]admin.Flow{}
	answer, err := http.Get(d.address() + "/api/status")
	if err != nil {
		return flows
	}
	defer answer.Body.Close()
	var status admin.Status
	if err := json.NewDecoder(answer.Body).Decode(&status); err != nil {
		return flows
	}
	for _, f := range status.Flows {
		flows[f.Name] = f
	}
	return flows
}

func (d *running) flow(name string) admin.Flow { return d.api()[name] }

// waits reports whether a flow says that it waits for a transaction.
func (d *running) waits(flow string) bool {
	return strings.HasPrefix(d.flow(flow).Reason, "waiting for an open transaction on ")
}

// heldSince is the metric of a partition that an open transaction holds up; zero when there is none.
func (s *site) heldSince(d *running, flow, split string) time.Time {
	s.t.Helper()
	series := regexp.MustCompile(regexp.QuoteMeta(fmt.Sprintf(`sluice_open_transaction_start_time_seconds{flow=%q,split=%q} `, flow, split)) + `(\S+)`)
	found := series.FindStringSubmatch(s.get(d.address() + "/metrics"))
	if found == nil {
		return time.Time{}
	}
	seconds, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return time.UnixMilli(int64(seconds * 1000))
}

// D-7, D-12, A-61, A-62, A-65: transactions of others. A drain waits for the one that is open before its end, and ends when it was
// committed, aborted by its producer, or by the brokers; its partitions end in control records. A live flow that reads committed
// records waits there, too, goes on in the other partitions, and says what it waits for; one that reads uncommitted ones
// does not wait.
func TestRealTransactions(t *testing.T) {
	t.Parallel()
	drain := func(name string) string {
		return fmt.Sprintf("CREATE FLOW of_%s AS INSERT ONCE INTO drained BY NAME SELECT '%[1]s' AS name, k FROM read_kafka(subscribe => 'TOPIC_%[1]s', format => 'json', schema => 'k BIGINT');\n", name)
	}
	s := newSite(t, testenv.Kafka(t), map[string]string{
		"pipeline.yml": "name: TOPIC\nstorage: state\nlibraries:\n  - glob: {include: flows.sql}\ncontinuous: true\nconfiguration: {pipelines.trigger.interval: 5ms}\n",
		"flows.sql": "CREATE STREAMING TABLE drained;\n" + drain("committed") + drain("aborted") + drain("expired") + `
CREATE STREAMING TABLE clean AS SELECT k FROM STREAM read_kafka(subscribe => 'TOPIC_live', format => 'json', schema => 'k BIGINT');
CREATE STREAMING TABLE dirty AS SELECT k FROM STREAM read_kafka(subscribe => 'TOPIC_live', format => 'json', schema => 'k BIGINT', 'kafka.isolation.level' => 'read_uncommitted');
CREATE SINK out FORMAT kafka OPTIONS (topic => 'TOPIC_out', create_topic => 1, mode => 'append');
CREATE FLOW publish AS INSERT INTO SINK out BY NAME SELECT k FROM STREAM(clean);`})
	began := time.Now().Add(-time.Second) // brokers tell milliseconds
	open := map[string]*transaction{}
	for name, timeout := range map[string]time.Duration{"committed": 10 * time.Minute, "aborted": 10 * time.Minute, "expired": time.Second} {
		topic := s.name + "_" + name
		s.create(topic, 3)
		s.begin(10*time.Minute, numbered(topic, 0, -1)).end(kgo.TryAbort)
		s.produce(numbered(topic, 0, 1))
		s.begin(10*time.Minute, numbered(topic, 0, 2), numbered(topic, 1, 5)).end(kgo.TryCommit) // partition 1 ends with its marker
		s.begin(10*time.Minute, numbered(topic, 2, -2)).end(kgo.TryAbort)                        // partition 2 has nothing else
		open[name] = s.begin(timeout, numbered(topic, 0, 3))
		s.produce(numbered(topic, 0, 4))
	}
	live := s.name + "_live"
	s.create(live, 2)
	d := s.start()

	says := func(topic string, x *transaction) string {
		return fmt.Sprintf("waiting for an open transaction on %s/0 at offset %d, open since ", topic, x.first)
	}
	waits := func(flow, topic string, x *transaction) {
		t.Helper()
		s.until(flow+" to say what it waits for", func() bool {
			why := d.flow(flow).Reason
			return strings.HasPrefix(why, says(topic, x)) && strings.Contains(why, "transactional id "+x.id)
		})
		if since := s.heldSince(d, flow, topic+"/0"); since.Before(began) || since.After(time.Now()) {
			t.Errorf("the metric of %s says %v", flow, since)
		}
	}
	waits("of_committed", s.name+"_committed", open["committed"])
	waits("of_aborted", s.name+"_aborted", open["aborted"])
	if why := s.flow("of_aborted").Reason; why != d.flow("of_aborted").Reason {
		t.Errorf("the verb says %s", why)
	}
	if _, events := s.verb("events", "-o", "csv"); !strings.Contains(events, says(s.name+"_committed", open["committed"])) {
		t.Errorf("the event log does not say it:\n%s", events)
	}
	drained := func(name string, want ...int) {
		t.Helper()
		s.until(name+" to be drained", func() bool { return d.flow("of_"+name).Status == eventlog.Completed })
		if got := s.ks("drained WHERE name = '" + name + "'"); !slices.Equal(got, want) {
			t.Errorf("of %s it drained %v, want %v", name, got, want)
		}
		if since := s.heldSince(d, "of_"+name, s.name+"_"+name+"/0"); !since.IsZero() {
			t.Errorf("of %s the metric still says %v", name, since)
		}
	}
	drained("expired", 1, 2, 4, 5)
	s.holds("drained WHERE name = 'committed'", 1, 2, 5)
	open["committed"].end(kgo.TryCommit)
	drained("committed", 1, 2, 3, 4, 5)
	open["aborted"].end(kgo.TryAbort)
	drained("aborted", 1, 2, 4, 5)

	x := s.begin(10*time.Minute, numbered(live, 0, 10))
	s.produce(numbered(live, 0, 11))
	s.produce(numbered(live, 1, 12))
	s.holds("dirty", 10, 11, 12)
	s.holds("clean", 12)
	waits("clean", live, x)
	busy := []int{12} // the other partition
	s.until("a busy flow to say what holds it up", func() bool {
		busy = append(busy, 100+len(busy))
		s.produce(numbered(live, 1, busy[len(busy)-1]))
		f := d.flow("clean")
		i := slices.IndexFunc(f.Positions, func(p admin.Position) bool { return p.Split == live+"/0" })
		if f.Reason != "" || i < 0 || !strings.HasPrefix(f.Positions[i].Waiting, says(live, x)) {
			return false
		}
		_, status := s.verb("status")
		return strings.Contains(status, says(live, x))
	})
	s.holds("clean", busy...)
	x.end(kgo.TryAbort)
	s.holds("clean", append([]int{11}, busy...)...)
	x = s.begin(10*time.Minute, numbered(live, 0, 20))
	s.produce(numbered(live, 0, 21))
	waits("clean", live, x)
	x.end(kgo.TryCommit)
	all := append([]int{11, 12, 20, 21}, busy[1:]...)
	s.holds("clean", all...)
	s.holds("dirty", append([]int{10}, all...)...)
	s.until("the sink's topic to have the same, once", func() bool { return slices.Equal(s.numbers(s.name+"_out"), all) })
	s.until("nothing to hold it up", func() bool {
		return d.flow("clean").Reason == "waiting for data" && s.heldSince(d, "clean", live+"/0").IsZero()
	})
	d.stop(exitOK)

	s.produce(numbered(s.name+"_committed", 0, 6)) // after the end
	d = s.start()
	s.produce(numbered(live, 1, 22))
	s.until("one more record", func() bool { return slices.Contains(s.numbers(s.name+"_out"), 22) })
	if n := s.query("SELECT count(*) FROM drained"); n != "13" {
		t.Errorf("%s rows are drained, want 13", n)
	}
	d.stop(exitOK)
}

// D-7: a drain that waits in vain fails and says for whom; the next run drains to the end that was fixed first.
func TestRealDrainTimeout(t *testing.T) {
	t.Parallel()
	s := newSite(t, testenv.Kafka(t), map[string]string{
		"pipeline.yml": "name: TOPIC\nstorage: state\nlibraries:\n  - glob: {include: flows.sql}\n",
		"flows.sql": `CREATE STREAMING TABLE drained;
CREATE FLOW drain AS INSERT ONCE INTO drained BY NAME SELECT k FROM read_kafka(subscribe => 'TOPIC', format => 'json', schema => 'k BIGINT');`})
	s.create(s.name, 1)
	s.produce(numbered(s.name, 0, 1))
	x := s.begin(10*time.Minute, numbered(s.name, 0, 2))
	s.produce(numbered(s.name, 0, 3))
	if code, out := s.verb("run", "--set", "sluice.drain_timeout=1s"); code != exitFailure {
		t.Fatalf("exit %d\n%s", code, out)
	}
	_, events := s.verb("events", "--level", "error", "-o", "json")
	for _, part := range []string{fault.OpenTransaction.Name, fmt.Sprintf("topic %s, partition 0", s.name), fmt.Sprintf("offset %d", x.first)} {
		if !strings.Contains(events, part) {
			t.Errorf("no %q in\n%s", part, events)
		}
	}
	s.holds("drained", 1)
	s.produce(numbered(s.name, 0, 4)) // after the end
	x.end(kgo.TryCommit)
	if code, out := s.verb("run"); code != exitOK {
		t.Fatalf("exit %d\n%s", code, out)
	}
	s.holds("drained", 1, 2, 3)
}
