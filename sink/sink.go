// Package sink is the contract of outputs. Implementations live in the packages below it and pass the conformance suite
// of sinktest; the list of kinds is in daemon/connectors.go.
package sink

import (
	"context"
	"fmt"

	"sluice/batch"
)

// Sink receives the numbered batches of one flow, in order. The same ID always brings the same rows, so a sink may drop
// an ID it has accepted before. A Sink is used by one goroutine.
type Sink interface {
	// Open is called once before the first Write, with the ID of the last batch the store knows as accepted (ok is false
	// when there is none in this generation). A sink that keeps the identity of its batches (Kafka, Postgres) compares it
	// with its own and refuses another store or an old backup (D-18).
	Open(ctx context.Context, last batch.ID, ok bool) error

	// Write delivers a batch and returns when it is durable outside. On an error with Retry Backoff the same batch comes
	// again under the same ID; with any other code the flow fails and the batch stays planned. Write must stop when ctx
	// ends. rows belong to the caller.
	Write(ctx context.Context, id batch.ID, rows Rows) error

	// Close frees what the sink holds. Accepted batches are not touched.
	Close() error
}

// Rows is a batch as a sink gets it. When the flow reads a change feed, Change is one entry per row; else it is nil and
// every row is an insert. Columns has the projection of the flow's query. Keys and Sequence are the key tuple and the
// sequence of a REPLACE USING table whose feed is read, selected or not (D-43), else empty.
type Rows struct {
	Columns  batch.Columns
	Change   []Change
	Keys     batch.Keys
	Sequence batch.Keys
	Splits   []batch.SplitRange // what Columns.Pos counts the splits of
}

// Place names a row for messages: with where it came from, unless the batch is a replay, of which that is not known any more.
func (r *Rows) Place(row int) string {
	text := fmt.Sprintf("row %d of the batch", row)
	pos := r.Columns.Pos
	if pos.Len() <= row {
		return text
	}
	text += fmt.Sprintf(", from %v", batch.Offset{At: pos.Offset[row], Index: pos.Index[row]})
	if split := int(pos.Split[row]); split < len(r.Splits) {
		text += " of " + r.Splits[split].Split
	}
	return text
}

// Change is what a row of a change feed means.
type Change = batch.Change

const (
	InsertRow       = batch.InsertRow
	DeleteRow       = batch.DeleteRow
	UpdatePreimage  = batch.UpdatePreimage
	UpdatePostimage = batch.UpdatePostimage
)
