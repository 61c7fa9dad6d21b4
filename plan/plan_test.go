package plan_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"sluice/batch"
	"sluice/catalog"
	"sluice/catalog/catalogtest"
	"sluice/fault"
	"sluice/plan"
)

const head = "name: p\nstorage: state\nlibraries:\n  - glob: {include: a.sql}\nconfiguration:\n  kafka.bootstrap.servers: b:9092\n"

// token is a further line, of a value that no output shows.
const token = "  token: ${env:TOKEN}\n"

// environment is what ${env:...} sees in tests.
func environment(name string) (string, bool) { return "s3cret", name == "TOKEN" }

// prepare reads a spec file made of the fixed head and further lines.
func prepare(t testing.TB, lines string) *catalog.Spec {
	s, problems := catalog.ParseSpec("pipeline.yml", head+lines, catalog.Overrides{Env: environment})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return s
}

func build(t testing.TB, lines, text string) (*plan.Pipeline, fault.List) {
	if strings.Contains(text, "${token}") {
		lines = token + lines
	}
	return plan.Text(prepare(t, lines), []catalog.File{{Name: "a.sql", Text: text}}, catalogtest.Connectors())
}

// TestPlan runs the files of testdata. The command is
//
//	plan [continuous] [features=(name)]
//
// with the text of a definition file; the result is the plan, or every problem.
func TestPlan(t *testing.T) {
	datadriven.Walk(t, "testdata/plan", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var lines strings.Builder
			for _, arg := range d.CmdArgs {
				if len(arg.Vals) == 0 {
					fmt.Fprintf(&lines, "%s: true\n", arg.Key)
				} else {
					fmt.Fprintf(&lines, "%s: [%s]\n", arg.Key, strings.Join(arg.Vals, ", "))
				}
			}
			p, problems := build(t, lines.String(), d.Input)
			if (p == nil) != (len(problems) > 0) {
				t.Fatalf("%s: a plan and problems: %v", d.Pos, problems)
			}
			if p == nil {
				return problems.Error() + "\n"
			}
			return p.String()
		})
	})
}

// D-23, D-29: whether a table is the same after another run over the same records, and if not why. The command is
//
//	varies
//
// with the text of a definition file; the result has each table and its reasons, those of rearranged records indented, then
// each flow into a sink and its.
func TestVaries(t *testing.T) {
	datadriven.RunTest(t, "testdata/varies.txt", func(t *testing.T, d *datadriven.TestData) string {
		p, problems := build(t, "", d.Input)
		if p == nil {
			t.Fatalf("%s: %v", d.Pos, problems)
		}
		var out strings.Builder
		for _, table := range p.Tables {
			always := p.Varies(table, false)
			fmt.Fprintf(&out, "%s: %s\n", table.Display, strings.Join(always, "; "))
			for _, reason := range p.Varies(table, true) {
				if !slices.Contains(always, reason) {
					fmt.Fprintf(&out, "  rearranged: %s\n", reason)
				}
			}
		}
		for _, f := range p.Flows {
			if f.Sink != nil {
				fmt.Fprintf(&out, "flow %s: %s\n", f.Name, strings.Join(p.SinkVaries(f, true), "; "))
			}
		}
		return out.String()
	})
}

// D-62: a fingerprint changes with what a flow or table is, not with its layout, and holds no secret.
func TestFingerprints(t *testing.T) {
	const source = "FROM STREAM read_kafka(subscribe => 'a', format => 'json', schema => 'a BIGINT, b STRING, n BIGINT')"
	prints := func(text string) (flow, table string) {
		p, problems := build(t, "", text)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		return p.Flows[0].Fingerprint, p.Tables[0].Fingerprint
	}
	base := "CREATE STREAMING TABLE t FLOW REPLACE USING (a, b) SEQUENCE BY n BY NAME SELECT a, b, n " + source
	flow, table := prints(base)
	for _, c := range []struct {
		name, text        string
		sameFlow, sameTab bool
	}{
		{"layout", "create streaming table t comment 'x'\nflow replace using (a,b) sequence by n by name\nselect a,   b, n -- x\n" + source, true, true},
		{"A-106 order of the keys", strings.Replace(base, "(a, b)", "(b, a)", 1), true, true},
		{"A-106 another key", strings.Replace(base, "(a, b)", "(a)", 1), false, false},
		{"A-106 type of a key", strings.Replace(base, "SELECT a", "SELECT CAST(a AS STRING) AS a", 1), false, false},
		{"RU-O7 type of the sequence", strings.Replace(base, "BY n", "BY CAST(n AS INT)", 1), false, false},
		{"the query", strings.Replace(base, source, source+" WHERE n > 0", 1), false, true},
		{"another rule", strings.Replace(base, "FLOW REPLACE USING (a, b) SEQUENCE BY n BY NAME", "AS", 1), false, false},
	} {
		f, tab := prints(c.text)
		if (f == flow) != c.sameFlow || (tab == table) != c.sameTab {
			t.Errorf("%s: same flow %t, same table %t", c.name, f == flow, tab == table)
		}
	}
	secret := "CREATE STREAMING TABLE t AS SELECT * FROM STREAM read_kafka(subscribe => 'a', 'kafka.sasl.password' => '${token}')"
	f1, _ := prints(secret)
	p, _ := plan.Text(func() *catalog.Spec {
		s, _ := catalog.ParseSpec("pipeline.yml", head+token, catalog.Overrides{Env: func(name string) (string, bool) { return "other", name == "TOKEN" }})
		return s
	}(), []catalog.File{{Name: "a.sql", Text: secret}}, catalogtest.Connectors())
	if p.Flows[0].Fingerprint != f1 {
		t.Error("a secret takes part in the fingerprint")
	}
	if text := p.String() + p.Flows[0].Text + fmt.Sprint(p.Flows[0].Definition.Texts()); strings.Contains(text, "other") || !strings.Contains(text, "${token}") {
		t.Errorf("the plan shows a secret, or the query is not as written:\n%s", text)
	}
}

