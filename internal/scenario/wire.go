package scenario

import (
	"encoding/binary"
	"net"
	"reflect"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// wire is the network in front of the broker. It knows which requests were made, and does to answers what the broker cannot do
// itself: an answer that is lost, late or wrong is one to a request that the broker has carried out.
type wire struct {
	mu     sync.Mutex
	seen   map[kmsg.Key]int // requests made
	faults []*brokerFault
}

// listen implements kfake.ListenFn.
func (w *wire) listen(network, address string) (net.Listener, error) {
	l, err := net.Listen(network, address)
	return tappedListener{l, w}, err
}

type tappedListener struct {
	net.Listener
	wire *wire
}

// Accept implements net.Listener.
func (l tappedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &tapped{Conn: c, wire: l.wire, asked: map[int32]header{}}, nil
}

// header is what a request begins with.
type header struct {
	key     kmsg.Key
	version int16
}

// tapped is the broker's end of a connection.
type tapped struct {
	net.Conn
	wire *wire

	head []byte // of the request that is being read: size, key, version, correlation id
	left int    // bytes that follow the head

	asked map[int32]header // by correlation id, without an answer; guarded by wire.mu
}

const headSize = 12

// Read implements net.Conn.
func (c *tapped) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	for b := p[:n]; len(b) > 0; {
		if c.left > 0 {
			k := min(c.left, len(b))
			b, c.left = b[k:], c.left-k
			continue
		}
		k := min(headSize-len(c.head), len(b))
		b, c.head = b[k:], append(c.head, b[:k]...)
		if len(c.head) == headSize {
			c.ask()
		}
	}
	return n, err
}

// ask notes the request whose head was read.
func (c *tapped) ask() {
	size := int(binary.BigEndian.Uint32(c.head))
	h := header{kmsg.Key(binary.BigEndian.Uint16(c.head[4:])), int16(binary.BigEndian.Uint16(c.head[6:]))}
	id := int32(binary.BigEndian.Uint32(c.head[8:]))
	c.left, c.head = size-(headSize-4), c.head[:0]
	c.wire.mu.Lock()
	defer c.wire.mu.Unlock()
	c.wire.seen[h.key]++
	c.asked[id] = h
}

// slowness is how late a slow answer is.
const slowness = 300 * time.Millisecond

// Write implements net.Conn. The broker writes each answer in one piece.
func (c *tapped) Write(answer []byte) (int, error) {
	f, h := c.fault(int32(binary.BigEndian.Uint32(answer[4:])))
	if f == nil {
		return c.Conn.Write(answer)
	}
	switch f.answer {
	case answerLost:
		_ = c.Conn.Close()
		return 0, net.ErrClosed
	case answerNever:
		return len(answer), nil
	case answerSlow:
		time.Sleep(slowness)
		return c.Conn.Write(answer)
	}
	changed, err := rewritten(answer, h, f)
	if err != nil {
		return 0, err
	}
	_, err = c.Conn.Write(changed)
	return len(answer), err
}

// fault returns the fault that is due for an answer, and the head of its request.
func (c *tapped) fault(id int32) (*brokerFault, header) {
	w := c.wire
	w.mu.Lock()
	defer w.mu.Unlock()
	h := c.asked[id]
	delete(c.asked, id)
	for _, f := range w.faults {
		if f.key == h.key && f.hits < f.times {
			f.hits++
			f.seen = w.seen[f.key]
			return f, h
		}
	}
	return nil, h
}

// rewritten is an answer with the fault in it.
func rewritten(answer []byte, h header, f *brokerFault) ([]byte, error) {
	resp := kmsg.ResponseForKey(int16(h.key))
	resp.SetVersion(h.version)
	start := 8
	if resp.IsFlexible() && h.key != kmsg.ApiVersions {
		start++ // no tags
	}
	if err := resp.ReadFrom(answer[start:]); err != nil {
		return nil, err
	}
	if f.answer == answerThrottled {
		if t, ok := resp.(kmsg.SetThrottleResponse); ok {
			t.SetThrottle(int32(slowness / time.Millisecond))
		}
	} else {
		setCodes(reflect.ValueOf(resp).Elem(), f.code)
	}
	out := resp.AppendTo(append([]byte{}, answer[:start]...))
	return append(kbin.AppendInt32(nil, int32(len(out)-4)), out[4:]...), nil
}

// setCodes sets every error code in an answer.
func setCodes(v reflect.Value, code int16) {
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			setCodes(v.Index(i), code)
		}
	case reflect.Struct:
		if f := v.FieldByName("ErrorCode"); f.IsValid() && f.CanSet() {
			f.SetInt(int64(code))
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				setCodes(v.Field(i), code)
			}
		}
	}
}
