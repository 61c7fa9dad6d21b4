package scenario

import (
	"context"
	"fmt"
	"time"

	"sluice/admin"
	"sluice/daemon"
)

// override brings a REPLACE WHERE table up to date once under the predicate in the input (PO-01), and nothing else: in the daemon that is up, or by a run.
// When the power fails in it, it is asked for again: whoever asked has no answer.
func override(ctx context.Context, w *world, a *words) (string, error) {
	table, err := a.name()
	if err != nil {
		return "", err
	}
	o, err := daemon.OverrideOf(w.plan, table, a.input)
	if err != nil {
		return "", err
	}
	if w.variant.is("mode", "continuous") {
		return w.update(ctx, o.Flow, admin.UpdateRequest{RefreshSelection: []string{table}, Overrides: []admin.Override{o}})
	}
	s, err := daemon.Select(w.plan, []string{table}, nil, false)
	if err != nil {
		return "", err
	}
	if err := s.Override(w.plan, []admin.Override{o}); err != nil {
		return "", err
	}
	return w.apply(s, (*run).brief)
}

// update has a daemon that is up make an update for the sake of a flow, and waits for its end.
func (w *world) update(ctx context.Context, flow string, request admin.UpdateRequest) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		if w.up == nil {
			var err error
			if w.up, err = w.start(daemon.Selection{}, nil); err != nil {
				return "", err
			}
		} else {
			w.arm(w.up.cut)
		}
		r := w.up
		said, err := r.update(ctx, flow, request)
		w.disarm()
		if !r.interrupted() {
			return said, err
		}
		w.down()
		if w.over() {
			return powerless, nil
		}
	}
}

// update makes an update, and returns how it has ended.
func (r *run) update(ctx context.Context, flow string, request admin.UpdateRequest) (string, error) {
	id, err := r.daemon.StartUpdate(ctx, request)
	if err != nil {
		return "", err
	}
	for {
		for _, u := range r.daemon.Updates() {
			switch {
			case u.ID != id || !u.Over():
			case u.Error != nil:
				return fmt.Sprintf("%s FAILED %s", flow, u.Error.Code), nil
			default:
				return "ok", nil
			}
		}
		select {
		case <-r.ended:
			return "", nil // the power has failed
		case <-ctx.Done():
			return "", r.hangs()
		case <-time.After(time.Millisecond):
		}
	}
}
