package state

import (
	"encoding/binary"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// Event makes the bytes of an event from its sequence number.
type Event func(sequence uint64) []byte

// StoredEvent is an event of the log.
type StoredEvent struct {
	Sequence uint64
	Bytes    []byte
}

// eventLog numbers events. Old ones are removed a block at a time.
type eventLog struct {
	last atomic.Uint64
}

// trimEvents is how many events are removed at once.
const trimEvents = 256

func (l *eventLog) load(s *Store) error {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: key(kindEvent), UpperBound: prefixEnd(key(kindEvent))})
	if err != nil {
		return s.readFailed(err)
	}
	defer it.Close()
	if it.Last() {
		l.last.Store(sequenceOf(it.Key()))
	}
	if err := it.Error(); err != nil {
		return s.readFailed(err)
	}
	return nil
}

func sequenceOf(k []byte) uint64 { return binary.BigEndian.Uint64(k[2:]) }

// put adds events to a batch and takes out those that are too old.
func (l *eventLog) put(b *pebble.Batch, kept int, events []Event) {
	for _, e := range events {
		n := l.last.Add(1)
		must(b.Set(eventKey(n), e(n), nil))
		if n%trimEvents == 0 && n > uint64(kept) {
			must(b.DeleteRange(eventKey(0), eventKey(n-uint64(kept)+1), nil))
		}
	}
}

// AppendEvent adds an event to the log. The log keeps at least the last Options.KeptEvents and some more.
func (s *Store) AppendEvent(e Event) error {
	return s.update(func(b *pebble.Batch) { s.events.put(b, s.o.KeptEvents, []Event{e}) })
}

// LastEvent is the sequence number of the newest event, 0 when there is none. Sequences start at 1; one may be missing
// after a crash.
func (s *Store) LastEvent() uint64 { return s.events.last.Load() }

// Events returns at most limit events from a sequence number on, in order; with from 0 the oldest kept come first.
func (s *Store) Events(from uint64, limit int) ([]StoredEvent, error) {
	var out []StoredEvent
	if limit <= 0 {
		return nil, nil
	}
	err := s.each(s.db, eventKey(from), prefixEnd(key(kindEvent)), func(k, v []byte) error {
		out = append(out, StoredEvent{sequenceOf(k), append([]byte(nil), v...)})
		if len(out) == limit {
			return errEnough
		}
		return nil
	})
	if err == errEnough {
		err = nil
	}
	return out, err
}
