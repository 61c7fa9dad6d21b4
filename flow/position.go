package flow

import (
	"math"
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

// A query may make several rows of one record (a join, explode). They come one after the other, and the index tells them apart, so that
// each keeps a position of its own (D-1): its lower bits are the record's index, those above them the number of the row. Indexes that
// are too large for that, which a very large commit of a table has, are negative, and so are the many rows of a record that is the
// only one of its place.
const (
	indexBits = 20
	indexMost = 1 << indexBits
	fanMost   = 1 << (31 - indexBits)
)

// numbered is the index of a row made of a record, and whether there is one: again counts the rows of the record before it.
func numbered(index, again int32) (int32, bool) {
	switch {
	case index < indexMost && again < fanMost:
		return again<<indexBits | index, true
	case again == 0:
		return math.MinInt32 + index, true
	case index == 0 && again-fanMost < indexMost:
		return math.MinInt32 + again - fanMost, true
	}
	return index, false
}

// recordIndex is the index of the record that a row was made of.
func recordIndex(numbered int32) int32 {
	switch index := numbered - math.MinInt32; {
	case numbered >= 0:
		return numbered & (indexMost - 1)
	case index >= indexMost:
		return index
	}
	return 0
}

// rowsMost is how many rows of a record of an index can be told apart.
func rowsMost(index int32) int {
	switch {
	case index == 0:
		return fanMost + indexMost
	case index < indexMost:
		return fanMost
	}
	return 1
}

// fanOut numbers the rows that were made of the same input row. from has the input row of each row, in order.
func fanOut(pos batch.Positions, from []int32) {
	again := int32(0)
	for i := range from {
		if again++; i == 0 || from[i] != from[i-1] {
			again = 0
		}
		pos.Index[i], _ = numbered(pos.Index[i], again) // where a target knows rows by positions, tooMany has refused those without a number
	}
}

// tooMany refuses the rows of records that became more than positions can tell apart, for a table that knows its rows by them: one that
// replaces keys, unless it reads another's changes (places). They are refused whole: half of what a join finds is nothing that
// anybody asked for.
func (f *Flow) tooMany(w *work, unfit map[int32]*fault.Error) {
	if f.table == nil || len(f.plan.Table.Keys) == 0 || w.rows.Col(table.PlaceColumn) != nil {
		return
	}
	for i, n := 0, w.len(); i < n; {
		from, end := w.result.Row[w.row(i)], i+1
		for end < n && w.result.Row[w.row(end)] == from {
			end++
		}
		if most := rowsMost(w.rows.Pos.Index[from]); end-i > most {
			err := fault.New(fault.FanOutTooLarge, "the record became %d rows; %d can be told apart", end-i, most).
				WithHint("take the record apart in a flow of its own into a table without keys, and read that")
			for ; i < end; i++ {
				unfit[w.row(i)] = err
			}
		}
		i = end
	}
}
