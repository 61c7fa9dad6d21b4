package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/daemon"
	"sluice/fault"
	"sluice/internal/testenv"
	"sluice/option"
)

// secret is what no output may show. It is no value of any kind of option, so it provokes an error wherever one is possible.
const secret = "hush-0815"

// told fails when something shows the secret.
func told(t *testing.T, what string, outputs ...string) {
	t.Helper()
	for _, out := range outputs {
		if i := strings.Index(out, secret); i >= 0 {
			t.Errorf("%s tells it: ...%s", what, out[max(0, i-120):min(len(out), i+120)])
		}
	}
}

// D-54: every option of every connector, with a value of the environment, in a pipeline that is checked, connected and run.
func TestNoOptionTellsASecret(t *testing.T) {
	t.Setenv("SECRET", secret)
	nobody := fmt.Sprintf("127.0.0.1:%d", testenv.FreePort(t))
	c := daemon.Connectors()
	for name, f := range c.Functions {
		required := map[string]string{"read_kafka": "subscribe", "read_files": "path"}[name]
		options := slices.Concat(f.Options, f.Formats["json"].Options, f.Formats["csv"].Options, option.Set{{Name: "format"}, {Name: "schema"}, {Name: "mode"}})
		for _, o := range options {
			format := "json"
			if has(f.Formats["csv"].Options, o.Name) && !has(f.Formats["json"].Options, o.Name) {
				format = "csv"
			}
			args := without(map[string]string{required: "'there'", "format": "'" + format + "'", "schema": "'k BIGINT'"}, o)
			t.Run(name+"/"+o.Name, func(t *testing.T) {
				provoke(t, nobody, fmt.Sprintf("CREATE STREAMING TABLE t AS SELECT * FROM STREAM %s(%s);", name, args))
			})
		}
	}
	for name, s := range c.Sinks {
		required := map[string]map[string]string{
			"kafka":    {"topic": "'there'"},
			"postgres": {"url": "'postgres://nobody@" + nobody + "/x'", "table": "'t'"},
			"file":     {"path": "'out'"},
			"exec":     {"command": "'false'"},
		}[name]
		for _, o := range s.Options {
			t.Run(name+"/"+o.Name, func(t *testing.T) {
				provoke(t, nobody, fmt.Sprintf(`CREATE STREAMING TABLE t AS SELECT * FROM STREAM read_files('in.json', format => 'json', schema => 'k BIGINT');
CREATE SINK s FORMAT %s OPTIONS (%s);
CREATE FLOW f AS INSERT INTO SINK s BY NAME SELECT k FROM STREAM(t) WITH (readChangeFeed = true);`, name, without(required, o)))
			})
		}
	}
}

func has(set option.Set, name string) bool {
	return slices.ContainsFunc(set, func(s option.Spec) bool { return s.Name == name })
}

// without writes options as arguments, one of them with the secret as its value.
func without(args map[string]string, o option.Spec) string {
	var out []string
	for name, value := range args {
		if !strings.EqualFold(name, o.Name) {
			out = append(out, name+" => "+value)
		}
	}
	slices.Sort(out)
	return strings.Join(append(out, "'"+o.Name+"' => '${env:SECRET}'"), ", ")
}

// provoke does with a pipeline what its user might, and looks at all that is said.
func provoke(t *testing.T, brokers, sql string) {
	t.Helper()
	dir := project(t, sql, map[string]string{"in.json": `{"k":1}` + "\n"})
	for _, args := range [][]string{
		{"dry-run", "-o", "json"},
		{"dry-run", "--connect", "-o", "json"},
		{"run", "--set", "sluice.retry_timeout=1ms", "--set", "sluice.log_level=debug"},
		{"status", "-o", "json"},
		{"events", "-o", "json"},
		{"reset-checkpoint", "t"},
		{"query", "SELECT nothing FROM t"},
		{"digest", "-o", "json"},
		{"test", "--last", "1"},
		{"sink", "adopt", "f"},
	} {
		_, out, err := command(append(args, "--spec", dir, "--set", "kafka.bootstrap.servers="+brokers)...)
		told(t, strings.Join(args, " "), out, err)
	}
}

