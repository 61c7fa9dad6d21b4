package plan

import (
	"sluice/batch"
	"sluice/catalog"
	"sluice/eval/dialect"
	"sluice/fault"
	"sluice/syntax"
)

// Build plans what a catalog declares. On problems, the catalog's own included, the pipeline is nil and the list has all
// of them, sorted by position.
func Build(c *catalog.Catalog) (*Pipeline, fault.List) {
	p := &planner{
		Pipeline: header(c.Spec), spec: c.Spec, problems: append(fault.List(nil), c.Problems...),
		tables: map[*catalog.Table]*table{}, sinks: map[*catalog.Sink]*Sink{},
	}
	p.declare(c)
	var flows []*flow
	for _, decl := range c.Flows { // every flow comes after those that write what it reads
		f := &flow{decl: decl}
		flows = append(flows, f)
		if decl.Table != nil {
			p.tables[decl.Table].flows = append(p.tables[decl.Table].flows, f)
		}
		if !decl.Unsound {
			p.analyse(f)
		}
	}
	for _, t := range c.Tables {
		p.resolve(p.tables[t])
	}
	for _, f := range flows {
		if f.analysis != nil {
			p.compile(f)
		}
	}
	for _, t := range c.Tables {
		p.tables[t].Fingerprint, p.tables[t].Definition = tableFingerprint(p.tables[t].Table), tableDefinition(p.tables[t])
	}
	p.schedules(c)
	for _, n := range c.Spec.Unused() {
		p.Warnings = append(p.Warnings, Warning{n.Pos, unused(n.Name)})
	}
	p.hide()
	if len(p.problems) > 0 {
		return nil, tidy(p.problems)
	}
	return p.Pipeline, nil
}

// unused says that a name of configuration does nothing, and which setting may be meant.
func unused(name string) string {
	text := "nothing uses " + name + " of configuration, as ${" + name + "}"
	if near := catalog.Settings.Nearest(name); near != "" {
		text += "; did you mean " + near + "?"
	}
	return text
}

// planner makes one Pipeline.
type planner struct {
	*Pipeline
	spec     *catalog.Spec
	problems fault.List
	tables   map[*catalog.Table]*table
	sinks    map[*catalog.Sink]*Sink
}

// table is a table whose columns may not be known yet.
type table struct {
	*Table
	decl     *catalog.Table
	flows    []*flow // that write it
	resolved bool    // Fields are final; without any they could not be found out
}

// flow is a flow on its way to a plan.
type flow struct {
	decl     *catalog.Flow
	scope    *scope
	analysis *dialect.Analysis // nil when the query is not sound
}

func (p *planner) report(code *fault.Code, at fault.Pos, format string, args ...any) *fault.Error {
	e := fault.New(code, format, args...).At(at)
	p.problems = append(p.problems, e)
	return e
}

// header is what the spec file alone says.
func header(s *catalog.Spec) *Pipeline {
	v := s.Settings
	settings := Settings{
		Listen:          v.String(catalog.SettingListen),
		TokenFile:       v.String(catalog.SettingTokenFile),
		MemoryLimit:     v.Size(catalog.SettingMemoryLimit),
		SyncInterval:    v.Duration(catalog.SettingSyncInterval),
		GracePeriod:     v.Duration(catalog.SettingGracePeriod),
		DrainTimeout:    v.Duration(catalog.SettingDrainTimeout),
		RetryTimeout:    v.Duration(catalog.SettingRetryTimeout),
		RefreshTimeout:  v.Duration(catalog.SettingRefreshTimeout),
		TriggerInterval: v.Duration(catalog.SettingTriggerInterval),
		MaxBatchRows:    int(v.Int(catalog.SettingMaxBatchRows)),
		MaxBatchBytes:   v.Size(catalog.SettingMaxBatchBytes),
		LogFormat:       v.String(catalog.SettingLogFormat),
		LogLevel:        v.String(catalog.SettingLogLevel),
	}
	if settings.TokenFile != "" {
		settings.TokenFile = s.Resolve(settings.TokenFile)
	}
	return &Pipeline{
		Name: s.Name, Spec: s.Path, Dir: s.Dir, Storage: s.Storage, Continuous: s.Continuous,
		Zone: v.String(catalog.SettingZone), Features: s.Features, Servers: s.Servers(), Settings: settings,
		Secrets: s.Secrets(), SecretSettings: v.Secrets(),
	}
}