// D-35: rows from before an edit may have nothing where the definition says NOT NULL now, so that sinks whose form knows NOT NULL (Parquet,
// Arrow, tables that are made) do not say it of what flows read from a table. What a flow computes itself may be.
func TestColumnsOfTablesThatAreReadMayBeNull(t *testing.T) {
	p, problems := build(t, "", `CREATE STREAMING TABLE t (a INT NOT NULL, s STRUCT<b: INT NOT NULL> NOT NULL) AS SELECT * FROM STREAM read_kafka(subscribe => 'a', format => 'json', schema => 'a INT NOT NULL, s STRUCT<b: INT NOT NULL> NOT NULL');
CREATE SINK out FORMAT file OPTIONS (path => 'out', format => 'parquet');
CREATE FLOW f AS INSERT INTO SINK out BY NAME SELECT a, s, 1 AS one FROM STREAM(t);`)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, f := range p.Flows {
		want := "a INT NOT NULL, s STRUCT<b: INT NOT NULL> NOT NULL"
		if f.Sink != nil {
			want = "a INT, s STRUCT<b: INT>, one INT NOT NULL"
		}
		if got := batch.DDL(f.Query.Columns); got != want {
			t.Errorf("flow %s gives %s, want %s", f.Name, got, want)
		}
	}
}

// The same text gives the same plan, whatever order maps are walked in.
func TestPlanIsDeterministic(t *testing.T) {
	text := "CREATE STREAMING TABLE t AS SELECT * FROM STREAM read_kafka(subscribe => 'a', maxOffsetsPerTrigger => 1, startingOffsets => 'latest');\n" +
		"CREATE SINK s FORMAT kafka OPTIONS (topic => 'x', mode => 'append', bootstrapServers => 'b');\n" +
		"CREATE FLOW f AS INSERT INTO s SELECT * FROM STREAM(t);"
	first, problems := build(t, "", text)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for range 20 {
		if again, _ := build(t, "", text); again.String() != first.String() {
			t.Fatalf("got\n%s\nthen\n%s", first, again)
		}
	}
}

// TestExamples plans the pipelines of examples/.
func TestExamples(t *testing.T) {
	env := func(name string) (string, bool) { return "postgres://u:s3cret@h/d", name == "PGURL" }
	datadriven.RunTest(t, "testdata/examples.txt", func(t *testing.T, d *datadriven.TestData) string {
		dir := filepath.Join("../examples", d.CmdArgs[0].Key)
		p, problems := plan.Load(dir, catalog.Overrides{Env: env}, catalogtest.Connectors())
		if len(problems) > 0 {
			return problems.Error() + "\n"
		}
		if abs, err := filepath.Abs(dir); err != nil || p.Dir != abs || p.Spec != filepath.Join(dir, "pipeline.yml") {
			t.Errorf("folder %s, spec %s", p.Dir, p.Spec)
		}
		return p.String()
	})
}

