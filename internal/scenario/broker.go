package scenario

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sluice/internal/broker"
)

// Answers of a broker that are no error codes.
const (
	answerCut       = "cut"      // the connection ends, and nothing was done
	answerLost      = "lost"     // the connection ends, and what was asked for was done
	answerNever     = "never"    // it was done, and no answer comes
	answerSlow      = "slow"     // it was done, and the answer is late
	answerThrottled = "throttle" // it was done, and the client is asked to wait
)

// brokerFault is what the broker answers to requests of one kind, a number of times, in the next run.
type brokerFault struct {
	text   string // as it was asked for
	key    kmsg.Key
	answer string // one of the above, or "" for the code
	code   int16
	done   bool // the request is carried out all the same
	topic  string
	times  int

	handle *kfake.FaultHandle // of the broker's own faults
	hits   int                // those of the wire
	seen   int                // requests of this kind that there had been when it was hit last
}

func (f *brokerFault) String() string { return "fault " + f.text }

// newBrokerFault reads REQUEST ANSWER.
func newBrokerFault(request, answer string) (*brokerFault, error) {
	f := &brokerFault{text: request + " " + answer, key: -1, times: 1}
	for k := range int16(kmsg.MaxKey + 1) {
		if kmsg.NameForKey(k) == request {
			f.key = kmsg.Key(k)
		}
	}
	if f.key < 0 {
		return nil, fmt.Errorf("no request is called %s", request)
	}
	switch answer {
	case answerCut, answerLost, answerNever, answerSlow, answerThrottled:
		f.answer, f.done = answer, answer != answerCut
		return f, nil
	}
	for code := range int16(200) {
		var e *kerr.Error
		if errors.As(kerr.ErrorForCode(code), &e) && e.Message == answer {
			f.code = code
			return f, nil
		}
	}
	return nil, fmt.Errorf("%s is no error code of Kafka, nor %s", answer,
		strings.Join([]string{answerCut, answerLost, answerNever, answerSlow, answerThrottled}, ", "))
}

// arm implements injected.
func (f *brokerFault) arm(w *world) {
	switch {
	case f.done:
		w.wire.mu.Lock()
		defer w.wire.mu.Unlock()
		w.wire.faults = append(w.wire.faults, f)
	case f.answer == answerCut:
		w.broker.Cluster().ControlKey(int16(f.key), func(kmsg.Request) (kmsg.Response, error, bool) {
			w.broker.Cluster().KeepControl()
			return nil, io.EOF, f.cut(w)
		})
	default:
		var e *kerr.Error
		errors.As(kerr.ErrorForCode(f.code), &e)
		f.handle = w.broker.Cluster().Fault(kfake.Fault{Keys: []kmsg.Key{f.key}, Topic: f.topic, Err: e, Count: f.times,
			When: func(kmsg.Request) bool { f.note(w); return true }})
	}
}

// cut reports whether a connection is to be cut.
func (f *brokerFault) cut(w *world) bool {
	w.wire.mu.Lock()
	defer w.wire.mu.Unlock()
	if f.hits == f.times {
		return false
	}
	f.hits++
	f.seen = w.wire.seen[f.key]
	return true
}

func (f *brokerFault) note(w *world) {
	w.wire.mu.Lock()
	defer w.wire.mu.Unlock()
	f.seen = w.wire.seen[f.key]
}

// disarm implements injected.
func (f *brokerFault) disarm(w *world) (hit, again bool) {
	w.wire.mu.Lock()
	defer w.wire.mu.Unlock()
	hits := f.hits
	if f.handle != nil {
		f.handle.Remove()
		hits = f.handle.Hits()
	}
	f.times = f.hits
	return hits > 0, w.wire.seen[f.key] > f.seen || f.answer == answerSlow || f.answer == answerThrottled
}

// startBroker starts the broker behind a wire.
func startBroker(more []kfake.Opt) (*broker.Broker, *wire, error) {
	w := &wire{seen: map[kmsg.Key]int{}}
	b, err := broker.Start(broker.Options{Cluster: append([]kfake.Opt{kfake.ListenFn(w.listen)}, more...)})
	return b, w, err
}

// showGroup shows what a consumer group of a flow has, which other tools look at (D-17).
func showGroup(ctx context.Context, w *world, a *words) (string, error) {
	f, err := w.flowNamed(a)
	if err != nil {
		return "", err
	}
	return w.committed(ctx, w.plan.Name+"."+f.Name)
}
