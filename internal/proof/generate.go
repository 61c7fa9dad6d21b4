package proof

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"sluice/internal/model"
	"sluice/internal/scenario"
)

// columns are those of every table, so that every table can feed every flow. d is x as a number.
var columns = []string{"k", "j", "d", "s", "n"}

// generator makes a case out of a stream of random numbers.
type generator struct {
	*rand.Rand
	c     Case
	plain map[string]bool // keyed tables whose sequence is their column s: a table with the same keys may follow them
	x     []string        // the numbers of messages
}

// begin begins the case of a seed, in a stream of random numbers of its own.
func begin(seed, stream uint64, x ...string) *generator {
	return &generator{Rand: rand.New(rand.NewPCG(seed, stream)), c: Case{Seed: seed, Variant: map[string]string{}}, plain: map[string]bool{}, x: x}
}

// Generate makes the case of a seed.
func Generate(seed uint64) *Case {
	g := begin(seed, 1, "0.0", "-0.0", "1.5", "NaN", "2.0")
	g.variant()
	for i := range 1 + g.IntN(2) {
		g.c.Topics = append(g.c.Topics, fmt.Sprintf("in%d", i+1))
	}
	g.pipeline()
	if g.chance(15) {
		g.strict()
	}
	g.steps()
	return &g.c
}

// chance is true in so many of a hundred cases.
func (g *generator) chance(percent int) bool { return g.IntN(100) < percent }

func pick[T any](g *generator, from ...T) T { return from[g.IntN(len(from))] }

func (g *generator) variant() {
	for _, axis := range scenario.Axes() {
		if value := pick(g, axis.Values...); value != axis.Values[0] {
			g.c.Variant[axis.Name] = value
		}
	}
}

func (g *generator) pipeline() {
	for range 1 + g.IntN(3) {
		if g.chance(50) {
			g.appendTable()
		} else {
			g.keyedTable()
		}
	}
	for range g.IntN(3) {
		g.second()
	}
	for i := range g.IntN(3) {
		name := fmt.Sprintf("sink%d", i+1)
		g.c.Pipeline.Sinks = append(g.c.Pipeline.Sinks, name)
		for range 1 + g.IntN(2) {
			f := model.Flow{Target: name, From: g.anySource()}
			if g.chance(30) {
				f.Where = g.where(f.From)
			}
			g.flow(f)
		}
	}
}

// table declares a table.
func (g *generator) table(t model.Table) *model.Table {
	t.Name = fmt.Sprintf("t%d", len(g.c.Pipeline.Tables)+1)
	t.Columns = slices.Clone(columns)
	for i := range g.IntN(3) {
		t.Expectations = append(t.Expectations, model.Expectation{Name: fmt.Sprintf("e%d", i+1), Cond: g.condition(columns, true), Drop: g.chance(60)})
	}
	g.c.Pipeline.Tables = append(g.c.Pipeline.Tables, t)
	return &g.c.Pipeline.Tables[len(g.c.Pipeline.Tables)-1]
}

// flow declares a flow; it may wait for once flows before it.
func (g *generator) flow(f model.Flow) {
	p := &g.c.Pipeline
	f.Name = fmt.Sprintf("f%d", len(p.Flows)+1)
	if f.Select == nil {
		f.Select = g.selection(f.From)
	}
	for _, o := range p.Flows {
		if o.Once && g.chance(30) {
			f.After = append(f.After, o.Name)
		}
	}
	p.Flows = append(p.Flows, f)
}

// appendTable declares a table that one to three flows append to, history first.
func (g *generator) appendTable() {
	t := g.table(model.Table{})
	for i, n := 0, 1+g.IntN(3); i < n; i++ {
		f := model.Flow{Target: t.Name, From: g.topic(), Once: i+1 < n && g.chance(60)}
		if g.chance(40) {
			f.Where = g.where(f.From)
		}
		g.flow(f)
	}
}

