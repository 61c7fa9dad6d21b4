package daemon

import (
	"context"
	"errors"
	"slices"

	"sluice/admin"
	"sluice/fault"
	"sluice/option"
	"sluice/plan"
)

// OverrideOf is the override of the flow into a table with another predicate (PO-01, PO-06).
func OverrideOf(p *plan.Pipeline, table, predicate string) (admin.Override, error) {
	t, err := tableNamed(p, table)
	if err != nil {
		return admin.Override{}, err
	}
	i := slices.IndexFunc(p.Flows, func(f *plan.Flow) bool { return f.Table == t && f.Window != nil })
	if i < 0 {
		return admin.Override{}, fault.New(fault.RefreshWhere, "no REPLACE WHERE flow writes the table %s, so there is no predicate to put another one in place of", table)
	}
	return admin.Override{Flow: p.Flows[i].Name, Predicate: predicate}, nil
}

// Override adds to a selection other predicates of flows, each for one update. All that is wrong with them is in one list (PO-O1 to PO-O4, PO-O7).
func (s *Selection) Override(p *plan.Pipeline, overrides []admin.Override) error {
	var problems fault.List
	report := func(code *fault.Code, format string, args ...any) *fault.Error {
		problems = append(problems, fault.New(code, format, args...))
		return problems[len(problems)-1]
	}
	excluded := s.excluded(p)
	for _, o := range overrides {
		i := slices.IndexFunc(p.Flows, func(f *plan.Flow) bool { return f.Name == o.Flow })
		switch {
		case i < 0:
			e := report(fault.OverrideUnknownFlow, "replace_where_overrides names %q, and the pipeline has no such flow", o.Flow)
			if near := option.Nearest(o.Flow, flowNames(p)); near != "" {
				e.WithHint("did you mean %s?", near)
			}
			continue
		case p.Flows[i].Window == nil:
			report(fault.OverrideNotSupported, "flow %s is not a REPLACE WHERE flow, and has no predicate to override", o.Flow)
			continue
		case s.All || s.FullRefresh[target(p.Flows[i])]:
			report(fault.OverrideWithFullRefresh, "flow %s has another predicate, and its table is fully refreshed", o.Flow).
				WithHint("a full refresh leaves what the defined predicate matches; refresh it fully first, then with the predicate")
			continue
		case excluded[o.Flow]:
			report(fault.OverrideNotSelected, "flow %s has another predicate, and its table is not among those that are refreshed", o.Flow).
				WithHint("name %s among them", p.Flows[i].Table.Display)
			continue
		case s.Overrides[o.Flow] != nil:
			report(fault.OverrideTwice, "flow %s has two other predicates", o.Flow).WithHint("put them together with OR")
			continue
		}
		window, wrong := p.Flows[i].Window.Override(o.Predicate)
		problems = append(problems, wrong...)
		if s.Overrides == nil {
			s.Overrides = map[string]*plan.Window{}
		}
		s.Overrides[o.Flow] = window
	}
	return problems.Err()
}

func flowNames(p *plan.Pipeline) (out []string) {
	for _, f := range p.Flows {
		out = append(out, f.Name)
	}
	return out
}

// updateNow computes an update of a REPLACE WHERE flow that runs, between two of its own. What is wrong with it is nothing to them.
func (j *job) updateNow(ctx context.Context, w *plan.Window, id string) error {
	var failure error
	err := j.between(ctx, func(ctx context.Context) error { // the job is locked
		var now seen
		if now, failure = j.look(ctx); failure != nil {
			return nil
		}
		if failure = j.updateWith(ctx, w, id); failure == nil {
			j.batches++
			if w == j.plan.Window { // another one leaves the flow's own as it was
				j.seen = now
			}
		}
		return nil
	})
	if err == nil {
		err = failure
	}
	return err
}

// updateWindows computes those windows that an update is about, each after those that it reads. A full refresh that fails has done nothing.
func (d *Daemon) updateWindows(ctx context.Context, u *update) error {
	for _, j := range d.windows(u) {
		w := u.overrides[j.plan.Name]
		if w == nil {
			w = j.plan.Window
		}
		err := j.filledNow(ctx, u.resets.flows)
		if err == nil {
			err = j.updateNow(ctx, w, u.info.ID)
		}
		if err != nil && ctx.Err() == nil {
			err = errors.Join(err, d.takeBack(u.resets.ordered))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// windows are the jobs of REPLACE WHERE flows that run on beside an update that is about them, each behind those whose tables it reads.
func (d *Daemon) windows(u *update) (out []*job) {
	for _, j := range d.jobs {
		for _, w := range append(j.upstream(), j) {
			if w.plan.Window != nil && w.endless() && u.targets[target(w.plan)] && !slices.Contains(out, w) {
				out = append(out, w)
			}
		}
	}
	return out
}
