package plan

import (
	"strings"

	"sluice/catalog"
	"sluice/fault"
	"sluice/syntax"
)

// keyComplete holds D-21 as far as it depends on the query: a REPLACE USING flow over the change feed of a keyed table
// must hand the key columns on as they are, since only then a change brings all rows of a key. catalog has compared the
// names.
func (p *planner) keyComplete(f *catalog.Flow, t *table) {
	read := f.Input
	if !read.Feed || !read.Table.Keyed() {
		return
	}
	from := p.tables[read.Table]
	for _, k := range t.Keys {
		target := t.Fields[k]
		at := find(from.Fields, target.Name)
		if at >= 0 && from.Fields[at].Type.Equal(target.Type) && handsOn(f, target.Name) {
			continue
		}
		p.report(fault.FeedNotKeyComplete, read.Ref.Position(), "the flow %s replaces by %s, but does not take it unchanged from %s", f.Name, target.Name, from.Display).
			WithHint("select %s itself, of the same type, straight from STREAM(%s)", target.Name, from.Display)
	}
}

// handsOn reports whether the flow's select list has the input's column of that name, by itself or in a star. What stands behind the input in
// FROM, with a comma or a join, adds columns and repeats rows (LATERAL explode); the key stays what it is.
func handsOn(f *catalog.Flow, column string) bool {
	s, ok := f.Body.Query.Body.(*syntax.Select)
	if !ok || len(f.Body.Query.With) > 0 || len(s.From) == 0 {
		return false
	}
	name, ok := inputName(s.From[0], f.Input.Ref)
	if !ok {
		return false
	}
	for _, item := range s.Items {
		switch e := item.Expr.(type) {
		case *syntax.Star:
			if (e.Qualifier == nil || ofInput(e.Qualifier.Parts, name)) && !listed(e.Except, column) {
				return true
			}
		case *syntax.Column:
			parts := e.Name.Parts
			plain := strings.EqualFold(parts[len(parts)-1].Text, column) && ofInput(parts[:len(parts)-1], name)
			if plain && (item.Alias == nil || strings.EqualFold(item.Alias.Text, column)) {
				return true
			}
		}
	}
	return false
}

// inputName returns what the input is called in a FROM clause that has it by itself or on the left of joins.
func inputName(from, input syntax.TableRef) (string, bool) {
	for {
		if from == input {
			break
		}
		join, ok := from.(*syntax.Join)
		if !ok {
			return "", false
		}
		from = join.Left
	}
	t, ok := input.(*syntax.TableName)
	if !ok {
		return "", false
	}
	if t.Alias != nil {
		return t.Alias.Name.Text, len(t.Alias.Columns) == 0
	}
	return t.Name.Parts[len(t.Name.Parts)-1].Text, true
}

// ofInput reports whether a column's qualifier is none, or the input's name.
func ofInput(qualifier []syntax.Ident, name string) bool {
	return len(qualifier) == 0 || strings.EqualFold(qualifier[len(qualifier)-1].Text, name)
}

func listed(list []syntax.Ident, name string) bool {
	for _, i := range list {
		if strings.EqualFold(i.Text, name) {
			return true
		}
	}
	return false
}
