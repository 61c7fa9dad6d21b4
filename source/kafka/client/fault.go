package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/fault"
)

var (
	authentication = []error{kerr.SaslAuthenticationFailed, kerr.UnsupportedSaslMechanism, kerr.IllegalSaslState, kerr.UnacceptableCredential}
	authorization  = []error{kerr.TopicAuthorizationFailed, kerr.GroupAuthorizationFailed, kerr.ClusterAuthorizationFailed,
		kerr.TransactionalIDAuthorizationFailed, kerr.SecurityDisabled}
)

// Fault codes what a broker or the network answered; format says what was tried. The error of ctx itself, and an error
// that has a code, come back as they are.
//
// That a topic does not exist only who looks it up may say (Missing), when it stays so: a broker that starts, stops or lags behind
// answers so, too, for topics that are there.
func (c Config) Fault(ctx context.Context, err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if e := (*fault.Error)(nil); errors.As(err, &e) {
		return err
	}
	what := fmt.Sprintf(format, args...)
	at := strings.Join(c.Brokers, ",")
	switch {
	case isAny(err, authentication):
		return fault.New(fault.KafkaAuthentication, "%s: the brokers at %s refuse the login", what, at).Because(err).
			WithHint("check kafka.sasl.mechanism, the user name and the password")
	case isTLS(err):
		return fault.New(fault.KafkaAuthentication, "%s: no TLS connection to %s", what, at).Because(err).
			WithHint("check kafka.security.protocol, the port, and the certificates of kafka.ssl.truststore.location")
	case isAny(err, authorization):
		return fault.New(fault.KafkaAuthorization, "%s: the user may not", what).Because(err).WithHint("ask for the right in the cluster's ACLs")
	case errors.Is(err, kerr.InvalidTransactionTimeout):
		return fault.New(fault.InvalidOption, "%s: kafka.transaction.timeout.ms is %d, which is more than the brokers allow", what, c.TransactionTimeout.Milliseconds()).Because(err).
			WithHint("set it to at most the brokers' transaction.max.timeout.ms")
	case errors.Is(err, kerr.UnknownTopicOrPartition) || errors.Is(err, kerr.UnknownTopicID):
		return fault.New(fault.KafkaUnavailable, "%s: a broker does not know the topic at the moment", what).Because(err)
	}
	e := fault.New(fault.KafkaUnavailable, "%s: no answer from %s", what, at).Because(err)
	var (
		answer  *kerr.Error
		network *net.OpError
		early   *kgo.ErrFirstReadEOF
	)
	switch {
	case errors.As(err, &answer):
	case errors.As(err, &network) && network.Op == "dial":
		e.WithHint("is a broker running there, and is bootstrapServers right?")
	default:
		if errors.As(err, &early) {
			// The library asks "is TLS missing?". A broker that is down behind a proxy looks just the same.
			e.Because(io.ErrUnexpectedEOF)
		}
		e.WithHint("the broker broke off: it is down behind a proxy, or it expects TLS or SASL, see kafka.security.protocol")
	}
	return e
}

func isAny(err error, list []error) bool {
	for _, e := range list {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// isTLS reports a handshake that cannot succeed next time either.
func isTLS(err error) bool {
	var (
		verification *tls.CertificateVerificationError
		header       tls.RecordHeaderError
		authority    x509.UnknownAuthorityError
		network      *net.OpError
	)
	refused := errors.As(err, &network) && network.Op == "remote error" // an alert of the other side: it wants a certificate, say
	return refused || errors.As(err, &verification) || errors.As(err, &header) || errors.As(err, &authority)
}