// declare makes the tables, without columns where the flows decide, and the sinks.
func (p *planner) declare(c *catalog.Catalog) {
	for _, decl := range c.Tables {
		t := &Table{Name: decl.Name, Display: decl.Display, Pos: decl.Decl.Name.Pos, Comment: decl.Decl.Clauses.Comment, ResetAllowed: decl.ResetAllowed, Retention: decl.Retention, History: decl.History, Digest: decl.Digest, Replaced: decl.Replaced(), Schedule: decl.Schedule}
		p.Tables = append(p.Tables, t)
		p.tables[decl] = &table{Table: t, decl: decl}
	}
	for _, decl := range c.Sinks {
		s := &Sink{Name: decl.Name, Format: decl.Format, Options: decl.Options, Comment: decl.Decl.Comment, Pos: decl.Decl.Name.Pos}
		s.Definition = sinkDefinition(s)
		p.Sinks = append(p.Sinks, s)
		p.sinks[decl] = s
	}
}

// analyse types the query of a flow. Once flows are worked off in micro-batches too, so they are held to the same rules as streams; a REPLACE
// WHERE flow is not (RW-07).
func (p *planner) analyse(f *flow) {
	var sound bool
	if f.scope, sound = p.newScope(f.decl); !sound {
		return
	}
	a, problems := dialect.Analyse(f.decl.Body.Query, f.scope, dialect.Options{Zone: p.Zone, Streaming: !batchFlow(f.decl)})
	p.problems = append(p.problems, problems...)
	if len(problems) > 0 || !p.storable(f.decl, a.Output) {
		return
	}
	if f.analysis = a; !batchFlow(f.decl) && !p.readsInput(f) {
		f.analysis = nil
	}
}

// batchFlow reports whether a flow computes its result in one go, not batch by batch.
func batchFlow(f *catalog.Flow) bool { return f.Body.Kind == syntax.ReplaceWhere }

// storable refuses output columns that no table and no sink can take.
func (p *planner) storable(f *catalog.Flow, output []batch.Field) bool {
	before := len(p.problems)
	named := f.Body.ByName || f.Table == nil || len(f.Table.Columns) == 0 // else columns go by position
	seen := map[string]bool{}
	for i, c := range output {
		at := outputPos(f, i, len(output))
		switch {
		case c.Type.Kind == batch.Void:
			p.report(fault.UntypedColumn, at, "the column %s of flow %s is NULL without a type", c.Name, f.Name).WithHint("write CAST(NULL AS type) AS %s", batch.QuoteName(c.Name))
		case c.Type.Kind == batch.Interval:
			p.report(fault.UntypedColumn, at, "the column %s of flow %s is an INTERVAL, which cannot be stored", c.Name, f.Name).WithHint("store a number, or a time made with it")
		case named && f.Table != nil && catalog.IsReserved(c.Name):
			p.report(fault.ReservedColumn, at, "the column name %s is reserved, so the table %s cannot have it", c.Name, f.Table.Display).WithHint("give it another name with AS, or leave it out with * EXCEPT (%s)", c.Name)
		case named && seen[fold(c.Name)]:
			p.report(fault.ColumnAlreadyExists, at, "the query of flow %s has the column %s twice", f.Name, c.Name).WithHint("name one of them with AS")
		}
		seen[fold(c.Name)] = true
	}
	return len(p.problems) == before
}

// outputPos is where output column i of n stands in a flow's query: its place in the select list, or the query.
func outputPos(f *catalog.Flow, i, n int) fault.Pos {
	q := f.Body.Query
	if s, ok := q.Body.(*syntax.Select); ok && len(s.Items) == n {
		for _, item := range s.Items {
			if _, star := item.Expr.(*syntax.Star); star {
				return q.Pos
			}
		}
		return s.Items[i].Expr.Position()
	}
	return q.Pos
}
