package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// changed has an append table, a REPLACE WHERE table, a keyed table and a sink.
const changed = `CREATE STREAMING TABLE raw (d DATE, k STRING, v INT NOT NULL) AS SELECT * FROM STREAM read_files('in/*.json', format => 'json', schema => 'd DATE, k STRING, v INT');
CREATE STREAMING TABLE daily FLOW REPLACE WHERE d >= DATE '2026-01-08' BY NAME SELECT d, k, sum(v) AS s FROM raw GROUP BY ALL;
CREATE STREAMING TABLE newest FLOW REPLACE USING (k) SEQUENCE BY d BY NAME SELECT * FROM STREAM(raw) WITH (skipChangeCommits = true);
CREATE STREAMING TABLE log AS SELECT k FROM STREAM read_files('in/*.json', format => 'json', schema => 'k STRING');
CREATE STREAMING TABLE behind AS SELECT k FROM STREAM(log);
CREATE SINK out FORMAT file OPTIONS (path => 'out', format => 'json');
CREATE FLOW send AS INSERT INTO SINK out BY NAME SELECT * FROM STREAM(raw) WITH (skipChangeCommits = true);`

var changedFiles = map[string]string{"in/1.json": `{"d":"2026-01-05","k":"a","v":99}
{"d":"2026-01-08","k":"a","v":3}
{"d":"2026-01-09","k":"b","v":4}
`}

// daily is what the REPLACE WHERE table has.
func (s *site) sums() string { return s.csv("SELECT d, k, s FROM daily ORDER BY d, k, s") }

// everywhere runs a test beside a stopped daemon and against a running one. ready waits until every flow has seen what is there.
func everywhere(t *testing.T, sql string, data map[string]string, test func(t *testing.T, s *site, ready func(what string, ok func() bool))) {
	t.Run("stopped", func(t *testing.T) {
		s := local(t, sql, data)
		must(t, append([]string{"refresh"}, s.sets...)...)
		test(t, s, func(what string, ok func() bool) {})
	})
	t.Run("running", func(t *testing.T) {
		s := local(t, sql, data)
		s.sets = append(s.sets, "--set", "pipelines.trigger.interval=100ms")
		d := s.start()
		test(t, s, s.until)
		d.stop(exitOK)
	})
}

// DM-01, DM-02, SA-07: rows of before the window are inserted into a REPLACE WHERE table from outside, and stay there. DM-06: columns go by position, or by
// their names.
func TestInsert(t *testing.T) {
	everywhere(t, changed, changedFiles, func(t *testing.T, s *site, ready func(string, func() bool)) {
		ready("the window", func() bool { return strings.Count(s.sums(), "\n") == 2 })
		if err := os.WriteFile(filepath.Join(s.dir, "history.sql"), []byte(`-- what was before the trial
INSERT INTO daily SELECT d, k, sum(v) FROM raw WHERE d < DATE '2026-01-08' GROUP BY ALL;
INSERT INTO daily (s, d) VALUES (7, DATE '2026-01-01'), (DEFAULT, DATE '2026-01-02');
INSERT INTO daily BY NAME SELECT 'x' AS k, DATE '2026-01-03' AS d;
SELECT count(*) AS n FROM daily;
`), 0o600); err != nil {
			t.Fatal(err)
		}
		code, out := s.verb("sql", "-o", "csv", filepath.Join(s.dir, "history.sql"))
		if want := "num_affected_rows,num_inserted_rows\n1,1\nnum_affected_rows,num_inserted_rows\n2,2\nnum_affected_rows,num_inserted_rows\n1,1\nn\n6\n"; code != exitOK || out != want {
			t.Fatalf("exit %d\n%s", code, out)
		}
		if got, want := s.sums(), "d,k,s\n2026-01-01,,7\n2026-01-02,,\n2026-01-03,x,\n2026-01-05,a,99\n2026-01-08,a,3\n2026-01-09,b,4"; got != want {
			t.Errorf("daily has\n%s\nnot\n%s", got, want)
		}
	})
}

