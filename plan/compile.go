package plan

import (
	"slices"
	"strings"

	"sluice/batch"
	"sluice/catalog"
	"sluice/eval/dialect"
	"sluice/fault"
	"sluice/syntax"
)

// compile writes the statement of a flow and adds the flow to the pipeline.
func (p *planner) compile(f *flow) {
	decl := f.decl
	out := &Flow{
		Name: decl.Name, Comment: decl.Comment, Pos: decl.Pos, Once: decl.Body.Once,
		Text: p.spec.Excerpt(decl.Body.Query.Pos, decl.Body.Query.End), Fingerprint: flowFingerprint(decl),
		DependsOn: flowNames(decl.DependsOn), Upstream: flowNames(decl.Upstream()),
	}
	projection, ok := p.project(f, out)
	if !ok {
		return
	}
	out.Definition = p.definition(decl)
	query, problems := p.statement(f, out, projection)
	for _, e := range problems {
		if !e.Pos.IsValid() {
			e.Pos = decl.Body.Query.Pos
		}
	}
	p.problems = append(p.problems, problems...)
	if len(problems) > 0 {
		return
	}
	if out.Query = query; out.Window != nil {
		out.Input, out.Lookups = batchInput(decl), out.Window.Lookups
	} else {
		p.reads(f, out, query)
	}
	out.Secrets = p.secrets(f, out)
	if projection.Sequence != nil {
		p.sequence(decl, p.tables[decl.Table], query.Sequence)
	}
	p.Flows = append(p.Flows, out)
	if decl.Letters != nil {
		p.sendLetters(out, *decl.Letters)
	}
}

// statement compiles the query of a flow.
func (p *planner) statement(f *flow, out *Flow, projection dialect.Projection) (query *dialect.Compiled, problems fault.List) {
	if !batchFlow(f.decl) {
		return f.analysis.Compile(projection)
	}
	if out.Window, problems = p.window(f, out, projection); len(problems) > 0 {
		return nil, problems
	}
	return out.Window.Query, nil
}

// project decides what the flow writes of its query, and checks that its target takes it.
func (p *planner) project(f *flow, out *Flow) (dialect.Projection, bool) {
	decl, before := f.decl, len(p.problems)
	projection := dialect.Projection{Row: true}
	switch {
	case decl.Sink != nil:
		out.Sink = p.sinks[decl.Sink]
		projection.Columns = intoSink(f.analysis.Output)
		p.sinkColumns(decl, f.analysis.Output)
	case decl.Table != nil && len(p.tables[decl.Table].Fields) > 0:
		t := p.tables[decl.Table]
		out.Table = t.Table
		projection.Columns = p.intoTable(decl, f.analysis.Output, t)
		out.Checks, projection.Checks = checks(decl.Table)
		if decl.Body.Kind == syntax.ReplaceUsing {
			p.keys(f, t, projection.Columns)
			projection.Sequence = decl.Body.Sequence[0]
			out.SequenceBy = syntax.PrintExpr(projection.Sequence)
		}
	default:
		return projection, false // the target is not known; that has been reported
	}
	return projection, len(p.problems) == before
}

func flowNames(flows []*catalog.Flow) []string {
	var out []string
	for _, f := range flows {
		out = append(out, f.Name)
	}
	return out
}

// checks are the expectations of a table, as data and as conditions.
func checks(t *catalog.Table) (out []Check, conditions []syntax.Expr) {
	actions := map[string]Action{"warn": Warn, "drop": DropRow, "fail": FailUpdate}
	for _, e := range t.Decl.Expectations {
		out = append(out, Check{Name: e.Name.Text, Action: actions[e.Action], SQL: syntax.PrintExpr(e.Expr)})
		conditions = append(conditions, e.Expr)
	}
	return out, conditions
}

// keys finds the key columns of a REPLACE USING flow in its table (RU-12, RU-O4).
func (p *planner) keys(flow *flow, t *table, targets []dialect.Target) {
	f := flow.decl
	idents := slices.Clone(f.Body.Keys)
	slices.SortStableFunc(idents, func(a, b syntax.Ident) int { return strings.Compare(fold(a.Text), fold(b.Text)) })
	t.Keys = t.Keys[:0]
	for _, k := range idents {
		at := find(t.Fields, k.Text)
		if at < 0 || targets[at].From < 0 || k.Quoted && t.Fields[at].Name != k.Text { // backticks match exactly (D-9)
			e := p.report(fault.ReplaceKeyNotFound, k.Pos, "the flow %s replaces by %s, which its query does not give", f.Name, k.Text)
			nearest(e, k.Text, flow.analysis.Output)
			continue
		}
		if typ := t.Fields[at].Type; !typ.Orderable() {
			p.report(fault.ReplaceKeyNotOrderable, k.Pos, "the key column %s is %s, whose values have no order", k.Text, typ).
				WithHint("use a column of another type, or a text made of it")
		}
		t.Keys = append(t.Keys, at)
	}
	p.keyComplete(f, t)
}

