package syntax

import (
	"fmt"
	"strconv"

	"sluice/batch"
)

func quoteName(name string) string { return batch.QuoteName(name) }

func (p *printer) statement(s Statement) {
	switch s := s.(type) {
	case *CreateTable:
		p.createTable(s)
	case *CreateView:
		p.createView(s)
	case *CreateFlow:
		p.createFlow(s)
	case *CreateSink:
		p.createSink(s)
	case *Refresh:
		p.refresh(s)
	case *Alter:
		p.alter(s)
	case *SelectStatement:
		p.query(s.Query)
	case *InsertStatement:
		p.insert(s)
	case *UpdateStatement:
		p.update(s)
	case *DeleteStatement:
		p.delete(s)
	case *DescribeHistory:
		p.put("DESCRIBE HISTORY ")
		p.name(s.Name)
	default:
		panic(fmt.Sprintf("syntax: no text for %T", s))
	}
}

func (p *printer) createTable(t *CreateTable) {
	p.put("CREATE ")
	p.putIf(t.OrRefresh, "OR REFRESH ")
	p.putIf(t.Private, "PRIVATE ")
	p.putIf(!t.Managed, "STREAMING ")
	p.put("TABLE ")
	p.putIf(t.IfNotExists, "IF NOT EXISTS ")
	p.name(t.Name)
	p.columns(t.Columns, t.Expectations, t.Constraints)
	p.tableClauses(t.Clauses)
	if t.Flow != nil {
		p.put("\nFLOW ")
		p.inlineFlow(t.Flow)
	}
}

func (p *printer) createView(v *CreateView) {
	p.put("CREATE ")
	p.putIf(v.OrRefresh, "OR REFRESH ")
	p.putIf(v.OrReplace, "OR REPLACE ")
	p.putIf(v.Private, "PRIVATE ")
	p.putIf(v.Temporary, "TEMPORARY ")
	p.putIf(v.Materialized, "MATERIALIZED ")
	p.put("VIEW ")
	p.putIf(v.IfNotExists, "IF NOT EXISTS ")
	p.name(v.Name)
	p.columns(v.Columns, v.Expectations, v.Constraints)
	p.tableClauses(v.Clauses)
	p.put("\nAS ")
	p.query(v.Query)
}

func (p *printer) columns(cols []ColumnDef, checks []Expectation, constraints []TableConstraint) {
	if len(cols)+len(checks)+len(constraints) == 0 {
		return
	}
	separator := " (\n  "
	next := func() {
		p.put(separator)
		separator = ",\n  "
	}
	for _, c := range cols {
		next()
		p.column(c)
	}
	for _, e := range checks {
		next()
		p.expectation(e)
	}
	for _, c := range constraints {
		next()
		p.put(c.Text)
	}
	p.put("\n)")
}

func (p *printer) column(c ColumnDef) {
	p.ident(c.Name)
	if c.Type != nil {
		p.put(" ")
		p.dataType(c.Type)
	}
	p.putIf(c.NotNull, " NOT NULL")
	if c.Generated != nil {
		p.put(" GENERATED ALWAYS AS (")
		p.any(c.Generated)
		p.put(")")
	}
	if c.Identity {
		p.identity(c)
	}
	p.clause(" DEFAULT ", c.Default)
	p.text(" COMMENT ", c.Comment)
	if c.Mask != nil {
		p.put(" MASK ")
		p.name(*c.Mask)
	}
	for _, k := range c.Constraints {
		p.put(" ", k.Text)
	}
}

func (p *printer) identity(c ColumnDef) {
	p.put(" GENERATED ")
	if c.ByDefault {
		p.put("BY DEFAULT")
	} else {
		p.put("ALWAYS")
	}
	p.put(" AS IDENTITY")
	if c.Start == nil && c.Increment == nil {
		return
	}
	p.put(" (")
	if c.Start != nil {
		p.put("START WITH ", c.Start.Text)
	}
	p.putIf(c.Start != nil && c.Increment != nil, " ")
	if c.Increment != nil {
		p.put("INCREMENT BY ", c.Increment.Text)
	}
	p.put(")")
}

// text writes a keyword and a string, if there is one.
func (p *printer) text(keyword, s string) {
	if s != "" {
		p.put(keyword, quoteText(s))
	}
}

func (p *printer) expectation(e Expectation) {
	p.put("CONSTRAINT ")
	p.ident(e.Name)
	p.put(" EXPECT (")
	p.any(e.Expr)
	p.put(")")
	switch e.Action {
	case "drop":
		p.put(" ON VIOLATION DROP ROW")
	case "fail":
		p.put(" ON VIOLATION FAIL UPDATE")
	}
}

func (p *printer) tableClauses(c TableClauses) {
	if c.Using != "" {
		p.put("\nUSING ", quoteName(c.Using))
	}
	if c.PartitionedBy != nil {
		p.put("\nPARTITIONED BY ")
		p.idents(c.PartitionedBy)
	}
	p.putIf(c.ClusterAuto, "\nCLUSTER BY AUTO")
	if c.ClusterBy != nil {
		p.put("\nCLUSTER BY ")
		p.idents(c.ClusterBy)
	}
	p.text("\nLOCATION ", c.Location)
	p.text("\nCOMMENT ", c.Comment)
	if c.Collation != "" {
		p.put("\nDEFAULT COLLATION ", quoteName(c.Collation))
	}
	if c.Properties != nil {
		p.put("\nTBLPROPERTIES ")
		p.options(c.Properties, " = ")
	}
	if c.RefreshPolicy != "" {
		p.put("\nREFRESH POLICY ", c.RefreshPolicy)
	}
	if c.Schedule != nil {
		p.put("\n")
		p.schedule(c.Schedule)
	}
	if c.RowFilter != nil {
		p.put("\nWITH ROW FILTER ")
		p.name(*c.RowFilter)
		p.put(" ON ")
		p.idents(c.RowFilterOn)
	}
}

