package client

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"sluice/fault"
)

// Config is how to reach a cluster, and the settings of a role.
type Config struct {
	Brokers     []string
	MetadataAge time.Duration

	// Consumer
	Uncommitted    bool
	FetchBytes     int64
	PartitionBytes int64
	MinBytes       int64
	FetchWait      time.Duration

	// Producer
	Compression        string
	Linger             time.Duration
	RequestBytes       int64
	DeliveryTimeout    time.Duration
	TransactionTimeout time.Duration

	Monitor *Monitor // watches the connections; nil: nobody does
	Dial    Dialer   // instead of the network and TLS; nil: those

	clientID                                 string
	protocolGiven, tls, sasl, anyHost        bool
	mechanism, jaas, username, password      string
	trustFile, trustPEM                      string
	keyFile, keyPEM, certPEM                 string
	requestTimeout, dialTimeout, idleTimeout time.Duration
}

func defaults() Config {
	return Config{
		clientID:       "sluice",
		MetadataAge:    30 * time.Second,
		FetchBytes:     16 << 20,
		PartitionBytes: 4 << 20,
		MinBytes:       1,
		// A read_committed fetch that is parked while a commit marker is written may sleep for all of it: the marker does
		// not always wake it. So half a second, not the usual five.
		FetchWait:          500 * time.Millisecond,
		Compression:        "lz4",
		Linger:             5 * time.Millisecond,
		RequestBytes:       1 << 20,
		DeliveryTimeout:    30 * time.Second,
		TransactionTimeout: time.Minute,
		requestTimeout:     30 * time.Second,
		dialTimeout:        5 * time.Second,
		idleTimeout:        9 * time.Minute,
	}
}

// To returns a Config for brokers that need neither TLS nor SASL.
func To(brokers ...string) Config {
	c := defaults()
	c.Brokers = brokers
	return c
}

// New makes a client. It reads certificate files, and connects only when it is used. Requests are given up after some
// seconds, with the error of the network: whoever calls waits and tries again, and can tell what is wrong meanwhile.
func (c Config) New(opts ...kgo.Opt) (*kgo.Client, error) {
	dial, err := c.dialer()
	if err != nil {
		return nil, err
	}
	all := []kgo.Opt{
		kgo.SeedBrokers(c.Brokers...),
		kgo.ClientID(c.clientID),
		kgo.SoftwareNameAndVersion("sluice", "1"),
		kgo.RequestTimeoutOverhead(c.requestTimeout),
		kgo.Dialer(dial),
		kgo.ConnIdleTimeout(c.idleTimeout),
		kgo.MetadataMaxAge(c.MetadataAge),
		kgo.MetadataMinAge(min(c.MetadataAge, 250*time.Millisecond)),
		kgo.RetryTimeoutFn(retryTimeout),
		kgo.DisableClientMetrics(),
	}
	if c.Monitor != nil {
		all = append(all, kgo.WithHooks(c.Monitor))
	}
	if c.sasl {
		all = append(all, c.login())
	}
	client, err := kgo.NewClient(append(all, opts...)...)
	if err != nil {
		return nil, fault.New(fault.InvalidOption, "the Kafka settings do not make a client").Because(err)
	}
	return client, nil
}

// dialer makes connections, with TLS if that is asked for. They are watched outside of it, where requests can be told apart.
func (c Config) dialer() (Dialer, error) {
	plain := &net.Dialer{Timeout: c.dialTimeout}
	dial := Dialer(plain.DialContext)
	if c.Dial != nil {
		dial = c.Dial
	} else if c.tls {
		t, err := c.tlsConfig()
		if err != nil {
			return nil, err
		}
		dial = (&tls.Dialer{NetDialer: plain, Config: t}).DialContext // it takes the server's name from the address
	}
	if c.Monitor != nil {
		dial = c.Monitor.dialing(dial, c.FetchWait)
	}
	return dial, nil
}

