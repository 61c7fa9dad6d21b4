package syntax

import "strings"

// relation reads one item of FROM: a table and the joins behind it.
func (p *parser) relation() TableRef {
	at := p.peek().pos
	lateral := p.lateral()
	left := p.relationPrimary()
	if lateral {
		markLateral(p, left, at)
	}
	for {
		join := p.joinKind()
		if join == nil {
			p.refuseFromExtras()
			return left
		}
		join.Left = left
		join.Lateral = p.lateral()
		beside(p, func() struct{} {
			join.Right = p.relationPrimary()
			return struct{}{}
		})
		p.joinCondition(join)
		left = join
	}
}

// lateral takes LATERAL in front of a subquery or a table function.
func (p *parser) lateral() bool { return !p.is("LATERAL", "VIEW") && p.accept("LATERAL") }

// lateralView reads LATERAL VIEW [OUTER] f(x) name [[AS] columns].
func (p *parser) lateralView() *TableFunc {
	p.expect("LATERAL")
	p.expect("VIEW")
	outer := p.accept("OUTER")
	f := &TableFunc{Lateral: true, Pos: p.peek().pos, Name: p.name("a function that makes rows")}
	f.Args = p.args()
	if last := &f.Name.Parts[len(f.Name.Parts)-1]; outer && !strings.HasSuffix(strings.ToLower(last.Text), "_outer") {
		last.Text += "_outer"
	}
	f.Alias = &Alias{Name: p.ident("the name of a table")}
	if t := p.peek(); p.accept("AS") || t.kind == quoted || t.kind == word && !reserved[t.upper] && !notTableAlias[t.upper] {
		f.Alias.Columns = list(p, func() Ident { return p.ident("a column's name") })
	}
	return f
}

func markLateral(p *parser, t TableRef, at Pos) {
	switch t := t.(type) {
	case *SubqueryRef:
		t.Lateral = true
	case *TableFunc:
		t.Lateral = true
	default:
		p.abort(syntaxError(at, "LATERAL stands in front of a query in parentheses or a table function"))
	}
}

// joinKind reads [NATURAL] [kind] JOIN, and returns nil when no join comes next.
func (p *parser) joinKind() *Join {
	j := &Join{Pos: p.peek().pos, Natural: p.accept("NATURAL")}
	switch kind := p.acceptAny("INNER", "CROSS", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI"); kind {
	case "":
		j.Kind = "INNER"
		if !j.Natural && !p.is("JOIN") {
			return nil
		}
	case "INNER", "CROSS":
		j.Kind = kind
	case "SEMI", "ANTI":
		j.Kind = "LEFT " + kind
	default:
		j.Kind = kind
		half := ""
		if kind == "LEFT" {
			half = p.acceptAny("SEMI", "ANTI")
		}
		if half != "" {
			j.Kind = "LEFT " + half
		} else {
			p.accept("OUTER")
		}
	}
	p.expect("JOIN")
	return j
}

func (p *parser) joinCondition(j *Join) {
	switch {
	case j.Natural:
	case p.accept("ON"):
		j.On = p.expr()
	case p.accept("USING"):
		j.Using = p.idents("a column's name")
	}
}

func (p *parser) relationPrimary() TableRef {
	at := p.peek().pos
	switch {
	case p.is("("):
		return p.relationInParens()
	case p.is("VALUES") && p.startsQuery(0):
		p.next()
		values := &Values{Pos: at, Rows: list(p, p.valuesRow)}
		q := &Query{Pos: at, Body: values}
		q.End = p.after()
		return &SubqueryRef{Query: q, Alias: p.alias(), Pos: at}
	}
	return p.relationName(true)
}

// relationInParens reads (query) alias, or a relation in parentheses.
func (p *parser) relationInParens() TableRef {
	at := p.peek().pos
	if p.queryInParens(0) {
		p.next()
		s := &SubqueryRef{Query: p.query(), Pos: at}
		p.expect(")")
		s.Alias = p.alias()
		return s
	}
	p.next()
	t := nested(p, p.relation)
	p.expect(")")
	if p.alias() != nil {
		p.refuse(at, "an alias for a join in parentheses", "write (SELECT * FROM ...) AS name")
	}
	return t
}

