package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"sluice/daemon"
)

// digested has a keyed and an append table of which a digest is kept, and one of which none is.
const digested = `CREATE STREAMING TABLE newest TBLPROPERTIES ('sluice.digest' = 'true') FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME
SELECT k, seq, v FROM STREAM read_kafka(subscribe => '${topic}', format => 'json', schema => 'k INT, seq INT, v STRING');
CREATE STREAMING TABLE log TBLPROPERTIES ('sluice.digest' = 'true') AS
SELECT k, seq, v FROM STREAM read_kafka(subscribe => '${topic}', format => 'json', schema => 'k INT, seq INT, v STRING');
CREATE STREAMING TABLE again FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq, v FROM STREAM(log);`

// versions are records with ties and late ones.
func versions(random *rand.Rand, n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf(`{"k":%d,"seq":%d,"v":"%d"}`, random.IntN(50), random.IntN(20), i))
	}
	return out
}

// daemonOf is a daemon's site over a topic.
func daemonOf(t *testing.T, broker, topic string, more ...string) *site {
	s := local(t, digested, nil)
	for _, set := range append(more, "topic="+topic, "kafka.bootstrap.servers="+broker, "pipelines.trigger.interval=1ms") {
		s.sets = append(s.sets, "--set", set)
	}
	return s
}

// put writes records into a topic of the embedded broker.
func (s *site) send(broker, topic string, records []string, more ...string) {
	s.t.Helper()
	path := filepath.Join(s.t.TempDir(), "records")
	if err := os.WriteFile(path, []byte(strings.Join(records, "\n")+"\n"), 0o600); err != nil {
		s.t.Fatal(err)
	}
	must(s.t, append([]string{"topic", "put", topic, path, "--brokers", broker}, more...)...)
}

// digests are the digests of all tables, once the flows have read so many records.
func (s *site) digests(records int) map[string]string {
	s.t.Helper()
	s.until("all records", func() bool {
		return s.flow("newest").Read == records && s.flow("log").Read == records && s.flow("again").Read == records
	})
	return s.printed("digest", "-o", "json")
}

// printed is what a verb prints of the digests, by table.
func (s *site) printed(args ...string) map[string]string {
	s.t.Helper()
	var rows []struct {
		Table, Digest, Varies string
		Rows                  int
	}
	code, out, errs := command(append(args, s.sets...)...)
	if err := json.Unmarshal([]byte(out), &rows); err != nil || code != exitOK {
		s.t.Fatalf("%v: exit %d, %v\n%s%s", args, code, err, out, errs)
	}
	got := map[string]string{}
	for _, r := range rows {
		if r.Rows == 0 || len(r.Digest) != 32 || r.Varies != "" {
			s.t.Errorf("%v: %+v", args, r)
		}
		got[r.Table] = r.Digest
	}
	return got
}

// serves is the answer of the running daemon.
func (s *site) serves(path string) string {
	s.t.Helper()
	where, _ := daemon.ReadWhere(filepath.Join(s.dir, "state"))
	return s.get("http://" + where.Address + path)
}

// kept are those of digests that are kept.
func kept(digests map[string]string) map[string]string {
	out := maps.Clone(digests)
	delete(out, "again")
	return out
}

