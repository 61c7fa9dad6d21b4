package format

import (
	"bytes"
	"time"
	"unicode/utf8"

	"sluice/batch"
	"sluice/option"
)

// Reading is what a format is opened for: what the source's definition says of its records, and which columns are needed.
type Reading struct {
	Schema  []batch.Field // every field of a record, as declared
	Quoted  []bool        // parallel to Schema: the name was written in backticks and matches exactly only (D-9); nil for none
	Columns []batch.Field // those to decode, in the order of the builders; each is one of Schema
	Mode    batch.Mode    // what happens to bad records (D-15)
	Zone    *time.Location
	Options option.Values // parsed with the format's options among others

	Tolerate []Tolerance // for columns of Schema; nil for none
}

// Reader is a format opened for one source.
type Reader struct {
	Decoder  Decoder
	Splitter Splitter // finds records in a file
	// Header takes the first record of a file, which names the columns, before records of that file are decoded. It is nil
	// when the first record is like the others.
	Header func(record []byte) error
	// File is told the path of the file of which records come next. It is nil when the decoder does not care.
	File func(path string)
	// Unseen are the columns that no record decoded so far had under a name; nil when columns are found by their places, or when a
	// record without them is refused. It is called by the goroutine that decodes.
	Unseen func() []Unseen
	// Tolerated is what the last Decode replaced; nil when nothing is.
	Tolerated *Tolerated
}

// Unseen is a column whose name has not come.
type Unseen struct {
	Path string // of the column, or of a member of a nested one
	Near string // a name that has come, belongs to no column, and may have been meant; "" for none
}

// CorruptRecordOption names the column for the raw text of bad records. It is an option of every format.
var CorruptRecordOption = option.Spec{Name: "columnNameOfCorruptRecord", Default: "_corrupt_record",
	Doc: "The column of the schema that takes a bad record when mode is PERMISSIVE (D-15): a BINARY as it came, a STRING its text."}

// TakesRecords reports whether a column can take bad records.
func TakesRecords(t batch.Type) bool { return t.Kind == batch.String || t.Kind == batch.Binary }

// AppendRecord puts a bad record into its column: into a BINARY as it came, into a STRING with U+FFFD for what is not UTF-8.
func AppendRecord(b *batch.Builder, record []byte) {
	if b.Type.Kind == batch.String && !utf8.Valid(record) {
		record = bytes.ToValidUTF8(record, []byte("\ufffd"))
	}
	b.AppendText(record)
}

// TimestampUnitOption says what timestamps that are numbers count.
var TimestampUnitOption = option.Spec{Name: "timestampUnit", Kind: option.Enum, Values: TimestampUnits,
	Doc: "What a number in a TIMESTAMP column counts since 1970; without it numbers are refused there (D-58)."}

// Place says where a column stands: its index in Schema, or -1.
func (r *Reading) Place(column batch.Field) int {
	for i, f := range r.Schema {
		if f.Name == column.Name {
			return i
		}
	}
	return -1
}

// CorruptRecord returns the index in Columns of the column for bad records, or -1.
func (r *Reading) CorruptRecord() int { return r.corrupt(r.Columns) }

// CorruptRecordPlace returns the index in Schema of the column for bad records, or -1.
func (r *Reading) CorruptRecordPlace() int { return r.corrupt(r.Schema) }

func (r *Reading) corrupt(fields []batch.Field) int {
	name := r.Options.String(CorruptRecordOption.Name)
	for i, f := range fields {
		if f.Name == name {
			return i
		}
	}
	return -1
}

// ColumnsQuoted is Quoted for Columns.
func (r *Reading) ColumnsQuoted() []bool {
	out := make([]bool, len(r.Columns))
	for i, c := range r.Columns {
		if at := r.Place(c); at >= 0 && at < len(r.Quoted) {
			out[i] = r.Quoted[at]
		}
	}
	return out
}
