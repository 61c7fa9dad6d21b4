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
	"sluice/option"
	"sluice/syntax"
)

// insert adds the rows of a query to a table, by position or by name (DM-06).
func (x *Executor) insert(ctx context.Context, s *syntax.InsertStatement) (admin.Rows, error) {
	d, err := x.change(ctx, "INSERT", s.Target, false, func(d *dml) error { return d.insert(s) })
	if err != nil {
		return nil, err
	}
	return d.result(), nil
}

func (d *dml) insert(s *syntax.InsertStatement) error {
	a, err := d.analyse(withDefaults(s.Query))
	if err != nil {
		return err
	}
	targets, problems := d.targets(s, a.Output)
	if err := problems.Err(); err != nil {
		return err
	}
	c, err := d.compile(a, targets)
	if err != nil {
		return err
	}
	by := d.laid()
	if by >= 0 && targets[by].From >= 0 {
		if !a.Output[targets[by].From].Type.Equal(targets[by].Field.Type) {
			by = -1 // the order of what is stored may be another one
		} else if c, err = d.sorted(s, a.Output, targets, targets[by].From); err != nil {
			return err
		}
	}
	engine, err := d.engine(c.Unordered)
	if err != nil {
		return err
	}
	inputs, err := d.inputs(c.Reads)
	if err != nil {
		return err
	}
	rows, err := engine.Query(d.ctx, c, inputs, d.at)
	if err != nil {
		return err
	}
	defer rows.Close()
	swap := d.swap(&insertedRows{d, rows})
	if by >= 0 {
		if err := d.lie(&swap, by); err != nil {
			return err
		}
	}
	_, err = d.edit.Insert(d.ctx, swap)
	return err
}

// sorted is the query with its rows in the order of one of its columns.
func (d *dml) sorted(s *syntax.InsertStatement, output []batch.Field, targets []dialect.Target, by int) (*dialect.Compiled, error) {
	at := s.Query.Pos
	outer := &syntax.Select{Pos: at}
	alias := &syntax.Alias{Name: ident("q")}
	for i := range output {
		name := fmt.Sprint("c", i)
		alias.Columns = append(alias.Columns, ident(name))
		outer.Items = append(outer.Items, syntax.SelectItem{Expr: column(name)})
	}
	outer.From = []syntax.TableRef{&syntax.SubqueryRef{Pos: at, Query: withDefaults(s.Query), Alias: alias}}
	a, err := d.analyse(&syntax.Query{Pos: at, Body: outer, OrderBy: []syntax.OrderItem{{Expr: column(fmt.Sprint("c", by))}}})
	if err != nil {
		return nil, err
	}
	return d.compile(a, targets)
}

// insertedRows counts the rows that come. It is a state.Rows.
type insertedRows struct {
	*dml
	rows *eval.Rows
}

// Next returns the next rows, none at the end.
func (r *insertedRows) Next() (batch.Columns, error) {
	rows, err := r.rows.Next()
	if err != nil || rows.Len == 0 {
		return batch.Columns{}, err
	}
	r.added += int64(rows.Len)
	return rows, r.whole(&rows)
}

// withDefaults has NULL for every DEFAULT that stands alone in VALUES: no column has another default.
func withDefaults(q *syntax.Query) *syntax.Query {
	v, ok := q.Body.(*syntax.Values)
	if !ok {
		return q
	}
	out, values := *q, *v
	values.Rows = slices.Clone(v.Rows)
	for i, row := range values.Rows {
		values.Rows[i] = slices.Clone(row)
		for j, e := range row {
			if c, ok := e.(*syntax.Column); ok && len(c.Name.Parts) == 1 && !c.Name.Parts[0].Quoted && strings.EqualFold(c.Name.Parts[0].Text, "DEFAULT") {
				values.Rows[i][j] = &syntax.Literal{Kind: syntax.NullLiteral, Pos: c.Pos}
			}
		}
	}
	out.Body = &values
	return &out
}

