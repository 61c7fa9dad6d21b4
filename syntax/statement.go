package syntax

import (
	"slices"
	"strings"
)

func (p *parser) statement() Statement {
	at := p.peek().pos
	switch {
	case p.accept("CREATE"):
		return p.create(at)
	case p.accept("REFRESH"):
		return p.refresh(at)
	case p.accept("ALTER"):
		return p.alter(at)
	case p.accept("APPLY", "CHANGES"):
		return p.applyChanges(at)
	case p.startsQuery(0) || p.is("("):
		return &SelectStatement{Query: p.query()}
	}
	if t := p.peek(); t.kind == word && otherStatements[t.upper] != "" {
		p.refuse(at, t.upper+" in a pipeline file", otherStatements[t.upper])
	}
	p.fail("CREATE, REFRESH, ALTER or SELECT")
	return nil
}

// otherStatements are statements of Spark SQL that a pipeline file does not hold, with what to do instead (SQ-08).
var otherStatements = map[string]string{
	"INSERT":   "rows come from flows: CREATE FLOW name AS INSERT INTO table ...",
	"UPDATE":   "rows come from flows: CREATE FLOW name AS INSERT INTO table ...",
	"DELETE":   "rows come from flows: CREATE FLOW name AS INSERT INTO table ...",
	"MERGE":    "CREATE FLOW name AS AUTO CDC INTO table ... applies changes by key",
	"COPY":     "a flow reads files with read_files: CREATE FLOW name AS INSERT INTO table SELECT * FROM STREAM read_files(...)",
	"SET":      "settings stand under configuration in the pipeline's spec",
	"USE":      "the catalog and the schema stand in the pipeline's spec",
	"DROP":     "a table leaves the pipeline with its definition",
	"TRUNCATE": "a full refresh empties a table",
	"RESTORE":  "a full refresh rebuilds a table",
	"ANALYZE":  "tables need no statistics",
}

// modifiers are the words between CREATE and the kind of object, and their places.
type modifiers map[string]Pos

func (m modifiers) has(name string) bool { _, ok := m[name]; return ok }

func (p *parser) modifiers() modifiers {
	m := modifiers{}
	for {
		at := p.peek().pos
		switch {
		case p.accept("OR", "REFRESH"):
			m["OR REFRESH"] = at
		case p.accept("OR", "REPLACE"):
			m["OR REPLACE"] = at
		case p.accept("PRIVATE"):
			m["PRIVATE"] = at
		case p.accept("TEMPORARY"), p.accept("TEMP"):
			m["TEMPORARY"] = at
		default:
			return m
		}
	}
}

// only reports the modifiers that what, the kind of object, does not take.
func (m modifiers) only(p *parser, what string, allowed ...string) {
	for name, at := range m {
		if slices.Contains(allowed, name) {
			continue
		}
		e := syntaxError(at, "CREATE %s does not take %s", what, name)
		if what == "TABLE" && name != "TEMPORARY" {
			e.WithHint("a table that a pipeline fills is a STREAMING TABLE")
		}
		p.report(e)
	}
}

func (p *parser) create(at Pos) Statement {
	m := p.modifiers()
	switch {
	case p.accept("STREAMING", "TABLE"):
		m.only(p, "STREAMING TABLE", "OR REFRESH", "PRIVATE")
		return p.createTable(at, m, false)
	case p.accept("TABLE"):
		m.only(p, "TABLE")
		return p.createTable(at, m, true)
	case p.accept("MATERIALIZED", "VIEW"):
		m.only(p, "MATERIALIZED VIEW", "OR REFRESH", "OR REPLACE", "PRIVATE")
		return p.createView(at, m, true)
	case p.accept("VIEW"):
		m.only(p, "VIEW", "OR REPLACE", "TEMPORARY")
		return p.createView(at, m, false)
	case p.accept("FLOW"):
		m.only(p, "FLOW")
		return p.createFlow(at)
	case p.accept("SINK"):
		m.only(p, "SINK")
		return p.createSink(at)
	case p.is("LIVE") || p.is("STREAMING", "LIVE"):
		p.refuse(p.peek().pos, "the older word LIVE", "write STREAMING TABLE or MATERIALIZED VIEW")
	}
	p.fail("STREAMING TABLE, MATERIALIZED VIEW, VIEW, FLOW or SINK behind CREATE")
	return nil
}

func (p *parser) createSink(at Pos) *CreateSink {
	s := &CreateSink{Pos: at, Name: p.name("the sink's name")}
	seen := clauses{}
	for {
		switch {
		case seen.accept(p, "FORMAT"):
			s.Format = p.ident("the sink's format, such as kafka")
		case seen.accept(p, "OPTIONS"):
			s.Options = p.options()
		case seen.accept(p, "COMMENT"):
			s.Comment = p.text("a string")
		default:
			if _, ok := seen["FORMAT"]; !ok {
				p.fail("FORMAT")
			}
			return s
		}
	}
}

// clauses are the clauses met so far and their places. Each may stand once.
type clauses map[string]Pos

// accept takes a clause's first words, and reports it when it stood before.
func (c clauses) accept(p *parser, words ...string) bool {
	at := p.peek().pos
	if !p.accept(words...) {
		return false
	}
	c.add(p, strings.Join(words, " "), at)
	return true
}

func (c clauses) add(p *parser, name string, at Pos) {
	if _, twice := c[name]; twice {
		p.report(syntaxError(at, "%s stands twice", name))
	}
	c[name] = at
}

func (p *parser) refresh(at Pos) *Refresh {
	r := &Refresh{Pos: at, Materialized: p.accept("MATERIALIZED", "VIEW")}
	if !r.Materialized && !p.accept("STREAMING", "TABLE") && !p.accept("TABLE") {
		p.fail("STREAMING TABLE or MATERIALIZED VIEW")
	}
	r.Name = p.name("the table's name")
	r.Full = p.accept("FULL")
	if p.accept("WHERE") {
		r.Where = p.expr()
	}
	r.Async = p.acceptAny("SYNC", "ASYNC") == "ASYNC"
	return r
}

func (p *parser) alter(at Pos) *Alter {
	a := &Alter{Pos: at, Materialized: p.accept("MATERIALIZED", "VIEW")}
	if !a.Materialized && !p.accept("STREAMING", "TABLE") {
		p.fail("STREAMING TABLE or MATERIALIZED VIEW")
	}
	a.Name = p.name("the table's name")
	a.Action = p.acceptAny("ADD", "ALTER", "DROP")
	switch a.Action {
	case "":
		p.fail("ADD, ALTER or DROP")
	case "DROP":
		p.expect("SCHEDULE")
	default:
		if a.Schedule = p.schedule(); a.Schedule == nil {
			p.fail("SCHEDULE or TRIGGER ON UPDATE")
		}
	}
	return a
}
