package json

import (
	"time"

	"sluice/batch"
	"sluice/format"
)

// DefaultMaxDepth is how deep arrays and objects may nest when Options.MaxDepth is zero.
const DefaultMaxDepth = 256

// Options say what a decoder reads.
type Options struct {
	// Fields are the columns to fill, parallel to the builders given to Decode. Names match members without case when
	// exactly one matches, and exactly first (D-9); NotNull is enforced, at every depth (D-58).
	Fields []batch.Field
	// Quoted marks columns that were declared in backticks: they match exactly only. Nil means none is.
	Quoted []bool
	// Mode says whether a record with unreadable columns keeps its row: only under batch.Permissive (D-15).
	Mode batch.Mode
	// CorruptRecord is the index in Fields of the STRING column that takes the raw text of a bad record under
	// batch.Permissive (_corrupt_record), or -1.
	CorruptRecord int
	// Rescue says that what no column takes, and what cannot be read, is rescued instead: into the STRING column RescuedData,
	// an index in Fields.
	Rescue      bool
	RescuedData int
	// Zone is where TIMESTAMP texts without a zone are; nil means UTC.
	Zone *time.Location
	// NumbersAsStrings lets a numeric column also take a string whose text is a number (D-8), or NaN, Infinity, -Infinity for
	// FLOAT and DOUBLE.
	NumbersAsStrings bool
	// TimestampUnit is what a number in a TIMESTAMP or TIMESTAMP_NTZ column counts since the epoch; with format.NoUnit
	// numbers are refused (D-58, A-23).
	TimestampUnit format.TimestampUnit
	// Times are the patterns of dates and times.
	Times format.Times
	// Tolerate has for each of Fields the value that is put in the place of one that cannot be read, nil for none; nil for none at all.
	Tolerate []*batch.Column
	// MaxDepth is how deep arrays and objects may nest, the record's own object included; 0 means DefaultMaxDepth.
	MaxDepth int
}
