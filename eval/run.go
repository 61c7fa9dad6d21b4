package eval

/*
#include "scan.h"
*/
import "C"

import (
	"context"
	"slices"
	"time"

	duckdb "github.com/duckdb/duckdb-go-bindings"

	"sluice/eval/dialect"
	"sluice/fault"
)

// Run evaluates the query over inputs, which stand in the order of the query's Reads; at is the batch time. A record that
// SQL refuses gives an error of class Data, and no result. When ctx ends, its error is returned soon after.
func (s *Statement) Run(ctx context.Context, inputs []Input, at time.Time) (Result, error) {
	end, err := s.begin(ctx, inputs)
	if err != nil {
		return Result{}, err
	}
	defer end()
	out := s.nextResults(s.plain)
	if err := s.pass(ctx, s.plain, at, out); err != nil {
		return Result{}, err
	}
	return out.take()
}

// guard returns the guarded statement, which is the plain one when there is nothing to guard.
func (s *Statement) guard() (*prepared, error) {
	if s.compiled.Checks == 0 {
		return s.plain, nil
	}
	return s.once(&s.guarded, s.compiled.Guarded)
}

// once prepares a text that is seldom needed.
func (s *Statement) once(p **prepared, sql string) (_ *prepared, err error) {
	if *p == nil {
		*p, err = s.ready(sql, s.compiled.Clock, true)
	}
	return *p, err
}

// nextResults returns the older of the two sets of memory, empty, for the columns of p.
func (s *Statement) nextResults(p *prepared) *results {
	out := &s.results[s.turn]
	s.turn = 1 - s.turn
	out.truncate(0)
	out.guarded = p.guarded
	return out
}

// begin makes the inputs visible to DuckDB and lets the end of ctx interrupt it. end takes both back.
func (s *Statement) begin(ctx context.Context, inputs []Input) (end func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(inputs) != len(s.sources) {
		return nil, fault.New(fault.InternalError, "a query that reads %d relations got %d inputs", len(s.sources), len(inputs))
	}
	for i, source := range s.sources {
		if err := source.set(inputs[i], &s.pins); err != nil {
			s.release()
			return nil, err
		}
	}
	if err := s.setDocuments(inputs); err != nil {
		s.release()
		return nil, err
	}
	s.bounded = s.bound > 0 && len(inputs) > 0 && inputs[0].Batch != nil && inputs[0].Batch.Len > 1
	unwatch := s.watch(ctx)
	return func() {
		unwatch()
		s.release()
	}, nil
}

// setDocuments makes the documents of the stream ready, and points the functions that give parts of them there.
func (s *Statement) setDocuments(inputs []Input) error {
	for i, d := range s.documents {
		stream := slices.IndexFunc(s.compiled.Reads, func(r dialect.Read) bool { return r.Relation.Stream })
		if stream < 0 { // no column of it is used
			continue
		}
		if err := d.set(i, &inputs[stream]); err != nil {
			return err
		}
	}
	for _, f := range s.functions {
		if err := f.prepare(&s.pins); err != nil {
			return err
		}
	}
	return nil
}

func (s *Statement) release() {
	s.pins.Unpin()
	for _, d := range s.documents {
		d.ahead, d.texts = nil, nil
	}
	for _, source := range s.sources {
		source.unset()
	}
}

// interruptEvery is how often an interrupt is repeated: one that comes before the query has really begun is lost.
const interruptEvery = 20 * time.Millisecond

// watch interrupts DuckDB when ctx ends, until unwatch is called.
func (s *Statement) watch(ctx context.Context) (unwatch func()) {
	if ctx.Done() == nil {
		return func() {}
	}
	over, gone := make(chan struct{}), make(chan struct{})
	unhook := context.AfterFunc(ctx, func() {
		defer close(gone)
		for {
			duckdb.Interrupt(s.conn)
			select {
			case <-over:
				return
			case <-time.After(interruptEvery):
			}
		}
	})
	return func() {
		close(over)
		if !unhook() {
			<-gone
		}
	}
}

// pass runs p once and appends what it yields to out. After an error, out holds part of it.
func (s *Statement) pass(ctx context.Context, p *prepared, at time.Time, out *results) error {
	err := s.start(ctx, p, at)
	for more := true; err == nil && more; {
		if more, err = s.fetch(ctx, p, out); err == nil && s.bounded && out.size() > s.bound {
			err = ErrTooLarge
		}
	}
	if err = s.finish(p, err); err == nil {
		for _, f := range s.functions {
			nulled, failed := f.take()
			if failed != nil && failed.Code == fault.OutOfMemory {
				return failed // TRY made it NULL
			}
			out.nulled.Documents += nulled.Documents
			out.nulled.Fields += nulled.Fields
		}
	}
	return err
}

// start begins a run of p; finish must follow.
func (s *Statement) start(ctx context.Context, p *prepared, at time.Time) error {
	s.runs++
	for _, f := range s.functions {
		f.take() // what a run left that failed
	}
	if s.clock != nil {
		s.clock.micros = at.UnixMicro()
	}
	var ok C.bool
	if err := exception(C.sluice_try_execute(p.run, C.bool(p.parameter), C.int64_t(at.UnixMicro()), &ok)); err != nil || bool(ok) {
		return err
	}
	return s.failure(ctx, p)
}

// fetch appends the next chunk to out; more is false at the end.
func (s *Statement) fetch(ctx context.Context, p *prepared, out *results) (more bool, err error) {
	var rows C.int64_t
	err = exception(C.sluice_try_fetch(p.run, &rows))
	switch {
	case err != nil:
		return false, err
	case rows < 0:
		return false, s.failure(ctx, p)
	case rows == 0:
		return false, nil
	default:
		return true, out.append(p, int(rows))
	}
}

// finish frees the result, which closes the scans; one that cannot be closed is an error.
func (s *Statement) finish(p *prepared, err error) error {
	C.sluice_finish(p.run)
	if err == nil {
		err = s.scanFailure()
	}
	return err
}

// failure codes the error in p's result.
func (s *Statement) failure(ctx context.Context, p *prepared) error {
	if err := s.scanFailure(); err != nil {
		return err
	}
	for _, f := range s.functions {
		if _, err := f.take(); err != nil {
			return err
		}
	}
	kind := C.duckdb_result_error_type(&p.run.result)
	if kind == C.DUCKDB_ERROR_INTERRUPT {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return errBrokenOff
	}
	return runtimeError(kind, C.GoString(C.duckdb_result_error(&p.run.result)))
}

// scanFailure returns why a scan failed, which DuckDB knows less about.
func (s *Statement) scanFailure() error {
	for _, source := range s.sources {
		if err := source.failure(); err != nil {
			return err
		}
	}
	return nil
}
