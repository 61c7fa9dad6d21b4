package main

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/internal/testenv"
)

// grow adds a partition to a topic, and waits until the test's own client can write to it.
func (s *site) grow(topic string, first *kgo.Record) {
	s.t.Helper()
	answer, err := s.admin.CreatePartitions(s.t.Context(), 1, topic)
	if err == nil {
		err = answer.Error()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.until("the partition", func() bool {
		s.client.PurgeTopicsFromClient(topic)
		return s.client.ProduceSync(s.t.Context(), first).FirstErr() == nil
	})
}

// forget deletes what the brokers remember of a flow's last batch.
func (s *site) forget(flow, topic string) {
	s.t.Helper()
	var lost kadm.TopicsSet
	lost.Add(topic, 0)
	answers, err := s.admin.DeleteOffsets(s.t.Context(), s.name+"."+flow+".sink", lost)
	if err == nil {
		err = answers.Error()
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// D-40, A-68: partitions are added in the middle of a drain, of a live read and of a sink's writing, and while the daemon is
// stopped. A drain has the partitions of its beginning; the flow after it reads the new ones from their start, as a live one
// does, whatever startingOffsets says. A sink writes the new ones, and finds its last batch in them.
func TestRealPartitionsAdded(t *testing.T) {
	t.Parallel()
	s := newSite(t, testenv.Kafka(t), map[string]string{
		"pipeline.yml": "name: TOPIC\nstorage: state\nlibraries:\n  - glob: {include: flows.sql}\ncontinuous: true\nconfiguration: {sluice.max_batch_rows: '10', pipelines.trigger.interval: 5ms}\n",
		"flows.sql": `CREATE STREAMING TABLE drained;
CREATE FLOW drain AS INSERT ONCE INTO drained BY NAME SELECT k FROM read_kafka(subscribe => 'TOPIC', format => 'json', schema => 'k BIGINT');
CREATE STREAMING TABLE later;
CREATE FLOW live DEPENDS ON (drain) AS INSERT INTO later BY NAME SELECT k FROM STREAM read_kafka(subscribe => 'TOPIC', format => 'json', schema => 'k BIGINT',
  startingOffsets => 'latest', 'kafka.metadata.max.age.ms' => '500');
CREATE SINK out FORMAT kafka OPTIONS (topic => 'TOPIC_out', create_topic => 1, mode => 'append', keys => 'k', 'kafka.metadata.max.age.ms' => '500');
CREATE FLOW publish AS INSERT INTO SINK out BY NAME SELECT k FROM STREAM(later);`})
	out := s.name + "_out"
	s.create(s.name, 1)
	s.produce(numbered(s.name, 0, 1))
	x := s.begin(10*time.Minute, numbered(s.name, 0, 2))
	d := s.start()
	s.until("the drain to wait", func() bool { return d.waits("drain") })
	s.grow(s.name, numbered(s.name, 1, 100))
	x.end(kgo.TryCommit)
	s.holds("drained", 1, 2)
	s.holds("later", 100)

	want := []int{100}
	put := func(partitions int32, n int) {
		t.Helper()
		var records []*kgo.Record
		for range n {
			k := 100 + len(want)
			want = append(want, k)
			records = append(records, numbered(s.name, int32(k)%partitions, k))
		}
		s.produce(records...)
	}
	add := func(topic string, partition int32) {
		t.Helper()
		k := 100 + len(want)
		want = append(want, k)
		s.grow(topic, numbered(s.name, partition, k))
	}
	put(2, 300)
	add(s.name, 2)
	put(3, 300)
	s.until("a third of it in the topic", func() bool { return len(s.committed(out)) > 200 })
	if answer, err := s.admin.CreatePartitions(t.Context(), 2, out); err != nil || answer.Error() != nil {
		t.Fatal(err, answer.Error())
	}
	used := func(partition int32) func() bool {
		return func() bool {
			put(3, 1)
			return slices.ContainsFunc(s.committed(out), func(r *kgo.Record) bool { return r.Partition == partition })
		}
	}
	s.until("records in a new partition", used(1))
	s.until("records in the other", used(2))
	d.kill()

	add(s.name, 3)
	put(4, 100)
	s.forget("publish", out)
	if answer, err := s.admin.CreatePartitions(t.Context(), 1, out); err != nil || answer.Error() != nil {
		t.Fatal(err, answer.Error())
	}
	d = s.start()
	s.until("all records", func() bool { return s.query("SELECT count(*) FROM later") == fmt.Sprint(len(want)) })
	s.until("all records in the topic", func() bool { return len(s.committed(out)) >= len(want) })
	s.holds("later", want...)
	if got := s.numbers(out); !slices.Equal(got, want) {
		t.Errorf("the topic has %d records, want %d; or others", len(got), len(want))
	}
	s.holds("drained", 1, 2)
	d.stop(exitOK)
}
