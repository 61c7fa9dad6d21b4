package dialect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/batch"
	"sluice/fault"
	"sluice/replacewhere"
	"sluice/syntax"
)

// Where is the predicate of a REPLACE WHERE flow, over what a projection writes (D-25).
type Where struct {
	Expr    syntax.Expr
	Columns []int   // of the projection's: those it can name
	Aliases []Alias // further names of some of them
	Sorted  bool    // rows come sorted by Cluster
	Cluster int     // a column of the projection; -1 is the first that the predicate compares with something
}

// Alias is a table in FROM whose name the predicate may write in front of columns that the query hands on unchanged (RW-11).
type Alias struct {
	names   []string
	columns []int // of the projection's
}

// Window is what is known of a predicate beside its verdicts on rows.
type Window struct {
	Tree      *replacewhere.Predicate // over the projection's columns
	Constants *Compiled               // gives one row: the values of Tree, then texts for Resolved; nil when there are neither
	Values    int                     // how many of its columns are values
	Random    bool                    // two looks at one row may have different verdicts
	Cluster   int                     // the column that rows come sorted by; -1: they do not
	// Sources are parallel to the statement's Reads: a predicate over the Columns of the relation, with the values of Tree. A row for which
	// it is not TRUE makes no row for which the predicate is: it need not be read (RW-03). Nil is not known.
	Sources []*replacewhere.Predicate
	where   syntax.Expr
	shown   []syntax.Expr // what the texts stand for
	types   []batch.Type
}

// Aliases finds the names that a predicate over the projection may write in front of columns.
func (a *Analysis) Aliases(columns []Target) (out []Alias) {
	root := a.query.root
	s, ok := root.body.(*selection)
	if !ok {
		return nil
	}
	for _, src := range s.frame.scope.sources {
		if len(src.names) == 0 || slices.ContainsFunc(root.outputs, func(o *output) bool { return strings.EqualFold(o.name, src.names[len(src.names)-1]) }) {
			continue // the predicate means the column (D-20)
		}
		alias := Alias{names: src.names}
		for i, t := range columns {
			if t.From >= 0 && handsOn(root.outputs[t.From], src) {
				alias.columns = append(alias.columns, i)
			}
		}
		out = append(out, alias)
	}
	return out
}

// handsOn reports whether an output is a column of a table as it is, under its name.
func handsOn(o *output, src *source) bool {
	return o.value.isColumn() && slices.Contains(src.columns, o.value.refs[0]) && strings.EqualFold(o.value.refs[0].name, o.name)
}

// where understands a predicate over the stored columns.
func (c *compiler) where(w *Where) (value, *Window) {
	f := c.newFrame(c.predicateScope(w), "the predicate of REPLACE WHERE")
	f.alone = true
	before := len(c.problems)
	v := f.condition(f.bind(w.Expr), f.clause)
	for _, e := range c.problems[before:] {
		if e.Code == fault.UnresolvedColumn || e.Code == fault.UnresolvedColumnBare {
			e.Code = fault.ReplaceWhereColumn // RW-O6
			e.Hint += "; a predicate is about the rows of the table, so it names columns that the query gives, with a table in front only where the query hands them on unchanged"
		}
	}
	if isBroken(v) {
		return v, nil
	}
	t := treeMaker{frame: f, window: &Window{Random: v.is(random), Cluster: w.Cluster, where: w.Expr}}
	t.window.Tree = t.tree(w.Expr)
	if c := &t.window.Cluster; !w.Sorted {
		*c = -1
	} else if *c < 0 {
		*c = t.window.Tree.Bounds()
	}
	t.finish()
	v.sql = hushed(v.sql)
	return v, t.window
}

// clusterKey is what rows are sorted by. A number that is sorted by itself comes out of DuckDB's sort with one zero for both.
func (c *compiler) clusterKey() string {
	column := c.storedColumn(c.window.Cluster)
	if column.typ.Kind == batch.Float || column.typ.Kind == batch.Double {
		return fmt.Sprintf("CASE WHEN %[1]s = 0 THEN 0 ELSE %[1]s END", column.sql)
	}
	return column.sql
}

