package catalog

import (
	"strings"

	"sluice/batch"
	"sluice/fault"
	"sluice/option"
)

// argDeadLetters names the topic that gets what a source in mode QUARANTINE refuses (D-15). It is read and written by Sluice itself, so that
// setting or changing it does not change what its flow computes.
const argDeadLetters = "deadLetterTopic"

// DeadLetterSuffix is what the flow and the sink that send a flow's dead letters have behind its name. No name that is declared has a dot.
const DeadLetterSuffix = ".dlq"

// letterTarget is the format of the sink that dead letters are sent to.
const letterTarget = "kafka"

var deadLetterSpec = option.Spec{Name: argDeadLetters, Edit: option.Idle,
	Doc: "Topic that gets each record which goes into quarantine, as it came (D-15); kafka.* options hold for it too."}

// letterOptions are the options of a sink that connect it, under the names that they have at a source with a dead-letter topic, too.
func (b *builder) letterOptions() (out option.Set) {
	for _, spec := range b.Connectors.Sinks[letterTarget].Options {
		if spec.Name == "bootstrapServers" || strings.HasPrefix(spec.Name, "kafka.") {
			out = append(out, spec)
		}
	}
	return out
}

// asksForLetters reports whether a dead-letter topic is among what was given.
func asksForLetters(given []option.Given) bool {
	for _, g := range given {
		if strings.EqualFold(g.Name, argDeadLetters) {
			return true
		}
	}
	return false
}

// deadLetters makes the options of the sink that sends what a flow refuses, of those of what it reads.
func (b *builder) deadLetters(f *Flow) {
	r := f.Input
	topic, ok := r.Options.Given(argDeadLetters)
	if !ok {
		return
	}
	if r.Mode != batch.Quarantine {
		b.report(fault.InvalidOption, topic.Pos, "%s gets what is put into quarantine, and the mode is %s", argDeadLetters, r.Mode).WithHint("add mode => 'QUARANTINE'")
		return
	}
	given := []option.Given{{Name: "topic", Value: topic.Value, Secret: topic.Secret, Pos: topic.Pos}}
	for _, spec := range b.letterOptions() {
		if g, ok := r.Options.Given(spec.Name); ok {
			g.Name = spec.Name
			given = append(given, g)
		} else if spec.Prefix {
			given = append(given, r.Options.Prefixed(spec.Name)...)
		}
	}
	format := b.Connectors.Sinks[letterTarget]
	values, problems := format.Options.Parse(argDeadLetters, given, topic.Pos)
	if len(problems) == 0 && format.Check != nil && !r.refused {
		problems = format.Check(values, Use{Pos: topic.Pos, Servers: b.Spec.Servers()})
	}
	b.Problems = append(b.Problems, problems...)
	f.Letters = &values
}
