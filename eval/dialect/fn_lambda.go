package dialect

import (
	"fmt"
	"strings"

	"sluice/batch"
	"sluice/fault"
	"sluice/syntax"
)

// Functions that take a function. DuckDB computes what a lambda says for all elements of a chunk at a time.
var higher = []*function{
	{name: "transform", args: "array, x -> y | array, (x, i) -> y", min: 2, max: 2, exact: exact, bind: bindTransform},
	{name: "filter", args: "array, x -> condition | array, (x, i) -> condition", min: 2, max: 2, exact: exact, bind: bindFilter},
	{name: "exists", args: "array, x -> condition", min: 2, max: 2, exact: exact, bind: bindExists},
	{name: "forall", args: "array, x -> condition", min: 2, max: 2, exact: exact, bind: bindForAll},
	{name: "aggregate reduce", args: "array, start, (sum, x) -> sum [, sum -> y]", min: 3, max: 4, exact: "exact; the types of start and of what the function gives are the same", bind: bindReduce},
	{name: "zip_with", args: "array, array, (x, y) -> z", min: 3, max: 3, exact: exact, bind: bindZipWith},
	{name: "map_filter", args: "map, (key, value) -> condition", min: 2, max: 2, exact: exact, bind: bindMapFilter},
	{name: "transform_keys", args: "map, (key, value) -> key", min: 2, max: 2, exact: exact, bind: bindTransformKeys},
	{name: "transform_values", args: "map, (key, value) -> value", min: 2, max: 2, exact: exact, bind: bindTransformValues},
}

// parameter is what a name means inside a lambda: the SQL of an element.
type parameter struct {
	name string
	typ  batch.Type
	sql  string
}

// parameter resolves a name to a parameter of a lambda around it, the innermost first, or a field of one.
func (f *frame) parameter(e *syntax.Column) (value, bool) {
	for _, p := range f.parameters {
		if !matches(e.Name.Parts[0], p.name) {
			continue
		}
		v := value{typ: p.typ, sql: p.sql, name: p.name}
		for _, field := range e.Name.Parts[1:] {
			v = f.member(v, field)
		}
		v.pos = e.Pos
		return v, true
	}
	return value{}, false
}

// lambda understands argument i, a function of parameters with the given types and SQL.
func (c *call) lambda(i int, given ...parameter) (value, bool) {
	l, ok := c.expr.Args[i].(*syntax.Lambda)
	if !ok {
		c.report(fault.New(fault.UnexpectedInput, "argument %d of %s is no function", i+1, c.name).At(c.expr.Args[i].Position()).WithHint("write %s(%s)", c.name, c.fn.args))
		return value{}, false
	}
	if len(l.Params) != len(given) {
		c.report(fault.New(fault.LambdaArguments, "the function has %s, %s gives it %d", counted(len(l.Params), "parameter"), c.name, len(given)).At(l.Pos).
			WithHint("write %s(%s)", c.name, c.fn.args))
		return value{}, false
	}
	inner := *c.frame
	inner.aggregates, inner.windows, inner.alone, inner.clause = false, false, true, "a function of "+c.name
	inner.parameters = nil
	for j, p := range given {
		p.name = l.Params[j].Text
		for _, other := range inner.parameters {
			if strings.EqualFold(other.name, p.name) {
				c.report(fault.New(fault.LambdaDuplicate, "the function has two parameters %s", p.name).At(l.Params[j].Pos))
				return value{}, false
			}
		}
		inner.parameters = append(inner.parameters, p)
	}
	inner.parameters = append(inner.parameters, c.frame.parameters...)
	v := inner.bind(l.Body)
	return v, !isBroken(v)
}

// parameters is how many parameters the function has that argument i is.
func (c *call) parameterCount(i int) int {
	if l, ok := c.expr.Args[i].(*syntax.Lambda); ok {
		return len(l.Params)
	}
	return 0
}

