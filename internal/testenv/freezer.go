package testenv

import (
	"net"
	"sync"
)

// Freezer is the network of an embedded broker (kfake.ListenFn) that can freeze, as a machine does: connections stay open and new ones are
// taken, but no answer leaves. The zero Freezer is the network of the machine, and lets everything through.
type Freezer struct {
	Network func(network, address string) (net.Listener, error) // to listen on; nil: net.Listen
	Address string                                              // of the one broker that freezes, among several; "" all

	mu     sync.Mutex
	thawed chan struct{} // closed at the end of a freeze; nil when there is none
}

// Freeze holds back all answers from now on.
func (f *Freezer) Freeze() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.thawed == nil {
		f.thawed = make(chan struct{})
	}
}

// Thaw lets everything go that was held back.
func (f *Freezer) Thaw() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.thawed != nil {
		close(f.thawed)
		f.thawed = nil
	}
}

// held is what a writer has to wait for; nil when there is nothing.
func (f *Freezer) held() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.thawed
}

// Listen implements kfake.ListenFn.
func (f *Freezer) Listen(network, address string) (net.Listener, error) {
	listen := f.Network
	if listen == nil {
		listen = net.Listen
	}
	l, err := listen(network, address)
	if err != nil || f.Address != "" && l.Addr().String() != f.Address {
		return l, err
	}
	return freezingListener{l, f}, nil
}

type freezingListener struct {
	net.Listener
	freezer *Freezer
}

// Accept implements net.Listener.
func (l freezingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &freezing{Conn: c, freezer: l.freezer, closed: make(chan struct{})}, nil
}

// freezing is the broker's end of a connection.
type freezing struct {
	net.Conn
	freezer *Freezer
	once    sync.Once
	closed  chan struct{}
}

// Write implements net.Conn.
func (c *freezing) Write(b []byte) (int, error) {
	for thawed := c.freezer.held(); thawed != nil; thawed = c.freezer.held() {
		select {
		case <-thawed:
		case <-c.closed:
			return 0, net.ErrClosed
		}
	}
	return c.Conn.Write(b)
}

// Close implements net.Conn.
func (c *freezing) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}
