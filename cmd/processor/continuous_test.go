package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/daemon"
	"sluice/eventlog"
)

// local is a continuous pipeline over files, run as a process of its own.
func local(t *testing.T, sql string, data map[string]string) *site {
	t.Helper()
	if testing.Short() {
		t.Skip("starts processes")
	}
	content := map[string]string{
		"pipeline.yml": "name: local\nstorage: state\nlibraries:\n  - glob: {include: flows.sql}\ncontinuous: true\n",
		"flows.sql":    sql,
	}
	for name, text := range data {
		content[name] = text
	}
	dir := files(t, content)
	return &site{t: t, dir: dir, sets: []string{"--spec", dir, "--set", "sluice.listen=127.0.0.1:0"}}
}

// isReady asks the running daemon.
func (s *site) isReady() bool {
	s.t.Helper()
	where, ok := daemon.ReadWhere(filepath.Join(s.dir, "state"))
	if !ok {
		s.t.Fatal("no daemon serves")
	}
	answer, err := http.Get("http://" + where.Address + "/readyz")
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// PM-02: a continuous pipeline whose only flow failed for good stays up and is not ready; status and SQL are served, and a
// checkpoint reset lets the flow go on (FR-13). Stopped while a flow is FAILED it exits with 1, else with 0 (D-51).
func TestContinuousPipelineStaysUpWhenEveryFlowHasFailed(t *testing.T) {
	s := local(t, `CREATE STREAMING TABLE t AS SELECT a FROM STREAM read_files('in/*.json', format => 'json', schema => 'a INT');`,
		map[string]string{"in/1.json": "{\"a\":1}\n{\"a\":\"x\"}\n"})
	failed := func() bool { return s.flow("t").Status == string(eventlog.Failed) }
	d := s.start()
	s.until("the failure", failed)
	if got := s.query("SELECT a FROM t"); got != "1" {
		t.Errorf("beside the failed flow a query gives %q", got)
	}
	if s.isReady() {
		t.Error("ready although its flow failed")
	}
	d.stop(exitFailure)
	if out := d.output(); !strings.Contains(out, "PIPELINE_RUN_FAILED") {
		t.Errorf("it said\n%s", out)
	}

	d = s.start()
	s.until("the failure", failed)
	if err := os.WriteFile(filepath.Join(s.dir, "in", "1.json"), []byte("{\"a\":1}\n{\"a\":2}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out := s.verb("reset-checkpoint", "t"); code != exitOK {
		t.Fatalf("exit %d\n%s", code, out)
	}
	s.until("the rows", func() bool { return s.query("SELECT a FROM t") == "1\n1\n2" }) // the row of before the reset stays
	if !s.isReady() {
		t.Error("not ready although its flow runs")
	}
	d.stop(exitOK)
}

// PM-02, ON-01: one whose once flows have drained stays up too, with what they loaded.
func TestContinuousPipelineStaysUpWhenEveryFlowHasDrained(t *testing.T) {
	s := local(t, `CREATE STREAMING TABLE t;
CREATE FLOW load AS INSERT ONCE INTO t BY NAME SELECT a FROM read_files('in/*.json', format => 'json', schema => 'a INT');`,
		map[string]string{"in/1.json": "{\"a\":1}\n"})
	for _, status := range []eventlog.Status{eventlog.Completed, eventlog.Idle} {
		d := s.start()
		s.until("the end of the load", func() bool { return s.flow("load").Status == string(status) })
		if got := s.query("SELECT a FROM t"); got != "1" || !s.isReady() {
			t.Errorf("%s: the query gives %q", status, got)
		}
		d.stop(exitOK)
	}
}
