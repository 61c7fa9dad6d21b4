package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sluice/admin"
	"sluice/daemon"
)

// refreshed has a once flow in front of a live one, into a table that a keyed table and a sink follow.
const refreshed = `CREATE STREAMING TABLE t;
CREATE FLOW load AS INSERT ONCE INTO t BY NAME SELECT a, 'old' AS v FROM read_files('old/*.json', format => 'json', schema => 'a INT');
CREATE FLOW live DEPENDS ON (load) AS INSERT INTO t BY NAME SELECT a, 'new' AS v FROM STREAM read_files('in/*.json', format => 'json', schema => 'a INT');
CREATE STREAMING TABLE k FLOW REPLACE USING (a) SEQUENCE BY a BY NAME SELECT a, v FROM STREAM(t);
CREATE STREAMING TABLE other AS SELECT a FROM STREAM read_files('other/*.json', format => 'json', schema => 'a INT');
CREATE STREAMING TABLE kept TBLPROPERTIES ('pipelines.reset.allowed' = 'false') AS SELECT a FROM STREAM read_files('other/*.json', format => 'json', schema => 'a INT');
CREATE SINK out FORMAT file OPTIONS (path => 'out', format => 'json');
CREATE FLOW send AS INSERT INTO SINK out BY NAME SELECT a, v FROM STREAM(t);`

var refreshedFiles = map[string]string{"old/1.json": "{\"a\":1}\n", "in/1.json": "{\"a\":2}\n", "other/1.json": "{\"a\":3}\n"}

// fullRows are the rows of t once everything was read.
const fullRows = "a,v\n1,old\n2,new"

// quick is that pipeline, with short pauses between two reads.
func quick(t *testing.T) *site {
	s := local(t, refreshed, refreshedFiles)
	s.sets = append(s.sets, "--set", "pipelines.trigger.interval=100ms")
	return s
}

// api sends a request to the running daemon and returns status and body.
func (s *site) api(method, path, body string) (int, map[string]any) {
	s.t.Helper()
	where, ok := daemon.ReadWhere(filepath.Join(s.dir, "state"))
	if !ok {
		s.t.Fatal("no daemon serves")
	}
	r, err := http.NewRequestWithContext(s.t.Context(), method, "http://"+where.Address+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "text/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		s.t.Fatalf("%s %s answers %s", method, path, text)
	}
	return answer.StatusCode, out
}

// served is what the running daemon says of a flow.
func (s *site) served(name string) admin.Flow {
	s.t.Helper()
	status, err := s.serving()
	if err != nil {
		s.t.Fatal(err)
	}
	for _, f := range status.Flows {
		if f.Name == name {
			return f
		}
	}
	s.t.Fatalf("there is no flow %s", name)
	return admin.Flow{}
}

// csv has the rows of a query, or what was said instead.
func (s *site) csv(sql string) string {
	s.t.Helper()
	_, out := s.verb("query", "-o", "csv", sql)
	return strings.TrimSpace(out)
}

