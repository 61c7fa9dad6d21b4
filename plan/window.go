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

// Window is the part of its table that a REPLACE WHERE flow computes anew in an update: that of the predicate that it is defined with, or of
// another one for one update (PO-01).
type Window struct {
	Predicate string            // as written
	Query     *dialect.Compiled // the rows, and as the one check of each whether it lies in the window
	Lookups   []Lookup          // the tables that the query reads, as of one moment
	Sources   []Source          // and the sources outside of the pipeline, each up to where it ends when the update begins (RW-O4)

	zone  string
	table *Table
	where dialect.Where
	under func(syntax.Expr) (*Window, fault.List)
}

// Override is the flow's window under another predicate, for one update. The positions of problems are in the text.
func (w *Window) Override(predicate string) (*Window, fault.List) {
	e, problems := syntax.ParseExpr(predicate, fault.Pos{File: "predicate", Line: 1, Column: 1})
	if len(problems) > 0 {
		return nil, problems
	}
	out, problems := w.under(e)
	if len(problems) > 0 {
		return nil, problems
	}
	if out.Query.Window.Random { // PO-O7
		return nil, fault.List{fault.New(fault.OverrideNotSupported, "the predicate %s is another one each time it is looked at", predicate).WithHint("current_date() and its like are fixed for an update; leave rand() out")}
	}
	out.Predicate = predicate
	return out, nil
}

// Kept gives the rows of the table itself, every column that it has, and as the one check of each whether it lies in the window. fields are
// those of the stored table: its columns as they are declared, then those that left the definition.
func (w *Window) Kept(fields []batch.Field) (*dialect.Compiled, error) {
	a, problems := dialect.AllOf(&dialect.Relation{Name: w.table.Display, Handle: "kept", Fields: batch.Nullable(fields)}, dialect.Options{Zone: w.zone})
	if len(problems) > 0 {
		return nil, problems.Err()
	}
	where := w.where
	where.Sorted = false // they are as they were
	projection := dialect.Projection{Where: &where}
	for i, f := range fields {
		projection.Columns = append(projection.Columns, dialect.Target{Field: f, From: i})
	}
	out, problems := a.Compile(projection)
	return out, problems.Err()
}

// window compiles the statement of a REPLACE WHERE flow.
func (p *planner) window(f *flow, out *Flow, projection dialect.Projection) (*Window, fault.List) {
	projection.Row = false
	where := dialect.Where{Aliases: f.analysis.Aliases(projection.Columns), Sorted: true, Cluster: p.cluster(f)}
	for i, t := range projection.Columns {
		if t.From >= 0 { // RW-O6
			where.Columns = append(where.Columns, i)
		}
	}
	var under func(syntax.Expr) (*Window, fault.List)
	under = func(e syntax.Expr) (*Window, fault.List) {
		where, projection := where, projection
		where.Expr, projection.Where = e, &where
		query, problems := f.analysis.Compile(projection)
		if len(problems) > 0 {
			return nil, problems
		}
		where.Cluster = query.Window.Cluster // an override's rows are laid like the others
		w := &Window{Predicate: syntax.PrintExpr(e), Query: query, zone: p.Zone, table: out.Table, where: where, under: under}
		for i, r := range query.Reads {
			if read := f.scope.sources[r.Relation]; read != nil {
				s := Source{Input: p.input(f.decl, read), Read: i, Short: read.Short()}
				s.Columns = f.scope.columns(r)
				w.Sources = append(w.Sources, s)
				continue
			}
			w.Lookups = append(w.Lookups, Lookup{Table: f.scope.lookups[r.Relation], Read: i, Short: short(f, r.Relation)})
		}
		return w, nil
	}
	return under(f.decl.Body.Predicate)
}

// short reports whether a mention of a table says that it may have lost rows of the window.
func short(f *flow, r *dialect.Relation) bool {
	return slices.ContainsFunc(f.decl.Reads, func(read *catalog.Read) bool { return f.scope.relations[read.Ref] == r && read.Short() })
}

// cluster is the column by which the rows of a flow's table are laid, where the table says so.
func (p *planner) cluster(f *flow) int {
	clauses := f.decl.Table.Decl.Clauses
	for _, c := range append(append(clauses.ClusterBy[:0:0], clauses.ClusterBy...), clauses.PartitionedBy...) {
		fields := p.tables[f.decl.Table].Fields
		if at := find(fields, c.Text); at >= 0 && fields[at].Type.Orderable() && !fields[at].Type.IsNested() {
			return at
		}
	}
	return -1
}

// batchInput is how the input of a flow is shown that reads no source row by row.
func batchInput(f *catalog.Flow) Input {
	var names []string
	for _, r := range f.Reads {
		if name := r.Title(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return Input{Kind: FromTables, Name: strings.Join(names, ", ")}
}
