package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/internal/broker"
	"sluice/internal/broker/topic"
	"sluice/internal/testenv"
)

const tested = `CREATE STREAMING TABLE latest FLOW REPLACE USING (id) SEQUENCE BY v BY NAME
SELECT id, v, '${suffix}' AS s FROM STREAM read_kafka(subscribe => 'in', format => 'json', schema => 'id STRING, v INT');`

// testedProject is a pipeline over a topic of brokers that are not there.
func testedProject(t *testing.T, sql string, more map[string]string) string {
	t.Helper()
	content := map[string]string{
		"pipeline.yml": "name: trial\nstorage: state\nlibraries:\n  - glob: {include: flows.sql}\ncontinuous: true\nconfiguration:\n  kafka.bootstrap.servers: 127.0.0.1:1\n  suffix: a\n",
		"flows.sql":    sql,
		"in.json":      `{"id":"a","v":1}` + "\n" + `{"id":"a","v":2}` + "\n" + `{"id":"b","v":1}` + "\n",
	}
	for name, text := range more {
		content[name] = text
	}
	return files(t, content)
}

// D-23, PT-01: samples by flags, in the formats of -o, with exit codes.
func TestTestVerbWithSamples(t *testing.T) {
	dir := testedProject(t, tested, nil)
	out := must(t, "test", dir, "--sample", "in=in.json", "--seed", "7", "--shuffle", "4", "--dup", "50%", "--kill", "1")
	if !strings.Contains(out, "test trial: the same in 4 shuffled runs with 4 crashes") || !strings.Contains(out, "(seed 7)") || !strings.Contains(out, "table latest: 2 rows") {
		t.Error(out)
	}
	// Crashes and redelivery come side by side; what was asked for and never came is said.
	if out := must(t, "test", dir, "--sample", "in=in.json", "--seed", "7", "--dup", "50%", "--kill", "10"); strings.Contains(out, " 0 crashes") || strings.Contains(out, " 0 redeliveries") || strings.Contains(out, "none came") {
		t.Error(out)
	}
	if out := must(t, "test", dir, "--sample", "in=in.json", "--shuffle", "1", "--dup", "0.0001%"); !strings.Contains(out, "--dup asked for redelivery, and none came") {
		t.Error(out)
	}
	var rows []map[string]any
	if err := json.Unmarshal([]byte(must(t, "test", "--spec", dir, "--sample", "in=in.json", "--shuffle", "1", "-o", "json")), &rows); err != nil ||
		len(rows) != 1 || rows[0]["result"] != "same" || rows[0]["name"] != "latest" || rows[0]["seed"] == 0.0 {
		t.Errorf("%v %v", rows, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "state")); err == nil {
		t.Error("a test makes the storage folder")
	}
	for _, c := range []struct {
		code int
		says string
		args []string
	}{
		{exitFailure, "TEST_SAMPLE_MISSING: flow latest reads topic in", []string{dir}},
		{exitFailure, `TEST_SAMPLE_NOT_READ: no flow reads the topic inn; hint: did you mean "in"?`, []string{dir, "--sample", "in=in.json", "--sample", "inn=in.json"}},
		{exitFailure, "TEST_SAMPLE_INVALID", []string{dir, "--sample", "in=nowhere.json"}},
		{exitUsage, "--sample takes TOPIC=FILE", []string{dir, "--sample", "in"}},
		{exitUsage, "once for each topic", []string{dir, "--sample", "in=in.json", "--sample", "in=in.json"}},
		{exitUsage, "--dup takes a share", []string{dir, "--dup", "5"}},
		{exitUsage, "--dup takes a share", []string{dir, "--dup", "NaN%"}},
		{exitUsage, "numbers from 0 on", []string{dir, "--kill", "-1"}},
		{exitUsage, "takes one pipeline", []string{dir, dir}},
	} {
		if code, _, err := command(append([]string{"test"}, c.args...)...); code != c.code || !strings.Contains(err, c.says) {
			t.Errorf("%v: exit %d\n%s", c.args, code, err)
		}
	}
}

