package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/fault"
	"sluice/internal/broker"
	"sluice/internal/testenv"
)

// frozen freezes a broker until the flows that need it say so, wherever somebody looks, and then until they say that it answers again.
func (s *site) frozen(d *running, address string, freeze func() (thaw func()), flows ...string) {
	s.t.Helper()
	warnings := func() int { return strings.Count(d.output(), fault.BrokerSilent.Name) }
	answers := func() int { return strings.Count(d.output(), address+" answers again, after ") }
	warned, answered := warnings(), answers()
	thaw := freeze()
	for _, flow := range flows {
		s.until("the silence of "+flow, func() bool { return len(d.flow(flow).Silent) > 0 })
		silent, series := d.flow(flow).Silent[0], fmt.Sprintf("sluice_broker_silence_start_time_seconds{broker=%q,flow=%q}", address, flow)
		if silent.Address != address || !strings.Contains(silent.Text, address+" has not answered since ") {
			s.t.Errorf("the API says %+v", silent)
		}
		if why := s.flow(flow).Reason; why != silent.Text {
			s.t.Errorf("status says %q, the API %q", why, silent.Text)
		}
		if why := d.flow(flow).Reason; why == "waiting for data" {
			s.t.Errorf("flow %s is %q", flow, why)
		}
		if !strings.Contains(s.get(d.address()+"/metrics"), series) {
			s.t.Error("no metric " + series)
		}
		if s.isReady() {
			s.t.Error("it is ready")
		}
	}
	if _, events := s.verb("events", "--level", "WARN"); !strings.Contains(events, fault.BrokerSilent.Name) {
		s.t.Errorf("the event log has no %s:\n%s", fault.BrokerSilent.Name, events)
	}
	if warnings() < warned+len(flows) || answers() > answered {
		s.t.Errorf("the log says\n%s", d.output())
	}
	thaw()
	s.until("an answer", func() bool { return answers() >= answered+len(flows) })
	for _, flow := range flows {
		s.until("the end of the silence of "+flow, func() bool { return len(d.flow(flow).Silent) == 0 })
	}
}

// A broker that freezes while one flow reads it and another writes to it.
func TestFrozenBroker(t *testing.T) {
	var freezer testenv.Freezer
	b := testenv.Broker(t, broker.Options{Topics: map[string]int32{"in": 1, "out": 1}, Cluster: []kfake.Opt{kfake.ListenFn(freezer.Listen)}})
	address := b.Brokers()[0]
	s := local(t, `CREATE STREAMING TABLE t AS SELECT k FROM STREAM read_kafka(subscribe => 'in', format => 'json', schema => 'k BIGINT');
CREATE SINK out FORMAT kafka OPTIONS (topic => 'out');
CREATE FLOW publish AS INSERT INTO SINK out BY NAME SELECT a FROM STREAM read_files('in/*.json', format => 'json', schema => 'a INT');`,
		map[string]string{"in/1.json": "{\"a\":1}\n"})
	s.sets = append(s.sets, "--set", "kafka.bootstrap.servers="+address)
	var err error
	if s.client, err = kgo.NewClient(kgo.SeedBrokers(address), kgo.RecordPartitioner(kgo.ManualPartitioner())); err != nil {
		t.Fatal(err)
	}
	defer s.client.Close()
	s.admin, s.options = kadm.NewClient(s.client), []kgo.Opt{kgo.SeedBrokers(address)}
	s.produce(numbered("in", 0, 1))
	d := s.start()
	s.holds("t", 1)
	s.until("the first row in the topic", func() bool { return len(s.committed("out")) == 1 })
	s.until("a flow that has read everything", func() bool { return d.flow("t").Reason == "waiting for data" })
	s.frozen(d, address, func() func() {
		freezer.Freeze()
		if err := os.WriteFile(filepath.Join(s.dir, "in", "2.json"), []byte("{\"a\":2}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return freezer.Thaw
	}, "t", "publish")
	s.produce(numbered("in", 0, 2))
	s.holds("t", 1, 2)
	s.until("the second row in the topic", func() bool { return len(s.committed("out")) == 2 })
	s.until("a daemon that is ready", s.isReady)
	d.stop(exitOK)
}
