package dialect

import (
	"fmt"
	"slices"
	"strings"

	"sluice/batch"
	"sluice/fault"
	"sluice/syntax"
)

// Functions of arrays and maps that package builtin computes.
var arrays = []*function{
	{name: "array_append", args: "array, x", min: 2, max: 2, exact: exact, bind: bindAppend(-1)},
	{name: "array_compact", args: "array", min: 1, max: 1, exact: exact, bind: bindArrayOnly("array_compact", nil)},
	{name: "array_distinct", args: "array", min: 1, max: 1, exact: exact, bind: bindArrayOnly("array_distinct", nil)},
	{name: "array_except", args: "array, array", min: 2, max: 2, exact: exact, bind: bindArrays(nil)},
	{name: "array_insert", args: "array, position, x", min: 3, max: 3, exact: exact, bind: bindArrayInsert},
	{name: "array_intersect", args: "array, array", min: 2, max: 2, exact: exact, bind: bindArrays(nil)},
	{name: "array_join", args: "array, separator [, null]", min: 2, max: 3, exact: exact, bind: bindArrayJoin},
	{name: "array_max", args: "array", min: 1, max: 1, exact: exact, bind: bindArrayExtreme},
	{name: "array_min", args: "array", min: 1, max: 1, exact: exact, bind: bindArrayExtreme},
	{name: "array_position", args: "array, x", min: 2, max: 2, exact: exact, bind: bindArrayFind(func(batch.Type) batch.Type { return bigint })},
	{name: "array_prepend", args: "array, x", min: 2, max: 2, exact: exact, bind: bindAppend(1)},
	{name: "array_remove", args: "array, x", min: 2, max: 2, exact: exact, bind: bindArrayFind(func(array batch.Type) batch.Type { return array })},
	{name: "array_repeat", args: "x, times", min: 2, max: 2, exact: exact, bind: func(c *call) value {
		return c.builtin(c.name, batch.ArrayOf(c.args[0].typ), nil, c.args[0], c.as(1, integer)).with(raises)
	}},
	{name: "array_size", args: "array", min: 1, max: 1, exact: exact, bind: func(c *call) value {
		if x := c.args[0]; x.typ.Kind == batch.Array {
			return compose(integer, "CAST(len(%s) AS INTEGER)", x)
		} else if x.isNull() {
			return c.convert(x, integer, false)
		}
		return c.mistyped(0, "an array")
	}},
	{name: "array_sort", args: "array", min: 1, max: 1, exact: "exact; nulls come last; with a function that compares it is refused", bind: bindArrayOnly("array_sort", nil)},
	{name: "array_union", args: "array, array", min: 2, max: 2, exact: exact, bind: bindArrays(nil)},
	{name: "arrays_overlap", args: "array, array", min: 2, max: 2, exact: exact, bind: bindArrays(&boolean)},
	{name: "arrays_zip", args: "array, ...", min: 1, max: -1, exact: exact, bind: bindArraysZip},
	{name: "flatten", args: "array of arrays", min: 1, max: 1, exact: exact, bind: func(c *call) value {
		typ := c.args[0].typ
		if typ.Kind != batch.Array || typ.Fields[0].Type.Kind != batch.Array {
			return c.mistyped(0, "an array of arrays")
		}
		return c.builtin("flatten", typ.Fields[0].Type, nil, c.args[0])
	}},
	{name: "sequence", args: "start, stop [, step]", min: 2, max: 3, exact: "exact for integers and DATE; the step of a DATE is an interval of days or months", bind: bindSequence},
	{name: "slice", args: "array, start, length", min: 3, max: 3, exact: exact, bind: func(c *call) value {
		if c.args[0].typ.Kind != batch.Array {
			return c.mistyped(0, "an array")
		}
		return c.builtin("slice", c.args[0].typ, nil, c.args[0], c.as(1, integer), c.as(2, integer)).with(raises)
	}},
	{name: "sort_array", args: "array [, ascending]", min: 1, max: 2, exact: "exact; nulls come first upwards, last downwards", bind: bindSortArray},
	{name: "map_concat", args: "map, ...", min: 1, max: -1, exact: exact, bind: bindMapConcat},
	{name: "map_entries", args: "map", min: 1, max: 1, exact: exact, bind: func(c *call) value {
		m := c.args[0].typ
		if m.Kind != batch.Map {
			return c.mistyped(0, "a map")
		}
		entry := batch.StructOf(batch.Field{Name: "key", Type: m.Fields[0].Type}, batch.Field{Name: "value", Type: m.Fields[1].Type})
		return c.builtin("map_entries", batch.ArrayOf(entry), nil, c.args[0])
	}},
	{name: "map_from_arrays", args: "keys, values", min: 2, max: 2, exact: exact, bind: bindMapFromArrays},
	{name: "map_from_entries", args: "array of structs", min: 1, max: 1, exact: exact, bind: func(c *call) value {
		typ := c.args[0].typ
		if typ.Kind != batch.Array || typ.Fields[0].Type.Kind != batch.Struct || len(typ.Fields[0].Type.Fields) != 2 {
			return c.mistyped(0, "an array of structs with two fields")
		}
		entry := typ.Fields[0].Type.Fields
		return c.mapOf("map_from_entries", entry[0].Type, entry[1].Type, nil, zeroedKeys(c.args[0]))
	}},
	{name: "str_to_map", args: "text [, between entries [, inside]]", min: 1, max: 3, exact: "exact; the separators are constant, literal text", bind: bindStrToMap},
}