// DM-O1, DM-07: what takes no rows from outside is refused by name, and a statement changes no schema. PO-05, PO-06, SQ-15, SQ-16: REFRESH waits or does not.
// D-34: nor is a table changed that flows read as one that only grows. A script stops at the first statement that fails, and says where it stands.
func TestScriptsAreRefused(t *testing.T) {
	everywhere(t, changed, changedFiles, func(t *testing.T, s *site, ready func(string, func() bool)) {
		ready("the window", func() bool { return strings.Count(s.sums(), "\n") == 2 })
		for _, c := range [][2]string{
			{"INSERT INTO newest VALUES (DATE '2026-01-01', 'x', 1)", "-e:1:13: DML_TARGET_NOT_SUPPORTED: INSERT of newest"},
			{"INSERT INTO out VALUES (1)", "DML_TARGET_NOT_SUPPORTED: INSERT of out: it is a sink"},
			{"INSERT INTO raw__quarantine VALUES (1)", "DML_TARGET_NOT_SUPPORTED"},
			{"INSERT INTO nothing VALUES (1)", "-e:1:13: TABLE_OR_VIEW_NOT_FOUND"},
			{"SELECT 1;\n INSERT INTO raw VALUES (DATE '2026-01-01', 'x')", "-e:2:18: INSERT_COLUMN_ARITY_MISMATCH.NOT_ENOUGH_DATA_COLUMNS"},
			{"INSERT INTO raw VALUES (DATE '2026-01-01', 'x', 1, 2)", "INSERT_COLUMN_ARITY_MISMATCH.TOO_MANY_DATA_COLUMNS"},
			{"INSERT INTO raw (d, k) VALUES (DATE '2026-01-01', 'x')", "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_FIND_DATA"},
			{"INSERT INTO raw (d, k, w) VALUES (DATE '2026-01-01', 'x', 1)", "-e:1:24: COLUMN_NOT_DEFINED_IN_TABLE"},
			{"INSERT INTO raw (d, k, K) VALUES (DATE '2026-01-01', 'x', 1)", "COLUMN_ALREADY_EXISTS"},
			{"INSERT INTO raw BY NAME SELECT 1 AS v, 2 AS w", "INCOMPATIBLE_DATA_FOR_TABLE.EXTRA_COLUMNS"},
			{"INSERT INTO raw VALUES ('2026-01-01', 'x', 1)", "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST"},
			{"INSERT INTO raw VALUES (DATE '2026-01-01', 'x', 3000000000)", "CAST_OVERFLOW"},
			{"INSERT INTO raw VALUES (DATE '2026-01-01', 'x', NULL)", "NOT_NULL_CONSTRAINT_VIOLATION"},
			{"DELETE FROM log WHERE k = 'a'", "-e:1:13: TARGET_HAS_APPEND_READERS: DELETE of log: behind"},
			{"UPDATE log SET k = 'a'", "TARGET_HAS_APPEND_READERS: UPDATE of log: behind"},
			{"DELETE FROM newest", "DML_TARGET_NOT_SUPPORTED"},
			{"UPDATE raw SET v = 1, V = 2", "-e:1:23: CONFLICTING_SET_COLUMN"},
			{"UPDATE raw SET w = 1", "-e:1:16: COLUMN_NOT_DEFINED_IN_TABLE"},
			{"UPDATE raw SET v = 'x'", "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST"},
			{"UPDATE raw SET v = NULL", "NOT_NULL_CONSTRAINT_VIOLATION"},
			{"DELETE FROM raw WHERE v", "-e:1:23: DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN"},
			{"DELETE FROM raw WHERE w = 1", "-e:1:23: UNRESOLVED_COLUMN"},
			{"UPDATE raw SET v = 1 / (v - v)", "DIVIDE_BY_ZERO"},
			{"ALTER STREAMING TABLE daily DROP SCHEDULE", "DROP_SCHEDULE_DOES_NOT_EXIST"},
			{"DESCRIBE HISTORY newest", "-e:1:18: UNSUPPORTED_FEATURE.TIME_TRAVEL"},
			{"REFRESH STREAMING TABLE raw WHERE d IS NULL", "REFRESH_WHERE_REQUIRES_REPLACE_WHERE_FLOW"},
			{"REFRESH STREAMING TABLE nothing", "-e:1:25: TABLE_OR_VIEW_NOT_FOUND"},
			{"SELECT 1; SELCT 2", "-e:1:11: PARSE_SYNTAX_ERROR"},
		} {
			if code, out := s.verb("sql", "-e", c[0]); code != exitFailure || !strings.Contains(out, c[1]) {
				t.Errorf("%s\nexit %d, without %s:\n%s", c[0], code, c[1], out)
			}
		}
		if got := s.csv("SELECT count(*) AS n FROM raw"); got != "n\n3" {
			t.Errorf("raw has %s", got)
		}
		code, out := s.verb("sql", "-o", "csv", "-e", "REFRESH STREAMING TABLE daily WHERE d < DATE '2026-01-08'; SELECT count(*) AS n FROM daily")
		if code != exitOK || !strings.Contains(out, "n\n3\n") {
			t.Errorf("exit %d\n%s", code, out)
		}
		if code, out := s.verb("sql", "-e", "SELECT 1 AS one; SELECT raise_error('no'); SELECT 2 AS two"); code != exitFailure || !strings.Contains(out, "one") || !strings.Contains(out, "statement 2 of 3 failed") || strings.Contains(out, "two") {
			t.Errorf("exit %d\n%s", code, out)
		}
	})
}

