package dialect

import (
	"fmt"
	"strings"

	"sluice/batch"
	"sluice/fault"
	"sluice/syntax"
)

// bind understands an expression.
func (f *frame) bind(e syntax.Expr) value {
	v := f.bindNew(e)
	if v.pos == (syntax.Pos{}) {
		v.pos = e.Position()
	}
	return f.grouped(v)
}

// grouped makes a value that GROUP BY computes free of the columns it is made of.
func (f *frame) grouped(v value) value {
	if f.inside != "" || len(f.groups) == 0 {
		return v
	}
	sql := f.asGrouped(v.sql)
	for _, g := range f.groups {
		if g.sql == sql && g.typ.Equal(v.typ) {
			v.sql, v.free = zeroed(g).sql, nil
		}
	}
	return v
}

// asGrouped is SQL as it stands in GROUP BY: there -0.0 is still in the parts that are grouped by themselves.
func (f *frame) asGrouped(sql string) string {
	for _, g := range f.groups {
		if fractioned(g.typ) && sql != g.sql {
			sql = strings.ReplaceAll(sql, zeroed(g).sql, g.sql)
		}
	}
	return sql
}

func (f *frame) bindNew(e syntax.Expr) value {
	switch e := e.(type) {
	case *syntax.Literal:
		return f.literal(e)
	case *syntax.Column:
		return f.name(e)
	case *syntax.Unary:
		return f.unary(e)
	case *syntax.Binary:
		return f.binary(e)
	case *syntax.Between:
		return f.between(e)
	case *syntax.In:
		return f.in(e)
	case *syntax.Like:
		return f.like(e)
	case *syntax.Is:
		return f.is(e)
	case *syntax.Case:
		return f.cases(e)
	case *syntax.Cast:
		return f.castTo(e)
	case *syntax.Func:
		return f.call(e)
	case *syntax.Subquery:
		return f.subquery(e)
	case *syntax.Index:
		return f.index(f.bind(e.X), f.bind(e.I), e.Pos)
	case *syntax.Field:
		return f.member(f.bind(e.X), e.Name)
	case *syntax.Tuple:
		return f.structOf(e.Items, nil, e.Pos)
	case *syntax.Star:
		return f.fail(fault.New(fault.UnsupportedQuery, "* stands where there must be one value").At(e.Pos))
	case *syntax.Lambda:
		return f.fail(fault.New(fault.UnsupportedFunction, "a function stands where there must be a value").At(e.Pos).WithHint("functions that take one are listed in docs/sql.md"))
	}
	return f.fail(fault.New(fault.UnsupportedQuery, "this expression is not supported").At(e.Position()))
}

func (f *frame) unary(e *syntax.Unary) value {
	x := f.bind(e.X)
	if e.Op != "NOT" {
		return f.sign(e.Op, x, e.Pos)
	}
	if x = f.condition(x, "the operand of NOT"); isBroken(x) {
		return wrong(e.Pos)
	}
	return not(x)
}

func (f *frame) binary(e *syntax.Binary) value {
	if e.Op == "AND" || e.Op == "OR" {
		var operands []value
		for _, o := range flatten(e) {
			operands = append(operands, f.condition(f.bind(o), "an operand of "+e.Op))
		}
		if isBroken(operands...) {
			return wrong(e.Pos)
		}
		return f.junction(e.Op, operands)
	}
	x, y := f.bind(e.X), f.bind(e.Y)
	switch e.Op {
	case "=", "==", "<>", "!=", "<", "<=", ">", ">=", "<=>":
		return f.compare(e.Op, x, y, e.Pos)
	case "||":
		return f.concat([]value{x, y}, e.Pos)
	case "&", "|", "^":
		return f.bits(e.Op, x, y, e.Pos)
	case "<<", ">>", ">>>":
		return f.shift(e.Op, x, y, e.Pos)
	}
	return f.arithmetic(e.Op, x, y, e.Pos)
}

func (f *frame) castTo(e *syntax.Cast) value {
	x := f.bind(e.X)
	typ, err := syntax.ResolveType(e.Type)
	if err != nil {
		return f.fail(err)
	}
	if typ.Kind == batch.Interval || typ.Kind == batch.Void {
		return f.fail(fault.New(fault.UnsupportedDatatype, "nothing is cast to %s", typ).At(e.Type.Pos))
	}
	if hollow(typ) {
		return f.fail(hollowed(typ, e.Type.Pos))
	}
	v := f.cast(x, typ, e.Try)
	v.pos = e.Pos
	return v
}

