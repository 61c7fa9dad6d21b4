package dialect

import (
	"fmt"

	"sluice/fault"
	"sluice/syntax"
)

// binder is the state of one analysis.
type binder struct {
	catalog  Scope
	opt      Options
	zone     *zone
	problems fault.List
	reported map[string]bool
	aliases  int // tables in FROM so far; each gets a name of its own
	ctes     []*cte
	streams  []*use
	env      *environment

	functions []Function // those that eval computes
	documents []Document
}

// fail reports a problem once and returns the value of the expression it was found in.
func (b *binder) fail(e *fault.Error) value {
	b.report(e)
	return wrong(e.Pos)
}

func (b *binder) report(e *fault.Error) {
	key := e.Error()
	if !b.reported[key] {
		b.reported[key] = true
		b.problems = append(b.problems, e)
	}
}

// alias returns a new name for a table in FROM.
func (b *binder) alias() string {
	b.aliases++
	return fmt.Sprintf("t%d", b.aliases)
}

// frame is a place where expressions stand: what names mean there, and what may be used.
type frame struct {
	*binder
	scope  *scope
	clause string // as messages call it: WHERE, SELECT, an expectation

	preferred []*output // columns of the select list, which names mean before those of tables: in ORDER BY
	lateral   []*output // earlier columns of the select list, which names mean when no table has them
	groups    []value   // expressions of GROUP BY

	aggregates bool        // aggregate functions may stand here
	windows    bool        // window functions may
	alone      bool        // no subquery may: an expectation sees its row and nothing else (EX-03)
	inside     string      // the aggregate or window function around the expression
	parameters []parameter // of the lambdas around it, the innermost first
	stream     *use        // the stream that the rows come from, when they do
}

// within is the frame of the arguments of an aggregate or window function.
func (f *frame) within(function string) *frame {
	g := *f
	g.inside = function
	return &g
}

// name resolves a column or a path into one.
func (f *frame) name(e *syntax.Column) value {
	parts := e.Name.Parts
	if v, ok := f.parameter(e); ok {
		return v
	}
	if v, ok := f.listed(f.preferred, parts, e); ok {
		return v
	}
	lost := false
	for s := f.scope; s != nil; s = s.outer {
		lost = lost || s.broken
		c, used, ambiguous := s.find(parts)
		if ambiguous != nil {
			return f.fail(ambiguousName(e, ambiguous))
		}
		if c != nil {
			f.reach(s, c)
			return f.path(c, parts[used:], e)
		}
		if s == f.scope {
			if v, ok := f.listed(f.lateral, parts, e); ok {
				return v
			}
		}
	}
	if lost {
		return wrong(e.Pos)
	}
	return f.fail(unknownColumn(e, f.scope, f.lateral))
}

// listed resolves a name to a column of the select list.
func (f *frame) listed(outputs []*output, parts []syntax.Ident, e *syntax.Column) (value, bool) {
	names := make([]string, len(outputs))
	for i, o := range outputs {
		names[i] = o.name
	}
	i := pick(parts[0], names)
	if i < 0 {
		return value{}, false
	}
	v := outputs[i].value
	v.name = parts[len(parts)-1].Text
	for _, field := range parts[1:] {
		v = f.member(v, field)
	}
	v.pos = e.Pos
	return v, true
}

// reach notes that a subquery uses a column of a query around it.
func (f *frame) reach(found *scope, c *column) {
	for s := f.scope; s != found; s = s.outer {
		s.reached[c] = true
	}
}

// path is a column and the fields behind it.
func (f *frame) path(c *column, fields []syntax.Ident, e *syntax.Column) value {
	v := c.value()
	if c.members != nil && len(fields) > 0 {
		m, err := c.member(fields[0])
		if err != nil {
			return f.fail(err)
		}
		v, fields = m.value(), fields[1:]
	}
	for _, field := range fields {
		v = f.member(v, field)
	}
	v.pos = e.Pos
	return v
}

// value is the use of a column in an expression.
func (c *column) value() value {
	v := value{typ: c.typ, sql: c.sql, name: c.name, notNull: c.notNull, refs: []*column{c}, free: []*column{c}}
	if c.output != nil {
		v.marks = c.output.value.marks & (broken | documented)
	}
	return v
}

// member finds a member of a hidden struct.
func (c *column) member(id syntax.Ident) (*column, *fault.Error) {
	names := make([]string, len(c.members))
	for i, m := range c.members {
		names[i] = m.name
	}
	switch i := pick(id, names); i {
	case -1:
		return nil, fieldNotFound(id, names)
	case -2:
		return nil, fault.New(fault.AmbiguousStructField, "%s has more than one field %s", c.name, id.Text).At(id.Pos)
	default:
		return c.members[i], nil
	}
}
