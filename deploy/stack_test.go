package deploy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/internal/testenv"
)

// stack is compose.yml at work, without Prometheus: as a user starts it, on ports and with secrets of its own.
type stack struct {
	project         string
	override        string
	environment     []string
	image           string
	kafka, api      string // addresses on this machine
	database        string
	token, password string
	produced        int // ticks, beside those of the example
}

// hurried makes many small batches of what a pipeline would take in one, so that a kill falls between two of them.
const hurried = `services:
  sluice:
    command: ["run", "--set", "kafka.bootstrap.servers=kafka:9092", "--set", "pipelines.trigger.interval=1ms"]
    environment:
      SLUICE_MAX_BATCH_ROWS: "100"
`

// start brings the services up and takes them down with their volumes at the end of the test.
func start(t *testing.T) *stack {
	t.Helper()
	dir := t.TempDir()
	s := &stack{
		project:  fmt.Sprintf("sluicetest%d", os.Getpid()),
		override: filepath.Join(dir, "override.yml"),
		image:    testenv.Image(t),
		token:    "token-not-to-be-seen-0123456789",
		password: "password-not-to-be-seen",
	}
	write(t, s.override, hurried)
	write(t, filepath.Join(dir, "token"), s.token)
	ports := map[string]int{"KAFKA_PORT": 0, "POSTGRES_PORT": 0, "SLUICE_PORT": 0}
	for name := range ports {
		ports[name] = testenv.FreePort(t)
		s.environment = append(s.environment, fmt.Sprintf("%s=%d", name, ports[name]))
	}
	s.kafka = fmt.Sprintf("127.0.0.1:%d", ports["KAFKA_PORT"])
	s.api = fmt.Sprintf("http://127.0.0.1:%d", ports["SLUICE_PORT"])
	s.database = fmt.Sprintf("postgres://sluice:%s@127.0.0.1:%d/sluice?sslmode=disable", s.password, ports["POSTGRES_PORT"])
	s.environment = append(s.environment, "SLUICE_TOKEN="+filepath.Join(dir, "token"), "POSTGRES_PASSWORD="+s.password)
	if strings.HasPrefix(os.Getenv("SLUICE_KAFKA_IMAGE"), "confluentinc/") {
		s.environment = append(s.environment, "SLUICE_KAFKA_IMAGE=") // for testcontainers; it takes other settings
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(s.logs(t))
		}
		s.compose(t, "down", "--volumes", "--timeout", "0")
	})
	s.compose(t, "up", "--detach", "kafka", "postgres", "seed", "sluice")
	return s
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (s *stack) compose(t *testing.T, args ...string) {
	t.Helper()
	c := exec.Command("../scripts/compose.sh", append([]string{"--file", s.override, "--project-name", s.project}, args...)...)
	c.Env = append(os.Environ(), s.environment...)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("compose %v: %v\n%s", args, err, out)
	}
}

// docker runs Docker's command line and returns what it printed, and its exit code.
func docker(t *testing.T, args ...string) (out string, code int) {
	t.Helper()
	c := exec.Command("docker", args...)
	var both bytes.Buffer
	c.Stdout, c.Stderr = &both, &both
	err := c.Run()
	if c.ProcessState == nil {
		t.Fatal(err)
	}
	return both.String(), c.ProcessState.ExitCode()
}

func mustDocker(t *testing.T, args ...string) string {
	t.Helper()
	out, code := docker(t, args...)
	if code != 0 {
		t.Fatalf("docker %v: exit %d\n%s", args, code, out)
	}
	return out
}

// container is the daemon's container.
func (s *stack) container(t *testing.T) string {
	t.Helper()
	return strings.TrimSpace(mustDocker(t, "ps", "--all", "--quiet", "--filter", "label=com.docker.compose.project="+s.project,
		"--filter", "label=com.docker.compose.service=sluice"))
}

func (s *stack) inspect(t *testing.T, what string) string {
	t.Helper()
	return strings.TrimSpace(mustDocker(t, "inspect", "--format", what, s.container(t)))
}

func (s *stack) logs(t *testing.T) string {
	t.Helper()
	out, _ := docker(t, "logs", s.container(t))
	return out
}

// verb runs a verb of processor in the daemon's container.
func (s *stack) verb(t *testing.T, args ...string) string {
	t.Helper()
	return mustDocker(t, append([]string{"exec", s.container(t), "/processor"}, args...)...)
}

// flows is what processor status says of each flow.
func (s *stack) flows(t *testing.T) map[string]string {
	t.Helper()
	var flows []struct{ Flow, Status string }
	if err := json.Unmarshal([]byte(s.verb(t, "status", "-o", "json")), &flows); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range flows {
		out[f.Flow] = f.Status
	}
	return out
}

// patience bounds what would else wait for ever.
const patience = 5 * time.Minute

// until asks again until done says so.
func until(t *testing.T, what string, done func() (ok bool, seen string)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		ok, seen := done()
		if ok {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: still not so; seen: %s", what, seen)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// rows asks PostgreSQL for lines of text.
func (s *stack) rows(t *testing.T, sql string) []string {
	t.Helper()
	c, err := pgx.Connect(t.Context(), s.database)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	found, err := c.Query(t.Context(), sql)
	if err != nil {
		return nil // before the first batch there is no table
	}
	out, err := pgx.CollectRows(found, pgx.RowTo[string])
	if err != nil {
		return nil
	}
	return out
}
