package file

import (
	"fmt"
	"time"

	"sluice/batch"
	"sluice/fault"
	"sluice/option"
)

// Options are the named arguments of read_files. Those of every source (format, schema, mode) and those of the formats are
// not among them.
func Options() option.Set {
	return option.Set{
		{Name: "path", Required: true, Doc: "A file, a folder (all files in and below it), or a pattern of *, ?, [a-z], {a,b} and ** for any folders; relative to the pipeline's folder."},
		{Name: "maxFilesPerTrigger", Edit: option.Idle, Kind: option.Int, Doc: "Most files of one batch."},
		{Name: "maxBytesPerTrigger", Edit: option.Idle, Kind: option.Size, Doc: "Size after which a batch is closed."},
		{Name: "maxRecordSize", Kind: option.Size, Default: "64MiB", Doc: "Largest record; a larger one is a bad record (RECORD_TOO_LARGE), of which the first 4096 bytes are kept. A header must not be larger."},
		{Name: "pollInterval", Edit: option.Idle, Kind: option.Duration, Default: "1s", Doc: "How often a stream that has nothing to read looks for new files."},
	}
}

// Validate finds what is wrong with options that each are of their kind; no file is touched.
func Validate(v option.Values, at fault.Pos) fault.List {
	_, problems := parse(v, at)
	return problems
}

// options is what the options say, parsed.
type options struct {
	pattern   pattern
	maxFiles  int
	maxBytes  int64
	maxRecord int64
	poll      time.Duration
}

func parse(v option.Values, at fault.Pos) (o options, problems fault.List) {
	o = options{
		maxFiles:  int(v.Int("maxFilesPerTrigger")),
		maxBytes:  v.Size("maxBytesPerTrigger"),
		maxRecord: v.Size("maxRecordSize"),
		poll:      v.Duration("pollInterval"),
	}
	place := func(name string) fault.Pos {
		if g, ok := v.Given(name); ok && g.Pos.IsValid() {
			return g.Pos
		}
		return at
	}
	var err *fault.Error
	if o.pattern, err = parsePattern(v.String("path")); err != nil {
		problems = append(problems, err.At(place("path")))
	}
	for _, c := range []struct {
		name  string
		value int64
	}{{"maxFilesPerTrigger", int64(o.maxFiles)}, {"maxBytesPerTrigger", o.maxBytes}, {"maxRecordSize", o.maxRecord}, {"pollInterval", int64(o.poll)}} {
		if v.Has(c.name) && c.value <= 0 {
			problems = append(problems, fault.New(fault.InvalidOption, "read_files: %s must be above 0", c.name).At(place(c.name)))
		}
	}
	if o.maxRecord > maxRecordSize {
		problems = append(problems, fault.New(fault.InvalidOption, "read_files: maxRecordSize is at most %s", fmt.Sprint(maxRecordSize)).At(place("maxRecordSize")))
	}
	return o, problems
}

// maxRecordSize bounds the option of that name: offsets inside a column have 32 bits.
const maxRecordSize = 1 << 30

// Meta lists what the source knows of every row: the members of _metadata.
func Meta() []batch.Field {
	return []batch.Field{
		{Name: "file_path", Type: batch.Of(batch.String)},
		{Name: "file_name", Type: batch.Of(batch.String)},
		{Name: "file_size", Type: batch.Of(batch.BigInt)},
		{Name: "file_modification_time", Type: batch.Of(batch.Timestamp)},
	}
}
