package daemon

import (
	"context"
	"slices"
	"strings"

	"sluice/eventlog"
	"sluice/fault"
	"sluice/plan"
	sourcekafka "sluice/source/kafka"
)

// Selection is what a run refreshes (FR-16). The zero value is every flow, nothing reset.
type Selection struct {
	Refresh     map[string]bool // tables, by identity; nil with a nil FullRefresh is all
	FullRefresh map[string]bool
	All         bool // full refresh of everything
}

// Select resolves names of tables: those to refresh, and those to empty and compute anew.
func Select(p *plan.Pipeline, refresh, full []string, all bool) (s Selection, err error) {
	if all && len(refresh)+len(full) > 0 {
		return s, fault.New(fault.ConflictingRefresh, "--full-refresh-all goes with neither --refresh nor --full-refresh")
	}
	s.All = all
	if s.Refresh, err = tablesNamed(p, refresh); err != nil {
		return s, err
	}
	if s.FullRefresh, err = tablesNamed(p, full); err != nil {
		return s, err
	}
	for t := range s.Refresh {
		if s.FullRefresh[t] {
			return s, fault.New(fault.ConflictingRefresh, "table %s is named by --refresh and by --full-refresh", t)
		}
	}
	return s, nil
}

func tablesNamed(p *plan.Pipeline, names []string) (map[string]bool, error) {
	if len(names) == 0 {
		return nil, nil
	}
	out := map[string]bool{}
	for _, name := range names {
		name = strings.ToLower(strings.TrimSpace(name))
		found := ""
		for _, t := range p.Tables {
			if t.Name == name || strings.HasSuffix(t.Name, "."+name) {
				found = t.Name
			}
		}
		if found == "" {
			return nil, fault.New(fault.TableNotFound, "the pipeline has no table %q", name)
		}
		out[found] = true
	}
	return out, nil
}

// excluded are the flows into tables and sinks that are not selected.
func (s Selection) excluded(p *plan.Pipeline) map[string]bool {
	if s.All || s.Refresh == nil && s.FullRefresh == nil {
		return nil
	}
	out := map[string]bool{}
	for _, f := range p.Flows {
		if f.Table == nil || !s.Refresh[f.Table.Name] && !s.FullRefresh[f.Table.Name] {
			out[f.Name] = true
		}
	}
	return out
}

// reset does the full refreshes that were asked for, before any table is opened (FR-18).
func (d *Daemon) reset(ctx context.Context) error {
	s := d.Select
	if !s.All && len(s.FullRefresh) == 0 {
		return nil
	}
	var tables, flows []string
	for _, t := range d.Plan.Tables {
		if !s.All && !s.FullRefresh[t.Name] {
			continue
		}
		if !t.ResetAllowed {
			if s.All { // FR-06, FR-O5
				d.emit(&eventlog.UpdateWarning{Err: fault.New(fault.TableNotResettable, "table %s is left out of the full refresh: it has pipelines.reset.allowed = false", t.Display)})
				continue
			}
			return fault.New(fault.TableNotResettable, "table %s must not be reset", t.Display).WithHint("it has pipelines.reset.allowed = false")
		}
		tables = append(tables, t.Name)
		for _, f := range d.Plan.Flows {
			if f.Table == t {
				flows = append(flows, f.Name)
			}
		}
	}
	if s.All {
		for _, f := range d.Plan.Flows {
			if f.Sink != nil {
				flows = append(flows, f.Name) // FR-10
			}
		}
	}
	if err := d.repeatable(ctx, flows); err != nil {
		return err
	}
	d.emit(&eventlog.UserAction{Action: "full refresh", Names: tables})
	return d.store.Reset(tables, flows)
}

// repeatable refuses a full refresh that would lose what topics do not hold any more, and says what that is; a flow that
// may lose data only warns (FR-O1, D-6).
func (d *Daemon) repeatable(ctx context.Context, flows []string) error {
	var problems fault.List
	for _, f := range d.Plan.Flows {
		if f.Input.Kind != plan.FromKafka || !slices.Contains(flows, f.Name) {
			continue
		}
		lost, allowed, err := d.unrepeatable(ctx, f)
		switch {
		case err != nil:
			return err
		case lost != nil && !allowed:
			problems = append(problems, lost.WithDetail("flow %s", f.Name))
		case lost != nil:
			d.emit(&eventlog.FlowWarning{Flow: f.Name, Err: lost})
		}
	}
	return problems.Err()
}

// unrepeatable says what of a flow's input is gone since the flow read it, and whether that may be.
func (d *Daemon) unrepeatable(ctx context.Context, f *plan.Flow) (lost *fault.Error, allowed bool, err error) {
	s, err := d.store.Flow(f.Name)
	if err != nil {
		return nil, false, err
	}
	start, fixed := s.Start()
	if !fixed {
		return nil, false, nil
	}
	in, err := openSource(d.Plan, f, nil, s, nil)
	if err != nil {
		return nil, false, err
	}
	defer in.Close()
	return in.(*sourcekafka.Source).Gone(ctx, start, s.Position())
}
