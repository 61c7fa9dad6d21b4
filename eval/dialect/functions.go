package dialect

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"sluice/batch"
	"sluice/fault"
	"sluice/syntax"
)

// function is one function of the allowlist (D-47).
type function struct {
	name     string // with its other names, if any, behind it: "ceil ceiling"
	args     string // as docs/sql.md shows them: "text, length [, pad]"
	min, max int    // number of arguments; max -1 is any number
	kind     kind
	exact    string // "exact", or on what domain it is
	bind     func(c *call) value
	expand   func(c *call) (generated, bool) // of a generator
}

type kind uint8

const (
	scalar     kind = iota
	aggregate       // one value for many rows; also over a window
	window          // over a window only
	clock           // reads the batch time (D-48)
	generating      // makes rows
)

const exact = "exact"

// call is a call of a function, its arguments understood.
type call struct {
	*frame
	fn   *function
	expr *syntax.Func
	name string
	args []value
	pos  syntax.Pos
}

// functions are all functions by each of their names in lower case.
var functions = map[string]*function{}

// catalogue lists the functions in the order of docs/sql.md, section by section.
var catalogue []section

type section struct {
	title     string
	functions []*function
}

func init() {
	for _, s := range []section{
		{"Conditions and nulls", conditionals}, {"Numbers", numbers}, {"Text", texts}, {"Dates and times", dates},
		{"Arrays, maps and structs", slices.Concat(collections, arrays)}, {"Functions of functions", higher}, {"Casts as functions", casts}, {"JSON", documents}, {"CSV", records}, {"Aggregates", slices.Concat(aggregates, statistics)}, {"Windows", windows}, {"Functions that make rows", generators}, {"Others", others},
	} {
		catalogue = append(catalogue, s)
		for _, fn := range s.functions {
			for _, name := range strings.Fields(fn.name) {
				functions[name] = fn
			}
		}
	}
}

// call understands a call.
func (f *frame) call(e *syntax.Func) value {
	c, ok := f.arguments(e)
	if !ok {
		return wrong(e.Pos)
	}
	v := c.fn.bind(c)
	if c.fn.kind == scalar {
		v = v.beside(c.args)
	}
	v.pos = e.Pos
	return v
}

// arguments understands the arguments of a call. What is wrong with them has been reported.
func (f *frame) arguments(e *syntax.Func) (*call, bool) {
	name := strings.ToLower(e.Name.Parts[len(e.Name.Parts)-1].Text)
	fn := functions[name]
	if len(e.Name.Parts) > 1 || fn == nil {
		f.unknownFunction(e, name)
		return nil, false
	}
	c := &call{frame: f, fn: fn, expr: e, name: name, pos: e.Pos}
	if err := c.misplaced(); err != nil {
		f.fail(err)
		return nil, false
	}
	if name == "array_sort" && len(e.Args) == 2 {
		f.fail(unsupported("array_sort with a function that compares is not supported").At(e.Args[1].Position()).
			WithHint("sort structs that begin with the key: transform(array_sort(transform(a, x -> struct(KEY AS k, x AS v))), y -> y.v)"))
		return nil, false
	}
	if e.Star && name != "count" {
		f.fail(unsupported("%s(*) is not supported", name).At(e.Pos).WithHint("name the columns"))
		return nil, false
	}
	if n := len(e.Args); n < fn.min || fn.max >= 0 && n > fn.max {
		f.fail(fault.New(fault.WrongArguments, "%s takes %s, not %d", name, fn.arity(), n).At(e.Pos).WithHint("write %s(%s)", name, fn.args))
		return nil, false
	}
	inner := f
	if fn.kind == aggregate || fn.kind == window {
		inner = f.within(name)
	}
	for _, a := range e.Args {
		if l, ok := a.(*syntax.Lambda); ok && fn.takesFunctions() { // its parameters have types once the others are known
			c.args = append(c.args, value{pos: l.Pos})
			continue
		}
		c.args = append(c.args, inner.bind(a))
	}
	if isBroken(c.args...) {
		return nil, false
	}
	if e.Distinct {
		for i, a := range c.args {
			f.checkOrdered(a.typ, "DISTINCT", a.pos)
			if name != "max" && name != "min" { // which take DISTINCT and do not heed it
				c.args[i] = zeroed(a)
			}
		}
	}
	return c, true
}

// takesFunctions reports whether an argument is a function: x -> y.
func (fn *function) takesFunctions() bool { return strings.Contains(fn.args, "->") }