// D-33: a full refresh beside a running continuous pipeline empties and fills the tables named, once flows first (FR-11), and touches nothing else; the
// flows behind them stop unless they are refreshed too (D-28); a second one of everything mends that.
func TestRefreshBesideADaemon(t *testing.T) {
	s := quick(t)
	d := s.start()
	complete := func() bool {
		return s.csv("SELECT a, v FROM t ORDER BY a") == fullRows && s.csv("SELECT a, v FROM k ORDER BY a") == fullRows && s.csv("SELECT a FROM other") == "a\n3"
	}
	s.until("all rows", complete)
	first := s.served("live").Generation

	// What was read is gone, so that a table that is not refreshed is told from one that is.
	for _, name := range []string{"other/1.json"} {
		if err := os.Remove(filepath.Join(s.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if code, out := s.verb("refresh", "t", "--full"); code != exitOK || !strings.Contains(out, "is COMPLETED") {
		t.Fatalf("exit %d\n%s", code, out)
	}
	s.until("the rows of t", func() bool { return s.csv("SELECT a, v FROM t ORDER BY a") == fullRows })
	s.until("the stop of what reads t", func() bool {
		k := s.served("k")
		return k.Error != nil && k.Error.Code == "SOURCE_RESET" && s.served("send").Error != nil
	})
	if got := s.served("live").Generation; got != first+1 {
		t.Errorf("live is in generation %d, not %d", got, first+1)
	}
	if other := s.served("other"); other.Generation != 0 || s.csv("SELECT a FROM other") != "a\n3" {
		t.Errorf("other was touched: %+v", other)
	}

	if code, out := s.verb("refresh", "t", "k", "out", "--full"); code != exitOK {
		t.Fatalf("exit %d\n%s", code, out)
	}
	s.until("all rows again", func() bool { return complete() && s.served("k").Error == nil && s.served("send").Error == nil })

	// FR-05, FR-06: a table that must not be reset.
	if code, out := s.verb("refresh", "kept", "--full"); code != exitFailure || !strings.Contains(out, "TABLE_NOT_RESETTABLE") {
		t.Errorf("exit %d\n%s", code, out)
	}
	if code, out := s.verb("refresh", "--full"); code != exitOK {
		t.Fatalf("exit %d\n%s", code, out)
	}
	s.until("all but other, whose file is gone", func() bool {
		return s.csv("SELECT a, v FROM t ORDER BY a") == fullRows && s.csv("SELECT a, v FROM k ORDER BY a") == fullRows && s.csv("SELECT a FROM other") == "a" && s.csv("SELECT a FROM kept") == "a\n3"
	})
	if code, out := s.verb("refresh", "nobody"); code != exitFailure || !strings.Contains(out, "TABLE_OR_VIEW_NOT_FOUND") {
		t.Errorf("exit %d\n%s", code, out)
	}
	d.stop(exitOK)

	// The event log has each update by its id; the one that was refused was none.
	_, out := s.verb("events", "-o", "ndjson", "--limit", "1000")
	if ended := regexp.MustCompile(`update [0-9a-f]{16} is COMPLETED`).FindAllString(out, -1); len(ended) != 3 {
		t.Errorf("%v in\n%s", ended, out)
	}
}

// Without a daemon, the verb opens the store and runs the pipeline through once.
func TestRefreshWithoutADaemon(t *testing.T) {
	s := quick(t)
	for _, args := range [][]string{{"refresh"}, {"refresh", "t", "k", "--full"}, {"refresh", "--full"}} {
		if code, out := s.verb(args...); code != exitOK {
			t.Fatalf("%v: exit %d\n%s", args, code, out)
		}
		if got := s.csv("SELECT a, v FROM k ORDER BY a"); got != fullRows {
			t.Errorf("%v: k has\n%s", args, got)
		}
	}
	if code, out := s.verb("refresh", "--async"); code != exitUsage {
		t.Errorf("exit %d\n%s", code, out)
	}
}

// The REST API of updates, on the wire.
func TestUpdatesAPI(t *testing.T) {
	s := quick(t)
	d := s.start()
	s.until("all rows", func() bool { return s.csv("SELECT a, v FROM k ORDER BY a") == fullRows })
	const path = "/api/2.0/pipelines/local/updates"
	ended := func(id string) map[string]any {
		t.Helper()
		var u map[string]any
		s.until("the end of "+id, func() bool {
			_, answer := s.api("GET", path+"/"+id, "")
			u, _ = answer["update"].(map[string]any)
			return u["state"] == "COMPLETED" || u["state"] == "FAILED"
		})
		return u
	}
	status, answer := s.api("POST", path, `{"pipeline_id":"local","cause":"JOB_TASK","update_cause_details":{"job_details":{"performance_target":"PERFORMANCE"}},"full_refresh_selection":["t"],"reset_checkpoint_selection":["send","k"]}`)
	id, _ := answer["update_id"].(string)
	if status != 200 || id == "" {
		t.Fatalf("%d %v", status, answer)
	}
	u := ended(id)
	if u["state"] != "COMPLETED" || u["cause"] != "JOB_TASK" || u["pipeline_id"] != "local" || u["mode"] != "DEFAULT" || u["creation_time"].(float64) < 1e12 {
		t.Errorf("the update is %v", u)
	}
	if f := s.served("send"); f.Generation != 1 || f.Error != nil {
		t.Errorf("send is %+v", f)
	}
	status, answer = s.api("GET", path+"?max_results=2", "")
	if list, _ := answer["updates"].([]any); status != 200 || len(list) != 2 || list[0].(map[string]any)["update_id"] != id || list[1].(map[string]any)["mode"] != "CONTINUOUS" {
		t.Errorf("%d %v", status, answer)
	}
	status, answer = s.api("GET", "/api/2.0/pipelines/local", "")
	if latest, _ := answer["latest_updates"].([]any); status != 200 || answer["state"] != "RUNNING" || len(latest) != 2 {
		t.Errorf("%d %v", status, answer)
	}
	status, answer = s.api("POST", path, `{"validate_only": true}`)
	if id, _ := answer["update_id"].(string); status != 200 || ended(id)["validate_only"] != true {
		t.Errorf("%d %v", status, answer)
	}
	for _, c := range []struct {
		method, path, body string
		status             int
		code               string
	}{
		{"POST", path, `{"full_refresh_selection":["nobody"]}`, 400, "TABLE_OR_VIEW_NOT_FOUND"},
		{"POST", path, `{"refresh_selection":["t"],"full_refresh_selection":["t"]}`, 400, "CONFLICTING_PIPELINE_REFRESH_OPTIONS"},
		{"POST", path, `{"full_refresh_selection":["kept"]}`, 400, "TABLE_NOT_RESETTABLE"},
		{"POST", path, `{"reset_checkpoint_selection":["nobody"]}`, 404, "FLOW_NOT_FOUND"},
		{"POST", path, `{"replace_where_overrides":[{"flow_name":"nobody","predicate_override":"a = 1"}]}`, 400, "REPLACE_WHERE_OVERRIDE_UNKNOWN_FLOW"},
		{"POST", path, `{"replace_where_overrides":[{"flow_name":"live","predicate_override":"a = 1"}]}`, 400, "REPLACE_WHERE_OVERRIDE_NOT_SUPPORTED"},
		{"POST", path, `{"rewind_spec":{"dry_run":true}}`, 400, "UNSUPPORTED_FEATURE"},
		{"POST", path, `{"refresh_selection":"t"}`, 400, "BAD_REQUEST"},
		{"GET", path + "/nobody", "", 404, "UPDATE_NOT_FOUND"},
		{"GET", "/api/2.0/pipelines/another", "", 404, "PIPELINE_NOT_FOUND"},
		{"PUT", path, "", 405, "METHOD_NOT_ALLOWED"},
		{"GET", "/api/2.0/pipelines", "", 404, "ENDPOINT_NOT_FOUND"},
	} {
		status, answer := s.api(c.method, c.path, c.body)
		if status != c.status || answer["error_code"] != c.code || answer["message"] == "" {
			t.Errorf("%s %s %s: %d %v", c.method, c.path, c.body, status, answer)
		}
	}
	d.stop(exitOK)
}

// D-33: one update at a time works on a table. It waits for a batch that a sink has in hand; the same request meanwhile is the same update.
func TestOneUpdateOfATableAtATime(t *testing.T) {
	s := local(t, `CREATE STREAMING TABLE t AS SELECT a FROM STREAM read_files('in/*.json', format => 'json', schema => 'a INT');
CREATE SINK slow FORMAT exec OPTIONS (command => 'sh hold.sh');
CREATE FLOW send AS INSERT INTO SINK slow BY NAME SELECT a FROM STREAM(t);`, map[string]string{"in/1.json": "{\"a\":1}\n",
		"hold.sh": "touch holding; cat >>sent; while [ ! -e go ]; do sleep 0.05; done\n"})
	d := s.start()
	s.until("the batch at the sink", func() bool { _, err := os.Stat(filepath.Join(s.dir, "holding")); return err == nil })
	const path, request = "/api/2.0/pipelines/local/updates", `{"full_refresh_selection":["t","slow"]}`
	_, first := s.api("POST", path, request)
	if _, again := s.api("POST", path, request); first["update_id"] == nil || again["update_id"] != first["update_id"] {
		t.Errorf("%v, then %v", first, again)
	}
	status, answer := s.api("POST", path, `{"refresh_selection":["t"]}`)
	if message, _ := answer["message"].(string); status != 409 || answer["error_code"] != "UPDATE_ALREADY_ACTIVE" || !strings.Contains(message, first["update_id"].(string)) {
		t.Errorf("%d %v", status, answer)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.until("the second sending", func() bool {
		sent, _ := os.ReadFile(filepath.Join(s.dir, "sent"))
		return strings.Count(string(sent), "{\"a\":1}") == 2
	})
	s.until("the end of the update", func() bool {
		_, answer := s.api("GET", path+"/"+first["update_id"].(string), "")
		u, _ := answer["update"].(map[string]any)
		return u["state"] == "COMPLETED"
	})
	if status, answer := s.api("POST", path, `{"refresh_selection":["t"]}`); status != 200 {
		t.Errorf("%d %v", status, answer)
	}
	d.stop(exitOK)
}

// official is what a user writes with the official client for Python.
const official = `
import sys, time
from databricks.sdk import WorkspaceClient
from databricks.sdk.errors import BadRequest, NotFound
from databricks.sdk.service.pipelines import UpdateInfoState
w = WorkspaceClient(host=sys.argv[1], token="any")
id = "local"
assert w.pipelines.get(id).state.value == "RUNNING"
u = w.pipelines.start_update(id, full_refresh_selection=["t", "k", "out"])
while True:
    info = w.pipelines.get_update(id, u.update_id).update
    if info.state in (UpdateInfoState.COMPLETED, UpdateInfoState.FAILED, UpdateInfoState.CANCELED):
        break
    time.sleep(0.1)
print(info.state.value, info.full_refresh_selection, info.cause.value)
raw = w.api_client.do("POST", f"/api/2.0/pipelines/{id}/updates", body={"pipeline_id": id, "cause": "JOB_TASK",
    "update_cause_details": {"job_details": {"performance_target": "PERFORMANCE"}}, "refresh_selection": ["t"]})
print(w.pipelines.list_updates(id).updates[0].update_id == raw["update_id"])
for call, error in ((lambda: w.pipelines.start_update(id, full_refresh_selection=["kept"]), BadRequest), (lambda: w.pipelines.get_update(id, "x"), NotFound)):
    try:
        call()
    except error as e:
        print(type(e).__name__, str(e).split(":")[0])
`

// The official client works as it is.
func TestUpdatesWithTheOfficialClient(t *testing.T) {
	s := quick(t)
	python := databricksSDK(t)
	d := s.start()
	s.until("all rows", func() bool { return s.csv("SELECT a, v FROM k ORDER BY a") == fullRows })
	where, _ := daemon.ReadWhere(filepath.Join(s.dir, "state"))
	script := filepath.Join(t.TempDir(), "client.py")
	if err := os.WriteFile(script, []byte(official), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := output(t, python, script, "http://"+where.Address)
	want := "COMPLETED ['t', 'k', 'out'] API_CALL\nTrue\nBadRequest TABLE_NOT_RESETTABLE\nNotFound UPDATE_NOT_FOUND\n"
	if err != nil || out != want {
		t.Errorf("%v\n%s", err, out)
	}
	d.stop(exitOK)
}

// output runs a program and returns what it printed.
func output(t *testing.T, name string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	c := exec.CommandContext(t.Context(), name, args...)
	c.Stdout, c.Stderr = &out, &out
	err := c.Run()
	return out.String(), err
}

// databricksSDK is a Python that has the official client. It is made by scripts/databricks-sdk.sh, once, from the network.
func databricksSDK(t *testing.T) string {
	t.Helper()
	out, err := output(t, filepath.Join("..", "..", "scripts", "databricks-sdk.sh"))
	if err != nil {
		t.Skipf("the official client cannot be had here: %v\n%s", err, out)
	}
	return strings.TrimSpace(out)
}
