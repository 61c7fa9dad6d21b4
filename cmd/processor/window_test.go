package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"sluice/daemon"
)

// windowed has a table of facts and the daily sums of those from June on, of which there are older ones.
func windowed(t *testing.T) *site {
	s := local(t, `CREATE STREAMING TABLE facts AS SELECT * FROM STREAM read_files('in/*.json', format => 'json', schema => 'd DATE, region STRING, v INT');
CREATE STREAMING TABLE daily;
CREATE FLOW fill AS INSERT INTO daily BY NAME REPLACE WHERE f.d >= '2026-06-01' SELECT f.d, region, sum(v) AS s FROM facts AS f GROUP BY ALL;`,
		map[string]string{"in/1.json": `{"d":"2026-01-01","region":"eu","v":1}
{"d":"2026-01-01","region":"us","v":2}
{"d":"2026-02-01","region":"eu","v":3}
{"d":"2026-06-01","region":"eu","v":4}
`})
	s.sets = append(s.sets, "--set", "pipelines.trigger.interval=100ms")
	return s
}

const (
	juneRows    = "d,region,s\n2026-06-01,eu,4"
	januaryRows = "d,region,s\n2026-01-01,eu,1\n2026-06-01,eu,4"
)

func (s *site) daily() string { return s.csv("SELECT d, region, s FROM daily ORDER BY d, region") }

// PO-01, PO-02, PO-04, PO-07, PO-09: another predicate for one update, beside a running daemon: what it matches is computed, nothing else is touched, and
// the defined one comes back. A full refresh leaves what that matches (FR-02, FR-03).
func TestOverrideBesideADaemon(t *testing.T) {
	s := windowed(t)
	d := s.start()
	s.until("the window", func() bool { return s.daily() == juneRows })
	if code, out := s.verb("refresh", "daily", "--where", "f.d = '2026-01-01' AND region = 'eu'"); code != exitOK || s.daily() != januaryRows {
		t.Fatalf("exit %d\n%s\n%s", code, out, s.daily())
	}
	if _, out := s.verb("events", "-o", "json"); !strings.Contains(out, `REPLACE_WHERE_BACKFILL`) {
		t.Errorf("no update says that it is an override:\n%s", out)
	}
	if code, out := s.verb("refresh", "daily"); code != exitOK || s.daily() != januaryRows {
		t.Errorf("exit %d\n%s\n%s", code, out, s.daily())
	}
	if code, out := s.verb("refresh", "daily", "--where", "d < '2026-06-01' AND 1 / (s - 3) > 0"); code == exitOK || !strings.Contains(out, "DIVIDE_BY_ZERO") || s.daily() != januaryRows {
		t.Errorf("an override that fails: exit %d\n%s\n%s", code, out, s.daily())
	}
	if f := s.served("fill"); f.Status != "RUNNING" {
		t.Errorf("the flow is %s", f.Status)
	}
	if code, out := s.verb("refresh", "daily", "--full"); code != exitOK || s.daily() != juneRows {
		t.Errorf("exit %d\n%s\n%s", code, out, s.daily())
	}
	d.stop(exitOK)
}

// The same without a daemon, by a run of its own.
func TestOverrideOfAStoppedStore(t *testing.T) {
	s := windowed(t)
	for _, c := range []struct {
		args []string
		rows string
	}{
		{[]string{"facts", "daily"}, juneRows},
		{[]string{"daily", "--where", "f.d = '2026-01-01' AND region = 'eu'"}, januaryRows},
		{[]string{"daily"}, januaryRows},
		{[]string{"daily", "--full"}, juneRows},
	} {
		if code, out := s.verb(append([]string{"refresh"}, c.args...)...); code != exitOK || s.daily() != c.rows {
			t.Fatalf("%v: exit %d\n%s\n%s", c.args, code, out, s.daily())
		}
	}
}

