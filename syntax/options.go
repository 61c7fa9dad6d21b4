package syntax

import "strings"

// options reads ( key [=>|=] value, ... ). Keys are words joined by dots, or strings; values are literals or bare words.
func (p *parser) options() []Option {
	return parenthesised(p, p.option)
}

func (p *parser) option() Option {
	o := Option{Pos: p.peek().pos, Key: p.optionKey()}
	p.acceptAny("=>", "=")
	at := p.peek().pos
	o.Expr = p.expr()
	value, ok := optionValue(o.Expr)
	if !ok {
		p.abort(syntaxError(at, "the value of option %q is not a literal", o.Key).WithHint("write a string, a number, true, false or a word"))
	}
	o.Value = value
	if lit, ok := o.Expr.(*Literal); ok {
		o.Secret = lit.Secret
	}
	return o
}

// optionKey reads 'any.text' or words.joined.by.dots (SA-06).
func (p *parser) optionKey() string {
	t := p.peek()
	if t.kind == text {
		p.next()
		if t.secret {
			p.report(secretMisplaced(t.pos))
		}
		return t.text
	}
	return joined(p.path("an option's name"))
}

func joined(n Name) string {
	parts := make([]string, len(n.Parts))
	for i, part := range n.Parts {
		parts[i] = part.Text
	}
	return strings.Join(parts, ".")
}

// optionValue is the text of a value.
func optionValue(e Expr) (string, bool) {
	switch e := e.(type) {
	case *Column:
		return joined(e.Name), true
	case *Literal:
		switch e.Kind {
		case NullLiteral:
			return "", false
		case BoolLiteral:
			return strings.ToLower(e.Text), true
		case IntervalLiteral:
			return intervalParts(e), true
		}
		return e.Text + e.Suffix, true
	}
	return "", false
}
