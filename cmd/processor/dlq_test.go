package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
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

// D-31: dlq edit, replay and forget, in a running daemon and in its store when it is stopped.
func TestQuarantineIsMended(t *testing.T) {
	s := local(t, quarantining, map[string]string{"in/a.json": "{\"id\":1,\"d\":1}\n{\"id\":\"two\", \"d\":100000000000000001}\n{\"id\":3,\"d\":0}\nnot json\n{\"id\":\"x\",\"d\":1}\n"})
	verb := func(args ...string) string {
		t.Helper()
		code, out, errs := command(append(append([]string{"dlq"}, args...), s.sets...)...)
		if code != exitOK {
			t.Fatalf("%v: exit %d\n%s", args, code, errs)
		}
		return out
	}
	names := func(args ...string) map[string]string {
		t.Helper()
		out := map[string]string{}
		for line := range strings.Lines(verb(append([]string{"list", "-o", "ndjson"}, args...)...)) {
			var r struct{ Record, Status string }
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatal(err)
			}
			out[verb("show", r.Record)] = r.Record + " " + r.Status
		}
		return out
	}
	record := func(value string) string {
		t.Helper()
		name, _, ok := strings.Cut(names("--all")[value], " ")
		if !ok {
			t.Fatalf("%s is not in quarantine", value)
		}
		return name
	}
	const two, three, text, x = `{"id":"two", "d":100000000000000001}`, `{"id":3,"d":0}`, "not json", `{"id":"x","d":1}`
	d := s.start()
	s.until("the records in quarantine", func() bool { return s.quarantined("t") == 4 })
	verb("edit", record(two), "--field", "id=2", "--field", "d=5", "--field", "note=a text")
	if got, was := verb("show", "--edited", record(two)), verb("show", record(two)); got != `{"id":2, "d":5,"note":"a text"}` || was != two {
		t.Errorf("edited is %q, as it came %q", got, was)
	}
	fixed := t.TempDir() + "/fixed"
	if err := os.WriteFile(fixed, []byte(`{"id":4,"d":2}`), 0o600); err != nil {
		t.Fatal(err)
	}
	verb("edit", record(text), "--value-file", fixed)
	t.Setenv("VISUAL", "")
	t.Setenv("EDITOR", "sed -i s/0/1/")
	verb("edit", record(three))
	if got := verb("replay", record(two), record(three)); !strings.Contains(got, "2 records on the way") {
		t.Error(got)
	}
	s.until("the replay", func() bool { return s.quarantined("t") == 2 })
	if code, _, errs := command(append([]string{"dlq", "edit", record(two), "--value", "{}"}, s.sets...)...); code == exitOK || !strings.Contains(errs, "ALREADY_REPLAYED") {
		t.Errorf("a replayed record is edited: %s", errs)
	}
	d.stop(exitOK)
	if got := verb("replay", "--all", "--table", "t"); !strings.Contains(got, "2 records will be replayed by the next run") {
		t.Error(got)
	}
	if got := names("--all"); got[two] != record(two)+" replayed" || got[text] != record(text)+" ordered" {
		t.Errorf("listed are %v", got)
	}
	d = s.start()
	s.until("the replay of the next run", func() bool { return s.quarantined("t") == 1 })
	d.stop(exitOK)
	if code, out, errs := command(append([]string{"query", "SELECT id, q FROM t ORDER BY id", "-o", "csv"}, s.sets...)...); code != exitOK || out != "id,q\n1,10.0\n2,2.0\n3,10.0\n4,5.0\n" {
		t.Errorf("the table is %s%s", out, errs)
	}
	if got := verb("forget", record(x)); !strings.Contains(got, "1 record forgotten") {
		t.Error(got)
	}
	for want, args := range map[string][]string{
		"NOT_IN_QUARANTINE": {"forget", "in/a.json@3"},
		"takes records":     {"replay"},
		"takes NAME=VALUE":  {"edit", record(text), "--field", "id=1", "--table", "t", "--field", "bad"},
	} {
		if code, _, errs := command(append(append([]string{"dlq"}, args...), s.sets...)...); code == exitOK || !strings.Contains(errs, want) {
			t.Errorf("%v: exit %d, %s; want %s", args, code, errs, want)
		}
	}
}

// A member of a JSON object is set, and no other byte of it is touched.
func TestSetMember(t *testing.T) {
	for _, c := range []struct{ object, field, want string }{
		{`{"a":1}`, "a=2", `{"a":2}`},
		{` { "a" : {"b":[1, 2]} , "n":123456789012345678901 } `, "a=null", ` { "a" : null , "n":123456789012345678901 } `},
		{`{"a":"x"}`, "b=text with = in it", `{"a":"x","b":"text with = in it"}`},
		{`{}`, `b="1"`, `{"b":"1"}`},
		{`{"a":{"b":1}}`, "b=2", `{"a":{"b":1},"b":2}`},
		{`{"\u0061":1}`, "a=2", `{"\u0061":2}`},
		{`{"id":2,"v":7}`, "V=8", `{"id":2,"v":8}`}, // D-9: without case when there is exactly one
		{`{"V":1,"v":7}`, "v=8", `{"V":1,"v":8}`},   // and exactly before that
		{`{"V":1,"a":{"v":1}}`, "v=8", `{"V":8,"a":{"v":1}}`},
	} {
		got, err := setMember([]byte(c.object), c.field)
		if err != nil || string(got) != c.want {
			t.Errorf("%s with %s is %s, want %s (%v)", c.object, c.field, got, c.want, err)
		}
	}
	for object, field := range map[string]string{"[1]": "a=1", "not json": "a=1", `{"a":1`: "b=1", `{"a":1} `: "b", `{"ab":1,"aB":2}`: "AB=1", `{"a":1,"a":2}`: "a=1"} {
		if got, err := setMember([]byte(object), field); err == nil {
			t.Errorf("%s with %s is %s", object, field, got)
		}
	}
}

// quarantined is how many records a flow of the running daemon has in quarantine, -1 when it does not say.
func (s *site) quarantined(flow string) int64 { return s.quarantine(flow).Records }

// quarantine is what the running daemon says of a flow's quarantine, -1 of everything when it does not say.
func (s *site) quarantine(flow string) admin.Quarantine {
	status, _ := s.serving() // nothing while it starts
	for _, q := range status.Store.Quarantines {
		if q.Flow == flow {
			return q
		}
	}
	return admin.Quarantine{Records: -1, DeadLetters: -1}
}

// serving is what the running daemon says of itself.
func (s *site) serving() (admin.Status, error) {
	where, ok := daemon.ReadWhere(filepath.Join(s.dir, "state"))
	if !ok {
		return admin.Status{}, errors.New("no daemon serves")
	}
	return admin.NewClient(where.Address, "").Status(s.t.Context())
}

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
