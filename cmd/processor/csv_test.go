package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a file sink writes as CSV a source reads as it was: texts that are empty, look like NULL or have line breaks, and microseconds.
func TestCSVThereAndBack(t *testing.T) {
	dir := project(t, `
CREATE STREAMING TABLE t AS SELECT id, s, d, at FROM STREAM read_files('in/*.json', format => 'json', schema => 'id INT, s STRING, d DECIMAL(20,4), at TIMESTAMP');
CREATE SINK files FORMAT file OPTIONS (path => 'out', format => 'csv', header => true, sep => ';', lineSep => '\r\n');
CREATE FLOW f AS INSERT INTO files SELECT * FROM STREAM(t);`, map[string]string{"in/a.json": `{"id":1,"s":"a;\r\n\"b\"","d":0.1,"at":"2024-02-29T01:02:03.000001Z"}
{"id":2,"s":"","d":null,"at":null}
{"id":3,"s":null,"d":-12345678901234.5678,"at":"0001-01-01T00:00:00Z"}
{"id":4,"s":" NULL ","d":1,"at":null}
`})
	must(t, "run", "--spec", dir)
	files, _ := filepath.Glob(filepath.Join(dir, "out", "*.csv"))
	if len(files) != 1 {
		t.Fatal(files)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	back := project(t, `
CREATE STREAMING TABLE t AS SELECT id, s, d, at
FROM STREAM read_files('in/*.csv', format => 'csv', header => true, sep => ';', schema => 'at TIMESTAMP, id INT, s STRING, d DECIMAL(20,4)');`, map[string]string{"in/a.csv": string(text)})
	must(t, "run", "--spec", back)
	const query = "SELECT * FROM t ORDER BY id"
	if a, b := must(t, "query", "--spec", dir, "-o", "json", query), must(t, "query", "--spec", back, "-o", "json", query); a != b || strings.Count(a, `"id"`) != 4 {
		t.Errorf("%s\nand read again\n%s\nof\n%s", a, b, text)
	}
}

// What a format of a sink cannot hold is said before anything runs.
func TestFormatsOfSinksThatCannotHoldRows(t *testing.T) {
	for options, want := range map[string]string{
		"format => 'csv'":               "CSV has no values of type ARRAY<INT>",
		"format => 'text'":              "raw records are made of one column",
		"format => 'json', sep => ';'":  "sep is not an option of format json",
		"format => 'csv', quote => ','": "has the quote",
	} {
		dir := project(t, `
CREATE STREAMING TABLE t AS SELECT id, a FROM STREAM read_files('in/*.json', format => 'json', schema => 'id INT, a ARRAY<INT>');
CREATE SINK files FORMAT file OPTIONS (path => 'out', `+options+`);
CREATE FLOW f AS INSERT INTO files SELECT * FROM STREAM(t);`, map[string]string{"in/a.json": ""})
		if exit, out, told := command("dry-run", "--spec", dir); exit == exitOK || !strings.Contains(out+told, want) {
			t.Errorf("%s: exit %d\n%s%s", options, exit, out, told)
		}
	}
}
