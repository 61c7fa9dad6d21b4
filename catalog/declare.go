package catalog

import (
	"maps"
	"slices"
	"strings"

	"sluice/batch"
	"sluice/fault"
	"sluice/option"
	"sluice/syntax"
)

// declare takes one statement. Flows of CREATE FLOW wait until all targets are known.
func (b *builder) declare(s syntax.Statement) {
	switch s := s.(type) {
	case *syntax.CreateTable:
		b.table(s)
	case *syntax.CreateSink:
		b.sink(s)
	case *syntax.CreateFlow:
		b.created = append(b.created, s)
	case *syntax.CreateView:
		b.view(s)
	case *syntax.Refresh:
		b.report(fault.NoRefresh, s.Pos, "REFRESH %s is a command, not a definition", Show(s.Name)).
			WithHint("use `processor run --refresh`")
	case *syntax.Alter:
		b.report(fault.NoAlter, s.Pos, "ALTER of %s cannot stand in a definition file", Show(s.Name)).WithHint("change the CREATE statement")
	case *syntax.SelectStatement:
		b.report(fault.NoQueryStatement, s.Query.Pos, "a query alone does nothing in a pipeline").
			WithHint("write it behind CREATE FLOW ... AS INSERT INTO, or run it with `processor query`")
	}
}

// view refuses a view by name, and remembers it so that nobody is told that it does not exist.
func (b *builder) view(s *syntax.CreateView) {
	b.views[b.Spec.identity(s.Name)] = true
	const hint = "use a streaming table"
	switch name := Show(s.Name); {
	case s.Materialized:
		b.report(fault.NoMaterializedView, s.Pos, "the materialized view %s is not supported", name).WithHint(hint)
	case s.Temporary:
		b.report(fault.NoTemporaryView, s.Pos, "the temporary view %s is not supported", name).WithHint("use WITH inside the query")
	default:
		b.report(fault.NoView, s.Pos, "the view %s is not supported", name).WithHint(hint)
	}
}

func (b *builder) table(s *syntax.CreateTable) {
	if s.Managed {
		b.report(fault.NoManagedTable, s.Pos, "the table %s is not a streaming table", Show(s.Name)).WithHint("write CREATE STREAMING TABLE")
	}
	if s.Private {
		b.report(fault.NoPrivateTable, s.Pos, "PRIVATE is not supported; every table of a pipeline can be queried")
	}
	id := b.Spec.identity(s.Name)
	t := &Table{Name: id, Display: Show(s.Name), Decl: s, ResetAllowed: true}
	if strings.HasSuffix(id, QuarantineSuffix) {
		b.report(fault.ReservedTable, s.Name.Pos, "the table %s has a name that is kept for records in quarantine", t.Display).
			WithHint("choose a name that does not end in %s", QuarantineSuffix)
	}
	b.columns(t)
	b.expectations(t)
	b.clauses(t)
	if first, twice := b.tables[id]; twice {
		b.report(fault.DuplicateOutput, s.Name.Pos, "the table %s is declared twice", t.Display).
			WithDetail("first at %s", first.Decl.Name.Pos)
		return
	}
	b.tables[id] = t
	b.Tables = append(b.Tables, t)
	if s.Flow != nil {
		b.inlineFlow(t)
	}
}

// inlineFlow adds the flow inside CREATE STREAMING TABLE, which is called by the table's last part (D-9).
func (b *builder) inlineFlow(t *Table) {
	name := last(t.Decl.Name)
	f := &Flow{Name: name.Text, Comment: t.Decl.Clauses.Comment, Pos: t.Decl.Name.Pos, Body: t.Decl.Flow, Table: t}
	if !plainName.MatchString(f.Name) {
		b.report(fault.InvalidIdentifier, name.Pos, "the flow of table %s would be called %q", t.Display, f.Name).
			WithHint("give it a name of letters, digits, _ and - with CREATE FLOW")
	}
	b.addFlow(f)
}

func (b *builder) addFlow(f *Flow) {
	if first, twice := b.flows[key(f.Name)]; twice {
		b.report(fault.DuplicateFlow, f.Pos, "two flows are called %s", f.Name).WithDetail("first at %s", first.Pos).
			WithHint("an unnamed flow is called by its table's last part; name it with CREATE FLOW")
	} else {
		b.flows[key(f.Name)] = f
	}
	b.Flows = append(b.Flows, f)
	switch {
	case f.Table != nil:
		f.Table.Flows = append(f.Table.Flows, f)
	case f.Sink != nil:
		f.Sink.Flows = append(f.Sink.Flows, f)
	}
}

// createFlow adds the flow of a CREATE FLOW statement and finds its target (D-60).
func (b *builder) createFlow(s *syntax.CreateFlow) {
	name, err := simpleName(s.Name, "flow")
	if err != nil {
		b.Problems = append(b.Problems, err)
		name = last(s.Name).Text
	}
	f := &Flow{Name: name, Comment: s.Comment, Pos: s.Name.Pos, Body: &s.Body}
	if id := b.Spec.identity(s.Target); !b.findTarget(f, s, id) && !b.views[id] {
		b.noTarget(f, s)
	}
	b.addFlow(f)
}

// findTarget sets the table or the sink that s names.
func (b *builder) findTarget(f *Flow, s *syntax.CreateFlow, id string) bool {
	if len(s.Target.Parts) == 1 {
		f.Sink = b.sinks[key(s.Target.Parts[0].Text)]
	}
	if f.Sink == nil && !s.IntoSink {
		f.Table = b.tables[id]
	}
	return f.Sink != nil || f.Table != nil
}