// targets maps the columns of an INSERT to those of its table. Columns that have left the definition are NULL.
func (d *dml) targets(s *syntax.InsertStatement, output []batch.Field) ([]dialect.Target, fault.List) {
	declared := d.fields[:len(d.table.Fields)]
	out := make([]dialect.Target, len(d.fields))
	for i, f := range d.fields {
		out[i] = dialect.Target{Field: f, From: -1}
	}
	var problems fault.List
	switch {
	case s.ByName:
		problems = d.named(s, declared, output, out)
	case s.Columns != nil:
		problems = d.listed(s, declared, output, out)
	case len(output) != len(declared):
		problems = fault.List{d.arity(s, len(output), len(declared)).WithHint("name the columns behind the table, or write BY NAME, to leave some out")}
	default:
		for i := range declared {
			out[i].From = i
		}
	}
	for _, t := range out[:len(declared)] {
		if t.From < 0 && t.Field.NotNull && len(problems) == 0 {
			problems = append(problems, fault.New(fault.CannotFindData, "INSERT has no column %s, which is NOT NULL in table %s", t.Field.Name, d.table.Display).At(s.Query.Pos))
		}
	}
	return out, problems
}

func (d *dml) arity(s *syntax.InsertStatement, have, want int) *fault.Error {
	code := fault.TooFewColumns
	if have > want {
		code = fault.TooManyColumns
	}
	return fault.New(code, "INSERT has %d columns for %d of table %s", have, want, d.table.Display).At(s.Query.Pos)
}

// named maps columns by name (BY NAME).
func (d *dml) named(s *syntax.InsertStatement, declared, output []batch.Field, out []dialect.Target) (problems fault.List) {
	for i, c := range output {
		at := fieldNamed(declared, c.Name, false)
		switch {
		case at < 0:
			problems = append(problems, d.noColumn(fault.ExtraColumns, c.Name, s.Query.Pos))
		case out[at].From >= 0:
			problems = append(problems, fault.New(fault.ColumnAlreadyExists, "INSERT has the column %s twice", c.Name).At(s.Query.Pos))
		default:
			out[at].From = i
		}
	}
	return problems
}

// listed maps columns to those that are listed behind the table.
func (d *dml) listed(s *syntax.InsertStatement, declared, output []batch.Field, out []dialect.Target) (problems fault.List) {
	for i, c := range s.Columns {
		at := fieldNamed(declared, c.Text, c.Quoted)
		switch {
		case at < 0:
			problems = append(problems, d.noColumn(fault.ColumnNotInTable, c.Text, c.Pos))
		case out[at].From >= 0:
			problems = append(problems, fault.New(fault.ColumnAlreadyExists, "INSERT lists the column %s twice", c.Text).At(c.Pos))
		default:
			out[at].From = i
		}
	}
	if len(output) != len(s.Columns) && len(problems) == 0 {
		problems = append(problems, d.arity(s, len(output), len(s.Columns)))
	}
	return problems
}

// noColumn is that the table has no column of a name; no statement adds one (DM-07).
func (d *dml) noColumn(code *fault.Code, name string, at fault.Pos) *fault.Error {
	e := fault.New(code, "the table %s has no column %s", d.table.Display, name).At(at)
	var names []string
	for _, f := range d.table.Fields {
		names = append(names, f.Name)
	}
	if near := option.Nearest(name, names); near != "" {
		return e.WithHint("did you mean %s?", near)
	}
	return e.WithHint("the columns are %s", strings.Join(names, ", "))
}

// fieldNamed is the field that a name means: the one spelt so, else the one that differs in case only, unless the name is quoted; -1 for none (D-9).
func fieldNamed(fields []batch.Field, name string, quoted bool) int {
	found := -1
	for i, f := range fields {
		if f.Name == name {
			return i
		}
		if !quoted && strings.EqualFold(f.Name, name) {
			found = i
		}
	}
	return found
}
