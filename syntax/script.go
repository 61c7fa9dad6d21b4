package syntax

import (
	"strings"

	"sluice/fault"
)

// InsertStatement is INSERT INTO [TABLE] target [(columns) | BY NAME] query (DM-01, DM-06). VALUES is a query.
type InsertStatement struct {
	Pos     Pos
	Target  Name
	Columns []Ident // what the query's columns are called in the target; nil: as ByName says
	ByName  bool    // columns match by name, else by position
	Query   *Query
}

// UpdateStatement is UPDATE target [AS alias] SET column = value, ... [WHERE condition].
type UpdateStatement struct {
	Pos    Pos
	Target TableName
	Set    []Assignment
	Where  Expr // nil: every row
}

// Assignment is column = value. A value of nil is DEFAULT.
type Assignment struct {
	Column Name // with the table's name in front of it, or not
	Value  Expr
}

// DeleteStatement is DELETE FROM target [AS alias] [WHERE condition].
type DeleteStatement struct {
	Pos    Pos
	Target TableName
	Where  Expr // nil: every row
}

// DescribeHistory is DESCRIBE HISTORY name (D-27).
type DescribeHistory struct {
	Pos  Pos
	Name Name
}

func (s *InsertStatement) Position() Pos { return s.Pos }
func (s *UpdateStatement) Position() Pos { return s.Pos }
func (s *DeleteStatement) Position() Pos { return s.Pos }
func (s *DescribeHistory) Position() Pos { return s.Pos }

func (*InsertStatement) statement() {}
func (*UpdateStatement) statement() {}
func (*DeleteStatement) statement() {}
func (*DescribeHistory) statement() {}

// ParseScript reads the statements of a script that is run against the tables of a pipeline, as ParseFile reads those of a definition file.
func ParseScript(file, text string) ([]Statement, fault.List) {
	return Options{}.parseStatements(file, text, (*parser).scriptStatement)
}

// ParseScriptStatement reads one statement of a script. at is the place of its first character.
func ParseScriptStatement(text string, at Pos) (Statement, fault.List) {
	return parseOne(Options{}, text, at, (*parser).scriptStatement)
}

// Part is the text of one statement, and where it begins.
type Part struct {
	Pos  Pos
	Text string
}

// SplitScript cuts a script at its semicolons. Parts without a statement are left out.
func SplitScript(file, text string) (out []Part, problems fault.List) {
	text = strings.TrimPrefix(text, "\ufeff")
	tokens, problems := lex(text, Pos{File: file}, Options{})
	for _, part := range split(tokens) {
		if first := part[0]; first.kind != end {
			out = append(out, Part{first.pos, strings.TrimSpace(text[first.from:part[len(part)-1].from])})
		}
	}
	return out, problems
}

// scriptStatement reads what a script has: queries, DML, REFRESH, ALTER of a schedule, DESCRIBE HISTORY. Definitions stand in the files of a pipeline.
func (p *parser) scriptStatement() Statement {
	at := p.peek().pos
	switch {
	case p.accept("INSERT"):
		return p.insert(at)
	case p.accept("UPDATE"):
		return p.update(at)
	case p.accept("DELETE"):
		return p.delete(at)
	case p.accept("DESCRIBE", "HISTORY"), p.accept("DESC", "HISTORY"):
		return &DescribeHistory{Pos: at, Name: p.name("the table's name")}
	case p.accept("REFRESH"):
		return p.refresh(at)
	case p.accept("ALTER"):
		return p.alter(at)
	case p.startsQuery(0) || p.is("("):
		return &SelectStatement{Query: p.query()}
	}
	if t := p.peek(); t.kind == word && elsewhere[t.upper] != "" {
		p.refuse(at, t.upper+" in a script", elsewhere[t.upper])
	}
	p.fail("SELECT, INSERT, UPDATE, DELETE, REFRESH, ALTER or DESCRIBE HISTORY")
	return nil
}

// elsewhere are statements that a script does not hold, with what to do instead.
var elsewhere = map[string]string{
	"CREATE":   "tables, flows and sinks are defined in the files of the pipeline",
	"MERGE":    "write UPDATE, DELETE and INSERT; a flow that applies changes by key is AUTO CDC",
	"DROP":     otherStatements["DROP"],
	"TRUNCATE": "write DELETE FROM the table, or REFRESH STREAMING TABLE name FULL",
	"RESTORE":  "processor undo puts back an earlier version",
	"SET":      otherStatements["SET"],
	"USE":      "write the table with its schema: schema.table",
}

// insert reads what stands behind INSERT.
func (p *parser) insert(at Pos) *InsertStatement {
	if p.is("OVERWRITE") {
		p.refuse(p.peek().pos, "INSERT OVERWRITE", "write DELETE and INSERT, or REFRESH STREAMING TABLE name WHERE ...")
	}
	p.expect("INTO")
	p.accept("TABLE")
	s := &InsertStatement{Pos: at, Target: p.name("the table's name")}
	switch {
	case p.is("REPLACE"):
		p.refuse(p.peek().pos, "REPLACE in INSERT", "REFRESH STREAMING TABLE name WHERE ... computes a window anew")
	case p.is("PARTITION"):
		p.refuse(p.peek().pos, "PARTITION", "select the column with the others")
	case p.accept("BY", "NAME"):
		s.ByName = true
	case p.is("(") && !p.queryInParens(0):
		s.Columns = p.idents("a column's name")
	}
	s.Query = p.query()
	return s
}

// update reads what stands behind UPDATE.
func (p *parser) update(at Pos) *UpdateStatement {
	s := &UpdateStatement{Pos: at, Target: p.dmlTarget()}
	p.expect("SET")
	s.Set = list(p, p.assignment)
	s.Where = p.where()
	return s
}

// assignment reads column = value.
func (p *parser) assignment() Assignment {
	a := Assignment{Column: p.name("a column's name")}
	if !p.accept("==") {
		p.expect("=")
	}
	if !p.accept("DEFAULT") {
		a.Value = p.expr()
	}
	return a
}

// delete reads what stands behind DELETE.
func (p *parser) delete(at Pos) *DeleteStatement {
	p.expect("FROM")
	return &DeleteStatement{Pos: at, Target: p.dmlTarget(), Where: p.where()}
}

// dmlTarget reads name [[AS] alias] of UPDATE and DELETE.
func (p *parser) dmlTarget() TableName {
	t := TableName{Pos: p.peek().pos, Name: p.name("the table's name")}
	if !p.is("SET") {
		t.Alias = p.alias()
	}
	return t
}

func (p *parser) where() Expr {
	if p.accept("WHERE") {
		return p.expr()
	}
	return nil
}
