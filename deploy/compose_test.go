package deploy

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// tick is a record of the example.
type tick struct {
	Key    string  `json:"key"`
	Symbol string  `json:"symbol"`
	TS     string  `json:"ts"`
	Close  float64 `json:"close"`
	Volume int64   `json:"volume"`
}

// newest is the independent answer: per key the record with the highest ts among those with a volume.
type newest map[string]tick

func (n newest) add(r tick) {
	if r.Volume > 0 && r.TS > n[r.Key].TS {
		n[r.Key] = r
	}
}

func (n newest) addFile(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var r tick
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		n.add(r)
	}
}

func (n newest) lines() []string {
	var out []string
	for key, r := range n {
		out = append(out, fmt.Sprintf("%s %s %s %d", key, r.Symbol, r.TS, r.Volume))
	}
	sort.Strings(out)
	return out
}

const allTicks = `SELECT concat_ws(' ', key, symbol, to_char(ts AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS'), volume) FROM ticks`

// arrive waits until the database has exactly the newest rows.
func (s *stack) arrive(t *testing.T, want newest) {
	t.Helper()
	lines := want.lines()
	until(t, "PostgreSQL has the newest row of every key", func() (bool, string) {
		got := s.rows(t, allTicks)
		sort.Strings(got)
		return strings.Join(got, "\n") == strings.Join(lines, "\n"), fmt.Sprintf("%d rows of %d", len(got), len(lines))
	})
}

// TestContainers runs compose.yml as it is: rows arrive, the container shows what it does, and neither docker stop nor kill -9
// in the middle of the work loses or doubles a row (PT-07, D-39).
func TestContainers(t *testing.T) {
	if testing.Short() {
		t.Skip("starts containers")
	}
	s, want := start(t), newest{}
	for _, name := range []string{"batch_1.json", "batch_2.json"} {
		want.addFile(t, filepath.Join("..", "examples", "stock_ticks_postgres", "data", name))
	}
	s.arrive(t, want)
	for _, step := range []struct {
		name string
		run  func(*testing.T, *stack, newest)
	}{
		{"it is healthy and shows what it does", shown},
		{"nothing but the volume is written", readOnly},
		{"docker stop ends the batch", stopped},
		{"kill -9 loses and doubles nothing", killed},
		{"a verb reads the store of a stopped daemon", offline},
		{"secrets are not shown", secret},
		{"a backup is restored", restored},
	} {
		if !t.Run(step.name, func(t *testing.T) { step.run(t, s, want) }) {
			break
		}
	}
}

func shown(t *testing.T, s *stack, _ newest) {
	until(t, "the container is healthy", func() (bool, string) {
		health := s.inspect(t, "{{.State.Health.Status}}")
		return health == "healthy", health
	})
	for flow, want := range map[string]string{"ticks_backfill": "COMPLETED", "ticks_live": "RUNNING", "ticks": "RUNNING", "publish": "RUNNING"} {
		if got := s.flows(t)[flow]; got != want {
			t.Errorf("flow %s is %s, want %s", flow, got, want)
		}
	}
	if out := s.verb(t, "query", "SELECT count(*) AS n FROM ticks", "-o", "csv"); out != "n\n197\n" {
		t.Errorf("query: %s", out)
	}
	if out := s.verb(t, "dry-run", "--connect", "--set", "kafka.bootstrap.servers=kafka:9092", "-o", "csv"); strings.Count(out, ",ok,") != 3 {
		t.Errorf("dry-run --connect: %s", out)
	}
	if code, _ := s.get(t, "/metrics", ""); code != http.StatusUnauthorized {
		t.Errorf("metrics without the token: %d", code)
	}
	code, text := s.get(t, "/metrics", s.token)
	if code != http.StatusOK || !strings.Contains(text, `sluice_table_rows{table="ticks"} 197`) {
		t.Errorf("metrics: %d\n%s", code, text)
	}
	if code, text := s.get(t, "/readyz", s.token); code != http.StatusOK {
		t.Errorf("readyz: %d %s", code, text)
	}
}

// get asks the daemon, as Prometheus does.
func (s *stack) get(t *testing.T, path, token string) (code int, body string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.api+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		q.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

func readOnly(t *testing.T, s *stack, _ newest) {
	if got := s.inspect(t, "{{.HostConfig.ReadonlyRootfs}} {{.Config.User}} {{.HostConfig.CapDrop}}"); got != "true 65532:65532 [ALL]" {
		t.Errorf("read-only, user and capabilities: %s", got)
	}
	for line := range strings.Lines(mustDocker(t, "diff", s.container(t))) {
		if !strings.HasPrefix(line, "A /run") && !strings.HasPrefix(line, "C /run") { // where the token is mounted
			t.Errorf("changed beside the volume: %s", line)
		}
	}
}

// produce writes n ticks of 500 keys in any order; each has a time of its own.
func (s *stack) produce(t *testing.T, want newest, n int) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(s.kafka))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	var records []*kgo.Record
	for _, i := range rand.Perm(n) {
		r := tick{Key: fmt.Sprintf("key %d", i%500), Symbol: "TEST", Close: 1.25, Volume: int64(i) - 5,
			TS: time.Date(2018, 9, 1, 0, 0, s.produced+i, 0, time.UTC).Format(time.DateTime)}
		want.add(r)
		value, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, &kgo.Record{Topic: "ticks", Key: []byte(r.Key), Value: value})
	}
	if err := cl.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	s.produced += n
}

