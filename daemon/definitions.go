package daemon

import (
	"bytes"
	"encoding/json"
	"strings"

	"sluice/eventlog"
	"sluice/fault"
	"sluice/plan"
	"sluice/state"
)

// settle compares the definitions with those of the last run, and refuses what the store forbids, all of it in one list.
func (d *Daemon) settle() ([]Edit, error) {
	stored, err := d.store.Stored()
	if err != nil {
		return nil, err
	}
	edits := Diff(d.Plan, stored)
	var problems fault.List
	for _, e := range edits {
		if e.Refusal != nil {
			problems = append(problems, e.Refusal)
		}
	}
	return edits, problems.Err()
}

// tellEdits says what became of the definitions (D-62).
func (d *Daemon) tellEdits(edits []Edit) {
	for _, e := range edits {
		switch {
		case e.Verdict == Unchanged || e.Verdict == New:
			continue
		case e.Verdict != Removed:
			d.emit(&eventlog.DefinitionEdit{Kind: e.Kind, Name: e.Name, Verdict: string(e.Verdict), Text: e.Text, Command: e.Command})
		}
		switch {
		case e.Warning == nil:
		case e.Kind == "flow" && e.Verdict != Removed:
			d.emit(&eventlog.FlowWarning{Flow: e.Name, Err: e.Warning})
		default:
			d.emit(&eventlog.UpdateWarning{Err: e.Warning})
		}
	}
}

// keepDefinitions stores what the definitions say, for the next comparison. Those of tables and flows that are declared no more stay,
// as what they hold does.
func (d *Daemon) keepDefinitions() error {
	now := definitions(d.Plan)
	stored, err := d.store.Stored()
	if err != nil {
		return err
	}
	for name, before := range stored.Definitions {
		switch text, declared := now[name]; {
		case declared && bytes.Equal(text, before):
			delete(now, name)
		case !declared && strings.HasPrefix(name, "sink "):
			now[name] = nil
		}
	}
	if len(now) == 0 {
		return nil
	}
	return d.store.PutDefinitions(now)
}

// definitions are the definitions of a pipeline as a store keeps them.
func definitions(p *plan.Pipeline) map[string][]byte {
	out := map[string][]byte{}
	put := func(name string, d plan.Definition) {
		out[name], _ = json.Marshal(d.Texts()) // texts by name always have a form
	}
	for _, t := range p.Tables {
		put("table "+t.Name, t.Definition)
	}
	for _, f := range p.Flows {
		put("flow "+f.Name, f.Definition)
	}
	for _, s := range p.Sinks {
		put("sink "+s.Name, s.Definition)
	}
	return out
}

// Definitions is what the store knows of the definitions it was last run with.
func (d *Daemon) Definitions() (json.RawMessage, error) { return Definitions(d.store) }

// Definitions is what a store knows of the definitions it was last run with, for DiffOf.
func Definitions(store *state.Store) (json.RawMessage, error) {
	stored, err := store.Stored()
	if err != nil {
		return nil, err
	}
	return json.Marshal(stored)
}

// DiffOf is Diff with what Definitions gave.
func DiffOf(p *plan.Pipeline, definitions json.RawMessage) ([]Edit, error) {
	var stored state.Stored
	if len(definitions) > 0 {
		if err := json.Unmarshal(definitions, &stored); err != nil {
			return nil, fault.New(fault.DaemonAnswerMalformed, "the definitions that the store was last run with cannot be read").Because(err)
		}
	}
	return Diff(p, stored), nil
}
