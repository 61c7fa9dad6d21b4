package model

import "slices"

// Pipeline is what is declared.
type Pipeline struct {
	Continuous bool
	Tables     []Table
	Sinks      []string
	Flows      []Flow // writers of a table before its readers, and whom a flow waits for before it
}

// Table is a streaming table. With Keys it is kept by REPLACE USING, without it is appended to, or replaced where the predicate of its flow holds.
type Table struct {
	Name         string
	Columns      []string
	Keys         []string
	Expectations []Expectation
}

// Expectation is a condition on the rows that are written to a table (section 11).
type Expectation struct {
	Name string
	Cond Expr
	Drop bool // ON VIOLATION DROP ROW; else the violation is counted
	Fail bool // ON VIOLATION FAIL UPDATE
}

// Flow fills a table or a sink.
type Flow struct {
	Name     string
	Target   string
	Once     bool
	After    []string // DEPENDS ON
	From     Source
	Select   []Item
	Where    *Expr
	Sequence *Expr    // SEQUENCE BY, over the columns of the source
	Window   *Expr    // REPLACE WHERE, over the columns of the target: the flow reads all of a table in every update
	Group    []string // GROUP BY, columns of the source; every other column of Select is then an aggregate. Only with Window
}

// Item is one column of a select list.
type Item struct {
	Expr Expr
	Name string
}

// Source is what a flow reads: a topic or a table, or the change feed of a table.
type Source struct {
	Topic  string
	Table  string
	Feed   bool
	Lossy  bool // goes on where a trimmed topic begins (allow_data_loss, D-6)
	Strict bool // what cannot be used stops the flow (mode FAILFAST); else it is left out and counted (DROPMALFORMED, D-15)
}

// Table returns a declared table, nil for a sink.
func (p *Pipeline) Table(name string) *Table {
	for i := range p.Tables {
		if p.Tables[i].Name == name {
			return &p.Tables[i]
		}
	}
	return nil
}

// windowed reports whether a table is replaced where a predicate holds.
func (p *Pipeline) windowed(table string) bool {
	return slices.ContainsFunc(p.Flows, func(f Flow) bool { return f.Target == table && f.Window != nil })
}

// Flow returns a declared flow.
func (p *Pipeline) Flow(name string) *Flow {
	for i := range p.Flows {
		if p.Flows[i].Name == name {
			return &p.Flows[i]
		}
	}
	return nil
}

// sources are the columns that a flow sees.
func (p *Pipeline) columns(s Source) []string {
	if s.Topic != "" {
		return Record
	}
	return p.Table(s.Table).Columns
}

// Record are the columns of every topic. x is a number as a text.
var Record = []string{"k", "j", "x", "s", "n"}

// RecordSchema is their schema.
const RecordSchema = "k INT, j STRING, x STRING, s BIGINT, n INT"
