package proof

import (
	"fmt"
	"math/rand/v2"

	"sluice/internal/model"
)

// GenerateWindows makes the case of a seed in which tables are replaced where a predicate holds.
func GenerateWindows(seed uint64) *Case {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 2)), c: Case{Seed: seed, Variant: map[string]string{}}, plain: map[string]bool{}}
	g.variant()
	g.c.Topics = []string{"in1"}
	if g.chance(60) {
		g.appendTable()
	} else {
		g.keyedTable()
	}
	for range 1 + g.IntN(2) {
		g.window()
	}
	for range 2 {
		g.add(Step{Kind: Produce, Name: "in1", Messages: g.messages()})
	}
	for range 5 + g.IntN(8) {
		if flow := pick(g, g.c.Pipeline.Flows...); flow.Window != nil && g.chance(60) {
			g.add(Step{Kind: Window, Name: flow.Name, Where: g.predicate()})
			continue
		}
		g.next()
	}
	g.lossy()
	return &g.c
}

// window declares a table over another one, of which a window is computed anew with every update.
func (g *generator) window() {
	from := pick(g, g.c.Pipeline.Tables...)
	t := g.table(model.Table{})
	t.Expectations = nil // RW-15
	f := model.Flow{Target: t.Name, From: model.Source{Table: from.Name}, Window: g.predicate()}
	if g.chance(30) {
		e := g.condition(columns, false)
		f.Where = &e
	}
	g.flow(f)
}

// predicate is one that often holds for some rows and not for others. One of ten is true of all.
func (g *generator) predicate() *model.Expr {
	e := g.condition(columns, false)
	if g.chance(10) {
		e = model.Call("IS NULL", model.Literal(nil))
	}
	return &e
}

// windowSQL is what stands between the target of a flow and its query.
func windowSQL(f *model.Flow) string {
	if f.Window == nil {
		return ""
	}
	return fmt.Sprintf(" REPLACE WHERE %s", f.Window.SQL())
}
