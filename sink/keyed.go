package sink

import (
	"bytes"

	"sluice/batch"
	"sluice/fault"
)

// Left returns the rows that are there under key i after the batch.
func (n *Net) Left(i int) []int32 { return n.Live[n.Start[i]:n.Start[i+1]] }

// Unique refuses a batch that leaves several rows under key i, for a sink that holds one row per key. which names the key.
// The caller adds a hint that fits its options.
func (n *Net) Unique(i int, which string) *fault.Error {
	left := n.Left(i)
	if len(left) <= 1 {
		return nil
	}
	return fault.New(fault.SinkKeyNotUnique, "the batch leaves %d rows with %s, such as rows %d and %d of the batch", len(left), which, left[0], left[1])
}

// EncodeSequence encodes the column that a sink takes for the sequence of its rows. A row without one is refused.
func EncodeSequence(dst *batch.Keys, rows *Rows, column int) error {
	c := &rows.Columns.Cols[column]
	for i := range c.Len {
		if batch.NullOrNaN(c, i) {
			return fault.New(fault.NullSequence, "the sequence %s of row %d of the batch is null or NaN", rows.Columns.Fields[column].Name, i)
		}
	}
	batch.EncodeKeys(dst, c)
	return nil
}

// Highest returns the rows with the highest sequence. Of a change feed that is all of them.
func Highest(rows []int32, sequence *batch.Keys) []int32 {
	var out []int32
	for _, row := range rows {
		switch {
		case len(out) == 0 || bytes.Compare(sequence.At(int(row)), sequence.At(int(out[0]))) > 0:
			out = append(out[:0], row)
		case bytes.Equal(sequence.At(int(row)), sequence.At(int(out[0]))):
			out = append(out, row)
		}
	}
	return out
}
