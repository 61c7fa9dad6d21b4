package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/testcontainers/testcontainers-go"

	"sluice/fault"
	"sluice/internal/broker"
	"sluice/internal/testenv"
)

// outside is a pipeline that reads a topic and files, and writes a topic, a table, files and a program. Each line that names
// something outside is a line of its own.
const outside = `CREATE STREAMING TABLE history AS SELECT * FROM STREAM read_files(
  '%[1]s', format => 'json', schema => 'k BIGINT, seq BIGINT');
CREATE STREAMING TABLE newest FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT * FROM STREAM read_kafka(
  subscribe => '%[2]s',
  format => 'json', schema => 'k BIGINT, seq BIGINT');
CREATE SINK topic FORMAT kafka OPTIONS (mode => 'append',
  topic => '%[3]s');
CREATE FLOW to_topic AS INSERT INTO SINK topic BY NAME SELECT k, seq FROM STREAM(newest) WITH (readChangeFeed = true);
CREATE SINK tables FORMAT postgres OPTIONS (mode => 'replace_using', keys => 'k', sequence => 'seq',
  url => '${env:PGURL}',
  table => '%[4]s');
CREATE FLOW to_table AS INSERT INTO SINK tables BY NAME SELECT k, seq FROM STREAM(newest) WITH (readChangeFeed = true);
CREATE SINK files FORMAT file OPTIONS (
  path => '%[5]s');
CREATE FLOW to_files AS INSERT INTO SINK files BY NAME SELECT k, seq FROM STREAM(newest) WITH (readChangeFeed = true);
CREATE SINK program FORMAT exec OPTIONS (
  command => '%[6]s');
CREATE FLOW to_program AS INSERT INTO SINK program BY NAME SELECT k, seq FROM STREAM(newest) WITH (readChangeFeed = true);`

// world is what a pipeline finds outside: a topic "there" and tables "fits" and "narrow".
type world struct {
	brokers  []string
	database string
}

func newWorld(t *testing.T, brokers []string) world {
	t.Helper()
	w := world{brokers, testenv.Postgres(t)}
	w.ask(t, "CREATE TABLE fits (k bigint, seq bigint)")
	w.ask(t, "CREATE TABLE narrow (k integer)")
	cl := w.client(t)
	if _, err := kadm.NewClient(cl).CreateTopic(t.Context(), 2, 1, nil, "there"); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w world) client(t *testing.T) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(w.brokers...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

func (w world) ask(t *testing.T, sql string) (out []string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), w.database)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	rows, err := c.Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	if out, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
		t.Fatal(err)
	}
	return out
}

// all is everything that there is outside.
func (w world) all(t *testing.T, dir string) string {
	t.Helper()
	topics, err := kadm.NewClient(w.client(t)).ListTopics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	names := topics.Names()
	slices.Sort(names)
	tables := w.ask(t, "SELECT relname::text FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY 1")
	var files []string
	if err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		files = append(files, strings.TrimPrefix(path, dir))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(names, tables, files)
}

// connect runs dry-run --connect and makes sure that it leaves everything as it is.
func (w world) connect(t *testing.T, dir string, args ...string) (code int, out, err string) {
	t.Helper()
	before := w.all(t, dir)
	code, out, err = command(append([]string{"dry-run", "--connect", "--spec", dir, "--set", "kafka.bootstrap.servers=" + w.brokers[0]}, args...)...)
	if after := w.all(t, dir); after != before {
		t.Errorf("it left\n%s\nwhere there was\n%s", after, before)
	}
	return code, strings.ReplaceAll(out, dir+"/", ""), strings.ReplaceAll(err, dir+"/", "")
}

// onEachBroker runs a test against the embedded broker and real Kafka, both of which create topics that are asked for if
// the client lets them.
func onEachBroker(t *testing.T, test func(t *testing.T, brokers []string)) {
	t.Run("embedded", func(t *testing.T) { test(t, testenv.Broker(t, broker.Options{}).Brokers()) })
	t.Run("real", func(t *testing.T) {
		if testing.Short() {
			t.Skip("starts a container")
		}
		test(t, testenv.StartKafka(t, testcontainers.WithEnv(map[string]string{"KAFKA_AUTO_CREATE_TOPICS_ENABLE": "true"})).Brokers)
	})
}

// D-56: dry-run --connect looks at brokers, topics, files and sinks, reports every problem at once, each with its place, and
// makes nothing.
func TestDryRunConnect(t *testing.T) {
	onEachBroker(t, func(t *testing.T, brokers []string) {
		w := newWorld(t, brokers)
		t.Setenv("PGURL", w.database)
		good := project(t, fmt.Sprintf(outside, "in.json", "there", "there", "fits", "out", "env"), map[string]string{"in.json": ""})
		code, out, problems := w.connect(t, good, "-o", "csv")
		if code != exitOK || strings.Count(out, ",ok,") != 6 || problems != "" {
			t.Errorf("exit %d\n%s%s", code, out, problems)
		}

		bad := project(t, fmt.Sprintf(outside, "missing.json", "their", "theirs", "narrow", "in.json/out", "./missing"), map[string]string{"in.json": ""})
		code, _, problems = w.connect(t, bad)
		if code != exitFailure {
			t.Errorf("exit %d", code)
		}
		lines := strings.Split(strings.TrimSpace(problems), "\n")
		want := []string{
			`flows.sql:2:3: PATH_NOT_FOUND: `,
			`flows.sql:4:3: UNKNOWN_TOPIC_OR_PARTITION: topic their does not exist; hint: did you mean "there"?`,
			`flows.sql:7:3: UNKNOWN_TOPIC_OR_PARTITION: topic theirs does not exist; hint: did you mean "there"?`,
			`flows.sql:11:3: POSTGRES_COLUMN_MISMATCH: `,
			`flows.sql:14:3: FILE_NOT_WRITTEN.PATH: `,
			`flows.sql:17:3: EXEC_SINK_NOT_STARTED: `,
		}
		if len(lines) != len(want) {
			t.Fatalf("%d problems, want %d:\n%s", len(lines), len(want), problems)
		}
		for i, line := range lines {
			if !strings.HasPrefix(line, want[i]) {
				t.Errorf("problem %d: %s\nwant %s", i, line, want[i])
			}
		}
		readsJSON(t, w, bad)
	})
}

