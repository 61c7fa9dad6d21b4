package syntax

// primary reads an operand and what hangs on it: x.name, x[i], x::type.
func (p *parser) primary() Expr {
	x := p.operand()
	for {
		at := p.peek().pos
		switch {
		case p.accept("::"):
			x = &Cast{X: x, Type: p.dataType(), Pos: at}
		case p.accept("["):
			i := beside(p, func() Expr { return p.operation(levelComparison) })
			p.expect("]")
			x = &Index{X: x, I: i, Pos: at}
			continue
		case p.is(".") && p.ahead(1).isName():
			p.next()
			x = &Field{X: x, Name: p.ident("a field's name"), Pos: at}
		case p.is(":"):
			p.refuse(at, "a path with ':' into a value", "write x.field, or get_json_object(x, '$.field')")
		case p.is("COLLATE") && p.ahead(1).isName():
			p.refuse(at, "COLLATE", "strings compare by their bytes")
		default:
			return x
		}
		p.height++
		p.limit(p.height)
	}
}

func (p *parser) operand() Expr {
	t := p.peek()
	switch t.kind {
	case number:
		return p.number()
	case text:
		return p.textLiteral("a string")
	case quoted:
		return p.nameOperand()
	case word:
		return p.wordOperand()
	case symbol:
		switch t.text {
		case "-":
			return p.number()
		case "(":
			return p.inParens()
		case "?":
			p.refuse(t.pos, "a parameter", "write the value, or '${name}' inside a string")
		case ":":
			p.refuse(t.pos, "a parameter", "write the value, or '${name}' inside a string")
		}
	}
	p.fail("an expression")
	return nil
}

// wordOperand reads an operand that begins with a word.
func (p *parser) wordOperand() Expr {
	t, then := p.peek(), p.ahead(1)
	switch {
	case then.is("->"):
		return p.lambda()
	case reserved[t.upper] && !operandEnd(then):
		p.fail("an expression")
	}
	switch t.upper {
	case "NOT":
		p.fail("an expression")
	case "NULL":
		p.next()
		return &Literal{Kind: NullLiteral, Pos: t.pos}
	case "TRUE", "FALSE":
		p.next()
		return &Literal{Kind: BoolLiteral, Text: t.upper, Pos: t.pos}
	case "CASE":
		return p.caseOf()
	case "CAST", "TRY_CAST":
		if then.is("(") {
			return p.cast()
		}
	case "EXISTS":
		if then.is("(") && p.queryInParens(1) {
			return p.exists()
		}
	case "INTERVAL":
		if lit := p.interval(); lit != nil {
			return lit
		}
	case "CURRENT_DATE", "CURRENT_TIMESTAMP":
		if !then.is("(") && !then.is(".") {
			p.next()
			return &Func{Name: Name{Parts: []Ident{t.ident()}, Pos: t.pos}, Pos: t.pos}
		}
	}
	if then.kind == text {
		if lit := p.typedLiteral(); lit != nil {
			return lit
		}
	}
	return p.nameOperand()
}

// nameOperand reads a column, or a call.
func (p *parser) nameOperand() Expr {
	if p.ahead(1).is("->") {
		return p.lambda()
	}
	n := p.path("an expression")
	if p.is("(") {
		return p.call(n)
	}
	return &Column{Name: n, Pos: n.Pos}
}

// inParens reads (query), (e), (a, b) and (x, y) -> e.
func (p *parser) inParens() Expr {
	at := p.peek().pos
	if p.queryInParens(0) {
		p.next()
		q := p.query()
		p.expect(")")
		return &Subquery{Query: q, Pos: at}
	}
	if p.lambdaParams() {
		return p.lambda()
	}
	items := parenthesised(p, p.expr)
	if len(items) == 1 {
		return items[0]
	}
	return &Tuple{Items: items, Pos: at}
}

// lambdaParams reports whether (x, y) -> comes next.
func (p *parser) lambdaParams() bool {
	return p.tokens[min(p.close[p.i]+1, len(p.tokens)-1)].is("->")
}

func (p *parser) lambda() Expr {
	l := &Lambda{Pos: p.peek().pos}
	if p.is("(") {
		l.Params = p.idents("a parameter's name")
	} else {
		l.Params = []Ident{p.ident("a parameter's name")}
	}
	p.expect("->")
	l.Body = p.expr()
	return l
}

func (p *parser) caseOf() Expr {
	c := &Case{Pos: p.next().pos}
	if !p.is("WHEN") {
		c.X = p.expr()
	}
	for p.accept("WHEN") {
		w := When{If: p.expr()}
		p.expect("THEN")
		w.Then = p.expr()
		c.Whens = append(c.Whens, w)
	}
	if c.Whens == nil {
		p.fail("WHEN")
	}
	if p.accept("ELSE") {
		c.Else = p.expr()
	}
	if !p.accept("END") {
		p.fail("WHEN, ELSE or END")
	}
	return c
}

func (p *parser) cast() Expr {
	t := p.next()
	c := &Cast{Try: t.upper == "TRY_CAST", Pos: t.pos}
	p.expect("(")
	c.X = p.expr()
	p.expect("AS")
	c.Type = p.dataType()
	p.expect(")")
	return c
}

func (p *parser) exists() Expr {
	at := p.next().pos
	p.expect("(")
	q := p.query()
	p.expect(")")
	return &Subquery{Query: q, Exists: true, Pos: at}
}

// number reads a number with the minus in front of it.
func (p *parser) number() *Literal {
	lit := &Literal{Pos: p.peek().pos}
	if p.is("-") && p.ahead(1).kind == number {
		p.next()
		lit.Text = "-"
	}
	t := p.peek()
	if t.kind != number {
		p.fail("an expression")
	}
	p.next()
	lit.Kind, lit.Suffix = t.lit, t.suffix
	lit.Text += t.text
	return lit
}

// typedLiteral reads DATE '...', TIMESTAMP '...' and X'...', and returns nil for another word.
func (p *parser) typedLiteral() Expr {
	t, value := p.peek(), p.ahead(1)
	lit := &Literal{Text: value.text, Secret: value.secret, Pos: t.pos, TextPos: p.inside(value)}
	switch t.upper {
	case "DATE":
		lit.Kind = DateLiteral
	case "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ":
		lit.Kind, lit.Type = TimeLiteral, t.upper
	case "X":
		lit.Kind = BinaryLiteral
		bytes, err := hexBytes(value.text)
		if err != nil {
			p.abort(syntaxError(value.pos, "the bytes are not hexadecimal digits"))
		}
		lit.Text = bytes
	case "TIME":
		p.refuse(t.pos, "the type TIME", "use a STRING, or a TIMESTAMP")
	default:
		return nil
	}
	p.i += 2
	return lit
}
