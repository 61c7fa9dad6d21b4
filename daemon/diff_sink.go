package daemon

import (
	"strings"

	"sluice/option"
	"sluice/plan"
)

// sink says what became of a sink.
func (d *diff) sink(s *plan.Sink) (edits []Edit) {
	before := d.before("sink " + s.Name)
	if before == nil {
		if len(d.stored.Definitions) == 0 && d.delivered(s) != nil { // the store is of a version that kept none
			return nil
		}
		return []Edit{{Verdict: New, Text: "its flows send it everything from their start on"}}
	}
	for name, c := range changes(s.Definition, before) {
		if e, ok := d.sinkEdit(s, name, &c); ok {
			e.Pos = c.Pos
			edits = append(edits, e)
		}
	}
	return edits
}

// sinkEdit judges one part of a sink that changed.
func (d *diff) sinkEdit(s *plan.Sink, name string, c *change) (e Edit, ok bool) {
	kind := option.Applies
	if what, isOption := strings.CutPrefix(name, plan.PrefixOption); isOption {
		spec, _ := s.Options.Spec(what)
		if sameAsDefault(spec, c) {
			return e, false
		}
		kind = spec.Edit
	}
	e = Edit{Verdict: InPlace, Text: c.text(name)}
	f := d.delivered(s)
	switch {
	case f == nil || name == plan.PartComment || kind == option.Idle:
	case kind == option.AsPlace || name == plan.PartFormat:
		e = d.elsewhere(f, e)
	case kind == option.AsForm:
		e.Verdict, e.Command = NeedsReset, resetCheckpoint(f.Name)
		e.Text += "; it goes on, and what was delivered stays in its old form until everything is sent again"
	default:
		e.Text += "; it holds for what is delivered from now on"
	}
	return e, true
}

// elsewhere is a target that has none of the batches so far.
func (d *diff) elsewhere(f *plan.Flow, e Edit) Edit {
	if keeps[f.Sink.Format] {
		e.Verdict, e.Command = NeedsReset, resetCheckpoint(f.Name)
		e.Text += "; the new target knows nothing of the batches so far, so that the flow stops with SINK_IDENTITY_LOST until everything is sent again, or `processor sink adopt " + f.Sink.Name + "` lets it go on from there"
	} else {
		e.Text += "; what is delivered from now on goes there"
	}
	return e
}

// keeps are the formats of sinks whose targets remember who writes to them (D-18).
var keeps = map[string]bool{"kafka": true, "postgres": true}

// delivered is the first flow into a sink that has delivered something, or nil.
func (d *diff) delivered(s *plan.Sink) *plan.Flow {
	for _, f := range d.plan.Flows {
		if f.Sink == s && d.stored.Flows[f.Name].Batches > 0 {
			return f
		}
	}
	return nil
}

// moved reports whether a sink is another target outside than a definition was.
func moved(s *plan.Sink, before map[string]string) bool {
	for name := range changes(s.Definition, before) {
		what, isOption := strings.CutPrefix(name, plan.PrefixOption)
		if spec, known := s.Options.Spec(what); name == plan.PartFormat || isOption && (!known || spec.Edit == option.AsPlace) {
			return true
		}
	}
	return false
}
