package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kadm"

	"sluice/fault"
	"sluice/internal/testenv"
)

// writers is a pipeline whose records end in a topic and in a table, appended, so that what comes twice stands twice.
var writers = map[string]string{
	"pipeline.yml": "name: TOPIC\nstorage: state\nlibraries:\n  - glob: {include: flows.sql}\nconfiguration: {sluice.log_level: warn}\n",
	"flows.sql": `CREATE STREAMING TABLE t AS SELECT k FROM STREAM read_kafka(subscribe => 'TOPIC', format => 'json', schema => 'k BIGINT');
CREATE SINK records FORMAT kafka OPTIONS (topic => 'TOPIC_out', create_topic => 1, mode => 'append');
CREATE FLOW to_records AS INSERT INTO SINK records BY NAME SELECT k FROM STREAM(t);
CREATE SINK rows FORMAT postgres OPTIONS (url => '${env:PGURL}', table => 'out', create_table => true, mode => 'append');
CREATE FLOW to_rows AS INSERT INTO SINK rows BY NAME SELECT k FROM STREAM(t);`,
}

// writing is such a pipeline, in the storage folder of the moment.
type writing struct {
	*site
	world
}

func newWriting(t *testing.T) *writing {
	t.Helper()
	kafka := testenv.Kafka(t)
	w := &writing{newSite(t, kafka, writers), world{kafka.Brokers, testenv.Postgres(t)}}
	t.Setenv("PGURL", w.database)
	w.use("state")
	w.create(w.name, 1)
	return w
}

// use goes on in another storage folder.
func (w *writing) use(storage string) {
	w.t.Setenv("SLUICE_STORAGE", filepath.Join(w.dir, storage))
}

// copied is a copy of a storage folder, lock and all.
func (w *writing) copied(from, to string) {
	w.t.Helper()
	if err := os.CopyFS(filepath.Join(w.dir, to), os.DirFS(filepath.Join(w.dir, from))); err != nil {
		w.t.Fatal(err)
	}
}

// update puts numbers into the topic and runs until they are delivered, or refused.
func (w *writing) update(exit int, numbers ...int) {
	w.t.Helper()
	w.putNumbers(numbers...)
	if code, out := w.verb("run"); code != exit {
		w.t.Fatalf("exit %d\n%s", code, out)
	}
}

func (w *writing) putNumbers(numbers ...int) {
	w.t.Helper()
	var values []string
	for _, k := range numbers {
		values = append(values, fmt.Sprintf(`{"k":%d}`, k))
	}
	w.put(w.name, 1, values...)
}

// standing is what sink status says of a flow.
type standing struct {
	Flow        string `json:"flow"`
	Remembers   string `json:"remembers"`
	TargetBatch *int   `json:"target_batch"`
	Batch       *int   `json:"batch"`
	Epoch       uint64 `json:"epoch"` // of the store
	NextStart   string `json:"next_start"`
	Where       string `json:"where"`
}

func (s standing) String() string {
	number := func(n *int) string {
		if n == nil {
			return "-"
		}
		return fmt.Sprint(*n)
	}
	return fmt.Sprintf("%s: %s %s, sent %s, %s", s.Flow, s.Remembers, number(s.TargetBatch), number(s.Batch), s.NextStart)
}

func (w *writing) standings() (out []standing) {
	w.t.Helper()
	code, text, err := command(append([]string{"sink", "status", "-o", "json"}, w.sets...)...)
	if code != exitOK || json.Unmarshal([]byte(text), &out) != nil || len(out) != 2 {
		w.t.Fatalf("exit %d\n%s%s", code, text, err)
	}
	return out
}

// both expects the same of both flows: what the target remembers, what was sent, and what the next start does.
func (w *writing) both(want string) {
	w.t.Helper()
	for _, s := range w.standings() {
		if got := s.String(); got != s.Flow+": "+want {
			w.t.Errorf("sink status says %s, want %s", got, want)
		}
	}
}