// keyedTable declares a REPLACE USING table over topics.
func (g *generator) keyedTable() {
	t := g.table(model.Table{Keys: pick(g, []string{"k"}, []string{"j"}, []string{"d"}, []string{"k", "j"}, []string{"j", "d"})})
	sequence := pick(g, model.Column("s"), model.Column("s"), model.Call("+", model.Column("s"), model.Column("n")), model.Column("n"), model.Column("j"),
		model.Call("DOUBLE", model.Column("x")))
	name := t.Name
	g.plain[name] = sequence.SQL() == "s"
	for range 1 + g.IntN(4)/3 {
		f := model.Flow{Target: name, From: g.topic(), Once: g.chance(15), Sequence: &sequence}
		if g.chance(40) {
			f.Where = g.where(f.From)
		}
		f.Select = g.selection(f.From)
		if sequence.SQL() == "s" {
			f.Select[3].Expr = sequence
		}
		g.flow(f)
	}
}

// second declares a table over another one: what is appended to it, appended again or kept by key; or its changes.
func (g *generator) second() {
	from := pick(g, g.c.Pipeline.Tables...)
	source := model.Source{Table: from.Name, Feed: from.Keys != nil}
	switch {
	case from.Columns[len(from.Columns)-1] == changeColumn:
		return // how many changes there were depends on the batches
	case from.Keys == nil && g.chance(40):
		t := g.table(model.Table{})
		g.flow(model.Flow{Target: t.Name, From: source})
	case from.Keys == nil:
		t := g.table(model.Table{Keys: pick(g, []string{"k"}, []string{"j", "k"}, []string{"d"})})
		sequence := pick(g, model.Column("s"), model.Column("n"), model.Column("d"))
		g.flow(model.Flow{Target: t.Name, From: source, Sequence: &sequence})
	case g.plain[from.Name] && g.chance(50):
		t := g.table(model.Table{Keys: from.Keys})
		t.Expectations = nil // a row that comes and goes between two batches must not stay
		sequence := model.Column("s")
		g.plain[t.Name] = true
		g.flow(model.Flow{Target: t.Name, From: source, Sequence: &sequence, Select: asIs()})
	default:
		t := g.table(model.Table{})
		t.Columns = append(t.Columns, changeColumn)
		g.flow(model.Flow{Target: t.Name, From: source})
	}
}

// strict lets flows and expectations stop at what they cannot use. Then it matters in which order records come, and for expectations
// in which batch (EX-10): there is one partition, and batches have one record.
func (g *generator) strict() {
	delete(g.c.Variant, "partitions")
	for i := range g.c.Pipeline.Flows {
		if f := &g.c.Pipeline.Flows[i]; f.From.Topic != "" && g.chance(50) {
			f.From.Strict = true
		}
	}
	if g.chance(50) {
		return
	}
	g.c.Variant["limit"] = "1"
	for i := range g.c.Pipeline.Tables {
		t := &g.c.Pipeline.Tables[i]
		fromTable := slices.ContainsFunc(g.c.Pipeline.Flows, func(f model.Flow) bool { return f.Target == t.Name && f.From.Table != "" })
		if len(t.Expectations) > 0 && !fromTable {
			t.Expectations[0].Fail = true
		}
	}
}

func (g *generator) topic() model.Source { return model.Source{Topic: pick(g, g.c.Topics...)} }

// anySource is a topic, a table that is appended to, or the changes of one that is not.
func (g *generator) anySource() model.Source {
	t := pick(g, g.c.Pipeline.Tables...)
	if g.chance(25) || t.Columns[len(t.Columns)-1] == changeColumn {
		return g.topic()
	}
	return model.Source{Table: t.Name, Feed: t.Keys != nil}
}

func asIs() (items []model.Item) {
	for _, c := range columns {
		items = append(items, model.Item{Expr: model.Column(c), Name: c})
	}
	return items
}

// selection makes the columns of a table out of those of a source.
func (g *generator) selection(from model.Source) []model.Item {
	items := asIs()
	if from.Topic != "" {
		items[2].Expr = model.Call("DOUBLE", model.Column("x"))
	}
	if g.chance(20) {
		items[0].Expr = model.Call("COALESCE", model.Column("k"), model.Literal(int64(0)))
	}
	if g.chance(30) {
		items[4].Expr = model.Call("+", model.Column("n"), model.Literal(int64(1)))
	}
	return items
}

func (g *generator) where(from model.Source) *model.Expr {
	names := columns
	if from.Topic != "" {
		names = model.Record
	}
	e := g.condition(names, !from.Feed)
	return &e
}

