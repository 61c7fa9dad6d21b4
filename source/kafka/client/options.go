package client

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/fault"
	"sluice/option"
)

// Role says what a client is for. The settings of the other role are refused.
type Role uint8

const (
	Consumer Role = iota
	Producer
)

// BootstrapServers is the option that names the first brokers to ask; "kafka.bootstrap.servers" means the same.
const BootstrapServers = "bootstrapServers"

const prefix = "kafka."

// setting is one option under "kafka.": its specification and what it does to a Config. A setting without effect only
// documents a value that Sluice insists on.
type setting struct {
	spec   option.Spec
	effect func(*Config, option.Values, string)
}

func text(name, doc string, effect func(*Config, string)) setting {
	s := setting{spec: option.Spec{Name: prefix + name, Edit: option.Idle, Doc: doc}}
	if effect != nil {
		s.effect = func(c *Config, v option.Values, n string) { effect(c, v.String(n)) }
	}
	return s
}

func secret(name, doc string, effect func(*Config, string)) setting {
	s := text(name, doc, effect)
	s.spec.Secret = true
	return s
}

func enum(name, doc string, values []string, effect func(*Config, string)) setting {
	s := text(name, doc, effect)
	s.spec.Kind, s.spec.Values = option.Enum, values
	return s
}

// applied marks a setting that, unlike the others, says what is read (D-62).
func applied(s setting) setting {
	s.spec.Edit = option.Applies
	return s
}

func number(name, doc string, effect func(*Config, int64)) setting {
	return setting{option.Spec{Name: prefix + name, Kind: option.Int, Edit: option.Idle, Doc: doc}, func(c *Config, v option.Values, n string) { effect(c, v.Int(n)) }}
}

func millis(name, doc string, effect func(*Config, time.Duration)) setting {
	return number(name, doc, func(c *Config, ms int64) { effect(c, time.Duration(ms)*time.Millisecond) })
}

var connection = []setting{
	text("bootstrap.servers", "The same as bootstrapServers.", func(c *Config, s string) { c.Brokers = servers(s) }),
	text("client.id", "Name of the client in the brokers' logs and quotas. Default sluice.", func(c *Config, s string) { c.clientID = s }),
	enum("security.protocol", "PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL.", []string{"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"},
		func(c *Config, s string) {
			c.protocolGiven, c.tls, c.sasl = true, strings.HasSuffix(s, "SSL"), strings.HasPrefix(s, "SASL")
		}),
	enum("sasl.mechanism", "PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512.", []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"},
		func(c *Config, s string) { c.mechanism = s }),
	secret("sasl.jaas.config", `Java's login line; username="..." and password="..." are taken from it.`, func(c *Config, s string) { c.jaas = s }),
	text("sasl.username", "User name, instead of sasl.jaas.config.", func(c *Config, s string) { c.username = s }),
	secret("sasl.password", "Password, instead of sasl.jaas.config.", func(c *Config, s string) { c.password = s }),
	enum("ssl.truststore.type", "PEM is the only kind there is.", []string{"PEM"}, nil),
	text("ssl.truststore.location", "PEM file with the certificates to trust. Default: those of the system.", func(c *Config, s string) { c.trustFile = s }),
	text("ssl.ca.location", "The same as ssl.truststore.location.", func(c *Config, s string) { c.trustFile = s }),
	text("ssl.truststore.certificates", "The certificates to trust themselves, in PEM.", func(c *Config, s string) { c.trustPEM = s }),
	enum("ssl.keystore.type", "PEM is the only kind there is.", []string{"PEM"}, nil),
	text("ssl.keystore.location", "PEM file with the client's key and certificate chain.", func(c *Config, s string) { c.keyFile = s }),
	text("ssl.keystore.certificate.chain", "The client's certificate chain itself, in PEM.", func(c *Config, s string) { c.certPEM = s }),
	secret("ssl.keystore.key", "The client's private key itself, in PEM (PKCS#8, not encrypted).", func(c *Config, s string) { c.keyPEM = s }),
	enum("ssl.endpoint.identification.algorithm", "https (the default) compares a broker's certificate with its host name; empty does not.", []string{"https", ""},
		func(c *Config, s string) { c.anyHost = s == "" }),
	millis("request.timeout.ms", "How long a request may take beyond the wait it asks for. Default 30000.", func(c *Config, d time.Duration) { c.requestTimeout = d }),
	millis("socket.connection.setup.timeout.ms", "How long connecting may take. Default 5000.", func(c *Config, d time.Duration) { c.dialTimeout = d }),
	millis("connections.max.idle.ms", "When an idle connection is closed. Default 540000.", func(c *Config, d time.Duration) { c.idleTimeout = d }),
	millis("metadata.max.age.ms", "How often topics are looked up again: new partitions are found within it. Default 30000.", func(c *Config, d time.Duration) { c.MetadataAge = d }),
}

var consumer = []setting{
	applied(enum("isolation.level", "read_committed (the default, D-12) or read_uncommitted.", []string{"read_committed", "read_uncommitted"},
		func(c *Config, s string) { c.Uncommitted = s == "read_uncommitted" })),
	number("fetch.max.bytes", "Most bytes of one answer of a broker. Default 16777216.", func(c *Config, n int64) { c.FetchBytes = n }),
	number("max.partition.fetch.bytes", "Most bytes of one partition in an answer. Default 4194304.", func(c *Config, n int64) { c.PartitionBytes = n }),
	number("fetch.min.bytes", "A broker answers once it has so many bytes. Default 1.", func(c *Config, n int64) { c.MinBytes = n }),
	millis("fetch.max.wait.ms", "How long a broker waits for fetch.min.bytes. Default 500.", func(c *Config, d time.Duration) { c.FetchWait = d }),
}

