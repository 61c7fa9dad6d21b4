// Package source is the contract of inputs. Implementations live in the packages below it and pass the conformance
// suite of sourcetest; the list of kinds is in daemon/connectors.go.
package source

import (
	"context"

	"sluice/batch"
)

// Source reads one input. It keeps no durable memory: positions come from the caller. A Source is used by one goroutine.
//
// Errors are coded (fault). Of the retries, flow does what the code's Retry says; a code with Retry Never stops the flow.
type Source interface {
	// Start returns the position the first read begins at, as the options of the source say (startingOffsets; D-40). It is
	// asked once per generation of a flow, before anything is read; the answer is stored. Splits that exist now must be in
	// it, those found later start at their zero offset (a Kafka partition at 0, a file at byte 0).
	Start(ctx context.Context) (batch.Position, error)

	// End reports where the input ends now; a once flow and a triggered flow drain up to it. For Kafka it is the high
	// watermark of each partition (D-7), for files the listing with sizes (D-53).
	End(ctx context.Context) (batch.Position, error)

	// Read returns the rows after from, within limit, never past limit.Until, the range they cover, and the records that
	// could not be read, with their positions. The same from and until give the same rows, however often it is asked.
	// It waits for records until ctx ends (then it returns ctx's error), and returns as soon as it has some, without
	// waiting for the limit to fill. When every split of limit.Until is reached it returns at once, with an empty range.
	//
	// Rows have positions whose Split indexes range.Splits. The caller owns the columns; they stay valid until the second
	// next call of Read (a source may keep two sets of buffers and use them in turn).
	Read(ctx context.Context, from batch.Position, limit batch.Limit) (batch.Columns, batch.Range, []batch.Bad, error)

	// Close frees what the source holds. It is called once, after the last Read has returned.
	Close() error
}

// Column is one column a source has to deliver: a field of the record, decoded by the format, or something the source
// itself knows about it (Meta: "topic", "partition", "offset", "timestamp", "timestampType", "key", "value", "headers"
// for Kafka; "file_path", "file_name", "file_size", "file_modification_time" for files).
type Column struct {
	Field batch.Field
	Meta  string
}