// predicateScope is the row as it is stored: the columns that may be named, and under the names of tables those of them that came from there
// unchanged, hidden from bare names.
func (c *compiler) predicateScope(w *Where) *scope {
	s := &scope{hides: map[*column]bool{}}
	row := &source{}
	for _, i := range w.Columns {
		row.columns = append(row.columns, c.storedColumn(i))
	}
	s.sources, s.order = []*source{row}, row.columns
	for _, a := range w.Aliases {
		src := &source{names: a.names}
		for _, i := range a.columns {
			hidden := c.storedColumn(i)
			s.hides[hidden] = true
			src.columns = append(src.columns, hidden)
		}
		s.sources = append(s.sources, src)
	}
	return s
}

// storedColumn is column i of the row as it is stored.
func (c *compiler) storedColumn(i int) *column {
	o := c.stored[i]
	return &column{name: o.name, typ: o.value.typ, sql: fmt.Sprintf("r.c%d", i), output: o}
}

// treeMaker makes the tree of a predicate that has been found to be sound.
type treeMaker struct {
	*frame
	window *Window
	values []value
	texts  []value
}

var treeOps = map[string]replacewhere.Op{"=": replacewhere.Equal, "==": replacewhere.Equal, "<=>": replacewhere.Same,
	"<": replacewhere.Less, "<=": replacewhere.AtMost, ">": replacewhere.Greater, ">=": replacewhere.AtLeast}

// turned is the comparison with its sides exchanged.
var turned = map[replacewhere.Op]replacewhere.Op{replacewhere.Less: replacewhere.Greater, replacewhere.AtMost: replacewhere.AtLeast,
	replacewhere.Greater: replacewhere.Less, replacewhere.AtLeast: replacewhere.AtMost}

func (t *treeMaker) tree(e syntax.Expr) *replacewhere.Predicate {
	switch e := e.(type) {
	case *syntax.Unary:
		if e.Op == "NOT" {
			return negated(t.tree(e.X))
		}
	case *syntax.Binary:
		return t.binary(e)
	case *syntax.Between:
		return t.unless(e.Not, t.and(t.comparison(">=", e.X, e.Low), t.comparison("<=", e.X, e.High)))
	case *syntax.In:
		return t.unless(e.Not, t.listed(e))
	case *syntax.Is:
		if x := t.bind(e.X); e.What == "NULL" && t.place(x) >= 0 {
			return t.unless(e.Not, &replacewhere.Predicate{Op: replacewhere.IsNull, Column: t.place(x)})
		} else if e.What == "DISTINCT" {
			return t.unless(!e.Not, t.comparison("<=>", e.X, e.Y))
		}
	}
	if v := t.condition(t.bind(e), t.clause); constantValue(v) {
		t.show(e, v)
		return &replacewhere.Predicate{Op: replacewhere.Constant, Value: t.value(v)}
	}
	return &replacewhere.Predicate{}
}

func (t *treeMaker) binary(e *syntax.Binary) *replacewhere.Predicate {
	switch e.Op {
	case "AND":
		return t.and(t.tree(e.X), t.tree(e.Y))
	case "OR":
		return &replacewhere.Predicate{Op: replacewhere.Or, Args: []*replacewhere.Predicate{t.tree(e.X), t.tree(e.Y)}}
	case "<>", "!=":
		return negated(t.comparison("=", e.X, e.Y))
	}
	if _, ok := treeOps[e.Op]; ok {
		return t.comparison(e.Op, e.X, e.Y)
	}
	return &replacewhere.Predicate{}
}

func (t *treeMaker) and(args ...*replacewhere.Predicate) *replacewhere.Predicate {
	return &replacewhere.Predicate{Op: replacewhere.And, Args: args}
}

func (t *treeMaker) unless(not bool, p *replacewhere.Predicate) *replacewhere.Predicate {
	if not {
		return negated(p)
	}
	return p
}

func negated(p *replacewhere.Predicate) *replacewhere.Predicate {
	return &replacewhere.Predicate{Op: replacewhere.Not, Args: []*replacewhere.Predicate{p}}
}

