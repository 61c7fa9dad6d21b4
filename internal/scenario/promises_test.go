package scenario

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice/daemon"
	"sluice/eval"
)

// living is a world with a continuous daemon at work, which syncs its store only when it has to. Nothing of the store outlives a power cut
// that was not synced.
func living(t *testing.T, engine *eval.Engine, sql string, topics ...string) (*world, *run) {
	t.Helper()
	fixed, err := family(map[string]string{"limit": "none", "partitions": "1", "mode": "continuous", "restart": "no", "stop": "crash"})
	if err != nil {
		t.Fatal(err)
	}
	w, err := newWorld(t.TempDir(), fixed[0], Through{}, engine)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.close)
	for _, topic := range topics {
		if err := w.createTopic(t.Context(), topic, 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.declare("scenario", sql, nil, map[string]string{"sluice.sync_interval": "1h"}); err != nil {
		t.Fatal(err)
	}
	r, err := w.start(daemon.Selection{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.up = r
	return w, r
}

// until waits for what has to come.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("did not come: " + what)
		}
	}
}

// powerCut ends the daemon as a power cut does.
func (w *world) powerCut() {
	w.up.cut(w.disk.Crash(0, 1))
	w.down()
}

// asked is the answer of a running daemon to whoever asks it.
func asked(t *testing.T, r *run, sql string) string {
	t.Helper()
	rows, err := r.daemon.Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	text, _, _ := rows.Next(t.Context())
	return strings.TrimSpace(string(text))
}

// What a daemon has answered is still so after a power cut, whatever it had synced by itself.
func TestAnAnswerIsDurable(t *testing.T) {
	w, r := living(t, testEngine(t), `CREATE STREAMING TABLE t AS SELECT id FROM STREAM read_files('in/*.json', format => 'json', schema => 'id INT');`)
	if err := os.MkdirAll(filepath.Join(w.dir, "in"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.dir, "in", "1.json"), []byte("{\"id\":1}\n{\"id\":2}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	until(t, "the rows", func() bool {
		tables, err := r.daemon.State().Tables() // asking the daemon would have it synced
		return err == nil && len(tables) == 1 && tables[0].Rows == 2
	})
	lost := w.disk.Crash(0, 1) // what a power cut leaves before anybody has asked
	if got := asked(t, r, "SELECT count(*) AS n FROM t"); got != "[2]" {
		t.Fatalf("the daemon answers %s", got)
	}
	w.powerCut()
	got, err := w.rows(t.Context(), "SELECT id FROM t")
	if err != nil || got != "id\n1\n2" {
		t.Errorf("after the power cut: %s, %v", got, err)
	}
	w.looked()
	w.disk = lost
	if got, err := w.rows(t.Context(), "SELECT id FROM t"); err == nil && got != "id" {
		t.Errorf("nothing was synced before the question, and the store holds %s", got)
	}
}

// What the consumer group says was read is in the store after a power cut (D-17).
func TestACommittedOffsetIsDurable(t *testing.T) {
	w, _ := living(t, testEngine(t), `CREATE STREAMING TABLE t AS SELECT id FROM STREAM read_kafka(subscribe => 'in', format => 'json', schema => 'id INT');`, "in")
	if err := w.produce(t.Context(), "in", "{\"id\":1}\n{\"id\":2}\n", producing{}); err != nil {
		t.Fatal(err)
	}
	until(t, "the offset in the group", func() bool {
		group, err := w.committed(t.Context(), "scenario.t")
		return err == nil && group == "in/0 2"
	})
	w.powerCut()
	got, err := w.rows(t.Context(), "SELECT id FROM t")
	if err != nil || got != "id\n1\n2" {
		t.Errorf("after the power cut: %s, %v", got, err)
	}
}

