package trial

import (
	"fmt"
	"slices"

	"sluice/plan"
)

// comparison is what of a pipeline has to be the same after every run, and what is left out, and why.
type comparison struct {
	tables  []*plan.Table
	sinks   []*plan.Flow
	leftOut []LeftOut
}

// LeftOut is a table, or what a flow writes to a sink, that is not compared.
type LeftOut struct {
	Kind, Name string
	Reasons    []string
}

// compare decides what is compared. What a flow that failed in the reference run has not got to is a question of order.
func (s *sandbox) compare(ref *outcome) *comparison {
	c, p := &comparison{}, s.Plan
	cut := cutOff(p, ref)
	for _, t := range p.Tables {
		if reasons := append(p.Varies(t, true), cut[t]...); len(reasons) > 0 && !s.harm.Blind {
			c.leftOut = append(c.leftOut, LeftOut{"table", t.Display, distinct(reasons)})
		} else {
			c.tables = append(c.tables, t)
		}
	}
	for _, f := range p.Flows {
		if f.Sink == nil {
			continue
		}
		reasons := p.SinkVaries(f, true)
		reasons = append(reasons, ended(f, ref)...)
		if f.Input.Table != nil {
			reasons = append(reasons, cut[f.Input.Table]...)
		}
		if len(reasons) > 0 && !s.harm.Blind {
			c.leftOut = append(c.leftOut, LeftOut{"sink", sinkName(f), distinct(reasons)})
		} else {
			c.sinks = append(c.sinks, f)
		}
	}
	return c
}

// cutOff are the tables that hold less than they would because a flow failed, with the reasons.
func cutOff(p *plan.Pipeline, ref *outcome) map[*plan.Table][]string {
	cut := map[*plan.Table][]string{}
	for _, f := range p.Flows { // every flow comes after those that fill what it reads
		if f.Table == nil {
			continue
		}
		cut[f.Table] = append(cut[f.Table], ended(f, ref)...)
		if f.Input.Table != nil {
			cut[f.Table] = append(cut[f.Table], cut[f.Input.Table]...)
		}
		if f.Window != nil {
			for _, l := range f.Lookups {
				cut[f.Table] = append(cut[f.Table], cut[l.Table]...)
			}
		}
	}
	return cut
}

// ended says that a flow did not end well.
func ended(f *plan.Flow, ref *outcome) []string {
	if e, ok := ref.failed[f.Name]; ok {
		return []string{fmt.Sprintf("flow %s failed in the reference run (%s)", f.Name, e.Code)}
	}
	if _, ok := ref.skipped[f.Name]; ok {
		return []string{fmt.Sprintf("flow %s was skipped in the reference run", f.Name)}
	}
	return nil
}

// distinct drops repetitions.
func distinct(reasons []string) (out []string) {
	for _, r := range reasons {
		if !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	return out
}

// sinkName names what a flow writes to a sink.
func sinkName(f *plan.Flow) string {
	return fmt.Sprintf("%s (flow %s)", f.Sink.Name, f.Name)
}

func (w *world) flowOf(name string) *plan.Flow {
	for _, f := range w.plan.Flows {
		if f.Name == name {
			return f
		}
	}
	return nil
}
