package plan

import (
	"slices"
	"strings"

	"sluice/batch"
	"sluice/catalog"
	"sluice/eval/dialect"
	"sluice/fault"
	"sluice/option"
	"sluice/source"
	"sluice/syntax"
)

// LetterFields are the columns of a dead letter: those of a Kafka record, with names of headers as bytes.
func LetterFields() []batch.Field {
	bytes := batch.Of(batch.Binary)
	header := batch.StructOf(batch.Field{Name: "key", Type: bytes}, batch.Field{Name: "value", Type: bytes})
	return []batch.Field{{Name: "key", Type: bytes}, {Name: "value", Type: bytes}, {Name: "headers", Type: batch.ArrayOf(header)}}
}

// letterQuery hands dead letters through as they are.
const letterQuery = "SELECT key, value, headers FROM STREAM(letters)"

// sendLetters adds the flow, and its sink, that send the dead letters of a flow (D-15). It is a flow like others, so that what is wrong with
// the topic is wrong with it alone.
func (p *planner) sendLetters(of *Flow, options option.Values) {
	topic, _ := options.Given("topic")
	sink := &Sink{Name: of.Name + catalog.DeadLetterSuffix, Format: "kafka", Options: options, Comment: "dead letters of flow " + of.Name, Pos: topic.Pos}
	sink.Definition = sinkDefinition(sink)
	query, problems := passThrough()
	if len(problems) > 0 {
		p.problems = append(p.problems, problems...)
		return
	}
	f := &Flow{Name: sink.Name, Comment: sink.Comment, Pos: topic.Pos, Sink: sink, Query: query, Text: letterQuery, Upstream: []string{of.Name}, Fingerprint: sum(letterQuery)}
	f.Input = Input{Kind: FromDeadLetters, Name: of.Name, Flow: of, Stream: true}
	for _, c := range LetterFields() {
		f.Input.Columns = append(f.Input.Columns, source.Column{Field: c})
	}
	f.Definition = Definition{PartTarget: {TargetSink + sink.Name, f.Pos}}
	f.Secrets = slices.Concat(of.Secrets, options.Secrets(), p.spec.SecretServers())
	for _, value := range p.Secrets {
		if slices.ContainsFunc(f.Secrets, func(s string) bool { return strings.Contains(s, value) }) {
			f.Secrets = append(f.Secrets, value)
		}
	}
	slices.Sort(f.Secrets)
	f.Secrets = slices.Compact(f.Secrets)
	of.Letters = f
	p.Sinks, p.Flows = append(p.Sinks, sink), append(p.Flows, f)
}

// WithoutLetters is the pipeline without the flows that send dead letters, and their sinks.
func (p *Pipeline) WithoutLetters() *Pipeline {
	out := *p
	out.Sinks = slices.DeleteFunc(slices.Clone(p.Sinks), func(s *Sink) bool { return strings.HasSuffix(s.Name, catalog.DeadLetterSuffix) })
	out.Flows = nil
	for _, f := range p.Flows {
		if f.Input.Flow == nil {
			alone := *f
			alone.Letters = nil
			out.Flows = append(out.Flows, &alone)
		}
	}
	return &out
}

// letterScope is what letterQuery can name.
type letterScope struct{ letters *dialect.Relation }

func (s letterScope) Relation(syntax.TableRef) (*dialect.Relation, *fault.Error) {
	return s.letters, nil
}

// passThrough compiles letterQuery.
func passThrough() (*dialect.Compiled, fault.List) {
	query, problems := syntax.ParseQuery("dead letters", letterQuery)
	if len(problems) > 0 {
		return nil, problems
	}
	relation := &dialect.Relation{Name: "letters", Handle: "input", Fields: LetterFields(), Stream: true}
	analysis, problems := dialect.Analyse(query, letterScope{relation}, dialect.Options{Streaming: true})
	if len(problems) > 0 {
		return nil, problems
	}
	return analysis.Compile(dialect.Projection{Columns: intoSink(analysis.Output), Row: true})
}
