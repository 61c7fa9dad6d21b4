package dialect

import (
	"fmt"
	"slices"
	"strings"

	"sluice/batch"
	"sluice/fault"
	"sluice/syntax"
)

// statedConditions are the places where Spark takes no NULL without a type for a condition.
var statedConditions = []string{"a WHEN of CASE", "the condition of WHERE", "the condition of ON", "the condition of FILTER"}

// condition makes a BOOLEAN of v, or reports it.
func (f *frame) condition(v value, where string) value {
	switch {
	case isBroken(v) || v.typ.Kind == batch.Boolean:
		return v
	case v.typ.Kind == batch.Void && slices.Contains(statedConditions, where):
		return f.fail(fault.New(fault.ConditionNotBoolean, "%s is a NULL without a type", where).At(v.pos).WithHint("CAST(NULL AS BOOLEAN)"))
	case v.typ.Kind == batch.Void:
		return f.convert(v, boolean, false)
	}
	return f.fail(fault.New(fault.ConditionNotBoolean, "%s is %s, not BOOLEAN", where, v.typ).At(v.pos).WithHint("compare it with something"))
}

// junction is a chain of AND or OR. DuckDB computes all operands of a chain; where a later one may fail, the earlier ones
// must guard it as they do in Spark, which stops at the first that decides.
func (f *frame) junction(op string, operands []value) value {
	last := 0
	texts := make([]string, len(operands))
	for i, v := range operands {
		texts[i] = v.sql
		if v.is(raises) {
			last = i
		}
	}
	chain := "(" + strings.Join(texts, " "+op+" ") + ")"
	out := derive(boolean, chain, operands...)
	if op == "AND" && slices.ContainsFunc(operands, func(v value) bool { return !v.is(documented) }) {
		out.marks |= choosy
	}
	if last == 0 {
		return out
	}
	var b strings.Builder
	b.WriteString("CASE")
	for _, v := range operands[:last] {
		if op == "AND" {
			fmt.Fprintf(&b, " WHEN NOT %s THEN FALSE", v.sql)
		} else {
			fmt.Fprintf(&b, " WHEN %s THEN TRUE", v.sql)
		}
	}
	out.sql = b.String() + " ELSE " + chain + " END"
	return out
}

// flatten lists the operands of a chain of one operator, from left to right.
func flatten(e *syntax.Binary) []syntax.Expr {
	var out []syntax.Expr
	for _, side := range []syntax.Expr{e.X, e.Y} {
		if b, ok := side.(*syntax.Binary); ok && b.Op == e.Op {
			out = append(out, flatten(b)...)
		} else {
			out = append(out, side)
		}
	}
	return out
}

// alike brings the two sides of a comparison to one type.
func (f *frame) alike(op string, x, y value, pos syntax.Pos) (value, value, bool) {
	if isBroken(x, y) {
		return x, y, false
	}
	typ, ok := common(x.typ, y.typ)
	if !ok {
		if !f.tooWide(op, x.typ, y.typ, pos) {
			f.report(fault.New(fault.OperandsDiffer, "%s has %s on one side and %s on the other", op, x.typ, y.typ).At(pos).WithHint("CAST one of them"))
		}
		return x, y, false
	}
	if typ.Kind == batch.Interval {
		f.report(fault.New(fault.UnsupportedMeaning, "intervals are not compared").At(pos).WithHint("compare the times they are added to"))
		return x, y, false
	}
	return f.convert(x, typ, false), f.convert(y, typ, false), true
}

// tooWide reports two types, of which one is a DECIMAL, that no DECIMAL holds together: Spark drops digits behind the point of them.
func (f *frame) tooWide(what string, t, u batch.Type, pos syntax.Pos) bool {
	if !t.IsNumeric() || !u.IsNumeric() {
		return false
	}
	f.report(fault.New(fault.UnsupportedMeaning, "%s has %s and %s, and values that are both need more than 38 digits", what, t, u).At(pos).
		WithHint("CAST them to one DECIMAL type with fewer digits (D-37)"))
	return true
}

// compare is a comparison. Structs and arrays are compared for equality only: DuckDB orders a null inside them differently
// (D-36).
func (f *frame) compare(op string, x, y value, pos syntax.Pos) value {
	x, y, ok := f.alike(op, x, y, pos)
	if !ok {
		return wrong(pos)
	}
	equality := !slices.Contains([]string{"<", "<=", ">", ">="}, op)
	switch {
	case !x.typ.Orderable():
		return f.fail(fault.New(fault.OperandNotOrdered, "values of type %s are not compared", x.typ).At(pos).WithHint("compare parts of them"))
	case !equality && x.typ.IsNested():
		return f.fail(noOrder(op, x.typ, pos))
	}
	if x.typ.IsNested() { // or a join takes the left side for the right one, whose zeros may have another sign
		x, y = zeroed(x), zeroed(y)
	}
	switch op {
	case "==":
		op = "="
	case "!=":
		op = "<>"
	case "<=>", "IS NOT":
		op = "IS NOT DISTINCT FROM"
	case "IS":
		op = "IS DISTINCT FROM"
	}
	return compose(boolean, "(%s "+op+" %s)", x, y)
}