func (b *builder) noTarget(f *Flow, s *syntax.CreateFlow) {
	what := "sink"
	var candidates []string
	for _, sink := range b.Sinks {
		candidates = append(candidates, sink.Name)
	}
	if !s.IntoSink {
		what = "table or sink"
		candidates = append(candidates, b.tableNames()...)
	}
	e := fault.New(fault.TargetNotInPipeline, "the flow %s writes into %s, but the pipeline declares no %s of that name", f.Name, Show(s.Target), what).At(s.Target.Pos)
	b.missing(suggest(e, last(s.Target).Text, candidates, "declare it with CREATE STREAMING TABLE or CREATE SINK"))
}

func (b *builder) sink(s *syntax.CreateSink) {
	name, err := simpleName(s.Name, "sink")
	if err != nil {
		b.Problems = append(b.Problems, err)
		return
	}
	sink := &Sink{Name: name, Decl: s, Format: strings.ToLower(s.Format.Text)}
	if first, twice := b.sinks[key(name)]; twice {
		b.report(fault.DuplicateOutput, s.Name.Pos, "the sink %s is declared twice", name).WithDetail("first at %s", first.Decl.Name.Pos)
		return
	}
	b.sinks[key(name)] = sink
	b.Sinks = append(b.Sinks, sink)
	format, ok := b.Connectors.Sinks[sink.Format]
	if !ok {
		names := slices.Sorted(maps.Keys(b.Connectors.Sinks))
		e := b.report(fault.UnknownSinkFormat, s.Format.Pos, "no sink format %q", s.Format.Text)
		suggest(e, s.Format.Text, names, "the formats are "+strings.Join(names, ", "))
		return
	}
	values, problems := format.Options.Parse("sink format "+sink.Format, given(s.Options), s.Name.Pos)
	if len(problems) == 0 && format.Check != nil {
		problems = format.Check(values, Use{Pos: s.Name.Pos, Servers: b.Spec.Servers()})
	}
	sink.Options = values
	b.Problems = append(b.Problems, problems...)
}

// outputNames refuses a table and a sink of one name: INSERT INTO could mean either.
func (b *builder) outputNames() {
	for _, s := range b.Sinks {
		if t := b.tables[b.Spec.identity(s.Decl.Name)]; t != nil {
			b.report(fault.DuplicateOutput, s.Decl.Name.Pos, "%s is a sink and a table", s.Name).WithDetail("the table stands at %s", t.Decl.Name.Pos)
		}
	}
}

func given(options []syntax.Option) []option.Given {
	out := make([]option.Given, len(options))
	for i, o := range options {
		out[i] = option.Given{Name: o.Key, Value: o.Value, Secret: o.Secret, Pos: o.Pos}
	}
	return out
}

// columns resolves the declared columns.
func (b *builder) columns(t *Table) {
	for _, c := range t.Decl.Columns {
		b.columnFeatures(t, c)
	}
	fields, problems := syntax.Fields(t.Decl.Columns)
	b.Problems = append(b.Problems, problems...)
	if len(problems) > 0 {
		return
	}
	t.Columns = fields
	seen := map[string]bool{}
	for i, c := range t.Decl.Columns {
		name := c.Name.Text
		switch typ := fields[i].Type; {
		case IsReserved(name):
			b.report(fault.ReservedColumn, c.Pos, "the column name %s is reserved", name)
		case seen[key(name)]:
			b.report(fault.ColumnAlreadyExists, c.Pos, "two columns of %s differ in case only: %s", t.Display, name)
		case typ.Kind == batch.Void || typ.Kind == batch.Interval:
			b.report(fault.UntypedColumn, c.Pos, "the column %s of %s is %s, which cannot be stored", name, t.Display, typ)
		}
		seen[key(name)] = true
	}
}

// columnFeatures refuses what a column may not have yet.
func (b *builder) columnFeatures(t *Table, c syntax.ColumnDef) {
	column := "the column " + c.Name.Text + " of " + t.Display
	if c.Identity {
		b.report(fault.NoIdentityColumn, c.Pos, "%s is an identity column", column)
	} else if c.Generated != nil {
		b.report(fault.NoGeneratedColumn, c.Pos, "%s is a generated column", column).WithHint("put the expression into the query")
	}
	if c.Default != nil {
		b.report(fault.NoDefaultColumn, c.Pos, "%s has a DEFAULT", column).WithHint("use coalesce in the query")
	}
	for _, k := range c.Constraints {
		b.report(fault.NoTableConstraint, k.Pos, "%s has the constraint %s", column, k.Text).WithHint(constraintHint)
	}
	if c.Mask != nil {
		b.report(fault.NoColumnMask, c.Pos, "%s has a MASK", column)
	}
}

// expectations checks names only; plan compiles the conditions.
func (b *builder) expectations(t *Table) {
	seen := map[string]bool{}
	for _, e := range t.Decl.Expectations {
		if seen[key(e.Name.Text)] {
			b.report(fault.DuplicateExpectation, e.Pos, "the table %s has the expectation %s twice", t.Display, e.Name.Text)
		}
		seen[key(e.Name.Text)] = true
	}
	for _, c := range t.Decl.Constraints {
		b.report(fault.NoTableConstraint, c.Pos, "the table %s has the constraint %s", t.Display, c.Text).
			WithHint(constraintHint)
	}
}

const constraintHint = "REPLACE USING names the key; EXPECT checks values"