// retryTimeout is how long the library repeats a request. A new cluster makes its coordinators when they are first asked
// for, which takes seconds.
func retryTimeout(key int16) time.Duration {
	if kmsg.Key(key) == kmsg.Metadata {
		return 3 * time.Second
	}
	return 10 * time.Second
}

func (c Config) login() kgo.Opt {
	switch c.mechanism {
	case "SCRAM-SHA-256":
		return kgo.SASL(scram.Auth{User: c.username, Pass: c.password}.AsSha256Mechanism())
	case "SCRAM-SHA-512":
		return kgo.SASL(scram.Auth{User: c.username, Pass: c.password}.AsSha512Mechanism())
	}
	return kgo.SASL(plain.Auth{User: c.username, Pass: c.password}.AsMechanism())
}

var jaasEntry = regexp.MustCompile(`(\w+)\s*=\s*("(?:[^"\\]|\\.)*"|[^\s;"]+)`)

// readJAAS takes user and password from a login line of the two modules that have them.
func (c *Config) readJAAS() error {
	module, _, _ := strings.Cut(strings.TrimSpace(c.jaas), " ")
	if !strings.HasSuffix(module, ".PlainLoginModule") && !strings.HasSuffix(module, ".ScramLoginModule") {
		return fmt.Errorf("sasl.jaas.config names no PlainLoginModule or ScramLoginModule")
	}
	found := map[string]string{}
	for _, m := range jaasEntry.FindAllStringSubmatch(c.jaas, -1) {
		value := m[2]
		if strings.HasPrefix(value, `"`) {
			value = regexp.MustCompile(`\\(.)`).ReplaceAllString(value[1:len(value)-1], "$1")
		}
		found[m[1]] = value
	}
	if found["username"] == "" {
		return fmt.Errorf("sasl.jaas.config has no username")
	}
	if _, ok := found["password"]; !ok {
		return fmt.Errorf("sasl.jaas.config has no password")
	}
	c.username, c.password = found["username"], found["password"]
	return nil
}

func (c Config) tlsConfig() (*tls.Config, error) {
	t := &tls.Config{MinVersion: tls.VersionTLS12}
	trust, from := []byte(c.trustPEM), "ssl.truststore.certificates"
	if c.trustFile != "" {
		var err error
		if trust, err = readPEM(c.trustFile); err != nil {
			return nil, err
		}
		from = c.trustFile
	}
	if len(trust) > 0 {
		t.RootCAs = x509.NewCertPool()
		if !t.RootCAs.AppendCertsFromPEM(trust) {
			return nil, fault.New(fault.InvalidOption, "%s holds no certificate in PEM", from).
				WithHint("a Java key store is turned into PEM with: keytool -exportcert -rfc")
		}
	}
	certificate, key := []byte(c.certPEM), []byte(c.keyPEM)
	if c.keyFile != "" {
		both, err := readPEM(c.keyFile)
		if err != nil {
			return nil, err
		}
		certificate, key = both, both
	}
	if len(key) > 0 {
		pair, err := tls.X509KeyPair(certificate, key)
		if err != nil {
			return nil, fault.New(fault.InvalidOption, "the client's certificate and key do not fit").Because(err)
		}
		t.Certificates = []tls.Certificate{pair}
	}
	if c.anyHost {
		c.skipHostName(t)
	}
	return t, nil
}

// skipHostName makes t verify the chain and not the host's name. Go knows only to verify both or nothing, so the chain is
// verified here.
func (c Config) skipHostName(t *tls.Config) {
	t.InsecureSkipVerify = true
	roots := t.RootCAs
	t.VerifyConnection = func(s tls.ConnectionState) error {
		opts := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool()}
		for _, i := range s.PeerCertificates[1:] {
			opts.Intermediates.AddCert(i)
		}
		_, err := s.PeerCertificates[0].Verify(opts)
		return err
	}
}

func readPEM(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fault.New(fault.InvalidOption, "a certificate file cannot be read").Because(err)
	}
	return b, nil
}