// D-29: daemons that are fed the same records have the same digests, in whatever order the records come and however they are cut into
// batches; so has a store that was restored from a backup, and goes on. They are shown by status, digest, the API and the metrics, and
// are those of the rows, beside a running daemon and in a stopped store.
func TestDaemonsFedTheSameHaveOneDigest(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 8))
	first, more := versions(random, 3000), versions(random, 500)
	broker := brokerProcess(t)
	a, b := daemonOf(t, broker, "ordered"), daemonOf(t, broker, "shuffled", "sluice.max_batch_rows=17")
	shuffled := slices.Clone(first)
	random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	a.send(broker, "ordered", first, "--create", "1")
	b.send(broker, "shuffled", shuffled[:100], "--create", "5", "--key", "k")
	da, db := a.start(), b.start()
	b.digests(100)
	b.send(broker, "shuffled", shuffled[100:], "--key", "k")
	want := a.digests(len(first))
	if got := b.digests(len(first)); len(want) != 3 || want["newest"] != want["again"] || want["newest"] == want["log"] || !maps.Equal(got, want) {
		t.Fatalf("the digests are %v and %v", want, got)
	}

	// Where they are shown.
	for _, s := range []*site{a, b} {
		if got := s.printed("digest", "--verify", "-o", "json"); !maps.Equal(got, kept(want)) {
			t.Errorf("verified are %v", got)
		}
		if f := s.flow("newest"); f.Digest != want["newest"] || s.flow("again").Digest != "" {
			t.Errorf("status has %+v", f)
		}
		if text := s.serves("/api/status"); strings.Count(text, `"digest": "`+want["log"]+`"`) != 1 || strings.Count(text, `"digest"`) != 2 {
			t.Errorf("the API's status has\n%s", text)
		}
		if text := s.serves("/api/digest?table=newest&verify=true"); !strings.Contains(text, want["newest"]) || !strings.Contains(text, `"kept": true`) {
			t.Errorf("the API has\n%s", text)
		}
	}
	series := func(s *site) (out []string) {
		for line := range strings.Lines(s.serves("/metrics")) {
			if strings.HasPrefix(line, "sluice_table_digest{") {
				out = append(out, line)
			}
		}
		return out
	}
	if x, y := series(a), series(b); len(x) != 2 || !slices.Equal(x, y) || x[0] == strings.Replace(x[1], "newest", "log", 1) {
		t.Errorf("the metrics are %v and %v", x, y)
	}
	if code, out := a.verb("digest", "--verify", "again"); code != exitFailure || !strings.Contains(out, "DIGEST_NOT_KEPT") {
		t.Errorf("exit %d\n%s", code, out)
	}

	// Backup and restore: the copy has the same digests, and goes on as the others do.
	da.stop(exitOK)
	restored := daemonOf(t, broker, "ordered")
	if err := os.CopyFS(filepath.Join(restored.dir, "state"), os.DirFS(filepath.Join(a.dir, "state"))); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*site{a, restored} {
		if got, stopped := s.printed("digest", "-o", "json"), s.printed("digest", "--verify", "-o", "json"); !maps.Equal(got, want) || !maps.Equal(stopped, kept(want)) || s.flow("log").Digest != want["log"] {
			t.Errorf("stopped, the digests are %v and %v", got, stopped)
		}
	}
	dr := restored.start()
	restored.send(broker, "ordered", more)
	b.send(broker, "shuffled", more, "--key", "k")
	want = b.digests(len(first) + len(more))
	if got := restored.digests(len(first) + len(more)); !maps.Equal(got, want) {
		t.Errorf("restored and gone on, the digests are %v, want %v", got, want)
	}
	db.stop(exitOK)
	dr.stop(exitOK)
	if got := restored.printed("digest", "--verify", "-o", "json"); !maps.Equal(got, kept(want)) {
		t.Errorf("verified are %v", got)
	}
}

// A digest that is not that of the rows: exit code 1 and DIGEST_DIFFERS, with table, kept, found and batch, in a stopped store and
// beside a running daemon.
func TestADigestThatDiffersIsFound(t *testing.T) {
	s := local(t, `CREATE STREAMING TABLE t TBLPROPERTIES ('sluice.digest' = 'true') AS SELECT a FROM STREAM read_files('in/*.json', format => 'json', schema => 'a INT');`,
		map[string]string{"in/1.json": "{\"a\":1}\n{\"a\":2}\n"})
	d := s.start()
	s.until("the rows", func() bool { return s.query("SELECT a FROM t") == "1\n2" })
	right := s.printed("digest", "--verify", "-o", "json")["t"]
	d.stop(exitOK)
	wrong := spoil(t, filepath.Join(s.dir, "state", "store"))
	differs := func(when string) {
		t.Helper()
		code, out := s.verb("digest", "--verify")
		for _, part := range []string{"DIGEST_DIFFERS", "table t", "batch 1 ", "is " + wrong(right) + " of 2 rows", "have " + right + " of 2"} {
			if code != exitFailure || !strings.Contains(out, part) {
				t.Errorf("%s: exit %d, without %q\n%s", when, code, part, out)
			}
		}
	}
	differs("stopped")
	d = s.start()
	s.until("the daemon", func() bool { return s.flow("t").Status == "RUNNING" })
	differs("running")
	d.stop(exitOK)
}

// silence is a logger of Pebble's.
type silence struct{}

func (silence) Infof(string, ...any)  {}
func (silence) Errorf(string, ...any) {}
func (silence) Fatalf(string, ...any) {}

// spoil flips the last bit of the digest that a stopped store keeps, and returns what it makes of a digest.
func spoil(t *testing.T, store string) func(string) string {
	db, err := pebble.Open(store, &pebble.Options{Logger: silence{}})
	if err != nil {
		t.Fatal(err)
	}
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: []byte{1, 'x'}, UpperBound: []byte{1, 'y'}})
	if err != nil {
		t.Fatal(err)
	}
	if !it.First() {
		t.Fatal("no digest is kept")
	}
	key, value := slices.Clone(it.Key()), slices.Clone(it.Value())
	value[len(value)-2] ^= 1 // the last byte is the number of rows
	for _, err := range []error{it.Close(), db.Set(key, value, pebble.Sync), db.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return func(digest string) string {
		var last byte
		if _, err := fmt.Sscanf(digest[30:], "%02x", &last); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%s%02x", digest[:30], last^1)
	}
}
