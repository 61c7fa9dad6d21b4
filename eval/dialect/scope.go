package dialect

import (
	"strings"

	"sluice/batch"
	"sluice/syntax"
)

// column is something a name can mean: a column of a relation, or one of a subquery in FROM.
type column struct {
	name    string
	typ     batch.Type
	notNull bool
	sql     string
	source  *use      // the relation it belongs to, nil for a column of a subquery
	read    string    // its name there, as Read.Columns has it
	output  *output   // the column of the subquery
	table   *derived  // that subquery
	members []*column // of a hidden STRUCT: they exist, the struct itself does not (D-14)
	parent  *column   // the STRUCT that it is a field of
	field   int       // which
	part    *part     // of a document
	merged  []value   // of a column that USING made: what it is made of
}

// use is one mention of a relation in FROM.
type use struct {
	relation *Relation
	alias    string
}

// source is a table in FROM as names see it: its columns and the name in front of them.
type source struct {
	names   []string // catalog, schema and table, or the alias alone
	columns []*column
	hidden  []*column
	partial bool // it is a query whose columns are not all known
}

// scope is what names can mean at some place in a query.
type scope struct {
	outer   *scope // of the query around a subquery
	sources []*source
	using   []*column // columns merged by USING; they hide the two they are made of
	hides   map[*column]bool
	order   []*column        // what * stands for
	reached map[*column]bool // columns of outer scopes that this query uses, when it is a subquery
	pending map[*column]bool // reached of the subquery that is being understood in this scope
	broken  bool             // a table is missing, so an unknown name says nothing
}

// matches reports whether an identifier means the given name (D-9): backticks are exact, other names ignore case.
func matches(id syntax.Ident, name string) bool {
	if id.Quoted {
		return id.Text == name
	}
	return strings.EqualFold(id.Text, name)
}

// pick chooses among names that an identifier can mean: the only one, else the one spelt exactly so. It returns -1 when
// there is none, and -2 when there are several.
func pick(id syntax.Ident, names []string) int {
	found, exact, count, exactCount := -1, -1, 0, 0
	for i, n := range names {
		if !matches(id, n) {
			continue
		}
		found = i
		count++
		if n == id.Text {
			exact = i
			exactCount++
		}
	}
	switch {
	case count <= 1:
		return found
	case exactCount == 1:
		return exact
	}
	return -2
}

// called reports whether parts name the source: its alias, or the last parts of its name.
func (s *source) called(parts []syntax.Ident) bool {
	if len(parts) == 0 || len(parts) > len(s.names) {
		return false
	}
	for i, p := range parts {
		if !matches(p, s.names[len(s.names)-len(parts)+i]) {
			return false
		}
	}
	return true
}

// find looks up parts in this scope alone. It returns the column they mean and how many of them are its name; the rest
// are fields of it. Names with a table in front win over columns with fields, as in Spark.
func (s *scope) find(parts []syntax.Ident) (found *column, used int, ambiguous []*column) {
	for qualifier := min(3, len(parts)-1); qualifier >= 0; qualifier-- {
		var candidates []*column
		if qualifier == 0 {
			candidates = s.visible()
		}
		for _, src := range s.sources {
			if qualifier > 0 && src.called(parts[:qualifier]) {
				candidates = append(append(candidates, src.columns...), src.hidden...)
			}
		}
		names := make([]string, len(candidates))
		for i, c := range candidates {
			names[i] = c.name
		}
		switch i := pick(parts[qualifier], names); i {
		case -1:
		case -2:
			for i, n := range names {
				if matches(parts[qualifier], n) {
					ambiguous = append(ambiguous, candidates[i])
				}
			}
			return nil, 0, ambiguous
		default:
			return candidates[i], qualifier + 1, nil
		}
	}
	return nil, 0, nil
}

// visible are the columns that can be named without their table.
func (s *scope) visible() []*column {
	out := append([]*column(nil), s.using...)
	for _, src := range s.sources {
		for _, c := range append(src.columns[:len(src.columns):len(src.columns)], src.hidden...) {
			if !s.hides[c] {
				out = append(out, c)
			}
		}
	}
	return out
}

// join puts the sources of two sides of a join into one scope.
func (s *scope) join(o *scope) *scope {
	joined := &scope{outer: s.outer, hides: map[*column]bool{}, reached: s.reached, broken: s.broken || o.broken}
	for _, side := range []*scope{s, o} {
		joined.sources = append(joined.sources, side.sources...)
		joined.using = append(joined.using, side.using...)
		joined.order = append(joined.order, side.order...)
		for c := range side.hides {
			joined.hides[c] = true
		}
	}
	return joined
}

// nullable makes every column of the scope one that may be NULL: the side of an outer join that may be missing.
func (s *scope) nullable() {
	for _, c := range s.visible() {
		c.notNull = false
	}
	for _, src := range s.sources {
		for _, c := range src.columns {
			c.notNull = false
		}
	}
}

// suggestions are the names of the columns in scope, for messages.
func (s *scope) suggestions() []string {
	var out []string
	for ; s != nil; s = s.outer {
		for _, c := range s.visible() {
			out = append(out, c.name)
		}
	}
	return out
}