// sequence checks the type of SEQUENCE BY, and that all flows into a table agree on it (D-13).
func (p *planner) sequence(f *catalog.Flow, t *table, typ batch.Type) {
	at := f.Body.Sequence[0].Position()
	switch {
	case typ.Kind == batch.Void || !typ.Orderable():
		p.report(fault.ReplaceSequenceType, at, "the sequence of flow %s is %s, whose values have no order", f.Name, typ)
	case t.Sequence.Kind != batch.Void && !t.Sequence.Equal(typ):
		p.report(fault.ReplaceKeysDiffer, at, "the sequence of flow %s is %s, and %s in another flow into %s", f.Name, typ, t.Sequence, t.Display).
			WithHint("CAST one of them (D-13)")
	case t.Sequence.Kind == batch.Void && hasText(typ):
		is := map[bool]string{true: "is", false: "has"}[typ.Kind == batch.String]
		p.Warnings = append(p.Warnings, Warning{at, "the sequence of flow " + f.Name + " " + is + " text, which compares byte by byte: '10' comes before '9'"})
	}
	t.Sequence = typ
}

// hasText reports whether a value of the type is text or has any in it.
func hasText(typ batch.Type) bool {
	return typ.Kind == batch.String || slices.ContainsFunc(typ.Fields, func(f batch.Field) bool { return hasText(f.Type) })
}

// sinkColumns checks that the columns a sink's options name are in the projection (D-44, D-45).
func (p *planner) sinkColumns(f *catalog.Flow, output []batch.Field) {
	for _, name := range []string{"keys", "sequence"} {
		g, ok := f.Sink.Options.Given(name)
		if !ok {
			continue
		}
		for _, column := range strings.Split(g.Value, ",") {
			if column = strings.TrimSpace(column); column != "" && find(output, column) < 0 {
				e := p.report(fault.SinkColumnNotFound, f.Body.Query.Pos, "the sink %s has %s = %s, but the flow %s gives no column %s", f.Sink.Name, name, g.Value, f.Name, column)
				nearest(e, column, output)
			}
		}
	}
}

// readsInput reports whether the query makes use of the flow's input, which may stand in a part that is never asked for.
func (p *planner) readsInput(f *flow) bool {
	if slices.ContainsFunc(f.analysis.Reads, f.scope.isInput) {
		return true
	}
	p.report(fault.UnusedSource, f.decl.Input.Ref.Position(), "the query of flow %s names %s and makes no use of it", f.decl.Name, f.scope.input.Name)
	return false
}

// reads fills in what the flow's statement reads, with the input in front.
func (p *planner) reads(f *flow, out *Flow, query *dialect.Compiled) {
	i := slices.IndexFunc(query.Reads, f.scope.isInput)
	reads := slices.Clone(query.Reads)
	input := reads[i]
	query.Reads = slices.Insert(slices.Delete(reads, i, i+1), 0, input)
	for i, r := range query.Reads[1:] {
		out.Lookups = append(out.Lookups, Lookup{Table: f.scope.lookups[r.Relation], Read: i + 1})
	}
	out.Input = p.input(f.decl, f.decl.Input)
	out.Input.Columns = f.scope.columns(input)
}

// input is what a flow reads row by row, or a source of a REPLACE WHERE flow.
func (p *planner) input(f *catalog.Flow, read *catalog.Read) Input {
	in := Input{Name: read.Title(), Options: read.Options, Format: read.Format, Schema: read.Schema, Quoted: read.Quoted, Mode: read.Mode, Stream: read.Stream}
	in.Tolerate = p.tolerances(read)
	switch {
	case read.Table != nil && read.Feed:
		in.Kind, in.Table = FromChangeFeed, p.tables[read.Table].Table
		in.InsertsOnly = f.Body.Kind == syntax.ReplaceUsing && read.Table.Keyed()
	case read.Table != nil:
		in.Kind, in.Table = FromTable, p.tables[read.Table].Table
	case read.Function.Source == FromFiles.String():
		in.Kind = FromFiles
	}
	return in
}
