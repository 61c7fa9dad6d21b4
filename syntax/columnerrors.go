package syntax

import "sluice/fault"

// ColumnError is what a source puts into a column in the place of a value that cannot be read: NULL, or a default.
type ColumnError struct {
	Column  Ident
	Default *Literal // a number, a text or a boolean; nil is NULL
}

// ParseColumnErrors reads the text of columnErrors => 'a NULL, b DEFAULT 0'.
func ParseColumnErrors(text string, at Pos) ([]ColumnError, fault.List) {
	return parseOne(Options{}, text, at, (*parser).columnErrors)
}

func (p *parser) columnErrors() []ColumnError {
	out := list(p, func() ColumnError {
		c := ColumnError{Column: p.ident("a column")}
		switch {
		case p.accept("NULL"):
		case p.accept("DEFAULT"):
			c.Default = p.defaultValue()
		default:
			p.fail("NULL or DEFAULT")
		}
		return c
	})
	if p.peek().kind != end {
		p.fail("',' between two columns")
	}
	return out
}

// defaultValue reads a literal.
func (p *parser) defaultValue() *Literal {
	at := p.peek().pos
	if l, ok := p.unary().(*Literal); ok {
		switch l.Kind {
		case BoolLiteral, IntegerLiteral, DecimalLiteral, DoubleLiteral, StringLiteral, DateLiteral, TimeLiteral:
			return l
		}
	}
	p.abort(syntaxError(at, "a default is a number, a text in quotes, TRUE or FALSE"))
	return nil
}
