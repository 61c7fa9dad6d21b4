package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A definition that the rows stored under an earlier one forbid is refused where it stands.
func TestDriftIsToldWithItsPlace(t *testing.T) {
	const sql = "CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY s BY NAME\nSELECT * FROM STREAM read_files('data', format => 'json', schema => 'k BIGINT, s BIGINT, v BIGINT');"
	for code, change := range map[string]*strings.Replacer{
		"KEY_SCHEMA_DRIFT":      strings.NewReplacer("USING (k)", "USING (v)"),
		"SEQUENCING_TYPE_DRIFT": strings.NewReplacer("s BIGINT", "s STRING"),
		"COLUMN_TYPE_DRIFT":     strings.NewReplacer("v BIGINT", "v INT"),
		"TABLE_KIND_DRIFT":      strings.NewReplacer("REPLACE USING (k) SEQUENCE BY s", "INSERT"),
	} {
		dir := project(t, sql, map[string]string{"data/a.json": `{"k": 1, "s": 1, "v": 1}` + "\n"})
		must(t, "run", "--spec", dir)
		if err := os.WriteFile(filepath.Join(dir, "flows.sql"), []byte("-- moved down\n"+change.Replace(sql)), 0o600); err != nil {
			t.Fatal(err)
		}
		exit, _, told := command("run", "--spec", dir)
		if exit != exitFailure || !strings.Contains(told, "flows.sql:2:24: "+code) {
			t.Errorf("%s: exit %d\n%s", code, exit, told)
		}
	}
}
