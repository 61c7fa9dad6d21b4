package main

import (
	"os"
	"strings"
	"testing"
)

// D-31: beside a running daemon an edit may be as large as a record of a file, and it is of one record, whatever several are called by its name.
func TestEditsBesideADaemon(t *testing.T) {
	const table = `CREATE STREAMING TABLE NAME AS SELECT id, v FROM STREAM read_files('in/*.json', format => 'json', schema => 'id INT, v STRING', mode => 'QUARANTINE');`
	s := local(t, strings.ReplaceAll(table, "NAME", "a")+strings.ReplaceAll(table, "NAME", "b"), map[string]string{"in/a.json": `{"id":"one","V":"x"}` + "\n"})
	edit := func(args ...string) (int, string) {
		code, _, errs := command(append(append([]string{"dlq", "edit", "in/a.json@0"}, args...), s.sets...)...)
		return code, errs
	}
	d := s.start()
	s.until("the records in quarantine", func() bool { return s.quarantined("a") == 1 && s.quarantined("b") == 1 })
	if code, errs := edit("--field", "id=2"); code == exitOK || !strings.Contains(errs, "RECORD_NAME_AMBIGUOUS") {
		t.Errorf("one of two records is edited: %s", errs)
	}
	const size = 13 << 20
	file := t.TempDir() + "/value"
	if err := os.WriteFile(file, []byte(`{"id":1,"v":"`+strings.Repeat("x", size)+`"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, errs := edit("--flow", "a", "--value-file", file); code != exitOK {
		t.Fatalf("a record of %d bytes: %s", size, errs)
	}
	if code, errs := edit("--flow", "b", "--field", "ID=3", "--field", "v=seven"); code != exitOK { // D-9
		t.Fatal(errs)
	}
	if code, _, errs := command(append([]string{"dlq", "replay", "--all"}, s.sets...)...); code != exitOK {
		t.Fatal(errs)
	}
	s.until("the replay", func() bool { return s.quarantined("a") == 0 && s.quarantined("b") == 0 })
	d.stop(exitOK)
	for _, table := range []string{"a", "b"} {
		want := map[string]string{"a": "1,13631488\n", "b": "3,5\n"}[table]
		if _, out, errs := command(append([]string{"query", "SELECT id, length(v) AS n FROM " + table, "-o", "csv"}, s.sets...)...); out != "id,n\n"+want {
			t.Errorf("%s has %s%s", table, out, errs)
		}
	}
}