var producer = []setting{
	enum("acks", "all; a batch is durable before its position moves.", []string{"all", "-1"}, nil),
	enum("enable.idempotence", "true; a transaction needs it.", []string{"true"}, nil),
	enum("compression.type", "none, gzip, snappy, lz4 (the default) or zstd.", []string{"none", "gzip", "snappy", "lz4", "zstd"}, func(c *Config, s string) { c.Compression = s }),
	millis("linger.ms", "How long a request waits for more records. Default 5.", func(c *Config, d time.Duration) { c.Linger = d }),
	number("max.request.size", "Largest record batch. Default 1048576; the topic's max.message.bytes has to allow it.", func(c *Config, n int64) { c.RequestBytes = n }),
	millis("delivery.timeout.ms", "How long a batch may take until it is acknowledged; after it the batch is tried again. Default 30000.", func(c *Config, d time.Duration) { c.DeliveryTimeout = d }),
	millis("transaction.timeout.ms", "After which time without an end a broker aborts a batch. Default 60000.", func(c *Config, d time.Duration) { c.TransactionTimeout = d }),
}

func settings(role Role) []setting {
	if role == Producer {
		return append(slices.Clip(connection), producer...)
	}
	return append(slices.Clip(connection), consumer...)
}

// Options returns bootstrapServers and every setting under "kafka." that a role has.
func Options(role Role) option.Set {
	set := option.Set{{Name: BootstrapServers, Kind: option.List, Edit: option.Idle,
		Doc: "Brokers to ask first, host:port, separated by commas. Default: kafka.bootstrap.servers of the configuration."}}
	for _, s := range settings(role) {
		set = append(set, s.spec)
	}
	return set
}

// Parse makes a Config of options that were parsed with the set of Options. fallback are the brokers to use where the
// options name none. Every problem is reported, at its own option or at at; nothing is read or opened.
func Parse(what string, role Role, v option.Values, fallback string, at fault.Pos) (Config, fault.List) {
	c := defaults()
	c.Brokers = v.List(BootstrapServers)
	if v.Has(BootstrapServers) && v.Has(prefix+"bootstrap.servers") {
		g, _ := v.Given(prefix + "bootstrap.servers")
		return c, fault.List{fault.New(fault.DuplicateOption, "%s names its brokers twice: as %s and as kafka.bootstrap.servers", what, BootstrapServers).At(g.Pos)}
	}
	var problems fault.List
	for _, s := range settings(role) {
		if g, given := v.Given(s.spec.Name); given {
			if s.spec.Kind == option.Int && v.Int(s.spec.Name) < 0 {
				problems = append(problems, fault.New(fault.InvalidOption, "option %q of %s: %q is not a positive number", g.Name, what, g.Value).At(g.Pos))
				continue
			}
			if s.effect != nil {
				s.effect(&c, v, s.spec.Name)
			}
		}
	}
	if len(c.Brokers) == 0 {
		c.Brokers = servers(fallback)
	}
	return c, append(problems, c.check(what, v, at)...)
}

// check finds the problems that only several options together have.
func (c *Config) check(what string, v option.Values, at fault.Pos) (problems fault.List) {
	report := func(name string, code *fault.Code, hint, format string, args ...any) {
		pos := at
		if g, ok := v.Given(name); ok {
			pos = g.Pos
		}
		problems = append(problems, fault.New(code, "%s: %s", what, fmt.Sprintf(format, args...)).At(pos).WithHint("%s", hint))
	}
	if len(c.Brokers) == 0 {
		report(BootstrapServers, fault.MissingOption, "set bootstrapServers => 'host:9092', or kafka.bootstrap.servers in the configuration", "no Kafka brokers are named")
	}
	if c.jaas != "" {
		if err := c.readJAAS(); err != nil {
			report(prefix+"sasl.jaas.config", fault.InvalidOption, `the form is: org.apache.kafka.common.security.plain.PlainLoginModule required username="..." password="...";`, "%v", err)
		}
	}
	login := c.mechanism != "" || c.jaas != "" || c.username != "" || c.password != ""
	switch {
	case login && c.protocolGiven && !c.sasl:
		report(prefix+"security.protocol", fault.InvalidOption, "use SASL_SSL or SASL_PLAINTEXT", "SASL settings are given, but the security protocol does without SASL")
	case login && !c.protocolGiven:
		report(prefix+"security.protocol", fault.MissingOption, "set kafka.security.protocol => 'SASL_SSL' (or SASL_PLAINTEXT)", "SASL settings are given without a security protocol")
	case c.sasl && c.mechanism == "":
		report(prefix+"sasl.mechanism", fault.MissingOption, "set kafka.sasl.mechanism => 'PLAIN', 'SCRAM-SHA-256' or 'SCRAM-SHA-512'", "the security protocol needs a SASL mechanism")
	case c.sasl && c.username == "" && len(problems) == 0:
		report(prefix+"sasl.username", fault.MissingOption, "set kafka.sasl.username and kafka.sasl.password, or kafka.sasl.jaas.config", "the security protocol needs a user name")
	}
	if c.trustFile+c.trustPEM+c.keyFile+c.keyPEM+c.certPEM != "" && !c.tls {
		report(prefix+"security.protocol", fault.InvalidOption, "set kafka.security.protocol => 'SSL' or 'SASL_SSL'", "SSL settings are given, but the security protocol does without TLS")
	}
	if (c.keyPEM == "") != (c.certPEM == "") {
		report(prefix+"ssl.keystore.key", fault.MissingOption, "give both, or ssl.keystore.location with a file that has both", "a client certificate needs ssl.keystore.key and ssl.keystore.certificate.chain")
	}
	return problems
}

func servers(list string) (out []string) {
	for s := range strings.SplitSeq(list, ",") {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}
