package syntax

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

func (p *printer) params(list []int) {
	p.put("(")
	each(p, list, func(n int) { p.put(strconv.Itoa(n)) })
	p.put(")")
}

// level is how tightly an expression holds together as it is written.
func level(e Expr) int {
	switch e := e.(type) {
	case *Binary:
		return binaryLevels[e.Op]
	case *Unary:
		if e.Op == "NOT" {
			return levelNot
		}
		return levelUnary
	case *Between, *In, *Like, *Is:
		return levelPredicate
	case *Lambda:
		return levelAny
	}
	return levelPrimary
}

// needsParens reports whether a column's name would be read as something else where an operand begins.
func needsParens(c *Column) bool {
	if len(c.Name.Parts) != 1 || c.Name.Parts[0].Quoted {
		return false
	}
	switch word := strings.ToUpper(c.Name.Parts[0].Text); word {
	case "DISTINCT", "ALL", "INTERVAL":
		return true
	default:
		return reserved[word]
	}
}

// expr writes e where an expression of at least the given level stands.
func (p *printer) expr(e Expr, min int) {
	if c, ok := e.(*Column); ok && needsParens(c) || level(e) < min {
		p.put("(")
		p.bare(e)
		p.put(")")
		return
	}
	p.bare(e)
}

// bare writes e without parentheses around it.
func (p *printer) bare(e Expr) {
	switch e := e.(type) {
	case *Literal:
		p.literal(e)
	case *Column:
		p.name(e.Name)
	case *Star:
		p.star(e)
	case *Unary:
		p.unary(e)
	case *Binary:
		n := binaryLevels[e.Op]
		p.expr(e.X, n)
		p.put(" ", e.Op, " ")
		p.expr(e.Y, n+1)
	case *Between:
		p.expr(e.X, levelComparison)
		p.put(not(e.Not), " BETWEEN ")
		p.expr(e.Low, levelComparison)
		p.put(" AND ")
		p.expr(e.High, levelComparison)
	case *In:
		p.in(e)
	case *Like:
		p.like(e)
	case *Is:
		p.is(e)
	case *Case:
		p.caseOf(e)
	case *Cast:
		p.cast(e)
	case *Func:
		p.call(e)
	case *Subquery:
		p.putIf(e.Exists, "EXISTS ")
		p.put("(")
		p.query(e.Query)
		p.put(")")
	case *Index:
		p.expr(e.X, levelPrimary)
		p.put("[")
		p.expr(e.I, levelComparison)
		p.put("]")
	case *Field:
		p.fieldBase(e.X)
		p.put(".")
		p.ident(e.Name)
	case *Tuple:
		p.put("(")
		each(p, e.Items, p.any)
		p.put(")")
	case *Lambda:
		p.lambda(e)
	default:
		panic(fmt.Sprintf("syntax: no text for %T", e))
	}
}

// any writes e where every expression may stand.
func (p *printer) any(e Expr) { p.expr(e, levelAny) }

func not(is bool) string {
	if is {
		return " NOT"
	}
	return ""
}

func (p *printer) unary(e *Unary) {
	if e.Op == "NOT" {
		p.put("NOT ")
		p.expr(e.X, levelNot)
		return
	}
	inner := &printer{}
	inner.expr(e.X, levelUnary)
	x := inner.String()
	switch {
	case e.Op == "-" && (isDigit(x[0]) || x[0] == '.'): // -(1) is not the number -1
		x = "(" + x + ")"
	case e.Op == "-" && x[0] == '-': // two minuses begin a comment
		x = " " + x
	}
	p.put(e.Op, x)
}

// fieldBase writes x of x.name: a name or a number in front of the dot would be read as one with it.
func (p *printer) fieldBase(x Expr) {
	switch x.(type) {
	case *Column, *Literal:
		p.put("(")
		p.bare(x)
		p.put(")")
	default:
		p.expr(x, levelPrimary)
	}
}

func (p *printer) literal(l *Literal) {
	value := quoteText(l.Text)
	if l.Secret {
		value = "'***'"
	}
	switch l.Kind {
	case NullLiteral:
		p.put("NULL")
	case BoolLiteral:
		p.put(l.Text)
	case IntegerLiteral, DecimalLiteral, DoubleLiteral:
		p.put(l.Text, l.Suffix)
	case StringLiteral:
		p.put(value)
	case BinaryLiteral:
		if l.Secret {
			p.put("X", value)
			return
		}
		p.put("X'", strings.ToUpper(hex.EncodeToString([]byte(l.Text))), "'")
	case DateLiteral:
		p.put("DATE ", value)
	case TimeLiteral:
		p.put(l.Type, " ", value)
	case IntervalLiteral:
		if l.Secret {
			p.put("INTERVAL ", value)
			return
		}
		p.put("INTERVAL ", intervalParts(l))
	}
}

func (p *printer) star(s *Star) {
	if s.Qualifier != nil {
		p.name(*s.Qualifier)
		p.put(".")
	}
	p.put("*")
	if s.Except != nil {
		p.put(" EXCEPT ")
		p.idents(s.Except)
	}
}

