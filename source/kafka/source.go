package kafka

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
	"sluice/option"
	"sluice/source"
	"sluice/source/kafka/client"
)

// Config says what a Source reads and how.
type Config struct {
	Options   option.Values     // parsed with Options()
	At        fault.Pos         // of the read_kafka call, for messages
	Stream    bool              // false for a once flow
	Bootstrap string            // brokers to use when the options name none
	Columns   []source.Column   // what to deliver, in this order
	Decoder   format.Decoder    // of the columns without Meta; nil when there are none
	Tolerated *format.Tolerated // what the decoder replaced; nil when it replaces nothing
	Mode      batch.Mode        // PERMISSIVE keeps the row of a record whose headers cannot be read
	// DrainTimeout bounds how long a read with an end waits for an open transaction (D-7). 0 means 15 minutes.
	DrainTimeout time.Duration
	// Monitor watches the connections to the brokers; it may be nil.
	Monitor *client.Monitor
	// Dial connects instead of the network's dialer; nil for that one.
	Dial client.Dialer
}

// patience is how long a fault of the cluster that may pass by itself is kept from the caller: a leader that moves, a
// broker that restarts. After it Read returns the fault and the caller decides.
const patience = 5 * time.Second

// Source implements source.Source.
type Source struct {
	opts    options
	client  *kgo.Client
	admin   *kadm.Client
	drain   time.Duration
	columns *columns

	mu      sync.Mutex
	parts   []*partition // sorted by split
	trouble troubles
	loops   map[int32]bool
	fetched map[int32]time.Time // brokers that have been asked for records, until they answer
	work    *sync.Cond          // partitions, buffers or leaders changed: fetch loops look again
	news    chan struct{}       // something arrived: a waiting Read looks again
	stale   chan struct{}       // metadata is wanted now

	fetchBytes, partitionBytes int64 // most bytes of an answer, and of all buffers; of a partition in one, and of its buffer

	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	running sync.WaitGroup

	reading reading // state of the goroutine that calls Read
}

// troubles are the faults that last, each under the broker it is of; those of metadata under noBroker.
type troubles map[int32]trouble

const noBroker = -1

// trouble is a fault that has lasted since a time.
type trouble struct {
	err   error
	since time.Time
}

func (t troubles) note(broker int32, err error) {
	since := time.Now()
	if old, ok := t[broker]; ok {
		since = old.since
	}
	t[broker] = trouble{err, since}
}

// oldest is the fault that has lasted longest.
func (t troubles) oldest() (out trouble) {
	for _, one := range t {
		if out.err == nil || one.since.Before(out.since) {
			out = one
		}
	}
	return out
}

// New makes a Source. It connects when it is first asked something; Check does so at once.
func New(c Config) (*Source, error) {
	opts, problems := parse(c.Options, c.Stream, c.Bootstrap, c.At)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	columns, err := newColumns(c, opts.nulls)
	if err != nil {
		return nil, err
	}
	opts.client.Monitor, opts.client.Dial = c.Monitor, c.Dial
	cl, err := opts.client.New()
	if err != nil {
		return nil, err
	}
	s := &Source{
		opts:    opts,
		client:  cl,
		admin:   kadm.NewClient(cl),
		drain:   c.DrainTimeout,
		columns: columns,
		loops:   map[int32]bool{},
		fetched: map[int32]time.Time{},
		trouble: troubles{},
		news:    make(chan struct{}, 1),
		stale:   make(chan struct{}, 1),
	}
	if s.drain == 0 {
		s.drain = 15 * time.Minute
	}
	s.work = sync.NewCond(&s.mu)
	s.reading.init(s)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// Close ends the fetches and the connections.
func (s *Source) Close() error {
	s.mu.Lock()
	s.cancel()
	s.work.Broadcast()
	s.mu.Unlock()
	s.running.Wait()
	s.client.Close()
	return nil
}

// wake lets a waiting Read look again.
func (s *Source) wake() {
	select {
	case s.news <- struct{}{}:
	default:
	}
}

// Waiting says why a Read that waits has nothing to return, as far as the cluster is the reason: an open transaction, a
// broker that does not answer. It is empty when there simply is nothing new, as every broker has said. It may be called while Read
// runs.
func (s *Source) Waiting() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.trouble.oldest(); t.err != nil {
		return t.err.Error()
	}
	if silent := s.opts.client.Monitor.Silent(); len(silent) > 0 {
		return silent[0].String()
	}
	if p := s.unheard(); p != nil {
		return fmt.Sprintf("waiting for broker %d to say what %s holds", p.leader, p.split)
	}
	held := s.held()
	switch len(held) {
	case 0:
		return ""
	case 1:
		return held[0].Text
	}
	return fmt.Sprintf("%s; and %d more partitions are held up", held[0].Text, len(held)-1)
}

// answerSlack is how long an answer to a fetch may be late before what the one before it said is not believed any more.
const answerSlack = time.Second

// unheard is a partition of which the broker has not said, or not lately, that there is nothing more. s.mu is held.
func (s *Source) unheard() *partition {
	for _, p := range s.parts {
		if !p.wanted || p.next >= p.until {
			continue
		}
		if !p.ended || s.overdue(p.leader) {
			return p
		}
	}
	return nil
}

// overdue reports whether a broker has not answered a fetch in time. s.mu is held.
func (s *Source) overdue(broker int32) bool {
	at, asked := s.fetched[broker]
	return asked && time.Since(at) > s.opts.client.FetchWait+answerSlack
}

var _ source.Source = (*Source)(nil)