func (fn *function) arity() string {
	switch {
	case fn.max < 0:
		return "at least " + counted(fn.min, "argument")
	case fn.min == fn.max:
		return counted(fn.min, "argument")
	}
	return fmt.Sprintf("%d to %s", fn.min, counted(fn.max, "argument"))
}

// counted is a number of things, for messages.
func counted(n int, thing string) string {
	if n == 1 {
		return "one " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

func (f *frame) unknownFunction(e *syntax.Func, name string) value {
	if hint, known := refused[name]; known {
		return f.fail(fault.New(fault.UnsupportedFunction, "the function %s is not supported", name).At(e.Pos).WithHint("%s", hint))
	}
	err := fault.New(fault.UnresolvedRoutine, "there is no function %s", written(e.Name.Parts)).At(e.Pos)
	names := make([]string, 0, len(functions))
	for n := range functions {
		names = append(names, n)
	}
	sort.Strings(names)
	if near := nearest(name, names); len(near) > 0 {
		err.WithHint("did you mean %s?", strings.Join(near, " or "))
	} else {
		err.WithHint("the functions are listed in docs/sql.md")
	}
	return f.fail(err)
}

// argument brings v to the type that a function takes, where Spark casts implicitly: between atomic types, if it can be
// cast at all.
func (f *frame) argument(v value, to batch.Type, function string) value {
	if isBroken(v) || v.typ.Equal(to) {
		return v
	}
	allowed := castable(v.typ, to) && (v.typ.Kind == batch.Void || isAtomic(v.typ))
	switch {
	case to.IsNumeric():
		allowed = allowed && (v.typ.IsNumeric() || v.typ.Kind == batch.String)
	case isTime(to):
		allowed = allowed && (isTime(v.typ) || v.typ.Kind == batch.String)
	case to.Kind == batch.Boolean || to.Kind == batch.Binary:
		allowed = allowed && v.typ.Kind == batch.String
	}
	if v.typ.Kind == batch.Void {
		allowed = true
	}
	if !allowed {
		return f.fail(fault.New(fault.UnexpectedInput, "%s takes %s, not %s", function, to, v.typ).At(v.pos).WithHint("CAST it"))
	}
	return f.convert(v, to, false)
}

// as returns argument i as a value of the given type.
func (c *call) as(i int, typ batch.Type) value { return c.argument(c.args[i], typ, c.name) }

// has reports whether argument i was given.
func (c *call) has(i int) bool { return i < len(c.args) }

// constText returns argument i, which must be a constant text. The empty value and true say it is NULL.
func (c *call) constText(i int) (s string, isNull, ok bool) {
	v := c.args[i]
	if v.isNull() {
		return "", true, true
	}
	if s, ok := v.text(); ok {
		return s, false, true
	}
	c.report(fault.New(fault.NonFoldable, "argument %d of %s must be a constant text", i+1, c.name).At(v.pos))
	return "", false, false
}

// constInt returns argument i, which must be a constant integer.
func (c *call) constInt(i int) (int, bool) {
	v := c.args[i]
	var n int
	if v.konst != nil && v.typ.IsInteger() {
		if _, err := fmt.Sscanf(v.konst.text, "%d", &n); err == nil {
			return n, true
		}
	}
	c.report(fault.New(fault.NonFoldable, "argument %d of %s must be a constant integer", i+1, c.name).At(v.pos))
	return 0, false
}

// refuse reports that the function exists but not with these arguments.
func (c *call) refuse(hint, format string, args ...any) value {
	return c.fail(fault.New(fault.UnsupportedFunction, format, args...).At(c.pos).WithHint("%s", hint))
}

// mistyped reports an argument of a wrong type.
func (c *call) mistyped(i int, takes string) value {
	return c.fail(fault.New(fault.UnexpectedInput, "%s takes %s, not %s", c.name, takes, c.args[i].typ).At(c.args[i].pos))
}

// simple makes the bind of a function whose arguments have fixed types and whose SQL is a format of them.
func simple(typ batch.Type, format string, args ...batch.Type) func(*call) value {
	return func(c *call) value {
		parts := make([]value, len(c.args))
		for i := range c.args {
			parts[i] = c.as(i, args[min(i, len(args)-1)])
		}
		return compose(typ, format, parts...)
	}
}

func escapeFormat(s string) string { return strings.ReplaceAll(s, "%", "%%") }

// unsupported is a fault of something that Spark has and Sluice does not.
func unsupported(format string, args ...any) *fault.Error {
	return fault.New(fault.UnsupportedFunction, format, args...)
}
