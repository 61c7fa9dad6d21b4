package state

import (
	"context"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"sluice/fault"
)

// syncer makes commits durable in groups: one fsync for all that came within the interval, and at once for whoever waits.
// It sleeps while there is nothing to do.
type syncer struct {
	store *Store
	wake  chan struct{} // something is dirty
	now   chan struct{} // somebody waits
	quit  chan struct{}
	ended chan struct{}

	mu      sync.Mutex
	pending bool
	waiting []chan error
}

func (y *syncer) start(s *Store) {
	y.store = s
	y.wake, y.now = make(chan struct{}, 1), make(chan struct{}, 1)
	y.quit, y.ended = make(chan struct{}), make(chan struct{})
	go y.run()
}

// dirty says that there is a commit to be made durable within the interval.
func (y *syncer) dirty() {
	y.mu.Lock()
	was := y.pending
	y.pending = true
	y.mu.Unlock()
	if !was {
		signal(y.wake)
	}
}

// wait returns when everything committed before is durable.
func (y *syncer) wait(ctx context.Context) error {
	done := make(chan error, 1)
	y.mu.Lock()
	y.waiting = append(y.waiting, done)
	y.mu.Unlock()
	signal(y.now)
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-y.ended:
	}
	select {
	case err := <-done: // the last sync was for us too
		return err
	default:
		return fault.New(fault.StoreClosed, "the store was closed")
	}
}

// stop makes everything durable and ends the goroutine.
func (y *syncer) stop() error {
	close(y.quit)
	<-y.ended
	return y.sync()
}

func (y *syncer) run() {
	defer close(y.ended)
	for {
		select {
		case <-y.quit:
			return
		case <-y.now:
		case <-y.wake:
			y.pause()
		}
		_ = y.sync() // a failure has been reported, and every later commit returns it
	}
}

// pause lets more commits come, until the interval is over or somebody waits.
func (y *syncer) pause() {
	t := time.NewTimer(y.store.o.SyncInterval)
	defer t.Stop()
	select {
	case <-t.C:
	case <-y.now:
	case <-y.quit:
	}
}

// sync makes durable what was committed before it and tells those who waited.
func (y *syncer) sync() error {
	y.mu.Lock()
	waiting, pending := y.waiting, y.pending
	y.waiting, y.pending = nil, false
	y.mu.Unlock()
	var err error
	if pending || len(waiting) > 0 {
		err = y.flush()
	}
	for _, done := range waiting {
		done <- err
	}
	return err
}

// flush writes an empty record to Pebble's log and waits for the disk: the log is one file in one order, so all before it
// is durable too.
func (y *syncer) flush() (err error) {
	s := y.store
	if f := s.failure.Load(); f != nil {
		return f
	}
	if s.o.ReadOnly {
		return nil
	}
	defer s.recoverFatal(&err)
	start := time.Now()
	if err := s.db.LogData(nil, pebble.Sync); err != nil {
		return s.fail(err)
	}
	s.o.OnSync(time.Since(start))
	return nil
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
