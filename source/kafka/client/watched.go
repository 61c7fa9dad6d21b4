package client

import (
	"context"
	"encoding/binary"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Dialer connects to an address.
type Dialer func(ctx context.Context, network, address string) (net.Conn, error)

// request is the key of a request that a broker has not answered.
type request int16

// connecting is the wish to be connected, TLS included.
const connecting request = -1

// String is Kafka's name of the request.
func (r request) String() string {
	if r == connecting {
		return "connecting"
	}
	return kmsg.NameForKey(int16(r))
}

// watched is a connection to a broker. The library writes each request in one piece, and a broker answers them in their order.
type watched struct {
	net.Conn
	monitor   *Monitor
	broker    *peer
	fetchWait time.Duration

	// The rest is guarded by monitor.mu.
	asked   []request // without an answer, oldest first
	since   time.Time // of the last bytes that came, or of the first request without an answer
	heard   bool      // since has moved since the last look
	quiet   time.Duration
	answers frames
}

// overdue is asked at each look: whether the broker has owed an answer for too long.
func (c *watched) overdue() bool {
	if len(c.asked) == 0 || c.heard {
		c.heard, c.quiet = false, 0
		return false
	}
	c.quiet += lookEvery
	patience := silentAfter
	if c.asked[0] == request(kmsg.Fetch) {
		patience += c.fetchWait
	}
	return c.quiet >= patience
}

func (c *watched) connected(inner net.Conn) {
	c.monitor.mu.Lock()
	defer c.monitor.mu.Unlock()
	c.Conn, c.asked = inner, nil
}

// leave takes the connection out.
func (c *watched) leave() {
	c.monitor.mu.Lock()
	defer c.monitor.mu.Unlock()
	delete(c.broker.open, c)
}

// Write implements net.Conn. Size and key come first in a request.
func (c *watched) Write(b []byte) (int, error) {
	if len(b) >= 6 {
		c.monitor.mu.Lock()
		if len(c.asked) == 0 {
			c.since, c.heard = time.Now(), true
		}
		c.asked = append(c.asked, request(binary.BigEndian.Uint16(b[4:])))
		c.monitor.mu.Unlock()
	}
	return c.Conn.Write(b)
}

// Read implements net.Conn.
func (c *watched) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.monitor.mu.Lock()
		c.since, c.heard = time.Now(), true
		if ended := c.answers.pass(b[:n]); ended > 0 {
			c.asked, c.broker.answered = c.asked[min(ended, len(c.asked)):], true
		}
		c.monitor.mu.Unlock()
	}
	return n, err
}

// Close implements net.Conn.
func (c *watched) Close() error {
	c.leave()
	return c.Conn.Close()
}

// frames finds the ends of messages in a stream: each has its length in front, in four bytes.
type frames struct {
	size [4]byte
	got  int    // bytes of size
	left uint32 // bytes of the message that are still to come
}

// pass takes the next bytes of the stream and returns how many messages end in them.
func (f *frames) pass(b []byte) (ended int) {
	for len(b) > 0 {
		if f.got < len(f.size) {
			n := copy(f.size[f.got:], b)
			f.got, b = f.got+n, b[n:]
			f.left = binary.BigEndian.Uint32(f.size[:])
		}
		if f.got == len(f.size) {
			n := min(int(f.left), len(b))
			f.left, b = f.left-uint32(n), b[n:]
			if f.left == 0 {
				f.got = 0
				ended++
			}
		}
	}
	return ended
}
