package daemon

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sluice/admin"
	"sluice/batch"
	"sluice/eval"
	"sluice/eval/dialect"
	"sluice/fault"
	"sluice/flow"
	"sluice/replacewhere"
	"sluice/state"
	"sluice/syntax"
)

// update changes rows of a table.
func (x *Executor) update(ctx context.Context, s *syntax.UpdateStatement) (admin.Rows, error) {
	return x.rewrite(ctx, "UPDATE", &s.Target, s.Where, s.Set)
}

// delete removes rows of a table.
func (x *Executor) delete(ctx context.Context, s *syntax.DeleteStatement) (admin.Rows, error) {
	return x.rewrite(ctx, "DELETE", &s.Target, s.Where, nil)
}

func (x *Executor) rewrite(ctx context.Context, kind string, target *syntax.TableName, where syntax.Expr, set []syntax.Assignment) (admin.Rows, error) {
	d, err := x.change(ctx, kind, target.Name, true, func(d *dml) error {
		r := &rewriter{dml: d, target: target, condition: where, set: set}
		return r.run()
	})
	if err != nil {
		return nil, err
	}
	return d.result(), nil
}

// rewriter is UPDATE or DELETE at work. It reads the files that can have a row for which the condition is TRUE, and writes each of them anew.
type rewriter struct {
	*dml
	target    *syntax.TableName
	condition syntax.Expr // nil: every row
	set       []syntax.Assignment

	relation *dialect.Relation // the table
	compiled *dialect.Compiled // gives the rows as they are, the new values of matching ones, places, and the verdict
	columns  []int             // of the table's: those that are set
	placed   bool              // rows have places: the table is an append table
	laid     int               // the column by which rows come sorted; -1: they do not
}

// verdict is the column that says whether a row matches; no column of a table has its name (D-9).
const verdict = "_change_type"

func (r *rewriter) run() error {
	if r.condition != nil {
		r.where = syntax.PrintExpr(r.condition)
	}
	if err := r.assignments(); err != nil {
		return err
	}
	r.placed, r.laid = !r.table.Replaced, -1
	if !r.placed {
		r.laid = r.dml.laid()
	}
	r.relation = &dialect.Relation{Name: r.table.Display, Handle: "_target", Fields: batch.Nullable(r.fields)}
	if r.placed {
		r.relation.Hidden = state.Placed()
	}
	if err := r.compile(); err != nil {
		return err
	}
	files, err := r.touched()
	if err != nil || len(files) == 0 {
		return err
	}
	var rows []state.Rows
	for _, f := range files {
		one := &rewrittenRows{rewriter: r, file: f.ID}
		defer one.close()
		rows = append(rows, one)
	}
	s := r.swap(rows...)
	for _, f := range files {
		s.Remove = append(s.Remove, f.ID)
	}
	return r.commit(s)
}

