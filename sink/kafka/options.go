package kafka

import (
	"slices"
	"time"

	"sluice/fault"
	"sluice/format/csv"
	"sluice/option"
	"sluice/sink"
	"sluice/source/kafka/client"
)

// Options are those of CREATE SINK ... FORMAT kafka.
func Options() option.Set {
	return slices.Concat(option.Set{
		{Name: "topic", Edit: option.AsPlace, Required: true, Doc: "Topic to write."},
		{Name: "mode", Edit: option.AsForm, Kind: option.Enum, Values: []string{"append", "upsert"}, Default: "append", Doc: "append: one record per row or change. upsert: one record per key and batch, tombstones for deleted keys."},
		{Name: "keys", Edit: option.AsForm, Kind: option.List, Doc: "Columns of the record key, separated by commas. Needed for upsert; with append they make keys, too."},
		{Name: "create_topic", Edit: option.Idle, Kind: option.Int, Doc: "Create the topic with so many partitions if it does not exist. With upsert it is compacted."},
		{Name: "format", Kind: option.Enum, Values: []string{"csv", "json", "raw"}, Default: "json", Doc: "Of values: json an object of all columns, csv a record of them, raw the only column beside the key's, BINARY or STRING, as it is. Keys are JSON, but of raw the only column of keys as it is."},
		{Name: "bigint_as_text", Kind: option.Bool, Default: "false", Doc: "Write BIGINT as text in JSON, for readers that take every number for a double."},
	}, csvOptions, client.Options(client.Producer))
}

type options struct {
	client       client.Config
	topic        string
	upsert       bool
	keys         []string
	partitions   int64
	format       string
	bigIntAsText bool
	whole        bool // rows are records; it is no option
	csv          csv.EncodeOptions
}

// csvOptions are those of values that are CSV. Nothing ends a message.
var csvOptions = slices.DeleteFunc(csv.WriteOptions(), func(o option.Spec) bool { return o.Name == csv.LineSep })

// Validate finds what is wrong with options that each are of their kind; nothing is opened. fallback are the brokers of
// the configuration.
func Validate(v option.Values, fallback string, at fault.Pos) fault.List {
	_, problems := parse(v, fallback, at)
	return problems
}

func parse(v option.Values, fallback string, at fault.Pos) (options, fault.List) {
	o := options{
		topic:        v.String("topic"),
		upsert:       v.String("mode") == "upsert",
		keys:         v.List("keys"),
		partitions:   v.Int("create_topic"),
		format:       v.String("format"),
		bigIntAsText: v.Bool("bigint_as_text"),
	}
	var problems fault.List
	o.client, problems = client.Parse("sink format kafka", client.Producer, v, fallback, at)
	of := map[string]string{"bigint_as_text": "json"}
	for _, c := range csvOptions {
		of[c.Name] = "csv"
	}
	problems = append(problems, sink.Misplaced(v, "sink format kafka", o.format, of)...)
	var err error
	if o.csv, err = csv.ParseWrite(v, time.UTC); err != nil {
		problems = append(problems, fault.From(err).At(at))
	}
	o.csv.Message = true
	if o.upsert && len(o.keys) == 0 {
		g, _ := v.Given("mode")
		problems = append(problems, fault.New(fault.MissingOption, "sink format kafka: mode => 'upsert' needs keys").At(g.Pos).
			WithHint("set keys => 'column, ...': the columns that make the record key"))
	}
	if g, given := v.Given("create_topic"); given && o.partitions < 1 {
		problems = append(problems, fault.New(fault.InvalidOption, "sink format kafka: create_topic is the number of partitions, not %q", g.Value).At(g.Pos))
	}
	return o, problems
}
