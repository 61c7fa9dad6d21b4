package syntax

import (
	"strconv"

	"sluice/fault"
)

// createTable reads what stands behind CREATE STREAMING TABLE (17.1), and behind CREATE TABLE (managed, SQ-07).
func (p *parser) createTable(at Pos, m modifiers, managed bool) *CreateTable {
	t := &CreateTable{Pos: at, OrRefresh: m.has("OR REFRESH"), Private: m.has("PRIVATE"), Managed: managed}
	t.IfNotExists = p.accept("IF", "NOT", "EXISTS")
	t.Name = p.name("the table's name")
	if p.is("(") {
		t.HasColumns = true
		t.Columns, t.Expectations, t.Constraints = p.columns(true)
	}
	p.tableClauses(&t.Clauses, false)
	begin := p.peek().pos
	switch {
	case p.accept("FLOW"):
		t.Flow = p.inlineFlow(begin, managed)
	case p.accept("AS"): // SQ-01
		t.Flow = &FlowBody{Pos: begin, Kind: Insert, ByName: true, Query: p.query()}
	case p.peek().kind != end:
		p.fail("a clause of the table, FLOW or AS")
	}
	return t
}

func (p *parser) createView(at Pos, m modifiers, materialized bool) *CreateView {
	v := &CreateView{Pos: at, Materialized: materialized, Temporary: m.has("TEMPORARY"), OrRefresh: m.has("OR REFRESH"),
		OrReplace: m.has("OR REPLACE"), Private: m.has("PRIVATE")}
	v.IfNotExists = p.accept("IF", "NOT", "EXISTS")
	v.Name = p.name("the view's name")
	if p.is("(") {
		v.Columns, v.Expectations, v.Constraints = p.columns(false)
	}
	p.tableClauses(&v.Clauses, true)
	if !materialized {
		p.plainViewOnly(v.Clauses)
	}
	if p.is("FLOW") {
		p.abort(syntaxError(p.peek().pos, "found FLOW, expected AS").WithHint("only a STREAMING TABLE has a FLOW; a view has AS query"))
	}
	if !p.accept("AS") {
		p.fail("a clause of the view or AS")
	}
	v.Query = p.query()
	return v
}

// plainViewOnly reports the clauses that CREATE VIEW and CREATE TEMPORARY VIEW do not take (17.4).
func (p *parser) plainViewOnly(c TableClauses) {
	for name, at := range c.Positions {
		if name != "COMMENT" && name != "TBLPROPERTIES" {
			p.report(syntaxError(at, "a VIEW does not take %s", name).WithHint("a MATERIALIZED VIEW does"))
		}
	}
}

// columns reads ( column, ... expectation, ... constraint, ... ). Only views may leave out the types.
func (p *parser) columns(typed bool) (cols []ColumnDef, checks []Expectation, constraints []TableConstraint) {
	parenthesised(p, func() struct{} {
		switch {
		case p.is("CONSTRAINT") && p.ahead(1).isName() && p.ahead(2).is("EXPECT"):
			checks = append(checks, p.expectation())
		case p.startsConstraint():
			constraints = append(constraints, p.constraint())
		default:
			cols = append(cols, p.column(typed))
		}
		return struct{}{}
	})
	return cols, checks, constraints
}

func (p *parser) expectation() Expectation {
	e := Expectation{Pos: p.next().pos, Name: p.ident("the expectation's name"), Action: "warn"}
	p.expect("EXPECT", "(")
	e.Expr = p.expr()
	p.expect(")")
	if p.accept("ON", "VIOLATION") {
		switch {
		case p.accept("DROP", "ROW"):
			e.Action = "drop"
		case p.accept("FAIL", "UPDATE"):
			e.Action = "fail"
		default:
			p.fail("DROP ROW or FAIL UPDATE")
		}
	}
	return e
}

// startsConstraint reports whether a table constraint comes next. A column may be called primary, check or constraint.
func (p *parser) startsConstraint() bool {
	kind := p.ahead(2)
	return p.is("PRIMARY", "KEY") || p.is("FOREIGN", "KEY") || p.is("UNIQUE", "(") || p.is("CHECK", "(") ||
		p.is("CONSTRAINT") && (kind.is("PRIMARY") || kind.is("FOREIGN") || kind.is("UNIQUE") || kind.is("CHECK"))
}

