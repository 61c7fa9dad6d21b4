package proof

import (
	"fmt"
	"strings"

	"sluice/internal/model"
)

// changeColumn is the last column of a table that keeps the changes of another one.
const changeColumn = "op"

// SQL is a pipeline as its definition.
func SQL(p *model.Pipeline) string {
	var lines []string
	for _, t := range p.Tables {
		lines = append(lines, "CREATE STREAMING TABLE "+t.Name+constraints(t.Expectations)+";")
	}
	for _, s := range p.Sinks {
		lines = append(lines, "CREATE SINK "+s+" FORMAT memory;")
	}
	for i := range p.Flows {
		lines = append(lines, flowSQL(p, &p.Flows[i]))
	}
	return strings.Join(lines, "\n")
}

func constraints(list []model.Expectation) string {
	var parts []string
	for _, e := range list {
		text := fmt.Sprintf("CONSTRAINT %s EXPECT (%s)", e.Name, e.Cond.SQL())
		switch {
		case e.Fail:
			text += " ON VIOLATION FAIL UPDATE"
		case e.Drop:
			text += " ON VIOLATION DROP ROW"
		}
		parts = append(parts, text)
	}
	if parts == nil {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

func flowSQL(p *model.Pipeline, f *model.Flow) string {
	var out strings.Builder
	out.WriteString("CREATE FLOW " + f.Name)
	if f.After != nil {
		out.WriteString(" DEPENDS ON (" + strings.Join(f.After, ", ") + ")")
	}
	out.WriteString(" AS INSERT ")
	t := p.Table(f.Target)
	switch {
	case t == nil:
		out.WriteString("INTO SINK " + f.Target + " BY NAME")
	case f.Once:
		out.WriteString("ONCE INTO " + f.Target + " BY NAME")
	default:
		out.WriteString("INTO " + f.Target + " BY NAME")
	}
	if t != nil && t.Keys != nil {
		fmt.Fprintf(&out, " REPLACE USING (%s) SEQUENCE BY %s", strings.Join(t.Keys, ", "), f.Sequence.SQL())
	}
	out.WriteString(windowSQL(f))
	var items []string
	for _, i := range f.Select {
		text := i.Expr.SQL()
		if text != i.Name {
			text += " AS " + i.Name
		}
		items = append(items, text)
	}
	if t != nil && t.Keys == nil && f.From.Feed {
		items = append(items, "_change_type AS "+changeColumn)
	}
	fmt.Fprintf(&out, "\nSELECT %s FROM %s", strings.Join(items, ", "), sourceSQL(f))
	if f.Where != nil {
		out.WriteString(" WHERE " + f.Where.SQL())
	}
	if f.Group != nil {
		out.WriteString(" GROUP BY " + strings.Join(f.Group, ", "))
	}
	return out.String() + ";"
}

func sourceSQL(f *model.Flow) string {
	switch {
	case f.From.Topic != "":
		read := fmt.Sprintf("read_kafka(subscribe => '%s', format => 'json', schema => '%s', mode => '%s'%s)", f.From.Topic, model.RecordSchema,
			map[bool]string{true: "FAILFAST", false: "DROPMALFORMED"}[f.From.Strict], map[bool]string{true: ", allow_data_loss => 'true'"}[f.From.Lossy])
		if f.Once {
			return read
		}
		return "STREAM " + read
	case f.Window != nil:
		return f.From.Table
	case f.From.Feed:
		return "STREAM(" + f.From.Table + ") WITH (readChangeFeed = true, mode = 'DROPMALFORMED')"
	}
	return "STREAM(" + f.From.Table + ") WITH (mode = 'DROPMALFORMED')"
}

// foldSQL adds up the changes that a table keeps. Two zeros are two values here, as they are in a row.
func foldSQL(t *model.Table) string {
	var items, groups []string
	for _, c := range t.Columns[:len(t.Columns)-1] {
		if c == "d" {
			items, groups = append(items, "CAST(d AS STRING) AS d"), append(groups, "CAST(d AS STRING)")
			continue
		}
		items, groups = append(items, c), append(groups, c)
	}
	sum := "sum(CASE WHEN " + changeColumn + " = 'delete' THEN -1 ELSE 1 END)"
	return fmt.Sprintf("SELECT %s, %s AS times FROM %s GROUP BY %s HAVING %s <> 0", strings.Join(items, ", "), sum, t.Name, strings.Join(groups, ", "), sum)
}

func foldHead(t *model.Table) string {
	return strings.Join(t.Columns[:len(t.Columns)-1], " ") + " times"
}
