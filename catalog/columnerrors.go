package catalog

import (
	"slices"
	"strings"

	"sluice/batch"
	"sluice/fault"
	"sluice/option"
	"sluice/syntax"
)

// columnErrors reads columnErrors => and finds its columns in the schema: Column.Text is then spelt as there.
func (r *Read) columnErrors() (problems fault.List) {
	g, ok := r.Options.Given(argErrors)
	if !ok {
		return nil
	}
	if g.Secret { // D-54: names of columns are seen everywhere
		return append(problems, fault.New(fault.InvalidOption, "option \"columnErrors\" cannot come from the environment, since such values are kept secret").At(g.Pos))
	}
	at := textPos(r.Ref, g)
	if r.Errors, problems = syntax.ParseColumnErrors(g.Value, at); len(problems) > 0 {
		return problems
	}
	if _, rescued := r.Options.Given("rescuedDataColumn"); rescued {
		problems = append(problems, fault.New(fault.InvalidOption, "what cannot be read goes to rescuedDataColumn, so columnErrors has nothing to do").At(g.Pos).WithHint("choose one"))
	}
	seen := map[string]bool{}
	for i := range r.Errors {
		c := &r.Errors[i].Column
		field, err := r.column(*c)
		switch {
		case err != nil:
			problems = append(problems, err)
		case field.Name == corruptRecord(r.Options):
			problems = append(problems, fault.New(fault.InvalidOption, "the column %s has the text of bad records, and is always readable", batch.QuoteName(field.Name)).At(c.Pos))
		case seen[field.Name]:
			problems = append(problems, fault.New(fault.InvalidOption, "the column %s is named twice", batch.QuoteName(field.Name)).At(c.Pos))
		default:
			seen[field.Name] = true
			c.Text = field.Name
		}
	}
	return problems
}

// column finds a column of the schema (D-9).
func (r *Read) column(name syntax.Ident) (batch.Field, *fault.Error) {
	var names []string
	var folded []batch.Field
	for _, f := range r.Schema {
		if f.Name == name.Text {
			return f, nil
		}
		if names = append(names, f.Name); !name.Quoted && strings.EqualFold(f.Name, name.Text) {
			folded = append(folded, f)
		}
	}
	if len(folded) == 1 {
		return folded[0], nil
	}
	e := fault.New(fault.InvalidOption, "the schema has no column %s", batch.QuoteName(name.Text)).At(name.Pos)
	if near := option.Nearest(name.Text, names); near != "" {
		return batch.Field{}, e.WithHint("did you mean %q?", near)
	}
	return batch.Field{}, e.WithHint("its columns are %s", strings.Join(slices.Clip(names), ", "))
}