// readsJSON checks the same for a program that reads it.
func readsJSON(t *testing.T, w world, dir string) {
	t.Helper()
	code, out, _ := w.connect(t, dir, "-o", "json")
	var rows []struct{ Flow, Role, Kind, Name, Status, Position, Message, Hint string }
	if err := json.Unmarshal([]byte(out), &rows); err != nil || code != exitFailure {
		t.Fatalf("exit %d: %v\n%s", code, err, out)
	}
	for _, r := range rows {
		if r.Flow == "to_table" && (r.Role != "sink" || r.Kind != "postgres" || r.Name != "tables" || r.Status != fault.PostgresColumn.Name ||
			r.Position != "flows.sql:11:3" || r.Message == "" || r.Hint == "") {
			t.Errorf("%+v", r)
		}
		if r.Status == "ok" {
			t.Errorf("%+v has problems", r)
		}
	}
	if len(rows) != 6 {
		t.Errorf("%d rows\n%s", len(rows), out)
	}
}

// Nobody listens, and a database that lets nobody of that name in.
func TestDryRunConnectToWhatIsDown(t *testing.T) {
	w := world{[]string{fmt.Sprintf("127.0.0.1:%d", testenv.FreePort(t))}, testenv.Postgres(t)}
	dir := project(t, fmt.Sprintf(outside, "in.json", "there", "there", "fits", "out", "env"), map[string]string{"in.json": ""})
	t.Setenv("PGURL", strings.Replace(w.database, "sluice@", "nobody:not-to-be-seen@", 1))
	args := []string{"dry-run", "--connect", "--spec", dir, "--set", "kafka.bootstrap.servers=" + w.brokers[0]}
	code, out, problems := command(args...)
	for _, want := range []string{"flows.sql:4:3: KAFKA_UNAVAILABLE: ", "flows.sql:7:3: KAFKA_UNAVAILABLE: ", "flows.sql:10:3: POSTGRES_AUTHENTICATION_FAILED: "} {
		if !strings.Contains(problems, want) {
			t.Errorf("want %s", want)
		}
	}
	if code != exitFailure || strings.Count(problems, "\n") != 3 || strings.Contains(out+problems, "not-to-be-seen") {
		t.Errorf("exit %d\n%s%s", code, out, problems)
	}
}

// Something accepts and never answers: the check ends all the same, and says so (D-56, A-100).
func TestDryRunConnectEndsInTime(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dir := project(t, fmt.Sprintf(outside, "in.json", "there", "there", "fits", "out", "env"), map[string]string{"in.json": ""})
	t.Setenv("PGURL", "postgres://nobody@"+l.Addr().String()+"/x")
	var out, problems bytes.Buffer
	a := &app{out: &out, err: &problems, output: "table", spec: dir, set: []string{"kafka.bootstrap.servers=" + l.Addr().String()}}
	p, err := a.load()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	err = a.dryConnect(ctx, p)
	if !fault.Of(err, fault.KafkaUnavailable) || !fault.Of(err, fault.PostgresUnavailable) || strings.Count(err.Error(), "in time") != 3 {
		t.Errorf("%v", err)
	}
	cancelled, stop := context.WithCancel(t.Context())
	stop()
	if err := a.dryConnect(cancelled, p); err != context.Canceled {
		t.Errorf("interrupted: %v", err)
	}
}

// credentials that real Kafka refuses, and a topic that the user may not write, each at the option that is wrong.
func TestDryRunConnectWithWrongCredentials(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a container")
	}
	c := testenv.NewCertificate(t)
	k := testenv.StartKafka(t, testenv.Secured(c, "admin", "admin-secret")...)
	dir := project(t, `CREATE STREAMING TABLE t AS SELECT * FROM STREAM read_kafka(subscribe => 'ticks',
  'kafka.security.protocol' => 'SASL_SSL', 'kafka.sasl.mechanism' => 'PLAIN', 'kafka.sasl.username' => 'admin',
  'kafka.ssl.truststore.location' => '`+c.TrustFile+`',
  'kafka.sasl.password' => '${env:KAFKA_PASSWORD}');`, nil)
	for password, want := range map[string]string{
		"not-to-be-seen": "flows.sql:4:3: KAFKA_AUTHENTICATION_FAILED: ",
		"admin-secret":   "flows.sql:1:61: UNKNOWN_TOPIC_OR_PARTITION: ",
	} {
		t.Setenv("KAFKA_PASSWORD", password)
		code, out, problems := command("dry-run", "--connect", "--spec", dir, "--set", "kafka.bootstrap.servers="+k.Brokers[0])
		if code != exitFailure || !strings.Contains(problems, want) || strings.Contains(out+problems, password) {
			t.Errorf("exit %d\n%s%s\nwant %s", code, out, problems, want)
		}
	}
}
