package client

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"
)

// peers is a network of brokers that do as they are told, and a monitor that looks when it is told.
type peers struct {
	t    *testing.T
	m    *Monitor
	dial Dialer
	far  chan net.Conn // the brokers' ends
	fail error         // of the next dial
}

const fetchWait = 2 * time.Second

func newPeers(t *testing.T) *peers {
	p := &peers{t: t, m: &Monitor{brokers: map[string]*peer{}, nodes: map[string]int32{}}, far: make(chan net.Conn, 1)}
	p.dial = p.m.dialing(func(context.Context, string, string) (net.Conn, error) {
		if p.fail != nil {
			return nil, p.fail
		}
		near, far := net.Pipe()
		t.Cleanup(func() { near.Close(); far.Close() })
		p.far <- far
		return near, nil
	}, fetchWait)
	return p
}

func (p *peers) connect(address string) (near, far net.Conn) {
	p.t.Helper()
	near, err := p.dial(context.Background(), "tcp", address)
	if err != nil {
		p.t.Fatal(err)
	}
	return near, <-p.far
}

// message is one of a size, with a key where requests have it.
func message(key kmsg.Key, size int) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(size))
	b = binary.BigEndian.AppendUint16(b, uint16(key))
	return append(b, make([]byte, size-2)...)
}

// pass carries bytes from one end to the other.
func (p *peers) pass(from, to net.Conn, b []byte) {
	p.t.Helper()
	sent := make(chan error, 1)
	go func() {
		_, err := from.Write(b)
		sent <- err
	}()
	for left := len(b); left > 0; {
		n, err := to.Read(make([]byte, left))
		if err != nil {
			p.t.Fatal(err)
		}
		left -= n
	}
	if err := <-sent; err != nil {
		p.t.Fatal(err)
	}
}

// looks is what so many looks find.
func (p *peers) looks(n int) (changed []Silence) {
	for range n {
		changed = append(changed, p.m.look()...)
	}
	return changed
}

// A broker that owes an answer is silent after three seconds, and no longer when it answers. How long it has been goes back to what it said last.
func TestABrokerThatDoesNotAnswerIsSilent(t *testing.T) {
	p := newPeers(t)
	near, far := p.connect("a:1")
	p.m.OnBrokerConnect(kgo.BrokerMetadata{NodeID: 7, Host: "a", Port: 1}, 0, nil, nil)
	p.m.OnBrokerConnect(kgo.BrokerMetadata{NodeID: -5, Host: "b", Port: 1}, 0, nil, nil) // a bootstrap server
	if s := p.looks(100); s != nil {
		t.Fatalf("nothing was asked, and %v", s)
	}
	p.pass(near, far, message(kmsg.Metadata, 40))
	asked := time.Now()
	if s := p.looks(3); s != nil {
		t.Fatalf("after three looks, of which the first is in the second of the request: %v", s)
	}
	s := p.looks(1)
	if len(s) != 1 || s[0].Node != 7 || s[0].Address != "a:1" || s[0].Request != "Metadata" || s[0].Since.After(asked) || s[0].Over != 0 {
		t.Fatalf("got %+v", s)
	}
	if want := "broker 7 at a:1 has not answered since " + s[0].Since.UTC().Format(time.RFC3339) + " (Metadata)"; s[0].String() != want {
		t.Errorf("it says %q, want %q", s[0], want)
	}
	if again := p.looks(50); again != nil || !slices.Equal(p.m.Silent(), s) {
		t.Errorf("it is told again: %v; %v", again, p.m.Silent())
	}
	p.pass(far, near, message(0, 10))
	over := p.looks(1)
	if len(over) != 1 || over[0].Over <= 0 || !over[0].Answered || !over[0].Since.Equal(s[0].Since) || !strings.HasPrefix(over[0].String(), "broker 7 at a:1 answers again") {
		t.Errorf("got %+v", over)
	}
	if s := p.m.Silent(); s != nil {
		t.Errorf("still silent: %v", s)
	}
}

// A fetch may wait for records, and an answer may take long to come.
func TestABrokerThatTakesItsTimeIsNotSilent(t *testing.T) {
	p := newPeers(t)
	near, far := p.connect("a:1")
	p.pass(near, far, message(kmsg.Fetch, 40))
	if s := p.looks(5); s != nil {
		t.Fatalf("a fetch may wait for %v: %v", fetchWait, s)
	}
	answer := message(0, 1000)
	for i := range answer {
		p.pass(far, near, answer[i:i+1])
		if s := p.looks(3); s != nil {
			t.Fatalf("%d bytes have come, and %v", i+1, s)
		}
	}
	p.pass(near, far, message(kmsg.Fetch, 40))
	p.pass(near, far, message(kmsg.Fetch, 40))
	p.pass(far, near, slices.Concat(answer, answer[:500])) // the second one stops in the middle
	if s := p.looks(5); s != nil {
		t.Fatal(s)
	}
	if s := p.looks(1); len(s) != 1 || s[0].Request != "Fetch" || s[0].Node != -1 || !strings.HasPrefix(s[0].String(), "the broker at a:1 has") {
		t.Fatalf("got %v", s)
	}
}