// relationName reads a table or a table function, read as a stream or not: t, f(x), STREAM t, STREAM(t), STREAM f(x),
// STREAM(f(x)) (SQ-06). aliased says that an alias may follow.
func (p *parser) relationName(aliased bool) TableRef {
	at := p.peek().pos
	stream, inParens := p.stream()
	name := p.name("a table's name")
	if p.is("(") {
		f := &TableFunc{Name: name, Stream: stream, Pos: at, Args: p.args()}
		f.With, f.Alias = p.relationTail(inParens, aliased)
		return f
	}
	t := &TableName{Name: name, Stream: stream, Pos: at}
	p.asOf(t)
	t.With, t.Alias = p.relationTail(inParens, aliased)
	return t
}

// relationTail reads the parenthesis of STREAM(, the options and the alias.
func (p *parser) relationTail(inParens, aliased bool) (with []Option, alias *Alias) {
	if inParens {
		p.expect(")")
	}
	if p.accept("WITH", "(") {
		with = list(p, p.option)
		p.closing()
	}
	if aliased {
		alias = p.alias()
	}
	return with, alias
}

// stream takes STREAM and the parenthesis behind it. A table may be called stream: FROM stream AS s, FROM stream.t.
func (p *parser) stream() (stream, inParens bool) {
	t := p.ahead(1)
	switch {
	case p.is("STREAM", "("):
		p.i += 2
		return true, true
	case p.is("STREAM") && (t.kind == quoted || t.kind == word && !reserved[t.upper] && !notTableAlias[t.upper]):
		p.next()
		return true, false
	}
	return false, false
}

// asOf reads [FOR] {VERSION | TIMESTAMP} AS OF value, with Spark's SYSTEM_VERSION and SYSTEM_TIME.
func (p *parser) asOf(t *TableName) {
	if p.is("FOR") {
		p.next()
		if !p.isAny("VERSION", "SYSTEM_VERSION", "TIMESTAMP", "SYSTEM_TIME") {
			p.fail("VERSION AS OF or TIMESTAMP AS OF")
		}
	}
	switch {
	case p.accept("VERSION", "AS", "OF"), p.accept("SYSTEM_VERSION", "AS", "OF"):
		t.Version = p.operation(levelComparison)
	case p.accept("TIMESTAMP", "AS", "OF"), p.accept("SYSTEM_TIME", "AS", "OF"):
		t.Timestamp = p.operation(levelComparison)
	}
}

// args reads the arguments of a table function: value, name => value, 'any name' => value.
func (p *parser) args() []Arg {
	if p.accept("(", ")") {
		return nil
	}
	return parenthesised(p, func() Arg {
		t := p.peek()
		a := Arg{Pos: t.pos}
		n := 1
		for p.ahead(n).is(".") && p.ahead(n+1).isName() {
			n += 2
		}
		if (t.isName() || t.kind == text && n == 1) && p.ahead(n).is("=>") {
			a.Key = p.optionKey()
			p.expect("=>")
		}
		if p.is("TABLE") && (p.ahead(1).is("(") || p.startsQuery(0)) {
			p.refuse(t.pos, "a table as an argument", "join the table in FROM")
		}
		a.Value = p.expr()
		return a
	})
}

// alias reads [AS] name [(columns)], and returns nil when none comes next.
func (p *parser) alias() *Alias {
	p.refuseSample()
	t := p.peek()
	switch {
	case p.accept("AS"):
	case t.kind == quoted:
	case t.kind == word && !reserved[t.upper] && !notTableAlias[t.upper]:
		p.aliasAt = p.i
	default:
		return nil
	}
	a := &Alias{Name: p.ident("the name of a table")}
	if p.is("(") {
		a.Columns = p.idents("a column's name")
	}
	return a
}

func (p *parser) refuseSample() {
	at := p.peek().pos
	switch {
	case p.is("TABLESAMPLE", "("):
		p.refuse(at, "TABLESAMPLE", "filter with WHERE")
	case p.is("WATERMARK") && p.ahead(1).isName() && p.ahead(2).is("DELAY"):
		p.refuse(at, "WATERMARK", "flows keep no windowed state; sequence the rows with REPLACE USING")
	}
}
