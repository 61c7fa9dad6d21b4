package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/eventlog"
	"sluice/fault"
	"sluice/internal/testenv"
)

// truncate deletes the records of partition 0 before an offset.
func (s *site) truncate(topic string, before int64) {
	s.t.Helper()
	var to kadm.Offsets
	to.AddOffset(topic, 0, before, -1)
	answers, err := s.admin.DeleteRecords(s.t.Context(), to)
	if err == nil {
		err = answers.Error()
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// D-6, A-66, A-69: the log is cut before what a flow has not read yet, while it waits there, in a drain and live, and while the daemon
// is stopped. It stops and says which offsets are gone, or goes on at the start of the log and counts them, as it was told.
func TestRealLogCut(t *testing.T) {
	t.Parallel()
	flow := func(name, insert, stream, more string) string {
		return fmt.Sprintf("CREATE STREAMING TABLE %[1]s;\nCREATE FLOW of_%[1]s AS INSERT %[2]s INTO %[1]s BY NAME SELECT k FROM %[3]s read_kafka(subscribe => 'TOPIC_%[1]s', format => 'json', schema => 'k BIGINT'%[4]s);\n",
			name, insert, stream, more)
	}
	const allow = ", allow_data_loss => 'true'"
	s := newSite(t, testenv.Kafka(t), map[string]string{
		"pipeline.yml": "name: TOPIC\nstorage: state\nlibraries:\n  - glob: {include: flows.sql}\ncontinuous: true\nconfiguration: {pipelines.trigger.interval: 5ms}\n",
		"flows.sql": flow("live", "", "STREAM", "") + flow("live_on", "", "STREAM", allow) + flow("drain", "ONCE", "", "") + flow("drain_on", "ONCE", "", allow) +
			flow("drain_past", "ONCE", "", allow) + flow("stopped", "", "STREAM", "") + flow("stopped_on", "", "STREAM", allow)})
	waiting := []string{"live", "live_on", "drain", "drain_on", "drain_past"}
	open := map[string]*transaction{}
	for _, name := range waiting {
		topic := s.name + "_" + name
		s.create(topic, 1)
		s.produce(numbered(topic, 0, 1))
		open[name] = s.begin(10*time.Minute, numbered(topic, 0, 2))
		s.produce(numbered(topic, 0, 3), numbered(topic, 0, 4), numbered(topic, 0, 5)) // the last is offset 4
	}
	for _, name := range []string{"stopped", "stopped_on"} {
		s.create(s.name+"_"+name, 1)
		s.produce(numbered(s.name+"_"+name, 0, 1))
	}
	d := s.start()
	for _, name := range waiting {
		s.until(name+" to wait", func() bool { return d.waits("of_" + name) })
		s.holds(name, 1)
	}
	s.holds("stopped", 1)
	s.holds("stopped_on", 1)
	for _, name := range waiting {
		before := int64(4)
		if name == "drain_past" { // the whole of what it still wanted, and more
			s.produce(numbered(s.name+"_"+name, 0, 6))
			before = 6
		}
		s.truncate(s.name+"_"+name, before)
		open[name].end(kgo.TryCommit)
	}
	lost := func(name string, gone string) {
		t.Helper()
		if why := s.failed("of_"+name, fault.DataLoss); !strings.Contains(why, "topic "+s.name+"_"+name+", partition 0: "+gone) {
			t.Errorf("of %s it says %s", name, why)
		}
		s.holds(name, 1)
	}
	skipped := func(name string, n int64, want ...int) {
		t.Helper()
		s.holds(name, want...)
		if got := d.flow("of_" + name).Counts.Lost; got != n {
			t.Errorf("of %s it counts %d lost records, want %d", name, got, n)
		}
	}
	lost("live", "offsets 1 to 3 are gone")
	lost("drain", "offsets 1 to 3 are gone")
	skipped("live_on", 3, 1, 5)
	for _, name := range []string{"drain_on", "drain_past"} {
		s.until(name, func() bool { return d.flow("of_"+name).Status == eventlog.Completed })
	}
	skipped("drain_on", 3, 1, 5)
	skipped("drain_past", 4, 1) // its end was offset 5
	s.produce(numbered(s.name+"_live_on", 0, 7))
	s.holds("live_on", 1, 5, 7)
	d.stop(exitFailure)

	for _, name := range []string{"stopped", "stopped_on"} {
		s.produce(numbered(s.name+"_"+name, 0, 2), numbered(s.name+"_"+name, 0, 3), numbered(s.name+"_"+name, 0, 4))
		s.truncate(s.name+"_"+name, 3)
	}
	d = s.start()
	lost("stopped", "offsets 1 to 2 are gone")
	skipped("stopped_on", 2, 1, 4)
	d.stop(exitFailure)
}

// keyed is a record {"key":k,"n":n} under its key.
func keyed(topic, key string, n int) *kgo.Record {
	return &kgo.Record{Topic: topic, Key: []byte(key), Value: fmt.Appendf(nil, `{"key":%q,"n":%d}`, key, n)}
}

// a compacted topic. A drain whose end was fixed before compaction left nothing of most of it, at its end and behind it, ends all
// the same, with what a plain consumer finds before that end; the flow after it begins in the hole, and comes to the same as
// the topic.
func TestRealCompacted(t *testing.T) {
	t.Parallel()
	s := newSite(t, testenv.Kafka(t), map[string]string{
		"pipeline.yml": "name: TOPIC\nstorage: state\nlibraries:\n  - glob: {include: flows.sql}\ncontinuous: true\nconfiguration: {sluice.max_batch_rows: '7', pipelines.trigger.interval: 5ms}\n",
		"flows.sql": `CREATE STREAMING TABLE drained;
CREATE FLOW drain AS INSERT ONCE INTO drained BY NAME SELECT key, n, _metadata.offset AS at FROM read_kafka(subscribe => 'TOPIC', format => 'json', schema => 'key STRING, n BIGINT');
CREATE STREAMING TABLE later;
CREATE FLOW live DEPENDS ON (drain) AS INSERT INTO later BY NAME SELECT key, n, _metadata.offset AS at FROM STREAM read_kafka(subscribe => 'TOPIC', format => 'json', schema => 'key STRING, n BIGINT',
  startingOffsets => 'latest');
CREATE STREAMING TABLE newest FLOW REPLACE USING (key) SEQUENCE BY at BY NAME SELECT * FROM STREAM(later);`})
	settings := map[string]*string{}
	for name, value := range map[string]string{"cleanup.policy": "compact", "segment.ms": "100", "min.cleanable.dirty.ratio": "0.001", "min.compaction.lag.ms": "0"} {
		settings[name] = &value
	}
	if _, err := s.admin.CreateTopic(t.Context(), 1, 1, settings, s.name); err != nil {
		t.Fatal(err)
	}
	// The first record stops the drain, whose end is fixed by then. Compaction takes it away.
	s.produce(&kgo.Record{Topic: s.name, Key: []byte("bad"), Value: []byte("no document")})
	s.produce(keyed(s.name, "kept", 0))
	for n := range 20 {
		s.produce(keyed(s.name, fmt.Sprint("k", n%4), n))
	}
	const end = 22
	d := s.start()
	s.until("the drain to fail at its first record", func() bool { return d.flow("drain").Status == eventlog.Failed })
	d.stop(exitFailure)

	for n := range 20 {
		s.produce(keyed(s.name, fmt.Sprint("k", n%4), 100+n))
	}
	s.produce(keyed(s.name, "bad", 200))
	type row struct {
		Key    string
		N      int
		offset int64
	}
	read := func() (out []row) {
		for _, r := range s.committed(s.name) {
			var o row
			if json.Unmarshal(r.Value, &o) == nil {
				o.offset = r.Offset
			}
			out = append(out, o)
		}
		return out
	}
	rolls := 0
	s.until("compaction", func() bool {
		s.produce(keyed(s.name, "roll", rolls)) // a new record makes the segment roll
		rolls++
		before := 0
		for _, r := range read() {
			if r.offset < end {
				before++
			}
		}
		return before == 1
	})
	d = s.start()
	s.until("the drain", func() bool { return d.flow("drain").Status == eventlog.Completed })
	if got := s.query("SELECT key, n, at FROM drained"); got != "kept,0,1" {
		t.Errorf("it drained\n%s", got)
	}
	s.produce(keyed(s.name, "last", 1))
	s.until("the last record", func() bool { return s.query("SELECT n FROM newest WHERE key = 'last'") == "1" })
	last := map[string]string{}
	for _, r := range read() {
		if r.offset >= end {
			last[r.Key] = fmt.Sprintf("%s,%d,%d", r.Key, r.N, r.offset)
		}
	}
	var want []string
	for _, line := range last {
		want = append(want, line)
	}
	slices.Sort(want)
	if got := s.query("SELECT key, n, at FROM newest"); got != strings.Join(want, "\n") {
		t.Errorf("the table holds\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	d.stop(exitOK)
}
