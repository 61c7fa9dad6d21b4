package source

import "sluice/batch"

// RecordColumn is a column of bytes that a Keeper adds to its rows when it is among the columns asked for, with itself as Meta. No
// query names it: a zero byte keeps it apart from anything a user can write.
const RecordColumn = "\x00record"

// Record asks for RecordColumn.
func Record() Column {
	return Column{Field: batch.Field{Name: RecordColumn, Type: batch.Of(batch.Binary)}, Meta: RecordColumn}
}

// Keeper is a Source that can give back the record a row was made of, for a flow that keeps what it cannot use (D-15).
type Keeper interface {
	// Original returns the record of a row as it came: key, value, headers and time. Split and position are left to the
	// caller, who knows the range. The rows must be of this source, and have RecordColumn.
	Original(rows *batch.Columns, row int) batch.Bad
}
