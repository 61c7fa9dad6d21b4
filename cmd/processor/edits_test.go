package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sluice/catalog"
	"sluice/daemon"
	"sluice/eventlog"
	"sluice/fault"
	"sluice/internal/broker"
	"sluice/internal/testenv"
	"sluice/plan"
)

// edit is a row of the table of docs/operations.md.
type edit struct {
	what, verdicts, start string
	replace               []string // old and new in turn
}

// documentedEdits are the rows of the table.
func documentedEdits(t *testing.T) (edits []edit) {
	t.Helper()
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "| edit | for example |")
	table, _, _ := strings.Cut(rest, "\n\n")
	pair := regexp.MustCompile("`([^`]*)` → `([^`]*)`")
	for _, line := range strings.Split(table, "\n")[2:] {
		cells := strings.Split(line, "|")
		if len(cells) != 7 {
			t.Fatalf("not a row of five cells: %s", line)
		}
		e := edit{what: strings.TrimSpace(cells[1]), verdicts: strings.TrimSpace(cells[3]), start: strings.TrimSpace(cells[4])}
		for _, m := range pair.FindAllStringSubmatch(cells[2], -1) {
			e.replace = append(e.replace, m[1], m[2])
		}
		edits = append(edits, e)
	}
	return edits
}

// Every row of the table about edits (D-35, D-62, A-77, A-106): what diff says, with which exit code, what the start says, and that both
// say the same.
func TestEveryEdit(t *testing.T) {
	base, err := os.ReadFile("testdata/edits/flows.sql")
	if err != nil {
		t.Fatal(err)
	}
	sql := strings.ReplaceAll(string(base), "\nSELECT", " SELECT")
	sql = strings.ReplaceAll(sql, "\nFROM", " FROM")
	ran := project(t, sql, map[string]string{
		"ticks.json":  `{"id":1,"part":"a","ts":1,"n":1,"f":0.5,"price":1.25,"day":"2024-02-29","venue":{"code":7},"note":"x"}` + "\n",
		"data/a.json": `{"id":1,"n":1}` + "\n",
		"old/a.json":  `{"id":0,"n":1}` + "\n",
	})
	b := testenv.Broker(t, broker.Options{})
	if _, err := b.Seed(context.Background(), broker.Seed{Topic: "ticks", File: filepath.Join(ran, "ticks.json")}); err != nil {
		t.Fatal(err)
	}
	must(t, "run", "--spec", ran, "--set", "sluice.retry_timeout=10s", "--set", "kafka.bootstrap.servers="+b.Brokers()[0])
	edits := documentedEdits(t)
	if len(edits) < 35 {
		t.Fatalf("only %d edits are documented", len(edits))
	}
	for _, e := range edits {
		t.Run(e.what, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(ran)); err != nil {
				t.Fatal(err)
			}
			edited := sql
			for i := 0; i < len(e.replace); i += 2 {
				if !strings.Contains(edited, e.replace[i]) {
					t.Fatalf("the pipeline has no %s", e.replace[i])
				}
				edited = strings.ReplaceAll(edited, e.replace[i], e.replace[i+1])
			}
			if err := os.WriteFile(filepath.Join(dir, "flows.sql"), []byte(edited), 0o600); err != nil {
				t.Fatal(err)
			}
			said := e.diffs(t, dir)
			if got := starts(t, dir, said); got != e.start {
				t.Errorf("the start %s, documented is: %s", got, e.start)
			}
			if again := diffRows(t, dir); e.start[:7] != "refused" && slices.ContainsFunc(again, func(r diffRow) bool { return r.Verdict != "unchanged" && r.Verdict != "removed" }) {
				t.Errorf("after the start diff says %v", again)
			}
		})
	}
}

// D-62: another time zone changes what every flow computes, and is told.
func TestAnotherTimeZoneIsAnEdit(t *testing.T) {
	dir := project(t, "CREATE STREAMING TABLE t AS SELECT CAST(at AS TIMESTAMP) AS at FROM STREAM read_files('a.json', format => 'json', schema => 'at STRING');",
		map[string]string{"a.json": `{"at":"2024-01-01T00:00:00"}` + "\n"})
	must(t, "run", "--spec", dir)
	if code, out, _ := command("diff", "--spec", dir, "--set", "spark.sql.session.timeZone=UTC"); code != exitOK || strings.Contains(out, "in place") {
		t.Errorf("exit %d\n%s", code, out)
	}
	tokyo := []string{"--spec", dir, "--set", "spark.sql.session.timeZone=Asia/Tokyo"}
	const want = "spark.sql.session.timeZone: UTC before, Asia/Tokyo now"
	if code, out, _ := command(append([]string{"diff"}, tokyo...)...); code != exitOK || !strings.Contains(out, want) || !strings.Contains(out, "in place") {
		t.Errorf("exit %d\n%s", code, out)
	}
	code, _, told := command(append([]string{"run"}, tokyo...)...)
	if code != exitOK || !strings.Contains(told, "QUERY_FINGERPRINT_CHANGED") {
		t.Errorf("exit %d\n%s", code, told)
	}
	if code, out, _ := command(append([]string{"diff"}, tokyo...)...); code != exitOK || strings.Contains(out, "in place") {
		t.Errorf("after the start: exit %d\n%s", code, out)
	}
}

// diffRow is a row of diff -o json.
type diffRow struct {
	Kind, Name, Verdict, Position, Text, Command string
	Starts                                       bool
}

