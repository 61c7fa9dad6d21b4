package kafka

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sluice/batch"
	"sluice/fault"
	"sluice/option"
	"sluice/source/kafka/client"
)

// Options are the named arguments of read_kafka. Those of every source (format, schema, mode) and those of the formats are
// not among them.
func Options() option.Set {
	return append(option.Set{
		{Name: "subscribe", Kind: option.List, Doc: "Topics to read, separated by commas."},
		{Name: "subscribePattern", Doc: "Regular expression that whole topic names match; topics that appear later are read too."},
		{Name: "startingOffsets", Edit: option.AtStart, Default: "earliest", Doc: `earliest (the default, D-40), latest, a time such as 2026-01-31T00:00:00Z, or JSON: {"topic":{"0":23,"1":-2}} where -2 is earliest and -1 latest.`},
		{Name: "startingTimestamp", Edit: option.AtStart, Kind: option.Int, Doc: "Start at the first record of this time or later, in milliseconds since the epoch."},
		{Name: "startingOffsetsByTimestamp", Edit: option.AtStart, Doc: `The same for each partition: {"topic":{"0":1700000000000}}.`},
		{Name: "startingOffsetsByTimestampStrategy", Edit: option.AtStart, Kind: option.Enum, Values: []string{"error", "latest"}, Default: "error", Doc: "What to do with a partition that has no record of that time or later."},
		{Name: "endingOffsets", Edit: option.AtStart, Default: "latest", Doc: "Where a once flow ends: latest (the default) or JSON as in startingOffsets. Not for streams."},
		{Name: "endingTimestamp", Edit: option.AtStart, Kind: option.Int, Doc: "End before the first record of this time or later, in milliseconds since the epoch. Not for streams."},
		{Name: "endingOffsetsByTimestamp", Edit: option.AtStart, Doc: "The same for each partition, as JSON. Not for streams."},
		{Name: "failOnDataLoss", Edit: option.Idle, Kind: option.Bool, Default: "true", Doc: "false means the same as allow_data_loss => true."},
		{Name: "allow_data_loss", Edit: option.Idle, Kind: option.Bool, Default: "false", Doc: "Go on at the start of the log when records are gone before they were read, and record the gap (D-6)."},
		{Name: "allow_short_source", Edit: option.Idle, Kind: option.Bool, Default: "false", Doc: "Of a REPLACE WHERE flow: compute the window although the topic may have lost records of it (D-11)."},
		{Name: "on_null_value", Kind: option.Enum, Values: []string{"ignore", "error", "keep"}, Default: "ignore", Doc: "Records without a value: left out and counted, bad records, or (only without format) rows whose value is NULL (D-5)."},
		{Name: "maxOffsetsPerTrigger", Edit: option.Idle, Kind: option.Int, Doc: "Most records of one batch."},
		{Name: "maxBytesPerTrigger", Edit: option.Idle, Kind: option.Size, Doc: "Size after which a batch is closed."},
	}, client.Options(client.Consumer)...)
}

// options is what the options say, parsed.
type options struct {
	client     client.Config
	topics     []string       // sorted; nil when pattern is set
	pattern    *regexp.Regexp // anchored
	start, end offsets
	allowLoss  bool
	nulls      nullPolicy
	maxRecords int64
	maxBytes   int64
}

type nullPolicy uint8

const (
	ignoreNulls nullPolicy = iota
	refuseNulls
	keepNulls
)

// Validate finds what is wrong with options that each are of their kind; nothing is opened. fallback are the brokers of
// the configuration, stream says that the flow has no end.
func Validate(v option.Values, stream bool, fallback string, at fault.Pos) fault.List {
	_, problems := parse(v, stream, fallback, at)
	return problems
}