// each understands a function of an element of argument 0, an array, and perhaps of its index. The names are those of DuckDB's
// lambda.
func (c *call) each(indexed bool) (element batch.Type, names string, body value, ok bool) {
	if element, ok = c.elementOf(0); !ok {
		return
	}
	names = c.alias()
	given := []parameter{{typ: element, sql: names}}
	if indexed && c.parameterCount(1) == 2 {
		index := c.alias()
		names += ", " + index
		given = append(given, parameter{typ: integer, sql: fmt.Sprintf("CAST(%s - 1 AS INTEGER)", index)})
	}
	body, ok = c.lambda(1, given...)
	return
}

func bindTransform(c *call) value {
	_, names, body, ok := c.each(true)
	if !ok {
		return wrong(c.pos)
	}
	array := c.args[0]
	return derive(batch.ArrayOf(body.typ), fmt.Sprintf("list_transform(%s, lambda %s: %s)", array.sql, names, stated(body).sql), array, body)
}

// eachCondition is each with a function that is a condition.
func (c *call) eachCondition(indexed bool) (names string, body value, ok bool) {
	_, names, body, ok = c.each(indexed)
	if ok {
		body = c.condition(body, "the function of "+c.name)
	}
	return names, body, ok && !isBroken(body)
}

func bindFilter(c *call) value {
	names, body, ok := c.eachCondition(true)
	if !ok {
		return wrong(c.pos)
	}
	array := c.args[0]
	return derive(array.typ, fmt.Sprintf("list_filter(%s, lambda %s: %s)", array.sql, names, body.sql), array, body)
}

// judged is the condition of each element of an array, and its parts.
func (c *call) judged() (value, bool) {
	names, body, ok := c.eachCondition(false)
	if !ok {
		return value{}, false
	}
	array := c.args[0]
	return derive(batch.ArrayOf(boolean), fmt.Sprintf("list_transform(%s, lambda %s: %s)", array.sql, names, body.sql), array, body), true
}

// bindExists is NULL where no condition holds but one is NULL.
func bindExists(c *call) value {
	all, ok := c.judged()
	if !ok {
		return wrong(c.pos)
	}
	return compose(boolean, "CASE WHEN list_contains(%[1]s, TRUE) THEN TRUE WHEN list_count(%[1]s) < len(%[1]s) THEN NULL WHEN %[1]s IS NOT NULL THEN FALSE END", all)
}

func bindForAll(c *call) value {
	all, ok := c.judged()
	if !ok {
		return wrong(c.pos)
	}
	return compose(boolean, "CASE WHEN list_contains(%[1]s, FALSE) THEN FALSE WHEN list_count(%[1]s) < len(%[1]s) THEN NULL WHEN %[1]s IS NOT NULL THEN TRUE END", all)
}

// bindReduce goes through an array with a sum of any type. DuckDB's list_reduce has one type for sums and elements, so both are
// in a struct there.
func bindReduce(c *call) value {
	element, ok := c.elementOf(0)
	if !ok {
		return wrong(c.pos)
	}
	array, start := c.args[0], c.args[1]
	sum, next := c.alias(), c.alias()
	merged, ok := c.lambda(2, parameter{typ: start.typ, sql: "struct_extract(" + sum + ", 's')"}, parameter{typ: element, sql: "struct_extract(" + next + ", 'e')"})
	if !ok {
		return wrong(c.pos)
	}
	if start.typ.Kind == batch.Void || !merged.typ.Equal(start.typ) {
		return c.fail(fault.New(fault.UnexpectedInput, "%s starts with %s, and its function gives %s", c.name, start.typ, merged.typ).At(c.args[1].pos).WithHint("CAST the start to %s", merged.typ))
	}
	pair := func(s, e string) string {
		return fmt.Sprintf("struct_pack(s := CAST(%s AS %s), e := CAST(%s AS %s))", s, duckType(start.typ), e, duckType(element))
	}
	each := c.alias()
	sql := fmt.Sprintf("struct_extract(list_reduce(list_transform(%s, lambda %s: %s), lambda %s, %s: %s, %s), 's')",
		array.sql, each, pair("NULL", each), sum, next, pair(merged.sql, "NULL"), pair(start.sql, "NULL"))
	out := derive(start.typ, sql, array, start, merged)
	if !c.has(3) {
		return out
	}
	// The last function is applied as one of an array with one element, so that what it is given is computed once.
	last := c.alias()
	finished, ok := c.lambda(3, parameter{typ: start.typ, sql: last})
	if !ok {
		return wrong(c.pos)
	}
	sql = fmt.Sprintf("CASE WHEN %s IS NOT NULL THEN list_extract(list_transform([%s], lambda %s: %s), 1) END", array.sql, out.sql, last, stated(finished).sql)
	return derive(finished.typ, sql, out, finished)
}

