package main

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/testcontainers/testcontainers-go"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"

	"sluice/fault"
	"sluice/internal/testenv"
)

// login is what a source and a sink of Kafka need to get in. The names stand for what a test puts there.
const login = `'kafka.security.protocol' => 'SASL_SSL', 'kafka.ssl.truststore.location' => 'TRUST', 'kafka.sasl.mechanism' => 'MECHANISM', CREDENTIALS`

// Over TLS, with a login by PLAIN and by SCRAM, and with logins that are refused; and a topic that is missing on a broker
// that would make it. No secret is seen anywhere (D-54).
func TestRealSecureKafka(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a container")
	}
	c := testenv.NewCertificate(t)
	const password, scram = "admin-not-to-be-seen", "alice-not-to-be-seen"
	kafka := testenv.StartKafka(t, append(testenv.Secured(c, "admin", password), testcontainers.WithEnv(map[string]string{"KAFKA_AUTO_CREATE_TOPICS_ENABLE": "true"}))...)
	trusted := c.TLS.Clone()
	trusted.InsecureSkipVerify = true
	as := []kgo.Opt{kgo.DialTLSConfig(trusted), kgo.SASL(plain.Auth{User: "admin", Pass: password}.AsMechanism())}
	secured := func(t *testing.T, sql, mechanism, credentials string) *site {
		sql = strings.NewReplacer("LOGIN", strings.NewReplacer("TRUST", c.TrustFile, "MECHANISM", mechanism, "CREDENTIALS", credentials).Replace(login)).Replace(sql)
		return newSite(t, kafka, map[string]string{"flows.sql": sql, "pipeline.yml": "name: TOPIC\nstorage: state\nlibraries:\n  - glob: {include: flows.sql}\ncontinuous: true\n" +
			"configuration:\n  sluice.log_level: debug\n"}, as...)
	}
	const there = `CREATE STREAMING TABLE t AS SELECT k FROM STREAM read_kafka(subscribe => 'TOPIC', format => 'json', schema => 'k BIGINT', LOGIN);
CREATE SINK out FORMAT kafka OPTIONS (topic => 'TOPIC_out', create_topic => 1, LOGIN);
CREATE FLOW publish AS INSERT INTO SINK out BY NAME SELECT k FROM STREAM(t);`
	const user = `'kafka.sasl.username' => '${env:USER_NAME}', 'kafka.sasl.password' => '${env:PASSWORD}'`

	passes := func(t *testing.T, s *site) {
		s.create(s.name, 1)
		s.put(s.name, 1, `{"k":1}`, `{"k":2}`)
		d := s.start()
		s.until("the records at both ends", func() bool {
			return s.query("SELECT count(*) FROM t") == "2" && len(s.committed(s.name+"_out")) == 2
		})
		s.seesNo(d, password, scram)
		d.stop(exitOK)
	}
	t.Run("plain", func(t *testing.T) {
		t.Setenv("USER_NAME", "admin")
		t.Setenv("PASSWORD", password)
		passes(t, secured(t, there, "PLAIN", user))
	})
	t.Run("scram", func(t *testing.T) {
		s := secured(t, there, "SCRAM-SHA-512", `'kafka.sasl.jaas.config' => '${env:JAAS}'`)
		if _, err := s.admin.AlterUserSCRAMs(t.Context(), nil, []kadm.UpsertSCRAM{{User: "alice", Mechanism: kadm.ScramSha512, Iterations: 4096, Password: scram}}); err != nil {
			t.Fatal(err)
		}
		t.Setenv("JAAS", `org.apache.kafka.common.security.scram.ScramLoginModule required username="alice" password="`+scram+`";`)
		passes(t, s)
	})
	// D-51: final, with its code; the run ends with 1.
	for _, mechanism := range []string{"PLAIN", "SCRAM-SHA-512"} {
		t.Run("refused_"+mechanism, func(t *testing.T) {
			const wrong = "guess-not-to-be-seen"
			t.Setenv("USER_NAME", "admin")
			t.Setenv("PASSWORD", wrong)
			t.Setenv("PGURL", strings.Replace(testenv.Postgres(t), "sluice@", "nobody:"+wrong+"@", 1))
			s := secured(t, there+`
CREATE STREAMING TABLE rows AS SELECT k FROM STREAM read_files('in/*.json', format => 'json', schema => 'k BIGINT');
CREATE SINK database FORMAT postgres OPTIONS (url => '${env:PGURL}', table => 'rows', create_table => true, mode => 'append');
CREATE FLOW store AS INSERT INTO SINK database BY NAME SELECT k FROM STREAM(rows);
CREATE FLOW send AS INSERT INTO SINK out BY NAME SELECT k FROM STREAM(rows);`, mechanism, user)
			if err := os.MkdirAll(filepath.Join(s.dir, "in"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(s.dir, "in", "1.json"), []byte(`{"k":1}`+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			d := s.start()
			s.failed("t", fault.KafkaAuthentication)
			s.failed("send", fault.KafkaAuthentication)
			s.failed("store", fault.PostgresAuthentication)
			s.until("the flow that needs no login", func() bool { return s.query("SELECT count(*) FROM rows") == "1" })
			s.seesNo(d, wrong)
			d.stop(exitFailure)
			if !strings.Contains(d.output(), fault.RunFailed.Name) {
				t.Error("nothing says that the run failed")
			}
			// Once through, so that it ends by itself.
			pipeline := filepath.Join(s.dir, "pipeline.yml")
			text, err := os.ReadFile(pipeline)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(pipeline, bytes.Replace(text, []byte("continuous: true"), []byte("continuous: false"), 1), 0o600); err != nil {
				t.Fatal(err)
			}
			d = s.start()
			d.wait(exitFailure)
			if !strings.Contains(d.output(), fault.KafkaAuthentication.Name) || !strings.Contains(d.output(), fault.RunFailed.Name) {
				t.Error("it does not say why")
			}
			s.seesNo(d, wrong)
		})
	}
	// D-56: final, with a near name, and reading makes no topic; the other flow goes on.
	t.Run("missing_topic", func(t *testing.T) {
		t.Setenv("USER_NAME", "admin")
		t.Setenv("PASSWORD", password)
		s := secured(t, there+`
CREATE STREAMING TABLE missing AS SELECT k FROM STREAM read_kafka(subscribe => 'TOPIK', format => 'json', schema => 'k BIGINT', LOGIN);`, "PLAIN", user)
		text := filepath.Join(s.dir, "flows.sql")
		sql, err := os.ReadFile(text)
		if err != nil {
			t.Fatal(err)
		}
		missing := s.name + "_x"
		if err := os.WriteFile(text, bytes.Replace(sql, []byte("TOPIK"), []byte(missing), 1), 0o600); err != nil {
			t.Fatal(err)
		}
		s.create(s.name, 1)
		s.put(s.name, 1, `{"k":1}`)
		d := s.start()
		if why := s.failed("missing", fault.UnknownTopic); !strings.Contains(why, `did you mean "`+s.name) {
			t.Error(why)
		}
		s.until("the other topic's record, and its way out", func() bool { return len(s.committed(s.name+"_out")) == 1 })
		d.stop(exitFailure)
		topics, err := s.admin.ListTopics(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if topics.Has(missing) {
			t.Error("reading made a topic")
		}
	})
}

// seesNo looks for secrets in everything that can be seen of a run, and in what it leaves.
func (s *site) seesNo(d *running, secrets ...string) {
	s.t.Helper()
	seen := map[string]string{"output": d.output()}
	_, seen["events"] = s.verb("events")
	_, seen["status"] = s.verb("status", "-o", "json")
	if _, address, running := strings.Cut(d.output(), "status at http://"); running && d.cmd.ProcessState == nil {
		address, _, _ = strings.Cut(address, "/")
		for _, path := range []string{"/", "/metrics", "/readyz", "/api/status", "/api/events"} {
			seen[path] = s.get("http://" + address + path)
		}
	}
	err := filepath.WalkDir(s.dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			text, err := os.ReadFile(path)
			if err == nil {
				seen[path] = string(text)
			}
		}
		return nil // files of the store come and go
	})
	if err != nil {
		s.t.Fatal(err)
	}
	for where, text := range seen {
		for _, secret := range secrets {
			if i := strings.Index(text, secret); i >= 0 {
				s.t.Errorf("%s shows a secret: %q", where, text[max(0, i-200):min(len(text), i+100)])
			}
		}
	}
}

func (s *site) get(url string) string {
	s.t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode == http.StatusNotFound {
		s.t.Fatalf("%s: %s %v", url, answer.Status, err)
	}
	return string(text)
}