// bindArraysZip names the fields by the columns that the arguments are, else by their number from 0.
func bindArraysZip(c *call) value {
	var fields []batch.Field
	seen := map[string]bool{}
	for i := range c.args {
		element, ok := c.elementOf(i)
		if !ok {
			return wrong(c.pos)
		}
		name := fmt.Sprint(i)
		switch e := c.expr.Args[i].(type) {
		case *syntax.Column:
			name = e.Name.Parts[len(e.Name.Parts)-1].Text
		case *syntax.Field:
			name = e.Name.Text
		}
		if low := strings.ToLower(name); seen[low] {
			return c.fail(fault.New(fault.DuplicateStructField, "the struct has two fields %s", batch.QuoteName(name)).At(c.args[i].pos).WithHint("use zip_with or transform"))
		} else {
			seen[low] = true
		}
		fields = append(fields, batch.Field{Name: name, Type: element})
	}
	return c.builtin("arrays_zip", batch.ArrayOf(batch.StructOf(fields...)), nil, c.args...)
}

// elementOf is the type of the elements of argument i, an array.
func (c *call) elementOf(i int) (batch.Type, bool) {
	if c.args[i].typ.Kind != batch.Array {
		c.mistyped(i, "an array")
		return void, false
	}
	return c.args[i].typ.Fields[0].Type, true
}

// bindArrayOnly is a function from an array to one of the same type.
func bindArrayOnly(name string, options [][2]string) func(*call) value {
	return func(c *call) value {
		element, ok := c.elementOf(0)
		if !ok {
			return wrong(c.pos)
		}
		if err := c.incomparable(element); name != "array_compact" && err != nil {
			return c.fail(err)
		}
		x := c.args[0]
		if name == "array_distinct" {
			x = zeroed(x)
		}
		return c.builtin(name, x.typ, options, x)
	}
}

// incomparable says that values of a type cannot be compared, if so.
func (c *call) incomparable(typ batch.Type) *fault.Error {
	if typ.Kind != batch.Void && !typ.Orderable() {
		return fault.New(fault.OperandNotOrdered, "%s does not take %s, whose values have no order", c.name, typ).At(c.pos)
	}
	return nil
}

func bindArrayExtreme(c *call) value {
	element, ok := c.elementOf(0)
	if !ok {
		return wrong(c.pos)
	}
	if err := c.incomparable(element); err != nil {
		return c.fail(err)
	}
	if element.Kind == batch.Void {
		return null()
	}
	return c.builtin(c.name, element, nil, c.args[0])
}

