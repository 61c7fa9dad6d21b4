package kafka

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"

	"sluice/batch"
	"sluice/fault"
	"sluice/internal/broker"
	"sluice/internal/testenv"
)

// nobody listens. The error comes in seconds and may be retried.
func TestBrokerDown(t *testing.T) {
	k := &cluster{t: t, brokers: []string{fmt.Sprintf("127.0.0.1:%d", testenv.FreePort(t))}}
	s := k.source("ticks")
	began := time.Now()
	_, err := s.Start(context.Background())
	mustFail(t, err, fault.KafkaUnavailable, k.brokers[0], "refused")
	_, _, _, err = s.Read(context.Background(), nil, batch.Limit{})
	mustFail(t, err, fault.KafkaUnavailable)
	t.Logf("two errors in %v", time.Since(began))
	if fault.From(err).Code.Retry != fault.Backoff {
		t.Error("it passes by itself")
	}
	// Something that accepts and hangs up, as a proxy in front of a broker that is down.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			c.Close()
		}
	}()
	k.brokers = []string{l.Addr().String()}
	mustFail(t, k.source("ticks").Check(context.Background()), fault.KafkaUnavailable, "behind a proxy")
	// dry-run --connect has a time limit of its own.
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := k.source("ticks").Check(ctx); err != context.Canceled {
		t.Error(err)
	}
}

// The broker goes away and comes back: what was read stays read, and reading goes on.
func TestBrokerRestart(t *testing.T) {
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		o := broker.Options{DataDir: t.TempDir(), Listen: fmt.Sprintf("127.0.0.1:%d", testenv.FreePort(t))}
		b, err := broker.Start(o)
		if err != nil {
			t.Fatal(err)
		}
		restart(t, b.Brokers(), b.Close, func() { testenv.Broker(t, o) })
	})
	t.Run("real", func(t *testing.T) {
		t.Parallel()
		c := testenv.StartKafka(t)
		restart(t, c.Brokers, func() { c.Kill(t) }, func() { c.Restart(t) })
	})
}

func restart(t *testing.T, brokers []string, stop, start2 func()) {
	k := newCluster(t, brokers)
	topic := k.topic(1)
	k.produce(topic, 0, "a")
	s := k.source(topic)
	pos := start(t, s)
	got, r := next(t, s, pos, batch.Limit{})
	equal(t, got, "0@0=a")
	pos = pos.With(r)
	stop()
	_, _, _, err := s.Read(within(t, time.Minute), pos, batch.Limit{})
	mustFail(t, err, fault.KafkaUnavailable)
	if s.Waiting() == "" {
		t.Error("Waiting does not say that the broker is away")
	}
	start2()
	k.client = k.newClient()
	k.produce(topic, 0, "b")
	for {
		cols, r, _, err := s.Read(within(t, time.Minute), pos, batch.Limit{})
		if fault.Of(err, fault.KafkaUnavailable) {
			continue // as the schedule does, with a back-off
		}
		if err != nil {
			t.Fatal(err)
		}
		equal(t, rows(cols, r), "0@1=b")
		break
	}
	for s.Waiting() != "" { // until the next look at the topics
		time.Sleep(10 * time.Millisecond)
	}
}

// A broker that is frozen for a while: the read waits, and the same rows come once.
func TestBrokerPaused(t *testing.T) {
	c := testenv.StartKafka(t)
	k := newCluster(t, c.Brokers)
	topic := k.topic(1)
	k.produce(topic, 0, "a", "b")
	s := k.source(topic)
	pos := start(t, s)
	got, r := next(t, s, pos, batch.Limit{Rows: 1})
	equal(t, got, "0@0=a")
	unpause := c.Pause(t)
	got, r = next(t, s, pos.With(r), batch.Limit{})
	equal(t, got, "0@1=b") // it was fetched already
	time.AfterFunc(time.Second, unpause)
	done := make(chan struct{})
	go func() {
		defer close(done)
		k.produce(topic, 0, "c")
	}()
	got, _ = next(t, s, pos.With(r), batch.Limit{})
	equal(t, got, "0@2=c")
	<-done
}

// TLS and SASL, by Java's option names; wrong credentials are final.
func TestSecureConnection(t *testing.T) {
	certificate := testenv.NewCertificate(t)
	t.Run("embedded", func(t *testing.T) {
		b := testenv.Broker(t, broker.Options{User: "admin", Password: "admin-secret", TLS: certificate.TLS})
		secure(t, b.Brokers(), certificate, true)
	})
	t.Run("real", func(t *testing.T) {
		c := testenv.StartKafka(t, testenv.Secured(certificate, "admin", "admin-secret")...)
		secure(t, c.Brokers, certificate, false)
	})
}

