package syntax

// Levels of precedence, loosest first, as in Spark's grammar. A predicate (BETWEEN, IN, LIKE, IS) takes operations as its
// operands and does not chain.
const (
	levelAny = iota // a lambda, which takes everything behind its arrow
	levelOr
	levelAnd
	levelNot
	levelPredicate
	levelComparison
	levelBitOr
	levelBitXor
	levelBitAnd
	levelShift
	levelSum
	levelProduct
	levelUnary
	levelPrimary
)

var binaryLevels = map[string]int{
	"OR": levelOr, "AND": levelAnd,
	"=": levelComparison, "==": levelComparison, "<>": levelComparison, "!=": levelComparison, "<": levelComparison,
	"<=": levelComparison, ">": levelComparison, ">=": levelComparison, "<=>": levelComparison,
	"|": levelBitOr, "^": levelBitXor, "&": levelBitAnd,
	"<<": levelShift, ">>": levelShift, ">>>": levelShift,
	"+": levelSum, "-": levelSum, "||": levelSum,
	"*": levelProduct, "/": levelProduct, "%": levelProduct, "DIV": levelProduct,
}

// expr reads an expression.
func (p *parser) expr() Expr {
	return nested(p, func() Expr { return p.logical(levelOr) })
}

// logical reads operators of at least the given level: OR, AND, NOT and everything tighter.
func (p *parser) logical(level int) Expr {
	var left Expr
	if at := p.peek().pos; p.negation() {
		left = nested(p, func() Expr { return &Unary{Op: "NOT", X: p.logical(levelNot), Pos: at} })
	} else {
		left = p.predicate(p.operation(levelComparison))
	}
	return p.logicalRest(left, level)
}

// logicalRest goes on behind an operand that has been read.
func (p *parser) logicalRest(left Expr, level int) Expr {
	for {
		op, at := p.peekOperator(), p.peek().pos
		next, known := binaryLevels[op]
		if !known || next < level || next > levelAnd {
			return left
		}
		p.next()
		right := beside(p, func() Expr { return p.logical(next + 1) })
		left = &Binary{Op: op, X: left, Y: right, Pos: at}
	}
}

// negation takes NOT or !.
func (p *parser) negation() bool { return p.accept("NOT") || p.accept("!") }

// peekOperator returns the binary operator that comes next, or "".
func (p *parser) peekOperator() string {
	t := p.peek()
	switch {
	case t.kind == word && (t.upper == "OR" || t.upper == "AND" || t.upper == "DIV"):
		return t.upper
	case t.kind != symbol:
		return ""
	case t.text == "!>":
		return "<="
	case t.text == "!<":
		return ">="
	case t.text == ">" && p.touches(1):
		if p.touches(2) {
			return ">>>"
		}
		return ">>"
	}
	if _, known := binaryLevels[t.text]; known {
		return t.text
	}
	return ""
}

// touches reports whether the n-th token ahead is a ">" that follows the one before it without a gap. The lexer leaves
// them apart, since ">>" also closes two nested types.
func (p *parser) touches(n int) bool {
	return p.ahead(n).is(">") && p.ahead(n).from == p.ahead(n-1).to
}

// operation reads comparisons, arithmetic and everything tighter, of at least the given level.
func (p *parser) operation(level int) Expr {
	left := p.unary()
	for {
		op, at := p.peekOperator(), p.peek().pos
		next, known := binaryLevels[op]
		if !known || next < level || next < levelComparison {
			return left
		}
		p.skipOperator(op)
		right := beside(p, func() Expr { return p.operation(next + 1) })
		left = &Binary{Op: op, X: left, Y: right, Pos: at}
	}
}

func (p *parser) skipOperator(op string) {
	p.next()
	if op == ">>" || op == ">>>" {
		p.i += len(op) - 1
	}
}

// unary reads signs and ~. A minus in front of a number is part of it (-128Y).
func (p *parser) unary() Expr {
	at := p.peek().pos
	if p.is("-") && p.ahead(1).kind == number {
		return p.primary()
	}
	op := p.acceptAny("-", "+", "~")
	if op == "" {
		return p.primary()
	}
	return nested(p, func() Expr { return &Unary{Op: op, X: p.unary(), Pos: at} })
}

// predicate reads [NOT] BETWEEN, IN, LIKE and IS behind an operand, if one comes next.
func (p *parser) predicate(x Expr) Expr {
	at := p.peek().pos
	if p.accept("IS") {
		return p.isPredicate(x, at)
	}
	not := p.isAny("NOT", "!") && p.predicateFollows()
	if not {
		p.next()
	}
	switch op := p.acceptAny("BETWEEN", "IN", "LIKE", "ILIKE", "RLIKE", "REGEXP"); op {
	case "":
		return x
	case "BETWEEN":
		b := &Between{X: x, Not: not, Pos: at}
		b.Low = beside(p, func() Expr { return p.operation(levelComparison) })
		p.expect("AND")
		b.High = beside(p, func() Expr { return p.operation(levelComparison) })
		return b
	case "IN":
		return p.in(x, not, at)
	default:
		return p.like(x, op, not, at)
	}
}

func (p *parser) predicateFollows() bool {
	for _, w := range []string{"BETWEEN", "IN", "LIKE", "ILIKE", "RLIKE", "REGEXP"} {
		if p.ahead(1).is(w) {
			return true
		}
	}
	return false
}

func (p *parser) isPredicate(x Expr, at Pos) Expr {
	is := &Is{X: x, Not: p.negation(), Pos: at}
	if p.accept("DISTINCT") {
		p.expect("FROM")
		is.What = "DISTINCT"
		is.Y = beside(p, func() Expr { return p.operation(levelComparison) })
		return is
	}
	if is.What = p.acceptAny("NULL", "TRUE", "FALSE", "UNKNOWN"); is.What == "" {
		p.fail("NULL, TRUE, FALSE or DISTINCT FROM")
	}
	return is
}

func (p *parser) in(x Expr, not bool, at Pos) Expr {
	in := &In{X: x, Not: not, Pos: at}
	beside(p, func() struct{} {
		if p.queryInParens(0) {
			p.next()
			in.Query = p.query()
			p.expect(")")
		} else {
			in.List = parenthesised(p, p.expr)
		}
		return struct{}{}
	})
	return in
}

func (p *parser) like(x Expr, op string, not bool, at Pos) Expr {
	if op == "REGEXP" {
		op = "RLIKE"
	}
	for _, w := range []string{"ANY", "SOME", "ALL"} {
		if op != "RLIKE" && p.is(w, "(") {
			p.refuse(p.peek().pos, op+" "+w, "write one "+op+" for each pattern and OR or AND between them")
		}
	}
	l := &Like{Op: op, X: x, Not: not, Pos: at}
	l.Pattern = beside(p, func() Expr { return p.operation(levelComparison) })
	if op != "RLIKE" && p.accept("ESCAPE") {
		l.Escape = p.textLiteral("one character in quotes")
	}
	return l
}
