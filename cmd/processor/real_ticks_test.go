package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

	"sluice/internal/testenv"
)

// The first example on real Kafka: the history from its file, the later ticks from a topic, in their order in one partition
// or in any order over four, come to what a plain program says. So does the sink's topic for a read_committed consumer,
// who sees each batch once (D-18, D-45), although the daemon is killed in between.
func TestRealStockTicks(t *testing.T) {
	for name, partitions := range map[string]int32{"in_order": 1, "any_order": 4} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, testenv.Kafka(t), example(t, "stock_ticks"))
			s.create(s.name, partitions)
			shuffle := s.random
			if partitions == 1 {
				shuffle = nil
			}
			live, want := liveTicks(t, shuffle), wantTicks(t)
			s.put(s.name, partitions, live[:500]...)
			d := s.start("--set", "sluice.max_batch_rows=300", "--set", "pipelines.trigger.interval=20ms")
			s.until("the first 500", func() bool { return s.query("SELECT count(*) FROM ticks_raw") == "3982" })
			for chunk := range slices.Chunk(live[500:1000], 100) {
				s.put(s.name, partitions, chunk...)
			}
			if partitions > 1 {
				d.kill()
				d = s.start()
			}
			s.put(s.name, partitions, live[1000:]...)
			s.until("all ticks in the sink's topic", func() bool { return strings.Join(s.fold(s.name+"_out"), "\n") == want })
			if got := s.query("SELECT key, symbol, ts, close FROM ticks"); got != want {
				t.Errorf("the table holds\n%s\nwant\n%s", got, want)
			}
			if f := s.flow("ticks"); partitions == 1 && f.Dropped != 52 {
				t.Errorf("%+v", f)
			}
			s.lagIsNone(s.name+".ticks_live", 1668)
			d.stop(exitOK)
			s.groupIsNoTruth(s.name+".ticks_live", want)
		})
	}
}

// fold is what a topic of upserts holds, as wantTicks, and makes sure that each batch is there once: numbers rise, and none has
// a key twice.
func (s *site) fold(topic string) (out []string) {
	s.t.Helper()
	live := map[string]string{}
	batches := map[string]bool{} // and keys of the last one
	last := ""
	for _, r := range s.committed(topic) {
		id := string(r.Headers[0].Value)
		if id = id[strings.Index(id, "/"):]; id != last {
			if batches[id] {
				s.t.Fatalf("batch %s comes twice", id)
			}
			batches[id], last = true, id
		}
		if once := id + string(r.Key); batches[once] {
			s.t.Fatalf("batch %s has the key %s twice", id, r.Key)
		} else {
			batches[once] = true
		}
		delete(live, string(r.Key))
		if r.Value != nil {
			var row struct {
				Key, Symbol, TS string
				Close           json.Number
			}
			if err := json.Unmarshal(r.Value, &row); err != nil {
				s.t.Fatal(err)
			}
			live[string(r.Key)] = strings.Join([]string{row.Key, row.Symbol, row.TS, row.Close.String()}, ",")
		}
	}
	for _, row := range live {
		out = append(out, row)
	}
	slices.Sort(out)
	return out
}

// lagIsNone is D-17: a stock tool sees what the flow has read, and, once it has read all, no lag.
func (s *site) lagIsNone(group string, records int64) {
	s.t.Helper()
	s.until("a group without lag", func() bool {
		lags, err := s.admin.Lag(s.t.Context(), group)
		if err != nil {
			s.t.Fatal(err)
		}
		read, topics := int64(0), lags[group].Lag
		for _, partitions := range topics {
			for _, p := range partitions {
				read += p.Commit.At
			}
		}
		return read == records && topics.Total() == 0
	})
}

// groupIsNoTruth rewinds and deletes the group of a stopped flow: what the store says counts (D-17).
func (s *site) groupIsNoTruth(group, want string) {
	s.t.Helper()
	rows, records := s.query("SELECT count(*) FROM ticks_raw"), len(s.committed(s.name+"_out"))
	rewound := kadm.Offsets{}
	rewound.Add(kadm.Offset{Topic: s.name, Partition: 0, At: 1, LeaderEpoch: -1})
	if err := s.admin.CommitAllOffsets(s.t.Context(), group, rewound); err != nil {
		s.t.Fatal(err)
	}
	for _, change := range []string{"rewound", "deleted"} {
		if change == "deleted" {
			if _, err := s.admin.DeleteGroup(s.t.Context(), group); err != nil {
				s.t.Fatal(err)
			}
		}
		d := s.start()
		// A tick that changes nothing below: nobody traded.
		s.put(s.name, 1, `{"key":"none","symbol":"none","ts":"2018-08-31 10:00:00","close":1,"volume":0}`)
		var n int
		fmt.Sscan(rows, &n)
		rows = fmt.Sprint(n + 1)
		s.until("the next tick after the group was "+change, func() bool { return s.query("SELECT count(*) FROM ticks_raw") >= rows })
		s.until("the flows to wait", func() bool { return s.flow("publish").Reason == "waiting for data" })
		d.stop(exitOK)
		if got := s.query("SELECT count(*) FROM ticks_raw"); got != rows {
			s.t.Errorf("%s rows after the group was %s, want %s", got, change, rows)
		}
		if got := s.query("SELECT key, symbol, ts, close FROM ticks"); got != want {
			s.t.Errorf("the group was %s, and the table changed:\n%s", change, got)
		}
		if got := len(s.committed(s.name + "_out")); got != records {
			s.t.Errorf("the group was %s, and the topic has %d records, had %d", change, got, records)
		}
	}
}
