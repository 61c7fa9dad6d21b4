package eval

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"sluice/batch"
	"sluice/eval/dialect"
	"sluice/fault"
)

// pieces is an input that brings the rows of a batch in pieces of n rows, all in the same memory, which it spoils between
// two calls: who still looks at the last piece is found out.
func pieces(rows *batch.Columns, n int) Input {
	return Input{Open: func() (Scan, error) { return &piecewise{rows: rows, n: n}, nil }}
}

type piecewise struct {
	rows   *batch.Columns
	n, at  int
	piece  batch.Columns
	closed *int
}

func (p *piecewise) Next(max int) (batch.Columns, error) {
	spoil(p.piece.Cols)
	index := make([]int32, 0, p.n)
	for ; len(index) < p.n && p.at < p.rows.Len; p.at++ {
		index = append(index, int32(p.at))
	}
	p.piece = p.rows.Take(index)
	return p.piece, nil
}

func (p *piecewise) Close() error {
	spoil(p.piece.Cols)
	if p.closed != nil {
		*p.closed++
	}
	return nil
}

func spoil(cols []batch.Column) {
	for i := range cols {
		for j := range cols[i].Fixed {
			cols[i].Fixed[j] = 1
		}
		for j := range cols[i].Bytes {
			cols[i].Bytes[j] = '#'
		}
		spoil(cols[i].Children)
	}
}

// faulty is a scan that yields one piece and then does what it is told to.
type faulty struct {
	next, close func() error
	pieces      int
}

func (f *faulty) Next(int) (batch.Columns, error) {
	if f.pieces++; f.pieces > 1 {
		return batch.Columns{}, f.next()
	}
	return *columns([]batch.Field{field("a", bigint)}, ints(1, 2, 3)), nil
}

func (f *faulty) Close() error { return f.close() }

// An error of a scan comes out as it went in; a panic is an error; the scan is closed; and the statement goes on working.
func TestScansThatFail(t *testing.T) {
	broken := errors.New("disk gone")
	fine := func() error { return nil }
	fails := func() error { return broken }
	panics := func() error { panic("at the disco") }
	for _, threads := range []int{1, 3} {
		s := prepare(t, open(t, threads), &dialect.Compiled{SQL: `SELECT x.a + y.a FROM t x, t y`, Columns: []batch.Field{field("a", bigint)}, Reads: []dialect.Read{read("t", field("a", bigint))}})
		for name, test := range map[string]struct {
			open, next, close func() error
			is                func(error) bool
		}{
			"open":        {fails, fine, fine, func(err error) bool { return errors.Is(err, broken) }},
			"next":        {fine, fails, fine, func(err error) bool { return errors.Is(err, broken) }},
			"close":       {fine, fine, fails, func(err error) bool { return errors.Is(err, broken) }},
			"open panic":  {panics, fine, fine, func(err error) bool { return fault.Of(err, fault.InternalError) }},
			"next panic":  {fine, panics, fine, func(err error) bool { return fault.Of(err, fault.InternalError) }},
			"close panic": {fine, fine, panics, func(err error) bool { return fault.Of(err, fault.InternalError) }},
			"none":        {fine, fine, fine, func(err error) bool { return err == nil }},
		} {
			var mu sync.Mutex // with several threads scans are opened from several
			opened, closed := 0, 0
			input := Input{Open: func() (Scan, error) {
				if err := test.open(); err != nil {
					return nil, err
				}
				mu.Lock()
				defer mu.Unlock()
				opened++
				return &faulty{next: test.next, close: func() error { mu.Lock(); defer mu.Unlock(); closed++; return test.close() }}, nil
			}}
			out, err := s.Run(t.Context(), []Input{input}, batchTime)
			if !test.is(err) {
				t.Errorf("%s: got %v", name, err)
			}
			if err == nil && out.Rows.Len != 9 {
				t.Errorf("%s: %d rows", name, out.Rows.Len)
			}
			if opened != closed {
				t.Errorf("%s: opened %d scans, closed %d", name, opened, closed)
			}
		}
	}
}