// The same for the places of a query and of the spec file that take a text.
func TestNoTextTellsASecret(t *testing.T) {
	t.Setenv("SECRET", secret)
	t.Setenv("ADDRESS", "127.0.0.1:0")
	const from = "FROM STREAM read_files('in.json', format => 'json', schema => 'k BIGINT')"
	for name, sql := range map[string]string{
		"literal":      "CREATE STREAMING TABLE t AS SELECT k, '${env:SECRET}' = 'x' AS same " + from,
		"cast":         "CREATE STREAMING TABLE t AS SELECT CAST('${env:SECRET}' AS INT) AS n " + from,
		"cast of rows": "CREATE STREAMING TABLE t AS SELECT CAST(concat('${env:SECRET}', CAST(k AS STRING)) AS INT) AS n " + from,
		"type":         "CREATE STREAMING TABLE t AS SELECT k + '${env:SECRET}' AS n " + from,
		"date":         "CREATE STREAMING TABLE t AS SELECT DATE '${env:SECRET}' AS n " + from,
		"interval":     "CREATE STREAMING TABLE t AS SELECT INTERVAL '${env:SECRET}' DAY AS n " + from,
		"from_json":    "CREATE STREAMING TABLE t AS SELECT from_json('{}', '${env:SECRET}') AS n " + from,
		"pattern":      "CREATE STREAMING TABLE t AS SELECT CAST(k AS STRING) RLIKE '${env:SECRET}(' AS n " + from,
		"where":        "CREATE STREAMING TABLE t AS SELECT k " + from + " WHERE k = '${env:SECRET}'",
		"expectation":  "CREATE STREAMING TABLE t (CONSTRAINT c EXPECT (CAST(k AS STRING) = '${env:SECRET}') ON VIOLATION FAIL UPDATE) AS SELECT k " + from,
		"comment":      "CREATE STREAMING TABLE t COMMENT '${env:SECRET}' AS SELECT k " + from,
		"property":     "CREATE STREAMING TABLE t TBLPROPERTIES ('sluice.retention' = '${env:SECRET}') AS SELECT k " + from,
		"alias":        "CREATE STREAMING TABLE t AS SELECT '${env:SECRET}' " + from,
		"alias inside": "CREATE STREAMING TABLE t AS SELECT concat('${env:SECRET}', CAST(k AS STRING)) || '${env:SECRET}' " + from,
		"mode":         "CREATE STREAMING TABLE a AS SELECT k " + from + "; CREATE STREAMING TABLE t AS SELECT k FROM STREAM(a) WITH (mode = '${env:SECRET}')",
	} {
		t.Run(name, func(t *testing.T) { provoke(t, "127.0.0.1:1", sql+";") })
	}
	good := "CREATE STREAMING TABLE t AS SELECT k " + from + ";"
	for name, line := range map[string]string{
		"catalog": "catalog: ${env:SECRET}", "continuous": "continuous: ${env:SECRET}", "features": "features: ['${env:SECRET}']",
		"zone": "  spark.sql.session.timeZone: ${env:SECRET}", "listen": "  sluice.listen: ${env:SECRET}", "token file": "  sluice.token_file: ${env:SECRET}",
		"memory": "  sluice.memory_limit: ${env:SECRET}", "level": "  sluice.log_level: ${env:SECRET}", "unknown": "  sluice.unknown: ${env:SECRET}",
		"rows": "  sluice.max_batch_rows: ${env:SECRET}", "value": "  mine: ${env:SECRET}", "servers": "  kafka.bootstrap.servers: ${env:SECRET}",
	} {
		t.Run(name, func(t *testing.T) {
			dir := project(t, good, map[string]string{"in.json": `{"k":1}` + "\n"})
			spec := filepath.Join(dir, "pipeline.yml")
			text, err := os.ReadFile(spec)
			if err != nil {
				t.Fatal(err)
			}
			kept := strings.ReplaceAll(string(text), "  sluice.listen: 127.0.0.1:0\n", "")
			if name != "listen" {
				kept = string(text)
			}
			if strings.HasPrefix(line, "  ") {
				kept += line + "\n"
			} else {
				kept = line + "\n" + kept
			}
			if err := os.WriteFile(spec, []byte(kept), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{{"dry-run"}, {"run"}, {"status", "-o", "json"}, {"events", "-o", "json"}} {
				_, out, err := command(append(args, "--spec", dir)...)
				told(t, strings.Join(args, " "), out, err)
			}
		})
	}
}

// What a user writes is looked for, too: a test that provokes nothing would pass for ever.
func TestASecretIsLookedFor(t *testing.T) {
	t.Setenv("SECRET", secret)
	dir := project(t, "CREATE STREAMING TABLE t AS SELECT * FROM STREAM read_files('${env:SECRET}.json', format => 'json', schema => 'k BIGINT');", nil)
	_, _, problems := command("dry-run", "--connect", "--spec", dir)
	if !strings.Contains(problems, fault.PathNotFound.Name) || !strings.Contains(problems, "******") {
		t.Errorf("%s", problems)
	}
}

// A daemon at work, with a topic, a folder, a password and an argument of a program that are secrets: all that it shows of
// itself, in both forms of its log.
func TestARunningDaemonTellsNoSecret(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	for _, form := range []string{"text", "json"} {
		t.Run(form, func(t *testing.T) { runsInSecret(t, form) })
	}
}

func runsInSecret(t *testing.T, form string) {
	nobody := fmt.Sprintf("127.0.0.1:%d", testenv.FreePort(t))
	dir := files(t, map[string]string{
		secret + "-folder/in.json": "{\"k\":1}\nnot JSON\n",
		"pipeline.yml":             "name: secretive\nstorage: state\ncontinuous: true\nlibraries:\n  - glob: {include: flows.sql}\nconfiguration:\n  sluice.listen: 127.0.0.1:0\n  sluice.log_level: debug\n",
		"say":                      "#!/bin/sh\necho \"told $1\" >&2\nexit 1\n",
		"flows.sql": `CREATE STREAMING TABLE topic AS SELECT * FROM STREAM read_kafka(subscribe => '${env:TOPIC}', format => 'json', schema => 'k BIGINT');
CREATE STREAMING TABLE folder AS SELECT * FROM STREAM read_files('${env:FOLDER}/*.json', format => 'json', mode => 'DROPMALFORMED', schema => 'k BIGINT');
CREATE STREAMING TABLE gone AS SELECT * FROM STREAM read_kafka(subscribe => 'x', 'kafka.security.protocol' => 'SASL_PLAINTEXT', 'kafka.sasl.mechanism' => 'PLAIN',
  'kafka.sasl.username' => 'u', 'kafka.sasl.password' => '${env:PASSWORD}');
CREATE SINK tables FORMAT postgres OPTIONS (url => '${env:PGURL}', table => 't');
CREATE FLOW to_table AS INSERT INTO SINK tables BY NAME SELECT k FROM STREAM(folder);
CREATE SINK program FORMAT exec OPTIONS (command => './say ${env:TOKEN}');
CREATE FLOW to_program AS INSERT INTO SINK program BY NAME SELECT k FROM STREAM(topic);`,
	})
	if err := os.Chmod(filepath.Join(dir, "say"), 0o700); err != nil {
		t.Fatal(err)
	}
	broker := brokerProcess(t)
	put := exec.Command(os.Args[0], "topic", "put", secret+"-topic", "--brokers", broker, "--create", "2")
	put.Env, put.Stdin = append(os.Environ(), beProcessor+"=1"), strings.NewReader("{\"k\":1}\n")
	if out, err := put.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, value := range map[string]string{"TOPIC": secret + "-topic", "FOLDER": secret + "-folder", "PASSWORD": secret + "-password",
		"PGURL": "postgres://ann:" + secret + "-password@" + nobody + "/x", "TOKEN": secret + "-token"} {
		t.Setenv(name, value)
	}
	common := []string{"--spec", dir, "--set", "kafka.bootstrap.servers=" + broker, "--set", "sluice.log_format=" + form}
	c := process(t, append([]string{"run"}, common...)...)
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	first, err := lines.ReadString('\n')
	if err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	verb := func(args ...string) string {
		t.Helper()
		_, out, err := command(append(args, common...)...)
		told(t, strings.Join(args, " "), out, err)
		return out
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		events := verb("events", "-o", "ndjson")
		if strings.Contains(events, "EXEC_SINK_FAILED") && strings.Contains(events, "POSTGRES_UNAVAILABLE") && strings.Contains(events, "left out the record at ******/in.json") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("not everything came to pass:\n%s", events)
		}
	}
	verb("status", "-o", "json")
	verb("query", "SELECT * FROM topic", "-o", "json")
	address, _, _ := strings.Cut(strings.Split(first, "http://")[1], "/")
	for _, path := range []string{"/", "/api/status", "/api/events?limit=10000", "/metrics", "/readyz", "/livez", "/version"} {
		answer, err := http.Get("http://" + address + path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		told(t, path, string(text))
		if path == "/metrics" && !strings.Contains(string(text), `split="******`) {
			t.Error("the metrics do not have the topic's partitions")
		}
	}
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(lines)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Logf("ended with %v", err)
	}
	told(t, "standard output", first, string(rest))
	told(t, "the log", said.String())
	if !strings.Contains(said.String(), "told ******") {
		t.Errorf("what the program says is not in the log:\n%s", said.String())
	}
	verb("status", "-o", "json")
	verb("events", "-o", "csv")
}
