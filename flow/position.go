package flow

import (
	"slices"

	"sluice/batch"
	"sluice/eval"
	"sluice/fault"
	"sluice/source/table"
)

// inOrder puts the rows of a result in the order of the input rows they were made of. A join gives them in any order, and
// both the positions of rows made of one record and a change feed's deletes before its inserts hang on it.
func inOrder(r *eval.Result) {
	if slices.IsSorted(r.Row) {
		return
	}
	index := make([]int32, len(r.Row))
	for i := range index {
		index[i] = int32(i)
	}
	slices.SortStableFunc(index, func(a, b int32) int { return int(r.Row[a] - r.Row[b]) })
	row := make([]int32, len(index))
	for i, from := range index {
		row[i] = r.Row[from]
	}
	r.Row, r.Rows = row, r.Rows.Take(index)
	if r.Sequence.Type.Kind != batch.Void {
		r.Sequence = r.Sequence.Take(index)
	}
	r.Checks, r.Ran = takeEach(r.Checks, index), takeEach(r.Ran, index)
}

func takeEach(columns []batch.Column, rows []int32) []batch.Column {
	out := make([]batch.Column, len(columns))
	for i := range columns {
		out[i] = columns[i].Take(rows)
	}
	return out
}

// A query may make several rows of one record (a join). They come one after the other, and are told apart by the upper
// bits of the index, so that each keeps a position of its own (D-1).
const (
	fanBits = 20
	fanMost = 1 << (31 - fanBits)
)

// fanOut numbers the rows that were made of the same input row. from has the input row of each row, in order.
func fanOut(pos batch.Positions, from []int32) {
	again := int32(0)
	for i := 1; i < len(from); i++ {
		if again++; from[i] != from[i-1] {
			again = 0
		}
		if pos.Index[i] < 1<<fanBits {
			pos.Index[i] |= again << fanBits
		}
	}
}

// tooMany refuses the rows of records that became more than positions can tell apart. They are refused whole: half of what a
// join finds is nothing that anybody asked for.
func (f *Flow) tooMany(w *work, unfit map[int32]*fault.Error) {
	for i, n := 0, w.len(); i < n; {
		from, end := w.result.Row[w.row(i)], i+1
		for end < n && w.result.Row[w.row(end)] == from {
			end++
		}
		if end-i > fanMost || end-i > 1 && f.unnumbered(w, from) {
			err := fault.New(fault.FanOutTooLarge, "the record became %d rows; %d can be told apart", end-i, fanMost).
				WithHint("join with a table that has fewer rows for a key")
			for ; i < end; i++ {
				unfit[w.row(i)] = err
			}
		}
		i = end
	}
}

// unnumbered reports whether the rows made of an input row cannot be numbered, since it comes from so large a commit of a table
// that its own place takes the bits. Only a table that replaces keys knows rows by such numbers (places).
func (f *Flow) unnumbered(w *work, from int32) bool {
	return w.rows.Pos.Index[from] >= 1<<fanBits && f.table != nil && len(f.plan.Table.Keys) > 0 && w.rows.Col(table.PlaceColumn) == nil
}
