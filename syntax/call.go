package syntax

import "strings"

// call reads the arguments of a call and what may stand behind them.
func (p *parser) call(name Name) Expr {
	f := &Func{Name: name, Pos: name.Pos}
	if len(name.Parts) != 1 || name.Parts[0].Quoted || !p.specialCall(f, strings.ToUpper(name.Parts[0].Text)) {
		p.expect("(")
		p.arguments(f, nil)
	}
	if p.accept("WITHIN", "GROUP") {
		p.expect("(", "ORDER", "BY")
		f.OrderBy = list(p, p.orderItem)
		p.closing()
	}
	if p.accept("FILTER", "(") {
		p.expect("WHERE")
		f.Filter = p.expr()
		p.expect(")")
	}
	p.nullsOption(f)
	if p.accept("OVER") {
		f.Over = p.over()
	}
	return f
}

// nullsOption reads IGNORE NULLS and RESPECT NULLS, which stand inside the parentheses or behind them.
func (p *parser) nullsOption(f *Func) {
	for _, w := range []string{"IGNORE", "RESPECT"} {
		if p.accept(w, "NULLS") {
			f.Nulls = w
		}
	}
}

// arguments reads the arguments of a call behind its opening parenthesis, and the closing one. first is the first
// argument where it has been read already.
func (p *parser) arguments(f *Func, first Expr) {
	if first == nil {
		if p.accept(")") {
			return
		}
		if p.accept("*", ")") {
			f.Star = true
			return
		}
		f.Distinct = p.quantifier()
	}
	for {
		name := ""
		if first == nil {
			name, first = p.argument(f)
		}
		f.addArgument(name, first)
		first = nil
		if !p.accept(",") {
			break
		}
	}
	if p.accept("ORDER", "BY") {
		f.OrderBy = list(p, p.orderItem)
	}
	p.nullsOption(f)
	p.closing()
	dateUnit(f)
}

// argument reads one argument and its name: name => value, or value AS name in struct.
func (p *parser) argument(f *Func) (string, Expr) {
	if t := p.peek(); t.isName() && p.ahead(1).is("=>") {
		p.i += 2
		return t.text, p.expr()
	}
	if star := p.star(); star != nil {
		return "", star
	}
	e := p.expr()
	if isStruct(f) && p.accept("AS") {
		return p.ident("a field's name").Text, e
	}
	return "", e
}

func isStruct(f *Func) bool {
	return len(f.Name.Parts) == 1 && strings.EqualFold(f.Name.Parts[0].Text, "struct")
}

func (e *Func) addArgument(name string, value Expr) {
	if name != "" && e.ArgNames == nil {
		e.ArgNames = make([]string, len(e.Args))
	}
	e.Args = append(e.Args, value)
	if e.ArgNames != nil {
		e.ArgNames = append(e.ArgNames, name)
	}
}

// dateUnits are the calls whose first argument, when they have three, is a unit: DATEADD(DAY, 1, x).
var dateUnits = set("DATEADD DATE_ADD TIMESTAMPADD DATEDIFF DATE_DIFF TIMESTAMPDIFF TIMEDIFF")

// dateUnit turns the unit into a string literal.
func dateUnit(f *Func) {
	if len(f.Args) != 3 || len(f.Name.Parts) != 1 || !dateUnits[strings.ToUpper(f.Name.Parts[0].Text)] {
		return
	}
	c, ok := f.Args[0].(*Column)
	if !ok || len(c.Name.Parts) != 1 || c.Name.Parts[0].Quoted {
		return
	}
	if word := strings.ToUpper(c.Name.Parts[0].Text); timeUnits[word] {
		f.Args[0] = wordLiteral(word, c.Pos)
	}
}

// specialCall reads the calls with words between their arguments, such as EXTRACT(YEAR FROM x). They can be written as
// plain calls too. It reports whether it took the call.
func (p *parser) specialCall(f *Func, name string) bool {
	if !p.operandInParens() {
		return false
	}
	switch name {
	case "EXTRACT":
		return p.extract(f)
	case "TRIM":
		p.trim(f)
	case "SUBSTRING", "SUBSTR":
		p.wordsBetween(f, "FROM", "FOR")
	case "POSITION":
		p.wordsBetween(f, "IN")
	case "OVERLAY":
		p.wordsBetween(f, "PLACING", "FROM", "FOR")
	default:
		return false
	}
	return true
}

// operandInParens reports whether the first argument begins as every operand can.
func (p *parser) operandInParens() bool {
	for _, w := range []string{")", "NOT", "!", "*", "DISTINCT", "ALL"} {
		if p.ahead(1).is(w) {
			return false
		}
	}
	return p.is("(") && !p.ahead(2).is("=>")
}

// operandBefore reads ( x where the given word stands behind x. Where it does not, this is a plain call; it is read to its
// end, and nil is returned.
func (p *parser) operandBefore(f *Func, word string) Expr {
	p.expect("(")
	x := p.operation(levelComparison)
	if p.is(word) {
		return x
	}
	p.arguments(f, p.logicalRest(p.predicate(x), levelOr))
	return nil
}

// wordsBetween reads ( x word y [word z] ... ). FOR may be missing.
func (p *parser) wordsBetween(f *Func, words ...string) {
	x := p.operandBefore(f, words[0])
	if x == nil {
		return
	}
	f.Args = []Expr{x}
	for _, w := range words {
		if w == "FOR" && !p.is(w) {
			break
		}
		p.expect(w)
		f.Args = append(f.Args, p.operation(levelComparison))
	}
	p.expect(")")
}

// extract reads (unit FROM x).
func (p *parser) extract(f *Func) bool {
	t := p.ahead(1)
	if t.kind != word || !p.ahead(2).is("FROM") {
		return false
	}
	p.i += 3
	f.Args = []Expr{wordLiteral(t.upper, t.pos), p.operation(levelComparison)}
	p.expect(")")
	return true
}

// trim reads ([BOTH | LEADING | TRAILING] [characters] FROM x).
func (p *parser) trim(f *Func) {
	t, then := p.ahead(1), p.ahead(2)
	side := wordLiteral("BOTH", t.pos)
	switch {
	case t.is("FROM") && !operandEnd(then):
		p.next()
		f.Args = []Expr{side}
	case (t.is("BOTH") || t.is("LEADING") || t.is("TRAILING")) && (then.is("FROM") || !operandEnd(then)):
		p.i += 2
		side.Text = t.upper
		f.Args = []Expr{side}
		if !p.is("FROM") {
			f.Args = append(f.Args, p.operation(levelComparison))
		}
	default:
		characters := p.operandBefore(f, "FROM")
		if characters == nil {
			return
		}
		f.Args = []Expr{side, characters}
	}
	p.expect("FROM")
	f.Args = append(f.Args, p.operation(levelComparison))
	p.expect(")")
}

// wordLiteral is a word of the grammar handed over as an argument.
func wordLiteral(s string, at Pos) *Literal {
	return &Literal{Kind: StringLiteral, Text: s, Pos: at, TextPos: at}
}
