package dialect

import (
	"fmt"
	"slices"

	"sluice/batch"
	"sluice/syntax"
)

// value is an expression that has been understood: its Spark type, and the SQL by which DuckDB computes it. The SQL is an
// operand: it can stand beside any operator.
type value struct {
	typ     batch.Type
	sql     string
	name    string // what Spark calls the column when the query gives it no name
	pos     syntax.Pos
	notNull bool
	marks   marks
	konst   *constant
	span    *interval // of an INTERVAL, which exists as a constant only

	refs  []*column // columns it is computed from
	free  []*column // those of them outside aggregate functions
	inner []*query  // subqueries in it
}

// marks are properties that an expression has as soon as a part of it has them.
type marks uint16

const (
	broken     marks = 1 << iota // it has been reported; nothing about it is reported again
	raises                       // some rows may make it fail
	clocked                      // it reads the batch time
	random                       // two runs over the same rows may give different values
	unordered                    // it depends on the order of the rows (D-22)
	aggregated                   // it has an aggregate function
	windowed                     // it has a window function
	nested                       // it has a subquery
	documented                   // it depends on a part of a document
	choosy                       // it is a conjunction with a condition that is not documented
)

func (v value) is(m marks) bool { return v.marks&m != 0 }

// constant is the value of a literal, as text. Casts of text and of numbers that are constant are done here.
type constant struct {
	null bool
	text string
	cast bool // it was not written as it is, but cast by the user
}

// isNull reports whether v is the literal NULL.
func (v value) isNull() bool { return v.konst != nil && v.konst.null }

// text returns the value of a STRING constant.
func (v value) text() (string, bool) {
	if v.konst == nil || v.konst.null || v.typ.Kind != batch.String {
		return "", false
	}
	return v.konst.text, true
}

// compose makes a value of the given type out of parts, whose SQL fills format in their order.
func compose(typ batch.Type, format string, parts ...value) value {
	texts := make([]any, len(parts))
	for i, p := range parts {
		texts[i] = p.sql
	}
	return derive(typ, fmt.Sprintf(format, texts...), parts...)
}

// derive makes a value with the given SQL that depends on parts.
func derive(typ batch.Type, sql string, parts ...value) value {
	v := value{typ: typ, sql: sql}
	for _, p := range parts {
		v.marks |= p.marks
		v.refs = append(v.refs, p.refs...)
		v.free = append(v.free, p.free...)
		v.inner = append(v.inner, p.inner...)
	}
	return v
}

// beside is v with the columns of arguments that do not count for it, as in typeof(x): GROUP BY is about them, too.
func (v value) beside(args []value) value {
	for _, a := range args {
		for _, c := range a.free {
			if !slices.Contains(v.free, c) {
				v.free = append(v.free[:len(v.free):len(v.free)], c)
			}
		}
	}
	return v
}

// with returns v with more marks.
func (v value) with(m marks) value { v.marks |= m; return v }

// at returns v with a place and the name that its text gives it.
func (v value) at(e syntax.Expr) value {
	v.pos = e.Position()
	return v
}

// isBroken reports whether any of the values has been reported already.
func isBroken(values ...value) bool {
	for _, v := range values {
		if v.is(broken) {
			return true
		}
	}
	return false
}

// wrong is what a reported expression becomes.
func wrong(pos syntax.Pos) value {
	return value{sql: "NULL", pos: pos, marks: broken}
}

// null is NULL without a type.
func null() value {
	return value{sql: "NULL", konst: &constant{null: true}}
}
