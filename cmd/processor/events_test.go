package main

import (
	"strings"
	"testing"
)

// Without --after the newest events are shown, and that there are older ones.
func TestEventsShowTheNewest(t *testing.T) {
	dir := project(t, "CREATE STREAMING TABLE t FLOW INSERT BY NAME SELECT * FROM STREAM read_files('data', format => 'json', schema => 'a INT');",
		map[string]string{"data/a.json": `{"a": 1}` + "\n"})
	must(t, "run", "--spec", dir)
	all := strings.Split(strings.TrimSpace(must(t, "events", "--spec", dir, "-o", "csv")), "\n")
	if len(all) < 5 {
		t.Fatalf("too few events\n%s", strings.Join(all, "\n"))
	}
	code, out, told := command("events", "--spec", dir, "-o", "csv", "-n", "3")
	if want := strings.Join(all[len(all)-3:], "\n") + "\n"; code != exitOK || !strings.HasSuffix(out, want) || !strings.Contains(told, "older ones are not shown") {
		t.Errorf("exit %d\n%s%swant\n%s", code, out, told, want)
	}
	code, out, told = command("events", "--spec", dir, "-o", "csv", "-n", "2", "--after", "1")
	if want := strings.Join(all[2:4], "\n") + "\n"; code != exitOK || !strings.HasSuffix(out, want) || !strings.Contains(told, "go on with --after 3") {
		t.Errorf("exit %d\n%s%swant\n%s", code, out, told, want)
	}
	if code, _, _ := command("events", "--spec", dir, "-n", "0"); code != exitUsage {
		t.Errorf("-n 0: exit %d", code)
	}
}
