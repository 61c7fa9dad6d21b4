package dialect

import (
	"fmt"
	"strings"

	"sluice/batch"
	"sluice/fault"
	"sluice/syntax"
)

var collections = []*function{
	{name: "array", args: "x, ...", min: 0, max: -1, exact: exact, bind: bindArray},
	{name: "map", args: "key, value, ...", min: 0, max: -1, exact: exact, bind: bindMap},
	{name: "struct", args: "x, ...", min: 1, max: -1, exact: "exact; * is refused", bind: func(c *call) value {
		return c.structValues(c.args, c.fieldNames(c.expr.Args, c.expr.ArgNames), c.pos)
	}},
	{name: "named_struct", args: "name, value, ...", min: 2, max: -1, exact: "exact; names are constant", bind: bindNamedStruct},
	{name: "size cardinality", args: "array or map", min: 1, max: 1, exact: "exact; null for null", bind: func(c *call) value {
		switch c.args[0].typ.Kind {
		case batch.Array:
			return compose(integer, "CAST(len(%s) AS INTEGER)", c.args[0])
		case batch.Map:
			return compose(integer, "CAST(cardinality(%s) AS INTEGER)", c.args[0])
		case batch.Void:
			return c.convert(c.args[0], integer, false)
		}
		return c.mistyped(0, "an array or a map")
	}},
	{name: "element_at", args: "array, position | map, key", min: 2, max: 2, exact: exact, bind: bindElementAt},
	{name: "try_element_at", args: "array, position | map, key", min: 2, max: 2, exact: exact, bind: bindElementAt},
	{name: "get", args: "array, index", min: 2, max: 2, exact: exact, bind: bindGet},
	{name: "array_contains", args: "array, x", min: 2, max: 2, exact: exact, bind: bindArrayContains},
	{name: "map_keys", args: "map", min: 1, max: 1, exact: exact, bind: bindMapSide("map_keys", 0)},
	{name: "map_values", args: "map", min: 1, max: 1, exact: exact, bind: bindMapSide("map_values", 1)},
	{name: "map_contains_key", args: "map, key", min: 2, max: 2, exact: exact, bind: func(c *call) value {
		m := c.args[0]
		if m.typ.Kind != batch.Map {
			return c.mistyped(0, "a map")
		}
		key, ok := c.ofType(c.args[1], m.typ.Fields[0].Type)
		if !ok {
			return c.mistyped(1, m.typ.Fields[0].Type.String())
		}
		return compose(boolean, "list_contains(map_keys(%s), %s)", m, key)
	}},
}

// ofType brings v to a type that is at least as wide as its own.
func (f *frame) ofType(v value, typ batch.Type) (value, bool) {
	if wide, ok := common(typ, v.typ); !ok || !wide.Equal(typ) {
		return v, false
	}
	return f.convert(v, typ, false), true
}

func bindArray(c *call) value {
	args, ok := c.unify("array", c.args, c.pos)
	if !ok {
		return wrong(c.pos)
	}
	typ := void
	if len(args) > 0 {
		typ = args[0].typ
	}
	return compose(batch.ArrayOf(typ), "["+placeholders(len(args))+"]", args...)
}

func bindMap(c *call) value {
	if len(c.args)%2 == 1 {
		return c.fail(fault.New(fault.WrongArguments, "map takes keys and values, not %s", counted(len(c.args), "argument")).At(c.pos))
	}
	var keys, values []value
	for i, a := range c.args {
		if i%2 == 0 {
			keys = append(keys, a)
		} else {
			values = append(values, a)
		}
	}
	keys, ok := c.unify("map's keys", keys, c.pos)
	values, also := c.unify("map's values", values, c.pos)
	if !ok || !also {
		return wrong(c.pos)
	}
	typ := batch.MapOf(void, void)
	if len(keys) > 0 {
		typ = batch.MapOf(keys[0].typ, values[0].typ)
		if !keys[0].typ.Orderable() || keys[0].typ.Kind == batch.Void {
			return c.fail(fault.New(fault.UnexpectedInput, "the keys of a map are %s", keys[0].typ).At(c.pos))
		}
	}
	for i, k := range keys {
		if isFractional(k.typ) {
			keys[i] = zeroed(k)
		}
	}
	format := "map([" + placeholders(len(keys)) + "], [" + placeholders(len(values)) + "])"
	return compose(typ, format, append(keys, values...)...).with(raises)
}

// structOf understands (a, b) and the like.
func (f *frame) structOf(items []syntax.Expr, names []string, pos syntax.Pos) value {
	values := make([]value, len(items))
	for i, e := range items {
		values[i] = f.bind(e)
	}
	if isBroken(values...) {
		return wrong(pos)
	}
	return f.structValues(values, f.fieldNames(items, names), pos)
}

// fieldNames are the names of a struct's fields: as given, else that of the column, else col and its number.
func (f *frame) fieldNames(items []syntax.Expr, given []string) []string {
	names := make([]string, len(items))
	for i, e := range items {
		names[i] = fmt.Sprintf("col%d", i+1)
		switch e := e.(type) {
		case *syntax.Column:
			names[i] = e.Name.Parts[len(e.Name.Parts)-1].Text
		case *syntax.Field:
			names[i] = e.Name.Text
		}
		if i < len(given) && given[i] != "" {
			names[i] = given[i]
		}
	}
	return names
}

