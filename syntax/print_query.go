package syntax

import "fmt"

func (p *printer) query(q *Query) {
	if q.With != nil {
		p.put("WITH ")
		each(p, q.With, p.cte)
		p.put(" ")
	}
	p.setExpr(q.Body)
	if q.OrderBy != nil {
		p.put(" ORDER BY ")
		each(p, q.OrderBy, p.orderItem)
	}
	if q.Limit != nil {
		p.put(" LIMIT ")
		p.any(q.Limit)
	}
	if q.Offset != nil {
		p.put(" OFFSET ")
		p.any(q.Offset)
	}
}

func (p *printer) cte(c CTE) {
	p.ident(c.Name)
	if c.Columns != nil {
		p.put(" ")
		p.idents(c.Columns)
	}
	p.put(" AS (")
	p.query(c.Query)
	p.put(")")
}

func (p *printer) orderItem(o OrderItem) {
	p.any(o.Expr)
	p.putIf(o.Desc, " DESC")
	if o.Nulls != "" {
		p.put(" NULLS ", o.Nulls)
	}
}

func (p *printer) setExpr(s SetExpr) {
	switch s := s.(type) {
	case *Select:
		p.selectBody(s)
	case *Values:
		p.values(s)
	case *Query:
		p.put("(")
		p.query(s)
		p.put(")")
	case *SetOp:
		p.setExpr(s.Left)
		p.put(" ", s.Op)
		p.putIf(s.All, " ALL")
		p.put(" ")
		p.setExpr(s.Right)
	default:
		panic(fmt.Sprintf("syntax: no text for %T", s))
	}
}

func (p *printer) values(v *Values) {
	p.put("VALUES ")
	each(p, v.Rows, func(row []Expr) {
		p.put("(")
		each(p, row, p.any)
		p.put(")")
	})
}

func (p *printer) selectBody(s *Select) {
	p.put("SELECT ")
	p.putIf(s.Distinct, "DISTINCT ")
	each(p, s.Items, p.selectItem)
	if s.From != nil {
		p.put(" FROM ")
		each(p, s.From, p.tableRef)
	}
	p.clause(" WHERE ", s.Where)
	switch {
	case s.GroupByAll:
		p.put(" GROUP BY ALL")
	case s.GroupBy != nil:
		p.put(" GROUP BY ")
		each(p, s.GroupBy, p.any)
	}
	p.clause(" HAVING ", s.Having)
	p.clause(" QUALIFY ", s.Qualify)
}

// clause writes a keyword and its expression, if there is one.
func (p *printer) clause(keyword string, e Expr) {
	if e != nil {
		p.put(keyword)
		p.any(e)
	}
}

func (p *printer) selectItem(item SelectItem) {
	p.any(item.Expr)
	if item.Alias != nil {
		p.put(" AS ")
		p.ident(*item.Alias)
	}
	if item.Aliases != nil {
		p.put(" AS ")
		p.idents(item.Aliases)
	}
}

func (p *printer) tableRef(t TableRef) {
	switch t := t.(type) {
	case *TableName:
		p.tableName(t)
	case *TableFunc:
		p.tableFunc(t)
	case *SubqueryRef:
		p.putIf(t.Lateral, "LATERAL ")
		p.put("(")
		p.query(t.Query)
		p.put(")")
		p.alias(t.Alias)
	case *Join:
		p.join(t)
	default:
		panic(fmt.Sprintf("syntax: no text for %T", t))
	}
}

func (p *printer) tableName(t *TableName) {
	p.putIf(t.Stream, "STREAM(")
	p.name(t.Name)
	p.putIf(t.Stream, ")")
	if t.Version != nil {
		p.put(" VERSION AS OF ")
		p.expr(t.Version, levelComparison)
	}
	if t.Timestamp != nil {
		p.put(" TIMESTAMP AS OF ")
		p.expr(t.Timestamp, levelComparison)
	}
	p.withOptions(t.With)
	p.alias(t.Alias)
}

func (p *printer) tableFunc(t *TableFunc) {
	p.putIf(t.Lateral, "LATERAL ")
	p.putIf(t.Stream, "STREAM ")
	p.name(t.Name)
	p.put("(")
	each(p, t.Args, func(a Arg) {
		if a.Key != "" {
			p.put(optionName(a.Key), " => ")
		}
		p.any(a.Value)
	})
	p.put(")")
	p.withOptions(t.With)
	p.alias(t.Alias)
}

func (p *printer) withOptions(o []Option) {
	if o != nil {
		p.put(" WITH ")
		p.options(o, " = ")
	}
}

func (p *printer) alias(a *Alias) {
	if a == nil {
		return
	}
	p.put(" AS ")
	p.ident(a.Name)
	if a.Columns != nil {
		p.idents(a.Columns)
	}
}

func (p *printer) join(j *Join) {
	p.tableRef(j.Left)
	p.put(" ")
	p.putIf(j.Natural, "NATURAL ")
	p.putIf(j.Kind != "INNER", j.Kind+" ")
	p.put("JOIN ")
	p.putIf(j.Lateral, "LATERAL ")
	if _, nested := j.Right.(*Join); nested {
		p.put("(")
		p.tableRef(j.Right)
		p.put(")")
	} else {
		p.tableRef(j.Right)
	}
	p.clause(" ON ", j.On)
	if j.Using != nil {
		p.put(" USING ")
		p.idents(j.Using)
	}
}
