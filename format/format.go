// Package format is the contract between bytes and columns. Implementations live in the packages below it. What several of
// them need is here too: numbers, dates and times as text, exactly (number.go, datetime.go).
package format

import (
	"sluice/batch"
	"sluice/fault"
)

// Decoder turns records into rows of columns. It is made once per source with the fields that are needed, the mode for
// bad records and the session's zone, and used by one goroutine.
type Decoder interface {
	// Decode decodes values[i], each one whole record, and appends one row per readable record to the builders, which are
	// parallel to the fields the decoder was made with. A value that is nil is not passed. Bad records are returned in
	// order; those with Kept false appended no row. The slice is the decoder's and valid until the next call.
	Decode(values [][]byte, into []batch.Builder) []BadValue
}

// BadValue says that values[Index] could not be read.
type BadValue struct {
	Index int
	Kept  bool // PERMISSIVE: a row was appended all the same, unreadable columns NULL
	Err   *fault.Error
}

// Nulled is what became NULL because it could not be read, where a function of SQL does that (D-14).
type Nulled struct {
	Documents int // texts of which nothing could be read
	Fields    int // fields of others
}

// Add adds what others made NULL.
func (n *Nulled) Add(m Nulled) {
	n.Documents += m.Documents
	n.Fields += m.Fields
}

// Splitter finds the records in a file's bytes.
type Splitter interface {
	// Split appends the bounds of the whole records at the start of data to spans and returns how many bytes they use,
	// separators included. With eof a last record without a separator is whole. It takes at most max records.
	Split(data []byte, eof bool, max int, spans []Span) ([]Span, int, error)
	// Limit says how large a record may be before the first of them is looked for. A larger one may come all the same.
	Limit(most int)
	// Over says where a record is given up that is larger than records may be. It is asked about the bytes that a record may have,
	// from its beginning on, and then about what follows them, and returns how many of those still belong to it, separators
	// included; 0 means all of them and more. What comes behind is the next record.
	Over(data []byte, beginning bool) int
}

// Span is data[Start:End].
type Span struct{ Start, End int }

// Encoder turns rows into records.
type Encoder interface {
	// Encode appends rows from..to-1 as records to dst, each followed by the format's separator (none for a single message),
	// and the end of each record in dst to ends.
	Encode(dst []byte, ends []int, rows *batch.Columns, from, to int) ([]byte, []int, error)
}