// refused expects that both flows of the last run failed with a code, and adopts both targets; says are parts of what is said
// about it.
func (w *writing) refused(code *fault.Code, says ...string) {
	w.t.Helper()
	if _, events := w.verb("events", "--level", "error", "-o", "csv"); strings.Count(events, code.Name) != 2 {
		w.t.Errorf("want %s of two flows\n%s", code.Name, events)
	}
	for _, sink := range []string{"records", "rows"} {
		exit, out := w.verb("sink", "adopt", sink, "--yes")
		for _, part := range append(says, code.Name, "is this store's") {
			if exit != exitOK || !strings.Contains(out, part) {
				w.t.Errorf("exit %d, no %q in\n%s", exit, part, out)
			}
		}
	}
}

// hold expects the same numbers in the topic, as a read_committed consumer sees it, and in the table.
func (w *writing) hold(want ...int) {
	w.t.Helper()
	// A broker answers the end of a transaction before it has written the marker behind it, and readers of what is committed wait for that.
	w.until("as many records as there are to be", func() bool { return len(w.inTopic()) >= len(want) })
	if got := w.inTopic(); fmt.Sprint(got) != fmt.Sprint(want) {
		w.t.Errorf("the topic has %v, want %v", got, want)
	}
	slices.Sort(want)
	if got := w.ask(w.t, "SELECT k::text FROM out ORDER BY out.k"); fmt.Sprint(got) != fmt.Sprint(want) {
		w.t.Errorf("the table has %v, want %v", got, want)
	}
}

func (w *writing) inTopic() []int {
	w.t.Helper()
	out := []int{}
	for _, r := range w.committed(w.name + "_out") {
		var row struct{ K int }
		if err := json.Unmarshal(r.Value, &row); err != nil {
			w.t.Fatal(err)
		}
		out = append(out, row.K)
	}
	return out
}

// D-18: a second store under the name of the same pipeline is refused, until somebody says that it shall have the targets; then
// the first one is, and may be given them back.
func TestRealSecondStore(t *testing.T) {
	w := newWriting(t)
	w.update(exitOK, 1, 2)
	w.update(exitOK, 3)
	w.both("a batch 1, sent 1, goes on")

	w.use("second")
	w.update(exitFailure)
	w.hold(1, 2, 3)
	w.both("a batch 1, sent -, SINK_OWNED_BY_ANOTHER_STORE")
	w.refused(fault.SinkOtherStore, "may be doubled", "the first batch of generation 0")
	w.both("nothing -, sent -, goes on")
	w.update(exitOK)
	w.hold(1, 2, 3, 1, 2, 3)

	w.use("state")
	w.both("a batch 0, sent 1, SINK_OWNED_BY_ANOTHER_STORE")
	w.update(exitFailure, 4)
	w.refused(fault.SinkOtherStore, "batches up to 1, which this store sent before, are not sent again", "batch 2 of generation 0")
	w.both("a batch 1, sent 1, goes on")
	w.update(exitOK)
	w.hold(1, 2, 3, 1, 2, 3, 4)
}

// D-18: a backup does not go on where the store that it was taken of has gone further. Adopted, it sends what it reads again.
func TestRealOldBackup(t *testing.T) {
	w := newWriting(t)
	w.update(exitOK, 1, 2)
	w.copied("state", "backup")
	w.update(exitOK, 3)
	w.update(exitOK, 4)
	w.both("a batch 2, sent 2, goes on")

	w.use("backup")
	w.both("a batch 2, sent 0, SINK_AHEAD_OF_STORE")
	w.update(exitFailure)
	w.hold(1, 2, 3, 4)
	w.refused(fault.SinkAhead, "up to 2 of generation 0 that this store reads again are sent again", "batch 1 of generation 0")
	w.both("a batch 0, sent 0, goes on")
	w.update(exitOK)
	w.hold(1, 2, 3, 4, 3, 4)
	w.both("a batch 1, sent 1, goes on")
}

