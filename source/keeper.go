package source

import "sluice/batch"

// RecordColumn is a column of bytes that a Keeper adds to its rows when it is among the columns asked for, with itself as Meta. No
// query names it: a zero byte keeps it apart from anything a user can write.
const RecordColumn = "\x00record"

// Record asks for RecordColumn.
func Record() Column {
	return Column{Field: batch.Field{Name: RecordColumn, Type: batch.Of(batch.Binary)}, Meta: RecordColumn}
}

// Keeper is a Source that can give back the record a row was made of, for a flow that keeps what it cannot use (D-15), and that
// makes rows of such a record later (D-31).
type Keeper interface {
	// Original returns the record of a row as it came: key, value, headers and time. Split is that of the row; the position is left to
	// the caller, who knows the range. The rows must be of this source, and have RecordColumn, if it has that. It may be called by
	// another goroutine than Read is.
	Original(rows *batch.Columns, row int, split string) batch.Bad

	// Remake makes rows of records that were kept, as Read makes them of those that it reads: with their own positions and all that is
	// known of them, whatever has become of the place where they stood. They come in the order of Split, At, and a split has one ID. The range
	// has their splits and covers nothing. Records that cannot be read are returned as by Read. The columns are the caller's. It is
	// called by the goroutine that calls Read.
	Remake(records []Kept) (batch.Columns, batch.Range, []batch.Bad, error)
}

// Kept is a record that was kept: as it came, or as somebody has edited it since.
type Kept struct {
	Split, ID string
	batch.Bad // Split, Kept and Err are not used
}

// Splits is the range of Keeper.Remake, and the index in it of the split of each record.
func Splits(records []Kept) (r batch.Range, index []int32) {
	for _, k := range records {
		if n := len(r.Splits); n == 0 || r.Splits[n-1].Split != k.Split {
			r.Splits = append(r.Splits, batch.SplitRange{Split: k.Split, ID: k.ID, End: -1})
		}
		index = append(index, int32(len(r.Splits)-1))
	}
	return r, index
}
