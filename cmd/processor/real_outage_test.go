package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/eventlog"
	"sluice/fault"
	"sluice/internal/testenv"
)

// outages is a pipeline that drains a topic, reads another one live, and writes a third one, in small batches. What it writes
// must be there within two seconds, so that an outage breaks it off.
var outages = map[string]string{
	"pipeline.yml": "name: TOPIC\nstorage: state\nlibraries:\n  - glob: {include: flows.sql}\ncontinuous: true\n" +
		"configuration: {sluice.max_batch_rows: '15', pipelines.trigger.interval: 5ms}\n",
	"flows.sql": `CREATE STREAMING TABLE raw;
CREATE FLOW history AS INSERT ONCE INTO raw BY NAME SELECT id, key, seq FROM read_kafka(subscribe => 'TOPIC_old', format => 'json', schema => 'id BIGINT, key STRING, seq BIGINT');
CREATE FLOW live DEPENDS ON (history) AS INSERT INTO raw BY NAME SELECT id, key, seq FROM STREAM read_kafka(subscribe => 'TOPIC_live', format => 'json', schema => 'id BIGINT, key STRING, seq BIGINT');
CREATE STREAMING TABLE newest FLOW REPLACE USING (key) SEQUENCE BY seq BY NAME SELECT * FROM STREAM(raw);
CREATE SINK out FORMAT kafka OPTIONS (topic => 'TOPIC_out', create_topic => 2, mode => 'append', 'kafka.delivery.timeout.ms' => '2000');
CREATE FLOW publish AS INSERT INTO SINK out BY NAME SELECT id, key, seq FROM STREAM(raw);`,
}

// event is a record of it.
type event struct {
	ID  int    `json:"id"`
	Key string `json:"key"`
	Seq int    `json:"seq"`
}

// draw makes records with ties and late ones, numbered from first on.
func (s *site) draw(first, n int) (out []event) {
	for i := range n {
		out = append(out, event{first + i, fmt.Sprintf("k%d", s.random.IntN(40)), s.random.IntN(60)})
	}
	return out
}

// events makes records and writes each into one of two partitions.
func (s *site) events(topic string, first, n int) []event {
	s.t.Helper()
	made := s.draw(first, n)
	var records []*kgo.Record
	for _, e := range made {
		records = append(records, e.in(topic, s.random.Int32N(2)))
	}
	s.produce(records...)
	return made
}

func (e event) in(topic string, partition int32) *kgo.Record {
	value, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	return &kgo.Record{Topic: topic, Partition: partition, Value: value}
}

// newestOf is what a plain program says of the table of that name: per key the records with the highest seq.
func newestOf(all []event) string {
	top := map[string]int{}
	for _, e := range all {
		top[e.Key] = max(top[e.Key], e.Seq)
	}
	var lines []string
	for _, e := range all {
		if e.Seq == top[e.Key] {
			lines = append(lines, fmt.Sprintf("%d,%s,%d", e.ID, e.Key, e.Seq))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// once makes sure that a read_committed consumer of a topic has seen every record once and every batch as one: in a partition the
// records of a batch stand together, and batches in their order.
func (s *site) once(topic string, want []event) {
	s.t.Helper()
	var got []event
	seen := map[string]bool{} // batches, by partition
	last := ""
	for _, r := range s.committed(topic) {
		var e event
		if err := json.Unmarshal(r.Value, &e); err != nil {
			s.t.Fatal(err)
		}
		got = append(got, e)
		batch := fmt.Sprintf("%d %s", r.Partition, r.Headers[0].Value)
		batch = batch[:strings.Index(batch, "/")] + batch[strings.LastIndex(batch, "/"):] // without the daemon's start
		if batch != last && seen[batch] {
			s.t.Errorf("batch %s comes twice", batch)
		}
		seen[batch], last = true, batch
	}
	byID := func(a, b event) int { return cmp.Compare(a.ID, b.ID) }
	slices.SortFunc(got, byID)
	want = slices.SortedFunc(slices.Values(want), byID)
	if !slices.Equal(got, want) {
		s.t.Errorf("the topic has %d records, want %d; or others", len(got), len(want))
	}
}

// pause freezes the broker, until the flow that reads it says so.
func (s *site) pause(d *running, flow string) {
	s.frozen(d, s.kafka.Brokers[0], func() func() { return s.kafka.Pause(s.t) }, flow)
}

func (s *site) kill(d *running, flow string) { s.away(d, flow, s.kafka.Kill) }
func (s *site) halt(d *running, flow string) { s.away(d, flow, s.kafka.Stop) }

// away ends the broker, and starts it again when the flow that reads it has said that it is not there.
func (s *site) away(d *running, flow string, end func(testing.TB)) {
	end(s.t)
	s.until("the outage of "+flow, func() bool {
		f := d.flow(flow)
		return f.Error != nil || strings.Contains(f.Reason, fault.KafkaUnavailable.Name)
	})
	s.kafka.Restart(s.t)
}

// A broker is paused, killed and stopped while a flow drains one topic, another reads one live, and a sink writes: every record
// is in the tables and in the topic once, and the drain comes to its end once. In the middle of the topic that is drained a
// transaction is open, so that the outage of the broker meets the drain wherever it is.
func TestRealOutages(t *testing.T) {
	s := newSite(t, testenv.Kafka(t), outages)
	old, live, out := s.name+"_old", s.name+"_live", s.name+"_out"
	s.create(old, 2)
	s.create(live, 2)
	all := s.events(old, 0, 600)
	barrier := s.draw(600, 2)
	x := s.begin(10*time.Minute, barrier[0].in(old, 0), barrier[1].in(old, 1))
	all = append(all, barrier...)
	all = append(all, s.events(old, 602, 600)...)
	d := s.start()
	rows := func() int { return s.rows("raw") }
	s.until("some records", func() bool { return rows() > 0 })
	s.pause(d, "history")
	s.until("the drain to wait", func() bool {
		return rows() == 600 && d.waits("history")
	})
	s.kill(d, "history")
	x.end(kgo.TryCommit)
	s.until("the drain", func() bool { return d.flow("history").Status == eventlog.Completed })
	if n := rows(); n != len(all) {
		t.Errorf("%d rows are drained, want %d", n, len(all))
	}

	ways, rounds := []func(d *running, flow string){s.pause, s.halt}, 1
	if os.Getenv("SLUICE_SOAK") == "1" {
		ways, rounds = append(ways, s.kill), 30
	}
	for range rounds {
		for _, away := range ways {
			before := len(all)
			all = append(all, s.events(live, before, 300)...)
			s.until("some of the next", func() bool { return rows() > before })
			away(d, "live")
			all = append(all, s.events(live, len(all), 100)...)
		}
	}
	s.until("all records", func() bool { return rows() == len(all) && s.query("SELECT id, key, seq FROM newest") == newestOf(all) })
	s.until("all records in the topic", func() bool { return len(s.committed(out)) >= len(all) })
	s.once(out, all)
	d.stop(exitOK)
}

// rows counts a table's rows.
func (s *site) rows(table string) (n int) {
	fmt.Sscan(s.query("SELECT count(*) FROM "+table), &n)
	return n
}
