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
	Refresh     map[string]bool // tables and sinks, as target names them; nil with a nil FullRefresh is all
	FullRefresh map[string]bool
	All         bool                    // full refresh of everything
	AcceptLoss  bool                    // full refreshes go on without what topics do not hold any more (FR-O1)
	Overrides   map[string]*plan.Window // of a triggered run: other predicates of REPLACE WHERE flows, by flow (PO-01)
}

// Select resolves names of tables and sinks: those to refresh, and those to empty and compute anew. Of a sink only the checkpoints of
// its flows are reset (FR-10).
func Select(p *plan.Pipeline, refresh, full []string, all bool) (s Selection, err error) {
	if all && len(refresh)+len(full) > 0 {
		return s, fault.New(fault.ConflictingRefresh, "--full-refresh-all goes with neither --refresh nor --full-refresh")
	}
	s.All = all
	if s.Refresh, err = targetsNamed(p.Tables, p.Sinks, refresh); err != nil {
		return s, err
	}
	if s.FullRefresh, err = targetsNamed(p.Tables, p.Sinks, full); err != nil {
		return s, err
	}
	for t := range s.Refresh {
		if s.FullRefresh[t] {
			return s, fault.New(fault.ConflictingRefresh, "%s is named by --refresh and by --full-refresh", t)
		}
	}
	return s, nil
}

// target names what a flow writes, table or sink, as definitions do.
func target(f *plan.Flow) string {
	if f.Sink != nil {
		return plan.TargetSink + f.Sink.Name
	}
	return plan.TargetTable + f.Table.Name
}

