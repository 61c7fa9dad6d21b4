package eval

/*
#include "scan.h"
*/
import "C"

import (
	"unsafe"

	"sluice/batch"
	"sluice/eval/dialect"
	"sluice/fault"
	"sluice/format"
)

// Result is what a statement made of its inputs: columns of equal length. It belongs to the statement, which uses the
// memory again in the run after the next.
type Result struct {
	Rows     batch.Columns  // the query's columns, without positions
	Sequence batch.Column   // the zero Column without a sequence
	Checks   []batch.Column // BOOLEAN, one per expectation; null is not TRUE (D-4)
	Ran      []batch.Column // of RunIsolated: one per expectation, null where it raised an error
	Row      []int32        // when asked for: the input row each row was made of
	Nulled   format.Nulled  // what from_json and its like made NULL because they could not read it (D-14)
}

// results is the memory of one Result.
type results struct {
	compiled *dialect.Compiled
	columns  []output // those of a guarded statement; a plain one has fewer
	guarded  bool
	rows     int
	nulled   format.Nulled
	taken    []batch.Column
}

func (r *results) init(c *dialect.Compiled) {
	*r = results{compiled: c}
	nodes := 0
	for _, t := range resultTypes(c, true) {
		r.columns = append(r.columns, newOutput(t, &nodes))
	}
	r.taken = make([]batch.Column, len(r.columns))
}

// truncate drops the rows from n on.
func (r *results) truncate(n int) {
	r.rows = n
	if n == 0 {
		r.nulled = format.Nulled{}
	}
	for i := range r.columns {
		r.columns[i].truncate(n)
	}
}

// rowBytes is what a row takes beside its values: its position, and the number of the row that it was made of.
const rowBytes = 24

// size is about how many bytes the rows so far take.
func (r *results) size() int64 {
	n := int64(r.rows) * rowBytes
	for i := range r.columns {
		n += r.columns[i].size()
	}
	return n
}

// append copies a chunk of the given rows.
func (r *results) append(p *prepared, rows int) error {
	views := unsafe.Slice(p.run.views, p.nodes)
	for i := range int(p.run.column_count) {
		if err := r.columns[i].append(views, 0, rows); err != nil {
			return err
		}
	}
	r.rows += rows
	return nil
}

// take gives out the rows so far.
func (r *results) take() (Result, error) {
	for i := range r.columns {
		r.taken[i] = r.columns[i].column()
	}
	rest, n := r.taken, len(r.compiled.Columns)
	out := Result{Rows: batch.Columns{Fields: r.compiled.Columns, Cols: rest[:n:n], Len: r.rows}, Nulled: r.nulled}
	rest = rest[n:]
	if r.compiled.Sequence.Kind != batch.Void {
		out.Sequence, rest = rest[0], rest[1:]
	}
	n = r.compiled.Checks
	out.Checks, rest = rest[:n:n], rest[n:]
	if r.compiled.Row {
		if rest[0].Valid != nil {
			return Result{}, fault.New(fault.InternalError, "a row does not say which input row it was made of")
		}
		out.Row, rest = batch.Values[int32](&rest[0]), rest[1:]
	}
	if r.guarded {
		out.Ran = rest
	}
	return out, nil
}