// member is x.name where x is a STRUCT, an ARRAY of them, or a MAP whose keys are texts.
func (f *frame) member(x value, id syntax.Ident) value {
	if isBroken(x) {
		return x
	}
	if x.typ.Kind == batch.Map && x.typ.Fields[0].Type.Kind == batch.String {
		return f.mapValue(x, textValue(id.Text), id.Pos)
	}
	owner, isArray := x.typ, x.typ.Kind == batch.Array
	if isArray {
		owner = x.typ.Fields[0].Type
	}
	if owner.Kind != batch.Struct {
		return f.fail(fault.New(fault.InvalidExtract, "%s is taken from %s, which has no fields", batch.QuoteName(id.Text), x.typ).At(id.Pos))
	}
	names := make([]string, len(owner.Fields))
	for i, field := range owner.Fields {
		names[i] = field.Name
	}
	i := pick(id, names)
	switch i {
	case -1:
		return f.fail(fieldNotFound(id, names))
	case -2:
		return f.fail(fault.New(fault.AmbiguousStructField, "the struct has more than one field %s", id.Text).At(id.Pos))
	}
	field := owner.Fields[i]
	if x.isColumn() && x.refs[0].part != nil && !isArray {
		out := f.partOf(x, i)
		out.name, out.pos = field.Name, id.Pos
		return out
	}
	out := compose(field.Type, "struct_extract(%s, "+quoteFormat(field.Name)+")", x)
	if isArray {
		out = compose(batch.ArrayOf(field.Type), "list_transform(%s, lambda e: struct_extract(e, "+quoteFormat(field.Name)+"))", x)
	}
	if x.isColumn() && !isArray {
		out.refs = []*column{x.refs[0].inside(i, out.sql)}
	}
	out.name, out.pos = field.Name, id.Pos
	return out
}

// quoteFormat is quoteText for use in a format of compose.
func quoteFormat(s string) string { return escapeFormat(quoteText(s)) }

// index is x[i]: an element of an array, counted from 0, or the value of a key of a map.
func (f *frame) index(x, i value, pos syntax.Pos) value {
	if isBroken(x, i) {
		return wrong(pos)
	}
	switch x.typ.Kind {
	case batch.Map:
		return f.mapValue(x, i, pos)
	case batch.Array:
		if i.typ.Kind == batch.Void {
			i = f.convert(i, integer, false)
		}
		if !i.typ.IsInteger() {
			return f.fail(fault.New(fault.UnexpectedInput, "the index of an array is %s, not an integer", i.typ).At(i.pos))
		}
		return f.element(x, i, fmt.Sprintf("%s + 1", safe(i.sql, bigint)), fmt.Sprintf("%s < 0 OR %s >= len(%s)", i.sql, i.sql, x.sql), fault.InvalidArrayIndex)
	case batch.Struct:
		if name, ok := i.text(); ok {
			return f.member(x, syntax.Ident{Text: name, Pos: i.pos})
		}
	}
	return f.fail(fault.New(fault.InvalidExtract, "an element is taken from %s", x.typ).At(pos))
}

// element is the element of an array at a position counted from 1, an error where outside holds.
func (f *frame) element(x, i value, position, outside string, code *fault.Code) value {
	typ := x.typ.Fields[0].Type
	failure := raise(code, fmt.Sprintf("'the index is ' || %s || ', the array has ' || len(%s) || ' elements'", i.sql, x.sql), typ)
	sql := fmt.Sprintf("CASE WHEN %s THEN %s ELSE list_extract(%s, %s) END", outside, failure, x.sql, position)
	return derive(typ, sql, x, i).with(raises)
}

// mapValue is the value of a key, NULL where the map has no such key.
func (f *frame) mapValue(x, key value, pos syntax.Pos) value {
	want := x.typ.Fields[0].Type
	if typ, ok := common(want, key.typ); !ok || !typ.Equal(want) {
		return f.fail(fault.New(fault.UnexpectedInput, "the keys of the map are %s, not %s", want, key.typ).At(pos))
	}
	return compose(x.typ.Fields[1].Type, "map_extract_value(%s, %s)", x, f.convert(key, want, false))
}