// DM-O1: UPDATE and DELETE of an append table and of a REPLACE WHERE table, with other tables and the table itself in subqueries. D-34, DM-08: flows that
// read the table with skipChangeCommits go on, and get what is inserted later.
func TestUpdateAndDelete(t *testing.T) {
	everywhere(t, changed, changedFiles, func(t *testing.T, s *site, ready func(string, func() bool)) {
		ready("the window", func() bool {
			return strings.Count(s.sums(), "\n") == 2 && s.csv("SELECT count(*) AS n FROM newest") == "n\n2"
		})
		for _, c := range [][2]string{
			{"UPDATE raw AS r SET v = r.v + 1, k = upper(k) WHERE v < 10", "num_affected_rows\n2\n"},
			{"SELECT d, k, v FROM raw ORDER BY v", "d,k,v\n2026-01-08,A,4\n2026-01-09,B,5\n2026-01-05,a,99\n"},
			{"DELETE FROM raw WHERE v = (SELECT max(v) FROM raw)", "num_affected_rows\n1\n"},
			{"UPDATE raw SET v = 1 / (v - 4) WHERE v <> 4", "num_affected_rows\n1\n"},
			{"DELETE FROM raw WHERE k IN (SELECT k FROM newest)", "num_affected_rows\n0\n"},
			{"INSERT INTO raw SELECT d, k, v + 100 FROM raw", "num_affected_rows,num_inserted_rows\n2,2\n"},
			{"SELECT d, k, v FROM raw ORDER BY v", "d,k,v\n2026-01-09,B,1\n2026-01-08,A,4\n2026-01-09,B,101\n2026-01-08,A,104\n"},
			{"UPDATE raw SET raw.k = DEFAULT", "num_affected_rows\n4\n"},
			{"DELETE FROM raw", "num_affected_rows\n4\n"},
			{"SELECT count(*) AS n FROM raw", "n\n0\n"},
			{"INSERT INTO raw VALUES (DATE '2026-02-01', 'z', 7)", "num_affected_rows,num_inserted_rows\n1,1\n"},
			{"UPDATE daily SET s = -1 WHERE d < DATE '2026-01-09' AND NOT k = 'b'", "num_affected_rows\n"},
		} {
			if code, out := s.verb("sql", "-o", "csv", "-e", c[0]); code != exitOK || !strings.HasPrefix(out, c[1]) {
				t.Fatalf("%s\nexit %d, not\n%s\n%s", c[0], code, c[1], out)
			}
		}
		ready("what was inserted", func() bool { return s.csv("SELECT k, v FROM newest WHERE k = 'z'") == "k,v\nz,7" })
		if got := s.csv("SELECT count(*) AS n FROM newest WHERE k = 'A'"); got != "n\n0" && !strings.Contains(got, "n\n1") {
			t.Errorf("newest has %s", got)
		}
	})
}