// condition is a condition on the named columns. With errors it may be one that some rows make SQL refuse.
func (g *generator) condition(names []string, errors bool) model.Expr {
	if errors && g.chance(8) {
		return model.Call(">", model.Call("INT", model.Column("j")), model.Literal(int64(3)))
	}
	switch g.IntN(8) {
	case 0:
		return model.Call("AND", g.condition(names, false), g.condition(names, false))
	case 1:
		return model.Call("OR", g.condition(names, false), g.condition(names, false))
	case 2:
		return model.Call("NOT", g.condition(names, false))
	case 3:
		return model.Call("NOT", model.Call("IS NULL", model.Column(pick(g, names...))))
	}
	column := pick(g, names...)
	op := pick(g, "=", "<", ">", ">")
	switch column {
	case "j", "x":
		return model.Call(op, model.Column(column), model.Literal(pick(g, "", "a", "7")))
	case "d":
		return model.Call(op, model.Column(column), model.Call("DOUBLE", model.Literal(pick(g, "0.0", "1.5", "NaN"))))
	}
	return model.Call(op, model.Column(column), model.Literal(int64(g.IntN(4))))
}

// messages are records as they come: few keys, few sequences, so that there are ties and late rows.
func (g *generator) messages() (out []model.Message) {
	for range 1 + g.IntN(6) {
		switch {
		case g.chance(3):
			out = append(out, model.Message{Null: true})
			continue
		case g.chance(3):
			out = append(out, model.Message{Broken: true})
			continue
		case len(out) > 0 && g.chance(10):
			out = append(out, out[len(out)-1]) // the same again is another row
			continue
		}
		row := model.Row{int64(1 + g.IntN(3)), pick(g, "", "a", "b", "7"), pick(g, g.x...), int64(g.IntN(5)), int64(g.IntN(9))}
		for i := range row {
			if g.chance(8) {
				row[i] = nil
			}
		}
		if g.chance(3) {
			row[2] = "text"
		}
		out = append(out, model.Message{Row: row})
	}
	return out
}

func (g *generator) steps() {
	for _, t := range g.c.Topics {
		if g.chance(80) {
			g.add(Step{Kind: Produce, Name: t, Messages: g.messages()})
		}
	}
	for range 3 + g.IntN(8) {
		g.next()
	}
	g.lossy()
}

// lossy lets flows go on behind what a topic has lost.
func (g *generator) lossy() {
	if slices.ContainsFunc(g.c.Steps, func(s Step) bool { return s.Kind == Trim }) {
		for i := range g.c.Pipeline.Flows {
			g.c.Pipeline.Flows[i].From.Lossy = true
		}
	}
}

func (g *generator) add(s Step) { g.c.Steps = append(g.c.Steps, s) }

func (g *generator) next() {
	topic, table, flow := pick(g, g.c.Topics...), pick(g, g.c.Pipeline.Tables...), pick(g, g.c.Pipeline.Flows...)
	switch n := g.IntN(100); {
	case n < 40:
		g.add(Step{Kind: Produce, Name: topic, Messages: g.messages()})
	case n < 65:
		g.add(Step{Kind: Run})
	case n < 75:
		g.add(Step{Kind: Reset, Name: flow.Name})
	case n < 81:
		g.add(Step{Kind: Refresh, Name: table.Name})
	case n < 83:
		g.add(Step{Kind: RefreshOne, Name: table.Name})
	case n < 86:
		g.add(Step{Kind: RefreshAll})
	case n < 88:
		g.add(Step{Kind: Crash})
	case n < 90:
		g.add(Step{Kind: Outage, Offset: 1 + g.IntN(150), Survives: pick(g, 0, 50, 100)})
	case n < 92:
		g.add(Step{Kind: Stop})
	case n < 94 && !flow.From.Feed && flow.Window == nil: // a delete must find the condition that let the insert pass
		g.add(Step{Kind: Edit, Name: flow.Name, Where: g.where(flow.From)})
	case n < 96:
		g.add(Step{Kind: Trim, Name: topic, Offset: 1 + g.IntN(5)})
	case len(g.c.Pipeline.Sinks) > 0:
		g.add(Step{Kind: Refuse, Name: pick(g, g.c.Pipeline.Sinks...)})
	}
}
