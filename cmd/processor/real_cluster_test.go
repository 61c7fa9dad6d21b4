package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/eventlog"
	"sluice/fault"
	"sluice/internal/testenv"
)

// replicated makes a topic whose partitions have given replicas, the preferred leader first.
func (s *site) replicated(topic string, settings map[string]*string, replicas ...[]int32) {
	s.t.Helper()
	if _, err := s.admin.CreateTopic(s.t.Context(), int32(len(replicas)), int16(len(replicas[0])), settings, topic); err != nil {
		s.t.Fatal(err)
	}
	s.move(topic, replicas...)
}

// move gives the partitions of a topic other replicas, and the lead to the first of each.
func (s *site) move(topic string, replicas ...[]int32) {
	s.t.Helper()
	var to kadm.AlterPartitionAssignmentsReq
	var moved kadm.TopicsSet
	for p, brokers := range replicas {
		to.Assign(topic, int32(p), brokers)
		moved.Add(topic, int32(p))
	}
	s.until("the order to move "+topic, func() bool {
		answers, err := s.admin.AlterPartitionAssignments(s.t.Context(), to)
		return err == nil && answers.Error() == nil
	})
	s.until(topic+" to be moved", func() bool {
		under, err := s.admin.ListPartitionReassignments(s.t.Context(), moved)
		if err != nil || len(under) > 0 {
			return false
		}
		_, _ = s.admin.ElectLeaders(s.t.Context(), kadm.ElectPreferredReplica, moved)
		for p, brokers := range replicas {
			if s.leader(topic, int32(p)) != brokers[0] {
				return false
			}
		}
		return true
	})
}

// leader is the broker that leads a partition; -1 when none does.
func (s *site) leader(topic string, partition int32) int32 {
	s.t.Helper()
	found, err := s.admin.Metadata(s.t.Context(), topic)
	if err != nil {
		return -1
	}
	return found.Topics[topic].Partitions[partition].Leader
}

// the leaders of what is drained, read live and written move to other replicas, are shut down and killed, in the middle of a
// drain and of live batches: every record is in the tables and in the topic once.
func TestRealLeadersMove(t *testing.T) {
	t.Parallel()
	nodes := testenv.StartNodes(t, 3)
	t.Run("moved", func(t *testing.T) { leadersMove(t, nodes) })
	t.Run("unclean", func(t *testing.T) { uncleanLeader(t, nodes) })
}

func leadersMove(t *testing.T, nodes []*testenv.Cluster) {
	s := newSite(t, nodes[0], outages)
	old, live, out := s.name+"_old", s.name+"_live", s.name+"_out"
	for _, topic := range []string{old, live, out} {
		s.replicated(topic, nil, []int32{2, 1, 3}, []int32{3, 1, 2})
	}
	all := s.events(old, 0, 600)
	barrier := s.draw(600, 2)
	x := s.begin(10*time.Minute, barrier[0].in(old, 0), barrier[1].in(old, 1))
	all = append(all, barrier...)
	all = append(all, s.events(old, 602, 600)...)
	d := s.start()
	s.until("some records", func() bool { return s.rows("raw") > 0 })
	everywhere := func(replicas ...[]int32) {
		t.Helper()
		for _, topic := range []string{old, live, out} {
			s.move(topic, replicas...)
		}
	}
	everywhere([]int32{3, 1}, []int32{1, 2}) // away from every leader; one partition has left its last replica, too
	s.until("the drain to wait", func() bool {
		return s.rows("raw") == 600 && d.waits("history")
	})
	everywhere([]int32{2, 3, 1}, []int32{3, 2, 1})
	x.end(kgo.TryCommit)
	s.until("the drain", func() bool { return d.flow("history").Status == eventlog.Completed })
	if n := s.rows("raw"); n != len(all) {
		t.Errorf("%d rows are drained, want %d", n, len(all))
	}
	ends, rounds := []func(*testenv.Cluster, testing.TB){(*testenv.Cluster).Stop}, 1
	if os.Getenv("SLUICE_SOAK") == "1" {
		ends, rounds = append(ends, (*testenv.Cluster).Kill), 20
	}
	for range rounds {
		for _, end := range ends {
			before := len(all)
			all = append(all, s.events(live, before, 300)...)
			s.until("some of the next", func() bool { return s.rows("raw") > before })
			leader := s.leader(out, s.random.Int32N(2))
			if leader < 2 {
				t.Fatalf("broker %d leads", leader)
			}
			gone := nodes[leader-1]
			end(gone, t)
			all = append(all, s.events(live, len(all), 100)...)
			s.until("all so far, without that broker", func() bool { return s.rows("raw") == len(all) && len(s.committed(out)) >= len(all) })
			gone.Restart(t)
			s.until("that broker to lead again", func() bool {
				_, _ = s.admin.ElectLeaders(t.Context(), kadm.ElectPreferredReplica, nil)
				return s.leader(out, 0) == 2 && s.leader(out, 1) == 3
			})
		}
	}
	if got := s.query("SELECT id, key, seq FROM newest"); got != newestOf(all) {
		t.Errorf("the table holds\n%s\nwant\n%s", got, newestOf(all))
	}
	s.once(out, all)
	d.stop(exitOK)
}

// D-6: a replica that lacks records becomes the leader. A flow that has read them stops and says so, whether it was running or
// stopped, and never goes on in what is written to their offsets since.
func uncleanLeader(t *testing.T, nodes []*testenv.Cluster) {
	s := newSite(t, nodes[0], map[string]string{
		"pipeline.yml": "name: TOPIC\nstorage: state\nlibraries:\n  - glob: {include: flows.sql}\ncontinuous: true\nconfiguration: {pipelines.trigger.interval: 5ms}\n",
		"flows.sql": `CREATE STREAMING TABLE t AS SELECT k FROM STREAM read_kafka(subscribe => 'TOPIC', format => 'json', schema => 'k BIGINT', allow_data_loss => 'true');
CREATE STREAMING TABLE other AS SELECT k FROM STREAM read_kafka(subscribe => 'TOPIC_other', format => 'json', schema => 'k BIGINT');`})
	unclean := "true"
	s.replicated(s.name, map[string]*string{"unclean.leader.election.enable": &unclean}, []int32{2, 3})
	s.replicated(s.name+"_other", nil, []int32{1, 2, 3})
	s.produce(numbered(s.name, 0, 1), numbered(s.name, 0, 2))
	d := s.start()
	s.holds("t", 1, 2)
	nodes[2].Stop(t)
	s.produce(numbered(s.name, 0, 3), numbered(s.name, 0, 4), numbered(s.name, 0, 5))
	s.holds("t", 1, 2, 3, 4, 5)
	nodes[1].Kill(t)
	nodes[2].Restart(t)
	why := s.failed("t", fault.TopicRecreated)
	for _, part := range []string{"topic " + s.name + ", partition 0 was read up to offset 5, but it ends at 2", "acknowledged"} {
		if !strings.Contains(why, part) {
			t.Errorf("no %q in %s", part, why)
		}
	}
	s.produce(numbered(s.name+"_other", 0, 1))
	s.holds("other", 1)
	d.stop(exitFailure)
	d = s.start()
	s.failed("t", fault.TopicRecreated)
	s.holds("t", 1, 2, 3, 4, 5)
	if code, said := s.verb("reset-checkpoint", "t"); code != exitOK {
		t.Fatal(said)
	}
	s.produce(numbered(s.name, 0, 6))
	s.holds("t", 1, 1, 2, 2, 3, 4, 5, 6)
	d.stop(exitOK)
	nodes[1].Restart(t)
}
