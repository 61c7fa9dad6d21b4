package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/internal/testenv"
)

// The files real_*_test.go run the program as a process of its own, beside a real Kafka and a real PostgreSQL.

// longest is how long a test waits for what has to come.
var longest = func() time.Duration {
	if os.Getenv("SLUICE_SOAK") == "1" {
		return 40 * time.Minute
	}
	return 10 * time.Minute
}()

// site is a pipeline's folder and the cluster it works with.
type site struct {
	t     *testing.T
	dir   string
	kafka *testenv.Cluster
	sets  []string // flags of every verb
	name  string   // of the pipeline, and the beginning of its topics

	random *rand.Rand

	options []kgo.Opt // of the test's own clients
	client  *kgo.Client
	admin   *kadm.Client
}

// newSite makes a folder of files. TOPIC in them is a name of this test alone.
func newSite(t *testing.T, kafka *testenv.Cluster, content map[string]string, opts ...kgo.Opt) *site {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a broker and processes")
	}
	s := &site{t: t, kafka: kafka, options: append(opts, kgo.SeedBrokers(kafka.Brokers...)), name: strings.ToLower(strings.NewReplacer("/", "_", "Test", "").Replace(t.Name()))}
	s.random = drawing(t)
	named := map[string]string{}
	for name, text := range content {
		named[name] = strings.ReplaceAll(text, "TOPIC", s.name)
	}
	s.dir = files(t, named)
	s.sets = []string{"--spec", s.dir, "--set", "kafka.bootstrap.servers=" + strings.Join(kafka.Brokers, ","), "--set", "sluice.listen=127.0.0.1:0"}
	var err error
	if s.client, err = kgo.NewClient(append(s.options, kgo.RecordPartitioner(kgo.ManualPartitioner()))...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.client.Close)
	s.admin = kadm.NewClient(s.client)
	s.until("the broker", func() bool { return s.client.Ping(t.Context()) == nil }) // it may not be through although its log says so
	return s
}

// example is an example's files. Its topics get names of the test's own.
func example(t *testing.T, name string) map[string]string {
	t.Helper()
	dir := filepath.Join("..", "..", "examples", name)
	content := map[string]string{}
	for _, file := range []string{"pipeline.yml", "ticks.sql", "alert.py", "data/batch_1.json"} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		content[file] = string(text)
	}
	content["pipeline.yml"] = replace(t, content["pipeline.yml"], "name: "+name, "name: TOPIC")
	content["ticks.sql"] = replace(t, content["ticks.sql"], "subscribe => 'ticks'", "subscribe => 'TOPIC'")
	if strings.Contains(content["ticks.sql"], "ticks_latest") {
		content["ticks.sql"] = replace(t, content["ticks.sql"], "'ticks_latest'", "'TOPIC_out'")
	}
	return content
}

func replace(t *testing.T, text, old, new string) string {
	t.Helper()
	if !strings.Contains(text, old) {
		t.Fatalf("no %q in\n%s", old, text)
	}
	return strings.Replace(text, old, new, 1)
}

func (s *site) create(topic string, partitions int32) {
	s.t.Helper()
	if _, err := s.admin.CreateTopic(s.t.Context(), partitions, 1, nil, topic); err != nil {
		s.t.Fatal(err)
	}
}

// put writes records, each into any of the partitions.
func (s *site) put(topic string, partitions int32, values ...string) {
	s.t.Helper()
	var records []*kgo.Record
	for _, v := range values {
		records = append(records, &kgo.Record{Topic: topic, Partition: s.random.Int32N(partitions), Value: []byte(v)})
	}
	if err := s.client.ProduceSync(s.t.Context(), records...).FirstErr(); err != nil {
		s.t.Fatal(err)
	}
}

// committed reads what a read_committed consumer sees of a topic, partition by partition; nothing where there is no topic yet.
func (s *site) committed(topic string) (out []*kgo.Record) {
	s.t.Helper()
	testenv.Records(s.t, topic, (*kadm.Client).ListCommittedOffsets, func(r *kgo.Record) { out = append(out, r) }, s.options...)
	slices.SortFunc(out, func(a, b *kgo.Record) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset))
	})
	return out
}

