package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// command runs one command line and returns its exit code and what it printed.
func command(args ...string) (code int, out, err string) {
	var o, e bytes.Buffer
	code = run(args, strings.NewReader(""), &o, &e)
	return code, o.String(), e.String()
}

// pipeline writes a spec and one .sql file and returns the spec's path.
func pipeline(t *testing.T, sql string) string {
	t.Helper()
	dir := t.TempDir()
	spec := "name: trial\nstorage: state\nlibraries:\n  - glob:\n      include: flows.sql\n"
	for name, text := range map[string]string{"pipeline.yml": spec, "flows.sql": sql} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "pipeline.yml")
}

const ticks = `CREATE STREAMING TABLE ticks (CONSTRAINT traded EXPECT (volume > 0) ON VIOLATION DROP ROW)
FLOW REPLACE USING (key) SEQUENCE BY ts BY NAME
SELECT * FROM STREAM read_files('*.json', format => 'json', schema => 'key STRING, ts STRING, volume BIGINT');`

func TestDryRunPrintsFlows(t *testing.T) {
	code, out, err := command("dry-run", "--spec", pipeline(t, ticks), "-o", "csv")
	if code != exitOK || !strings.Contains(out, "ticks,") {
		t.Errorf("exit %d\n%s%s", code, out, err)
	}
}

// D-14: which columns are made before SQL runs, by the format or by from_json.
func TestDryRunSaysWhatIsDecoded(t *testing.T) {
	const portable = `CREATE STREAMING TABLE raw AS SELECT from_json(CAST(value AS STRING), 'a INT, b STRUCT<c: STRING>').b.c FROM STREAM read_kafka(subscribe => 'in');
CREATE STREAMING TABLE trimmed AS SELECT from_json(trim(CAST(value AS STRING)), 'a INT').a FROM STREAM read_kafka(subscribe => 'in');`
	code, out, err := command("dry-run", "--spec", pipeline(t, ticks+portable), "--set", "kafka.bootstrap.servers=nowhere:9092", "-o", "csv")
	for _, line := range []string{`,"[""json""]",ticks,`, `,"[""value by from_json: b.c STRING""]",raw,`, ",[],trimmed,"} {
		if code != exitOK || !strings.Contains(out, line) {
			t.Errorf("exit %d, no %s\n%s%s", code, line, out, err)
		}
	}
}

// CL-04, D-56: every problem at once, as file:line:column: CODE: message, and exit code 1.
func TestDryRunReportsEveryProblem(t *testing.T) {
	spec := pipeline(t, strings.ReplaceAll(strings.ReplaceAll(ticks, "SEQUENCE BY ts", "SEQUENCE BY tss"), "volume > 0", "volum > 0"))
	code, _, err := command("dry-run", "--spec", spec)
	if code != exitFailure || strings.Count(err, "UNRESOLVED_COLUMN") != 2 || !strings.Contains(err, "flows.sql:1:") || !strings.Contains(err, "flows.sql:2:") {
		t.Errorf("exit %d\n%s", code, err)
	}
}

// One mistake is one problem: a zone that there is not is reported where it stands, not by each query again.
func TestAnUnknownZoneIsToldOnce(t *testing.T) {
	code, _, err := command("dry-run", "--spec", pipeline(t, ticks), "--set", "spark.sql.session.timeZone=Mars")
	if code != exitFailure || strings.Count(err, "\n") != 1 || !strings.HasPrefix(err, "--set spark.sql.session.timeZone: INVALID_TIMEZONE") {
		t.Errorf("exit %d\n%s", code, err)
	}
}

func TestUsageErrorsExitWithTwo(t *testing.T) {
	for _, args := range [][]string{{"nonsense"}, {"dry-run", "more"}, {"version", "--what"}, {"version", "-o", "xml"}, {"topic", "cat"}, {"version", "--set", "novalue"}} {
		if code, _, err := command(args...); code != exitUsage || err == "" {
			t.Errorf("%v: exit %d %q", args, code, err)
		}
	}
}

func TestOutputFormats(t *testing.T) {
	rows := table{columns: []string{"a", "b"}, rows: [][]jsonCell{{cell(""), nil}, {cell("x,\n"), nil}, {cell(int64(1669859068457630240)), cell([]string{"p"})}}}
	for format, want := range map[string]string{
		"csv":    "a,b\n\"\",\n\"x,\n\",\n1669859068457630240,\"[\"\"p\"\"]\"\n",
		"ndjson": "{\"a\":\"\",\"b\":null}\n{\"a\":\"x,\\n\",\"b\":null}\n{\"a\":1669859068457630240,\"b\":[\"p\"]}\n",
		"table":  "a                    b\n-------------------  -----\n                     NULL\nx,\ufffd                  NULL\n1669859068457630240  [\"p\"]\n",
	} {
		var b bytes.Buffer
		if err := printers[format](&b, rows); err != nil || b.String() != want {
			t.Errorf("%s:\n%q\nwant\n%q", format, b.String(), want)
		}
	}
}
