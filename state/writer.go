package state

import (
	"context"

	"sluice/batch"
)

// Writer is one batch being written to a table. A table has one writer at a time; others wait in Begin (D-13, D-33).
// Columns handed to a Writer are read before the call returns.
type Writer struct{}

// Begin waits for its turn to write the table.
func (t *Table) Begin(ctx context.Context) (*Writer, error) { panic("") }

// Abort drops the batch and gives the turn on. After Commit it does nothing, so it can be deferred.
func (w *Writer) Abort() {}

// Append adds rows to an append table. Columns are matched by name; those missing are NULL, those unknown are an error.
func (w *Writer) Append(rows *batch.Columns) error { panic("") }

// Positions names the splits of rows' positions for ever: Split, an index into r.Splits, becomes the number the store
// gives to (flow, split, id). Numbers survive resets (D-1), so a record read again has the same position again.
func (w *Writer) Positions(f *Flow, r *batch.Range, pos batch.Positions) (batch.Positions, error) {
	panic("")
}

// Keys are the store's keys of a batch's rows: sorting them is the order of the store.
type Keys struct {
	batch.Keys
	Hash []uint64
}

// EncodeKeys fills dst with the keys of rows, from the table's key columns.
func (w *Writer) EncodeKeys(dst *Keys, rows *batch.Columns) error { panic("") }

// Floors fills dst with the floor of each group's key, empty where the key has no rows.
func (w *Writer) Floors(dst *batch.Keys, keys *Keys, groups *batch.Groups) error { panic("") }

// Redelivered returns the kept rows of groups with OpAppend that the store has already, by position (D-1).
func (w *Writer) Redelivered(keys *Keys, groups *batch.Groups, pos batch.Positions, e *batch.Edits) ([]int32, error) {
	panic("")
}

// Edit is a keyed batch as the rule decided it.
type Edit struct {
	Rows      *batch.Columns
	Positions batch.Positions // as Writer.Positions returned them
	Keys      *Keys
	Sequences *batch.Keys // one per row
	Groups    *batch.Groups
	Edits     *batch.Edits
}

// Apply adds the edits to the batch, rows, floors and change feed.
func (w *Writer) Apply(e Edit) error { panic("") }

// Committed is what a commit did.
type Committed struct {
	Number   uint64 // of the batch
	Version  int64  // of the table; it rises only when rows changed
	Replaced int64  // old rows removed
	Changes  int64  // rows added to the change feed
}

// Commit makes the batch the next of flow f, in one atomic write, and gives the turn on.
func (w *Writer) Commit(f *Flow, a Advance) (Committed, error) { panic("") }
