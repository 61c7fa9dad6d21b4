package syntax

// findQueries notes for each parenthesis whether a query stands in it, not an expression or a join. A query may begin with
// further parentheses: ((SELECT 1) UNION (SELECT 2)), unlike ((SELECT 1) + 2).
func (p *parser) findQueries() {
	p.queries = make([]bool, len(p.tokens))
	for i := len(p.tokens) - 2; i >= 0; i-- {
		if !p.tokens[i].is("(") {
			continue
		}
		p.queries[i] = p.queryAt(i+1) || p.queries[i+1] && p.queryGoesOn(p.close[i+1]+1)
	}
}

// queryAt reports whether a query begins at index i. SELECT, WITH, VALUES and TABLE are also names, so what stands behind
// them counts.
func (p *parser) queryAt(i int) bool {
	if i+1 >= len(p.tokens) {
		return false
	}
	t, then := &p.tokens[i], &p.tokens[i+1]
	switch {
	case t.is("SELECT"):
		return !then.is(")") && !then.is(",") && !then.is(".") && !then.is("->")
	case t.is("VALUES"):
		return !operandEnd(then)
	case t.is("WITH"), t.is("TABLE"), t.is("FROM"):
		return then.isName() && !operandEnd(then)
	}
	return false
}

// queryGoesOn reports whether the token at index i goes on with a query, or closes the parenthesis around it.
func (p *parser) queryGoesOn(i int) bool {
	t := &p.tokens[min(i, len(p.tokens)-1)]
	return t.is(")") || t.kind == word && goesOnWithQuery[t.upper]
}

var goesOnWithQuery = set("UNION INTERSECT EXCEPT MINUS SETMINUS ORDER LIMIT OFFSET")

// startsQuery reports whether the token n places on begins a query, and queryInParens whether a query stands in the
// parenthesis n places on.
func (p *parser) startsQuery(n int) bool   { return p.queryAt(p.i + n) }
func (p *parser) queryInParens(n int) bool { return p.queries[min(p.i+n, len(p.tokens)-1)] }

// query reads [WITH ...] body [ORDER BY ...] [LIMIT n] [OFFSET n].
func (p *parser) query() *Query {
	return nested(p, func() *Query {
		q := &Query{Pos: p.peek().pos}
		outer := p.windows
		p.windows = nil
		if p.accept("WITH") {
			if p.is("RECURSIVE") && p.ahead(1).isName() && !p.ahead(1).is("AS") {
				p.refuse(p.peek().pos, "WITH RECURSIVE", "a flow's query reads its sources once")
			}
			q.With = list(p, p.cte)
		}
		q.Body = p.setExpr(0)
		p.queryTail(q)
		q.End = p.after()
		p.resolveWindows(nil)
		p.windows = outer
		return q
	})
}

func (p *parser) cte() CTE {
	c := CTE{Name: p.ident("the name of a common table expression")}
	if p.is("(") && !p.queryInParens(0) {
		c.Columns = p.idents("a column's name")
	}
	p.accept("AS")
	p.expect("(")
	c.Query = p.query()
	p.expect(")")
	return c
}

func (p *parser) queryTail(q *Query) {
	if p.accept("ORDER") {
		p.expect("BY")
		q.OrderBy = list(p, p.orderItem)
	}
	for _, w := range []string{"SORT", "CLUSTER", "DISTRIBUTE"} {
		if p.is(w, "BY") {
			p.refuse(p.peek().pos, w+" BY", "rows have no order but that of ORDER BY")
		}
	}
	if p.accept("LIMIT") && !p.accept("ALL") {
		q.Limit = p.expr()
	}
	if p.accept("OFFSET") {
		q.Offset = p.expr()
	}
	if p.is("|>") {
		p.refuse(p.peek().pos, "the pipe |>", "nest the queries: SELECT ... FROM (SELECT ...)")
	}
}

func (p *parser) orderItem() OrderItem {
	o := OrderItem{Expr: p.expr()}
	o.Desc = p.acceptAny("DESC", "ASC") == "DESC"
	if p.accept("NULLS") {
		if o.Nulls = p.acceptAny("FIRST", "LAST"); o.Nulls == "" {
			p.fail("FIRST or LAST")
		}
	}
	return o
}

// setExpr reads UNION, EXCEPT and INTERSECT; INTERSECT binds tighter (level 1).
func (p *parser) setExpr(level int) SetExpr {
	if level == 2 {
		return p.queryTerm()
	}
	left := p.setExpr(level + 1)
	for {
		op, at := p.setOp(level), p.last().pos
		if op == "" {
			return left
		}
		s := &SetOp{Op: op, Left: left, Pos: at}
		s.All = p.acceptAny("ALL", "DISTINCT") == "ALL"
		s.Right = beside(p, func() SetExpr { return p.setExpr(level + 1) })
		left = s
	}
}

func (p *parser) setOp(level int) string {
	if level == 1 {
		return p.acceptAny("INTERSECT")
	}
	switch op := p.acceptAny("UNION", "EXCEPT", "MINUS", "SETMINUS"); op {
	case "MINUS", "SETMINUS":
		return "EXCEPT"
	default:
		return op
	}
}

