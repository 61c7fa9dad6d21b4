package raw

import (
	"sluice/format"
	"sluice/option"
)

// ReadOptions are the options of a source whose format is raw.
func ReadOptions() option.Set { return option.Set{format.CorruptRecordOption} }

// Open makes the format ready to read a source. In files a record is a line, blank ones included.
func Open(r format.Reading) (format.Reader, error) {
	d, err := NewDecoder(Options{Fields: r.Columns, Mode: r.Mode, CorruptRecord: r.CorruptRecord()})
	return format.Reader{Decoder: d, Splitter: format.Lines{Blanks: true}}, err
}
