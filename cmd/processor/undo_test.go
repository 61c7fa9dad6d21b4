package main

import (
	"strings"
	"testing"
)

// beside runs a test of a pipeline beside a stopped daemon and against a running one, when it has computed what it can.
func beside(t *testing.T, pipeline func(*testing.T) *site, computed func(*site) bool, test func(t *testing.T, s *site)) {
	t.Run("stopped", func(t *testing.T) {
		s := pipeline(t)
		if code, out := s.verb("refresh", "facts", "daily"); code != exitOK || !computed(s) {
			t.Fatalf("the run has not computed everything: exit %d\n%s", code, out)
		}
		test(t, s)
	})
	t.Run("running", func(t *testing.T) {
		s := pipeline(t)
		d := s.start()
		s.until("everything", func() bool { return computed(s) })
		test(t, s)
		d.stop(exitOK)
	})
}

// D-27, docs/operations.md, "Earlier versions": a mistake is looked at, and the table is put back to what it was before it, which becomes its newest version
// and can be undone; the flow goes on where it was.
func TestUndo(t *testing.T) {
	beside(t, windowed, func(s *site) bool { return s.daily() == juneRows }, func(t *testing.T, s *site) {
		if code, out := s.verb("refresh", "daily", "--where", "d = '2026-01-01' AND region = 'eu'"); code != exitOK || s.daily() != januaryRows {
			t.Fatalf("exit %d\n%s\n%s", code, out, s.daily())
		}
		then := s.csv("SELECT d, region, s FROM daily VERSION AS OF 1 ORDER BY d, region")
		if then != juneRows {
			t.Fatalf("version 1 has\n%s", then)
		}
		for _, c := range []struct{ to, says, rows string }{
			{"1", "is as it was at version 1, and has version 3 now: 1 rows went, 0 came\n", juneRows},
			{"1", "is as it was at version 1 already; it has version 3\n", juneRows},
			{"2", "is as it was at version 2, and has version 4 now: 0 rows went, 1 came\n", januaryRows},
			{"0", "is as it was at version 0, and has version 5 now", "d,region,s"},
			{"2", "is as it was at version 2, and has version 6 now", januaryRows},
		} {
			if code, out := s.verb("undo", "daily", "--to", c.to); code != exitOK || !strings.Contains(out, c.says) || s.daily() != c.rows {
				t.Fatalf("to version %s: exit %d\n%s\n%s", c.to, code, out, s.daily())
			}
		}
		for _, c := range []struct {
			args string
			code int
			says string
		}{
			{"daily --to 7", exitFailure, "VERSION_NOT_FOUND"},
			{"nothing --to 1", exitFailure, "TABLE_OR_VIEW_NOT_FOUND"},
			{"daily", exitUsage, "--to VERSION"},
		} {
			if code, out := s.verb(append([]string{"undo"}, strings.Fields(c.args)...)...); code != c.code || !strings.Contains(out, c.says) || s.daily() != januaryRows {
				t.Errorf("undo %s: exit %d\n%s", c.args, code, out)
			}
		}
		code, out := s.verb("sql", "-o", "csv", "-e", "DESCRIBE HISTORY daily")
		lines := strings.Split(out, "\n")
		if code != exitOK || !strings.HasPrefix(out, "version,timestamp,update_id,operation,predicate,num_removed_rows,num_added_rows\n6,") || len(lines) < 7 {
			t.Fatalf("exit %d\n%s", code, out)
		}
		for i, want := range []string{",UNDO TO VERSION 2,,0,2", ",UNDO TO VERSION 0,,2,0", ",UNDO TO VERSION 2,,0,1", ",UNDO TO VERSION 1,,1,0", ",REFRESH WHERE,", ",UPDATE,"} {
			if !strings.Contains(lines[i+1], want) {
				t.Errorf("version %d: %s, want %s", 6-i, lines[i+1], want)
			}
		}
		if code, out := s.verb("sql", "-e", "DESCRIBE HISTORY nothing"); code == exitOK || !strings.Contains(out, "1:18: TABLE_OR_VIEW_NOT_FOUND") {
			t.Errorf("exit %d\n%s", code, out)
		}
		if _, out := s.verb("events", "-o", "json"); strings.Count(out, "user action: undo daily to version") != 4 {
			t.Errorf("not every undo stands in the event log:\n%s", out)
		}
		if code, out := s.verb("refresh", "daily"); code != exitOK || s.daily() != januaryRows {
			t.Errorf("the next update: exit %d\n%s\n%s", code, out, s.daily())
		}
	})
}
