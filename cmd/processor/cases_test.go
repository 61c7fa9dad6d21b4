package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/internal/broker"
	"sluice/internal/testenv"
)

// tied has the rows of a key in their order.
const tied = "SELECT CAST(collect_list(v) AS STRING) AS v FROM newest"

// two rows that tie are the same, in the same order, after a kill -9, in a copy of the store, and on a second daemon that is fed the
// same topic.
func TestTiesAreTheSameInACopy(t *testing.T) {
	from := brokerProcess(t)
	a := daemonOf(t, from, "in")
	a.send(from, "in", []string{`{"k":1,"seq":5,"v":"a"}`, `{"k":1,"seq":5,"v":"b"}`}, "--create", "1")
	const want = `"[a, b]"`
	up := func(s *site) *running {
		t.Helper()
		d := s.start()
		s.until("the daemon", func() bool { return d.address() != "" }) // the rows may be in the store before it is up
		return d
	}
	holds := func(s *site) {
		t.Helper()
		s.until("both rows in their order", func() bool { return s.query(tied) == want })
	}
	d := up(a)
	holds(a)
	d.kill()
	d = up(a) // what was not synced yet is read again
	holds(a)
	d.stop(exitOK)
	holds(a)
	restored := daemonOf(t, from, "in")
	if err := os.CopyFS(filepath.Join(restored.dir, "state"), os.DirFS(filepath.Join(a.dir, "state"))); err != nil {
		t.Fatal(err)
	}
	holds(restored)
	d = up(restored)
	holds(restored)
	d.stop(exitOK)
	second := daemonOf(t, from, "in")
	d = up(second)
	holds(second)
	d.stop(exitOK)
}

// 10,000 rows of one key in one partition, their sequence rising in runs of equal ones: with one worker and with sixteen, with small
// batches and with large ones, they come to the same table, the same tie groups, in the same order, which is that of the partition.
func TestOneKeyInOneOrder(t *testing.T) {
	from := brokerProcess(t)
	var records []string
	for i := range 10_000 {
		records = append(records, fmt.Sprintf(`{"k":1,"seq":%d,"v":"%d"}`, i/7, i))
	}
	sent, first, want := false, map[string]string(nil), ""
	for _, c := range []struct{ workers, batch string }{{"1", "10000"}, {"16", "10000"}, {"1", "333"}, {"16", "61"}} {
		t.Setenv("GOMAXPROCS", c.workers)
		s := daemonOf(t, from, "ordered", "sluice.max_batch_rows="+c.batch)
		if !sent {
			s.send(from, "ordered", records, "--create", "1")
			sent = true
		}
		d := s.start()
		digests := s.digests(len(records))
		groups := s.query("SELECT seq, count(*) AS n, CAST(collect_list(v) AS STRING) AS v FROM log GROUP BY seq ORDER BY seq")
		newest := s.query(tied)
		d.stop(exitOK)
		if first == nil {
			first, want = digests, groups
		}
		if newest != `"[9996, 9997, 9998, 9999]"` {
			t.Errorf("%v: the key has %s", c, newest)
		}
		if fmt.Sprint(digests) != fmt.Sprint(first) || groups != want {
			t.Errorf("%v: the tables differ: %v, before %v", c, digests, first)
		}
	}
}

// a daemon whose brokers are not there yet says so, and goes on by itself when they come.
func TestABrokerThatComesLater(t *testing.T) {
	dir, address := t.TempDir(), fmt.Sprintf("127.0.0.1:%d", testenv.FreePort(t))
	start := func() (end func()) {
		b, err := broker.Start(broker.Options{DataDir: dir, Listen: address})
		if err != nil {
			t.Fatal(err)
		}
		return b.Close
	}
	end := start()
	s := daemonOf(t, address, "in")
	s.send(address, "in", []string{`{"k":1,"seq":5,"v":"a"}`}, "--create", "1")
	end()
	d := s.start()
	s.until("status to say that no broker answers", func() bool { return strings.Contains(s.flow("newest").Reason, "KAFKA_UNAVAILABLE") })
	if !strings.Contains(d.output(), address) {
		t.Errorf("the log does not say it:\n%s", d.output())
	}
	defer start()()
	s.until("the row", func() bool { return s.query("SELECT v FROM newest") == "a" })
	d.stop(exitOK)
}

// a second daemon on one folder is refused, and told the process that has it; after a kill -9 the next one starts without anybody
// cleaning up. (Of another user: TestStorageThatIsNotOurs, in state.)
func TestASecondDaemonIsRefused(t *testing.T) {
	s := local(t, "CREATE STREAMING TABLE t AS SELECT a FROM STREAM read_files('in/*.json', format => 'json', schema => 'a INT');",
		map[string]string{"in/1.json": "{\"a\":1}\n"})
	holds := func() bool { return s.query("SELECT a FROM t") == "1" }
	d := s.start()
	s.until("the row", holds)
	for range 2 {
		second := s.start()
		second.wait(exitFailure)
		if want := fmt.Sprintf("STORE_LOCKED: the store in %s is in use by process %d ", filepath.Join(s.dir, "state"), d.cmd.Process.Pid); !strings.Contains(second.output(), want) {
			t.Errorf("no %q in\n%s", want, second.output())
		}
		s.until("the first to go on", holds)
		d.kill()
		d = s.start()
		s.until("the next one, after a kill", func() bool { return d.address() != "" && holds() })
	}
	d.stop(exitOK)
}
