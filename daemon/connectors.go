package daemon

import (
	"slices"

	"sluice/batch"
	"sluice/catalog"
	"sluice/fault"
	"sluice/format/csv"
	"sluice/format/json"
	"sluice/option"
	sinkexec "sluice/sink/exec"
	sinkfile "sluice/sink/file"
	sinkkafka "sluice/sink/kafka"
	sinkpostgres "sluice/sink/postgres"
	sourcefile "sluice/source/file"
	sourcekafka "sluice/source/kafka"
)

// formats decode a record into columns.
var formats = map[string]catalog.Format{
	"json": {Options: json.ReadOptions(), Check: json.Validate},
	"csv":  {Options: csv.ReadOptions(), Check: csv.Validate},
}

// Connectors is everything the daemon can read and write.
func Connectors() catalog.Connectors {
	return catalog.Connectors{
		Functions: map[string]catalog.Function{
			"read_kafka": {
				Source:   "kafka",
				Options:  sourcekafka.Options(),
				Title:    []string{"subscribe", "subscribePattern"},
				Formats:  formats,
				Raw:      sourcekafka.Meta(),
				Metadata: without(sourcekafka.Meta(), "value"),
				Check: func(v option.Values, use catalog.Use) fault.List {
					return sourcekafka.Validate(v, use.Stream, use.Servers, use.Pos)
				},
			},
			"read_files": {
				Source:     "files",
				Options:    sourcefile.Options(),
				Positional: []string{"path"},
				Title:      []string{"path"},
				Formats:    formats,
				Metadata:   sourcefile.Meta(),
				Check: func(v option.Values, use catalog.Use) fault.List {
					return sourcefile.Validate(v, use.Pos)
				},
			},
		},
		Sinks: map[string]catalog.SinkFormat{
			"kafka": {Options: sinkkafka.Options(), Check: func(v option.Values, use catalog.Use) fault.List {
				return sinkkafka.Validate(v, use.Servers, use.Pos)
			}},
			"postgres": {Options: sinkpostgres.Options(), Check: func(v option.Values, use catalog.Use) fault.List {
				return sinkpostgres.Validate(v, use.Pos)
			}},
			"file": {Options: sinkfile.Options(), Check: func(v option.Values, use catalog.Use) fault.List {
				return sinkfile.Validate(v, use.Pos)
			}},
			"exec": {Options: sinkexec.Options(), Check: func(v option.Values, use catalog.Use) fault.List {
				return sinkexec.Validate(v, use.Pos)
			}},
		},
	}
}

// without returns fields but the one named.
func without(fields []batch.Field, name string) []batch.Field {
	return slices.DeleteFunc(slices.Clone(fields), func(f batch.Field) bool { return f.Name == name })
}
