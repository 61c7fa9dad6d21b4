package main

import (
	"bufio"
	"context"
	"flag"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sluice/admin"
	"sluice/daemon"
	"sluice/eventlog"
	"sluice/fault"
	"sluice/internal/testenv"
	"sluice/state"
)

// beProcessor makes the test binary the program itself, so that it can be killed as one.
const beProcessor = "SLUICE_TEST_BE_PROCESSOR"

func TestMain(m *testing.M) {
	if os.Getenv(beProcessor) != "" {
		main()
	}
	testenv.Main(m)
}

// process starts the program as a process of its own.
func process(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.Command(os.Args[0], args...)
	c.Env = append(os.Environ(), beProcessor+"=1")
	c.Stderr = t.Output()
	return c
}

// brokerProcess starts the embedded broker in a process of its own and returns its address.
func brokerProcess(t *testing.T) string {
	t.Helper()
	c := process(t, "broker", "--listen", "127.0.0.1:0", "--data", t.TempDir())
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(strings.TrimPrefix(line, "listening on "))
}

var (
	seedFlag = flag.Uint64("seed", 0, "draw records, partitions and moments from this seed")
	kills    = flag.Int("kills", 20, "TestKilledDaemonLosesAndDoublesNothing: so many kills, over 50,000 records each; SLUICE_SOAK=1 takes 200")
)

