package client

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"sluice/fault"
	"sluice/option"
)

func parse(t testing.TB, role Role, pairs ...string) (Config, error) {
	t.Helper()
	var given []option.Given
	for i := 0; i < len(pairs); i += 2 {
		given = append(given, option.Given{Name: pairs[i], Value: pairs[i+1], Pos: fault.Pos{File: "p.sql", Line: i/2 + 1, Column: 1}})
	}
	v, problems := Options(role).Parse("test", given, fault.Pos{})
	c, more := Parse("test", role, v, "", fault.Pos{File: "p.sql", Line: 99, Column: 1})
	return c, append(problems, more...).Err()
}

// Settings that only together are wrong, and where the error says they stand.
func TestParse(t *testing.T) {
	const plainLogin = `org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="p";`
	for _, c := range []struct {
		pairs []string
		code  *fault.Code
		at    string
	}{
		{[]string{"bootstrapServers", "a:1, b:2"}, nil, ""},
		{[]string{"kafka.bootstrap.servers", "a:1"}, nil, ""},
		{[]string{"bootstrapServers", "a:1", "kafka.bootstrap.servers", "b:2"}, fault.DuplicateOption, "p.sql:2"},
		{nil, fault.MissingOption, "p.sql:99"},
		{[]string{"bootstrapServers", "a:1", "kafka.security.protocol", "SASL_SSL"}, fault.MissingOption, "p.sql:99"},
		{[]string{"bootstrapServers", "a:1", "kafka.security.protocol", "sasl_ssl", "kafka.sasl.mechanism", "plain"}, fault.MissingOption, "p.sql:99"},
		{[]string{"bootstrapServers", "a:1", "kafka.security.protocol", "SASL_SSL", "kafka.sasl.mechanism", "PLAIN", "kafka.sasl.jaas.config", plainLogin}, nil, ""},
		{[]string{"bootstrapServers", "a:1", "kafka.sasl.mechanism", "PLAIN", "kafka.sasl.username", "u"}, fault.MissingOption, "p.sql:99"},
		{[]string{"bootstrapServers", "a:1", "kafka.security.protocol", "SSL", "kafka.sasl.mechanism", "PLAIN"}, fault.InvalidOption, "p.sql:2"},
		{[]string{"bootstrapServers", "a:1", "kafka.security.protocol", "SASL_SSL", "kafka.sasl.mechanism", "GSSAPI"}, fault.InvalidOption, "p.sql:3"},
		{[]string{"bootstrapServers", "a:1", "kafka.security.protocol", "SASL_SSL", "kafka.sasl.mechanism", "PLAIN", "kafka.sasl.jaas.config", "nonsense"}, fault.InvalidOption, "p.sql:4"},
		{[]string{"bootstrapServers", "a:1", "kafka.ssl.truststore.location", "x.pem"}, fault.InvalidOption, "p.sql:99"},
		{[]string{"bootstrapServers", "a:1", "kafka.security.protocol", "SSL", "kafka.ssl.truststore.type", "JKS"}, fault.InvalidOption, "p.sql:3"},
		{[]string{"bootstrapServers", "a:1", "kafka.security.protocol", "SSL", "kafka.ssl.keystore.key", "k"}, fault.MissingOption, "p.sql:3"},
		{[]string{"bootstrapServers", "a:1", "kafka.request.timeout.ms", "-1"}, fault.InvalidOption, "p.sql:2"},
		{[]string{"bootstrapServers", "a:1", "kafka.securty.protocol", "SSL"}, fault.UnknownOption, "p.sql:2"},
	} {
		_, err := parse(t, Consumer, c.pairs...)
		if c.code == nil && err != nil || c.code != nil && (!fault.Of(err, c.code) || !strings.HasPrefix(err.Error(), c.at)) {
			t.Errorf("%v: got %v, want %v at %s", c.pairs, err, c.code, c.at)
		}
	}
	_, err := parse(t, Consumer, "bootstrapServers", "a:1", "kafka.sasl.jaas.confg", "top-secret")
	if err == nil || strings.Contains(err.Error(), "top-secret") || !strings.Contains(err.Error(), "kafka.sasl.jaas.config") {
		t.Errorf("a misspelt secret: %v", err)
	}
}