func diffRows(t *testing.T, dir string) (rows []diffRow) {
	t.Helper()
	_, out, told := command("diff", "--spec", dir, "--set", "kafka.bootstrap.servers=127.0.0.1:1", "-o", "json")
	if err := json.Unmarshal([]byte(out), &rows); err != nil {
		t.Fatalf("%v\n%s%s", err, out, told)
	}
	return rows
}

// diffs holds what diff says against the row of the table.
func (e *edit) diffs(t *testing.T, dir string) []diffRow {
	t.Helper()
	rows, found, waits := diffRows(t, dir), map[string]bool{}, false
	for _, r := range rows {
		if r.Verdict != "unchanged" {
			found[r.Verdict] = true
		}
		needs := strings.HasPrefix(r.Verdict, "needs")
		waits = waits || needs || r.Verdict == "refused"
		if needs != (r.Command != "") {
			t.Errorf("%s %s %s, and the command is %q", r.Kind, r.Name, r.Verdict, r.Command)
		}
		if !strings.HasPrefix(r.Position, "flows.sql:") && !strings.Contains(r.Position, "/flows.sql:") && r.Verdict != "removed" {
			t.Errorf("%s %s stands at %q", r.Kind, r.Name, r.Position)
		}
	}
	if waits {
		delete(found, "in place") // the table has what weighs most
	}
	verdicts := strings.Join(slices.Sorted(maps.Keys(found)), ", ")
	if verdicts == "" {
		verdicts = "unchanged"
	}
	if verdicts != e.verdicts {
		t.Errorf("diff says %s, documented is %s:\n%+v", verdicts, e.verdicts, rows)
	}
	want := exitOK
	if waits {
		want = exitWaits
	}
	if exit, _, _ := command("diff", "--spec", dir, "--set", "kafka.bootstrap.servers=127.0.0.1:1"); exit != want {
		t.Errorf("exit code %d, want %d", exit, want)
	}
	return rows
}

// starts starts a daemon, which runs nothing, and returns what it says. Its edits must be those that diff has shown.
func starts(t *testing.T, dir string, said []diffRow) string {
	t.Helper()
	p, problems := plan.Load(filepath.Join(dir, "pipeline.yml"), catalog.Overrides{Set: map[string]string{"kafka.bootstrap.servers": "127.0.0.1:1"}, Env: os.LookupEnv}, daemon.Connectors())
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	var edits, codes []string
	d, err := daemon.Start(context.Background(), daemon.Options{Plan: p, Log: slog.New(slog.DiscardHandler), Listen: func(e eventlog.Event) {
		switch e := e.(type) {
		case *eventlog.DefinitionEdit:
			edits = append(edits, e.Kind+" "+e.Name+" "+e.Verdict+" "+e.Text)
		case *eventlog.FlowWarning:
			codes = append(codes, e.Err.Code.Name)
		case *eventlog.UpdateWarning:
			codes = append(codes, e.Err.Code.Name)
		}
	}})
	var list fault.List
	if errors.As(err, &list) {
		for _, e := range list {
			codes = append(codes, e.Code.Name)
		}
		slices.Sort(codes)
		return "refused: " + strings.Join(slices.Compact(codes), ", ")
	}
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
	var shown []string
	for _, r := range said {
		if r.Verdict != "unchanged" && r.Verdict != "new" && r.Verdict != "removed" {
			shown = append(shown, r.Kind+" "+r.Name+" "+r.Verdict+" "+r.Text)
		}
	}
	if !slices.Equal(edits, shown) {
		t.Errorf("the start says\n%s\nand diff\n%s", strings.Join(edits, "\n"), strings.Join(shown, "\n"))
	}
	slices.Sort(codes)
	if codes = slices.Compact(codes); len(codes) > 0 {
		return "warns: " + strings.Join(codes, ", ")
	}
	return "goes on"
}

// Without a store everything is new, and beside a running daemon diff says the same as of the stopped store.
func TestDiffWithoutAStoreAndBesideADaemon(t *testing.T) {
	const sql = "CREATE STREAMING TABLE t AS SELECT * FROM STREAM read_files('data', format => 'json', schema => 'id INT');"
	dir := project(t, sql, map[string]string{"data/a.json": `{"id":1}` + "\n"})
	if exit, out, _ := command("diff", "--spec", dir, "-o", "csv"); exit != exitOK || strings.Count(out, ",new,true,") != 2 {
		t.Errorf("without a store: exit %d\n%s", exit, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "state")); err == nil {
		t.Error("diff has made a store")
	}
	must(t, "run", "--spec", dir)
	write := func(sql string) {
		if err := os.WriteFile(filepath.Join(dir, "flows.sql"), []byte(sql), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	edited := strings.Replace(sql, "id INT", "id STRING", 1)
	write(edited)
	_, stopped, _ := command("diff", "--spec", dir, "-o", "json")
	write(sql)
	p, problems := plan.Load(filepath.Join(dir, "pipeline.yml"), catalog.Overrides{Env: os.LookupEnv}, daemon.Connectors())
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	d, err := daemon.Start(context.Background(), daemon.Options{Plan: p, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.Serve(); err != nil {
		t.Fatal(err)
	}
	write(edited)
	exit, running, told := command("diff", "--spec", dir, "-o", "json")
	if exit != exitWaits || running != stopped || !strings.Contains(running, "COLUMN_TYPE_DRIFT") {
		t.Errorf("beside a daemon: exit %d\n%s%s\nof the stopped store\n%s", exit, running, told, stopped)
	}
}