// D-18: what the target remembers is lost. In Kafka the headers of the last records stand in for it; where these are gone, too,
// and in PostgreSQL, the flow is refused, and goes on after the last batch when the target is adopted.
func TestRealLostIdentity(t *testing.T) {
	w := newWriting(t)
	w.update(exitOK, 1, 2)
	w.update(exitOK, 3)
	var lost kadm.TopicsSet
	lost.Add(w.name+"_out", 0)
	forget := func() {
		answers, err := w.admin.DeleteOffsets(t.Context(), w.name+".to_records.sink", lost)
		if err == nil {
			err = answers.Error()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	forget()
	if s := w.standings()[0]; s.String() != "to_records: a batch 1, sent 1, goes on" || !strings.HasPrefix(s.Where, "headers") {
		t.Errorf("%v, %s", s, s.Where)
	}
	w.update(exitOK, 4)
	w.hold(1, 2, 3, 4)
	w.both("a batch 2, sent 2, goes on")

	forget()
	ends, err := w.admin.ListEndOffsets(t.Context(), w.name+"_out")
	if err == nil {
		_, err = w.admin.DeleteRecords(t.Context(), ends.Offsets())
	}
	if err != nil {
		t.Fatal(err)
	}
	w.ask(t, "WITH gone AS (DELETE FROM _sluice_batches RETURNING 1) SELECT count(*)::text FROM gone")
	w.both("nothing -, sent 2, SINK_IDENTITY_LOST")
	w.update(exitFailure, 5)
	w.refused(fault.SinkIdentityLost, "batches 0 to 2 are not sent again", "batch 3 of generation 0")
	w.both("a batch 2, sent 2, goes on")
	w.update(exitOK, 6)
	if got := w.inTopic(); fmt.Sprint(got) != "[5 6]" {
		t.Errorf("the topic has %v", got)
	}
	if got := w.ask(t, "SELECT k::text FROM out ORDER BY out.k"); fmt.Sprint(got) != "[1 2 3 4 5 6]" {
		t.Errorf("the table has %v", got)
	}
}

// D-18, D-57, A-72: a daemon that stands still while another goes on from a copy of its store. The newer one wins, the older one stops
// with FENCED where it would have written, and every record is delivered once.
func TestRealRace(t *testing.T) {
	w := newWriting(t)
	quick := []string{"--set", "sluice.max_batch_rows=5", "--set", "pipelines.trigger.interval=5ms", "--set", "sluice.log_level=info"}
	w.write("pipeline.yml", strings.ReplaceAll(writers["pipeline.yml"], "TOPIC", w.name)+"continuous: true\n")
	older := w.start(quick...)
	w.until("the older daemon", func() bool { return w.flow("to_rows").Status == "RUNNING" })
	if code, out := w.verb("run"); code != exitFailure || !strings.Contains(out, fmt.Sprintf("STORE_LOCKED: the store in %s is in use by process %d on host", filepath.Join(w.dir, "state"), older.cmd.Process.Pid)) {
		t.Errorf("a second daemon on the same folder: exit %d\n%s", code, out)
	}
	if code, out := w.verb("sink", "adopt", "rows", "--yes"); code != exitFailure || !strings.Contains(out, fmt.Sprintf("process %d ", older.cmd.Process.Pid)) || !strings.Contains(out, "stop it first: a target") {
		t.Errorf("adopting beside a daemon: exit %d\n%s", code, out)
	}
	all := make([]int, 1000)
	for i := range all {
		all[i] = i
	}
	inTable := func(n int) bool {
		return w.ask(t, fmt.Sprintf("SELECT (count(*) >= %d)::text FROM out", n))[0] == "true"
	}
	w.putNumbers(all[:300]...)
	w.until("some records", func() bool { return len(w.inTopic()) >= 50 })
	w.nextStart("goes on") // batches come while it looks
	w.pass()
	w.putNumbers(all[300:600]...)
	w.until("some records of the second half", func() bool { return inTable(350) })
	w.signal(older, syscall.SIGSTOP) // at work on both
	w.copied("state", "copy")

	w.use("copy")
	newer := w.start(quick...)
	w.putNumbers(all[600:800]...)
	w.until("the first 800 records in the topic", func() bool { return len(w.inTopic()) >= 800 })
	w.signal(older, syscall.SIGCONT)
	w.putNumbers(all[800:]...)
	w.until("all records in both", func() bool {
		return len(w.inTopic()) >= len(all) && inTable(len(all))
	})
	w.use("state")
	w.failed("to_records", fault.Fenced)
	w.failed("to_rows", fault.Fenced)
	w.nextStart(fault.SinkAhead.Name)
	older.stop(exitFailure)
	older = w.start(quick...)
	w.failed("to_records", fault.SinkAhead)
	w.failed("to_rows", fault.SinkAhead)
	older.stop(exitFailure)

	w.use("copy")
	w.putNumbers(1000)
	w.until("one more record", func() bool { return len(w.inTopic()) > len(all) && inTable(len(all)+1) })
	w.hold(append(all, 1000)...)
	w.nextStart("goes on")
	newer.stop(exitOK)
}

// D-18: two copies of one stopped store, both started. The first write of one of them fails, and comes again when the other has
// written a batch of the same number, with other rows: it is not taken for its own.
func TestRealCopies(t *testing.T) {
	w := newWriting(t)
	w.update(exitOK, 1, 2)
	w.copied("state", "copy")
	limit := func(bytes string) {
		answer, err := w.admin.AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "max.message.bytes", Value: &bytes}}, w.name+"_out")
		if err == nil {
			err = answer[0].Err
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	limit("100") // enough for the end of a transaction
	w.ask(t, "ALTER TABLE out ADD CONSTRAINT few CHECK (k < 3)")
	w.update(exitFailure, 3)
	limit("1000000")
	w.ask(t, "ALTER TABLE out DROP CONSTRAINT few")
	w.both("a batch 0, sent 0, goes on")
	w.pass()

	w.use("copy")
	w.update(exitOK, 4)
	w.hold(1, 2, 3, 4)
	w.use("state") // its batch 1 is the 3 alone
	w.both("a batch 1, sent 0, SINK_AHEAD_OF_STORE")
	w.update(exitFailure)
	w.refused(fault.SinkAhead, "batch 1 of generation 0")
	w.pass()
	w.use("copy")
	w.both("a batch 0, sent 1, SINK_IDENTITY_LOST")
	w.hold(1, 2, 3, 4)
}

// D-18: two copies of one stopped store, both alive. One has written to the topic, and hangs in its first write to the table; the other
// is refused by the topic and writes to the table. When the first one comes to itself and repeats its write, the table refuses it.
func TestRealCopiesAlive(t *testing.T) {
	w := newWriting(t)
	w.update(exitOK, 1, 2)
	w.copied("state", "copy")
	w.write("pipeline.yml", strings.ReplaceAll(writers["pipeline.yml"], "TOPIC", w.name)+"continuous: true\n")
	c, err := pgx.Connect(t.Context(), w.database)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	lock, err := c.Begin(t.Context())
	if err == nil {
		_, err = lock.Exec(t.Context(), "LOCK TABLE out")
	}
	if err != nil {
		t.Fatal(err)
	}
	first := w.start()
	w.putNumbers(3)
	waiting := "FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
	w.until("both writes of the first one", func() bool {
		return len(w.inTopic()) == 3 && w.ask(t, "SELECT count(*)::text "+waiting)[0] == "1"
	})
	w.signal(first, syscall.SIGSTOP)
	w.ask(t, "SELECT pg_terminate_backend(pid)::text "+waiting)
	w.until("the end of its transaction", func() bool { return w.ask(t, "SELECT count(*)::text "+waiting)[0] == "0" })
	if err := lock.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}

	w.use("copy")
	w.putNumbers(4)
	second := w.start()
	w.failed("to_records", fault.SinkAhead)
	w.until("3 and 4 as the second one's batch 1", func() bool { return len(w.ask(t, "SELECT k::text FROM out")) == 4 })
	w.signal(first, syscall.SIGCONT)
	w.use("state")
	w.failed("to_rows", fault.SinkAhead)
	w.until("the rest of the first one", func() bool { return len(w.inTopic()) == 4 })
	w.hold(1, 2, 3, 4)
	first.stop(exitFailure)
	second.stop(exitFailure)
}

// nextStart expects the same of the next start of both flows.
func (w *writing) nextStart(want string) {
	w.t.Helper()
	for _, s := range w.standings() {
		if s.NextStart != want {
			w.t.Errorf("sink status says %s, want %s", s, want)
		}
	}
}

// pass waits until the clock is past the epoch of the last start, so that a copy that is started next has a higher one.
func (w *writing) pass() {
	w.t.Helper()
	epoch := w.standings()[0].Epoch
	w.until(fmt.Sprint("the epoch ", epoch), func() bool { return uint64(time.Now().UnixMicro()) > epoch })
}

func (w *writing) signal(d *running, s syscall.Signal) {
	w.t.Helper()
	if err := d.cmd.Process.Signal(s); err != nil {
		w.t.Fatal(err)
	}
}

// write changes a file of the pipeline.
func (w *writing) write(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}