// bindZipWith fills the shorter array up with NULL.
func bindZipWith(c *call) value {
	x, ok := c.elementOf(0)
	y, also := c.elementOf(1)
	if !ok || !also {
		return wrong(c.pos)
	}
	pair := c.alias()
	body, ok := c.lambda(2, parameter{typ: x, sql: half(pair, 1, x)}, parameter{typ: y, sql: half(pair, 2, y)})
	if !ok {
		return wrong(c.pos)
	}
	a, b := c.args[0], c.args[1]
	sql := fmt.Sprintf("CASE WHEN %[1]s IS NOT NULL AND %[2]s IS NOT NULL THEN list_transform(list_zip(%[1]s, %[2]s), lambda %[3]s: %[4]s) END", a.sql, b.sql, pair, stated(body).sql)
	return derive(batch.ArrayOf(body.typ), sql, a, b, body)
}

// half is a member of a pair that DuckDB's list_zip made. Where an array ran out, it is NULL, but the members of a STRUCT are those
// of some other element: CASE makes them NULL as well.
func half(pair string, i int, typ batch.Type) string {
	member := fmt.Sprintf("struct_extract(%s, %d)", pair, i)
	if typ.Kind != batch.Struct {
		return member
	}
	return fmt.Sprintf("CASE WHEN %[1]s IS NOT NULL THEN %[1]s END", member)
}

// entry understands a function of the key and the value of argument 0, a map.
func (c *call) entry() (name string, body value, ok bool) {
	m := c.args[0].typ
	if m.Kind != batch.Map {
		c.mistyped(0, "a map")
		return "", value{}, false
	}
	name = c.alias()
	body, ok = c.lambda(1, parameter{typ: m.Fields[0].Type, sql: name + ".key"}, parameter{typ: m.Fields[1].Type, sql: name + ".value"})
	return name, body, ok
}

func bindMapFilter(c *call) value {
	name, body, ok := c.entry()
	if ok {
		body = c.condition(body, "the function of map_filter")
	}
	if !ok || isBroken(body) {
		return wrong(c.pos)
	}
	m := c.args[0]
	return derive(m.typ, fmt.Sprintf("map_from_entries(list_filter(map_entries(%s), lambda %s: %s))", m.sql, name, body.sql), m, body)
}

func bindTransformKeys(c *call) value {
	name, body, ok := c.entry()
	if !ok {
		return wrong(c.pos)
	}
	m := c.args[0]
	if !body.typ.Orderable() || body.typ.Kind == batch.Void {
		return c.fail(fault.New(fault.UnexpectedInput, "the keys of a map are %s", body.typ).At(c.pos))
	}
	return c.entries(batch.MapOf(body.typ, m.typ.Fields[1].Type), name, stated(body).sql, name+".value", body).with(raises)
}

func bindTransformValues(c *call) value {
	name, body, ok := c.entry()
	if !ok {
		return wrong(c.pos)
	}
	return c.entries(batch.MapOf(c.args[0].typ.Fields[0].Type, body.typ), name, name+".key", stated(body).sql, body)
}

// entries makes a map of other keys or values.
func (c *call) entries(typ batch.Type, name, key, val string, body value) value {
	m := c.args[0]
	return derive(typ, fmt.Sprintf("map_from_entries(list_transform(map_entries(%s), lambda %s: {'k': %s, 'v': %s}))", m.sql, name, key, val), m, body)
}