// PO-06, PO-O1 to PO-O4, PO-O7: an override that cannot be is refused before anything is done, whether a daemon runs or not.
func TestOverridesThatCannotBe(t *testing.T) {
	s := windowed(t)
	refused := func() {
		t.Helper()
		for _, c := range []struct{ args, code string }{
			{"facts --where v>1", "REFRESH_WHERE_REQUIRES_REPLACE_WHERE_FLOW"},
			{"daily --where v>1", "REPLACE_WHERE_COLUMN_NOT_IN_OUTPUT"},
			{"daily --where rand()<0.5", "REPLACE_WHERE_OVERRIDE_NOT_SUPPORTED"},
			{"daily --full --where s>1", "REPLACE_WHERE_OVERRIDE_WITH_FULL_REFRESH"},
			{"nowhere --where s>1", "TABLE_OR_VIEW_NOT_FOUND"},
			{"--where s>1", "--where needs the name of one table"},
		} {
			if code, out := s.verb(append([]string{"refresh"}, strings.Fields(c.args)...)...); code == exitOK || !strings.Contains(out, c.code) {
				t.Errorf("%s: exit %d\n%s", c.args, code, out)
			}
		}
	}
	refused()
	d := s.start()
	s.until("the window", func() bool { return s.daily() == juneRows })
	refused()
	for _, c := range []struct{ body, code string }{
		{`"replace_where_overrides":[{"flow_name":"nobody","predicate_override":"s>1"}]`, "REPLACE_WHERE_OVERRIDE_UNKNOWN_FLOW"},
		{`"replace_where_overrides":[{"flow_name":"facts","predicate_override":"v>1"}]`, "REPLACE_WHERE_OVERRIDE_NOT_SUPPORTED"},
		{`"refresh_selection":["facts"],"replace_where_overrides":[{"flow_name":"fill","predicate_override":"s>1"}]`, "REPLACE_WHERE_OVERRIDE_NOT_SELECTED"},
		{`"replace_where_overrides":[{"flow_name":"fill","predicate_override":"s>1"},{"flow_name":"fill","predicate_override":"s>2"}]`, "REPLACE_WHERE_OVERRIDE_TWICE"},
		{`"full_refresh":true,"replace_where_overrides":[{"flow_name":"fill","predicate_override":"s>1"}]`, "REPLACE_WHERE_OVERRIDE_WITH_FULL_REFRESH"},
	} {
		if status, answer := s.api("POST", "/api/2.0/pipelines/local/updates", "{"+c.body+"}"); status != 400 || !strings.Contains(fmt.Sprint(answer), c.code) {
			t.Errorf("%s: %d %v", c.body, status, answer)
		}
	}
	if s.daily() != juneRows {
		t.Errorf("something was done: %s", s.daily())
	}
	d.stop(exitOK)
}

