package dialect

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"sluice/batch"
	"sluice/fault"
	"sluice/syntax"
)

// tables is the scope of the tests: a source with metadata, tables, and a table whose names differ in case only.
type tables struct{}

var known = map[string]string{
	"ticks":   "key STRING, symbol STRING, ts TIMESTAMP, close DECIMAL(10,4), volume BIGINT NOT NULL, tags ARRAY<STRING>",
	"dim":     "symbol STRING NOT NULL, name STRING, sector INT",
	"orders":  "id BIGINT, customer STRUCT<name: STRING, address: STRUCT<city: STRING>>, day DATE, amount DECIMAL(10,2), price DOUBLE, attributes MAP<STRING, STRING>",
	"mixed":   "`foo` STRING, `fOO` INT, `odd name` INT, `a\"b` INT",
	"nested":  "s STRUCT<`foo`: STRING, `fOO`: INT>",
	"floats":  "f FLOAT, v VARIANT, b BINARY, m MAP<STRING, INT>",
	"nothing": "",
}

const metadata = "topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, key BINARY, headers ARRAY<STRUCT<key: STRING, value: BINARY>>"

func fields(ddl string) []batch.Field {
	if ddl == "" {
		return nil
	}
	columns, problems := syntax.ParseSchema(ddl, syntax.Pos{})
	if len(problems) > 0 {
		panic(problems)
	}
	out, problems := syntax.Fields(columns)
	if len(problems) > 0 {
		panic(problems)
	}
	return out
}

func (tables) Relation(ref syntax.TableRef) (*Relation, *fault.Error) {
	switch ref := ref.(type) {
	case *syntax.TableName:
		name := strings.ToLower(ref.Name.Parts[len(ref.Name.Parts)-1].Text)
		if ddl, ok := known[name]; ok {
			return relation(name, ddl, ref.Stream), nil
		}
		return nil, fault.New(fault.TableNotFound, "there is no table %s", name).At(ref.Pos)
	case *syntax.TableFunc:
		return relation("read_kafka", known["ticks"], ref.Stream), nil
	}
	return nil, fault.New(fault.TableNotFound, "there is no such table").At(ref.Position())
}

func relation(name, ddl string, stream bool) *Relation {
	r := &Relation{Name: name, Handle: name, Fields: fields(ddl), Stream: stream}
	if name == "ticks" || name == "read_kafka" {
		r.Hidden = []batch.Field{{Name: "_metadata", Type: batch.StructOf(fields(metadata)...)}}
	}
	return r
}

// TestFlows runs the files of testdata/flow. A case is a query and, below a line ==, what a flow makes of it:
//
//	columns a INT, b STRING   the target, whose columns are taken from the query by position
//	sequence expr             SEQUENCE BY
//	check expr                an expectation
//
// The argument streaming makes it a micro-batch query, row asks for the input row.
func TestFlows(t *testing.T) {
	datadriven.Walk(t, "testdata/flow", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			opt := Options{Streaming: d.HasArg("streaming")}
			d.MaybeScanArgs(t, "zone", &opt.Zone)
			text, directives, _ := strings.Cut(d.Input, "\n==\n")
			q, problems := syntax.ParseQuery("q.sql", text)
			if len(problems) > 0 {
				return problems.Error()
			}
			a, problems := Analyse(q, tables{}, opt)
			if len(problems) > 0 {
				return problems.Error()
			}
			if d.Cmd == "analyse" {
				return described(a)
			}
			p, problems := projection(a, directives)
			if len(problems) > 0 {
				return problems.Error()
			}
			p.Row = d.HasArg("row")
			c, problems := a.Compile(p)
			if len(problems) > 0 {
				return problems.Error()
			}
			return compiled(c)
		})
	})
}

func described(a *Analysis) string {
	return batch.DDL(a.Output) + "\n" + readsOf(a.Reads) + flags(a.Clock, a.Unordered)
}

func readsOf(reads []Read) string {
	var b strings.Builder
	for _, r := range reads {
		fmt.Fprintf(&b, "reads %s: %s\n", r.Relation.Name, strings.Join(r.Columns, ", "))
	}
	return b.String()
}

func flags(clock, unordered bool) string {
	out := ""
	if clock {
		out += "clock\n"
	}
	if unordered {
		out += "unordered\n"
	}
	return out
}

func projection(a *Analysis, directives string) (Projection, fault.List) {
	var p Projection
	for i, line := range strings.Split(directives, "\n") {
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "columns":
			for i, f := range fields(rest) {
				t := Target{Field: f, From: -1}
				if i < len(a.Output) {
					t.From = i
				}
				p.Columns = append(p.Columns, t)
			}
		case "sequence", "check":
			e, problems := syntax.ParseExpr(rest, syntax.Pos{File: word, Line: i + 1, Column: 1})
			if len(problems) > 0 {
				return p, problems
			}
			if word == "sequence" {
				p.Sequence = e
			} else {
				p.Checks = append(p.Checks, e)
			}
		}
	}
	if p.Columns == nil {
		for i, f := range a.Output {
			p.Columns = append(p.Columns, Target{Field: f, From: i})
		}
	}
	return p, nil
}

func compiled(c *Compiled) string {
	out := c.SQL + "\n"
	if c.Guarded != c.SQL {
		out += "guarded: " + c.Guarded + "\n"
	}
	if c.Sequence.Kind != batch.Void {
		out += "sequence " + c.Sequence.String() + "\n"
	}
	return out + readsOf(c.Reads) + flags(c.Clock, c.Unordered)
}
