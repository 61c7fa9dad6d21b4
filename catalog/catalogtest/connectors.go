// Package catalogtest has connectors for tests of the definition side: they describe themselves like the real ones, with
// fewer options, and read and write nothing.
package catalogtest

import (
	"sluice/batch"
	"sluice/catalog"
	"sluice/fault"
	"sluice/option"
)

var (
	text  = batch.Of(batch.String)
	bytes = batch.Of(batch.Binary)
	when  = batch.Of(batch.Timestamp)

	headers = batch.ArrayOf(batch.StructOf(batch.Field{Name: "key", Type: text}, batch.Field{Name: "value", Type: bytes}))
)

// formats are two, with options of their own each.
var formats = map[string]catalog.Format{
	"json": {Options: option.Set{{Name: "numbers_as_strings", Kind: option.Bool, Default: "false"}}},
	"csv":  {Options: option.Set{{Name: "sep", Default: ","}, {Name: "header", Kind: option.Bool, Default: "false"}}, Check: oneSeparator},
}

func oneSeparator(v option.Values, at fault.Pos) (problems fault.List) {
	if len(v.String("sep")) != 1 {
		problems = append(problems, fault.New(fault.InvalidOption, "sep is not one character").At(at))
	}
	return problems
}

// Connectors are read_kafka, read_files and the sinks kafka, postgres, file and exec.
func Connectors() catalog.Connectors {
	return catalog.Connectors{
		Functions: map[string]catalog.Function{"read_kafka": readKafka(), "read_files": readFiles()},
		Sinks: map[string]catalog.SinkFormat{
			"kafka": {Options: option.Set{
				{Name: "topic", Required: true, Doc: "Topic to write."},
				{Name: "mode", Kind: option.Enum, Values: []string{"append", "upsert"}, Default: "append"},
				{Name: "keys", Kind: option.List},
				{Name: "bootstrapServers"},
				{Name: "create_topic", Kind: option.Int},
				{Name: "kafka.", Prefix: true},
			}, Check: upsertNeedsKeys},
			"postgres": {Options: option.Set{
				{Name: "url", Required: true, Secret: true, Doc: "Where the database is."},
				{Name: "table"},
				{Name: "create_table", Kind: option.Bool},
				{Name: "mode", Kind: option.Enum, Values: []string{"append", "upsert", "replace_using"}, Default: "append"},
				{Name: "keys", Kind: option.List},
				{Name: "sequence"},
			}},
			"file": {Options: option.Set{{Name: "path", Required: true}, {Name: "format", Default: "json"}}},
			"exec": {Options: option.Set{{Name: "command", Required: true}}},
		},
	}
}

func upsertNeedsKeys(v option.Values, use catalog.Use) (problems fault.List) {
	if v.String("mode") == "upsert" && !v.Has("keys") {
		problems = append(problems, fault.New(fault.MissingOption, "mode upsert needs keys").At(use.Pos))
	}
	return problems
}

func readKafka() catalog.Function {
	return catalog.Function{
		Source: "kafka",
		Options: option.Set{
			{Name: "bootstrapServers"},
			{Name: "subscribe", Kind: option.List},
			{Name: "startingOffsets", Default: "earliest"},
			{Name: "endingOffsets", Default: "latest"},
			{Name: "maxOffsetsPerTrigger", Kind: option.Int},
			{Name: "kafka.", Prefix: true},
		},
		Title:   []string{"subscribe"},
		Formats: formats,
		Raw: []batch.Field{
			{Name: "key", Type: bytes}, {Name: "value", Type: bytes}, {Name: "topic", Type: text}, {Name: "partition", Type: batch.Of(batch.Int)},
			{Name: "offset", Type: batch.Of(batch.BigInt)}, {Name: "timestamp", Type: when}, {Name: "timestampType", Type: batch.Of(batch.Int)},
			{Name: "headers", Type: headers},
		},
		Metadata: []batch.Field{
			{Name: "topic", Type: text}, {Name: "partition", Type: batch.Of(batch.Int)}, {Name: "offset", Type: batch.Of(batch.BigInt)},
			{Name: "timestamp", Type: when}, {Name: "key", Type: bytes}, {Name: "headers", Type: headers},
		},
		Check: checkKafka,
	}
}

func checkKafka(v option.Values, use catalog.Use) (problems fault.List) {
	if !v.Has("subscribe") {
		problems = append(problems, fault.New(fault.MissingOption, "read_kafka: no topic is named").At(use.Pos))
	}
	if !v.Has("bootstrapServers") && use.Servers == "" {
		problems = append(problems, fault.New(fault.MissingOption, "read_kafka: no brokers are named").At(use.Pos))
	}
	if g, ok := v.Given("endingOffsets"); ok && use.Stream {
		problems = append(problems, fault.New(fault.InvalidOption, "read_kafka: a stream has no end").At(g.Pos))
	}
	return problems
}

func readFiles() catalog.Function {
	return catalog.Function{
		Source:     "files",
		Options:    option.Set{{Name: "path", Required: true, Doc: "A file, a folder or a glob."}, {Name: "maxFilesPerTrigger", Kind: option.Int}},
		Positional: []string{"path"},
		Title:      []string{"path"},
		Formats:    formats,
		Metadata: []batch.Field{
			{Name: "file_path", Type: text}, {Name: "file_name", Type: text}, {Name: "file_size", Type: batch.Of(batch.BigInt)},
			{Name: "file_modification_time", Type: when},
		},
	}
}