// withElement brings an array and a value to one type of elements.
func (c *call) withElement(array, x int) (a, v value, ok bool) {
	element, ok := c.elementOf(array)
	if !ok {
		return a, v, false
	}
	typ, ok := common(element, c.args[x].typ)
	if typ.Kind == batch.Decimal && !element.Equal(c.args[x].typ) && element.Kind != batch.Void && c.args[x].typ.Kind != batch.Void {
		ok = false
	}
	if !ok || element.Kind != batch.Void && c.args[x].typ.Kind != batch.Void && (element.Kind == batch.String) != (c.args[x].typ.Kind == batch.String) {
		c.mistyped(x, element.String())
		return a, v, false
	}
	a, v = c.convert(c.args[array], batch.ArrayOf(typ), false), c.convert(c.args[x], typ, false)
	return a, v, !isBroken(a, v)
}

func bindArrayFind(result func(array batch.Type) batch.Type) func(*call) value {
	return func(c *call) value {
		a, x, ok := c.withElement(0, 1)
		if !ok {
			return wrong(c.pos)
		}
		if err := c.incomparable(x.typ); err != nil {
			return c.fail(err)
		}
		return c.builtin(c.name, result(a.typ), nil, a, x)
	}
}

// bindAppend puts an element to an end: in front of the first one, or behind all.
func bindAppend(at int) func(*call) value {
	return func(c *call) value {
		a, x, ok := c.withElement(0, 1)
		if !ok {
			return wrong(c.pos)
		}
		return c.builtin("array_insert", a.typ, nil, a, derive(integer, fmt.Sprintf("(%d)", at)), x)
	}
}

func bindArrayInsert(c *call) value {
	a, x, ok := c.withElement(0, 2)
	if !ok {
		return wrong(c.pos)
	}
	return c.builtin("array_insert", a.typ, nil, a, c.as(1, integer), x).with(raises)
}

// bindArrays is a function of two arrays whose elements have one type; its result is of that type too, unless another is given.
func bindArrays(result *batch.Type) func(*call) value {
	return func(c *call) value {
		x, okX := c.elementOf(0)
		y, okY := c.elementOf(1)
		if !okX || !okY {
			return wrong(c.pos)
		}
		typ, ok := common(x, y)
		if !ok || decimalsDiffer(x, y, typ) || x.Kind != batch.Void && y.Kind != batch.Void && (x.Kind == batch.String) != (y.Kind == batch.String) {
			return c.fail(fault.New(fault.ArraysDiffer, "%s has arrays of %s and of %s", c.name, x, y).At(c.pos).WithHint("CAST one of them"))
		}
		if err := c.incomparable(typ); err != nil {
			return c.fail(err)
		}
		array := batch.ArrayOf(typ)
		out := array
		if result != nil {
			out = *result
		}
		return c.builtin(c.name, out, nil, zeroed(c.convert(c.args[0], array, false)), zeroed(c.convert(c.args[1], array, false)))
	}
}

// decimalsDiffer reports whether elements of types x and y, whose common type is typ, are a DECIMAL and another number: Spark
// casts numbers inside of arrays to each other, but not from and to DECIMAL.
func decimalsDiffer(x, y, typ batch.Type) bool {
	if x.Kind == batch.Decimal || y.Kind == batch.Decimal {
		return !x.Equal(y) && x.Kind != batch.Void && y.Kind != batch.Void
	}
	if !typ.IsNested() || x.Kind != y.Kind {
		return false
	}
	for i := range typ.Fields {
		if decimalsDiffer(x.Fields[i].Type, y.Fields[i].Type, typ.Fields[i].Type) {
			return true
		}
	}
	return false
}

func bindArrayJoin(c *call) value {
	if _, ok := c.elementOf(0); !ok {
		return wrong(c.pos)
	}
	typ := batch.ArrayOf(text)
	if !castable(c.args[0].typ, typ) {
		return c.mistyped(0, "an array of texts")
	}
	args := []value{c.convert(c.args[0], typ, false), c.as(1, text)}
	if c.has(2) {
		args = append(args, c.as(2, text))
	}
	return c.builtin("array_join", text, nil, args...)
}

