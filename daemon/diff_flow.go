package daemon

import (
	"fmt"
	"strings"

	"sluice/fault"
	"sluice/option"
	"sluice/plan"
	"sluice/state"
)

// flow says what became of a flow.
func (d *diff) flow(f *plan.Flow) (edits []Edit) {
	stored, known := d.stored.Flows[f.Name]
	switch before := d.before("flow " + f.Name); {
	case !known:
		return []Edit{{Verdict: New, Text: "it begins where its source says"}}
	case before == nil && stored.Begun && stored.Fingerprint != "" && stored.Fingerprint != f.Fingerprint: // of an older version
		edits = append(edits, d.edited(f, &stored, "query changed", false))
	case before != nil:
		for name, c := range changes(f.Definition, before) {
			if e, ok := d.flowEdit(f, &stored, name, &c); ok {
				e.Pos = c.Pos
				edits = append(edits, e)
			}
		}
	}
	warnOnce(edits)
	return edits
}

// warnOnce leaves one warning of each kind: the others would say the same again.
func warnOnce(edits []Edit) {
	told := map[*fault.Code]bool{}
	for i := range edits {
		if w := edits[i].Warning; w != nil && told[w.Code] {
			edits[i].Warning = nil
		} else if w != nil {
			told[w.Code] = true
		}
	}
}

// flowEdit judges one part of a flow that changed; none is an option that was spelt out with its default.
func (d *diff) flowEdit(f *plan.Flow, stored *state.StoredFlow, name string, c *change) (e Edit, ok bool) {
	if (name == plan.PartZone || name == plan.PartInput) && c.was == "" { // a store of an older version says nothing about it
		return e, false
	}
	text := c.text(name)
	kind := option.Applies
	if what, isOption := strings.CutPrefix(name, plan.PrefixOption); isOption {
		spec, _ := f.Input.Options.Spec(what)
		if sameAsDefault(spec, c) {
			return e, false
		}
		kind = spec.Edit
	}
	switch {
	case !stored.Begun && (f.Window == nil || stored.Batches == 0):
		return Edit{Verdict: InPlace, Text: text + "; it has not begun"}, true
	case name == plan.PartTarget:
		return d.retargeted(f, c), true
	case name == plan.PartComment, name == plan.PartDependsOn, kind == option.Idle:
		return Edit{Verdict: InPlace, Text: text}, true
	case kind == option.AtStart && !stored.Drained:
		return Edit{Verdict: NeedsReset, Command: resetCheckpoint(f.Name), Text: text + "; it is asked once, when a flow begins, and this one has begun",
			Warning: fault.New(fault.StartOptionChanged, "flow %s: %s; it has begun, so that this has no effect", f.Name, text).
				WithHint("`processor reset-checkpoint %s` makes it begin anew; what its table holds stays", f.Name)}, true
	}
	was := d.before("flow " + f.Name)[plan.PartInput]
	return d.edited(f, stored, text, was != "" && was != f.Definition[plan.PartInput].Text), true
}

// sameAsDefault reports whether an option that was not given has its default now, or had it before.
func sameAsDefault(spec option.Spec, c *change) bool {
	return spec.Default != "" && (c.was == "" && strings.EqualFold(c.Text, spec.Default) || c.Text == "" && strings.EqualFold(c.was, spec.Default))
}

// edited is a flow that reads or computes something else from now on. What it has written is not written again, and what has
// drained does not run again (DO-O9). Places in one source are none in another.
func (d *diff) edited(f *plan.Flow, stored *state.StoredFlow, text string, otherSource bool) Edit {
	goesOn, hint := "it goes on from where it stands", "a full refresh computes old rows anew"
	if otherSource {
		goesOn = "it reads its new source from the start"
	}
	e := Edit{Verdict: InPlace, Text: text + "; " + goesOn + ", and what it has written is not computed again"}
	switch {
	case f.Window != nil: // RW-06
		goesOn = "the next update computes its window with it, and rows outside keep what they have"
		e.Text, hint = text+"; "+goesOn, fmt.Sprintf("`processor refresh %s --where PREDICATE` computes others anew (RW-06)", f.Table.Display)
	case f.Once && stored.Drained:
		goesOn = "it has drained and does not run again"
		e.Verdict, e.Text, e.Command = NeedsRefresh, text+"; "+goesOn, rerun(f)
	case strings.HasPrefix(text, plan.PartSequence):
		e.Verdict, e.Command = NeedsRefresh, rerun(f)
		e.Text = text + "; it goes on, and what comes is compared with what is stored under the old sequence"
	}
	e.Warning = fault.New(fault.QueryFingerprintChanged, "the query of flow %s changed; %s", f.Name, goesOn).WithHint("%s", hint)
	return e
}

// rerun is the command that makes a flow write everything anew.
func rerun(f *plan.Flow) string {
	if f.Table != nil && f.Table.ResetAllowed {
		return fullRefresh(f.Table)
	}
	return resetCheckpoint(f.Name)
}

// retargeted is a flow that writes something else than before. A flow is known by its name, and in Lakeflow by its target as well:
// another target begins with nothing. It would lack what the flow has read, so that somebody has to say so. A sink is known by
// what it is outside.
func (d *diff) retargeted(f *plan.Flow, c *change) Edit {
	if from, ok := strings.CutPrefix(c.was, plan.TargetSink); ok && f.Sink != nil {
		e := Edit{Verdict: InPlace, Text: "it writes sink " + f.Sink.Name + " instead of " + from + "; the target outside is the same"}
		if before := d.before(c.was); before != nil && !moved(f.Sink, before) {
			return e
		}
		e.Text = "it writes sink " + f.Sink.Name + " instead of " + from
		return d.elsewhere(f, e)
	}
	return Edit{Verdict: NeedsReset, Command: resetCheckpoint(f.Name), Text: "it writes " + c.Text + " instead of " + c.was + ", which lacks what the flow has read so far",
		Refusal: fault.New(fault.FlowTargetDrift, "the flow %s writes %s and has written %s so far", f.Name, c.Text, c.was).
			WithHint("give it another name, which makes it a new flow, or run `processor reset-checkpoint %s`, which makes it read everything again, or undo the change", f.Name)}
}
