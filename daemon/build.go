package daemon

import (
	"context"
	"slices"
	"time"

	"sluice/batch"
	"sluice/eventlog"
	"sluice/option"
	"sluice/plan"
	"sluice/state"
)

// build opens the tables, makes the jobs and tells who they are.
func (d *Daemon) build(ctx context.Context) error {
	d.emit(&eventlog.UpdateProgress{State: "SETTING_UP_TABLES"})
	edits, err := d.settle()
	if err != nil {
		return err
	}
	if err := d.openTables(ctx, nil); err != nil {
		return err
	}
	if err := d.openSchedules(); err != nil {
		return err
	}
	d.describe()
	for _, f := range d.Plan.Flows {
		s, err := d.store.Flow(f.Name)
		if err != nil {
			return err
		}
		if of := f.Input.Flow; of != nil {
			other, err := d.store.Flow(of.Name)
			if err != nil {
				return err
			}
			s.SendLettersOf(other)
		}
		j := &job{d: d, plan: f, state: s, brokers: d.monitor(f)}
		j.subscribed = d.subscribe(ctx, j)
		if err := d.announce(j); err != nil {
			return err
		}
		d.jobs = append(d.jobs, j)
	}
	if err := d.findRemoved(); err != nil {
		return err
	}
	d.tellEdits(edits)
	return d.keepDefinitions()
}

// findRemoved finds the flows that the pipeline does not declare any more: what they have in quarantine is shown on (D-62).
func (d *Daemon) findRemoved() error {
	flows, err := d.store.Flows()
	for _, stored := range flows {
		if !slices.ContainsFunc(d.Plan.Flows, func(f *plan.Flow) bool { return f.Name == stored.Name }) {
			d.removed = append(d.removed, stored)
		}
	}
	return err
}

// openTables opens the tables named, all when names is nil. A digest that is new is computed here, before anything runs (D-29).
func (d *Daemon) openTables(ctx context.Context, names []string) error {
	for _, t := range d.Plan.Tables {
		if names != nil && !slices.Contains(names, t.Name) {
			continue
		}
		table, err := d.store.Table(tableSpec(t))
		if err != nil {
			return err
		}
		if err := table.KeepDigest(ctx, t.Digest); err != nil {
			return err
		}
		d.opened.Lock()
		d.tables[t.Name] = table
		d.opened.Unlock()
	}
	return nil
}

// table is an open table of the pipeline.
func (d *Daemon) table(name string) *state.Table {
	d.opened.RLock()
	defer d.opened.RUnlock()
	return d.tables[name]
}

// describe tells what the tables and sinks are (EL-08, FB-12).
func (d *Daemon) describe() {
	for _, t := range d.Plan.Tables {
		e := &eventlog.DatasetDefinition{Dataset: t.Display, DatasetType: "STREAMING_TABLE", Schema: batch.DDL(t.Fields)}
		for _, f := range d.Plan.Flows {
			if f.Table != t {
				continue
			}
			if e.NumFlows++; e.NumFlows == 1 {
				for _, c := range f.Checks {
					e.Expectations = append(e.Expectations, c.Name)
				}
			}
		}
		d.emit(e)
	}
	for _, s := range d.Plan.Sinks {
		e := &eventlog.SinkDefinition{Sink: s.Name, Format: s.Format, Options: map[string]string{}}
		for _, o := range s.Options.All() {
			e.Options[o.Name] = o.Value
		}
		d.emit(e)
	}
}

// tableSpec is a planned table as the store takes it.
func tableSpec(t *plan.Table) state.TableSpec {
	spec := state.TableSpec{Name: t.Name, Fields: t.Fields, Keys: t.Keys, Sequence: t.Sequence, Feed: t.Feed, Replaced: t.Replaced, History: state.History(t.History), Fingerprint: t.Fingerprint}
	switch t.Retention {
	case "", "forever":
	case "consumed":
		spec.Retention = state.RetainConsumed
	default:
		spec.Retention = state.RetainFor
		spec.MaxAge = retentionAge(t.Retention)
	}
	return spec
}

// forgotten tells of versions that have left the history of a table (D-27).
func (d *Daemon) forgotten(f state.Forgotten) {
	e := &eventlog.HistoryForgotten{Dataset: f.Table, Before: f.Before, Versions: f.Versions, Files: f.Files, Bytes: f.Bytes}
	if i := slices.IndexFunc(d.Plan.Tables, func(t *plan.Table) bool { return t.Name == f.Table }); i >= 0 {
		e.Dataset = d.Plan.Tables[i].Display
	}
	d.emit(e)
}

// input is the table a flow reads, nil when it reads none.
func (d *Daemon) input(f *plan.Flow) *state.Table {
	if f.Input.Table == nil {
		return nil
	}
	return d.table(f.Input.Table.Name)
}

// subscribe makes a flow a reader of the table it reads (D-41).
func (d *Daemon) subscribe(ctx context.Context, j *job) error {
	table := d.input(j.plan)
	if table == nil {
		return nil
	}
	return table.Subscribe(ctx, j.state, j.plan.Input.Kind == plan.FromChangeFeed)
}

// announce tells what a flow is and where it stands.
func (d *Daemon) announce(j *job) error {
	f, info := j.plan, j.state.Info()
	e := &eventlog.FlowDefinition{Flow: f.Name, Inputs: inputs(f), InputKind: f.Input.Kind.String(), Schema: batch.DDL(f.Query.Columns),
		FlowType: "APPEND", Once: f.Once, DependsOn: f.DependsOn, Query: f.Text, Comment: f.Comment}
	if f.Sink != nil {
		e.SinkTarget = f.Sink.Name
	} else {
		e.Target = f.Table.Display
		switch {
		case f.Window != nil:
			e.FlowType = "REPLACE_WHERE"
		case len(f.Table.Keys) > 0:
			e.FlowType = "REPLACE_USING"
		}
	}
	d.emit(e)
	var last *uint64
	if info.NextBatch > 0 {
		n := info.NextBatch - 1
		last = &n
	}
	if f.Input.Mode == batch.Quarantine {
		if err := j.state.SetQuarantine(f.Quarantine()); err != nil {
			return err
		}
	}
	d.watch.Resume(f.Name, info.Generation, last, concealPosition(option.NewMask(f.Secrets...), info.Position))
	if info.Fingerprint == f.Fingerprint {
		return nil
	}
	return j.state.SetFingerprint(f.Fingerprint)
}

// retentionAge reads sluice.retention; the planner has checked it.
func retentionAge(text string) time.Duration {
	age, _ := option.ParseDuration(text)
	return age
}
