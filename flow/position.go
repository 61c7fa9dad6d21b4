package flow

import (
	"slices"

	"sluice/batch"
	"sluice/eval"
	"sluice/fault"
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

// fanOut numbers the rows that were made of the same input row. from has the input row of each row, in order. It returns
// the row that is one too many, or -1.
func fanOut(pos batch.Positions, from []int32) (tooMany int) {
	again := int32(0)
	for i := 1; i < len(from); i++ {
		if from[i] != from[i-1] {
			again = 0
			continue
		}
		again++
		if again >= fanMost || pos.Index[i] >= 1<<fanBits {
			return i
		}
		pos.Index[i] |= again << fanBits
	}
	return -1
}

// fannedOut is the error of a record that became too many rows, of which one is given.
func fannedOut(w *work, pos batch.Positions, row int) error {
	at := batch.Offset{At: pos.Offset[row], Index: pos.Index[row] & (1<<fanBits - 1)}
	return located(batch.Bad{Split: w.rng.Splits[pos.Split[row]].Split, At: at, Err: fault.New(fault.FanOutTooLarge, "one record became more than %d rows", fanMost).
		WithHint("join with a table that has fewer rows for a key")})
}