// FR-02, RW-O8: a full refresh beside a daemon that fails has done nothing. With its source it is done once that has been read again, so that nobody finds an
// empty table; the update is told by its own id.
func TestFullRefreshOfAWindowThatFails(t *testing.T) {
	s := local(t, `CREATE STREAMING TABLE facts AS SELECT * FROM STREAM read_files('in/*.json', format => 'json', schema => 'd DATE, v INT');
CREATE STREAMING TABLE daily FLOW REPLACE WHERE d >= '2026-06-01' BY NAME SELECT d, sum(12 / v) AS s FROM facts GROUP BY d;`,
		map[string]string{"in/1.json": "{\"d\":\"2026-01-01\",\"v\":1}\n{\"d\":\"2026-06-01\",\"v\":2}\n"})
	s.sets = append(s.sets, "--set", "pipelines.trigger.interval=100ms")
	d := s.start()
	rows := func() string { return s.csv("SELECT d, s FROM daily ORDER BY d") }
	const june, both = "d,s\n2026-06-01,6.0", "d,s\n2026-01-01,12.0\n2026-06-01,6.0"
	s.until("the window", func() bool { return rows() == june })
	if code, out := s.verb("refresh", "daily", "--where", "d = '2026-01-01'"); code != exitOK || rows() != both {
		t.Fatalf("exit %d\n%s\n%s", code, out, rows())
	}
	zero := filepath.Join(s.dir, "in", "2.json")
	if err := os.WriteFile(zero, []byte("{\"d\":\"2026-06-02\",\"v\":0}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.until("the failure of the flow", func() bool { e := s.served("daily").Error; return e != nil && e.Code == "DIVIDE_BY_ZERO" })
	if code, out := s.verb("refresh", "daily", "--full"); code == exitOK || !strings.Contains(out, "DIVIDE_BY_ZERO") || rows() != both {
		t.Errorf("exit %d\n%s\n%s", code, out, rows())
	}
	if err := os.Remove(zero); err != nil {
		t.Fatal(err)
	}
	if code, out := s.verb("refresh", "facts", "--full"); code != exitOK {
		t.Fatalf("exit %d\n%s", code, out)
	}
	if code, out := s.verb("refresh", "daily"); code != exitOK || rows() != both { // it is a full refresh no longer
		t.Fatalf("exit %d\n%s\n%s", code, out, rows())
	}
	if code, out := s.verb("refresh", "facts", "daily", "--full"); code != exitOK || rows() != june {
		t.Errorf("exit %d\n%s\n%s", code, out, rows())
	}
	d.stop(exitOK)
}

// D-22: fractions are added one after the other, in the order in which they came, however many threads a daemon has; and again the same, by a full refresh.
// On more than one thread the engine refuses such a query, and the run would fail.
func TestSumsOfFractionsAreRepeatable(t *testing.T) {
	var lines strings.Builder
	sums := map[int]float64{}
	for i := range 20_000 {
		v := float64(i*i%1000) / 10
		fmt.Fprintf(&lines, "{\"d\":%d,\"v\":%v}\n", i%3, v)
		sums[i%3] += v
	}
	var want []string
	for d := range 3 {
		want = append(want, fmt.Sprintf("%d,%s", d, strconv.FormatFloat(sums[d], 'f', -1, 64)))
	}
	dir := project(t, `CREATE STREAMING TABLE facts AS SELECT * FROM STREAM read_files('in/*.json', format => 'json', schema => 'd INT, v DOUBLE');
CREATE STREAMING TABLE sums FLOW REPLACE WHERE d >= 0 BY NAME SELECT d, sum(v) AS s FROM facts GROUP BY d;`, map[string]string{"in/1.json": lines.String()})
	for _, args := range [][]string{{"run"}, {"run", "--full-refresh", "sums"}, {"refresh", "sums", "--where", "d < 2"}} {
		must(t, append(args, "--spec", dir)...)
		if got := rows(t, dir, "SELECT d, s FROM sums"); got != strings.Join(want, "\n") {
			t.Errorf("after %v:\n%s\nwant\n%s", args, got, strings.Join(want, "\n"))
		}
	}
}

// officialOverride is an override by the official client for Python: its typed call, then the request as it is documented, then what is refused.
const officialOverride = `
import sys, time
from databricks.sdk import WorkspaceClient
from databricks.sdk.errors import BadRequest
from databricks.sdk.service.pipelines import ReplaceWhereOverride
w = WorkspaceClient(host=sys.argv[1], token="any")
id = "local"
def ended(update):
    while True:
        info = w.pipelines.get_update(id, update).update
        if info.state.value in ("COMPLETED", "FAILED", "CANCELED"):
            return info.state.value
        time.sleep(0.1)
o = ReplaceWhereOverride
print(ended(w.pipelines.start_update(id, replace_where_overrides=[o(flow_name="fill", predicate_override="d = '2026-01-01' AND region = 'eu'")]).update_id))
raw = w.api_client.do("POST", f"/api/2.0/pipelines/{id}/updates", body={"pipeline_id": id, "cause": "JOB_TASK",
    "update_cause_details": {"job_details": {"performance_target": "PERFORMANCE"}}, "refresh_selection": ["daily"],
    "replace_where_overrides": [{"flow_name": "fill", "predicate_override": "d = '2026-02-01'"}]})
print(ended(raw["update_id"]))
print(ended(w.pipelines.start_update(id, validate_only=True, replace_where_overrides=[o(flow_name="fill", predicate_override="d = '2026-01-01'")]).update_id))
for request in (
    dict(replace_where_overrides=[o(flow_name="nobody", predicate_override="s > 1")]),
    dict(replace_where_overrides=[o(flow_name="facts", predicate_override="v > 1")]),
    dict(refresh_selection=["facts"], replace_where_overrides=[o(flow_name="fill", predicate_override="s > 1")]),
    dict(replace_where_overrides=[o(flow_name="fill", predicate_override="s > 1"), o(flow_name="fill", predicate_override="s > 2")]),
    dict(full_refresh_selection=["daily"], replace_where_overrides=[o(flow_name="fill", predicate_override="s > 1")]),
    dict(replace_where_overrides=[o(flow_name="fill", predicate_override="rand() < s")]),
    dict(validate_only=True, replace_where_overrides=[o(flow_name="fill", predicate_override="v > 1")]),
):
    try:
        w.pipelines.start_update(id, **request)
        print("accepted", request)
    except BadRequest as e:
        print(next(part for part in str(e).split(": ") if "_" in part))  # behind a position, if there is one
`

// PO-03, PO-05, PO-06, PO-O1 to PO-O5, PO-O7 through the official client: without a selection everything is brought up to date, and validate_only
// judges predicates and does nothing.
func TestOverridesWithTheOfficialClient(t *testing.T) {
	s := windowed(t)
	python := databricksSDK(t)
	d := s.start()
	s.until("the window", func() bool { return s.daily() == juneRows })
	where, _ := daemon.ReadWhere(filepath.Join(s.dir, "state"))
	script := filepath.Join(t.TempDir(), "client.py")
	if err := os.WriteFile(script, []byte(officialOverride), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := output(t, python, script, "http://"+where.Address)
	want := `COMPLETED
COMPLETED
COMPLETED
REPLACE_WHERE_OVERRIDE_UNKNOWN_FLOW
REPLACE_WHERE_OVERRIDE_NOT_SUPPORTED
REPLACE_WHERE_OVERRIDE_NOT_SELECTED
REPLACE_WHERE_OVERRIDE_TWICE
REPLACE_WHERE_OVERRIDE_WITH_FULL_REFRESH
REPLACE_WHERE_OVERRIDE_NOT_SUPPORTED
REPLACE_WHERE_COLUMN_NOT_IN_OUTPUT
`
	if err != nil || out != want {
		t.Errorf("%v\n%s", err, out)
	}
	if rows := s.daily(); rows != "d,region,s\n2026-01-01,eu,1\n2026-02-01,eu,3\n2026-06-01,eu,4" {
		t.Errorf("%s", rows)
	}
	d.stop(exitOK)
}

// A window of more rows than the engine that sorts them has memory for, in an order that is none of theirs (D-30). The other half is
// outside.
func TestWindowsLargerThanMemory(t *testing.T) {
	const rows = 600_000
	var b strings.Builder
	for i := range rows {
		fmt.Fprintf(&b, `{"d":%d,"text":"%060d"}`+"\n", i*7919%400, i)
	}
	s := local(t, `CREATE STREAMING TABLE big CLUSTER BY (d) FLOW REPLACE WHERE d < 200 BY NAME SELECT d, text FROM read_files('in/*.json', format => 'json', schema => 'd INT, text STRING');`,
		map[string]string{"in/1.json": b.String()})
	s.sets = append(s.sets, "--set", "sluice.memory_limit=256MB")
	if code, out := s.verb("refresh", "big"); code != exitOK {
		t.Fatalf("exit %d\n%s", code, out)
	}
	if got := s.csv("SELECT count(*) AS n, count(DISTINCT text) AS texts, max(d) AS d FROM big"); got != fmt.Sprintf("n,texts,d\n%d,%d,199", rows/2, rows/2) {
		t.Error(got)
	}
}