// constraint reads a table or column constraint as text, up to the next comma or parenthesis that is not its own, or the
// next option of the column.
func (p *parser) constraint() TableConstraint {
	from, at := p.i, p.peek().pos
	for !p.isAny(",", ")", "COMMENT", "DEFAULT", "MASK", "GENERATED") && !p.is("NOT", "NULL") && p.peek().kind != end {
		if p.is("(") {
			p.i = p.close[p.i]
		}
		p.next()
	}
	return TableConstraint{Text: p.source(from), Pos: at}
}

// schema reads the column list of a schema => option: names, types, NOT NULL and COMMENT.
func (p *parser) schema() []ColumnDef {
	columns := list(p, func() ColumnDef {
		c := p.columnType(true)
		for p.fieldOption(&c) {
		}
		return c
	})
	if p.peek().kind != end {
		p.fail("',' between two columns")
	}
	return columns
}

// column reads name type option ...
func (p *parser) column(typed bool) ColumnDef {
	c := p.columnType(typed)
	for p.fieldOption(&c) || p.columnOption(&c) {
	}
	return c
}

// columnType reads the name and the type of a column; a colon may stand between them.
func (p *parser) columnType(typed bool) ColumnDef {
	c := ColumnDef{Pos: p.peek().pos, Name: p.ident("a column's name")}
	if p.accept(":") || typed || p.peek().isName() && !p.isAny("COMMENT", "NOT", "MASK") {
		c.Type = p.dataType()
	}
	return c
}

// fieldOption reads what columns of tables and of messages may have.
func (p *parser) fieldOption(c *ColumnDef) bool {
	switch {
	case p.accept("NOT", "NULL"):
		c.NotNull = true
	case p.accept("COMMENT"):
		c.Comment = p.text("a string")
	default:
		return false
	}
	return true
}

// columnOption reads what only columns of tables may have.
func (p *parser) columnOption(c *ColumnDef) bool {
	switch {
	case p.accept("DEFAULT"):
		c.Default = p.expr()
	case p.accept("MASK"):
		n := p.name("the function that masks the column")
		c.Mask = &n
	case p.accept("GENERATED"):
		p.generated(c)
	case p.isAny("PRIMARY", "UNIQUE", "REFERENCES", "CHECK", "CONSTRAINT", "FOREIGN"):
		c.Constraints = append(c.Constraints, p.constraint())
	default:
		return false
	}
	return true
}

func (p *parser) generated(c *ColumnDef) {
	c.ByDefault = p.accept("BY", "DEFAULT")
	if !c.ByDefault {
		p.expect("ALWAYS")
	}
	p.expect("AS")
	if !p.accept("IDENTITY") {
		if c.ByDefault {
			p.fail("IDENTITY")
		}
		p.expect("(")
		c.Generated = p.expr()
		p.expect(")")
		return
	}
	c.Identity = true
	if !p.accept("(") {
		return
	}
	for !p.accept(")") {
		switch {
		case p.accept("START", "WITH"):
			c.Start = p.integer()
		case p.accept("INCREMENT", "BY"):
			c.Increment = p.integer()
		default:
			p.fail("START WITH, INCREMENT BY or ')'")
		}
	}
}

// integer reads a whole number, negative ones included.
func (p *parser) integer() *Literal {
	if t := p.ahead(0); t.kind == number && t.lit == IntegerLiteral || p.is("-") && p.ahead(1).lit == IntegerLiteral {
		return p.number()
	}
	p.fail("a whole number")
	return nil
}

// tableClauses reads the clauses between the column list and the query, in any order, each at most once.
func (p *parser) tableClauses(c *TableClauses, view bool) {
	seen := clauses{}
	for p.tableClause(c, seen, view) {
	}
	if at, both := seen["CLUSTER BY"]; both { // SQ-04
		if _, both = seen["PARTITIONED BY"]; both {
			p.report(fault.New(fault.PartitionWithCluster, "CLUSTER BY stands beside PARTITIONED BY").At(at).WithHint("keep one of them"))
		}
	}
	c.Positions = seen
}

