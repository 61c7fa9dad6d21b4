package plan

import (
	"strings"

	"sluice/batch"
	"sluice/catalog"
	"sluice/eval/dialect"
	"sluice/fault"
	"sluice/option"
)

func fold(name string) string { return strings.ToLower(name) }

// find returns the index of the field a name means: the one spelt exactly so, else the one that differs in case only, else
// -1 (D-9).
func find(fields []batch.Field, name string) int {
	found := -1
	for i, f := range fields {
		if f.Name == name {
			return i
		}
		if strings.EqualFold(f.Name, name) {
			found = i
		}
	}
	return found
}

func names(fields []batch.Field) []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = f.Name
	}
	return out
}

// resolve finds out the columns of a table: as declared, else those of its flows' queries together. It may be called when
// every flow into the table has been analysed. The table has no columns afterwards when they could not be found out.
func (p *planner) resolve(t *table) {
	if t.resolved {
		return
	}
	t.resolved = true
	if len(t.decl.Columns) > 0 {
		t.Fields = t.decl.Columns
	} else if len(t.decl.Decl.Columns) == 0 {
		t.Fields = p.union(t)
	}
	p.layout(t)
}

// union puts together the columns of all flows into a table that declares none. A flow without BY NAME adds no names when
// it is not the first: its columns go by position.
func (p *planner) union(t *table) []batch.Field {
	var fields []batch.Field
	before := len(p.problems)
	for n, f := range t.flows {
		if f.analysis == nil {
			return nil
		}
		for i, c := range f.analysis.Output {
			at := find(fields, c.Name)
			if n > 0 && !f.decl.Body.ByName {
				if at = i; i >= len(fields) {
					break // reported when the flow is compiled
				}
			}
			if at < 0 {
				fields = append(fields, batch.Field{Name: c.Name, Type: c.Type})
				continue
			}
			wide, ok := widen(fields[at].Type, c.Type)
			if !ok {
				p.report(fault.IncompatibleData, outputPos(f.decl, i, len(f.analysis.Output)), "the column %s of table %s is %s in one flow and %s in %s",
					fields[at].Name, t.Display, fields[at].Type, c.Type, f.decl.Name).WithHint("declare the columns of the table, or CAST")
				continue
			}
			fields[at].Type = wide
		}
	}
	if len(p.problems) > before {
		return nil
	}
	return fields
}

// layout checks the columns of PARTITIONED BY and CLUSTER BY.
func (p *planner) layout(t *table) {
	if len(t.Fields) == 0 {
		return
	}
	clauses := t.decl.Decl.Clauses
	for _, c := range append(append(clauses.PartitionedBy[:0:0], clauses.PartitionedBy...), clauses.ClusterBy...) {
		if find(t.Fields, c.Text) < 0 {
			e := p.report(fault.ColumnNotInTable, c.Pos, "the table %s has no column %s", t.Display, c.Text)
			nearest(e, c.Text, t.Fields)
		}
	}
}

// nearest adds to e the field that may have been meant, else all there are.
func nearest(e *fault.Error, name string, fields []batch.Field) {
	if near := option.Nearest(name, names(fields)); near != "" {
		e.WithHint("did you mean %s?", near)
	} else {
		e.WithHint("the columns are %s", strings.Join(names(fields), ", "))
	}
}

// intoTable maps the output of a flow's query to the columns of its table, by name or by position (SQ-09). Columns the
// query does not have are NULL.
func (p *planner) intoTable(f *catalog.Flow, output []batch.Field, t *table) []dialect.Target {
	targets := make([]dialect.Target, len(t.Fields))
	for i, field := range t.Fields {
		targets[i] = dialect.Target{Field: field, From: -1}
	}
	if f.Body.ByName {
		p.byName(f, output, t, targets)
	} else if !p.byPosition(f, output, t, targets) {
		return targets
	}
	for _, target := range targets {
		switch {
		case target.From < 0 && target.Field.NotNull:
			p.report(fault.CannotFindData, f.Body.Query.Pos, "the flow %s has no column %s, which is NOT NULL in table %s", f.Name, target.Field.Name, t.Display)
		case target.From >= 0 && !assignable(output[target.From].Type, target.Field.Type):
			p.report(fault.CannotSafelyCast, outputPos(f, target.From, len(output)), "the column %s of flow %s is %s, and %s in table %s", target.Field.Name,
				f.Name, output[target.From].Type, target.Field.Type, t.Display).WithHint("write CAST(... AS %s)", target.Field.Type)
		}
	}
	return targets
}

func (p *planner) byName(f *catalog.Flow, output []batch.Field, t *table, targets []dialect.Target) {
	for i, c := range output {
		at := find(t.Fields, c.Name)
		if at < 0 {
			e := p.report(fault.ExtraColumns, outputPos(f, i, len(output)), "the flow %s has a column %s, but table %s has none of that name", f.Name, c.Name, t.Display)
			nearest(e, c.Name, t.Fields)
			continue
		}
		targets[at].From = i
	}
}

func (p *planner) byPosition(f *catalog.Flow, output []batch.Field, t *table, targets []dialect.Target) bool {
	if len(output) == len(targets) {
		for i := range targets {
			targets[i].From = i
		}
		return true
	}
	code := fault.TooFewColumns
	if len(output) > len(targets) {
		code = fault.TooManyColumns
	}
	p.report(code, f.Body.Query.Pos, "the flow %s has %d columns and table %s has %d", f.Name, len(output), t.Display, len(targets)).
		WithDetail("the table has %s", strings.Join(names(t.Fields), ", ")).WithHint("without BY NAME columns go by position; add BY NAME to leave some out")
	return false
}

// intoSink hands on the output as it is.
func intoSink(output []batch.Field) []dialect.Target {
	targets := make([]dialect.Target, len(output))
	for i, field := range output {
		targets[i] = dialect.Target{Field: field, From: i}
	}
	return targets
}