func bindSortArray(c *call) value {
	down := "false"
	if c.has(1) {
		k := c.args[1].konst
		if k == nil || c.args[1].typ.Kind != batch.Boolean || k.null {
			return c.fail(fault.New(fault.NonFoldable, "argument 2 of sort_array must be TRUE or FALSE").At(c.args[1].pos))
		}
		down = fmt.Sprint(k.text == "false")
	}
	return bindArrayOnly("sort_array", [][2]string{{"down", down}})(c)
}

// bindSequence counts integers, or days.
func bindSequence(c *call) value {
	if c.args[0].typ.Kind == batch.Date && c.args[1].typ.Kind == batch.Date {
		return c.days()
	}
	for _, a := range c.args {
		if isTime(a.typ) {
			return c.refuse("count with integers: transform(sequence(0, n), i -> timestampadd(HOUR, i, start))", "a sequence of times is not supported, but of DATEs")
		}
	}
	args, ok := c.unify(c.name, c.args, c.pos)
	if !ok {
		return wrong(c.pos)
	}
	if !args[0].typ.IsInteger() {
		return c.refuse("CAST to integers or to DATE", "a sequence of %s is not supported", args[0].typ)
	}
	return c.builtin("sequence", batch.ArrayOf(args[0].typ), nil, args...).with(raises)
}

func (c *call) days() value {
	args, options := slices.Clone(c.args[:2]), [][2]string(nil)
	if c.has(2) {
		span := c.args[2].span
		switch {
		case span == nil:
			return c.mistyped(2, "an INTERVAL")
		case span.yearly && span.months != 0:
			options = [][2]string{{"months", fmt.Sprint(span.months)}}
		case span.daily:
			args = append(args, derive(integer, fmt.Sprintf("(%d)", span.micros/microsPerDay)))
		default:
			return c.refuse("use an interval of days or months", "a sequence of days with this interval is not supported")
		}
	}
	return c.builtin("sequence", batch.ArrayOf(date), options, args...).with(raises)
}

// mapOf calls a function that makes a map.
func (c *call) mapOf(name string, key, val batch.Type, options [][2]string, args ...value) value {
	if !key.Orderable() || key.Kind == batch.Void && len(args) == 0 {
		return c.fail(fault.New(fault.UnexpectedInput, "the keys of a map are %s", key).At(c.pos))
	}
	return c.builtin(name, batch.MapOf(key, val), options, args...).with(raises)
}

func bindMapFromArrays(c *call) value {
	key, ok := c.elementOf(0)
	val, also := c.elementOf(1)
	if !ok || !also {
		return wrong(c.pos)
	}
	return c.mapOf("map_from_arrays", key, val, nil, c.args...)
}

func bindMapConcat(c *call) value {
	for i, a := range c.args {
		if a.typ.Kind != batch.Map && !a.isNull() {
			return c.mistyped(i, "maps")
		}
	}
	args, ok := c.unify(c.name, c.args, c.pos)
	if !ok {
		return wrong(c.pos)
	}
	if args[0].typ.Kind != batch.Map {
		return c.mistyped(0, "maps")
	}
	for i, a := range args {
		args[i] = zeroedKeys(a)
	}
	return c.mapOf("map_concat", args[0].typ.Fields[0].Type, args[0].typ.Fields[1].Type, nil, args...)
}

func bindStrToMap(c *call) value {
	options := [][2]string{{"between", ","}, {"inside", ":"}}
	for i := 1; i < len(c.args); i++ {
		p, isNull, ok := c.constText(i)
		if !ok {
			return wrong(c.pos)
		}
		plain, ok := plainPattern(p)
		if isNull || !ok {
			return c.fail(unsupported("str_to_map with the separator %q is not supported", p).At(c.args[i].pos).WithHint("use a literal text; \\\\ stands in front of special characters"))
		}
		options[i-1][1] = plain
	}
	return c.mapOf("str_to_map", text, text, options, c.as(0, text))
}