func targetsNamed(tables []*plan.Table, sinks []*plan.Sink, names []string) (map[string]bool, error) {
	if len(names) == 0 {
		return nil, nil
	}
	out := map[string]bool{}
	for _, name := range names {
		found, err := targetNamed(tables, sinks, strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		out[found] = true
	}
	return out, nil
}

// targetNamed finds a table by its whole name or the end of it, and a sink by its name.
func targetNamed(tables []*plan.Table, sinks []*plan.Sink, name string) (string, error) {
	var found []string
	lower := strings.ToLower(name)
	for _, t := range tables {
		switch {
		case t.Name == lower:
			return plan.TargetTable + t.Name, nil
		case strings.HasSuffix(t.Name, "."+lower):
			found = append(found, plan.TargetTable+t.Name)
		}
	}
	for _, s := range sinks {
		if strings.EqualFold(s.Name, name) {
			found = append(found, plan.TargetSink+s.Name)
		}
	}
	switch len(found) {
	case 0:
		what := "table"
		if len(sinks) > 0 {
			what = "table or sink"
		}
		return "", fault.New(fault.TableNotFound, "the pipeline has no %s %q", what, name)
	case 1:
		return found[0], nil
	}
	return "", fault.New(fault.TableNotFound, "%q may be %s", name, strings.Join(found, " or ")).WithHint("write the table's whole name")
}

// tableNamed is the table that a name means, as targetNamed has it.
func tableNamed(p *plan.Pipeline, name string) (*plan.Table, error) {
	found, err := targetNamed(p.Tables, nil, name)
	if err != nil {
		return nil, err
	}
	return p.Tables[slices.IndexFunc(p.Tables, func(t *plan.Table) bool { return plan.TargetTable+t.Name == found })], nil
}

// excluded are the flows into tables and sinks that are not selected.
func (s Selection) excluded(p *plan.Pipeline) map[string]bool {
	if s.All || s.Refresh == nil && s.FullRefresh == nil {
		return nil
	}
	out := map[string]bool{}
	for _, f := range p.Flows {
		about := f
		if of := f.Input.Flow; of != nil { // what a flow refuses is sent when it runs
			about = of
		}
		if !s.Refresh[target(about)] && !s.FullRefresh[target(about)] {
			out[f.Name] = true
		}
	}
	return out
}

// resets is what begins anew: tables with the flows into them, and flows alone, whose targets keep what they have.
type resets struct {
	tables, flows []string
	renewed       []string // those of the tables that keep their rows until they are computed anew (FR-02)
	ordered       []string // those of them for which nobody had ordered it before
	names         []string // of tables and sinks, as target names them, for the event
}

// action is what the event log calls it.
func (r *resets) action() string {
	if len(r.names) == 0 {
		return "reset checkpoint"
	}
	return "full refresh"
}

// resetsOf is what a selection resets. A table that must not be reset is left out of a full refresh of everything (FR-06), and refused when it is named (FR-05).
func (d *Daemon) resetsOf(s Selection) (r resets, err error) {
	kept := map[*plan.Table]bool{}
	for _, t := range d.Plan.Tables {
		if !s.All && !s.FullRefresh[plan.TargetTable+t.Name] {
			continue
		}
		if !t.ResetAllowed {
			if s.All { // FR-O5
				d.emit(&eventlog.UpdateWarning{Err: fault.New(fault.TableNotResettable, "table %s is left out of the full refresh: it has pipelines.reset.allowed = false", t.Display)})
				kept[t] = true
				continue
			}
			return r, fault.New(fault.TableNotResettable, "table %s must not be reset", t.Display).WithHint("it has pipelines.reset.allowed = false")
		}
		r.tables, r.names = append(r.tables, t.Name), append(r.names, t.Name)
		if t.Replaced {
			r.renewed = append(r.renewed, t.Name)
		}
	}
	for _, o := range d.Plan.Sinks {
		if s.FullRefresh[plan.TargetSink+o.Name] {
			r.names = append(r.names, plan.TargetSink+o.Name)
		}
	}
	for _, f := range d.Plan.Flows {
		if s.FullRefresh[target(f)] || s.All && !kept[f.Table] && f.Input.Flow == nil {
			r.flows = append(r.flows, f.Name) // FR-10: of a sink the checkpoints
		}
	}
	return r, nil
}

// reset does the full refreshes that were asked for at the start, before any table is opened (FR-18).
func (d *Daemon) reset(ctx context.Context) error {
	if !d.Select.All && len(d.Select.FullRefresh) == 0 {
		return nil
	}
	r, err := d.resetsOf(d.Select)
	if err != nil {
		return err
	}
	if err := d.repeatable(ctx, r, d.Select.AcceptLoss); err != nil {
		return err
	}
	if err := d.warnReaders(r.tables, r.flows); err != nil {
		return err
	}
	d.emit(&eventlog.UserAction{Action: r.action(), Names: r.names})
	if d.ordered, err = d.unordered(r.renewed); err != nil {
		return err
	}
	return d.store.Reset(r.tables, r.flows, r.renewed...)
}

// warnReaders says which flows stop because a table that they have read begins anew and they do not (D-28): their next run is where
// they stop, which may be days from now.
func (d *Daemon) warnReaders(tables, flows []string) error {
	for _, f := range d.Plan.Flows {
		t := f.Input.Table
		if t == nil || !slices.Contains(tables, t.Name) || slices.Contains(flows, f.Name) {
			continue
		}
		if stored, err := d.store.OpenTable(t.Name); err != nil || stored != nil && stored.KeepsReaders(t.Fields) {
			if err != nil {
				return err
			}
			continue
		}
		s, err := d.store.Flow(f.Name)
		if err != nil {
			return err
		}
		if _, read := s.Position().Find(t.Name); !read {
			continue
		}
		d.emit(&eventlog.FlowWarning{Flow: f.Name, Err: choices(f,
			fault.New(fault.SourceReset, "table %s is fully refreshed, and the flow, which has read it, is not: it stops when it runs next", t.Display))})
	}
	return nil
}

// choices gives e, a SOURCE_RESET, what can be done for the flow (D-28).
func choices(f *plan.Flow, e *fault.Error) *fault.Error {
	if f.Sink != nil {
		return e.WithHint("`%s` makes the flow send the sink all that the table has, behind what was sent before; a full refresh of the sink %s does the same", resetCheckpoint(f.Name), f.Sink.Name)
	}
	return e.WithHint("`processor refresh --full %s` computes what it writes anew; `%s` makes it read all that the table has and keeps the rows that it has written", f.Table.Name, resetCheckpoint(f.Name))
}

// withChoices is an error of the flow, a SOURCE_RESET with what can be done.
func withChoices(f *plan.Flow, err error) error {
	if !fault.Of(err, fault.SourceReset) {
		return err
	}
	own := *fault.From(err) // others may hold it
	return choices(f, &own)
}

// repeatable refuses a reset of flows that would lose what topics or tables do not hold any more, and says what that is; a flow that
// may lose records of topics only warns, and so do all when the loss is accepted (FR-O1, D-6).
func (d *Daemon) repeatable(ctx context.Context, r resets, accepted bool) error {
	var problems fault.List
	for _, f := range d.Plan.Flows {
		if !slices.Contains(r.flows, f.Name) {
			continue
		}
		lost, allowed, err := d.unrepeatable(ctx, f, r.tables)
		switch {
		case err != nil:
			return err
		case lost != nil && !allowed && !(accepted && f.Input.Kind == plan.FromKafka):
			problems = append(problems, lost.WithDetail("flow %s", f.Name))
		case lost != nil:
			lost.Hint = "" // what it says is done
			d.emit(&eventlog.FlowWarning{Flow: f.Name, Err: lost})
		}
	}
	return problems.Err()
}

// unrepeatable says what of a flow's input is gone since the flow read it, and whether that may be. reset are tables that begin anew, too.
func (d *Daemon) unrepeatable(ctx context.Context, f *plan.Flow, reset []string) (lost *fault.Error, allowed bool, err error) {
	if f.Input.Kind == plan.FromTable && !slices.Contains(reset, f.Input.Table.Name) {
		t, err := d.store.OpenTable(f.Input.Table.Name)
		if t == nil || err != nil {
			return nil, false, err
		}
		return t.Trimmed(), false, nil
	}
	if f.Input.Kind != plan.FromKafka {
		return nil, false, nil
	}
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