// inTheMiddle produces records and ends the daemon when the first of them have arrived.
func (s *stack) inTheMiddle(t *testing.T, want newest, end func()) {
	t.Helper()
	before := strings.Join(s.rows(t, "SELECT sum(volume)::text FROM ticks"), "")
	s.produce(t, want, 20_000)
	until(t, "the first rows arrive", func() (bool, string) {
		now := strings.Join(s.rows(t, "SELECT sum(volume)::text FROM ticks"), "")
		return now != before, now
	})
	end()
	got := s.rows(t, allTicks)
	sort.Strings(got)
	if strings.Join(got, "\n") == strings.Join(want.lines(), "\n") {
		t.Error("the daemon had finished before it was ended, so this shows nothing")
	}
}

func stopped(t *testing.T, s *stack, want newest) {
	s.inTheMiddle(t, want, func() { mustDocker(t, "stop", "--time", "60", s.container(t)) })
	if got := s.inspect(t, "{{.State.ExitCode}}"); got != "0" {
		t.Errorf("docker stop: exit code %s", got)
	}
	s.compose(t, "start", "sluice")
	s.arrive(t, want)
}

func killed(t *testing.T, s *stack, want newest) {
	s.inTheMiddle(t, want, func() { mustDocker(t, "kill", "--signal", "KILL", s.container(t)) })
	if got := s.inspect(t, "{{.State.ExitCode}}"); got != "137" {
		t.Errorf("docker kill: exit code %s", got)
	}
	s.compose(t, "start", "sluice")
	s.arrive(t, want)
	if got := s.rows(t, "SELECT count(*)::text FROM ticks"); len(got) != 1 || got[0] != fmt.Sprint(len(want)) {
		t.Errorf("%v rows, want %d", got, len(want))
	}
}

func offline(t *testing.T, s *stack, want newest) {
	mustDocker(t, "stop", s.container(t))
	out := mustDocker(t, "run", "--rm", "--read-only", "--volumes-from", s.container(t), "--env", "PGURL=postgres://unused", s.image,
		"query", "SELECT count(*) AS n FROM ticks", "-o", "csv")
	if out != fmt.Sprintf("n\n%d\n", len(want)) {
		t.Errorf("query of the stopped store: %s", out)
	}
}

// D-54: neither the password, which is in the url of the sink, nor the token is in the log.
func secret(t *testing.T, s *stack, _ newest) {
	logs := s.logs(t)
	if !strings.Contains(logs, "publish") {
		t.Fatalf("no log: %s", logs)
	}
	for _, hidden := range []string{s.password, s.token} {
		if strings.Contains(logs, hidden) {
			t.Errorf("%s is in the log", hidden)
		}
	}
}

// As docs/operations.md says: the volume goes out, away, and in again, and the daemon goes on where it was.
func restored(t *testing.T, s *stack, want newest) {
	id, volume := s.container(t), s.project+"_sluice"
	mustDocker(t, "stop", id)
	archive := filepath.Join(t.TempDir(), "backup.tar")
	piped(t, nil, archive, "cp", id+":/var/lib/sluice", "-")
	mustDocker(t, "rm", id)
	mustDocker(t, "volume", "rm", volume)
	restore := s.project + "restore"
	mustDocker(t, "create", "--name", restore, "--volume", volume+":/var/lib/sluice", s.image)
	defer mustDocker(t, "rm", restore)
	in, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	piped(t, in, os.DevNull, "cp", "-", restore+":/var/lib")
	s.compose(t, "up", "--detach", "--no-deps", "sluice")
	s.produce(t, want, 500)
	s.arrive(t, want)
	if got := s.flows(t)["publish"]; got != "RUNNING" {
		t.Errorf("publish is %s", got)
	}
}

// piped runs Docker's command line with a file as its input and another as its output.
func piped(t *testing.T, in io.Reader, out string, args ...string) {
	t.Helper()
	f, err := os.Create(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var complaints bytes.Buffer
	c := exec.Command("docker", args...)
	c.Stdin, c.Stdout, c.Stderr = in, f, &complaints
	if err := c.Run(); err != nil {
		t.Fatalf("docker %v: %v\n%s", args, err, complaints.String())
	}
}

// A volume that belongs to somebody else is an error that says whom to give it to.
func TestUnwritableVolume(t *testing.T) {
	image, volume := testenv.Image(t), t.TempDir()
	if err := os.Chmod(volume, 0o755); err != nil {
		t.Fatal(err)
	}
	pipeline, err := filepath.Abs("../examples/stock_ticks_one_table")
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"rw", "ro"} {
		out, code := docker(t, "run", "--rm", "--read-only", "--volume", pipeline+":/pipeline:ro", "--volume", volume+":/var/lib/sluice:"+mode, image)
		if code != 1 || !strings.Contains(out, "STORE_NOT_WRITABLE") || !strings.Contains(out, "chown -R 65532 ") {
			t.Errorf("%s: exit %d\n%s", mode, code, out)
		}
	}
}

// Time zones and the certificates of public authorities are in the image, which has nothing but the binary.
func TestImage(t *testing.T) {
	image := testenv.Image(t)
	pipeline, err := filepath.Abs("../examples/stock_ticks_one_table")
	if err != nil {
		t.Fatal(err)
	}
	for zone, want := range map[string]int{"Europe/Berlin": 0, "Europe/Nowhere": 1} {
		if out, code := docker(t, "run", "--rm", "--read-only", "--volume", pipeline+":/pipeline:ro", image, "dry-run", "--set", "spark.sql.session.timeZone="+zone); code != want {
			t.Errorf("%s: exit %d\n%s", zone, code, out)
		}
	}
	id := strings.TrimSpace(mustDocker(t, "create", image))
	defer mustDocker(t, "rm", "--volumes", id)
	binary := filepath.Join(t.TempDir(), "processor")
	mustDocker(t, "cp", id+":/processor", binary)
	text, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(text, []byte("ISRG Root X1")) {
		t.Error("the certificates are not in the binary")
	}
}
