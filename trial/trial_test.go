package trial

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sluice/batch"
	"sluice/catalog"
	"sluice/daemon"
	"sluice/plan"
	"sluice/sink"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ctx = context.Background()

// pipeline writes files below a new folder, a spec and flows.sql among them, and plans it.
func pipeline(t testing.TB, sql string, files map[string]string) *plan.Pipeline {
	t.Helper()
	dir := t.TempDir()
	all := map[string]string{
		"pipeline.yml": "name: trial\nstorage: state\nlibraries:\n  - glob: {include: flows.sql}\nconfiguration: {kafka.bootstrap.servers: \"127.0.0.1:1\"}\n",
		"flows.sql":    sql,
	}
	for name, text := range files {
		all[name] = text
	}
	for name, text := range all {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, problems := plan.Load(dir, catalog.Overrides{Env: os.LookupEnv}, daemon.Connectors())
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return p
}

// topic is a sample with records of several keys, each of which comes in several versions, some of them twice.
func topic(records int) Topic {
	var t Topic
	for i := range records {
		key := fmt.Sprintf("k%d", i%7)
		t.Records = append(t.Records, Record{Key: []byte(key), Value: fmt.Appendf(nil, `{"id":"%s","v":%d,"n":%d}`, key, i/14, i)})
	}
	t.complete()
	return t
}

const latestSQL = `CREATE STREAMING TABLE raw AS SELECT id, v, n FROM STREAM read_kafka(subscribe => 'in', format => 'json', schema => 'id STRING, v INT, n INT');
CREATE STREAMING TABLE latest (CONSTRAINT c EXPECT (n <> 3) ON VIOLATION DROP ROW) FLOW REPLACE USING (id) SEQUENCE BY v BY NAME SELECT * FROM STREAM(raw);
CREATE SINK out FORMAT kafka OPTIONS (topic => 'out');
CREATE FLOW publish AS INSERT INTO SINK out BY NAME SELECT id, n FROM STREAM(latest) WITH (readChangeFeed = true);
`

func rehearse(t *testing.T, c *Case, o Options) *Report {
	t.Helper()
	r, err := Rehearse(ctx, c, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// D-23, PT-01: whatever the order, the cuts, crashes and redelivery, tables and sinks are the same.
func TestRehearse(t *testing.T) {
	c := &Case{Name: "latest", Plan: pipeline(t, latestSQL, nil), Topics: map[string]Topic{"in": topic(70)}}
	r := rehearse(t, c, Options{Shuffle: 8, Kill: 3, Dup: 0.5, Seed: 1})
	if !r.Equal() || r.Runs != 8 || r.Kills < 12 || r.Dups < 4 {
		t.Errorf("%d runs, %d crashes, %d redeliveries: %+v", r.Runs, r.Kills, r.Dups, r.Differences)
	}
	if len(r.Compared) != 3 || len(r.LeftOut) > 0 || r.Tables["raw"].Rows != 70 || r.Tables["latest"].Rows != 14 || r.Sinks["out (flow publish)"] != 14 {
		t.Errorf("%+v", r)
	}
}

// Crashes are spread over a run and leave room for redelivery, however many of them there are and however small the sample is.
func TestCrashesLeaveRoomForRedelivery(t *testing.T) {
	p := pipeline(t, `CREATE STREAMING TABLE latest FLOW REPLACE USING (id) SEQUENCE BY v BY NAME
SELECT id, v, n FROM STREAM read_kafka(subscribe => 'in', format => 'json', schema => 'id STRING, v INT, n INT');`, nil)
	for _, records := range []int{3, 60} {
		r := rehearse(t, &Case{Name: "latest", Plan: p, Topics: map[string]Topic{"in": topic(records)}}, Options{Shuffle: 20, Kill: 10, Dup: 0.2, Seed: 1})
		if !r.Equal() || r.Kills < 60 || r.Dups < 10 || !r.Repeatable {
			t.Errorf("%d records: %d crashes, %d redeliveries: %+v", records, r.Kills, r.Dups, r.Differences)
		}
	}
}

// The order within a key stays unless it is asked for: a table in the order of offsets shows it. The planner knows it for one
// that depends on the order and leaves it out (D-23); here it is compared all the same.
func TestOrderWithinKey(t *testing.T) {
	sql := `CREATE STREAMING TABLE last FLOW REPLACE USING (id) SEQUENCE BY _metadata.offset BY NAME
SELECT id, n FROM STREAM read_kafka(subscribe => 'in', format => 'json', schema => 'id STRING, n INT');`
	c := &Case{Name: "last", Plan: pipeline(t, sql, nil), Topics: map[string]Topic{"in": topic(40)}}
	o := Options{Shuffle: 5, Kill: 1, Seed: 1}
	if r := rehearse(t, c, o); !r.Equal() || len(r.Compared) > 0 || len(r.LeftOut) != 1 || !strings.Contains(r.LeftOut[0].Reasons[0], "reads offset") {
		t.Errorf("%+v", r)
	}
	o.Harm.Blind = true
	if r := rehearse(t, c, o); !r.Equal() {
		t.Errorf("the order within a key changed: %+v", r.Differences)
	}
	o.WithinKey = true
	r := rehearse(t, c, o)
	if len(r.Differences) != 1 || r.Differences[0].Name != "last" {
		t.Fatalf("%+v", r.Differences)
	}
	// Two records of one key are enough, and no crash; the test file fails as the run did.
	if n := strings.Count(string(r.Reduced), "- {key:"); n != 2 || !strings.Contains(string(r.Reduced), "No crash") {
		t.Errorf("%d records:\n%s", n, r.Reduced)
	}
	if again := rehearse(t, saved(t, c.Plan, r.Reduced), Options{}); len(again.Golden) != 1 || again.Golden[0].Name != "last" {
		t.Errorf("%+v of\n%s", again.Golden, r.Reduced)
	}
}

// saved reads a test file that was written.
func saved(t *testing.T, p *plan.Pipeline, text []byte) *Case {
	t.Helper()
	path := filepath.Join(t.TempDir(), "found.yml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	test, err := ReadTest(path, p.Dir)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	c, err := test.Case(p)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return c
}

// harmed is a sink that loses or doubles what it gets.
type harmed struct {
	sink.Sink
	write func(sink.Sink, context.Context, batch.ID, sink.Rows) error
}

func (h *harmed) Write(ctx context.Context, id batch.ID, rows sink.Rows) error {
	return h.write(h.Sink, ctx, id, rows)
}

// What goes wrong is found and made small: a record that is lost, one that comes twice, and sinks that lose a row, get a batch
// under another number as well, or get other rows when a batch comes again.
func TestFinds(t *testing.T) {
	const culprit = `"n":64}`
	through := func(write func(s sink.Sink, ctx context.Context, id batch.ID, rows sink.Rows) error) func(sink.Sink) sink.Sink {
		return func(s sink.Sink) sink.Sink { return &harmed{s, write} }
	}
	for _, c := range []struct {
		name string
		harm Harm
		kind string
		kill int
	}{
		{"a record is lost", Harm{Topic: func(t Topic) Topic {
			return keep(t, func(r Record) int {
				return map[bool]int{true: 0, false: 1}[strings.HasSuffix(string(r.Value), culprit)]
			})
		}}, "table", 0},
		{"a record comes twice", Harm{Topic: func(t Topic) Topic {
			return keep(t, func(r Record) int {
				return map[bool]int{true: 2, false: 1}[strings.HasSuffix(string(r.Value), culprit)]
			})
		}}, "table", 0},
		{"a sink loses the first row of a batch", Harm{Sink: through(func(s sink.Sink, ctx context.Context, id batch.ID, rows sink.Rows) error {
			all := make([]int32, 0, rows.Columns.Len)
			for i := 1; i < rows.Columns.Len; i++ {
				all = append(all, int32(i))
			}
			return s.Write(ctx, id, sink.Rows{Columns: rows.Columns.Take(all), Change: rows.Change[min(1, len(rows.Change)):]})
		})}, "sink", 0},
		{"a sink takes a batch twice", Harm{Sink: through(func(s sink.Sink, ctx context.Context, id batch.ID, rows sink.Rows) error {
			if err := s.Write(ctx, id, rows); err != nil {
				return err
			}
			id.Number += 1000
			return s.Write(ctx, id, rows)
		})}, "sink", 0},
		{"a batch comes again with other rows", Harm{Sink: through(func(s sink.Sink, ctx context.Context, id batch.ID, rows sink.Rows) error {
			if id.Replay {
				rows = sink.Rows{Columns: rows.Columns.Take(nil)}
			}
			return s.Write(ctx, id, rows)
		})}, "sink", 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan := pipeline(t, latestSQL, nil)
			r := rehearse(t, &Case{Name: "x", Plan: plan, Topics: map[string]Topic{"in": topic(70)}}, Options{Shuffle: 20, Seed: 1, Kill: c.kill, Harm: c.harm})
			if r.Equal() || !slices.ContainsFunc(r.Differences, func(d Difference) bool { return d.Kind == c.kind }) {
				t.Fatalf("%+v", r.Differences)
			}
			if c.kill > 0 {
				return // when it shows depends on when flows meet
			}
			small := saved(t, plan, r.Reduced)
			if n := len(small.Topics["in"].Records); n != 1 {
				t.Errorf("%d records are left:\n%s", n, r.Reduced)
			}
		})
	}
}

// FR-13, D-1: what is read again is really read: an append table has it twice. Of a table that forgets what was read nothing can
// be read again, so nobody tries (D-16).
func TestReadsAgain(t *testing.T) {
	c := &Case{Name: "latest", Plan: pipeline(t, latestSQL, nil), Topics: map[string]Topic{"in": topic(10)}}
	r := rehearse(t, c, Options{Shuffle: 20, Dup: 0.3, Seed: 1, Harm: Harm{Appends: true}})
	if len(r.Differences) == 0 || r.Differences[0].Name != "raw" || r.Differences[0].Lost != 0 || r.Differences[0].Doubled == 0 {
		t.Errorf("%+v", r.Differences)
	}
	forgets := strings.Replace(latestSQL, "TABLE raw", "TABLE raw TBLPROPERTIES ('sluice.retention' = 'consumed')", 1)
	c.Plan = pipeline(t, forgets, nil)
	if r := rehearse(t, c, Options{Shuffle: 5, Kill: 2, Dup: 1, Seed: 1}); !r.Equal() || r.Dups > 0 || len(r.LeftOut) != 1 || len(r.Compared) != 2 {
		t.Errorf("%+v", r)
	}
}

// keep returns a topic with each record as often as count says.
func keep(t Topic, count func(Record) int) Topic {
	out := Topic{Partitions: t.Partitions}
	for _, r := range t.Records {
		for range count(r) {
			out.Records = append(out.Records, r)
		}
	}
	return out
}

// trap is a server that nobody may connect to.
func trap(t *testing.T, connections *atomic.Int32) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return l.Addr().String()
}

// Whatever a pipeline says of brokers, logins, sinks, programs and folders: a rehearsal touches none of it.
func TestTouchesNothing(t *testing.T) {
	var connections atomic.Int32
	kafka, postgres := trap(t, &connections), trap(t, &connections)
	t.Setenv("PGURL", "postgres://u:p@"+postgres+"/db")
	sql := strings.NewReplacer("KAFKA", kafka).Replace(`
CREATE STREAMING TABLE raw AS SELECT id, v, n FROM STREAM read_kafka(bootstrapServers => 'KAFKA', subscribe => 'in', startingOffsets => 'latest',
  'kafka.security.protocol' => 'SASL_PLAINTEXT', 'kafka.sasl.mechanism' => 'PLAIN', 'kafka.sasl.username' => 'u', 'kafka.sasl.password' => 'p',
  maxOffsetsPerTrigger => 3, format => 'json', schema => 'id STRING, v INT, n INT');
CREATE STREAMING TABLE history;
CREATE FLOW history AS INSERT ONCE INTO history BY NAME SELECT id FROM read_kafka('kafka.bootstrap.servers' => 'KAFKA', subscribe => 'old',
  endingOffsets => '{"old":{"0":1}}', format => 'json', schema => 'id STRING');
CREATE STREAMING TABLE latest FLOW REPLACE USING (id) SEQUENCE BY v BY NAME SELECT * FROM STREAM(raw);
CREATE STREAMING TABLE files FLOW REPLACE USING (id) SEQUENCE BY v BY NAME SELECT id, v FROM STREAM read_files('in', format => 'json', schema => 'id STRING, v INT');
CREATE SINK topic FORMAT kafka OPTIONS (bootstrapServers => 'KAFKA', topic => 'out', create_topic => 1);
CREATE SINK pg FORMAT postgres OPTIONS (url => '${env:PGURL}', table => 't', create_table => true);
CREATE SINK folder FORMAT file OPTIONS (path => 'out', format => 'json');
CREATE SINK program FORMAT exec OPTIONS (command => 'touch started');
CREATE FLOW to_topic AS INSERT INTO SINK topic BY NAME SELECT id, n FROM STREAM(latest) WITH (readChangeFeed = true);
CREATE FLOW to_pg AS INSERT INTO SINK pg BY NAME SELECT id FROM STREAM(raw);
CREATE FLOW to_folder AS INSERT INTO SINK folder BY NAME SELECT id FROM STREAM(raw);
CREATE FLOW to_program AS INSERT INTO SINK program BY NAME SELECT id FROM STREAM(raw);
`)
	p := pipeline(t, sql, map[string]string{"in/1.json": `{"id":"a","v":1}` + "\n" + `{"id":"a","v":2}` + "\n"})
	before := tree(t, p.Dir)
	r := rehearse(t, &Case{Name: "all", Plan: p, Topics: map[string]Topic{"in": topic(30), "old": topic(5)}}, Options{Shuffle: 3, Kill: 2, Dup: 0.2, Seed: 5})
	if !r.Equal() || len(r.Failed) > 0 || r.Tables["raw"].Rows != 30 || r.Tables["history"].Rows != 5 || r.Tables["files"].Rows != 1 || len(r.Compared) != 8 {
		t.Errorf("%+v", r)
	}
	for _, sink := range []string{"topic (flow to_topic)", "pg (flow to_pg)", "folder (flow to_folder)", "program (flow to_program)"} {
		if r.Sinks[sink] == 0 {
			t.Errorf("nothing came to %s: %v", sink, r.Sinks)
		}
	}
	if n := connections.Load(); n > 0 {
		t.Errorf("%d connections to what is outside", n)
	}
	if after := tree(t, p.Dir); after != before {
		t.Errorf("files were\n%s\nand are\n%s", before, after)
	}
}

// tree lists the files of a folder, with sizes and times.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		fmt.Fprintln(&out, path, info.Size(), info.ModTime())
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// A flow that fails in every run alike is no difference; what it cuts off is left out, the rest is compared.
func TestFailsAlike(t *testing.T) {
	bad := topic(30)
	bad.Records[11].Value = []byte(`{"id":`)
	sql := latestSQL + "CREATE STREAMING TABLE good AS SELECT id FROM STREAM read_kafka(subscribe => 'good', format => 'json', schema => 'id STRING');"
	c := &Case{Name: "bad", Plan: pipeline(t, sql, nil), Topics: map[string]Topic{"in": bad, "good": topic(5)}}
	r := rehearse(t, c, Options{Shuffle: 4, Kill: 1, Seed: 3})
	if !r.Equal() || r.Failed["raw"] == nil || len(r.LeftOut) != 3 || len(r.Compared) != 1 || r.Compared[0] != "table good" {
		t.Errorf("%+v", r)
	}
}

const windowSQL = `CREATE STREAMING TABLE raw AS SELECT * FROM STREAM read_kafka(subscribe => 'in', format => 'json', schema => 'at TIMESTAMP, k STRING, v INT');
CREATE STREAMING TABLE daily FLOW REPLACE WHERE day >= date_add(current_date(), -1) BY NAME SELECT to_date(at) AS day, k, sum(v) AS s FROM raw GROUP BY ALL;
CREATE STREAMING TABLE latest FLOW REPLACE WHERE true BY NAME SELECT k, max(s) AS most FROM daily GROUP BY k;
CREATE STREAMING TABLE direct FLOW REPLACE WHERE v > 3 BY NAME SELECT v, count(*) AS n FROM read_kafka(subscribe => 'in', format => 'json', schema => 'v INT') GROUP BY v;
`

// windowTopic has a record for every hour of a week in which the clock of Berlin skips an hour.
func windowTopic() (t Topic) {
	for hour := range 7 * 24 {
		at := time.Date(2026, 3, 24, 0, 0, 0, 0, time.UTC).Add(time.Duration(hour) * time.Hour)
		t.Records = append(t.Records, Record{Value: fmt.Appendf(nil, `{"at":"%s","k":"k%d","v":%d}`, at.Format(time.RFC3339), hour%3, hour%7)})
	}
	t.complete()
	return t
}

// PT-01, RW-O2, A-85, A-89: windows are rehearsed at a time that all runs have, in the pipeline's zone, through crashes of their files, too. What
// depends on the order of rows is left out.
func TestWindowsAreRehearsed(t *testing.T) {
	sql := windowSQL + "CREATE STREAMING TABLE some FLOW REPLACE WHERE true BY NAME SELECT first(v) AS v FROM raw;"
	c := &Case{Name: "windows", Plan: pipeline(t, sql, map[string]string{"pipeline.yml": `name: trial
storage: state
libraries: [{glob: {include: flows.sql}}]
configuration: {kafka.bootstrap.servers: "127.0.0.1:1", spark.sql.session.timeZone: Europe/Berlin}
`}), Topics: map[string]Topic{"in": windowTopic()}, Now: time.Date(2026, 3, 29, 22, 30, 0, 0, time.UTC)} // in Berlin it is the next day
	r := rehearse(t, c, Options{Shuffle: 4, Kill: 3, Seed: 1, Record: true})
	if !r.Equal() || r.Runs != 4 || r.Kills < 4 || len(r.Compared) != 4 || len(r.LeftOut) != 1 || r.LeftOut[0].Name != "some" {
		t.Errorf("%+v", r)
	}
	// In Berlin there are 29 March, a day of 23 hours, and 30 March with 3 keys each, and two hours of 31 March.
	if r.Tables["daily"].Rows != 8 || r.Tables["latest"].Rows != 3 || r.Tables["direct"].Rows != 3 {
		t.Errorf("%+v", r.Tables)
	}
}

// A test file says when it is; one that is saved does, too, and comes out the same a year later.
func TestTheTimeOfATestFile(t *testing.T) {
	c := &Case{Name: "windows", Plan: pipeline(t, windowSQL, nil), Topics: map[string]Topic{"in": windowTopic()}, Now: time.Date(2026, 3, 30, 3, 0, 0, 0, time.UTC)}
	saved := rehearse(t, c, Options{Record: true}).Recorded
	if !strings.Contains(string(saved), "\nnow: 2026-03-30T03:00:00Z\n") {
		t.Fatalf("%s", saved)
	}
	again := func(text string) *Report {
		test, err := parseTest(text, "saved.yml", c.Plan.Dir)
		if err != nil {
			t.Fatal(err)
		}
		c, err := test.Case(c.Plan)
		if err != nil {
			t.Fatal(err)
		}
		return rehearse(t, c, Options{Shuffle: 1, Seed: 1})
	}
	if r := again(string(saved)); !r.Equal() || !r.Expected {
		t.Errorf("%+v", r)
	}
	if r := again(strings.Replace(string(saved), "2026-03-30", "2026-03-31", 1)); r.Equal() {
		t.Error("the time of the updates is nothing to the result")
	}
	if _, err := parseTest("now: today\n", "wrong.yml", c.Plan.Dir); err == nil || !strings.Contains(err.Error(), "wrong.yml:1:1") {
		t.Errorf("%v", err)
	}
}
