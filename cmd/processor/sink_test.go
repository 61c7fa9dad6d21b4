package main

import (
	"bytes"
	"encoding/json"
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
	sinks := append(args, "sink", "adopt")
	for line, want := range map[string]string{"t": "SINK_NOT_FOUND", "row": `did you mean "rows"?`, "rows --flow to_lines": "does not write the sink",
		"rows --flow to_row": "FLOW_NOT_FOUND", "lines": "SINK_NOT_ADOPTABLE"} {
		if code, _, err := command(append(sinks, strings.Fields(line)...)...); code != exitFailure || !strings.Contains(err, want) {
			t.Errorf("%s: exit %d %s", line, code, err)
		}
	}
	if code, out, err := command(append(sinks, "rows")...); code != exitUsage || !strings.Contains(err, "--yes") || !strings.Contains(out, "may be doubled") {
		t.Errorf("exit %d\n%s%s", code, out, err)
	}
	nobody, err := os.Open(os.DevNull) // a terminal, as far as one can see, at which nobody answers
	if err != nil {
		t.Fatal(err)
	}
	defer nobody.Close()
	var said bytes.Buffer
	if code := run(append(sinks, "rows"), nobody, &said, &said); code != exitFailure || !strings.Contains(said.String(), "Go on? [y/N] nothing was changed") {
		t.Errorf("exit %d\n%s", code, said.String())
	}
	status := append(args, "sink", "status")
	if got := next(t, status); got != "to_rows SINK_OWNED_BY_ANOTHER_STORE, to_records SINK_OWNED_BY_ANOTHER_STORE, to_lines goes on" {
		t.Errorf("what was not agreed to was done: %s", got)
	}
	for _, line := range []string{"rows", "records --flow to_records"} {
		if out := must(t, append(sinks, strings.Fields(line+" --yes")...)...); !strings.Contains(out, "the first batch of generation 0") {
			t.Errorf("%s", out)
		}
	}
	if got := next(t, status); got != "to_rows goes on, to_records goes on, to_lines goes on" {
		t.Errorf("%s", got)
	}
	if events := must(t, append(args, "events", "-o", "csv")...); !strings.Contains(events, "user action: adopt sink rows, to_rows") {
		t.Errorf("events\n%s", events)
	}
	must(t, append(args, "run")...)
	if got := w.ask(t, "SELECT k::text FROM out ORDER BY k"); fmt.Sprint(got) != "[1 2]" {
		t.Errorf("the table has %v", got)
	}
	// A topic cannot take anything back: what the new store sends stands behind what the old one sent.
	if got := must(t, "topic", "cat", "out", "--brokers", brokers[0]); strings.Count(got, "\n") != 4 {
		t.Errorf("the topic has\n%s", got)
	}
	if out := must(t, append(sinks, "rows")...); !strings.Contains(out, "nothing to adopt") {
		t.Errorf("%s", out)
	}
	must(t, append(args, "run")...)
}

// A target that does not answer is said to be unknown, and that is a failure; the others are shown (D-18).
func TestSinkStatusOfWhatDoesNotAnswer(t *testing.T) {
	dir := project(t, `CREATE STREAMING TABLE t AS SELECT * FROM STREAM read_files('in.json', format => 'json', schema => 'k BIGINT');
CREATE SINK rows FORMAT postgres OPTIONS (url => 'postgres://u:geheim@127.0.0.1:1/d', table => 'out');
CREATE FLOW to_rows AS INSERT INTO SINK rows BY NAME SELECT k FROM STREAM(t);
CREATE SINK lines FORMAT file OPTIONS (path => 'out');
CREATE FLOW to_lines AS INSERT INTO SINK lines BY NAME SELECT k FROM STREAM(t);`, map[string]string{"in.json": ""})
	args := []string{"--spec", dir, "sink", "status"}
	if code, _, err := command(args...); code != exitFailure || !strings.Contains(err, "STORE_NOT_FOUND") {
		t.Errorf("before the first run: exit %d %s", code, err)
	}
	must(t, "run", "--spec", dir, "--refresh", "t")
	code, out, err := command(args...)
	if code != exitFailure || !strings.Contains(err, "POSTGRES_UNAVAILABLE") || !strings.Contains(out, "not known") || !strings.Contains(out, "this kind keeps none") {
		t.Errorf("exit %d\n%s%s", code, out, err)
	}
	if strings.Contains(out+err, "geheim") {
		t.Errorf("a secret is told\n%s%s", out, err)
	}
	if code, _, err := command("--spec", dir, "sink", "adopt", "rows", "--yes"); code != exitFailure || !strings.Contains(err, "POSTGRES_UNAVAILABLE") {
		t.Errorf("exit %d %s", code, err)
	}
}

// next is what sink status says of the next start of each flow.
func next(t *testing.T, args []string) string {
	t.Helper()
	var flows []struct{ Flow, NextStart string }
	text := strings.ReplaceAll(must(t, append(args, "-o", "json")...), "next_start", "NextStart")
	if err := json.Unmarshal([]byte(text), &flows); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range flows {
		out = append(out, f.Flow+" "+f.NextStart)
	}
	return strings.Join(out, ", ")
}

func TestSinkAdoptWithoutSinks(t *testing.T) {
	s := local(t, "CREATE STREAMING TABLE t AS SELECT k FROM STREAM read_files('in/*.json', format => 'json', schema => 'k INT');", nil)
	if code, out := s.verb("sink", "adopt", "t"); code != exitFailure || !strings.Contains(out, "SINK_NOT_FOUND") || !strings.Contains(out, "the pipeline has none") {
		t.Errorf("exit %d\n%s", code, out)
	}
}
