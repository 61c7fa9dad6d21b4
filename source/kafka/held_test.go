package kafka

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sluice/batch"
	"sluice/internal/broker"
	"sluice/internal/testenv"
)

// await reads until something is held up, or, with no, until nothing is.
func await(t *testing.T, s *Source, pos batch.Position, no bool) (held []Held) {
	t.Helper()
	reading := make(chan struct{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	go func() {
		defer close(reading)
		_, _, _, _ = s.Read(ctx, pos, batch.Limit{})
	}()
	defer func() {
		cancel()
		<-reading
	}()
	for held = s.Held(); (len(held) == 0) != no; held = s.Held() {
		select {
		case <-ctx.Done():
			t.Fatalf("held up: %v", held)
		case <-time.After(10 * time.Millisecond):
		}
	}
	return held
}

// D-7, A-62: of an open transaction it is said where it holds up what, since when, and whose it is; not of one that has ended.
func TestHeld(t *testing.T) {
	onEach(t, func(t *testing.T, k *cluster) {
		topic := k.topic(2)
		k.many(topic, 0, 200)
		before := time.Now().Add(-time.Second) // brokers tell milliseconds
		open := k.begin(topic, 0, "b")
		k.many(topic, 0, 1462)
		s := k.source(topic)
		got, r := next(t, s, start(t, s), batch.Limit{})
		if len(got) != 200 {
			t.Fatalf("%d rows", len(got))
		}
		held := await(t, s, start(t, s).With(r), false)
		if h := held[0]; len(held) != 1 || h.Split != topic+"/0" || h.At.At != 200 || h.Since.Before(before) || h.Since.After(time.Now()) {
			t.Errorf("%+v", held)
		}
		for _, part := range []string{"waiting for an open transaction on " + topic + "/0 at offset 200, open since " + held[0].Since.UTC().Format(time.RFC3339), "producer id", "transactional id x", "abort when it is 5m0s old"} {
			if text := held[0].Text; !strings.Contains(text, part) {
				t.Errorf("no %q in %q", part, text)
			}
		}
		if s.Waiting() != held[0].Text {
			t.Errorf("it waits for %q", s.Waiting())
		}
		open.end(kgo.TryAbort)
		s = k.source(topic)
		if got, _ := drain(t, s, start(t, s), end(t, s)); len(got) != 1662 {
			t.Errorf("%d rows", len(got))
		}
		if held := await(t, s, end(t, s), true); held != nil || s.Waiting() != "" {
			t.Errorf("%v, %q", held, s.Waiting())
		}
	})
}

// A transaction that its coordinator takes for ended is told apart, and one whose producer the user may not see is told of, too.
func TestHeldByATransactionThatHangs(t *testing.T) {
	b := testenv.Broker(t, broker.Options{})
	k := newCluster(t, b.Brokers())
	topic := k.topic(1)
	k.begin(topic, 0, "a")
	answer := func(key kmsg.Key, state string) string {
		t.Helper()
		b.Cluster().ControlKey(key.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
			b.Cluster().KeepControl()
			if state == "" {
				return nil, fmt.Errorf("not for you"), true
			}
			resp := req.ResponseKind().(*kmsg.DescribeTransactionsResponse)
			for _, id := range req.(*kmsg.DescribeTransactionsRequest).TransactionalIDs {
				ts := kmsg.NewDescribeTransactionsResponseTransactionState()
				ts.TransactionalID, ts.State, ts.StartTimestamp = id, state, -1
				resp.TransactionStates = append(resp.TransactionStates, ts)
			}
			return resp, nil, true
		})
		s := k.source(topic)
		held := await(t, s, start(t, s), false)
		if since := time.Since(held[0].Since); since < 0 || since > time.Minute {
			t.Errorf("since %v", held[0].Since)
		}
		return held[0].Text
	}
	if text := answer(kmsg.DescribeTransactions, "CompleteCommit"); !strings.Contains(text, "found open at 2") || !strings.Contains(text, "(CompleteCommit): it hangs") {
		t.Error(text)
	}
	if text := answer(kmsg.DescribeProducers, ""); !strings.Contains(text, "/0 at offset 0, found open at 2") || !strings.Contains(text, "(the producer cannot be told: ") {
		t.Error(text)
	}
}
