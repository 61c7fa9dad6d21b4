package main

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/internal/testenv"
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

// Kill -9 at twenty random moments while a backfill drains, a topic is read and two sinks are fed: nothing is lost or
// doubled, and the once flow drains once (PT-07, DO-18, DO-19, ON-O2).
func TestKilledDaemonLosesAndDoublesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	const keys, history, live = 500, 500_000, 500_000
	random := rand.New(rand.NewPCG(1, 2))
	best := map[int]int{}
	lines := func(n int) string {
		var b strings.Builder
		for range n {
			key, seq := random.IntN(keys), random.IntN(1_000_000_000)
			best[key] = max(best[key], seq)
			fmt.Fprintf(&b, "{\"k\":%d,\"seq\":%d,\"pad\":%q}\n", key, seq, strings.Repeat("x", 20))
		}
		return b.String()
	}
	dir := files(t, map[string]string{
		"history.json": lines(history),
		"live.json":    lines(live),
		"pipeline.yml": "name: killed\nstorage: state\nlibraries:\n  - glob: {include: flows.sql}\ncontinuous: true\nconfiguration:\n  sluice.listen: 127.0.0.1:0\n" +
			"  sluice.max_batch_rows: '200'\n  pipelines.trigger.interval: 10ms\n",
		"flows.sql": `CREATE STREAMING TABLE raw TBLPROPERTIES ('sluice.digest' = 'true');
CREATE FLOW backfill AS INSERT ONCE INTO raw BY NAME SELECT k, seq FROM read_files('history.json', format => 'json', schema => 'k BIGINT, seq BIGINT');
CREATE FLOW live DEPENDS ON (backfill) AS INSERT INTO raw BY NAME SELECT k, seq FROM STREAM read_kafka(subscribe => 'live', format => 'json', schema => 'k BIGINT, seq BIGINT');
CREATE STREAMING TABLE newest TBLPROPERTIES ('sluice.digest' = 'true') FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT * FROM STREAM(raw);
CREATE SINK topic FORMAT kafka OPTIONS (topic => 'out', create_topic => 1, mode => 'append');
CREATE FLOW to_topic AS INSERT INTO SINK topic BY NAME SELECT k, seq FROM STREAM(newest) WITH (readChangeFeed = true);
CREATE SINK files FORMAT file OPTIONS (path => 'out', format => 'json');
CREATE FLOW to_files AS INSERT INTO SINK files BY NAME SELECT k, seq FROM STREAM(newest) WITH (readChangeFeed = true);`,
	})
	broker := brokerProcess(t)
	set := "kafka.bootstrap.servers=" + broker
	must(t, "topic", "put", "live", filepath.Join(dir, "live.json"), "--brokers", broker, "--create", "4", "--key", "k")

	kills, inside := 0, 0
	for kills < 20 {
		c := process(t, "run", "--spec", dir, "--set", set)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(120+random.IntN(200)) * time.Millisecond) // what is tested is that any moment will do
		c.Process.Kill()
		c.Wait()
		kills++
		if n := stored(t, dir, set, "raw"); n > 0 && n < history+live {
			inside++
		}
	}
	if t.Logf("%d of %d kills came before everything was read", inside, kills); inside < 15 {
		t.Errorf("only %d kills came in the middle of the work", inside)
	}
	finish(t, dir, set, history+live)
	must(t, "digest", "--verify", "raw", "newest", "--spec", dir, "--set", set) // D-29

	var want []string
	for key, seq := range best {
		want = append(want, fmt.Sprintf("%d,%d", key, seq))
	}
	sort.Strings(want)
	query := []string{"query", "--spec", dir, "--set", set, "-o", "csv"}
	got := strings.Split(strings.TrimSpace(must(t, append(query, "SELECT k, seq FROM newest")...)), "\n")[1:]
	sort.Strings(got)
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the table has %d rows, want %d", len(got), len(want))
	}
	out := must(t, "topic", "cat", "out", "--brokers", broker)
	files, err := filepath.Glob(filepath.Join(dir, "out", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	var written strings.Builder
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		written.Write(text)
	}
	for name, text := range map[string]string{"topic": out, "files": written.String()} {
		if got := foldChanges(t, text); got != strings.Join(want, "\n") {
			t.Errorf("the %s fold to %d rows, want %d", name, strings.Count(got, "\n")+1, len(want))
		}
	}
}

// finish runs the daemon until everything was delivered, then stops it softly.
func finish(t *testing.T, dir, set string, rows int) {
	t.Helper()
	c := process(t, "run", "--spec", dir, "--set", set)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	context.AfterFunc(ctx, func() { c.Process.Kill() })
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "all flows have caught up") && storedLive(t, dir, set) == rows {
			c.Process.Signal(os.Interrupt)
		}
	}
	if err := c.Wait(); err != nil {
		t.Fatalf("the daemon ended with %v", err)
	}
}

// stored counts the rows of a table in the stopped store.
func stored(t *testing.T, dir, set, table string) int {
	t.Helper()
	code, out, _ := command("query", "--spec", dir, "--set", set, "-o", "csv", "SELECT count(*) AS n FROM "+table)
	if code != exitOK {
		return 0 // killed before there was a table
	}
	n, err := strconv.Atoi(strings.Split(strings.TrimSpace(out), "\n")[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// storedLive counts the rows of raw in the running daemon.
func storedLive(t *testing.T, dir, set string) int { t.Helper(); return stored(t, dir, set, "raw") }

// foldChanges adds up the inserts and deletes of a change feed, one JSON object a line.
func foldChanges(t *testing.T, text string) string {
	t.Helper()
	live := map[string]int{}
	for line := range strings.Lines(text) {
		var change string
		var k, seq int
		if _, err := fmt.Sscanf(line, `{"_change_type":"insert","k":%d,"seq":%d}`, &k, &seq); err == nil {
			change = "insert"
		} else if _, err := fmt.Sscanf(line, `{"_change_type":"delete","k":%d,"seq":%d}`, &k, &seq); err == nil {
			change = "delete"
		} else {
			t.Fatalf("not a change: %s", line)
		}
		row := fmt.Sprintf("%d,%d", k, seq)
		if change == "insert" {
			live[row]++
		} else {
			live[row]--
		}
		if live[row] == 0 {
			delete(live, row)
		}
	}
	var out []string
	for row, n := range live {
		for range n {
			out = append(out, row)
		}
		if n < 0 {
			t.Errorf("%s was deleted more often than inserted", row)
		}
	}
	sort.Strings(out)
	return strings.Join(out, "\n")
}