// What docs/sql.md shows runs, and does what it says.
func TestStatementsOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../docs/sql.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "## Statements that change tables\n\n```sql\n")
	script, _, found := strings.Cut(section, "```")
	if !found {
		t.Fatal("the page has no such section")
	}
	everywhere(t, changed, changedFiles, func(t *testing.T, s *site, ready func(string, func() bool)) {
		ready("the window", func() bool {
			return strings.Count(s.sums(), "\n") == 2 && s.csv("SELECT count(*) AS n FROM newest") == "n\n2"
		})
		if code, out := s.verb("sql", "-e", script); code != exitOK {
			t.Fatalf("exit %d\n%s", code, out)
		}
		if got, want := s.csv("SELECT d, k, s FROM daily WHERE d < DATE '2026-01-08' ORDER BY d"), "d,k,s\n2026-01-02,by hand,\n2026-01-03,,\n2026-01-05,A,198"; got != want {
			t.Errorf("daily has\n%s", got)
		}
	})
}

// D-33, DM-O2: statements on one table, beside each other, beside updates of it and beside flows that append to it, come one after the other: none is lost,
// none sees half of another, and no update has to be computed again for one.
func TestStatementsTakeTurns(t *testing.T) {
	s := local(t, changed, changedFiles)
	s.sets = append(s.sets, "--set", "pipelines.trigger.interval=20ms")
	d := s.start()
	s.until("the window", func() bool { return strings.Count(s.sums(), "\n") == 2 })
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			for i := range 5 {
				for _, sql := range []string{"UPDATE raw SET v = v + 1", fmt.Sprintf("INSERT INTO daily VALUES (DATE '2025-01-01', 'x', %d)", n*5+i), "UPDATE daily SET s = s + 100 WHERE k = 'x'"} {
					if code, out := s.verb("sql", "-e", sql); code != exitOK {
						t.Errorf("%s: exit %d\n%s", sql, code, out)
					}
				}
			}
		})
	}
	all.Go(func() {
		for i := range 5 {
			text := fmt.Sprintf("{\"d\":\"2026-01-09\",\"k\":\"c\",\"v\":%d}\n", 1000*i)
			if err := os.WriteFile(filepath.Join(s.dir, "later.json"), []byte(text), 0o600); err != nil {
				t.Error(err)
			}
			if err := os.Rename(filepath.Join(s.dir, "later.json"), filepath.Join(s.dir, "in", fmt.Sprintf("later%d.json", i))); err != nil {
				t.Error(err)
			}
		}
	})
	all.Wait()
	s.until("the files that came meanwhile", func() bool { return s.csv("SELECT count(*) AS n FROM raw") == "n\n8" })
	if got := s.csv("SELECT sum(v) AS v FROM raw WHERE v < 1000 AND k <> 'c'"); got != "v\n166" { // 106 and 20 for each of three rows
		t.Errorf("raw has %s", got)
	}
	if got := s.csv("SELECT count(*) AS n, sum(s % 100) AS s, min(s) >= 100 AS all FROM daily WHERE k = 'x'"); got != "n,s,all\n20,190,true" {
		t.Errorf("daily has %s", got)
	}
	if _, out := s.verb("events", "-o", "json"); strings.Contains(out, "WRITE_CONFLICT") {
		t.Error("an update was computed again")
	}
	d.stop(exitOK)
}

// D-30: what does not fit in the memory of an engine goes on in a folder of the storage: here the rows of a file, in the order of their places.
func TestStatementsSpill(t *testing.T) {
	s := local(t, changed, changedFiles)
	s.sets = append(s.sets, "--set", "sluice.memory_limit=256MiB")
	must(t, append([]string{"refresh"}, s.sets...)...)
	sql := `INSERT INTO raw SELECT DATE '2026-01-01', concat(x * 7919L % 1000003, ' of them, and more beside it so that it is rather long'), x FROM (SELECT explode(sequence(1, 1500000)) AS x);
UPDATE raw SET k = 'short' WHERE v % 2 = 0`
	if code, out := s.verb("sql", "-o", "csv", "-e", sql); code != exitOK || !strings.Contains(out, "1500000,1500000\n") || !strings.Contains(out, "\n750001\n") {
		t.Errorf("exit %d\n%s", code, out)
	}
}