func (p *parser) tableClause(c *TableClauses, seen clauses, view bool) bool {
	switch {
	case seen.accept(p, "USING"):
		c.Using = p.ident("a format, such as DELTA").Text
	case seen.accept(p, "PARTITIONED", "BY"):
		c.PartitionedBy = p.idents("a column's name")
	case seen.accept(p, "CLUSTER", "BY"):
		if c.ClusterAuto = p.accept("AUTO"); !c.ClusterAuto && !p.accept("NONE") {
			c.ClusterBy = p.idents("a column's name")
		}
	case seen.accept(p, "LOCATION"):
		c.Location = p.text("a string")
	case seen.accept(p, "COMMENT"):
		c.Comment = p.text("a string")
	case seen.accept(p, "DEFAULT", "COLLATION"):
		c.Collation = p.ident("a collation, such as UTF8_BINARY").Text
	case seen.accept(p, "TBLPROPERTIES"):
		c.Properties = p.options()
	case seen.accept(p, "WITH", "ROW", "FILTER"):
		p.rowFilter(c)
	case view && seen.accept(p, "REFRESH", "POLICY"):
		c.RefreshPolicy = p.refreshPolicy()
	case p.isAny("SCHEDULE", "TRIGGER"):
		seen.add(p, "SCHEDULE", p.peek().pos)
		c.Schedule = p.schedule()
	default:
		return false
	}
	return true
}

func (p *parser) rowFilter(c *TableClauses) {
	n := p.name("the function that filters rows")
	c.RowFilter = &n
	p.expect("ON")
	if !p.accept("(", ")") {
		c.RowFilterOn = p.idents("a column's name")
	}
}

func (p *parser) refreshPolicy() string {
	policy := p.acceptAny("AUTO", "INCREMENTAL", "FULL")
	switch {
	case policy == "":
		p.fail("AUTO, INCREMENTAL, INCREMENTAL STRICT or FULL")
	case policy == "INCREMENTAL" && p.accept("STRICT"):
		policy = "INCREMENTAL STRICT"
	}
	return policy
}

// schedule reads SCHEDULE ... or TRIGGER ON UPDATE ..., and returns nil when neither comes next (SC-01 to SC-03).
func (p *parser) schedule() *Schedule {
	s := &Schedule{Pos: p.peek().pos}
	switch {
	case p.accept("TRIGGER"):
		p.expect("ON", "UPDATE")
		s.OnUpdate = true
		if p.accept("AT", "MOST") {
			p.expect("EVERY")
			s.AtMost = p.atMost()
		}
	case p.accept("SCHEDULE"):
		p.accept("REFRESH")
		switch {
		case p.accept("EVERY"):
			s.Every, s.Unit = p.every()
		case p.accept("CRON"):
			p.cron(s)
		default:
			p.fail("EVERY or CRON")
		}
	default:
		return nil
	}
	return s
}

func (p *parser) every() (n int, unit string) {
	count := p.integer()
	n, err := strconv.Atoi(count.Text)
	if err != nil || n < 1 {
		p.abort(syntaxError(count.Pos, "EVERY needs a whole number above 0, found %s", count.Text))
	}
	for _, unit := range []string{"HOUR", "DAY", "WEEK"} {
		if p.acceptAny(unit, unit+"S") != "" {
			return n, unit
		}
	}
	if p.isAny("SECOND", "SECONDS", "MINUTE", "MINUTES") {
		p.abort(syntaxError(p.peek().pos, "EVERY takes HOURS, DAYS or WEEKS, found %s", p.peek().text).WithHint("use SCHEDULE CRON (SC-01)"))
	}
	p.fail("HOURS, DAYS or WEEKS")
	return 0, ""
}

func (p *parser) cron(s *Schedule) {
	s.Cron = p.text("a CRON expression in quotes")
	if p.accept("AT", "TIME", "ZONE") {
		s.Zone = p.text("a time zone in quotes")
	}
}

// atMost reads INTERVAL n unit and returns it without the word.
func (p *parser) atMost() string {
	at := p.peek().pos
	if p.is("INTERVAL") {
		if lit := p.interval(); lit != nil {
			return intervalParts(lit)
		}
	}
	p.abort(syntaxError(at, "found %s, expected an interval", p.describe(p.peek())).WithHint("write INTERVAL 5 MINUTES"))
	return ""
}
