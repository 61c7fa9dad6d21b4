package daemon

import (
	"context"
	"slices"
	"strings"
	"time"

	"sluice/admin"
	"sluice/catalog"
	"sluice/fault"
	"sluice/plan"
	"sluice/syntax"
)

// RefreshOf is the update that REFRESH asks for (PO-05).
func RefreshOf(p *plan.Pipeline, s *syntax.Refresh) (r admin.UpdateRequest, err error) {
	r.Cause = "USER_ACTION"
	name := catalog.Show(s.Name)
	if _, err := tableNamed(p, name); err != nil {
		return r, fault.From(err).At(s.Name.Pos)
	}
	if s.Materialized {
		return r, fault.New(fault.TableNotFound, "%s is a streaming table", name).At(s.Name.Pos).WithHint("write REFRESH STREAMING TABLE %s", name)
	}
	if s.Where != nil {
		o, err := OverrideOf(p, name, syntax.PrintExpr(s.Where))
		if err != nil {
			return r, fault.From(err).At(s.Where.Position())
		}
		r.Overrides = []admin.Override{o}
	}
	if r.RefreshSelection = []string{name}; s.Full {
		r.RefreshSelection, r.FullRefreshSelection = nil, r.RefreshSelection
	}
	return r, nil
}

// refreshSQL starts an update. SYNC waits for its end (SQ-15).
func (d *Daemon) refreshSQL(ctx context.Context, s *syntax.Refresh) (admin.Rows, error) {
	r, err := RefreshOf(d.Plan, s)
	if err != nil {
		return nil, err
	}
	id, err := d.StartUpdate(ctx, r)
	if err != nil {
		return nil, err
	}
	a := &answer{columns: []admin.Column{{Name: "update_id", Type: "STRING"}, {Name: "state", Type: "STRING"}}}
	if s.Async {
		a.row = []any{id, d.stateOf(id).State}
		return a, nil
	}
	a.wait = func(ctx context.Context) ([]any, error) {
		u, err := d.awaitUpdate(ctx, id)
		return []any{id, u.State}, err
	}
	return a, nil
}

// awaitUpdate waits for the end of an update. One that was not completed is an error.
func (d *Daemon) awaitUpdate(ctx context.Context, id string) (admin.UpdateInfo, error) {
	pause := time.NewTicker(20 * time.Millisecond)
	defer pause.Stop()
	for {
		u := d.stateOf(id)
		switch {
		case u.State == "COMPLETED":
			return u, nil
		case u.Error != nil:
			return u, u.Error.Fault()
		case u.Over():
			return u, fault.New(fault.RunFailed, "update %s is %s", id, u.State)
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return u, fault.New(fault.Interrupted, "the statement was interrupted; update %s goes on", id)
		}
	}
}

func (d *Daemon) stateOf(id string) admin.UpdateInfo {
	all := d.Updates()
	if i := slices.IndexFunc(all, func(u admin.UpdateInfo) bool { return strings.EqualFold(u.ID, id) }); i >= 0 {
		return all[i]
	}
	return admin.UpdateInfo{ID: id, State: "CANCELED"} // so many have come since that it is forgotten
}