// Test files beside the pipeline are what the verb runs; each problem of theirs is told, and each row that is missing or extra.
func TestTestVerbRunsTestFiles(t *testing.T) {
	good := "topics: {in: {file: in.json}}\nexpect: {tables: {latest: [{id: a, v: 2}, {id: b, v: 1}]}}\n"
	dir := testedProject(t, tested, map[string]string{"tests/good.yml": good,
		"tests/configured.yaml": "configuration: {suffix: z}\ntopics: {in: {values: [{id: c, v: 1}]}}\nexpect: {tables: {latest: [{id: c, s: z}]}}\n"})
	out := must(t, "test", dir, "--shuffle", "2", "--kill", "0")
	if strings.Count(out, "as expected; the same in 2 shuffled runs") != 2 {
		t.Error(out)
	}
	if out := must(t, "test", dir, "--shuffle", "0", "--set", "suffix=z"); strings.Count(out, ": as expected\n") != 2 {
		t.Error(out)
	}
	if code, out, _ := command("test", dir, "--shuffle", "0", "--set", "suffix=y"); code != exitFailure || !strings.Contains(out, `- {"id":"c","s":"z"}`) || !strings.Contains(out, `+ {"id":"c","s":"y"}`) {
		t.Errorf("exit %d\n%s", code, out)
	}
	dir = testedProject(t, tested, map[string]string{"tests/good.yml": good, "tests/wrong.yml": strings.Replace(good, "v: 2", "v: 1", 1)})
	code, out, err := command("test", dir, "--shuffle", "1")
	if code != exitFailure || !strings.Contains(out, "test wrong: NOT AS EXPECTED") || !strings.Contains(out, "test good: as expected") ||
		!strings.Contains(err, "PIPELINE_TEST_FAILED: 1 of 2 tests did not come out as they should: wrong") {
		t.Errorf("exit %d\n%s%s", code, out, err)
	}
	dir = testedProject(t, tested, map[string]string{"tests/a.yml": "topic: {}\n", "tests/b.yml": "topics: {in: {values: [1]}}\nexpect: {tables: {last: []}}\n"})
	if code, _, err := command("test", dir); code != exitFailure || strings.Count(err, "TEST_FILE_INVALID") != 2 || !strings.Contains(err, `did you mean "topics"?`) {
		t.Errorf("exit %d\n%s", code, err)
	}
	dir = testedProject(t, tested, map[string]string{"tests/a.yml": "configuration: {sluice.nowhere: x}\ntopics: {in: {values: []}}\n"})
	if code, _, err := command("test", dir); code != exitFailure || !strings.Contains(err, "tests/a.yml:1:17: UNKNOWN_OPTION") {
		t.Errorf("exit %d\n%s", code, err)
	}
}

// What differs is printed as a test file, and saved as one. Which of two broken records is met first decides how this flow fails.
func TestTestVerbSavesSmallCase(t *testing.T) {
	dir := testedProject(t, tested, map[string]string{"in.json": strings.Repeat(`{"id":"a","v":1}`+"\n", 20) + "{\n" + `{"id":"a","v":"x"}` + "\n"})
	code, out, err := command("test", dir, "--sample", "in=in.json", "--seed", "1", "--save", "tests/found.yml")
	if code != exitFailure || !strings.Contains(out, "flow latest differs") || !strings.Contains(out, "again with: --seed") || !strings.Contains(err, "saved to") {
		t.Fatalf("exit %d\n%s%s", code, out, err)
	}
	saved, readErr := os.ReadFile(filepath.Join(dir, "tests/found.yml"))
	if readErr != nil || strings.Count(string(saved), "      - ") != 2 {
		t.Errorf("%v\n%s", readErr, saved)
	}
	if code, out, _ := command("test", dir, "--shuffle", "0"); code != exitFailure || !strings.Contains(out, "flow latest differs: failed: ") {
		t.Errorf("exit %d\n%s", code, out)
	}
	if code, _, err := command("test", dir, "--sample", "in=in.json", "--seed", "1", "--save", "tests/found.yml"); code != exitFailure || !strings.Contains(err, "exists") {
		t.Errorf("exit %d\n%s", code, err)
	}
}

// Samples whose order does not matter are saved with what came out of them, and pass as a test file.
func TestTestVerbSavesSamples(t *testing.T) {
	sql := strings.Replace(tested, "v, '${suffix}' AS s", "v, _metadata.timestamp AS at", 1) + `
CREATE SINK out FORMAT file OPTIONS (path => 'out', format => 'json');
CREATE FLOW publish AS INSERT INTO SINK out BY NAME SELECT id FROM STREAM(latest) WITH (readChangeFeed = true);
CREATE STREAMING TABLE bad AS SELECT v FROM STREAM read_kafka(subscribe => 'in', format => 'json', schema => 'v BOOLEAN');`
	dir := testedProject(t, sql, nil)
	if _, _, err := command("test", dir, "--sample", "in=in.json", "--save", "tests/saved.yml"); !strings.Contains(err, "saved to") {
		t.Fatal(err)
	}
	out := must(t, "test", dir)
	if !strings.Contains(out, "test trial: as expected; the same in 10 shuffled runs") || !strings.Contains(out, "flow bad fails: CANNOT_PARSE_JSON_FIELD") {
		t.Error(out)
	}
	saved, err := os.ReadFile(filepath.Join(dir, "tests/saved.yml"))
	if err != nil || strings.Count(string(saved), "- {value: ") != 3 || strings.Count(string(saved), `- {"id":`) != 4 {
		t.Errorf("%v\n%s", err, saved)
	}
}

