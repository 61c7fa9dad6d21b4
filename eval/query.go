package eval

import (
	"context"
	"time"

	"sluice/batch"
	"sluice/eval/dialect"
	"sluice/fault"
)

// Rows is the result of a query, brought chunk by chunk while DuckDB computes it. It is used by one goroutine.
type Rows struct {
	statement *Statement
	ctx       context.Context // of the query that Rows is
	at        time.Time
	end       func()
	err       error
	done      bool
}

// Query runs c once. Rows must be closed; until then its inputs must stay as they are. ctx covers all of it.
func (e *Engine) Query(ctx context.Context, c *dialect.Compiled, inputs []Input, at time.Time) (*Rows, error) {
	s, err := e.Prepare(c)
	if err != nil {
		return nil, err
	}
	end, err := s.begin(ctx, inputs)
	if err != nil {
		s.Close()
		return nil, err
	}
	r := &Rows{statement: s, ctx: ctx, at: at, end: end}
	if err := s.start(ctx, s.plain, at); err != nil {
		r.err = err
		return nil, r.Close()
	}
	return r, nil
}

// Next returns the next rows, none at the end. They are valid until the next call.
func (r *Rows) Next() (batch.Columns, error) {
	result, err := r.Checked()
	return result.Rows, err
}

// Checked is Next with what the checks of the query say of the rows.
func (r *Rows) Checked() (Result, error) {
	out := r.statement.nextResults(r.statement.plain)
	if r.done || r.err != nil {
		return Result{}, r.err
	}
	more, err := r.statement.fetch(r.ctx, r.statement.plain, out)
	r.done = !more
	if r.done && err == nil {
		err = r.statement.swallowed()
	}
	if err == errBrokenOff {
		err = r.cause()
	}
	if err != nil {
		r.err = err
		return Result{}, err
	}
	return out.take()
}

// cause finds out why a query was broken off. A thread of DuckDB's that fails while nobody fetches breaks the others off, and who fetches next learns of that
// alone. Run again, and fetched without a pause, the query says why; a few times, since the same may happen once more.
func (r *Rows) cause() error {
	s, err := r.statement, error(errBrokenOff)
	for range 10 {
		_ = s.finish(s.plain, err)
		if err = s.start(r.ctx, s.plain, r.at); err != nil {
			return err
		}
		for more := true; more && err == nil; {
			more, err = s.fetch(r.ctx, s.plain, s.nextResults(s.plain))
		}
		if err != errBrokenOff {
			break
		}
	}
	if err == nil {
		err = errBrokenOff
	}
	return err
}

// errBrokenOff is the error of a run that DuckDB has broken off for another error.
var errBrokenOff error = fault.New(fault.InternalError, "the query was broken off for another error")

// swallowed is that memory ran out in a function and TRY made it NULL.
func (s *Statement) swallowed() error {
	for _, f := range s.functions {
		if _, err := f.take(); err != nil && err.Code == fault.OutOfMemory {
			return err
		}
	}
	return nil
}

// Close ends the query, however far it has come, and returns the error that ended it, if one did.
func (r *Rows) Close() error {
	if r.end == nil {
		return r.err
	}
	r.err = r.statement.finish(r.statement.plain, r.err)
	r.end()
	r.end = nil
	r.statement.Close()
	return r.err
}
