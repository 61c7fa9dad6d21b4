package catalog

import (
	"maps"
	"slices"
	"strings"

	"sluice/batch"
	"sluice/fault"
	"sluice/option"
)

// Connectors is what the program can read and write, as data. daemon fills it from the packages of the connectors.
type Connectors struct {
	Functions map[string]Function // table functions, by name in lower case
	Sinks     map[string]SinkFormat
}

// Function is a table function that reads a source, such as read_kafka.
type Function struct {
	Source     string            // "kafka" or "files"
	Options    option.Set        // its own arguments; format, schema and mode are added by this package
	Positional []string          // arguments that may stand without a name, in order
	Title      []string          // the options whose first given value names the source in messages
	Formats    map[string]Format // formats that decode a record
	Raw        []batch.Field     // columns without format; none means that format is required
	Metadata   []batch.Field     // members of _metadata, which stands beside the columns of a decoded record

	// Check finds problems that options have together; nil has none.
	Check func(option.Values, Use) fault.List
}

// Format decodes the records of a source.
type Format struct {
	Options option.Set
	Check   func(option.Values, fault.Pos) fault.List // as for Function; the place is that of the call
}

// SinkFormat is a format of CREATE SINK.
type SinkFormat struct {
	Options option.Set
	Check   func(option.Values, Use) fault.List // as for Function
}

// Use is how a connector is used, for checks.
type Use struct {
	Pos     fault.Pos // of the call or the sink, for problems that belong to no option
	Stream  bool      // the source is read without an end
	Servers string    // kafka.bootstrap.servers of configuration, for connectors that name no brokers
}

// Arguments that every source with formats has (D-14, D-15).
const (
	argFormat = "format"
	argSchema = "schema"
	argMode   = "mode"
	argErrors = "columnErrors"
)

var modes = []string{batch.FailFast.String(), batch.DropMalformed.String(), batch.Permissive.String(), batch.Quarantine.String()}

// arguments is the whole set of f's arguments when the value is decoded by the given format.
func (f *Function) arguments(format string) option.Set {
	set := option.Set{
		{Name: argFormat, Kind: option.Enum, Values: slices.Sorted(maps.Keys(f.Formats)), Required: len(f.Raw) == 0, Doc: "How a record is decoded."},
		{Name: argSchema, Required: format != "", Doc: "The fields of a record, such as 'id BIGINT, name STRING'."},
		{Name: argMode, Kind: option.Enum, Values: modes, Default: modes[0], Doc: "What happens to a record that cannot be read."},
		deadLetterSpec,
		{Name: argErrors, Doc: "Columns whose values need not be readable, and what they have then, such as 'price NULL, volume DEFAULT 0'; counted by column (D-15)."},
	}
	return union(union(set, f.Options), f.Formats[format].Options)
}

// union adds to a the specs of b whose names it does not have.
func union(a, b option.Set) option.Set {
	out := append(option.Set(nil), a...)
	for _, spec := range b {
		if !has(out, spec.Name) {
			out = append(out, spec)
		}
	}
	return out
}

func has(set option.Set, name string) bool {
	for _, spec := range set {
		if strings.EqualFold(spec.Name, name) {
			return true
		}
	}
	return false
}

// streamOptions stand behind STREAM(table) WITH.
var streamOptions = option.Set{
	{Name: optReadChangeFeed, Kind: option.Bool, Default: "false", Doc: "Read every change of the table, with _change_type, _commit_version and _commit_timestamp."},
	{Name: optSkipChangeCommits, Kind: option.Bool, Default: "false", Doc: "Read only what was appended."},
	{Name: argMode, Kind: option.Enum, Values: modes, Default: modes[0], Doc: "What happens to a row that cannot be worked on (D-50)."},
	deadLetterSpec,
}

// tableOptions stand behind WITH of a table that a REPLACE WHERE flow reads.
var tableOptions = option.Set{
	{Name: optAllowShort, Kind: option.Bool, Default: "false", Doc: "Compute the window although the table may have lost rows of it by its retention (D-11)."},
}

const (
	optAllowShort        = "allow_short_source" // of sources that have it, and of tables
	optReadChangeFeed    = "readChangeFeed"
	optSkipChangeCommits = "skipChangeCommits"
)