// comparison is a column beside a constant; a comparison for which the column has to be cast first is opaque, since the statistics are of
// values that are not.
func (t *treeMaker) comparison(op string, left, right syntax.Expr) *replacewhere.Predicate {
	x, y := t.bind(left), t.bind(right)
	if constantValue(x) {
		t.show(left, x)
	}
	if constantValue(y) {
		t.show(right, y)
	}
	x, y, ok := t.alike(op, x, y, left.Position())
	if !ok {
		return &replacewhere.Predicate{}
	}
	code := treeOps[op]
	if constantValue(x) {
		if x, y = y, x; turned[code] != 0 {
			code = turned[code]
		}
	}
	at, days := t.dayOrPlace(x)
	return t.compared(code, at, days, y)
}

// mostValues is how many constants files are held against. What a predicate compares beyond them is opaque: the statement that gives the
// constants has a column for each.
const mostValues = 1000

// compared is a column, or the days of one, beside a constant; opaque if they are not that.
func (t *treeMaker) compared(op replacewhere.Op, column int, days *time.Location, v value) *replacewhere.Predicate {
	if column < 0 || !constantValue(v) || len(t.values) >= mostValues {
		return &replacewhere.Predicate{}
	}
	return &replacewhere.Predicate{Op: op, Column: column, Days: days, Value: t.value(v)}
}

// dayOrPlace is place; of the day of a TIMESTAMP it is that of the TIMESTAMP, and the zone of the days.
func (t *treeMaker) dayOrPlace(v value) (int, *time.Location) {
	if len(v.refs) == 1 && v.typ.Kind == batch.Date && isInstant(v.refs[0].typ) && v.sql == t.cast(v.refs[0].value(), date, false).sql {
		return t.place(v.refs[0].value()), t.zoneOf(v.refs[0].typ)
	}
	return t.place(v), nil
}

// zoneOf is the zone in which the values of a type have days.
func (b *binder) zoneOf(typ batch.Type) *time.Location {
	if typ.Kind == batch.TimestampNTZ {
		return time.UTC
	}
	return b.zone.loc
}

// listed is a column beside the items of IN, which are all brought to one type.
func (t *treeMaker) listed(e *syntax.In) *replacewhere.Predicate {
	any := &replacewhere.Predicate{Op: replacewhere.Or}
	values := []value{t.bind(e.X)}
	for _, item := range e.List {
		v := t.bind(item)
		if values = append(values, v); constantValue(v) {
			t.show(item, v)
		}
	}
	values, ok := t.unify("IN", values, e.Pos)
	if !ok {
		return &replacewhere.Predicate{}
	}
	column, days := t.dayOrPlace(values[0])
	for _, v := range values[1:] {
		any.Args = append(any.Args, t.compared(replacewhere.Equal, column, days, v))
	}
	return any
}

// place is which column of the projection a value is, -1 for none.
func (t *treeMaker) place(v value) int {
	at := -1
	if v.isColumn() && v.typ.Orderable() {
		if _, err := fmt.Sscanf(v.sql, "r.c%d", &at); err != nil || v.sql != fmt.Sprintf("r.c%d", at) {
			return -1
		}
	}
	return at
}

// constantValue reports whether a value is the same for every row of an update.
func constantValue(v value) bool {
	return len(v.refs) == 0 && len(v.inner) == 0 && !v.is(random|broken)
}

func (t *treeMaker) value(v value) int {
	t.values = append(t.values, v)
	return len(t.values) - 1
}

// show notes that an expression is shown with its value, unless that is what it is.
func (t *treeMaker) show(e syntax.Expr, v value) {
	if _, literal := e.(*syntax.Literal); literal || slices.Contains(t.window.shown, e) || v.typ.IsNested() || v.typ.Kind == batch.Interval {
		return
	}
	t.window.shown, t.window.types = append(t.window.shown, e), append(t.window.types, v.typ)
	t.texts = append(t.texts, t.cast(v, text, false))
}

