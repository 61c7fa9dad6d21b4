package syntax

import "strings"

// Inspect visits a node and everything below it in the order of the text: queries, CTEs, select lists, table references,
// expressions. f is called with *Query, SetExpr, TableRef and Expr values; where it returns false, the node's children
// are left out.
func Inspect(node any, f func(node any) bool) { inspector(f).visit(node) }

// inspector is the function Inspect calls, with the walk as its methods.
type inspector func(node any) bool

// visit takes interfaces that may be nil.
func (f inspector) visit(node any) {
	if node == nil || !f(node) {
		return
	}
	switch n := node.(type) {
	case *Query:
		f.query(n)
	case SetExpr:
		f.setExpr(n)
	case TableRef:
		f.tableRef(n)
	case Expr:
		f.expr(n)
	}
}

func (f inspector) query(q *Query) {
	for _, c := range q.With {
		f.visit(c.Query)
	}
	f.visit(q.Body)
	f.orderBy(q.OrderBy)
	f.visit(q.Limit)
	f.visit(q.Offset)
}

func (f inspector) orderBy(items []OrderItem) {
	for _, o := range items {
		f.visit(o.Expr)
	}
}

func (f inspector) exprs(list []Expr) {
	for _, e := range list {
		f.visit(e)
	}
}

func (f inspector) setExpr(s SetExpr) {
	switch s := s.(type) {
	case *SetOp:
		f.visit(s.Left)
		f.visit(s.Right)
	case *Values:
		for _, row := range s.Rows {
			f.exprs(row)
		}
	case *Select:
		for _, item := range s.Items {
			f.visit(item.Expr)
		}
		for _, t := range s.From {
			f.visit(t)
		}
		f.visit(s.Where)
		f.exprs(s.GroupBy)
		f.visit(s.Having)
		f.visit(s.Qualify)
	}
}

func (f inspector) tableRef(t TableRef) {
	switch t := t.(type) {
	case *TableName:
		f.visit(t.Version)
		f.visit(t.Timestamp)
	case *TableFunc:
		for _, a := range t.Args {
			f.visit(a.Value)
		}
	case *SubqueryRef:
		f.visit(t.Query)
	case *Join:
		f.visit(t.Left)
		f.visit(t.Right)
		f.visit(t.On)
	}
}

func (f inspector) expr(e Expr) {
	switch e := e.(type) {
	case *Unary:
		f.visit(e.X)
	case *Binary:
		f.visit(e.X)
		f.visit(e.Y)
	case *Between:
		f.visit(e.X)
		f.visit(e.Low)
		f.visit(e.High)
	case *In:
		f.visit(e.X)
		f.exprs(e.List)
		if e.Query != nil {
			f.visit(e.Query)
		}
	case *Like:
		f.visit(e.X)
		f.visit(e.Pattern)
		f.visit(e.Escape)
	case *Is:
		f.visit(e.X)
		f.visit(e.Y)
	case *Case:
		f.visit(e.X)
		for _, w := range e.Whens {
			f.visit(w.If)
			f.visit(w.Then)
		}
		f.visit(e.Else)
	case *Cast:
		f.visit(e.X)
	case *Func:
		f.exprs(e.Args)
		f.orderBy(e.OrderBy)
		f.visit(e.Filter)
		if e.Over != nil {
			f.exprs(e.Over.Partition)
			f.orderBy(e.Over.OrderBy)
		}
	case *Subquery:
		f.visit(e.Query)
	case *Index:
		f.visit(e.X)
		f.visit(e.I)
	case *Field:
		f.visit(e.X)
	case *Tuple:
		f.exprs(e.Items)
	case *Lambda:
		f.visit(e.Body)
	}
}

// Tables lists the *TableName and *TableFunc references a query reads, in the order of the text, those in subqueries and
// common table expressions included. Names that mean a common table expression are left out: one hides the table of its
// name in the expressions behind it and in the body of its query. STREAM(t) always means a table.
func Tables(q *Query) []TableRef {
	var found []TableRef
	tablesOf(q, nil, &found)
	return found
}

// hidden is a chain of common table expressions in scope.
type hidden struct {
	name  string
	outer *hidden
}

func (h *hidden) has(n Name) bool {
	for ; h != nil && len(n.Parts) == 1; h = h.outer {
		if strings.EqualFold(h.name, n.Parts[0].Text) {
			return true
		}
	}
	return false
}

func tablesOf(q *Query, scope *hidden, found *[]TableRef) {
	for _, c := range q.With {
		tablesOf(c.Query, scope, found)
		scope = &hidden{c.Name.Text, scope}
	}
	rest := *q
	rest.With = nil
	Inspect(&rest, func(node any) bool {
		switch n := node.(type) {
		case *Query:
			if n == &rest {
				return true
			}
			tablesOf(n, scope, found)
			return false
		case *TableName:
			if n.Stream || !scope.has(n.Name) {
				*found = append(*found, n)
			}
		case *TableFunc:
			if !n.Lateral { // it reads the row in front of it
				*found = append(*found, n)
			}
		}
		return true
	})
}