func (p *printer) in(e *In) {
	p.expr(e.X, levelComparison)
	p.put(not(e.Not), " IN (")
	if e.Query != nil {
		p.query(e.Query)
	} else {
		each(p, e.List, p.any)
	}
	p.put(")")
}

func (p *printer) like(e *Like) {
	p.expr(e.X, levelComparison)
	p.put(not(e.Not), " ", e.Op, " ")
	p.expr(e.Pattern, levelComparison)
	if e.Escape != nil {
		p.put(" ESCAPE ")
		p.any(e.Escape)
	}
}

func (p *printer) is(e *Is) {
	p.expr(e.X, levelComparison)
	p.put(" IS", not(e.Not), " ", e.What)
	if e.What == "DISTINCT" {
		p.put(" FROM ")
		p.expr(e.Y, levelComparison)
	}
}

func (p *printer) caseOf(e *Case) {
	p.put("CASE")
	if e.X != nil {
		p.put(" ")
		p.any(e.X)
	}
	for _, w := range e.Whens {
		p.put(" WHEN ")
		p.any(w.If)
		p.put(" THEN ")
		p.any(w.Then)
	}
	if e.Else != nil {
		p.put(" ELSE ")
		p.any(e.Else)
	}
	p.put(" END")
}

func (p *printer) cast(e *Cast) {
	p.putIf(e.Try, "TRY_")
	p.put("CAST(")
	p.any(e.X)
	p.put(" AS ")
	p.dataType(e.Type)
	p.put(")")
}

func (p *printer) lambda(e *Lambda) {
	if len(e.Params) == 1 {
		p.ident(e.Params[0])
	} else {
		p.idents(e.Params)
	}
	p.put(" -> ")
	p.any(e.Body)
}

func (p *printer) call(f *Func) {
	p.name(f.Name)
	p.put("(")
	switch {
	case f.Star:
		p.put("*")
	case !p.specialArguments(f):
		p.putIf(f.Distinct, "DISTINCT ")
		p.arguments(f)
	}
	p.put(")")
	if f.OrderBy != nil {
		p.put(" WITHIN GROUP (ORDER BY ")
		each(p, f.OrderBy, p.orderItem)
		p.put(")")
	}
	if f.Filter != nil {
		p.put(" FILTER (WHERE ")
		p.any(f.Filter)
		p.put(")")
	}
	if f.Nulls != "" {
		p.put(" ", f.Nulls, " NULLS")
	}
	if f.Over != nil {
		p.put(" OVER (")
		p.window(f.Over)
		p.put(")")
	}
}

func (p *printer) arguments(f *Func) {
	for i, arg := range f.Args {
		p.putIf(i > 0, ", ")
		name := ""
		if f.ArgNames != nil {
			name = f.ArgNames[i]
		}
		switch {
		case name != "" && isStruct(f):
			p.any(arg)
			p.put(" AS ", quoteName(name))
		case name != "":
			p.put(quoteName(name), " => ")
			p.any(arg)
		case i == 0 && strings.EqualFold(f.Name.Parts[len(f.Name.Parts)-1].Text, "position"):
			p.expr(arg, levelComparison) // IN would be taken for the word between the arguments
		default:
			p.any(arg)
		}
	}
}

// specialArguments writes the arguments of EXTRACT and TRIM with the words between them, and reports whether it did.
func (p *printer) specialArguments(f *Func) bool {
	if len(f.Name.Parts) != 1 || f.Name.Parts[0].Quoted || f.ArgNames != nil || len(f.Args) < 2 {
		return false
	}
	first, ok := f.Args[0].(*Literal)
	if !ok || first.Kind != StringLiteral || first.Secret {
		return false
	}
	x := f.Args[len(f.Args)-1]
	switch name := strings.ToUpper(f.Name.Parts[0].Text); {
	case name == "EXTRACT" && len(f.Args) == 2 && timeUnits[first.Text]:
		p.put(first.Text)
	case name == "TRIM" && len(f.Args) <= 3 && (first.Text == "BOTH" || first.Text == "LEADING" || first.Text == "TRAILING"):
		p.put(first.Text)
		if len(f.Args) == 3 {
			p.put(" ")
			p.expr(f.Args[1], levelComparison)
		}
	default:
		return false
	}
	p.put(" FROM ")
	p.expr(x, levelComparison)
	return true
}

func (p *printer) window(w *Window) {
	var parts []string
	if w.Partition != nil {
		inner := &printer{}
		each(inner, w.Partition, inner.any)
		parts = append(parts, "PARTITION BY "+inner.String())
	}
	if w.OrderBy != nil {
		inner := &printer{}
		each(inner, w.OrderBy, inner.orderItem)
		parts = append(parts, "ORDER BY "+inner.String())
	}
	if w.Frame != "" {
		parts = append(parts, w.Frame)
	}
	p.put(strings.Join(parts, " "))
}
