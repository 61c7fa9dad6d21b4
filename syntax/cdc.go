package syntax

import "sluice/fault"

// cdc reads the specification of an AUTO CDC flow (17.3): FROM and KEYS, then the other clauses in any order (SQ-12).
func (p *parser) cdc(f *FlowBody) {
	c := &CDC{Pos: p.peek().pos, StoredAs: "SCD TYPE 1"}
	f.Kind, f.CDC = AutoCDC, c
	if !p.accept("FROM") {
		p.abort(fault.New(fault.AutoCDCNoSource, "found %s, expected FROM source", p.describe(p.peek())).At(p.peek().pos))
	}
	c.Source = p.relationName(false)
	if !p.is("KEYS") || p.is("KEYS", "(", ")") {
		p.abort(fault.New(fault.AutoCDCNoKeys, "found %s, expected KEYS (column, ...)", p.describe(p.peek())).At(p.peek().pos).
			WithHint("KEYS stands behind the source"))
	}
	p.next()
	c.Keys = p.idents("a key column's name")
	seen := clauses{}
	for p.cdcClause(c, seen) {
	}
	if c.Sequence == nil {
		p.report(fault.New(fault.AutoCDCNoSequence, "AUTO CDC has no SEQUENCE BY").At(c.Pos).WithHint("write SEQUENCE BY column"))
	}
}

func (p *parser) cdcClause(c *CDC, seen clauses) bool {
	switch {
	case seen.accept(p, "IGNORE", "NULL", "UPDATES"):
		c.IgnoreNullUpdates = true
		if p.accept("ON") {
			c.IgnoreNullOn = p.columnList()
		}
	case seen.accept(p, "APPLY", "AS", "DELETE", "WHEN"):
		c.DeleteWhen = p.expr()
	case seen.accept(p, "APPLY", "AS", "TRUNCATE", "WHEN"):
		c.TruncateWhen = p.expr()
	case seen.accept(p, "SEQUENCE", "BY"):
		c.Sequence = p.expr()
	case seen.accept(p, "SYSTEM", "SEQUENCE", "BY"):
		c.SystemSequence = p.expr()
	case seen.accept(p, "COLUMNS", "TO", "UPDATE"):
		column := p.ident("a column's name")
		c.ColumnsToUpdate = &column
	case seen.accept(p, "COLUMNS"):
		c.Columns = p.columnList()
	case seen.accept(p, "STORED", "AS"):
		c.StoredAs = p.storedAs()
	case seen.accept(p, "TRACK", "HISTORY", "ON"):
		c.TrackHistory = p.columnList()
	case p.peek().kind != end:
		p.fail("a clause of AUTO CDC")
	default:
		return false
	}
	return true
}

func (p *parser) storedAs() string {
	switch {
	case p.accept("BITEMPORAL"):
		return "BITEMPORAL"
	case p.accept("SCD", "TYPE"):
		if t := p.peek(); t.kind == number && (t.text == "1" || t.text == "2") {
			return "SCD TYPE " + p.next().text
		}
		p.fail("1 or 2")
	}
	p.fail("SCD TYPE 1, SCD TYPE 2 or BITEMPORAL")
	return ""
}

// columnList reads (a, b), a, b or * EXCEPT (a, b), * EXCEPT a, b: public text has both (SQ-14). The printer writes the
// parentheses.
func (p *parser) columnList() *ColumnList {
	l := &ColumnList{}
	if p.accept("*") {
		p.expect("EXCEPT")
		l.Except = true
	}
	if p.is("(") {
		l.Names = p.idents("a column's name")
	} else {
		l.Names = list(p, func() Ident { return p.ident("a column's name") })
	}
	return l
}
