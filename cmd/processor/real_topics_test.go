package main

import (
	"fmt"
	"strings"
	"testing"

	"sluice/fault"
	"sluice/internal/testenv"
)

// two is a pipeline of two flows from two topics, the second with a sink.
var two = map[string]string{
	"pipeline.yml": "name: TOPIC\nstorage: state\nlibraries:\n  - glob: {include: flows.sql}\ncontinuous: true\n",
	"flows.sql": `CREATE STREAMING TABLE one AS SELECT k FROM STREAM read_kafka(subscribe => 'TOPIC_one', format => 'json', schema => 'k BIGINT',
  'kafka.metadata.max.age.ms' => '500');
CREATE STREAMING TABLE two AS SELECT k FROM STREAM read_kafka(subscribe => 'TOPIC_two', format => 'json', schema => 'k BIGINT');
CREATE SINK out FORMAT kafka OPTIONS (topic => 'TOPIC_out', create_topic => 1, mode => 'append');
CREATE FLOW publish AS INSERT INTO SINK out BY NAME SELECT k FROM STREAM(two);`,
}

func (s *site) counts(one, two int) func() bool {
	return func() bool {
		return s.query("SELECT count(*) FROM one") == fmt.Sprint(one) && s.query("SELECT count(*) FROM two") == fmt.Sprint(two)
	}
}

// failed waits until a flow has failed with a code, and returns why.
func (s *site) failed(flow string, code *fault.Code) string {
	s.t.Helper()
	s.until(flow+" to fail with "+code.Name, func() bool {
		f := s.flow(flow)
		return f.Status == "FAILED" && strings.Contains(f.Reason, code.Name)
	})
	return s.flow(flow).Reason
}

// recreate deletes a topic and makes it again.
func (s *site) recreate(topic string) {
	s.t.Helper()
	if _, err := s.admin.DeleteTopic(s.t.Context(), topic); err != nil {
		s.t.Fatal(err)
	}
	s.until("the topic to be made again", func() bool {
		_, err := s.admin.CreateTopic(s.t.Context(), 1, 1, nil, topic)
		return err == nil
	})
	s.client.PurgeTopicsFromClient(topic) // which remembers the old one's id
}

// D-6: a topic that is deleted and made again, while its flow runs or between two runs, stops that flow and says what is
// lost; the other goes on. A reset of the checkpoint reads the new topic and keeps the rows.
func TestRealTopicRecreated(t *testing.T) {
	s := newSite(t, testenv.Kafka(t), two)
	one, other := s.name+"_one", s.name+"_two"
	s.create(one, 1)
	s.create(other, 1)
	s.put(one, 1, `{"k":1}`, `{"k":2}`)
	s.put(other, 1, `{"k":1}`)
	d := s.start()
	s.until("the first records", s.counts(2, 1))
	s.recreate(one)
	if why := s.failed("one", fault.TopicRecreated); !strings.Contains(why, "from offset 2 on") || !strings.Contains(why, one) {
		t.Error(why)
	}
	s.put(one, 1, `{"k":3}`)
	s.put(other, 1, `{"k":2}`)
	s.until("the other flow to go on", s.counts(2, 2))
	if code, out := s.verb("reset-checkpoint", "one"); code != exitOK {
		t.Fatal(out)
	}
	s.until("the new topic's record", s.counts(3, 2))
	d.stop(exitOK)

	s.recreate(one)
	s.put(one, 1, `{"k":4}`, `{"k":5}`, `{"k":6}`)
	d = s.start()
	s.failed("one", fault.TopicRecreated)
	s.put(other, 1, `{"k":3}`)
	s.until("the other flow to go on after a restart", s.counts(3, 3))
	d.stop(exitFailure)
	if !strings.Contains(d.output(), fault.RunFailed.Name) {
		t.Error("nothing says that the run failed")
	}
}

// a broker that is down when the daemon starts: status says so within seconds, and the flows go on when it comes up; and
// once more when it goes down while they run.
func TestRealBrokerDownAtStart(t *testing.T) {
	s := newSite(t, testenv.Kafka(t), two)
	one, other := s.name+"_one", s.name+"_two"
	s.create(one, 1)
	s.create(other, 1)
	s.put(one, 1, `{"k":1}`)
	s.put(other, 1, `{"k":1}`)
	s.kafka.Stop(t)
	d := s.start()
	says := func() bool { return strings.Contains(s.flow("one").Reason, fault.KafkaUnavailable.Name) }
	s.until("status to say that no broker answers", says)
	s.kafka.Restart(t)
	s.until("the records", s.counts(1, 1))
	s.until("the sink's record", func() bool { return len(s.committed(s.name+"_out")) == 1 })
	s.kafka.Kill(t)
	s.until("status to say that the broker went", says)
	s.kafka.Restart(t)
	s.put(one, 1, `{"k":2}`)
	s.put(other, 1, `{"k":2}`)
	s.until("more records", s.counts(2, 2))
	s.until("the sink's second record", func() bool { return len(s.committed(s.name+"_out")) == 2 })
	d.stop(exitOK)
}

// A topic that is deleted while its flow runs, and while the daemon is stopped, stops that flow, whatever allow_data_loss says, and
// is not made again by reading. So does the topic that a sink writes: its flow stops, and when the topic is there again but what
// the store had sent is not, it stays so until somebody adopts it. The others go on.
func TestRealTopicDeleted(t *testing.T) {
	t.Parallel()
	s := newSite(t, testenv.Kafka(t), map[string]string{
		"pipeline.yml": two["pipeline.yml"] + "configuration: {pipelines.trigger.interval: 5ms}\n",
		"flows.sql":    strings.Replace(two["flows.sql"], "'kafka.metadata", "allow_data_loss => 'true', 'kafka.metadata", 1)})
	one, other, out := s.name+"_one", s.name+"_two", s.name+"_out"
	remove := func(topic string) {
		t.Helper()
		if _, err := s.admin.DeleteTopic(t.Context(), topic); err != nil {
			t.Fatal(err)
		}
	}
	s.create(one, 1)
	s.create(other, 1)
	s.produce(numbered(one, 0, 1))
	s.produce(numbered(other, 0, 1))
	d := s.start()
	s.until("the first records", s.counts(1, 1))
	s.until("the sink's record", func() bool { return len(s.committed(out)) == 1 })
	remove(one)
	s.failed("one", fault.UnknownTopic)
	remove(out)
	s.produce(numbered(other, 0, 2))
	s.failed("publish", fault.SinkIdentityLost) // it has made the topic again
	s.until("the flow before the sink to go on", s.counts(1, 2))
	d.stop(exitFailure)

	d = s.start()
	s.failed("one", fault.UnknownTopic)
	s.failed("publish", fault.SinkIdentityLost)
	s.produce(numbered(other, 0, 3))
	s.until("the other flow to go on", s.counts(1, 3))
	d.stop(exitFailure)
	if topics, err := s.admin.ListTopics(t.Context(), one); err != nil || topics.Has(one) {
		t.Errorf("reading made a topic again, or %v", err)
	}
	if code, said := s.verb("sink", "adopt", "out", "--yes"); code != exitOK {
		t.Fatal(said)
	}
	d = s.start()
	s.until("what was not sent yet", func() bool { return len(s.committed(out)) == 2 })
	if got := fmt.Sprint(s.numbers(out)); got != "[2 3]" {
		t.Errorf("the topic has %v", got)
	}
	s.failed("one", fault.UnknownTopic)
	d.stop(exitFailure)
}