// finish writes the statement that gives the constants.
func (t *treeMaker) finish() {
	if len(t.values)+len(t.texts) == 0 {
		return
	}
	c := &Compiled{Functions: t.functions}
	var items []string
	for i, v := range slices.Concat(t.values, t.texts) {
		c.Columns = append(c.Columns, batch.Field{Name: fmt.Sprintf("v%d", i), Type: v.typ})
		c.Clock = c.Clock || v.is(clocked)
		items = append(items, safe(v.sql, v.typ)+fmt.Sprintf(" AS v%d", i))
	}
	c.SQL = t.calm("SELECT " + strings.Join(items, ", "))
	t.window.Constants, t.window.Values = c, len(t.values)
}

// Resolved is the predicate with the values of one update in place of what they were computed from: the columns of Constants behind the
// first Values.
func (w *Window) Resolved(row batch.Columns) string {
	texts := map[syntax.Expr]syntax.Expr{}
	for i, e := range w.shown {
		c := &row.Cols[w.Values+i]
		if c.IsNull(0) {
			texts[e] = &syntax.Literal{Kind: syntax.NullLiteral}
		} else {
			texts[e] = literalOf(w.types[i], string(c.Text(0)))
		}
	}
	return syntax.PrintExpr(replaced(w.where, texts))
}

var literalKinds = map[batch.Kind]syntax.LiteralKind{batch.Boolean: syntax.BoolLiteral, batch.TinyInt: syntax.IntegerLiteral, batch.SmallInt: syntax.IntegerLiteral,
	batch.Int: syntax.IntegerLiteral, batch.BigInt: syntax.IntegerLiteral, batch.String: syntax.StringLiteral, batch.Date: syntax.DateLiteral}

func literalOf(typ batch.Type, value string) syntax.Expr {
	switch kind, ok := literalKinds[typ.Kind]; {
	case typ.Kind == batch.Timestamp:
		return &syntax.Literal{Kind: syntax.TimeLiteral, Type: "TIMESTAMP", Text: value}
	case typ.Kind == batch.TimestampNTZ:
		return &syntax.Literal{Kind: syntax.TimeLiteral, Type: "TIMESTAMP_NTZ", Text: value}
	case typ.Kind == batch.Boolean:
		return &syntax.Literal{Kind: kind, Text: strings.ToUpper(value)}
	case ok:
		return &syntax.Literal{Kind: kind, Text: value}
	}
	return &syntax.Cast{X: &syntax.Literal{Kind: syntax.StringLiteral, Text: value}, Type: &syntax.TypeExpr{Name: typ.String()}}
}

// replaced is a copy of e, as far as it is looked into for constants, with the given parts in place of others.
func replaced(e syntax.Expr, by map[syntax.Expr]syntax.Expr) syntax.Expr {
	if other, ok := by[e]; ok {
		return other
	}
	switch e := e.(type) {
	case *syntax.Unary:
		c := *e
		c.X = replaced(e.X, by)
		return &c
	case *syntax.Binary:
		c := *e
		c.X, c.Y = replaced(e.X, by), replaced(e.Y, by)
		return &c
	case *syntax.Between:
		c := *e
		c.X, c.Low, c.High = replaced(e.X, by), replaced(e.Low, by), replaced(e.High, by)
		return &c
	case *syntax.In:
		c := *e
		c.X, c.List = replaced(e.X, by), slices.Clone(e.List)
		for i := range c.List {
			c.List[i] = replaced(c.List[i], by)
		}
		return &c
	case *syntax.Is:
		if e.Y != nil {
			c := *e
			c.X, c.Y = replaced(e.X, by), replaced(e.Y, by)
			return &c
		}
	}
	return e
}

// AllOf is the query that gives the rows of r as they are.
func AllOf(r *Relation, opt Options) (*Analysis, fault.List) {
	name := &syntax.TableName{Name: syntax.Name{Parts: []syntax.Ident{{Text: r.Name}}}}
	return Analyse(&syntax.Query{Body: &syntax.Select{Items: []syntax.SelectItem{{Expr: &syntax.Star{}}}, From: []syntax.TableRef{name}}}, one{r}, opt)
}

// one is a scope of one relation.
type one struct{ relation *Relation }

// Relation implements Scope.
func (o one) Relation(syntax.TableRef) (*Relation, *fault.Error) { return o.relation, nil }
