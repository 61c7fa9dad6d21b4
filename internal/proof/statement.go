package proof

import (
	"fmt"
	"strings"

	"sluice/internal/model"
)

// statement adds one of SQL to the steps of a case: to a table with windows or one that is appended to (DM-O1).
func (g *generator) statement() {
	t := pick(g, g.c.Pipeline.Tables...)
	if t.Keys != nil {
		return
	}
	where := g.predicate()
	switch g.IntN(3) {
	case 0:
		g.add(Step{Kind: Delete, Name: t.Name, Where: where})
	case 1:
		g.add(Step{Kind: Update, Name: t.Name, Where: where})
	default:
		step := Step{Kind: Insert, Name: t.Name}
		for range 1 + g.IntN(3) {
			row := model.Row{int64(g.IntN(4)), pick[model.Value](g, "a", "", nil), pick[model.Value](g, 0.1, 0.7, nil), int64(g.IntN(5)), nil}
			step.Messages = append(step.Messages, model.Message{Row: row})
		}
		g.add(step)
	}
}

// statement runs one of SQL once all is applied, and looks at its table. A flow whose tables it has not touched has nothing to do: that the next run
// computes all windows takes a daemon that starts.
func (s *script) statement(step Step) {
	s.apply()
	one := map[string]model.Expr{"s": model.Call("+", model.Column("s"), model.Literal(int64(1)))}
	switch step.Kind {
	case Insert:
		var rows []model.Row
		for _, m := range step.Messages {
			rows = append(rows, m.Row)
		}
		s.world.Insert(step.Name, rows...)
		s.say("sql", insertSQL(step.Name, rows), fmt.Sprintf("num_affected_rows num_inserted_rows\n%d %d", len(rows), len(rows)))
	case Update:
		n := s.world.Update(step.Name, step.Where, one)
		s.say("sql", fmt.Sprintf("UPDATE %s SET s = s + 1 WHERE %s", step.Name, step.Where.SQL()), fmt.Sprintf("num_affected_rows\n%d", n))
	case Delete:
		n := s.world.Delete(step.Name, step.Where)
		s.say("sql", fmt.Sprintf("DELETE FROM %s WHERE %s", step.Name, step.Where.SQL()), fmt.Sprintf("num_affected_rows\n%d", n))
	}
	s.table(s.Pipeline.Table(step.Name))
	s.say("stop", "", "")
	s.applied = false
}

// insertSQL names no columns: they are taken by their place (DM-06).
func insertSQL(table string, rows []model.Row) string {
	var tuples []string
	for _, r := range rows {
		var values []string
		for _, v := range r {
			values = append(values, model.Literal(v).SQL())
		}
		tuples = append(tuples, "("+strings.Join(values, ", ")+")")
	}
	return fmt.Sprintf("INSERT INTO %s VALUES %s", table, strings.Join(tuples, ", "))
}