// verb runs a verb beside the daemon and returns what it printed, on both.
func (s *site) verb(args ...string) (code int, out string) {
	code, out, err := command(append(args, s.sets...)...)
	return code, out + err
}

// query is the sorted rows of a query, "" if it fails: the daemon is starting, or the table is not there yet.
func (s *site) query(sql string) string {
	code, out, _ := command(append([]string{"query", sql, "-o", "csv"}, s.sets...)...)
	if code != exitOK {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")[1:]
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// flowStatus is what processor status says of a flow.
type flowStatus struct {
	Flow, Status, Reason string
	Digest               string
	Dropped, Read        int
	Written              int
}

func (s *site) flow(name string) flowStatus {
	var flows []flowStatus
	_, out, _ := command(append([]string{"status", "-o", "json"}, s.sets...)...)
	_ = json.Unmarshal([]byte(out), &flows) // nothing while it starts
	for _, f := range flows {
		if f.Flow == name {
			return f
		}
	}
	return flowStatus{}
}

// until waits for what has to come.
func (s *site) until(what string, ok func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(longest); !ok(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			_, status := s.verb("status")
			_, events := s.verb("events", "--level", "warn")
			s.t.Fatalf("did not come: %s\n%s%s", what, status, events)
		}
	}
}

// running is a run of the program.
type running struct {
	t    *testing.T
	cmd  *exec.Cmd
	mu   sync.Mutex
	text bytes.Buffer // what it printed, on both
}

func (s *site) start(args ...string) *running {
	s.t.Helper()
	d := &running{t: s.t, cmd: process(s.t, slices.Concat([]string{"run"}, s.sets, args)...)}
	d.cmd.Stdout, d.cmd.Stderr = d, d
	if err := d.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if d.cmd.ProcessState == nil {
			d.kill()
		}
		if s.t.Failed() {
			s.t.Logf("the daemon said\n%s", d.output())
		}
	})
	return d
}

func (d *running) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.text.Write(p)
}

func (d *running) output() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.text.String()
}

func (d *running) kill() {
	_ = d.cmd.Process.Kill()
	_ = d.cmd.Wait()
}

// stop ends it softly, and expects an exit code.
func (d *running) stop(code int) {
	d.t.Helper()
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		d.t.Fatal(err)
	}
	d.wait(code)
}

func (d *running) wait(code int) {
	d.t.Helper()
	timer := time.AfterFunc(longest, func() { _ = d.cmd.Process.Kill() })
	defer timer.Stop()
	_ = d.cmd.Wait()
	if got := d.cmd.ProcessState.ExitCode(); got != code {
		d.t.Errorf("the daemon ended with %d, want %d", got, code)
	}
}

// liveTicks is the later file of the real ticks, in its order, or shuffled.
func liveTicks(t *testing.T, shuffle *rand.Rand) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "examples", "stock_ticks", "data", "batch_2.json"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != 1668 {
		t.Fatalf("%d lines", len(lines))
	}
	if shuffle != nil {
		shuffle.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	}
	return lines
}

// wantTicks is what a plain program says that the two files come to: per key the row with the highest ts among those with a
// volume, as key,symbol,ts,close.
func wantTicks(t *testing.T) string {
	t.Helper()
	type row struct {
		Key, Symbol, TS string
		Close           float64
		Volume          int
	}
	best, dropped := map[string]row{}, 0
	for _, name := range []string{"batch_1.json", "batch_2.json"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "examples", "stock_ticks", "data", name))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			var r row
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatal(err)
			}
			if r.Volume <= 0 {
				dropped++
			} else if r.TS > best[r.Key].TS {
				best[r.Key] = r
			}
		}
	}
	if dropped != 52 {
		t.Fatalf("%d rows without a volume", dropped)
	}
	var lines []string
	for _, r := range best {
		lines = append(lines, fmt.Sprintf("%s,%s,%sZ,%.4f", r.Key, r.Symbol, strings.Replace(r.TS, " ", "T", 1), r.Close))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
