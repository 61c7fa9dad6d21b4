package model

import "slices"

// KeyedRow is a row delivered to a REPLACE USING table.
type KeyedRow struct {
	Key      []any // one value per key column, nil for null; compared with ==
	Sequence int64
	Value    string
	From     string // where it was read: two rows from one place are one row, delivered twice (D-1)
}

// ReplaceUsing returns what a REPLACE USING table holds after the given rows were delivered, in whatever order and
// batches: of each key exactly the rows with the highest sequence ever delivered for it, each place once (RU-07).
func ReplaceUsing(delivered []KeyedRow) []KeyedRow {
	var kept []KeyedRow
	for i, r := range delivered {
		if !beaten(r, delivered) && !seen(r, delivered[:i]) {
			kept = append(kept, r)
		}
	}
	return kept
}

// beaten reports whether a row of the same key has a higher sequence.
func beaten(r KeyedRow, all []KeyedRow) bool {
	return slices.ContainsFunc(all, func(o KeyedRow) bool { return slices.Equal(o.Key, r.Key) && o.Sequence > r.Sequence })
}

// seen reports whether the row was delivered before.
func seen(r KeyedRow, before []KeyedRow) bool {
	return slices.ContainsFunc(before, func(o KeyedRow) bool {
		return slices.Equal(o.Key, r.Key) && o.Sequence == r.Sequence && o.From == r.From
	})
}

// Latest is ReplaceUsing for more rows than can be held beside each other: it is given one row after the other, and keeps of each key
// those of the highest sequence so far. It does not know places: each row is given once.
type Latest map[int64]*Newest

// Newest are the rows of a key that no other row of it beats, by whatever numbers the caller gives them.
type Newest struct {
	Sequence int64
	Rows     []int
}

// Deliver takes a row in.
func (l Latest) Deliver(key, sequence int64, row int) {
	n := l[key]
	switch {
	case n == nil || n.Sequence < sequence:
		l[key] = &Newest{sequence, []int{row}}
	case n.Sequence == sequence:
		n.Rows = append(n.Rows, row)
	}
}

// Rows are the rows of all keys, in the order of their numbers.
func (l Latest) Rows() []int {
	var rows []int
	for _, n := range l {
		rows = append(rows, n.Rows...)
	}
	slices.Sort(rows)
	return rows
}