func secure(t *testing.T, brokers []string, c testenv.Certificate, embedded bool) {
	k := &cluster{t: t, brokers: brokers}
	trusted := c.TLS.Clone()
	trusted.InsecureSkipVerify = true
	k.client = k.newClient(kgo.DialTLSConfig(trusted), kgo.SASL(plain.Auth{User: "admin", Pass: "admin-secret"}.AsMechanism()))
	k.admin = kadm.NewClient(k.client)
	topic := k.topic(1)
	k.produce(topic, 0, "a")
	_, err := k.admin.AlterUserSCRAMs(context.Background(), nil, []kadm.UpsertSCRAM{{User: "alice", Mechanism: kadm.ScramSha512, Iterations: 4096, Password: "alice-secret"}})
	if err != nil {
		t.Fatal(err)
	}
	const module = "org.apache.kafka.common.security."
	base := []string{"kafka.security.protocol", "SASL_SSL", "kafka.ssl.truststore.type", "PEM", "kafka.ssl.truststore.location", c.TrustFile}
	for name, add := range map[string][]string{
		"PLAIN":    {"kafka.sasl.mechanism", "PLAIN", "kafka.sasl.jaas.config", module + `plain.PlainLoginModule required username="admin" password="admin-secret";`},
		"SCRAM":    {"kafka.sasl.mechanism", "SCRAM-SHA-512", "kafka.sasl.jaas.config", module + "scram.ScramLoginModule required\n  username=\"alice\"\n  password=\"alice-secret\";"},
		"username": {"kafka.sasl.mechanism", "PLAIN", "kafka.sasl.username", "admin", "kafka.sasl.password", "admin-secret"},
		"any host": {"kafka.sasl.mechanism", "PLAIN", "kafka.sasl.username", "admin", "kafka.sasl.password", "admin-secret", "kafka.ssl.endpoint.identification.algorithm", ""},
	} {
		s := k.source(topic, append(base[:len(base):len(base)], add...)...)
		cols, r, _, err := s.Read(within(t, time.Minute), start(t, s), batch.Limit{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		equal(t, rows(cols, r), "0@0=a")
	}
	other := testenv.NewCertificate(t)
	login := []string{"kafka.sasl.mechanism", "PLAIN", "kafka.sasl.username", "admin", "kafka.sasl.password", "admin-secret"}
	for name, pairs := range map[string][]string{
		"wrong password":       append(base[:len(base):len(base)], "kafka.sasl.mechanism", "PLAIN", "kafka.sasl.username", "admin", "kafka.sasl.password", "not-this-one"),
		"wrong SCRAM password": append(base[:len(base):len(base)], "kafka.sasl.mechanism", "SCRAM-SHA-512", "kafka.sasl.username", "alice", "kafka.sasl.password", "not-this-one"),
		"unknown authority":    append([]string{"kafka.security.protocol", "SASL_SSL", "kafka.ssl.truststore.location", other.TrustFile}, login...),
		"authority, any host": append([]string{"kafka.security.protocol", "SASL_SSL", "kafka.ssl.truststore.location", other.TrustFile,
			"kafka.ssl.endpoint.identification.algorithm", ""}, login...),
		"system's authorities": append([]string{"kafka.security.protocol", "SASL_SSL"}, login...),
	} {
		if embedded && strings.HasPrefix(name, "wrong") {
			continue // the embedded broker hangs up without a word
		}
		err := k.source(topic, pairs...).Check(within(t, time.Minute))
		if !fault.Of(err, fault.KafkaAuthentication) {
			t.Errorf("%s: %v", name, err)
		} else if strings.Contains(err.Error(), "not-this-one") || fault.From(err).Code.Retry == fault.Backoff {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A plain client at a TLS port: it looks like an outage, and the hint says what else it may be.
	mustFail(t, k.source(topic).Check(within(t, time.Minute)), fault.KafkaUnavailable, "security.protocol")
}

// TLS to a port without TLS.
func TestTLSToAPlainPort(t *testing.T) {
	onEach(t, func(t *testing.T, k *cluster) {
		err := k.source("t", "kafka.security.protocol", "SSL").Check(within(t, time.Minute))
		if !fault.Of(err, fault.KafkaAuthentication) && !fault.Of(err, fault.KafkaUnavailable) {
			t.Fatal(err)
		}
		t.Log(err)
	})
}
