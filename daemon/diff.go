package daemon

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sluice/fault"
	"sluice/option"
	"sluice/plan"
	"sluice/state"
)

// Verdict is what an edit of a definition needs.
type Verdict string

const (
	Unchanged    Verdict = "unchanged"
	New          Verdict = "new"
	Removed      Verdict = "removed"
	InPlace      Verdict = "in place"               // holds from the next start on, for what is read and written from then on
	NeedsReset   Verdict = "needs checkpoint reset" // of a flow
	NeedsRefresh Verdict = "needs full refresh"     // of a table
	Refused      Verdict = "refused"                // and only undoing it helps
)

// Edit is one thing that the definitions say otherwise than those a store was last run with, or that they say nothing else.
type Edit struct {
	Kind    string // "table", "flow" or "sink"
	Name    string // as declared
	Verdict Verdict
	Pos     fault.Pos // not valid of what was removed
	Text    string    // what was edited, and what becomes of it
	Command string    // what to run, with the daemon stopped where it is a run; "" for nothing

	// What the next start says: that it ends there, or only a warning; nil for neither.
	Refusal, Warning *fault.Error
}

// Waits reports whether somebody has to do something about the edit.
func (e *Edit) Waits() bool {
	return e.Verdict == NeedsReset || e.Verdict == NeedsRefresh || e.Verdict == Refused
}

// Diff holds the definitions of a pipeline against those that a store was last run with: tables, flows and sinks as they are
// declared, then what is declared no more. It is what a start says (settle), and `processor diff` before it.
func Diff(p *plan.Pipeline, stored state.Stored) []Edit {
	d := diff{plan: p, stored: stored}
	for _, t := range p.Tables {
		d.judge("table", t.Display, t.Pos, d.table(t))
	}
	for _, f := range p.Flows {
		d.judge("flow", f.Name, f.Pos, d.flow(f))
	}
	for _, s := range p.Sinks {
		d.judge("sink", s.Name, s.Pos, d.sink(s))
	}
	d.removed()
	return d.edits
}

// diff is a comparison at work.
type diff struct {
	plan   *plan.Pipeline
	stored state.Stored
	edits  []Edit
}

// judge adds the edits of one definition, each with the place of the definition unless it has one of its own.
func (d *diff) judge(kind, name string, at fault.Pos, edits []Edit) {
	mask := option.NewMask(d.plan.Secrets...) // what is shown of options is hidden already; a name may hold one
	if len(edits) == 0 {
		edits = []Edit{{Verdict: Unchanged}}
	}
	for _, e := range edits {
		if e.Kind, e.Name = kind, name; !e.Pos.IsValid() {
			e.Pos = at
		}
		if e.Refusal != nil && !e.Refusal.Pos.IsValid() {
			e.Refusal.At(e.Pos)
		}
		e.Text, e.Refusal, e.Warning = mask.Text(e.Text), mask.Fault(e.Refusal), mask.Fault(e.Warning)
		d.edits = append(d.edits, e)
	}
}

// before is what a definition said, nil when the store does not know.
func (d *diff) before(name string) map[string]string {
	var texts map[string]string
	_ = json.Unmarshal(d.stored.Definitions[name], &texts) // nil where there is none
	return texts
}

func fullRefresh(t *plan.Table) string { return "processor run --full-refresh " + t.Name }

func resetCheckpoint(flow string) string { return "processor reset-checkpoint " + flow }

// table says what became of a table.
func (d *diff) table(t *plan.Table) (edits []Edit) {
	stored, known := d.stored.Tables[t.Name]
	if !known {
		return []Edit{{Verdict: New, Text: "it is made at the next start"}}
	}
	if stored.Fresh() {
		return nil
	}
	if stored.TakenBy(tableSpec(t)) {
		return []Edit{{Verdict: InPlace, Text: "its full refresh, which was ordered, is done by the next update: all rows are computed anew, with the columns of the definition"}}
	}
	columns, problems := stored.Compare(tableSpec(t))
	for _, e := range problems {
		edits = append(edits, drifted(t, e))
	}
	for _, text := range columns {
		edits = append(edits, Edit{Verdict: InPlace, Text: text})
	}
	if before := d.before("table " + t.Name); before != nil {
		for name, change := range changes(t.Definition, before) {
			edits = append(edits, Edit{Verdict: InPlace, Pos: change.Pos, Text: change.text(name) + tableEffect(name)})
		}
	}
	return edits
}

