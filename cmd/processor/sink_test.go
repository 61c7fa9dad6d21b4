package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/fault"
	"sluice/internal/broker"
	"sluice/internal/testenv"
)

// D-18: the store is lost, and a new one may not go on in the targets of the old one, until somebody says so.
func TestSinkAdopt(t *testing.T) {
	brokers := testenv.Broker(t, broker.Options{Topics: map[string]int32{"out": 1}}).Brokers()
	w := world{brokers, testenv.Postgres(t)}
	t.Setenv("PGURL", w.database)
	dir := project(t, `CREATE STREAMING TABLE t AS SELECT * FROM STREAM read_files('in.json', format => 'json', schema => 'k BIGINT');
CREATE SINK rows FORMAT postgres OPTIONS (url => '${env:PGURL}', table => 'out', create_table => true, mode => 'upsert', keys => 'k');
CREATE FLOW to_rows AS INSERT INTO SINK rows BY NAME SELECT k FROM STREAM(t);
CREATE SINK records FORMAT kafka OPTIONS (topic => 'out');
CREATE FLOW to_records AS INSERT INTO SINK records BY NAME SELECT k FROM STREAM(t);
CREATE SINK lines FORMAT file OPTIONS (path => 'out');
CREATE FLOW to_lines AS INSERT INTO SINK lines BY NAME SELECT k FROM STREAM(t);`, map[string]string{"in.json": "{\"k\":1}\n{\"k\":2}\n"})
	args := []string{"--spec", dir, "--set", "kafka.bootstrap.servers=" + brokers[0]}
	must(t, append(args, "run")...)
	if err := os.RemoveAll(filepath.Join(dir, "state")); err != nil {
		t.Fatal(err)
	}
	if code, out, _ := command(append(args, "run")...); code != exitFailure {
		t.Fatalf("exit %d\n%s", code, out)
	}
	if events := must(t, append(args, "events", "--level", "ERROR", "-o", "csv")...); strings.Count(events, fault.SinkOtherStore.Name) != 2 {
		t.Errorf("events\n%s", events)
	}
	for flow, want := range map[string]string{"t": "SINK_NOT_ADOPTABLE", "to_lines": "SINK_NOT_ADOPTABLE", "to_row": "FLOW_NOT_FOUND"} {
		if code, _, err := command(append(args, "sink", "adopt", flow)...); code != exitFailure || !strings.Contains(err, want) {
			t.Errorf("%s: exit %d %s", flow, code, err)
		}
	}
	for _, flow := range []string{"to_rows", "to_records"} {
		if out := must(t, append(args, "sink", "adopt", flow)...); !strings.Contains(out, "its first batch") {
			t.Errorf("%s", out)
		}
	}
	must(t, append(args, "run")...)
	if got := w.ask(t, "SELECT k::text FROM out ORDER BY k"); fmt.Sprint(got) != "[1 2]" {
		t.Errorf("the table has %v", got)
	}
	// A topic cannot take anything back: what the new store sends stands behind what the old one sent.
	if got := must(t, "topic", "cat", "out", "--brokers", brokers[0]); strings.Count(got, "\n") != 4 {
		t.Errorf("the topic has\n%s", got)
	}
	if out := must(t, append(args, "sink", "adopt", "to_rows")...); !strings.Contains(out, "after batch 0 of generation 0") {
		t.Errorf("%s", out)
	}
	must(t, append(args, "run")...)
}
