package main

import (
	"encoding/json"
	"strings"
	"testing"

	"sluice/fault"
	"sluice/internal/testenv"
)

// D-15, D-18 on real Kafka: the dead-letter topic is not there at first, and nothing waits for it but its own flow, which goes on once it is made; then
// kill -9 while records are refused and sent, each once.
func TestRealDeadLetters(t *testing.T) {
	t.Parallel()
	s := lettingSite(t, testenv.Kafka(t), letting+`CREATE STREAMING TABLE behind AS SELECT q FROM STREAM(t);`)
	s.create(s.name, 2)
	s.put(s.name, 2, `{"id":-1,"d":1}`, `not json`, `{"id":-2,"d":2}`)
	d := s.start()
	s.failed("t.dlq", fault.UnknownTopic)
	s.until("the rows behind", func() bool { return s.query("SELECT count(*) FROM behind") == "2" })
	if got := s.deadLetters("t"); got != 1 {
		t.Errorf("%d dead letters wait", got)
	}
	s.create(s.name+"_dead", 2)
	s.until("the dead letter", func() bool { return s.deadLetters("t") == 0 })
	d.stop(exitOK)
	if got := s.committed(s.name + "_dead"); len(got) != 1 || string(got[0].Value) != "not json" || header(got[0], "__connect.errors.topic") != s.name {
		t.Errorf("the topic has %v", got)
	}
	s.killWhileSending(4, 300)
}

// D-31 on real Kafka: a record in quarantine is mended and replayed beside the running daemon and by the next run, also when the topic does not hold it any
// more; it comes to what the rule says of its place, once, and again after a full refresh.
func TestRealReplay(t *testing.T) {
	t.Parallel()
	s := lettingSite(t, testenv.Kafka(t), `CREATE STREAMING TABLE newest FLOW REPLACE USING (id) SEQUENCE BY seq BY NAME
SELECT id, seq, 10 / d AS q, _metadata.offset AS at FROM STREAM read_kafka(subscribe => 'TOPIC', format => 'json', schema => 'id INT, seq INT, d INT', mode => 'QUARANTINE', deadLetterTopic => 'TOPIC_dead');`)
	s.create(s.name, 1)
	s.create(s.name+"_dead", 1)
	s.put(s.name, 1, `{"id":1,"seq":1,"d":0}`, `{"id":1,"seq":2,"d":2}`, `{"id":2,"seq":"x","d":5}`, `{"id":3,"seq":1,"d":0}`)
	records := func() map[string]string {
		out := map[string]string{}
		_, text := s.verb("dlq", "list", "-o", "ndjson")
		for line := range strings.Lines(text) {
			var r struct{ Record string }
			if json.Unmarshal([]byte(line), &r) == nil {
				_, value := s.verb("dlq", "show", r.Record)
				out[value] = r.Record
			}
		}
		return out
	}
	must := func(args ...string) {
		t.Helper()
		if code, out := s.verb(args...); code != exitOK {
			t.Fatal(args, out)
		}
	}
	d := s.start()
	s.until("the records in quarantine", func() bool { return s.quarantined("newest") == 3 })
	named := records()
	must("dlq", "edit", named[`{"id":2,"seq":"x","d":5}`], "--field", "seq=1")
	must("dlq", "edit", named[`{"id":1,"seq":1,"d":0}`], "--field", "d=1")
	must("dlq", "replay", named[`{"id":2,"seq":"x","d":5}`], named[`{"id":1,"seq":1,"d":0}`])
	s.until("the replay", func() bool { return s.quarantined("newest") == 1 })
	const two = "1,2,5.0,1\n2,1,2.0,2" // the old row of 1 is below its floor
	if got := s.query("SELECT id, seq, q, at FROM newest"); got != two {
		t.Errorf("after the replay\n%s", got)
	}
	d.stop(exitOK)
	must("dlq", "edit", named[`{"id":3,"seq":1,"d":0}`], "--field", "d=10")
	must("dlq", "replay", "--all")
	const three = two + "\n3,1,1.0,3"
	for _, args := range [][]string{nil, {"--full-refresh", "newest"}} {
		d = s.start(args...)
		s.until("all rows", func() bool { return s.query("SELECT id, seq, q, at FROM newest") == three })
		s.until("the dead letters", func() bool { return s.deadLetters("newest") == 0 })
		d.stop(exitOK)
	}
	if got := len(s.committed(s.name + "_dead")); got != 3 {
		t.Errorf("%d dead letters, want 3", got)
	}
}
