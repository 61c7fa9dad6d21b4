package client

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	lookEvery = time.Second
	// silentAfter is for how long a broker may owe an answer without a word. Brokers answer within milliseconds; those that wait for
	// replicas, or for a commit to spread, within a second or two.
	silentAfter = 3 * time.Second
	// forgetAfter is when a silent broker of which nothing is asked any more is forgotten, while others are: it may lead nothing now.
	forgetAfter = 10 * time.Second
)

// Silence is a broker that keeps its connections open, or lets them hang, and does not answer.
type Silence struct {
	Node    int32 // -1: not known, since nothing but its address was ever heard of
	Address string
	Since   time.Time // when it last said something, or was first asked since
	Request string    // what it was asked, as Kafka calls it

	Over     time.Duration // how long it lasted; 0 while it lasts
	Answered bool          // it ended with an answer; else nothing is asked of the broker any more
}

// String is one line.
func (s Silence) String() string {
	who := "the broker at " + s.Address
	if s.Node >= 0 {
		who = fmt.Sprintf("broker %d at %s", s.Node, s.Address)
	}
	switch {
	case s.Over == 0:
		return fmt.Sprintf("%s has not answered since %s (%s)", who, s.Since.UTC().Format(time.RFC3339), s.Request)
	case s.Answered:
		return fmt.Sprintf("%s answers again, after %v", who, s.Over.Round(time.Second))
	}
	return fmt.Sprintf("%s is not asked any more, after %v without an answer", who, s.Over.Round(time.Second))
}

// Monitor finds the brokers that do not answer, among all that the clients made with it talk to, whatever they ask. It judges by the bytes
// that come: an answer that is long in coming over a slow network is no silence. It looks once a second and counts looks, so that a process
// that was itself stopped for a while accuses nobody.
//
// A silence outlasts connections and clients: it ends when the broker answers anyone, or when nobody asks it any more. A nil Monitor
// watches nothing.
type Monitor struct {
	tell    func(Silence)
	stop    chan struct{}
	running sync.WaitGroup

	mu      sync.Mutex
	brokers map[string]*peer // by address
	nodes   map[string]int32 // of the brokers that have introduced themselves, by address
}

// peer is a broker as the monitor knows it: by its address, since bootstrap servers have nothing else.
type peer struct {
	open     map[*watched]bool
	answered bool          // since the last look
	idle     time.Duration // since when nothing is asked of it, while others are
	silence  *Silence
}

// NewMonitor starts a monitor, which calls tell whenever a silence begins or ends, from a goroutine of its own.
func NewMonitor(tell func(Silence)) *Monitor {
	m := &Monitor{tell: tell, stop: make(chan struct{}), brokers: map[string]*peer{}, nodes: map[string]int32{}}
	m.running.Add(1)
	go m.watch()
	return m
}

// Close ends the monitor. It tells nothing afterwards.
func (m *Monitor) Close() {
	close(m.stop)
	m.running.Wait()
}

func (m *Monitor) watch() {
	defer m.running.Done()
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-m.stop:
			return
		case <-ticker.C:
		}
		for _, s := range m.look() {
			m.tell(s)
		}
	}
}

// Silent are the brokers that do not answer, the longest silence first.
func (m *Monitor) Silent() (out []Silence) {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, address := range slices.Sorted(maps.Keys(m.brokers)) {
		if s := m.brokers[address].silence; s != nil {
			out = append(out, *s)
		}
	}
	slices.SortStableFunc(out, func(a, b Silence) int { return a.Since.Compare(b.Since) })
	return out
}

// Forget ends all silences: whoever asked has ended.
func (m *Monitor) Forget() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range m.brokers {
		b.idle = forgetAfter
	}
}

// look is what happens once a second. It returns the silences that have begun or ended.
func (m *Monitor) look() (changed []Silence) {
	m.mu.Lock()
	defer m.mu.Unlock()
	connections := 0
	for _, b := range m.brokers {
		connections += len(b.open)
	}
	for _, address := range slices.Sorted(maps.Keys(m.brokers)) {
		b := m.brokers[address]
		overdue, asked := b.look()
		if asked {
			b.idle = 0
		} else if connections > 0 { // else the flow is between two tries
			b.idle += lookEvery
		}
		switch {
		case b.silence == nil && overdue != nil:
			b.silence = &Silence{Node: m.node(address), Address: address, Since: overdue.since, Request: overdue.asked[0].String()}
			changed = append(changed, *b.silence)
		case b.silence != nil && overdue == nil && (b.answered || b.idle >= forgetAfter):
			over := *b.silence
			over.Over, over.Answered = max(time.Since(over.Since), 1), b.answered
			b.silence = nil
			changed = append(changed, over)
		}
		b.answered = false
		if len(b.open) == 0 && b.silence == nil {
			delete(m.brokers, address)
		}
	}
	return changed
}

// look returns the connection that has been overdue for longest, if one is, and whether anything is asked of the broker.
func (b *peer) look() (overdue *watched, asked bool) {
	for c := range b.open {
		asked = asked || len(c.asked) > 0
		if c.overdue() && (overdue == nil || c.since.Before(overdue.since)) {
			overdue = c
		}
	}
	return overdue, asked
}

func (m *Monitor) node(address string) int32 {
	if n, known := m.nodes[address]; known {
		return n
	}
	return -1
}

// OnBrokerConnect implements kgo.HookBrokerConnect: a broker that answers says which one it is.
func (m *Monitor) OnBrokerConnect(meta kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	if err != nil || meta.NodeID < 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.nodes[net.JoinHostPort(meta.Host, strconv.Itoa(int(meta.Port)))] = meta.NodeID
}

// dialing returns a dialer whose connections are watched. A fetch may wait for so long before it is answered.
func (m *Monitor) dialing(dial Dialer, fetchWait time.Duration) Dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c := m.open(address, fetchWait)
		inner, err := dial(ctx, network, address)
		if err != nil {
			c.leave()
			return nil, err
		}
		c.connected(inner)
		return c, nil
	}
}

func (m *Monitor) open(address string, fetchWait time.Duration) *watched {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.brokers[address]
	if b == nil {
		b = &peer{open: map[*watched]bool{}}
		m.brokers[address] = b
	}
	c := &watched{monitor: m, broker: b, fetchWait: fetchWait, asked: []request{connecting}, since: time.Now(), heard: true}
	b.open[c] = true
	return c
}