// Every option says what it is for, its default works, and secrets are marked (D-54).
func TestOptionsAreDescribed(t *testing.T) {
	for _, role := range []Role{Consumer, Producer} {
		seen := map[string]bool{}
		for _, spec := range Options(role) {
			if spec.Doc == "" || seen[spec.Name] {
				t.Errorf("%s: %+v", spec.Name, spec)
			}
			seen[spec.Name] = true
			if secret := strings.HasSuffix(spec.Name, "password") || strings.HasSuffix(spec.Name, "jaas.config") || strings.HasSuffix(spec.Name, "keystore.key"); secret != spec.Secret {
				t.Errorf("%s: secret is %v", spec.Name, spec.Secret)
			}
		}
	}
}

func TestJAAS(t *testing.T) {
	const plain, scram = "org.apache.kafka.common.security.plain.PlainLoginModule", "org.apache.kafka.common.security.scram.ScramLoginModule"
	for text, want := range map[string]string{
		plain + ` required username="u" password="p";`:                                     "u:p",
		scram + " required\n\tusername=\"u\"\n\tpassword=\"p\"\n;":                         "u:p",
		plain + ` required username="a\"b\\c" password="x=y;z" serviceName="s";`:           `a"b\c:x=y;z`,
		plain + ` required username=u password=p;`:                                         "u:p",
		plain + ` required username="u" password="";`:                                      "u:",
		plain + ` required password="p";`:                                                  "",
		plain + ` required username="u";`:                                                  "",
		`com.sun.security.auth.module.Krb5LoginModule required username="u" password="p";`: "",
		"": "",
	} {
		c := Config{jaas: text}
		err := c.readJAAS()
		if got := c.username + ":" + c.password; want == "" && err == nil || want != "" && (err != nil || got != want) {
			t.Errorf("%s: got %s, %v", text, got, err)
		}
		if err != nil && strings.Contains(err.Error(), `"p"`) {
			t.Errorf("a secret is told: %v", err)
		}
	}
}

func FuzzJAAS(f *testing.F) {
	f.Add(`org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="p";`)
	f.Add(`x.PlainLoginModule username="\`)
	f.Fuzz(func(t *testing.T, text string) {
		c := Config{jaas: text}
		if err := c.readJAAS(); err == nil && c.username == "" {
			t.Error("a login without a user")
		}
	})
}

func TestCertificateFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.pem")
	if err := os.WriteFile(file, []byte("not PEM"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, pairs := range [][]string{
		{"kafka.ssl.truststore.location", file + "x"},
		{"kafka.ssl.truststore.location", file},
		{"kafka.ssl.truststore.certificates", "not PEM"},
		{"kafka.ssl.keystore.location", file},
		{"kafka.ssl.keystore.key", "k", "kafka.ssl.keystore.certificate.chain", "c"},
	} {
		c, err := parse(t, Consumer, append([]string{"bootstrapServers", "a:1", "kafka.security.protocol", "SSL"}, pairs...)...)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.New(); !fault.Of(err, fault.InvalidOption) {
			t.Errorf("%v: %v", pairs, err)
		}
	}
}

func TestFault(t *testing.T) {
	c := To("a:1")
	for _, x := range []struct {
		err  error
		code *fault.Code
	}{
		{kerr.SaslAuthenticationFailed, fault.KafkaAuthentication},
		{fmt.Errorf("wrapped: %w", kerr.UnsupportedSaslMechanism), fault.KafkaAuthentication},
		{x509.UnknownAuthorityError{}, fault.KafkaAuthentication},
		{kerr.GroupAuthorizationFailed, fault.KafkaAuthorization},
		{kerr.UnknownTopicOrPartition, fault.KafkaUnavailable}, // who looks the topic up tells whether it lasts
		{kerr.InvalidTransactionTimeout, fault.InvalidOption},
		{kerr.NotLeaderForPartition, fault.KafkaUnavailable},
		{errors.New("broken"), fault.KafkaUnavailable},
		{fault.New(fault.DataLoss, "already coded"), fault.DataLoss},
	} {
		if err := c.Fault(context.Background(), x.err, "doing"); !fault.Of(err, x.code) {
			t.Errorf("%v became %v", x.err, err)
		}
	}
	if c.Fault(context.Background(), nil, "doing") != nil {
		t.Error("nil is no fault")
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := c.Fault(ended, errors.New("broken"), "doing"); err != context.Canceled {
		t.Error(err)
	}
}