// drawing is what a test draws from. It says with which seed the test draws the same again.
func drawing(t *testing.T) *rand.Rand {
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("go test ./cmd/processor -run '%s' -seed %d", t.Name(), seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// killed is a pipeline through which every record goes three times: into raw by a backfill or from a topic, from there into newest by the
// rule, and what that changes into a topic, a table and files, each of which keeps every change it gets.
var killed = map[string]string{
	"pipeline.yml": "name: killed\nstorage: state\nlibraries:\n  - glob: {include: flows.sql}\nconfiguration:\n  sluice.listen: 127.0.0.1:0\n" +
		"  sluice.log_level: warn\n  sluice.max_batch_rows: '5000'\n  sluice.sync_interval: 10ms\n  pipelines.trigger.interval: 10ms\n",
	"flows.sql": `CREATE STREAMING TABLE raw (CONSTRAINT whole EXPECT (n > -2) ON VIOLATION DROP ROW) TBLPROPERTIES ('sluice.digest' = 'true');
CREATE FLOW backfill AS INSERT ONCE INTO raw BY NAME
  SELECT * FROM read_files('history.json', format => 'json', schema => 'k BIGINT, seq BIGINT, id BIGINT, n INT');
CREATE FLOW live DEPENDS ON (backfill) AS INSERT INTO raw BY NAME
  SELECT * FROM STREAM read_kafka(subscribe => 'live', format => 'json', schema => 'k BIGINT, seq BIGINT, id BIGINT, n INT');
CREATE STREAMING TABLE newest (CONSTRAINT valid EXPECT (n >= 0) ON VIOLATION DROP ROW) TBLPROPERTIES ('sluice.digest' = 'true')
  FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT * FROM STREAM(raw);
CREATE SINK topic FORMAT kafka OPTIONS (topic => 'out', create_topic => 3, mode => 'append');
CREATE FLOW to_topic AS INSERT INTO SINK topic BY NAME SELECT k, seq, id FROM STREAM(newest) WITH (readChangeFeed = true);
CREATE SINK rows FORMAT postgres OPTIONS (url => '${env:PGURL}', table => 'out', create_table => true, mode => 'append');
CREATE FLOW to_rows AS INSERT INTO SINK rows BY NAME SELECT k, seq, id FROM STREAM(newest) WITH (readChangeFeed = true);
CREATE SINK files FORMAT file OPTIONS (path => 'out', format => 'json');
CREATE FLOW to_files AS INSERT INTO SINK files BY NAME SELECT k, seq, id FROM STREAM(newest) WITH (readChangeFeed = true);`,
}

// Kill -9 at random moments over the whole life of the daemon: while it starts, drains a backfill, reads a topic, feeds three sinks, commits
// (every 10 ms, and before each batch of a sink), and stops. Tables, sinks and counts end as a plain program says; a read_committed
// consumer sees each batch once, and the once flow drains once (PT-07, DO-18, DO-19, ON-O2, D-18).
func TestKilledDaemonLosesAndDoublesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	if os.Getenv("SLUICE_SOAK") == "1" {
		*kills = 200
	}
	size := *kills * 50_000
	t.Logf("-kills %d", *kills)
	random := drawing(t)
	database := testenv.Postgres(t)
	t.Setenv("PGURL", database)
	broker := brokerProcess(t)
	content := maps.Clone(killed)
	content["forever.yml"] = content["pipeline.yml"] + "continuous: true\n"
	k := &killing{t: t, dir: files(t, content), random: random, records: drawRecords(random, size)}
	k.flags = []string{"--spec", k.dir, "--set", "kafka.bootstrap.servers=" + broker}
	k.records.write(t, filepath.Join(k.dir, "history.json"), 0, size/2)
	k.records.write(t, filepath.Join(k.dir, "live.json"), size/2, size)
	must(t, "topic", "put", "live", filepath.Join(k.dir, "live.json"), "--brokers", broker, "--create", "4", "--key", "k")

	for i := range *kills {
		k.kill(i, (float64(i)+random.Float64())/float64(*kills))
	}
	if code, out, err := k.command("run"); code != exitOK {
		t.Fatalf("the last run: exit %d\n%s%s", code, out, err)
	}

	end := k.stored()
	k.checkCounts(end)
	k.checkEvents()
	k.checkTables()
	must(t, append([]string{"digest", "--verify", "raw", "newest"}, k.flags...)...) // D-29
	for name, changes := range map[string]*changes{"topic": k.inTopic(broker, end.flows["to_topic"]), "table": k.inDatabase(database, end.flows["to_rows"]),
		"files": k.inFiles(end.flows["to_files"])} {
		changes.check(name, end)
	}
}

// killing is a run of the test.
type killing struct {
	t       *testing.T
	dir     string
	flags   []string
	random  *rand.Rand
	records *records
}

func (k *killing) command(args ...string) (code int, out, err string) {
	return command(append(args, k.flags...)...)
}

// kill starts the daemon and kills it at a random moment after a share of all work is done. Of five times one comes while it starts, and one
// while it stops. The moments only have to be many and anywhere: nothing that is checked depends on them.
func (k *killing) kill(number int, share float64) {
	k.t.Helper()
	before, stopping := k.stored(), false
	c := process(k.t, slices.Concat([]string{"run"}, k.flags, []string{"--spec", filepath.Join(k.dir, "forever.yml")})...)
	if err := c.Start(); err != nil {
		k.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	within := 50 * time.Millisecond
	switch number % 5 {
	case 0:
		within, share = 400*time.Millisecond, 0
	case 4:
		stopping, within = true, 150*time.Millisecond
	}
	if share > 0 {
		k.await(share, before, c.Process.Pid, ended)
	}
	if stopping {
		_ = c.Process.Signal(syscall.SIGTERM)
	}
	time.Sleep(time.Duration(k.random.Int64N(int64(within))))
	_ = c.Process.Kill()
	if <-ended; c.ProcessState.Exited() && !stopping {
		k.t.Errorf("the daemon ended by itself: %v", c.ProcessState)
	}
	after := k.stored()
	k.t.Logf("kill %d, of %.0f %% to %.0f %% of the work, starting %v, stopping %v", number+1, 100*before.share(k.records), 100*after.share(k.records), share == 0, stopping)
}

// await waits until a share of the work is done.
func (k *killing) await(share float64, before *standings, pid int, ended chan error) {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(k.t.Context(), 10*time.Minute)
	defer cancel()
	for ctx.Err() == nil && len(ended) == 0 {
		if where, ok := daemon.ReadWhere(filepath.Join(k.dir, "state")); ok && where.PID == pid {
			status, err := admin.NewClient(where.Address, "").Status(ctx)
			if err == nil && before.plus(status.Flows).share(k.records) >= share {
				return
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
	if ctx.Err() != nil {
		k.t.Fatalf("%.0f %% of the work are not done", 100*share)
	}
}

// standings is how far the store has come.
type standings struct {
	flows  map[string]state.FlowInfo
	tables map[string]state.TableInfo // by the last part of their names
}

// stored reads the stopped store. Whenever that is, rows and counts are of the same batches (DO-18).
func (k *killing) stored() *standings {
	k.t.Helper()
	out := &standings{map[string]state.FlowInfo{}, map[string]state.TableInfo{}}
	s, err := state.Open(state.Options{Dir: filepath.Join(k.dir, "state"), Pipeline: "killed", ReadOnly: true})
	if fault.Of(err, fault.StoreNotFound) {
		return out // killed before there was one
	}
	if err != nil {
		k.t.Fatal(err)
	}
	defer s.Close()
	flows, err := s.Flows()
	if err != nil {
		k.t.Fatal(err)
	}
	tables, err := s.Tables()
	if err != nil {
		k.t.Fatal(err)
	}
	for _, f := range flows {
		out.flows[f.Name] = f
	}
	for _, i := range tables {
		out.tables[i.Name[strings.LastIndexByte(i.Name, '.')+1:]] = i
	}
	raw, newest := out.tables["raw"], out.flows["newest"].Counters
	if written := out.count("backfill", "written") + out.count("live", "written"); raw.Rows != written {
		k.t.Fatalf("raw has %d rows, its flows have written %d", raw.Rows, written)
	}
	if n := newest["dropped"] + newest["written"] + newest["superseded"] + newest["late"]; n != newest["records"] {
		k.t.Fatalf("newest has read %d rows, and its counts are of %d: %v", newest["records"], n, newest)
	}
	return out
}

func (s *standings) count(flow, counter string) int64 { return s.flows[flow].Counters[counter] }

// plus adds what a running daemon has read since it started.
func (s *standings) plus(flows []admin.Flow) *standings {
	out := &standings{map[string]state.FlowInfo{}, nil}
	for _, f := range flows {
		out.flows[f.Name] = state.FlowInfo{Counters: map[string]int64{"records": s.count(f.Name, "records") + f.Counts.Read}}
	}
	return out
}

// share is how much of the work is done, without that of the sinks, which is not known before.
func (s *standings) share(r *records) float64 {
	return float64(s.count("backfill", "records")+s.count("live", "records")+s.count("newest", "records")) / float64(len(r.all)+int(r.inRaw))
}

// checkEvents looks into the event log: once the once flow had drained it never ran again (DO-18, ON-O2).
func (k *killing) checkEvents() {
	k.t.Helper()
	s, err := state.Open(state.Options{Dir: filepath.Join(k.dir, "state"), Pipeline: "killed", ReadOnly: true})
	if err != nil {
		k.t.Fatal(err)
	}
	defer s.Close()
	var said []string
	err = daemon.Events(k.t.Context(), s, 0, func(r eventlog.Record) bool {
		if state, ok := strings.CutPrefix(r.Message, "flow backfill is "); ok && r.EventType == "flow_progress" {
			said = append(said, strings.FieldsFunc(state, func(c rune) bool { return c == ':' || c == ' ' })[0])
		}
		return true
	})
	if err != nil {
		k.t.Fatal(err)
	}
	drained := slices.IndexFunc(said, func(s string) bool { return s == "COMPLETED" || s == "IDLE" })
	if drained < 1 || !slices.Contains(said[:drained], "RUNNING") {
		k.t.Fatalf("the backfill has not drained: %v", said)
	}
	for _, s := range said[drained+1:] {
		if s != "QUEUED" && s != "IDLE" {
			k.t.Errorf("the backfill had drained, and was %s afterwards: %v", s, said)
		}
	}
}