// A piece of a scan is checked as a batch is.
func TestScansOfTheWrongShape(t *testing.T) {
	s := prepare(t, open(t, 1), &dialect.Compiled{SQL: `SELECT a FROM t`, Columns: []batch.Field{field("a", bigint)}, Reads: []dialect.Read{read("t", field("a", bigint))}})
	wrong := columns([]batch.Field{field("a", str)}, texts("x"))
	if _, err := s.Run(t.Context(), []Input{pieces(wrong, 1)}, batchTime); !fault.Of(err, fault.InternalError) {
		t.Errorf("got %v", err)
	}
}

// endless never stops bringing rows, unless its context ends.
type endless struct{ closed *int }

func (e endless) Next(int) (batch.Columns, error) {
	return *columns([]batch.Field{field("a", bigint)}, ints(make([]int64, 2048)...)), nil
}

func (e endless) Close() error { *e.closed++; return nil }

// A query that has enough closes its scans without reading them to their end, and at a point it chooses itself.
func TestScansThatAreNotReadToTheirEnd(t *testing.T) {
	s := prepare(t, open(t, 1), &dialect.Compiled{SQL: `SELECT a FROM t LIMIT 3000`, Columns: []batch.Field{field("a", bigint)}, Reads: []dialect.Read{read("t", field("a", bigint))}})
	closed := 0
	out, err := s.Run(t.Context(), []Input{{Open: func() (Scan, error) { return endless{&closed}, nil }}}, batchTime)
	if err != nil {
		t.Fatal(err)
	}
	if out.Rows.Len != 3000 || closed != 1 {
		t.Errorf("%d rows, closed %d times", out.Rows.Len, closed)
	}
}

// When the context ends, DuckDB stops, its scans are closed, and the statement runs again as if nothing had been (this is
// repeated with the end at many moments, the beginning of the run among them).
func TestContextEnds(t *testing.T) {
	for _, threads := range []int{1, 2} {
		s := prepare(t, open(t, threads), &dialect.Compiled{SQL: `SELECT sum(a)::BIGINT FROM t`, Columns: []batch.Field{field("a", bigint)}, Reads: []dialect.Read{read("t", field("a", bigint))}})
		for i := range 60 {
			ctx, cancel := context.WithCancel(t.Context())
			closed := 0
			started := make(chan struct{})
			go func() {
				if i%2 == 0 {
					<-started
				}
				time.Sleep(time.Duration(i) * 20 * time.Microsecond)
				cancel()
			}()
			_, err := s.Run(ctx, []Input{{Open: func() (Scan, error) { close(started); return endless{&closed}, nil }}}, batchTime)
			if i%2 != 0 && errors.Is(err, context.Canceled) { // it may have ended before the scan was opened
				closed = 1
			}
			if !errors.Is(err, context.Canceled) || closed != 1 {
				t.Fatalf("got %v, closed %d times", err, closed)
			}
			out, err := s.Run(t.Context(), []Input{{Batch: columns([]batch.Field{field("a", bigint)}, ints(20, 22))}}, batchTime)
			if err != nil {
				t.Fatal(err)
			}
			expectInts(t, values(&out.Rows.Cols[0]), 42)
		}
	}
}

// A context that has ended already runs nothing; a join that would never end is interrupted.
func TestContextEndsInAJoin(t *testing.T) {
	s := prepare(t, open(t, 1), &dialect.Compiled{SQL: `SELECT count(*) FROM t a, t b, t c WHERE a.a + b.a + c.a < 0`, Columns: []batch.Field{field("a", bigint)}, Reads: []dialect.Read{read("t", field("a", bigint))}})
	in := []Input{{Batch: columns([]batch.Field{field("a", bigint)}, ints(make([]int64, 50_000)...))}}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.Run(ctx, in, batchTime); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	runs := s.runs
	if _, err := s.Run(ctx, in, batchTime); !errors.Is(err, context.DeadlineExceeded) || s.runs != runs {
		t.Errorf("got %v after %d runs", err, s.runs-runs)
	}
}
