package plan

import (
	"slices"
	"strings"

	"sluice/option"
	"sluice/syntax"
)

// hide takes the values of the environment out of every message about the definitions (D-54).
func (p *planner) hide() {
	mask := option.NewMask(p.Secrets...)
	p.problems = mask.List(p.problems)
	for i := range p.Warnings {
		p.Warnings[i].Text = mask.Text(p.Warnings[i].Text)
	}
}

// secrets are the values of a flow that no output shows: options that are secrets, whatever of options and query is from the
// environment, and what those were put together from.
func (p *planner) secrets(f *flow, out *Flow) []string {
	var found []string
	kafka := false
	for _, in := range out.Inputs() {
		found, kafka = append(found, in.Options.Secrets()...), kafka || in.Kind == FromKafka
	}
	if out.Sink != nil {
		found = append(found, out.Sink.Options.Secrets()...)
	}
	if kafka || out.Sink != nil && out.Sink.Format == "kafka" {
		found = append(found, p.spec.SecretServers()...)
	}
	collect := func(node any) bool {
		if l, ok := node.(*syntax.Literal); ok && l.Secret {
			found = append(found, l.Text)
		}
		return true
	}
	syntax.Inspect(f.decl.Body.Query, collect)
	if f.decl.Body.Predicate != nil {
		syntax.Inspect(f.decl.Body.Predicate, collect)
	}
	for _, value := range p.Secrets {
		if slices.ContainsFunc(found, func(s string) bool { return strings.Contains(s, value) }) {
			found = append(found, value)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}
