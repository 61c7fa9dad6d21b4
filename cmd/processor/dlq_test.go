package main

import (
	"encoding/json"
	"strings"
	"testing"

	"sluice/admin"
	"sluice/daemon"
)

// quarantining has a table and a sink whose flows keep what they cannot use, and one that has nothing to keep.
const quarantining = `CREATE STREAMING TABLE t AS SELECT id, 10 / d AS q FROM STREAM read_files('in/*.json', format => 'json', schema => 'id INT, d INT', mode => 'QUARANTINE');
CREATE STREAMING TABLE u AS SELECT id FROM STREAM read_files('in/*.json', format => 'json', schema => 'id INT', mode => 'PERMISSIVE');
CREATE SINK Out FORMAT file OPTIONS (path => 'out', format => 'json');
CREATE FLOW pub AS INSERT INTO Out SELECT id FROM STREAM(t) WITH (mode = 'QUARANTINE') WHERE 1 / (id - 9) < 1;`

// D-15, A-35: dlq list, show and export print the records in quarantine, beside a running daemon and beside a stopped one the same.
func TestQuarantineIsShown(t *testing.T) {
	hostile := "{\"id\":\"\u202e\\u0000'\\\\\", \"d\":1}  "
	s := local(t, quarantining, map[string]string{"in/it's.json": "{\"id\":1,\"d\":1}\n" + hostile + "\n{\"id\":3,\"d\":0}\nnot json\n{\"id\":9,\"d\":1}\n"})
	verb := func(args ...string) string {
		t.Helper()
		code, out, errs := command(append(append([]string{"dlq"}, args...), s.sets...)...)
		if code != exitOK {
			t.Fatalf("%v: exit %d\n%s", args, code, errs)
		}
		return out
	}
	d := s.start()
	s.until("the records in quarantine", func() bool {
		where, ok := daemon.ReadWhere(s.dir + "/state")
		if !ok {
			return false
		}
		status, err := admin.NewClient(where.Address, "").Status(t.Context())
		return err == nil && len(status.Store.Quarantines) == 2 && status.Store.Quarantines[0].Records == 3 && status.Store.Quarantines[1].Records == 1
	})
	var lists [2]string
	for i := range lists {
		if i == 1 {
			d.stop(exitOK)
		}
		lists[i] = verb("list", "-o", "json")
		var rows []struct {
			Table, Flow, Record string
			Bytes               int
			Code                string `json:"error_code"`
			Column              string `json:"error_column"`
		}
		if err := json.Unmarshal([]byte(lists[i]), &rows); err != nil || len(rows) != 4 {
			t.Fatalf("%v\n%s", err, lists[i])
		}
		byCode := map[string]string{}
		for _, r := range rows {
			byCode[r.Flow+" "+r.Code] = r.Record
			if r.Code == "CANNOT_PARSE_JSON_FIELD" && (r.Bytes != len(hostile) || r.Column != "id") {
				t.Errorf("listed as %+v", r)
			}
		}
		if got := verb("show", byCode["t CANNOT_PARSE_JSON_FIELD"]); got != hostile {
			t.Errorf("shown as %q", got)
		}
		if got := verb("show", byCode["pub DIVIDE_BY_ZERO"]); got != `{"id":9,"q":10.0}` {
			t.Errorf("the row of a table is shown as %q", got)
		}
		if got := verb("show", byCode["t DIVIDE_BY_ZERO"], "--whole", "-o", "ndjson", "--flow", "t", "--table", "T"); !strings.Contains(got, `"error_message":`) || strings.Count(got, "\n") != 1 {
			t.Errorf("shown whole as %s", got)
		}
		if got := verb("export", "t", "--values", "--code", "DIVIDE_BY_ZERO"); got != "{\"id\":3,\"d\":0}\n" {
			t.Errorf("exported are %q", got)
		}
		if got := verb("export"); strings.Count(got, "\n") != 4 || strings.Count(got, `"error_code":`) != 4 {
			t.Errorf("exported are %s", got)
		}
		if got := verb("list", "t", "-n", "2", "-o", "ndjson", "--split", strings.Split(byCode["t DIVIDE_BY_ZERO"], "@")[0]); strings.Count(got, "\n") != 2 {
			t.Errorf("two of them are %s", got)
		}
		if got := verb("list", "out", "-o", "csv"); strings.Count(got, "\n") != 2 {
			t.Errorf("of the sink are %s", got)
		}
		for want, args := range map[string][]string{
			"NOT_IN_QUARANTINE":       {"show", "in/none.json@3"},
			"BAD_REQUEST":             {"show", "ticks/0"},
			"TABLE_OR_VIEW_NOT_FOUND": {"list", "v"},
		} {
			if code, _, errs := command(append(append([]string{"dlq"}, args...), s.sets...)...); code == exitOK || !strings.Contains(errs, want) {
				t.Errorf("%v: exit %d, %s; want %s", args, code, errs, want)
			}
		}
	}
	if lists[0] != lists[1] {
		t.Errorf("a running daemon lists\n%s, its store\n%s", lists[0], lists[1])
	}
}
