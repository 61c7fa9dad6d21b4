package plan

import (
	"slices"

	"sluice/catalog"
	"sluice/fault"
	"sluice/timetable"
)

// mostTriggers is how many tables TRIGGER ON UPDATE looks at (SC-04).
const mostTriggers = 10

// Sources are the tables that the flows into a table read, without the table itself.
func (p *Pipeline) Sources(t *Table) (out []*Table) {
	add := func(read *Table) {
		if read != nil && read != t && !slices.Contains(out, read) {
			out = append(out, read)
		}
	}
	for _, f := range p.Flows {
		if f.Table != t {
			continue
		}
		add(f.Input.Table)
		for _, l := range f.Lookups {
			add(l.Table)
		}
	}
	return out
}

// CheckSchedule says why a table cannot have a schedule: TRIGGER ON UPDATE needs tables of the pipeline that change (SC-03, SC-04).
func (p *Pipeline) CheckSchedule(t *Table, s *timetable.Timetable) *fault.Error {
	if s == nil || !s.OnUpdate() {
		return nil
	}
	switch n := len(p.Sources(t)); {
	case n == 0:
		return fault.New(fault.TriggerWithoutUpstream, "no table of the pipeline is read for %s, so that none can change", t.Display).
			WithHint("SCHEDULE EVERY or SCHEDULE CRON refresh it by the clock")
	case n > mostTriggers:
		return fault.New(fault.TriggerTooManyUpstreams, "%d tables are read for %s, and TRIGGER ON UPDATE takes %d", n, t.Display, mostTriggers).
			WithHint("SCHEDULE EVERY or SCHEDULE CRON refresh it by the clock")
	}
	return nil
}

func (p *planner) schedules(c *catalog.Catalog) {
	for _, decl := range c.Tables {
		if slices.ContainsFunc(decl.Flows, func(f *catalog.Flow) bool { return f.Unsound }) {
			continue // what it reads may not be known
		}
		if e := p.CheckSchedule(p.tables[decl].Table, decl.Schedule); e != nil && len(decl.Flows) > 0 {
			p.problems = append(p.problems, e.At(decl.Decl.Clauses.Schedule.Pos))
		}
	}
}