// drifted is a definition that the stored rows forbid.
func drifted(t *plan.Table, e *fault.Error) Edit {
	out := Edit{Verdict: NeedsRefresh, Text: strings.TrimPrefix(e.Message, "table "+t.Name+": "), Command: fullRefresh(t), Refusal: e}
	if !t.ResetAllowed {
		out.Verdict, out.Command = Refused, ""
		e.WithHint("undo the change: the table has pipelines.reset.allowed = false, so that it cannot be refreshed fully")
	}
	return out
}

// tableEffect is what becomes of an edit of something of a table that is no column.
func tableEffect(part string) string {
	switch {
	case strings.HasPrefix(part, plan.PrefixCheck):
		return "; rows are judged by it from now on"
	case part == plan.PartSchedule:
		return "; it holds from the next start on"
	case part == plan.PrefixProperty+"sluice.digest":
		return "; a digest is kept from the next start on, which computes it from the rows, or not any more"
	case part == plan.PrefixProperty+"sluice.history":
		return "; earlier versions that it does not keep any more go at the next start"
	}
	return ""
}

// removed tells of what the pipeline declares no more.
func (d *diff) removed() {
	for _, kind := range []struct {
		name     string
		stored   []string
		declared map[string]bool
		text     string
	}{
		{"table", d.storedTables(), d.declaredTables(), "what it holds is kept"},
		{"flow", slices.Sorted(maps.Keys(d.stored.Flows)), d.declaredFlows(), "where it stands is kept"},
		{"sink", d.storedSinks(), d.declaredSinks(), "what was delivered stays where it is"},
	} {
		for _, name := range kind.stored {
			if kind.declared[name] {
				continue
			}
			e := Edit{Kind: kind.name, Name: name, Verdict: Removed, Text: kind.text}
			if kind.name != "sink" { // which holds nothing
				e.Warning = fault.New(fault.NotDeclared, "the pipeline does not declare %s %s any more; what it holds is kept", kind.name, name).
					WithHint("declare it again to go on with it")
			}
			d.edits = append(d.edits, e)
		}
	}
}

func (d *diff) storedTables() (names []string) {
	for name, t := range d.stored.Tables {
		if !t.Fresh() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (d *diff) storedSinks() (names []string) {
	for name := range d.stored.Definitions {
		if sink, ok := strings.CutPrefix(name, "sink "); ok {
			names = append(names, sink)
		}
	}
	slices.Sort(names)
	return names
}

func (d *diff) declaredTables() map[string]bool {
	return namesOf(d.plan.Tables, func(t *plan.Table) string { return t.Name })
}

func (d *diff) declaredFlows() map[string]bool {
	return namesOf(d.plan.Flows, func(f *plan.Flow) string { return f.Name })
}

func (d *diff) declaredSinks() map[string]bool {
	return namesOf(d.plan.Sinks, func(s *plan.Sink) string { return s.Name })
}

func namesOf[T any](list []T, name func(T) string) map[string]bool {
	out := map[string]bool{}
	for _, x := range list {
		out[name(x)] = true
	}
	return out
}

// change is a part of a definition that says something else than before.
type change struct {
	plan.Part        // as it is now; "" when it is gone
	was       string // "" when it is new
}

// changes are the parts that changed, in the order of their names.
func changes(d plan.Definition, before map[string]string) func(yield func(string, change) bool) {
	return func(yield func(string, change) bool) {
		for _, name := range d.Names(before) {
			if now := d[name]; now.Text != before[name] && !yield(name, change{now, before[name]}) {
				return
			}
		}
	}
}

// text says what changed. What is long, or more than a line, is not repeated.
func (c *change) text(name string) string {
	for _, prefix := range []string{plan.PrefixOption, plan.PrefixProperty} {
		if what, ok := strings.CutPrefix(name, prefix); ok && short(c.was) && short(c.Text) {
			return fmt.Sprintf("%s%s: %s before, %s now", prefix, what, shown(c.was), shown(c.Text))
		}
	}
	switch {
	case name == plan.PartZone, name == plan.PartInput:
		return fmt.Sprintf("%s: %s before, %s now", name, c.was, c.Text)
	case c.was == "":
		return name + " is new"
	case c.Text == "":
		return name + " is gone"
	}
	return name + " changed"
}

func short(text string) bool { return len(text) <= 60 && !strings.Contains(text, "\n") }

func shown(text string) string {
	if text == "" {
		return "not given"
	}
	return "'" + text + "'"
}