// Load reports what is wrong with the spec, its files and their statements in one list, sorted by position, and nothing
// that only follows from a file that could not be read.
func TestLoadReportsEverything(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"pipeline.yml": "name: p\nstorage: s\nlibraries:\n  - glob: {include: a.sql}\n  - glob: {include: nope.sql}\ncolor: red\nconfiguration:\n  x: ${y}\n",
		"a.sql": "CREATE STREAMING TABLE t AS SELECT 1 AS one FROM STREAM read_kafka(subscribe => '${x}');\n" +
			"CREATE STREAMING TABLE u AS SELECT a FROM STREAM(elsewhere);\nCREATE FLOW f DEPENDS ON (g) AS INSERT INTO v SELECT * FROM STREAM(t);\n" +
			"CREATE STREAMING TABLE w AS SELECT no FROM STREAM read_kafka(subscribe => 'a', bootstrapServers => 'b');\nSELEC 1;",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	p, problems := plan.Load(".", catalog.Overrides{}, catalogtest.Connectors())
	var got []string
	for _, e := range problems {
		got = append(got, fmt.Sprintf("%s %s", e.Pos, e.Code))
	}
	want := []string{
		"a.sql:4:36 UNRESOLVED_COLUMN.WITH_SUGGESTION",
		"a.sql:5:1 PARSE_SYNTAX_ERROR",
		"pipeline.yml:5:21 PIPELINE_DEFINITIONS_FILE_NOT_FOUND",
		"pipeline.yml:6:1 PIPELINE_SPEC_UNEXPECTED_FIELD",
		"pipeline.yml:8:6 UNSET_VARIABLE",
	}
	if p != nil || strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	// A mistake in the spec file that leaves its libraries whole hides nothing.
	for name, text := range map[string]string{
		"pipeline.yml": "name: p\nstorage: s\nlibraries:\n  - glob: {include: a.sql}\ncolor: red\n",
		"a.sql":        "CREATE STREAMING TABLE u AS SELECT a FROM STREAM(elsewhere);",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, problems := plan.Load(".", catalog.Overrides{}, catalogtest.Connectors()); len(problems) != 2 || !fault.Of(problems, fault.TableNotFound) {
		t.Errorf("got %v", problems)
	}
	if _, problems := plan.Load("nowhere", catalog.Overrides{}, catalogtest.Connectors()); !fault.Of(problems, fault.SpecFileDoesNotExist) {
		t.Errorf("a folder that is not there: %v", problems)
	}
}

// The settings of the spec file, with defaults, relative paths made absolute (D-55).
func TestSettings(t *testing.T) {
	s, problems := catalog.ParseSpec("/p/pipeline.yml", head+"  sluice.listen: 0.0.0.0:1\n  sluice.token_file: token\n  sluice.max_batch_rows: '7'\n", catalog.Overrides{Env: environment})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	p, problems := plan.Text(s, []catalog.File{{Name: "a.sql", Text: "CREATE STREAMING TABLE t AS SELECT * FROM STREAM read_kafka(subscribe => 'a')"}}, catalogtest.Connectors())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	want := plan.Settings{
		Listen: "0.0.0.0:1", TokenFile: "/p/token", MemoryLimit: 2 << 30, SyncInterval: 100 * time.Millisecond, GracePeriod: 30 * time.Second,
		DrainTimeout: 15 * time.Minute, RetryTimeout: 10 * time.Minute, RefreshTimeout: 48 * time.Hour, TriggerInterval: 5 * time.Second, MaxBatchRows: 7, MaxBatchBytes: 64 << 20,
		LogFormat: "text", LogLevel: "info",
	}
	if p.Settings != want || p.Servers != "b:9092" || p.Storage != "/p/state" || p.Zone != "UTC" {
		t.Errorf("got %+v, brokers %q, storage %q, zone %q", p.Settings, p.Servers, p.Storage, p.Zone)
	}
}

// a name of configuration that nothing uses is told, one that only Kafka's client could read is refused; one that some text uses
// as ${name} is neither.
func TestUnusedNamesOfConfiguration(t *testing.T) {
	const text = "CREATE STREAMING TABLE t AS SELECT key FROM STREAM read_kafka(subscribe => '${topic}')"
	p, problems := build(t, "  topic: a${kafka.part}\n  kafka.part: b\n  isolation_levl: read_committed\n  memory_limits: 1GB\n", text)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var told []string
	for _, w := range p.Warnings {
		told = append(told, fmt.Sprint(w.Pos, ": ", w.Text))
	}
	want := []string{"pipeline.yml:9:19: nothing uses isolation_levl of configuration, as ${isolation_levl}",
		"pipeline.yml:10:18: nothing uses memory_limits of configuration, as ${memory_limits}; did you mean sluice.memory_limit?"}
	if !slices.Equal(told, want) {
		t.Errorf("told\n%s", strings.Join(told, "\n"))
	}
	for lines, want := range map[string]string{
		"  topic: a\n  kafka.isolation.levl: read_committed\n": `pipeline.yml:8:25: UNKNOWN_OPTION: configuration has no option "kafka.isolation.levl"; hint: of Kafka's options it has "kafka.bootstrap.servers" only; give the others to the sources and sinks that are to have them`,
		"  topic: a\n  Kafka.bootstrap.server: b\n":            `pipeline.yml:8:27: UNKNOWN_OPTION: configuration has no option "Kafka.bootstrap.server"; hint: did you mean "kafka.bootstrap.servers"?`,
	} {
		if _, problems := build(t, lines, text); problems.Error() != want {
			t.Errorf("got  %v\nwant %s", problems, want)
		}
	}
}