// A silence outlasts the connection, and the time in which nobody tries. It ends when the broker answers anyone, or, while others are
// asked, when nobody asks this one any more.
func TestASilenceOutlastsItsConnection(t *testing.T) {
	p := newPeers(t)
	near, far := p.connect("a:1")
	p.pass(near, far, message(kmsg.Produce, 40))
	first := p.looks(4)
	near.Close()
	if s := p.looks(100); s != nil || len(first) != 1 {
		t.Fatalf("%v, then %v while there is no connection to anybody", first, s)
	}
	near, far = p.connect("a:1")
	if s := p.looks(9); s != nil {
		t.Fatal(s)
	}
	p.pass(near, far, message(kmsg.ApiVersions, 40))
	if s := p.looks(100); s != nil || !slices.Equal(p.m.Silent(), first) {
		t.Fatalf("it is asked again and still silent: %v, %v", s, p.m.Silent())
	}
	near.Close()
	_, _ = p.connect("b:1")
	if s := p.looks(9); s != nil {
		t.Fatal(s)
	}
	if s := p.looks(1); len(s) != 1 || s[0].Answered || !strings.HasPrefix(s[0].String(), "the broker at a:1 is not asked any more") {
		t.Fatalf("got %v", s)
	}

	near, far = p.connect("a:1")
	p.pass(near, far, message(kmsg.Produce, 40))
	p.looks(4)
	near.Close()
	p.m.Forget()
	if s := p.looks(1); len(s) != 1 || s[0].Answered || p.m.Silent() != nil {
		t.Fatalf("forgotten, and %v", s)
	}
}

// A connection that does not come about is silence, too; one that is refused is not.
func TestConnecting(t *testing.T) {
	p := newPeers(t)
	p.fail = errors.New("refused")
	if _, err := p.dial(context.Background(), "tcp", "a:1"); err != p.fail {
		t.Fatal(err)
	}
	if s := p.looks(100); s != nil || len(p.m.brokers) != 0 {
		t.Fatalf("%v, %d brokers", s, len(p.m.brokers))
	}
	p.fail = nil
	p.far <- nil // the dial hangs
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = p.dial(context.Background(), "tcp", "b:1")
	}()
	var s []Silence
	for end := time.Now().Add(time.Minute); s == nil; time.Sleep(time.Millisecond) {
		if s = p.looks(1); s == nil && time.Now().After(end) { // until it dials, and then four
			t.Fatal("nobody says that the dial hangs")
		}
	}
	if s[0].Request != "connecting" || s[0].Address != "b:1" {
		t.Errorf("got %v", s)
	}
	<-p.far
	<-done
	<-p.far
}

// Several requests are on their way at once; the oldest is the one that is named.
func TestTheOldestRequestIsNamed(t *testing.T) {
	p := newPeers(t)
	near, far := p.connect("a:1")
	for _, key := range []kmsg.Key{kmsg.Metadata, kmsg.EndTxn, kmsg.ListOffsets} {
		p.pass(near, far, message(key, 20))
	}
	p.pass(far, near, message(0, 8))
	if s := p.looks(4); len(s) != 1 || s[0].Request != "EndTxn" {
		t.Errorf("got %v", s)
	}
}

// A nil monitor watches nothing.
func TestNoMonitor(t *testing.T) {
	var m *Monitor
	m.Forget()
	if m.Silent() != nil {
		t.Error("silent")
	}
}

// However a stream is cut, its messages end where they end.
func TestFrames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOf(rapid.IntRange(0, 300)).Draw(t, "sizes")
		var stream []byte
		for _, n := range sizes {
			stream = append(binary.BigEndian.AppendUint32(stream, uint32(n)), make([]byte, n)...)
		}
		f, ended, want := frames{}, 0, 0
		for at := 0; at < len(stream); {
			next := at + rapid.IntRange(1, len(stream)-at).Draw(t, "piece")
			ended += f.pass(stream[at:next])
			at = next
			want = 0
			for sum, i := 0, 0; i < len(sizes); i++ {
				if sum += 4 + sizes[i]; sum <= at {
					want++
				}
			}
			if ended != want {
				t.Fatalf("%d messages end within %d bytes of %v, got %d", want, at, sizes, ended)
			}
		}
	})
}