// A batch that joins a table twice sees it as it was when the batch began, whatever is written to it meanwhile.
func TestAJoinSeesTheTableAsOfTheBatch(t *testing.T) {
	w, r := living(t, testEngine(t), `CREATE STREAMING TABLE dim FLOW REPLACE USING (k) SEQUENCE BY v BY NAME
SELECT k, v FROM STREAM read_kafka(subscribe => 'dims', format => 'json', schema => 'k INT, v INT', maxOffsetsPerTrigger => '1');
CREATE SINK out FORMAT memory;
CREATE FLOW publish AS INSERT INTO SINK out BY NAME SELECT a.v AS a, b.v AS b
FROM STREAM read_kafka(subscribe => 'facts', format => 'json', schema => 'k INT', maxOffsetsPerTrigger => '20') f JOIN dim a ON a.k = f.k JOIN dim b ON b.k = f.k;`, "dims", "facts")
	const rounds, versions, facts = 10, 30, 100
	send := func(topic, lines string) {
		t.Helper()
		if err := w.produce(t.Context(), topic, lines, producing{}); err != nil {
			t.Fatal(err)
		}
	}
	dims := 0
	version := func(n int) {
		t.Helper()
		for range n {
			dims++
			send("dims", fmt.Sprintf("{\"k\":1,\"v\":%d}\n", dims))
		}
	}
	stored := func() {
		t.Helper()
		until(t, "the version", func() bool { return asked(t, r, "SELECT v FROM dim") == fmt.Sprintf("[%d]", dims) })
	}
	delivered := func(n int) {
		t.Helper()
		until(t, "the facts", func() bool {
			have := 0
			for _, b := range w.outside["out"].Batches() {
				have += b.Rows.Columns.Len
			}
			return have == n
		})
	}
	version(1)
	stored()
	send("facts", "{\"k\":1}\n")
	delivered(1)
	for range rounds { // facts are joined while versions come
		version(versions)
		send("facts", strings.Repeat("{\"k\":1}\n", facts))
	}
	stored()
	delivered(1 + rounds*facts)
	send("facts", "{\"k\":1}\n")
	delivered(2 + rounds*facts)

	batches, err := kept(w.outside["out"])
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, b := range batches {
		for _, row := range b.rows {
			if first, second, _ := strings.Cut(row, " "); first != second || row != b.rows[0] {
				t.Fatalf("batch %d joins %s, and %s", b.number, b.rows[0], row)
			}
			seen[row] = true
		}
	}
	if !seen["1 1"] || !seen[fmt.Sprint(dims, " ", dims)] {
		t.Errorf("the first and the last version are not among %v", seen)
	}
	t.Logf("%d batches saw %d versions", len(batches), len(seen))
}

// who reads a window of 100,000 rows while it is computed anew sees it as it was or as it is, never a mix, and so does a stream that looks
// rows up in it; after a power cut in the middle it is the one or the other.
func TestReadersSeeTheOldWindowOrTheNew(t *testing.T) {
	const rows, versions = 100_000, 6
	w, r := living(t, testEngine(t), fmt.Sprintf(`CREATE STREAMING TABLE window FLOW REPLACE WHERE k > 0 BY NAME
SELECT explode(sequence(1, %d)) AS k, v FROM (SELECT coalesce(max(v), 0) AS v FROM read_kafka(subscribe => 'versions', format => 'json', schema => 'v INT'));
CREATE SINK out FORMAT memory;
CREATE FLOW publish AS INSERT INTO SINK out BY NAME SELECT a.v AS a, b.v AS b
FROM STREAM read_kafka(subscribe => 'facts', format => 'json', schema => 'k INT') f JOIN window a ON a.k = f.k JOIN window b ON b.k = f.k + 90000;`, rows), "versions", "facts")
	send := func(topic, line string) {
		t.Helper()
		if err := w.produce(t.Context(), topic, line, producing{}); err != nil {
			t.Fatal(err)
		}
	}
	const sees = "SELECT count(*) AS n, min(v) AS a, max(v) AS b FROM window"
	seen := 0
	look := func(answer string) {
		t.Helper()
		for ; seen <= versions; seen++ {
			if answer == fmt.Sprintf("[%d,%d,%d]", rows, seen, seen) {
				return
			}
		}
		t.Fatalf("a reader sees %s", answer)
	}
	for n := 1; n <= versions; n++ {
		send("versions", fmt.Sprintf("{\"v\":%d}\n", n))
		until(t, "the window", func() bool {
			send("facts", "{\"k\":1}\n{\"k\":1000}\n")
			answer := asked(t, r, sees)
			if n > 1 || answer != "[0,null,null]" {
				look(answer)
			}
			return seen == n
		})
	}
	until(t, "a row that was looked up", func() bool { return len(w.outside["out"].Batches()) > 0 })
	send("versions", fmt.Sprintf("{\"v\":%d}\n", versions+1))
	w.powerCut()
	got, err := w.rows(t.Context(), sees)
	if err != nil || got != fmt.Sprintf("n a b\n%[1]d %[2]d %[2]d", rows, versions) && got != fmt.Sprintf("n a b\n%[1]d %[2]d %[2]d", rows, versions+1) {
		t.Errorf("after the power cut: %s, %v", got, err)
	}
	batches, err := kept(w.outside["out"])
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range batches {
		for _, row := range b.rows {
			if first, second, _ := strings.Cut(row, " "); first != second || row != b.rows[0] {
				t.Fatalf("batch %d looks up %s, and %s", b.number, b.rows[0], row)
			}
		}
	}
}
