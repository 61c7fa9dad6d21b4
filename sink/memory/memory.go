// Package memory is a sink that keeps what it gets, for tests of everything that feeds a sink.
//
// A Store outlives the sinks opened on it, as a target outside outlives the daemon. It keeps one copy per batch identity
// and refuses numbers out of order, so that a test sees a caller's mistakes. It is safe for concurrent use.
package memory

import (
	"context"
	"fmt"
	"sync"

	"sluice/batch"
	"sluice/fault"
	"sluice/option"
	"sluice/sink"
)

// Options are those of the kind: none.
func Options() option.Set { return nil }

// Batch is an accepted batch. Its rows are a copy.
type Batch struct {
	ID   batch.ID
	Rows sink.Rows
}

// Store is the target outside.
type Store struct {
	mu      sync.Mutex
	batches []Batch
	writes  int
	fail    []error
}

// Sink returns a sink that writes to s.
func (s *Store) Sink() sink.Sink { return &memorySink{store: s} }

// Batches returns the accepted batches in the order of their first arrival.
func (s *Store) Batches() []Batch {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Batch(nil), s.batches...)
}

// Writes counts the calls of Write, refused and repeated ones included.
func (s *Store) Writes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes
}

// Fail makes the next writes return these errors, one each, without accepting anything.
func (s *Store) Fail(errs ...error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = append(s.fail, errs...)
}

type memorySink struct{ store *Store }

func (m *memorySink) Open(ctx context.Context, _ batch.ID, _ bool) error { return ctx.Err() }

func (m *memorySink) Close() error { return nil }

func (m *memorySink) Write(ctx context.Context, id batch.ID, rows sink.Rows) error {
	s := m.store
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(s.fail) > 0 {
		err := s.fail[0]
		s.fail = s.fail[1:]
		return err
	}
	accepted := Batch{id, clone(rows)}
	last := -1
	for i, b := range s.batches {
		if b.ID.Pipeline != id.Pipeline || b.ID.Flow != id.Flow {
			continue
		}
		if b.ID.Generation == id.Generation && b.ID.Number == id.Number {
			s.batches[i] = accepted
			return nil
		}
		last = i
	}
	if last >= 0 {
		before := s.batches[last].ID
		if id.Generation < before.Generation || id.Generation == before.Generation && id.Number < before.Number {
			return fault.New(fault.InternalError, "batch %s of flow %s comes after batch %s", name(id), id.Flow, name(before))
		}
	}
	s.batches = append(s.batches, accepted)
	return nil
}

func name(id batch.ID) string { return fmt.Sprintf("%d/%d", id.Generation, id.Number) }

// clone copies rows: the caller uses its memory again.
func clone(r sink.Rows) sink.Rows {
	all := make([]int32, r.Columns.Len)
	for i := range all {
		all[i] = int32(i)
	}
	return sink.Rows{
		Columns:  r.Columns.Take(all),
		Change:   append([]sink.Change(nil), r.Change...),
		Keys:     cloneKeys(r.Keys),
		Sequence: cloneKeys(r.Sequence),
	}
}

func cloneKeys(k batch.Keys) batch.Keys {
	return batch.Keys{Offsets: append([]uint32(nil), k.Offsets...), Bytes: append([]byte(nil), k.Bytes...)}
}