func (p *printer) schedule(s *Schedule) {
	switch {
	case s.OnUpdate:
		p.put("TRIGGER ON UPDATE")
		if s.AtMost != "" {
			p.put(" AT MOST EVERY INTERVAL ", s.AtMost)
		}
	case s.Every > 0:
		p.put("SCHEDULE EVERY ", strconv.Itoa(s.Every), " ", s.Unit)
		p.putIf(s.Every > 1, "S")
	default:
		p.put("SCHEDULE CRON ", quoteText(s.Cron))
		p.text(" AT TIME ZONE ", s.Zone)
	}
}

// inlineFlow writes what stands behind FLOW in a table: the rule, then BY NAME (SQ-05).
func (p *printer) inlineFlow(f *FlowBody) {
	switch f.Kind {
	case Insert:
		p.put("INSERT")
		p.putIf(f.Once, " ONCE")
	case AutoCDC:
		p.put("AUTO CDC")
		p.putIf(f.Once, " ONCE")
		p.cdc(f.CDC)
		return
	default:
		p.replaceRule(f)
	}
	p.putIf(f.ByName, " BY NAME")
	p.put("\n")
	p.query(f.Query)
}

func (p *printer) replaceRule(f *FlowBody) {
	if f.Kind == ReplaceWhere {
		p.put("REPLACE WHERE ")
		p.any(f.Predicate)
		return
	}
	p.put("REPLACE USING ")
	p.idents(f.Keys)
	p.put(" SEQUENCE BY ")
	each(p, f.Sequence, p.any)
}

func (p *printer) createFlow(f *CreateFlow) {
	p.put("CREATE FLOW ")
	p.name(f.Name)
	if f.DependsOn != nil {
		p.put("\nDEPENDS ON (")
		each(p, f.DependsOn, p.name)
		p.put(")")
	}
	p.text("\nCOMMENT ", f.Comment)
	p.put("\nAS ")
	b := &f.Body
	if b.Kind == AutoCDC {
		p.put("AUTO CDC ")
		p.putIf(b.Once, "ONCE ")
		p.put("INTO ")
		p.name(f.Target)
		p.cdc(b.CDC)
		return
	}
	p.put("INSERT ")
	p.putIf(b.Once, "ONCE ")
	p.put("INTO ")
	p.putIf(f.IntoSink, "SINK ")
	p.name(f.Target)
	p.putIf(b.ByName, " BY NAME")
	if b.Kind != Insert {
		p.put("\n")
		p.replaceRule(b)
	}
	p.put("\n")
	p.query(b.Query)
}

func (p *printer) cdc(c *CDC) {
	p.put("\nFROM ")
	p.tableRef(c.Source)
	p.put("\nKEYS ")
	p.idents(c.Keys)
	if c.IgnoreNullUpdates {
		p.put("\nIGNORE NULL UPDATES")
		p.columnList(" ON ", c.IgnoreNullOn)
	}
	p.clause("\nAPPLY AS DELETE WHEN ", c.DeleteWhen)
	p.clause("\nAPPLY AS TRUNCATE WHEN ", c.TruncateWhen)
	p.clause("\nSEQUENCE BY ", c.Sequence)
	p.clause("\nSYSTEM SEQUENCE BY ", c.SystemSequence)
	p.columnList("\nCOLUMNS ", c.Columns)
	p.put("\nSTORED AS ", c.StoredAs)
	p.columnList("\nTRACK HISTORY ON ", c.TrackHistory)
	if c.ColumnsToUpdate != nil {
		p.put("\nCOLUMNS TO UPDATE ")
		p.ident(*c.ColumnsToUpdate)
	}
}

func (p *printer) columnList(keyword string, l *ColumnList) {
	if l == nil {
		return
	}
	p.put(keyword)
	p.putIf(l.Except, "* EXCEPT ")
	p.idents(l.Names)
}

func (p *printer) createSink(s *CreateSink) {
	p.put("CREATE SINK ")
	p.name(s.Name)
	p.put("\nFORMAT ")
	p.ident(s.Format)
	if s.Options != nil {
		p.put("\nOPTIONS ")
		p.options(s.Options, " => ")
	}
	p.text("\nCOMMENT ", s.Comment)
}

func (p *printer) refresh(r *Refresh) {
	p.put("REFRESH ")
	if r.Materialized {
		p.put("MATERIALIZED VIEW ")
	} else {
		p.put("STREAMING TABLE ")
	}
	p.name(r.Name)
	p.putIf(r.Full, " FULL")
	p.clause(" WHERE ", r.Where)
	p.putIf(r.Async, " ASYNC")
}

func (p *printer) alter(a *Alter) {
	p.put("ALTER ")
	if a.Materialized {
		p.put("MATERIALIZED VIEW ")
	} else {
		p.put("STREAMING TABLE ")
	}
	p.name(a.Name)
	p.put(" ", a.Action, " ")
	if a.Schedule == nil {
		p.put("SCHEDULE")
		return
	}
	p.schedule(a.Schedule)
}
