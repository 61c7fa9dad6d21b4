package dialect

import (
	"slices"
	"sort"
	"strings"

	"sluice/batch"
	"sluice/fault"
	"sluice/syntax"
)

// unknownColumn says that a name means nothing here, and what may have been meant.
func unknownColumn(e *syntax.Column, s *scope, lateral []*output) *fault.Error {
	name := written(e.Name.Parts)
	candidates := s.suggestions()
	for _, o := range lateral {
		if isBroken(o.value) {
			continue
		}
		candidates = append(candidates, o.name)
	}
	if len(candidates) == 0 {
		return fault.New(fault.UnresolvedColumnBare, "there is no column %s, and no table to take it from", name).At(e.Pos).
			WithHint("text stands in quotes: '%s'", name)
	}
	err := fault.New(fault.UnresolvedColumn, "there is no column %s", name).At(e.Pos)
	last := e.Name.Parts[len(e.Name.Parts)-1]
	if last.Quoted {
		if i := slices.IndexFunc(candidates, func(c string) bool { return strings.EqualFold(c, last.Text) }); i >= 0 {
			return err.WithHint("names in backticks match exactly; the column is called %s", batch.QuoteName(candidates[i]))
		}
	}
	if near := nearest(last.Text, candidates); len(near) > 0 {
		return err.WithHint("did you mean %s?", strings.Join(near, " or "))
	}
	return err.WithHint("the columns are %s", strings.Join(batchNames(candidates), ", "))
}

func ambiguousName(e *syntax.Column, candidates []*column) *fault.Error {
	var where []string
	for _, c := range candidates {
		name := batch.QuoteName(c.name)
		if c.source != nil {
			name = c.source.relation.Name + "." + name
		}
		where = append(where, name)
	}
	return fault.New(fault.AmbiguousReference, "%s means more than one column", written(e.Name.Parts)).At(e.Pos).
		WithDetail("%s", strings.Join(where, ", ")).WithHint("write the table or its alias in front, or the exact name in backticks")
}

func fieldNotFound(id syntax.Ident, names []string) *fault.Error {
	err := fault.New(fault.FieldNotFound, "there is no field %s", batch.QuoteName(id.Text)).At(id.Pos)
	if near := nearest(id.Text, names); len(near) > 0 {
		return err.WithHint("did you mean %s?", strings.Join(near, " or "))
	}
	return err.WithHint("the fields are %s", strings.Join(batchNames(names), ", "))
}

// written puts the parts of a name together as they may stand in SQL.
func written(parts []syntax.Ident) string {
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = batch.QuoteName(p.Text)
	}
	return strings.Join(names, ".")
}

// batchNames quotes names where they need it, each once.
func batchNames(names []string) []string {
	var out []string
	for _, n := range names {
		if q := batch.QuoteName(n); !slices.Contains(out, q) {
			out = append(out, q)
		}
	}
	return out
}

// nearest returns at most three candidates that differ from name in few letters, the nearest first.
func nearest(name string, candidates []string) []string {
	type near struct {
		name     string
		distance int
	}
	var found []near
	for _, c := range batchNames(candidates) {
		d := distance(strings.ToLower(name), strings.ToLower(strings.Trim(c, "`")))
		if d <= max(2, len(c)/3) && d < len(name) {
			found = append(found, near{c, d})
		}
	}
	sort.SliceStable(found, func(i, j int) bool { return found[i].distance < found[j].distance })
	var out []string
	for _, f := range found[:min(3, len(found))] {
		out = append(out, f.name)
	}
	return out
}

// distance counts the letters to insert, delete, replace or swap with a neighbour to get from a to b.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	rows := make([][]int, len(x)+1)
	for i := range rows {
		rows[i] = make([]int, len(y)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(x); i++ {
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(x)][len(y)]
}