// A test that can compare nothing does not pass.
func TestTestVerbProvesSomething(t *testing.T) {
	dir := testedProject(t, strings.Replace(tested, "'${suffix}'", "now()", 1), nil)
	code, out, err := command("test", dir, "--sample", "in=in.json", "--shuffle", "1")
	if code != exitFailure || !strings.Contains(out, "not compared: table latest: flow latest uses the time of its batches") || !strings.Contains(err, "TEST_COMPARES_NOTHING") {
		t.Errorf("exit %d\n%s%s", code, out, err)
	}
}

// --last takes records of the real topics, as they are, and leaves nothing behind there.
func TestTestVerbTakesLastRecords(t *testing.T) {
	b := testenv.Broker(t, broker.Options{Topics: map[string]int32{"in": 3, "empty": 1}})
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Brokers()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx := context.Background()
	for i := range 30 {
		r := &kgo.Record{Topic: "in", Partition: int32(i % 3), Key: fmt.Append(nil, i%3), Value: fmt.Appendf(nil, `{"id":"k%d","v":%d}`, i, i), Headers: []kgo.RecordHeader{{Key: "h", Value: []byte("x")}}}
		if err := client.ProduceSync(ctx, r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	state := func() string {
		admin := kadm.NewClient(client)
		topics, err := topic.List(ctx, b.Brokers())
		if err != nil {
			t.Fatal(err)
		}
		groups, err := admin.ListGroups(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := topic.Cat(ctx, b.Brokers(), "in", &out, topic.CatOptions{Records: true}); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(topics, groups.Groups(), out.String())
	}
	before := state()
	sql := `CREATE STREAMING TABLE all_rows AS SELECT id, _metadata.partition AS p, CAST(_metadata.key AS STRING) AS k, size(_metadata.headers) AS h
FROM STREAM read_kafka(subscribePattern => 'i.*', startingOffsets => 'latest', format => 'json', schema => 'id STRING');
CREATE STREAMING TABLE ids AS SELECT id FROM STREAM read_kafka(subscribe => 'in,empty', format => 'json', schema => 'id STRING');
CREATE SINK out FORMAT kafka OPTIONS (topic => 'out', create_topic => 1);
CREATE FLOW publish AS INSERT INTO SINK out BY NAME SELECT id FROM STREAM(ids);`
	dir := testedProject(t, sql, map[string]string{"more.json": `{"id":"z"}`})
	out := must(t, "test", dir, "--last", "7", "--shuffle", "2", "--set", "kafka.bootstrap.servers="+b.Brokers()[0])
	for _, want := range []string{"the same in 2 shuffled runs", "table all_rows: 7 rows", "table ids: 7 rows", "not compared: table all_rows: flow all_rows reads partition", "sink out (flow publish): 7 rows"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if out := must(t, "test", dir, "--last", "7", "--sample", "in=more.json", "--shuffle", "1", "--set", "kafka.bootstrap.servers="+b.Brokers()[0]); !strings.Contains(out, "table ids: 1 rows") {
		t.Error(out)
	}
	// A topic with a sample is not looked for there.
	absent := testedProject(t, strings.Replace(sql, "'in,empty'", "'in,absent'", 1), map[string]string{"more.json": `{"id":"z"}`})
	must(t, "test", absent, "--last", "7", "--sample", "absent=more.json", "--shuffle", "1", "--set", "kafka.bootstrap.servers="+b.Brokers()[0])
	if code, _, err := command("test", absent, "--last", "7", "--set", "kafka.bootstrap.servers="+b.Brokers()[0]); code != exitFailure || !strings.Contains(err, "absent") {
		t.Errorf("exit %d\n%s", code, err)
	}
	if after := state(); after != before {
		t.Errorf("the cluster was\n%s\nand is\n%s", before, after)
	}
}

// The example and the project of init have tests of their own, which pass.
func TestTestVerbOfExamples(t *testing.T) {
	out := must(t, "test", "../../examples/stock_ticks", "--shuffle", "5", "--kill", "2")
	if strings.Count(out, "the same in 5 shuffled runs with 10 crashes") != 2 || !strings.Contains(out, "table ticks: 197 rows") {
		t.Error(out)
	}
	if out := must(t, "test", "../../examples/stock_ticks_one_table", "--shuffle", "2"); !strings.Contains(out, "table ticks: 197 rows") {
		t.Error(out)
	}
	t.Chdir(t.TempDir())
	must(t, "init", "mine")
	if out := must(t, "test", "mine"); !strings.Contains(out, "test newest: as expected; the same in 10 shuffled runs") {
		t.Error(out)
	}
}
