package syntax

import "strings"

// windowUse is OVER name, which the WINDOW clause of its SELECT explains.
type windowUse struct {
	name   Ident
	window *Window
}

// over reads what stands behind OVER.
func (p *parser) over() *Window {
	if p.peek().isName() {
		return p.namedWindow()
	}
	p.expect("(")
	if p.peek().isName() && p.ahead(1).is(")") {
		w := p.namedWindow()
		p.expect(")")
		return w
	}
	w := p.windowSpec()
	p.expect(")")
	return w
}

func (p *parser) namedWindow() *Window {
	use := &windowUse{name: p.ident("a window's name"), window: &Window{}}
	p.windows = append(p.windows, use)
	return use.window
}

func (p *parser) windowSpec() *Window {
	w := &Window{}
	if p.accept("PARTITION", "BY") || p.accept("DISTRIBUTE", "BY") {
		w.Partition = list(p, p.expr)
	}
	if p.accept("ORDER", "BY") || p.accept("SORT", "BY") {
		w.OrderBy = list(p, p.orderItem)
	}
	if kind := p.acceptAny("ROWS", "RANGE"); kind != "" {
		w.Frame = kind + " " + p.frame()
	}
	return w
}

// frame reads BETWEEN bound AND bound, or one bound.
func (p *parser) frame() string {
	if !p.accept("BETWEEN") {
		return p.frameBound()
	}
	from := p.frameBound()
	p.expect("AND")
	return "BETWEEN " + from + " AND " + p.frameBound()
}

func (p *parser) frameBound() string {
	if p.accept("CURRENT", "ROW") {
		return "CURRENT ROW"
	}
	size := "UNBOUNDED"
	if !p.accept(size) {
		bound := p.operation(levelComparison)
		p.noSecretIn(bound) // the frame is kept as text
		size = PrintExpr(bound)
	}
	side := p.acceptAny("PRECEDING", "FOLLOWING")
	if side == "" {
		p.fail("PRECEDING or FOLLOWING")
	}
	return size + " " + side
}

// windowClause reads WINDOW name AS (...), ... and gives every OVER name of this SELECT its window.
func (p *parser) windowClause() {
	named := map[string]*Window{}
	if p.accept("WINDOW") {
		list(p, func() struct{} {
			name := p.ident("a window's name")
			p.expect("AS", "(")
			named[strings.ToLower(name.Text)] = p.windowSpec()
			p.expect(")")
			return struct{}{}
		})
	}
	p.resolveWindows(named)
}

// resolveWindows gives the windows that were used by name their meaning.
func (p *parser) resolveWindows(named map[string]*Window) {
	for _, use := range p.windows {
		w, known := named[strings.ToLower(use.name.Text)]
		if !known {
			p.abort(syntaxError(use.name.Pos, "there is no window %s", use.name.Text).WithHint("write WINDOW %s AS (...) behind the query's last clause", use.name.Text))
		}
		*use.window = *w
	}
	p.windows = nil
}