// structValues makes a struct. DuckDB has no two fields whose names differ in case only.
func (f *frame) structValues(values []value, names []string, pos syntax.Pos) value {
	fields := make([]batch.Field, len(values))
	members := make([]string, len(values))
	seen := map[string]bool{}
	for i, v := range values {
		if v.typ.Kind == batch.Interval {
			return f.fail(unsupported("an interval cannot be a field").At(v.pos))
		}
		if low := strings.ToLower(names[i]); seen[low] {
			return f.fail(fault.New(fault.DuplicateStructField, "the struct has two fields %s", batch.QuoteName(names[i])).At(pos).WithHint("name them with AS"))
		} else {
			seen[low] = true
		}
		fields[i] = batch.Field{Name: names[i], Type: v.typ}
		members[i] = escapeFormat(quoteName(names[i])) + " := %s"
	}
	out := compose(batch.StructOf(fields...), "struct_pack("+strings.Join(members, ", ")+")", values...)
	out.notNull = true
	return out
}

func bindNamedStruct(c *call) value {
	if len(c.args)%2 == 1 {
		return c.fail(fault.New(fault.WrongArguments, "named_struct takes names and values, not %s", counted(len(c.args), "argument")).At(c.pos))
	}
	var names []string
	var values []value
	for i := 0; i < len(c.args); i += 2 {
		name, isNull, ok := c.constText(i)
		if !ok || isNull {
			return wrong(c.pos)
		}
		names, values = append(names, name), append(values, c.args[i+1])
	}
	return c.structValues(values, names, c.pos)
}

// bindElementAt counts from 1, and from the end where the position is negative.
func bindElementAt(c *call) value {
	x, i := c.args[0], c.args[1]
	switch x.typ.Kind {
	case batch.Map:
		return c.mapValue(x, i, c.pos)
	case batch.Array:
	default:
		return c.mistyped(0, "an array or a map")
	}
	if !i.typ.IsInteger() || i.typ.Kind == batch.BigInt {
		return c.mistyped(1, "an INT")
	}
	n := c.convert(i, bigint, false)
	var out value
	if c.name == "try_element_at" {
		out = derive(x.typ.Fields[0].Type, fmt.Sprintf("list_extract(%s, %s)", x.sql, n.sql), x, n)
	} else {
		out = c.element(x, n, n.sql, fmt.Sprintf("abs(%s) > len(%s)", n.sql, x.sql), fault.InvalidElementIndex)
	}
	if i.konst != nil && !i.konst.null { // DuckDB would evaluate the failing branch before it knows a row
		if strings.Trim(i.konst.text, "+-0") == "" {
			return c.fail(fault.New(fault.IndexOfZero, "the index is 0; the first element is 1").At(i.pos))
		}
		return out.with(raises)
	}
	// The message depends on the row, or DuckDB computes it, and fails, before it knows one.
	zero := raise(fault.IndexOfZero, fmt.Sprintf("'the index is ' || %s || '; the first element is 1'", n.sql), x.typ.Fields[0].Type)
	out.sql = fmt.Sprintf("CASE WHEN %s = 0 AND %s IS NOT NULL THEN %s ELSE %s END", n.sql, x.sql, zero, out.sql)
	return out.with(raises)
}

func bindGet(c *call) value {
	x, i := c.args[0], c.args[1]
	if x.typ.Kind != batch.Array {
		return c.mistyped(0, "an array")
	}
	if i.typ.Kind == batch.Void {
		i = c.convert(i, integer, false)
	}
	if !i.typ.IsInteger() {
		return c.mistyped(1, "an integer")
	}
	return compose(x.typ.Fields[0].Type, "CASE WHEN %[2]s >= 0 THEN list_extract(%[1]s, CAST(%[2]s AS BIGINT) + 1) END", x, c.convert(i, integer, false))
}

// bindArrayContains is null where the array does not have x but has a null, which might be it.
func bindArrayContains(c *call) value {
	a := c.args[0]
	if a.typ.Kind != batch.Array {
		return c.mistyped(0, "an array")
	}
	typ, ok := common(a.typ.Fields[0].Type, c.args[1].typ)
	if !ok || c.args[1].typ.Kind == batch.Void || !typ.Orderable() || (a.typ.Fields[0].Type.Kind == batch.String) != (c.args[1].typ.Kind == batch.String) {
		return c.mistyped(1, a.typ.Fields[0].Type.String())
	}
	a, x := c.convert(a, batch.ArrayOf(typ), false), c.convert(c.args[1], typ, false)
	return compose(boolean, "CASE WHEN %[2]s IS NULL THEN NULL WHEN list_contains(%[1]s, %[2]s) THEN TRUE WHEN list_count(%[1]s) < len(%[1]s) THEN NULL "+
		"WHEN %[1]s IS NOT NULL THEN FALSE END", a, x)
}

func bindMapSide(function string, side int) func(*call) value {
	return func(c *call) value {
		m := c.args[0]
		if m.typ.Kind != batch.Map {
			return c.mistyped(0, "a map")
		}
		return compose(batch.ArrayOf(m.typ.Fields[side].Type), function+"(%s)", m)
	}
}