func (p *parser) queryTerm() SetExpr {
	at := p.peek().pos
	switch {
	case p.accept("SELECT"):
		return p.selectBody(at)
	case p.accept("VALUES"):
		return &Values{Pos: at, Rows: list(p, p.valuesRow)}
	case p.accept("("):
		q := p.query()
		p.expect(")")
		return q
	case p.accept("TABLE"):
		name := p.name("a table's name")
		return &Select{Pos: at, Items: []SelectItem{{Expr: &Star{Pos: at}}}, From: []TableRef{&TableName{Name: name, Pos: name.Pos}}}
	case p.is("FROM"):
		p.refuse(at, "a query that begins with FROM", "begin with SELECT")
	}
	p.fail("SELECT")
	return nil
}

// valuesRow reads (a, b), or one expression, which is a row of one column.
func (p *parser) valuesRow() []Expr {
	e := p.expr()
	if t, ok := e.(*Tuple); ok {
		return t.Items
	}
	return []Expr{e}
}

// selectBody reads what stands behind SELECT.
func (p *parser) selectBody(at Pos) *Select {
	s := &Select{Pos: at, Distinct: p.quantifier()}
	s.Items = list(p, p.selectItem)
	if p.accept("FROM") {
		s.From = list(p, p.relation)
		for p.is("LATERAL", "VIEW") {
			s.From = append(s.From, p.lateralView())
		}
		p.refuseFromExtras()
	}
	if p.accept("WHERE") {
		s.Where = p.expr()
	}
	p.groupBy(s)
	if p.accept("HAVING") {
		s.Having = p.expr()
	}
	if p.accept("QUALIFY") {
		s.Qualify = p.expr()
	}
	p.windowClause()
	return s
}

// quantifier takes DISTINCT or ALL and reports whether it was DISTINCT. Both are also names of columns.
func (p *parser) quantifier() bool {
	if !p.isAny("DISTINCT", "ALL") || p.ahead(1).kind == end {
		return false
	}
	switch then := p.ahead(1); {
	case then.is(","), then.is(")"), then.is("."), then.is("->"):
		return false
	case then.is("AS"), then.is("FROM"):
		if !operandEnd(p.ahead(2)) {
			return false
		}
	}
	return p.next().is("DISTINCT")
}

// selectItem reads expr [[AS] alias] or a star.
func (p *parser) selectItem() SelectItem {
	if star := p.star(); star != nil {
		return SelectItem{Expr: star}
	}
	item := SelectItem{Expr: p.expr()}
	t := p.peek()
	switch {
	case p.accept("AS"):
		if p.is("(") {
			item.Aliases = p.idents("a column's name")
			return item
		}
		alias := p.ident("a column's name")
		item.Alias = &alias
	case t.kind == quoted, t.kind == word && !reserved[t.upper] && !notColumnAlias[t.upper]:
		p.aliasAt = p.i
		alias := p.next().ident()
		item.Alias = &alias
	}
	return item
}

// star reads *, t.* and * EXCEPT (a, b), and returns nil when something else comes next.
func (p *parser) star() *Star {
	at := p.peek()
	n := 0
	for p.ahead(n).isName() && p.ahead(n+1).is(".") {
		n += 2
	}
	if !p.ahead(n).is("*") {
		return nil
	}
	s := &Star{Pos: at.pos}
	if n > 0 {
		q := p.path("a table's name")
		p.expect(".")
		s.Qualifier = &q
	}
	p.expect("*")
	if p.is("EXCEPT", "(") && !p.queryInParens(1) {
		p.next()
		s.Except = p.idents("a column's name")
	}
	return s
}

func (p *parser) groupBy(s *Select) {
	s.GroupPos = p.peek().pos
	if !p.accept("GROUP") {
		s.GroupPos = Pos{}
		return
	}
	p.expect("BY")
	if p.is("ALL") && !p.is("ALL", ".") && !p.is("ALL", ",") && !p.is("ALL", "(") {
		p.next()
		s.GroupByAll = true
		return
	}
	s.GroupBy = list(p, func() Expr {
		for _, w := range []string{"ROLLUP", "CUBE"} {
			if p.is(w, "(") {
				p.refuse(p.peek().pos, w, "write one query for each grouping and UNION ALL between them")
			}
		}
		p.refuseGroupingSets()
		return p.expr()
	})
	p.refuseGroupingSets()
	if p.is("WITH", "ROLLUP") || p.is("WITH", "CUBE") {
		p.refuse(p.peek().pos, "WITH "+p.ahead(1).upper, "write one query for each grouping and UNION ALL between them")
	}
}

func (p *parser) refuseGroupingSets() {
	if p.is("GROUPING", "SETS") {
		p.refuse(p.peek().pos, "GROUPING SETS", "write one query for each grouping and UNION ALL between them")
	}
}

// refuseFromExtras names what Spark has behind FROM and the tree has not.
func (p *parser) refuseFromExtras() {
	at := p.peek().pos
	switch {
	case p.is("PIVOT", "("):
		p.refuse(at, "PIVOT", "write one aggregate with FILTER (WHERE ...) for each value")
	case p.is("UNPIVOT"):
		p.refuse(at, "UNPIVOT", "write a UNION ALL of one query for each column")
	}
}
