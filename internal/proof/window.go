package proof

import (
	"fmt"

	"sluice/internal/model"
)

// GenerateWindows makes the case of a seed in which tables are replaced where a predicate holds. Of its numbers hardly one is exact in binary, so that
// a sum shows in which order it was made (D-22).
func GenerateWindows(seed uint64) *Case {
	g := begin(seed, 2, "0.0", "-0.0", "0.1", "0.2", "0.7", "1.1", "1e-9", "12345.6", "0.3", "-0.3", "1e15", "NaN")
	g.variant()
	if g.chance(60) {
		delete(g.c.Variant, "partitions")
	}
	g.c.Topics = []string{"in1"}
	switch {
	case g.chance(40):
		t := g.table(model.Table{})
		t.Expectations = nil
		g.flow(model.Flow{Target: t.Name, From: g.topic()})
	case g.chance(50):
		g.appendTable()
	default:
		g.keyedTable()
	}
	for range 1 + g.IntN(2) {
		g.window()
	}
	for range 4 {
		g.add(Step{Kind: Produce, Name: "in1", Messages: g.messages()})
	}
	for range 5 + g.IntN(8) {
		switch flow := pick(g, g.c.Pipeline.Flows...); {
		case flow.Window != nil && g.chance(40):
			g.add(Step{Kind: Override, Name: flow.Name, Where: g.predicate()})
		case flow.Window != nil && g.chance(40):
			g.add(Step{Kind: Window, Name: flow.Name, Where: g.predicate()})
		case g.chance(25):
			g.statement()
		default:
			g.next()
		}
	}
	g.lossy()
	return &g.c
}

// window declares a table over another one, of which a window is computed anew with every update.
func (g *generator) window() {
	from := pick(g, g.c.Pipeline.Tables...)
	inOrder := g.inOrder(&from)
	t := g.table(model.Table{})
	t.Expectations = nil // RW-15
	f := model.Flow{Target: t.Name, From: model.Source{Table: from.Name}, Window: g.predicate()}
	if g.chance(30) {
		e := g.condition(columns, false)
		f.Where = &e
	}
	if g.chance(60) {
		g.group(&f, inOrder)
	}
	g.flow(f)
}

// inOrder reports whether the rows of a table are known to stand in the order of their records.
func (g *generator) inOrder(t *model.Table) bool {
	var into []model.Flow
	for _, f := range g.c.Pipeline.Flows {
		if f.Target == t.Name {
			into = append(into, f)
		}
	}
	return len(into) == 1 && into[0].Window == nil && t.Keys == nil && g.c.Variant["partitions"] == ""
}

// group makes the query of a flow one of groups. Fractions are added only where the order is known in which they are.
func (g *generator) group(f *model.Flow, inOrder bool) {
	aggregates := []model.Expr{model.Call("MAX", model.Column("k")), model.Call("MIN", model.Column("j")), model.Call(pick(g, "SUM", "SUM", "AVG"), model.Column("d")),
		model.Call("SUM", model.Column("s")), model.Call("COUNT")}
	for i, c := range columns {
		item := model.Item{Expr: aggregates[i], Name: c}
		if i == 2 && !inOrder || i < 3 && g.chance(30) || i < 2 && f.Group == nil && g.chance(50) {
			item.Expr = model.Column(c)
			f.Group = append(f.Group, c)
		}
		f.Select = append(f.Select, item)
	}
	if f.Group == nil {
		f.Select[0].Expr, f.Group = model.Column("k"), []string{"k"}
	}
}

// predicate is one that often holds for some rows and not for others. One of ten is true of all, and half are made of what statistics of files know
// and what they do not know (D-25).
func (g *generator) predicate() *model.Expr {
	e := g.condition(columns, false)
	if g.chance(50) {
		e = g.operand()
		for range g.IntN(3) {
			switch g.IntN(3) {
			case 0:
				e = model.Call("AND", e, g.operand())
			case 1:
				e = model.Call("OR", g.operand(), e)
			default:
				e = model.Call("NOT", e)
			}
		}
	}
	if g.chance(10) {
		e = model.Call("IS NULL", model.Literal(nil))
	}
	return &e
}

// operand is a condition with IN, BETWEEN, a cast or a function.
func (g *generator) operand() model.Expr {
	j := model.Column("j")
	number := func() model.Expr { return model.Literal(int64(g.IntN(9))) }
	some := func() model.Expr { return model.Call("DOUBLE", model.Literal(pick(g, g.x...))) }
	integer := model.Column(pick(g, "k", "s", "n"))
	compared := pick(g, "=", "<>", "<", "<=", ">", ">=", "<=>")
	switch g.IntN(10) {
	case 0:
		return model.Call("IN", integer, number(), number())
	case 1:
		return model.Call("IN", j, model.Literal("a"), model.Literal(nil))
	case 2:
		return model.Call("BETWEEN", integer, number(), number())
	case 3:
		return model.Call("BETWEEN", model.Column("d"), some(), some())
	case 4:
		return model.Call("IS NULL", model.Column(pick(g, columns...)))
	case 5:
		return model.Call(compared, model.Call("TRY INT", j), number())
	case 6:
		return model.Call(compared, model.Call("%", integer, model.Literal(int64(2))), model.Literal(int64(g.IntN(2))))
	case 7:
		return model.Call(compared, model.Call("UPPER", j), model.Literal(pick(g, "A", "b", "7")))
	case 8:
		return model.Call(compared, model.Call("COALESCE", model.Column("d"), some()), some())
	}
	return model.Call(compared, pick(g, integer, model.Call("LENGTH", j)), number())
}

// windowSQL is what stands between the target of a flow and its query.
func windowSQL(f *model.Flow) string {
	if f.Window == nil {
		return ""
	}
	return fmt.Sprintf(" REPLACE WHERE %s", f.Window.SQL())
}
