package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

// files writes files below a new folder and returns it.
func files(t *testing.T, content map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range content {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// project is a triggered pipeline over files; every run takes a free port.
func project(t *testing.T, sql string, data map[string]string) string {
	t.Helper()
	content := map[string]string{
		"pipeline.yml": "name: trial\nstorage: state\nlibraries:\n  - glob: {include: flows.sql}\nconfiguration:\n  sluice.listen: 127.0.0.1:0\n  sluice.log_level: warn\n",
		"flows.sql":    sql,
	}
	for name, text := range data {
		content[name] = text
	}
	return files(t, content)
}

// must runs a command line that has to succeed and returns what it printed.
func must(t *testing.T, args ...string) string {
	t.Helper()
	code, out, err := command(args...)
	if code != exitOK {
		t.Fatalf("processor %s: exit %d\n%s%s", strings.Join(args, " "), code, out, err)
	}
	return out
}

// rows queries a stopped store and returns the sorted lines.
func rows(t *testing.T, dir, sql string) string {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(must(t, "query", "--spec", dir, "-o", "csv", sql)), "\n")[1:]
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

const orders = `CREATE STREAMING TABLE orders (CONSTRAINT paid EXPECT (amount > 0) ON VIOLATION DROP ROW)
FLOW REPLACE USING (id) SEQUENCE BY version BY NAME
SELECT id, version, amount FROM STREAM read_files('in/*.json', format => 'json', schema => 'id BIGINT, version BIGINT, amount INT');`

// Examples C, D, E and I of REPLACE USING, over runs: RU-02, RU-03, RU-04, EX-18.
func TestRunsGoOnWhereTheyStopped(t *testing.T) {
	dir := project(t, orders, map[string]string{"in/1.json": `{"id":1,"version":5,"amount":10}
{"id":1,"version":5,"amount":10}
{"id":2,"version":9,"amount":0}
`})
	must(t, "run", "--spec", dir)
	if got := rows(t, dir, "SELECT * FROM orders"); got != "1,5,10\n1,5,10" {
		t.Errorf("first run:\n%s", got)
	}
	more := map[string]string{"in/2.json": `{"id":1,"version":4,"amount":7}
{"id":2,"version":2,"amount":3}
{"id":1,"version":5,"amount":11}
`}
	for name, text := range more {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the second has nothing to do
		must(t, "run", "--spec", dir)
		if got := rows(t, dir, "SELECT * FROM orders"); got != "1,5,10\n1,5,10\n1,5,11\n2,2,3" {
			t.Errorf("later run:\n%s", got)
		}
	}
	// FR-13, D-1: a checkpoint reset reads everything again and doubles nothing.
	must(t, "reset-checkpoint", "orders", "--spec", dir)
	if said := must(t, "events", "--spec", dir); !strings.Contains(said, "user action: reset checkpoint orders") {
		t.Errorf("the log has no word of the reset:\n%s", said)
	}
	must(t, "run", "--spec", dir)
	if got := rows(t, dir, "SELECT * FROM orders"); got != "1,5,10\n1,5,10\n1,5,11\n2,2,3" {
		t.Errorf("after the checkpoint reset:\n%s", got)
	}
	digest := must(t, "digest", "orders", "--spec", dir, "-o", "csv")
	if !strings.HasPrefix(digest, "table,rows,digest,varies\norders,4,") {
		t.Errorf("digest: %s", digest)
	}
	// FR-01: a full refresh computes the same from what is there.
	must(t, "run", "--spec", dir, "--full-refresh", "orders")
	if again := must(t, "digest", "--spec", dir, "-o", "csv"); again != digest { // D-29
		t.Errorf("after the full refresh the digest is %s, before it was %s", again, digest)
	}
	if got := rows(t, dir, "SELECT count(*) AS n, max(version) AS v FROM orders"); got != "4,5" {
		t.Errorf("after the full refresh: %s", got)
	}
}

// A-35, D-15: what stands before a bad record is kept, nothing at or behind it, and the next run stops at the same place.
// The log has no part of the record, the event log does.
func TestBadRecordStopsTheFlowAtItsPlace(t *testing.T) {
	dir := project(t, orders, map[string]string{"in/1.json": `{"id":1,"version":1,"amount":1}
{"id":2,"version":1,"amount":"four of it"}
{"id":3,"version":1,"amount":1}
`})
	for range 2 {
		code, _, err := command("run", "--spec", dir)
		if code != exitFailure || !strings.Contains(err, "PIPELINE_RUN_FAILED") || !strings.Contains(err, "amount") {
			t.Errorf("exit %d\n%s", code, err)
		}
		if strings.Contains(err, "four of it") {
			t.Errorf("what came out of a record is in the log:\n%s", err)
		}
		if got := rows(t, dir, "SELECT * FROM orders"); got != "1,1,1" {
			t.Errorf("kept:\n%s", got)
		}
	}
	if events := must(t, "events", "--spec", dir, "-o", "ndjson"); !strings.Contains(events, "four of it") {
		t.Errorf("the event log does not have the value:\n%s", events)
	}
}

// D-62: an edited query goes on from its positions, with a warning. FR-05, FR-06: a protected table is refused by name
// and left out of a full refresh of everything.
func TestEditedQueryAndProtectedTable(t *testing.T) {
	sql := `CREATE STREAMING TABLE e TBLPROPERTIES ('pipelines.reset.allowed' = 'false')
AS SELECT a FROM STREAM read_files('in/*.json', format => 'json', schema => 'a INT');`
	dir := project(t, sql, map[string]string{"in/1.json": "{\"a\":1}\n"})
	must(t, "run", "--spec", dir)
	if err := os.WriteFile(filepath.Join(dir, "flows.sql"), []byte(strings.Replace(sql, "SELECT a", "SELECT a + 0 AS a", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, err := command("run", "--spec", dir, "--full-refresh-all")
	if code != exitOK || !strings.Contains(err, "QUERY_FINGERPRINT_CHANGED") {
		t.Errorf("exit %d\n%s", code, err)
	}
	if got := rows(t, dir, "SELECT a FROM e"); got != "1" {
		t.Errorf("rows: %q", got)
	}
	if code, _, err := command("run", "--spec", dir, "--full-refresh", "e"); code != exitFailure || !strings.Contains(err, "TABLE_NOT_RESETTABLE") {
		t.Errorf("exit %d\n%s", code, err)
	}
	if code, _, err := command("run", "--spec", dir, "--full-refresh-all", "--refresh", "e"); code != exitUsage || !strings.Contains(err, "CONFLICTING_PIPELINE_REFRESH_OPTIONS") {
		t.Errorf("CL-03: exit %d\n%s", code, err)
	}
}

// tick is a line of the stock ticks.
type tick struct {
	Key    string
	TS     string
	Volume int64
}

// newest is the independent answer: per key the row with the highest ts among those with a volume.
func newest(t *testing.T, paths ...string) (out map[string]tick, dropped int) {
	t.Helper()
	out = map[string]tick{}
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			var r tick
			if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
				t.Fatal(err)
			}
			if r.Volume <= 0 {
				dropped++
			} else if r.TS > out[r.Key].TS {
				out[r.Key] = r
			}
		}
	}
	return out, dropped
}

// The history and the later file of real ticks, into one keyed table (D-13), equal what a plain program says.
func TestStockTicksEqualAPlainProgram(t *testing.T) {
	data := filepath.Join("..", "..", "examples", "stock_ticks", "data")
	history, live := filepath.Join(data, "batch_1.json"), filepath.Join(data, "batch_2.json")
	content := map[string]string{}
	for name, path := range map[string]string{"in/1.json": history, "in/2.json": live} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		content[name] = string(text)
	}
	dir := project(t, `CREATE STREAMING TABLE raw AS
SELECT key, ts, volume FROM STREAM read_files('in/*.json', format => 'json', schema => 'key STRING, ts TIMESTAMP, volume BIGINT');
CREATE STREAMING TABLE ticks (CONSTRAINT traded EXPECT (volume > 0) ON VIOLATION DROP ROW)
FLOW REPLACE USING (key) SEQUENCE BY ts BY NAME SELECT * FROM STREAM(raw);
CREATE SINK out FORMAT file OPTIONS (path => 'out', format => 'json');
CREATE FLOW publish AS INSERT INTO SINK out BY NAME SELECT key, ts, volume FROM STREAM(ticks) WITH (readChangeFeed = true);`, content)
	out := must(t, "run", "--spec", dir)
	want, dropped := newest(t, history, live)
	if dropped != 52 || !strings.Contains(out, "52 dropped") {
		t.Errorf("%d dropped\n%s", dropped, out)
	}
	var lines []string
	for key, r := range want {
		lines = append(lines, fmt.Sprintf("%s,%sZ,%d", key, strings.Replace(r.TS, " ", "T", 1), r.Volume))
	}
	sort.Strings(lines)
	if got := rows(t, dir, "SELECT key, ts, volume FROM ticks"); got != strings.Join(lines, "\n") {
		t.Errorf("%d keys wanted; got\n%s", len(lines), got)
	}
	if got := folded(t, filepath.Join(dir, "out")); got != strings.Join(lines, "\n") {
		t.Errorf("the sink's files fold to\n%s", got)
	}
}

// folded adds up the change feed that a file sink wrote.
func folded(t *testing.T, dir string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no files in %s: %v", dir, err)
	}
	sort.Strings(names)
	live := map[string]int{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			var r struct {
				Change string `json:"_change_type"`
				tick
			}
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatal(err)
			}
			row := fmt.Sprintf("%s,%s,%d", r.Key, r.TS, r.Volume)
			if r.Change == "insert" {
				live[row]++
			} else if live[row]--; live[row] == 0 {
				delete(live, row)
			}
		}
	}
	var out []string
	for row, n := range live {
		for range n {
			out = append(out, row)
		}
	}
	sort.Strings(out)
	return strings.Join(out, "\n")
}
