package dialect

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"sluice/batch"
)

// Function is a function of Spark that DuckDB lacks: eval computes it in Go, for a chunk of rows at a time.
type Function struct {
	Name    string // as Spark calls it, in lower case
	Args    []batch.Type
	Result  batch.Type
	Options [][2]string // in the order of their names, which are in lower case

	// Of a part of a document the only argument is the number of the input's row. See Document.
	Document int   // which of the query's, counted from 1; 0 for a function of its arguments
	Path     []int // the fields that lead to the part; none for the whole
}

// Given are the options by their names.
func (f *Function) Given() map[string]string {
	out := map[string]string{}
	for _, o := range f.Options {
		out[o[0]] = o[1]
	}
	return out
}

// External is the name by which SQL calls f, which depends on its types only; the first argument is a handle of f, written as
// Placeholder. There are two functions of each name: the Loud one counts what it loses and is volatile, so that DuckDB
// computes it where it stands and once for each row; the Quiet one does not and is not, since TRY takes no volatile function.
func (f *Function) External() (loud, quiet string) {
	h := fnv.New64a()
	for _, t := range f.Args {
		fmt.Fprintf(h, "%s, ", t)
	}
	fmt.Fprintf(h, "-> %s", f.Result)
	signature := fmt.Sprintf("%016x", h.Sum64())
	return loudPrefix + signature, quietPrefix + signature
}

const loudPrefix, quietPrefix = "sluice_loud_", "sluice_calm_" // equally long

// Placeholder stands in SQL for the handle of function i of a query.
func Placeholder(i int) string { return fmt.Sprintf("$f%d", i) }

// external is a call of a function that eval computes.
func (c *call) external(result batch.Type, options [][2]string, args ...value) value {
	f := Function{Name: c.name, Result: result, Options: options}
	texts := []string{""}
	for _, a := range args {
		f.Args = append(f.Args, a.typ)
		texts = append(texts, a.sql)
	}
	texts[0] = Placeholder(c.binder.function(f))
	loud, _ := f.External()
	return derive(result, loud+"("+strings.Join(texts, ", ")+")", args...)
}

// builtin is a call of a function that package builtin computes. It loses nothing, so it is always quiet: DuckDB may compute it
// as often or as seldom as it likes.
func (c *call) builtin(name string, result batch.Type, options [][2]string, args ...value) value {
	if isBroken(args...) {
		return wrong(c.pos)
	}
	f := Function{Name: name, Result: result, Options: options}
	texts := []string{""}
	for i, a := range args {
		if a.typ.Kind == batch.Void {
			args[i] = c.convert(a, integer, false)
		}
		f.Args, texts = append(f.Args, args[i].typ), append(texts, args[i].sql)
	}
	texts[0] = Placeholder(c.binder.function(f))
	_, quiet := f.External()
	return derive(result, quiet+"("+strings.Join(texts, ", ")+")", args...)
}

// computed makes the bind of a function of package builtin whose arguments have fixed types.
func computed(name string, typ batch.Type, args ...batch.Type) func(*call) value {
	return func(c *call) value {
		parts := make([]value, len(c.args))
		for i := range c.args {
			parts[i] = c.as(i, args[min(i, len(args)-1)])
		}
		return c.builtin(name, typ, nil, parts...)
	}
}

func (f *Function) equal(g *Function) bool {
	return f.Name == g.Name && f.Result.Equal(g.Result) && slices.EqualFunc(f.Args, g.Args, batch.Type.Equal) && slices.Equal(f.Options, g.Options) &&
		f.Document == g.Document && slices.Equal(f.Path, g.Path)
}

// function returns the number of f, which equal calls share.
func (b *binder) function(f Function) int {
	for i := range b.functions {
		g := &b.functions[i]
		if g.equal(&f) {
			return i
		}
	}
	b.functions = append(b.functions, f)
	return len(b.functions) - 1
}

// calm makes the calls of a statement quiet that stand inside TRY, and of several equal ones all but one: the last that is
// computed for every row, since SQL is written from the outside in, SELECT before WHERE; the first where all stand in CASE. Parts
// of one document are equal in that.
func (b *binder) calm(sql string) string {
	if !strings.Contains(sql, loudPrefix) {
		return sql
	}
	calls := callsIn(sql)
	counting := map[string]int{} // the call that counts, of those with a text
	for i, c := range calls {
		text := b.countedAs(sql[c.start:c.end])
		_, ok := counting[text]
		if !c.tried && (!ok || !c.cased) {
			counting[text] = i
		}
	}
	out := []byte(sql)
	for i, c := range calls {
		if at, ok := counting[b.countedAs(sql[c.start:c.end])]; !ok || at != i {
			copy(out[c.start:], quietPrefix)
		}
	}
	return string(out)
}

// hushed makes every call quiet: what expectations cannot read is not what is written (and they run inside TRY now and then).
func hushed(sql string) string {
	out := []byte(sql)
	for _, c := range callsIn(sql) {
		copy(out[c.start:], quietPrefix)
	}
	return string(out)
}

// callAt is a call of an external function: sql[start:end], with its arguments.
type callAt struct {
	start, end int
	tried      bool // inside TRY
	cased      bool // inside CASE: it is not computed for every row
}

// callsIn finds the calls of a statement, in the order of their beginnings.
func callsIn(sql string) (calls []callAt) {
	type open struct { // a parenthesis
		call  int // that it belongs to, -1 for none
		tried bool
	}
	var stack []open
	cases, word := 0, ""
	for i := 0; i < len(sql); {
		start := i
		switch c := sql[i]; {
		case c == '\'' || c == '"': // a doubled quote is the end of one and the beginning of the next
			i += 2 + strings.IndexByte(sql[i+1:], c)
		case isWord(c):
			for i < len(sql) && isWord(sql[i]) {
				i++
			}
		default:
			i++
		}
		tried := len(stack) > 0 && stack[len(stack)-1].tried
		switch before := word; sql[start] {
		case '(':
			in := open{call: -1, tried: tried || before == "TRY"}
			if strings.HasPrefix(before, loudPrefix) {
				in.call = len(calls) - 1
			}
			stack = append(stack, in)
		case ')':
			if top := stack[len(stack)-1]; top.call >= 0 {
				calls[top.call].end = i
			}
			stack = stack[:len(stack)-1]
		}
		switch word = sql[start:i]; {
		case word == "CASE":
			cases++
		case word == "END":
			cases--
		case strings.HasPrefix(word, loudPrefix):
			calls = append(calls, callAt{start: start, tried: tried, cased: cases > 0})
		}
	}
	return calls
}

func isWord(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' }
