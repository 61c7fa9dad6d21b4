package sinktest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"sluice/batch"
	"sluice/fault"
	"sluice/sink"
)

// Doubtful is a Target that can itself leave a batch in doubt.
type Doubtful interface {
	// Doubt makes the next Write do its work and fail all the same, with an error that is worth a retry. What it returns ends that, and
	// says whether it has happened.
	Doubt(t *testing.T) (happened func() bool)
}

// told is a sink that fails after it has done what it was asked for.
type told struct{ sink.Sink }

var errDoubt = fault.New(fault.KafkaUnavailable, "the answer is lost")

// Write implements sink.Sink.
func (d told) Write(ctx context.Context, id batch.ID, rows sink.Rows) error {
	if err := d.Sink.Write(ctx, id, rows); err != nil {
		return err
	}
	return errDoubt
}

// inDoubt lets writes fail that have done their work: the batch comes again, in the same run or in the next one, and after it the
// batches go on (FB-09, A-82).
func inDoubt(t *testing.T, k Kind) {
	doubts := map[string]func(t *testing.T, target Target, s sink.Sink, id batch.ID, rows sink.Rows) error{
		"by the caller": func(t *testing.T, _ Target, s sink.Sink, id batch.ID, rows sink.Rows) error {
			return told{s}.Write(context.Background(), id, rows)
		},
		"by the target": func(t *testing.T, target Target, s sink.Sink, id batch.ID, rows sink.Rows) error {
			d, ok := target.(Doubtful)
			if !ok {
				t.Skip("this kind cannot be left in doubt")
			}
			happened := d.Doubt(t)
			err := s.Write(context.Background(), id, rows)
			if !happened() {
				t.Fatalf("the fault was not reached: %v", err)
			}
			return err
		},
	}
	for name, doubtfully := range doubts {
		t.Run(name, func(t *testing.T) {
			target := k.New(t, simpleFields)
			var want []string
			expect := func(rows batch.Columns, doubtful bool) {
				want = append(want, Lines(t, rows)...)
				if doubtful && !k.OnceOnly {
					want = append(want, Lines(t, rows)...)
				}
			}
			doubt := func(s sink.Sink, id batch.ID, rows batch.Columns) batch.ID {
				t.Helper()
				if err := doubtfully(t, target, s, id, sink.Rows{Columns: rows}); err == nil || fault.From(err).Code.Retry != fault.Backoff {
					t.Fatalf("a write in doubt: %v, want an error with the retry %s", err, fault.Backoff)
				}
				id.Replay = true
				expect(rows, true)
				return id
			}
			s := opened(t, target, batch.ID{}, false)
			again := doubt(s, ID(0, 0), simple(0, 2)) // the first one that the target ever sees
			write(t, s, again, sink.Rows{Columns: simple(0, 2)})
			again = doubt(s, ID(0, 1), simple(10, 2))
			write(t, s, again, sink.Rows{Columns: simple(10, 2)})
			write(t, s, ID(0, 2), sink.Rows{Columns: simple(20, 1)})
			expect(simple(20, 1), false)
			again = doubt(s, ID(0, 3), simple(30, 2))
			closed(t, s)
			s = opened(t, target, ID(0, 2), true) // after a crash
			again.Epoch++
			write(t, s, again, sink.Rows{Columns: simple(30, 2)})
			last := ID(0, 4)
			last.Epoch++
			write(t, s, last, sink.Rows{Columns: simple(40, 1)})
			expect(simple(40, 1), false)
			closed(t, s)
			compare(t, Lines(t, target.Read(t, false)), want)
		})
	}
}

// Lossy is a network that can lose answers: a connection through it ends as the answer to a chosen message arrives.
type Lossy struct {
	chosen func(sent []byte) bool
	armed  atomic.Bool
	lost   atomic.Int64
}

// NewLossy returns a network that knows messages whose answers it may lose.
func NewLossy(chosen func(sent []byte) bool) *Lossy { return &Lossy{chosen: chosen} }

// Lose lets the answers to chosen messages be lost until it is called off. That returns whether any was.
func (l *Lossy) Lose() (happened func() bool) {
	l.lost.Store(0)
	l.armed.Store(true)
	return func() bool {
		l.armed.Store(false)
		return l.lost.Load() > 0
	}
}

// Conn returns the client's end of a connection.
func (l *Lossy) Conn(c net.Conn) net.Conn { return &lossyConn{Conn: c, net: l} }

type lossyConn struct {
	net.Conn
	net    *Lossy
	doomed atomic.Bool
}

// Write implements net.Conn.
func (c *lossyConn) Write(p []byte) (int, error) {
	if c.net.armed.Load() && c.net.chosen(p) {
		c.doomed.Store(true)
	}
	return c.Conn.Write(p)
}

// Read implements net.Conn.
func (c *lossyConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 && c.doomed.Load() {
		c.net.lost.Add(1)
		_ = c.Conn.Close()
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}

// Proxy listens in front of a server, for clients that cannot be given a connection. It ends with t. A host that is a folder is
// that of PostgreSQL's socket.
func (l *Lossy) Proxy(t *testing.T, host string, port uint16) (address string) {
	t.Helper()
	network, server := "tcp", net.JoinHostPort(host, strconv.Itoa(int(port)))
	if filepath.IsAbs(host) {
		network, server = "unix", filepath.Join(host, fmt.Sprintf(".s.PGSQL.%d", port))
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			behind, err := net.Dial(network, server)
			if err != nil {
				_ = client.Close()
				continue
			}
			behind = l.Conn(behind)
			for _, pair := range [2][2]net.Conn{{client, behind}, {behind, client}} {
				running.Go(func() {
					_, err := io.Copy(onlyWriter{pair[0]}, onlyReader{pair[1]})
					if !errors.Is(err, net.ErrClosed) {
						_ = client.Close()
						_ = behind.Close()
					}
				})
			}
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		running.Wait()
	})
	return listener.Addr().String()
}

// onlyReader and onlyWriter keep io.Copy from going past Read and Write.
type (
	onlyReader struct{ io.Reader }
	onlyWriter struct{ io.Writer }
)
