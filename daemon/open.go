package daemon

import (
	"fmt"
	"slices"
	"time"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
	"sluice/format/csv"
	"sluice/format/json"
	"sluice/plan"
	"sluice/sink"
	sinkexec "sluice/sink/exec"
	sinkfile "sluice/sink/file"
	sinkkafka "sluice/sink/kafka"
	sinkpostgres "sluice/sink/postgres"
	"sluice/source"
	sourcefile "sluice/source/file"
	sourcekafka "sluice/source/kafka"
	"sluice/source/kafka/client"
	"sluice/source/letters"
	sourcetable "sluice/source/table"
	"sluice/state"
)

// readers open a format for a source.
var readers = map[string]func(format.Reading) (format.Reader, error){"json": json.Open, "csv": csv.Open}

// openSource makes the source a flow reads row by row. table is the open table of a flow that reads one; m watches brokers and may be nil.
func openSource(p *plan.Pipeline, f *plan.Flow, table *state.Table, s *state.Flow, m *client.Monitor) (source.Source, error) {
	in, _, err := openInput(p, &f.Input, table, s, m, nil)
	return in, err
}

// openInput is openSource, with the reader of the records' format. warn is told what does not stop the reading.
func openInput(p *plan.Pipeline, in *plan.Input, table *state.Table, s *state.Flow, m *client.Monitor, warn func(*fault.Error)) (out source.Source, reader format.Reader, err error) {
	switch in.Kind {
	case plan.FromTable, plan.FromChangeFeed:
		return sourcetable.New(sourcetable.Config{Table: table, Flow: s, Feed: in.Kind == plan.FromChangeFeed, InsertsOnly: in.InsertsOnly, Columns: delivered(in)}), reader, nil
	}
	if in.Kind == plan.FromDeadLetters {
		return letters.New(letters.Config{Flow: s, Of: p.Name + "." + in.Flow.Name, Kafka: in.Flow.Input.Kind == plan.FromKafka, Columns: in.Columns}), reader, nil
	}
	if reader, err = openReader(p, in); err != nil {
		return nil, reader, err
	}
	if in.Kind == plan.FromFiles {
		out, err = sourcefile.New(sourcefile.Config{Options: in.Options, Dir: p.Dir, Stream: in.Stream, Columns: delivered(in), Reader: reader, Warn: warn})
		return out, reader, err
	}
	out, err = sourcekafka.New(sourcekafka.Config{Options: in.Options, Stream: in.Stream, Bootstrap: p.Servers, Columns: delivered(in),
		Decoder: reader.Decoder, Tolerated: reader.Tolerated, Mode: in.Mode, DrainTimeout: p.Settings.DrainTimeout, Monitor: m})
	return out, reader, err
}

// delivered are the columns a source has to bring: those of the query, and what is kept of a record that cannot be used. Of a row
// of a table that is the row.
func delivered(in *plan.Input) []source.Column {
	if in.Mode != batch.Quarantine {
		return in.Columns
	}
	if in.Table == nil {
		return append(slices.Clone(in.Columns), source.Record())
	}
	out := slices.Clone(in.Columns)
	for _, f := range in.Table.Fields {
		if !slices.ContainsFunc(out, func(c source.Column) bool { return c.Field.Name == f.Name }) {
			out = append(out, source.Column{Field: f})
		}
	}
	return out
}

// openReader opens the format of a source for the columns that are decoded; a source without one has the zero Reader.
func openReader(p *plan.Pipeline, in *plan.Input) (format.Reader, error) {
	if in.Format == "" {
		return format.Reader{}, nil
	}
	zone, err := time.LoadLocation(p.Zone)
	if err != nil {
		return format.Reader{}, err
	}
	var decoded []batch.Field
	for _, c := range in.Columns {
		if c.Meta == "" {
			decoded = append(decoded, c.Field)
		}
	}
	return readers[in.Format](format.Reading{Schema: in.Schema, Quoted: in.Quoted, Columns: decoded, Mode: in.Mode, Zone: zone, Options: in.Options, Tolerate: in.Tolerate})
}

// OpenSink makes the sink a flow writes. m watches brokers and may be nil.
func OpenSink(p *plan.Pipeline, f *plan.Flow, m *client.Monitor) (sink.Sink, error) {
	s, fields, feed := f.Sink, f.Query.Columns, f.Input.Kind == plan.FromChangeFeed
	zone, err := time.LoadLocation(p.Zone)
	if err != nil {
		return nil, err
	}
	switch s.Format {
	case "kafka":
		return sinkkafka.New(sinkkafka.Config{Options: s.Options, Bootstrap: p.Servers, Pipeline: p.Name, Flow: f.Name, Fields: fields, Feed: feed, Records: f.Input.Kind == plan.FromDeadLetters, Zone: zone, Monitor: m})
	case "postgres":
		return sinkpostgres.New(sinkpostgres.Config{Options: s.Options, Pipeline: p.Name, Flow: f.Name, Fields: fields, Feed: feed})
	case "file":
		return sinkfile.New(sinkfile.Config{Options: s.Options, Dir: p.Dir, Pipeline: p.Name, Flow: f.Name, Fields: fields, Feed: feed, Zone: zone})
	case "exec":
		return sinkexec.New(sinkexec.Config{Options: s.Options, Dir: p.Dir, Pipeline: p.Name, Flow: f.Name, Fields: fields})
	}
	return nil, fmt.Errorf("no sink of format %s", s.Format) // the planner knows the formats
}

// CheckSinks finds columns that their sinks cannot hold. Nothing is opened.
func CheckSinks(p *plan.Pipeline) (problems fault.List) {
	for _, f := range IntoSinks(p) {
		s, err := OpenSink(p, f, nil)
		if err == nil {
			err = s.Close()
		}
		if err == nil {
			continue
		}
		problem := fault.From(err).At(f.Sink.Pos)
		problem.Message = "sink " + f.Sink.Name + ", flow " + f.Name + ": " + problem.Message
		problems = append(problems, problem)
	}
	return problems
}
