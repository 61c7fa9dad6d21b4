package kafka

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/batch"
	"sluice/fault"
	"sluice/option"
	"sluice/sink"
	"sluice/source/kafka/client"
)

// Config says what a Sink writes and where.
type Config struct {
	Options   option.Values // parsed with Options()
	At        fault.Pos     // of the sink, for messages
	Bootstrap string        // brokers to use when the options name none
	Pipeline  string
	Flow      string
	Fields    []batch.Field  // columns of the rows it will get
	Records   bool           // a row is a record: its columns are key, value and headers, all of bytes, and go out as they are
	Feed      bool           // they come with what each row means
	Zone      *time.Location // of times that are written by a pattern without an offset; nil is UTC
	// Monitor watches the connections to the brokers; it may be nil.
	Monitor *client.Monitor
	// Dial connects instead of the network's dialer; nil for that one.
	Dial client.Dialer
}

// renewal is how often an identity is written again while no batch comes.
const renewal = 24 * time.Hour

// Sink implements sink.Sink.
type Sink struct {
	config  Config
	opts    options
	records *records
	target  string // for messages

	mu       sync.Mutex // Write and the renewal
	attached *attachment
	wrote    bool    // this run has attached before
	ending   *ending // that was broken off, nil for none
	dead     error   // FENCED: nothing is written any more
	stop     chan struct{}
	renewing sync.WaitGroup
}

// New makes a Sink. It connects at Open.
func New(c Config) (*Sink, error) {
	opts, problems := parse(c.Options, c.Bootstrap, c.At)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	opts.client.Monitor, opts.client.Dial, opts.whole = c.Monitor, c.Dial, c.Records
	s := &Sink{config: c, opts: opts, target: "topic " + opts.topic, stop: make(chan struct{})}
	var err error
	if c.Zone != nil {
		s.opts.csv.Zone = c.Zone
	}
	if s.records, err = newRecords(&s.opts, s.name(), c.Fields, c.Feed); err != nil {
		return nil, fault.From(err).At(c.At)
	}
	return s, nil
}

func (s *Sink) name() string  { return s.config.Pipeline + "." + s.config.Flow }
func (s *Sink) group() string { return s.name() + ".sink" }

// Open implements sink.Sink. It makes sure that the topic exists, and compares what the topic remembers with last where
// last names the store. The transactional id is taken over only at the first Write.
func (s *Sink) Open(ctx context.Context, last batch.ID, ok bool) error {
	cl, err := s.opts.client.New()
	if err != nil {
		return err
	}
	defer cl.Close()
	if err := s.ensureTopic(ctx, cl); err != nil {
		return err
	}
	if !ok || last.Store == "" {
		return nil
	}
	i, found, err := s.identity(ctx, kadm.NewClient(cl))
	if err != nil || !found {
		return err
	}
	last.Number++ // it may have been sent, too, and nobody came to know
	last.Replay = true
	last.Epoch = max(last.Epoch, i.Epoch) // of the last batch, not of today: the first Write knows
	return i.Admit(s.target, last, false)
}

func (s *Sink) missing(ctx context.Context, cl *kgo.Client) error {
	hint := "create it, or set create_topic => the number of its partitions"
	if s.opts.whole {
		hint = "create it; what waits for it is kept, and is sent then"
	}
	return client.Missing(ctx, cl, s.opts.topic, hint)
}

// vanished is the error for a topic that Open has found or made and that is not there. One that may be made is made again by the next
// Open; or it is there, and the brokers do not know it yet.
func (s *Sink) vanished(ctx context.Context, cl *kgo.Client) error {
	if s.opts.partitions == 0 {
		return s.missing(ctx, cl)
	}
	return fault.New(fault.KafkaUnavailable, "%s is not known to the brokers at the moment", s.target)
}

// ensureTopic fails when the topic does not exist, or creates it when that is asked for.
func (s *Sink) ensureTopic(ctx context.Context, cl *kgo.Client) error {
	_, exists, err := client.Await(ctx, cl, s.opts.topic)
	switch {
	case err != nil:
		return s.opts.client.Fault(ctx, err, "looking up %s", s.target)
	case exists:
		return nil
	case s.opts.partitions == 0:
		return s.missing(ctx, cl)
	}
	settings := map[string]*string{}
	if s.opts.upsert {
		settings["cleanup.policy"] = kadm.StringPtr("compact")
	}
	answer, err := kadm.NewClient(cl).CreateTopic(ctx, int32(s.opts.partitions), -1, settings, s.opts.topic)
	if err == nil {
		err = answer.Err
	}
	if errors.Is(err, kerr.TopicAlreadyExists) { // by an earlier Open, and the brokers do not know it yet
		return nil
	}
	return s.opts.client.Fault(ctx, err, "creating %s", s.target)
}

// Write implements sink.Sink.
func (s *Sink) Write(ctx context.Context, id batch.ID, rows sink.Rows) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead != nil {
		return s.dead
	}
	out, err := s.records.build(id, &rows) // before the first record leaves
	if err != nil {
		return err
	}
	if s.attached == nil {
		if err := s.attach(ctx, id); err != nil {
			return s.remember(err)
		}
	}
	a := s.attached
	if a.found && a.last.Holds(id) {
		return nil
	}
	if err = a.settleLast(ctx); err == nil {
		if len(out) == 0 {
			err = a.commit(ctx, sink.IdentityOf(id))
		} else {
			err = a.transact(ctx, sink.IdentityOf(id), out)
		}
	}
	if err != nil {
		// Whether the batch is there is not known, or the library's producer is no longer of use. The next Write asks.
		s.detach()
		s.records.forget()
		return s.remember(err)
	}
	a.last, a.found = sink.IdentityOf(id), true
	return nil
}

// remember makes a sink that was fenced stay so.
func (s *Sink) remember(err error) error {
	if fault.Of(err, fault.Fenced) {
		s.dead = err
	}
	return err
}

func (s *Sink) detach() {
	if s.attached != nil {
		s.attached.client.Close()
		s.attached = nil
	}
}

// Forget gives up buffers, which a large batch has made large.
func (s *Sink) Forget() { s.records.forget() }

// Close implements sink.Sink.
func (s *Sink) Close() error {
	close(s.stop)
	s.renewing.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.detach()
	return nil
}

// renew writes the identity again from time to time.
func (s *Sink) renew() {
	defer s.renewing.Done()
	tick := time.NewTicker(renewal)
	defer tick.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-tick.C:
		}
		s.mu.Lock()
		if a := s.attached; a != nil && a.found {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			_ = a.commit(ctx, a.last) // the next day tries again, and brokers keep it for seven
			cancel()
		}
		s.mu.Unlock()
	}
}
