package catalog

import (
	"fmt"
	"slices"
	"strings"

	"sluice/fault"
	"sluice/syntax"
)

// dependsOn resolves DEPENDS ON: names mean flows, never tables (DO-O6), duplicates collapse (DO-O7), and in a continuous
// pipeline every predecessor is a once flow (DO-13).
func (b *builder) dependsOn(s *syntax.CreateFlow) {
	f := b.flows[key(last(s.Name).Text)]
	if f == nil || f.Body != &s.Body {
		return // a duplicate, which has been reported
	}
	for _, name := range s.DependsOn {
		p := b.predecessor(f, name)
		if p == nil || slices.Contains(f.DependsOn, p) {
			continue
		}
		f.DependsOn = append(f.DependsOn, p)
		if b.Spec.Continuous && !p.Body.Once {
			b.report(fault.MustBeOnce, name.Pos, "the flow %s depends on %s, which is not a once flow and never completes in a continuous pipeline", f.Name, p.Name).
				WithHint("make %s a once flow with INSERT ONCE, or run the pipeline with continuous: false", p.Name)
		}
	}
}

func (b *builder) predecessor(f *Flow, name syntax.Name) *Flow {
	if len(name.Parts) == 1 {
		if p := b.flows[key(name.Parts[0].Text)]; p != nil {
			return p
		}
	}
	id := b.Spec.identity(name)
	if b.views[id] {
		b.report(fault.DependsOnView, name.Pos, "the flow %s depends on %s, a view, which never completes", f.Name, Show(name))
		return nil
	}
	e := fault.New(fault.UnknownFlow, "the flow %s depends on %s, but no flow has that name", f.Name, Show(name)).At(name.Pos)
	if t := b.tables[id]; t != nil && len(t.Flows) > 0 {
		e.WithHint("%s is a table; name the flows that write it: %s", t.Display, strings.Join(flowNames(t.Flows), ", "))
	} else {
		suggest(e, Show(name), b.flowNames(), "DEPENDS ON takes flows of the same pipeline")
	}
	b.missing(e)
	return nil
}

func flowNames(list []*Flow) []string {
	out := make([]string, len(list))
	for i, f := range list {
		out[i] = f.Name
	}
	return out
}

// edge says why one flow waits for another.
type edge struct {
	to     *Flow
	table  *Table // read by the one and written by the other; nil for DEPENDS ON
	waiter *Flow
}

func (e edge) String() string {
	if e.table == nil {
		return fmt.Sprintf("%s depends on %s", e.waiter.Name, e.to.Name)
	}
	return fmt.Sprintf("%s reads %s, which %s writes", e.waiter.Name, e.table.Display, e.to.Name)
}

// edges lists the flows f waits for, by data and by DEPENDS ON: the union graph (DO-O2).
func edges(f *Flow) []edge {
	var out []edge
	for _, p := range f.DependsOn {
		out = append(out, edge{to: p, waiter: f})
	}
	for _, r := range f.Reads {
		if r.Table == nil {
			continue
		}
		for _, w := range r.Table.Flows {
			out = append(out, edge{to: w, table: r.Table, waiter: f})
		}
	}
	return out
}

// cycles reports one shortest cycle for every flow that is on one, unless an earlier report covers that flow.
func (b *builder) cycles(flows []*Flow) {
	reported := map[*Flow]bool{}
	for _, f := range flows {
		if reported[f] {
			continue
		}
		cycle := shortestCycle(f)
		if cycle == nil {
			continue
		}
		b.reportCycle(f, cycle)
		for _, e := range cycle {
			reported[e.to] = true
		}
	}
}

// shortestCycle returns the edges that lead from f back to f, or nil.
func shortestCycle(f *Flow) []edge {
	came := map[*Flow]edge{}
	queue := []*Flow{f}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, e := range edges(at) {
			if _, seen := came[e.to]; seen {
				continue
			}
			came[e.to] = e
			if e.to == f {
				return pathTo(f, came)
			}
			queue = append(queue, e.to)
		}
	}
	return nil
}

func pathTo(f *Flow, came map[*Flow]edge) []edge {
	var path []edge
	for at := f; ; {
		e := came[at]
		path = append([]edge{e}, path...)
		if at = e.waiter; at == f {
			return path
		}
	}
}

func (b *builder) reportCycle(f *Flow, cycle []edge) {
	code := fault.DataCycle
	names, reasons := []string{f.Name}, []string{}
	for _, e := range cycle {
		if e.table == nil {
			code = fault.DependsCycle
		}
		e.waiter.Unsound = true
		names = append(names, e.to.Name)
		reasons = append(reasons, e.String())
	}
	b.report(code, f.Pos, "flows wait for each other: %s", strings.Join(names, " -> ")).WithDetail("%s", strings.Join(reasons, "; ")).
		WithHint("take one of these dependencies away")
}

// order sorts the flows so that each comes after those it waits for, as near to their declared order as that allows, and
// reports whether that cannot be, because of a cycle.
func (b *builder) order() (cyclic bool) {
	const underWay, done = 1, 2
	var out []*Flow
	state := map[*Flow]int{}
	var visit func(*Flow)
	visit = func(f *Flow) {
		cyclic = cyclic || state[f] == underWay
		if state[f] != 0 {
			return
		}
		state[f] = underWay
		for _, e := range edges(f) {
			visit(e.to)
		}
		state[f] = done
		out = append(out, f)
	}
	for _, f := range b.Flows {
		visit(f)
	}
	b.Flows = out
	return cyclic
}

// resets holds FR-07: a table that may not be reset reads, directly or over other tables, only such tables.
func (b *builder) resets() {
	for _, t := range b.Tables {
		if t.ResetAllowed {
			continue
		}
		var upstream []string
		seen := map[*Table]bool{t: true}
		queue := []*Table{t}
		for len(queue) > 0 {
			at := queue[0]
			queue = queue[1:]
			for _, f := range at.Flows {
				for _, r := range f.Reads {
					if r.Table == nil || seen[r.Table] {
						continue
					}
					seen[r.Table] = true
					queue = append(queue, r.Table)
					if r.Table.ResetAllowed {
						upstream = append(upstream, r.Table.Display)
					}
				}
			}
		}
		if len(upstream) > 0 {
			b.report(fault.ResettableDependency, t.Decl.Name.Pos, "the table %s may not be reset, but it is made from %s, which may", t.Display, strings.Join(upstream, ", ")).
				WithHint("set %s = false there too", propResetAllowed)
		}
	}
}