// commit makes the change, unless no row matches.
func (r *rewriter) commit(s state.Swap) error {
	var kept []state.FileID
	var rows []state.Rows
	for i, file := range s.Rows {
		some, err := file.(*rewrittenRows).matches()
		if err != nil {
			return err
		}
		if some {
			kept, rows = append(kept, s.Remove[i]), append(rows, file)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	s.Remove, s.Rows, r.rewritten = kept, rows, len(kept)
	if r.laid >= 0 {
		if err := r.lie(&s, r.laid); err != nil {
			return err
		}
	}
	_, err := r.edit.Swap(r.ctx, s)
	return err
}

// assignments finds the columns that are set.
func (r *rewriter) assignments() error {
	declared := r.fields[:len(r.table.Fields)]
	var problems fault.List
	for _, a := range r.set {
		last := a.Column.Parts[len(a.Column.Parts)-1]
		at := fieldNamed(declared, last.Text, last.Quoted)
		switch qualified := a.Column.Parts[:len(a.Column.Parts)-1]; {
		case at < 0:
			problems = append(problems, r.noColumn(fault.ColumnNotInTable, last.Text, a.Column.Pos))
		case len(qualified) > 0 && !strings.EqualFold(qualified[len(qualified)-1].Text, r.name().Text):
			problems = append(problems, r.noColumn(fault.ColumnNotInTable, syntax.PrintExpr(&syntax.Column{Name: a.Column}), a.Column.Pos))
		case slices.Contains(r.columns, at):
			problems = append(problems, fault.New(fault.ConflictingSet, "UPDATE sets the column %s twice", last.Text).At(a.Column.Pos))
		}
		r.columns = append(r.columns, at)
	}
	return problems.Err()
}

// name is what the statement calls its table.
func (r *rewriter) name() syntax.Ident {
	if a := r.target.Alias; a != nil {
		return a.Name
	}
	return r.target.Name.Parts[len(r.target.Name.Parts)-1]
}

func ident(name string) syntax.Ident { return syntax.Ident{Text: name, Quoted: true} }

func column(name string) syntax.Expr {
	return &syntax.Column{Name: syntax.Name{Parts: []syntax.Ident{ident(name)}}}
}

// query is: SELECT columns, CASE WHEN verdict THEN new value END ..., verdict FROM (SELECT *, condition AS verdict FROM the table). So the condition is
// computed once for a row, and new values are computed of matching rows alone.
func (r *rewriter) query() *syntax.Query {
	at := r.target.Pos
	condition := r.condition
	if condition == nil {
		condition = &syntax.Literal{Kind: syntax.BoolLiteral, Text: "TRUE", Pos: at}
	}
	is := ident(verdict)
	inner := &syntax.Select{Pos: at, From: []syntax.TableRef{r.target}}
	outer := &syntax.Select{Pos: at}
	names := append(slices.Clone(r.fields), r.relation.Hidden...)
	for _, f := range names {
		inner.Items = append(inner.Items, syntax.SelectItem{Expr: r.qualified(f.Name)})
		outer.Items = append(outer.Items, syntax.SelectItem{Expr: column(f.Name)})
	}
	inner.Items = append(inner.Items, syntax.SelectItem{Expr: condition, Alias: &is})
	for i, a := range r.set {
		value, name := a.Value, ident(fmt.Sprintf("new %d", i))
		if value == nil { // DEFAULT
			value = &syntax.Literal{Kind: syntax.NullLiteral, Pos: a.Column.Pos}
		}
		outer.Items = append(outer.Items, syntax.SelectItem{Alias: &name, Expr: &syntax.Case{Pos: value.Position(), Whens: []syntax.When{{If: column(verdict), Then: value}}}})
	}
	outer.Items = append(outer.Items, syntax.SelectItem{Expr: column(verdict)})
	outer.From = []syntax.TableRef{&syntax.SubqueryRef{Pos: at, Query: &syntax.Query{Pos: at, Body: inner}, Alias: &syntax.Alias{Name: r.name()}}}
	q := &syntax.Query{Pos: at, Body: outer}
	for _, f := range r.relation.Hidden {
		q.OrderBy = append(q.OrderBy, syntax.OrderItem{Expr: column(f.Name)})
	}
	if r.laid >= 0 {
		q.OrderBy = append(q.OrderBy, syntax.OrderItem{Expr: r.afterwards(r.laid)})
	}
	return q
}

// afterwards is a column as it is after the statement.
func (r *rewriter) afterwards(at int) syntax.Expr {
	old := column(r.fields[at].Name)
	i := slices.Index(r.columns, at)
	if i < 0 {
		return old
	}
	value := r.set[i].Value
	if value == nil { // DEFAULT
		value = &syntax.Literal{Kind: syntax.NullLiteral}
	}
	return &syntax.Case{Pos: value.Position(), Whens: []syntax.When{{If: column(verdict), Then: value}}, Else: old}
}

// qualified is a column of the table itself.
func (r *rewriter) qualified(name string) syntax.Expr {
	return &syntax.Column{Name: syntax.Name{Parts: []syntax.Ident{r.name(), ident(name)}}}
}

// Relation implements dialect.Scope: the table of the statement is the one whose rows are given file by file, others are as they are.
func (r *rewriter) Relation(ref syntax.TableRef) (*dialect.Relation, *fault.Error) {
	if ref == syntax.TableRef(r.target) {
		return r.relation, nil
	}
	return r.scope.Relation(ref)
}

// compile writes the statement's query.
func (r *rewriter) compile() error {
	a, problems := dialect.Analyse(r.query(), r, dialect.Options{Zone: r.plan.Zone})
	if err := problems.Err(); err != nil {
		return err
	}
	var targets []dialect.Target
	for i := range r.fields {
		targets = append(targets, dialect.Target{Field: r.relation.Fields[i], From: i})
	}
	next := len(r.fields)
	for _, f := range r.relation.Hidden {
		targets = append(targets, dialect.Target{Field: f, From: next})
		next++
	}
	for _, at := range r.columns {
		if at == r.laid && !a.Output[next].Type.Equal(r.relation.Fields[at].Type) {
			r.laid = -1 // the order of what is stored may be another one
		}
		targets = append(targets, dialect.Target{Field: r.relation.Fields[at], From: next})
		next++
	}
	if out := a.Output[next].Type; out.Kind != batch.Boolean && out.Kind != batch.Void {
		return fault.New(fault.ConditionNotBoolean, "the condition is %s, not BOOLEAN", out).At(r.condition.Position())
	}
	targets = append(targets, dialect.Target{Field: batch.Field{Name: verdict, Type: batch.Of(batch.Boolean)}, From: next})
	var err error
	r.compiled, err = r.dml.compile(a, targets)
	return err
}

// touched are the files that can have a row which matches, as far as the condition compares columns with constants.
func (r *rewriter) touched() ([]state.FileInfo, error) {
	files, err := r.edit.Snapshot().Files(r.table.Name)
	if err != nil {
		return nil, err
	}
	r.files = len(files)
	tree, values, err := r.tree()
	if err != nil || tree == nil {
		return files, err
	}
	return slices.DeleteFunc(files, func(f state.FileInfo) bool { return tree.Over(flow.Statistics(&f), values) == replacewhere.Never }), nil
}

// tree is the condition as the statistics of files can be held against it; nil when it cannot, as with a subquery.
func (r *rewriter) tree() (*replacewhere.Predicate, []replacewhere.Value, error) {
	if r.condition == nil {
		return nil, nil, nil
	}
	all := &syntax.Query{Body: &syntax.Select{Items: []syntax.SelectItem{{Expr: &syntax.Star{}}}, From: []syntax.TableRef{r.target}}}
	a, problems := dialect.Analyse(all, r, dialect.Options{Zone: r.plan.Zone})
	if len(problems) > 0 {
		return nil, nil, nil
	}
	p := dialect.Projection{Where: &dialect.Where{Expr: r.condition, Cluster: -1}}
	for i, f := range r.relation.Fields {
		p.Columns = append(p.Columns, dialect.Target{Field: f, From: i})
		p.Where.Columns = append(p.Where.Columns, i)
	}
	p.Where.Aliases = a.Aliases(p.Columns)
	c, problems := a.Compile(p)
	if len(problems) > 0 {
		return nil, nil, nil
	}
	values, shown, err := flow.Resolve(r.ctx, c.Window, r.engine, r.at)
	if err != nil {
		return nil, nil, err
	}
	r.where = shown
	return c.Window.Tree, values, nil
}

// open reads a file through the statement's query.
func (r *rewriter) open(file state.FileID) (*eval.Rows, error) {
	engine, err := r.engine(r.compiled.Unordered)
	if err != nil {
		return nil, err
	}
	inputs, err := r.inputs(r.compiled.Reads)
	if err != nil {
		return nil, err
	}
	for i, read := range r.compiled.Reads {
		if read.Relation == r.relation {
			inputs[i].Open = func() (eval.Scan, error) {
				if r.placed {
					return r.edit.ScanPlaced(file, read.Columns)
				}
				return r.edit.Snapshot().ScanFiles(r.table.Name, []state.FileID{file}, read.Columns)
			}
		}
	}
	return engine.Query(r.ctx, r.compiled, inputs, r.at)
}