// not is NOT x.
func not(x value) value { return compose(boolean, "(NOT %s)", x) }

// between is x BETWEEN low AND high.
func (f *frame) between(e *syntax.Between) value {
	x, low, high := f.bind(e.X), f.bind(e.Low), f.bind(e.High)
	from, to := f.compare(">=", x, low, e.Pos), f.compare("<=", x, high, e.Pos)
	if isBroken(from, to) {
		return wrong(e.Pos)
	}
	out := f.junction("AND", []value{from, to})
	if e.Not {
		return not(out)
	}
	return out
}

// in is x IN (list) or x IN (query).
func (f *frame) in(e *syntax.In) value {
	x := f.bind(e.X)
	if e.Query != nil {
		return f.inQuery(e, x)
	}
	items := []value{x}
	for _, i := range e.List {
		items = append(items, f.bind(i))
	}
	items, ok := f.unify("IN", items, e.Pos)
	if !ok {
		return wrong(e.Pos)
	}
	if !items[0].typ.Orderable() {
		return f.fail(fault.New(fault.OperandNotOrdered, "values of type %s are not compared", items[0].typ).At(e.Pos))
	}
	out := compose(boolean, "(%s IN ("+placeholders(len(items)-1)+"))", items...)
	if e.Not {
		return not(out)
	}
	return out
}

// unify brings values to the type that they have in common.
func (f *frame) unify(what string, values []value, pos syntax.Pos) ([]value, bool) {
	if isBroken(values...) {
		return values, false
	}
	typ := void
	for _, v := range values {
		wide, ok := common(typ, v.typ)
		if !ok {
			if f.tooWide(what, typ, v.typ, pos) {
				return values, false
			}
			f.report(fault.New(fault.DataDiffTypes, "%s has %s and %s, which have no common type", what, typ, v.typ).At(pos).WithHint("CAST one of them"))
			return values, false
		}
		typ = wide
	}
	if typ.Kind == batch.Interval {
		f.report(fault.New(fault.UnsupportedMeaning, "%s does not take intervals", what).At(pos))
		return values, false
	}
	out := make([]value, len(values))
	for i, v := range values {
		out[i] = f.convert(v, typ, false)
	}
	return out, !isBroken(out...)
}

// is is x IS [NOT] NULL, TRUE, FALSE, UNKNOWN and DISTINCT FROM y.
func (f *frame) is(e *syntax.Is) value {
	x := f.bind(e.X)
	if e.What == "DISTINCT" {
		op := "IS"
		if e.Not {
			op = "IS NOT"
		}
		return f.compare(op, x, f.bind(e.Y), e.Pos)
	}
	if isBroken(x) {
		return wrong(e.Pos)
	}
	what := e.What
	if what != "NULL" {
		if x.typ.Kind == batch.String {
			x = f.convert(x, boolean, false)
		}
		x = f.condition(x, "the operand of IS "+what)
	}
	if what == "UNKNOWN" {
		what = "NULL"
	}
	if e.Not {
		what = "NOT " + what
	}
	out := compose(boolean, "(%s IS "+what+")", x)
	out.notNull = true
	return out
}

// cases is CASE. Conditions are looked at in order, and only the branch that is taken is computed.
func (f *frame) cases(e *syntax.Case) value {
	var x value
	if e.X != nil {
		x = f.bind(e.X)
	}
	var conditions, results []value
	for _, w := range e.Whens {
		when := f.bind(w.If)
		if e.X != nil {
			when = f.compare("=", x, when, w.If.Position())
		}
		conditions = append(conditions, f.condition(when, "a WHEN of CASE"))
		results = append(results, f.bind(w.Then))
	}
	if e.Else != nil {
		results = append(results, f.bind(e.Else))
	}
	return f.choose("CASE", conditions, results, e.Pos)
}

// choose writes a CASE. results has one more element than conditions when there is an ELSE.
func (f *frame) choose(what string, conditions, results []value, pos syntax.Pos) value {
	results, ok := f.unify(what, results, pos)
	if !ok || isBroken(conditions...) {
		return wrong(pos)
	}
	var b strings.Builder
	var parts []value
	b.WriteString("CASE")
	for i, c := range conditions {
		b.WriteString(" WHEN %s THEN %s")
		parts = append(parts, c, results[i])
	}
	if len(results) > len(conditions) {
		b.WriteString(" ELSE %s")
		parts = append(parts, results[len(results)-1])
	}
	return compose(results[0].typ, b.String()+" END", parts...)
}

// noOrder says why values of a type are not put in order, if they are not. DuckDB has another place for a null inside a struct or
// an array than Spark (D-36).
func noOrder(what string, typ batch.Type, pos syntax.Pos) *fault.Error {
	switch {
	case !typ.Orderable():
		return fault.New(fault.OperandNotOrdered, "%s does not take %s, whose values have no order", what, typ).At(pos)
	case typ.IsNested():
		return fault.New(fault.UnsupportedMeaning, "%s does not take %s", what, typ).At(pos).WithHint("take its members one by one (D-36)")
	}
	return nil
}
