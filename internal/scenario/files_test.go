package scenario

import (
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"sluice/daemon"
)

// With files=yes, append tables of a daemon at work do have files, which DuckDB wrote; who reads the table sees the same rows, and so does
// who reads it after a power cut, of which nothing survived that was not synced.
func TestTailsBecomeFiles(t *testing.T) {
	fixed, err := family(map[string]string{"limit": "3", "partitions": "1", "mode": "continuous", "restart": "no", "stop": "crash", "files": "yes"})
	if err != nil {
		t.Fatal(err)
	}
	w, err := newWorld(t.TempDir(), fixed[0], Through{}, testEngine(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.close)
	do := func(command, input string, args ...string) {
		t.Helper()
		var parsed []datadriven.CmdArg
		for _, a := range args {
			key, value, _ := strings.Cut(a, "=")
			parsed = append(parsed, datadriven.CmdArg{Key: key})
			if value != "" {
				parsed[len(parsed)-1].Vals = []string{value}
			}
		}
		if out, err := w.execute(command, parsed, input); err != nil || strings.Contains(out, "error") {
			t.Fatal(out, err)
		}
	}
	do("pipeline", `CREATE STREAMING TABLE raw AS SELECT id, f FROM STREAM read_kafka(subscribe => 'in', format => 'json', schema => 'id INT, f DOUBLE');
		CREATE STREAMING TABLE copy AS SELECT id, f FROM STREAM(raw);`)
	do("produce", `{"id":1,"f":-0.0}`, "in", "times=40")
	start := func() *run {
		t.Helper()
		r, err := w.start(daemon.Selection{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		w.up = r
		return r
	}
	files := func() (n int) {
		names, err := w.disk.FS().List(w.disk.FS().PathJoin(w.plan.Storage, "files"))
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	const sums = "SELECT count(*) AS n, sum(id) AS s, min(CAST(f AS STRING)) AS z FROM "
	r := start()
	until(t, "files of both tables", func() bool { return files() >= 2 && asked(t, r, sums+"copy") == `[40,40,"-0.0"]` })
	w.powerCut()
	r = start()
	for _, table := range []string{"raw", "copy"} {
		until(t, table, func() bool { return asked(t, r, sums+table) == `[40,40,"-0.0"]` })
	}
	w.down()
}