func parse(v option.Values, stream bool, fallback string, at fault.Pos) (options, fault.List) {
	o := options{
		allowLoss:  v.Bool("allow_data_loss") || !v.Bool("failOnDataLoss"),
		nulls:      map[string]nullPolicy{"ignore": ignoreNulls, "error": refuseNulls, "keep": keepNulls}[v.String("on_null_value")],
		maxRecords: v.Int("maxOffsetsPerTrigger"),
		maxBytes:   v.Size("maxBytesPerTrigger"),
	}
	var problems fault.List
	o.client, problems = client.Parse("read_kafka", client.Consumer, v, fallback, at)
	report := func(name string, code *fault.Code, format string, args ...any) *fault.Error {
		e := fault.New(code, "read_kafka: "+format, args...).At(at)
		if g, ok := v.Given(name); ok {
			e.At(g.Pos)
		}
		problems = append(problems, e)
		return e
	}
	o.topics = topicNames(v.List("subscribe"))
	pattern := v.String("subscribePattern")
	switch {
	case len(o.topics) > 0 && pattern != "":
		report("subscribePattern", fault.DuplicateOption, "subscribe and subscribePattern cannot both be given")
	case len(o.topics) == 0 && pattern == "":
		report("subscribe", fault.MissingOption, "no topic is named").WithHint("set subscribe => 'topic', or subscribePattern")
	case pattern != "":
		var err error
		if o.pattern, err = regexp.Compile("^(?:" + pattern + ")$"); err != nil {
			report("subscribePattern", fault.InvalidOption, "%q is not a regular expression: %v", pattern, err)
		}
	}
	if v.Has("failOnDataLoss") && v.Has("allow_data_loss") && v.Bool("failOnDataLoss") == v.Bool("allow_data_loss") {
		report("allow_data_loss", fault.InvalidOption, "failOnDataLoss and allow_data_loss contradict each other")
	}
	if o.nulls == keepNulls && v.Has("format") {
		report("on_null_value", fault.InvalidOption, "on_null_value => 'keep' is for reads without a format: a value that is not there cannot be decoded").WithHint("use ignore or error")
	}
	if mode, _ := batch.ParseMode(given(v, "mode")); mode == batch.Permissive && o.nulls == refuseNulls {
		report("on_null_value", fault.InvalidOption, "on_null_value => 'error' makes a record without a value a bad one, and mode => 'PERMISSIVE' keeps what can be read of it, which is nothing").
			WithHint("leave such records out with 'ignore', keep them with 'keep' where there is no format, or take another mode")
	}
	for _, name := range []string{"maxOffsetsPerTrigger", "maxBytesPerTrigger"} {
		if v.Has(name) && v.Int(name)+v.Size(name) <= 0 {
			report(name, fault.InvalidOption, "%s must be above 0", name)
		}
	}
	if g, given := v.Given("deadLetterTopic"); given && o.subscribes(g.Value) {
		report("deadLetterTopic", fault.InvalidOption, "the dead-letter topic is read as well, so that what is refused comes again for ever").WithHint("name a topic that subscribe and subscribePattern leave out")
	}
	var err error
	var name string
	if o.start, name, err = parseOffsets(v, "starting"); err != nil {
		report(name, fault.InvalidOption, "%s: %v", name, err)
	}
	if o.end, name, err = parseOffsets(v, "ending"); err != nil {
		report(name, fault.InvalidOption, "%s: %v", name, err)
	}
	o.start.orLatest = v.String("startingOffsetsByTimestampStrategy") == "latest"
	o.end.orLatest = true // no record after the time: everything is before it
	for _, name := range []string{"endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp"} {
		if stream && v.Has(name) {
			report(name, fault.InvalidOption, "a stream has no end, so %s cannot be given (D-40)", name).WithHint("leave it out, or read without STREAM in an INSERT ONCE flow")
		}
	}
	return o, problems
}

func given(v option.Values, name string) string {
	g, _ := v.Given(name)
	return g.Value
}

// topicNames sorts names and drops repeated ones.
func topicNames(list []string) (out []string) {
	seen := map[string]bool{}
	for _, t := range list {
		if !seen[t] {
			seen[t] = true
			out = append(out, t)
		}
	}
	slices.Sort(out)
	return out
}

// subscribes reports whether a topic belongs to the source.
func (o *options) subscribes(topic string) bool {
	if o.pattern != nil {
		return o.pattern.MatchString(topic)
	}
	for _, t := range o.topics {
		if t == topic {
			return true
		}
	}
	return false
}

// name is the source in messages.
func (o *options) name() string {
	if o.pattern != nil {
		return fmt.Sprintf("topics like %s", o.pattern)
	}
	return "topic " + strings.Join(o.topics, ", ")
}
