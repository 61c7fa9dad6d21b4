package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"sluice/admin"
	"sluice/daemon"
	"sluice/fault"
	"sluice/plan"
)

// refreshFlags are the flags of refresh.
type refreshFlags struct {
	full, async, acceptLoss bool
	where                   string
}

func (a *app) refreshCmd() *cobra.Command {
	var f refreshFlags
	c := &cobra.Command{
		Use:   "refresh [TARGET ...]",
		Short: "Bring tables and sinks up to date now, of all when none is named: in the running daemon, else by a run of its own",
		Args:  cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, targets []string) error {
			p, err := a.load()
			if err != nil {
				return err
			}
			if f.acceptLoss && !f.full {
				return usage{fmt.Errorf("--accept-data-loss is for full refreshes: it needs --full")}
			}
			overrides, err := overridesOf(p, targets, f.where, c.Flags().Changed("where"))
			if err != nil {
				return err
			}
			client, store, err := reach(p)
			if err != nil && !fault.Of(err, fault.StoreNotFound) {
				return err
			}
			if client != nil {
				return a.refreshLive(c.Context(), client, p, targets, overrides, f)
			}
			if store != nil {
				if err := store.Close(); err != nil {
					return err
				}
			}
			if f.async {
				return usage{fmt.Errorf("--async needs a running daemon")}
			}
			return a.runOnce(c.Context(), p, targets, overrides, f)
		},
	}
	c.Flags().BoolVar(&f.full, "full", false, "empty them first and compute them anew; of sinks, send everything again")
	c.Flags().StringVar(&f.where, "where", "", "of one REPLACE WHERE table: compute the rows for which this predicate is true anew, this time, in place of the defined one")
	c.Flags().BoolVar(&f.async, "async", false, "print the update's id and do not wait for its end")
	c.Flags().BoolVar(&f.acceptLoss, "accept-data-loss", false, "with --full: although topics do not hold everything any more that was read from them")
	return c
}

// overridesOf is what --where asks for.
func overridesOf(p *plan.Pipeline, targets []string, where string, given bool) ([]admin.Override, error) {
	if !given {
		return nil, nil
	}
	if len(targets) != 1 {
		return nil, usage{fmt.Errorf("--where needs the name of one table")}
	}
	o, err := daemon.OverrideOf(p, targets[0], where)
	return []admin.Override{o}, err
}

// refreshLive has the running daemon do it.
func (a *app) refreshLive(ctx context.Context, client *admin.Client, p *plan.Pipeline, targets []string, overrides []admin.Override, f refreshFlags) error {
	r := admin.UpdateRequest{Cause: "USER_ACTION", Overrides: overrides, AcceptLoss: f.acceptLoss}
	switch {
	case !f.full:
		r.RefreshSelection = targets
	case len(targets) > 0:
		r.FullRefreshSelection = targets
	default:
		r.FullRefresh = true
	}
	id, err := client.StartUpdate(ctx, p.Name, r)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "update %s\n", id)
	if f.async {
		return nil
	}
	for {
		u, err := client.Update(ctx, p.Name, id)
		if err != nil {
			return err
		}
		if u.Over() {
			return a.updateEnded(&u)
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return fault.New(fault.Interrupted, "the command was interrupted; update %s goes on", id)
		}
	}
}

// updateEnded prints how an update has ended.
func (a *app) updateEnded(u *admin.UpdateInfo) error {
	if u.State == "COMPLETED" {
		fmt.Fprintf(a.out, "update %s is %s\n", u.ID, u.State)
		return nil
	}
	if u.Error != nil {
		return u.Error.Fault()
	}
	return fault.New(fault.RunFailed, "update %s is %s", u.ID, u.State)
}

// runOnce opens the store of a stopped pipeline and runs it through once.
func (a *app) runOnce(ctx context.Context, p *plan.Pipeline, targets []string, overrides []admin.Override, f refreshFlags) error {
	once := *p
	once.Continuous = false
	refresh, fullRefresh := targets, []string(nil)
	if f.full {
		refresh, fullRefresh = nil, targets
	}
	s, err := daemon.Select(&once, refresh, fullRefresh, f.full && len(targets) == 0)
	s.AcceptLoss = f.acceptLoss
	if err == nil {
		err = s.Override(&once, overrides)
	}
	if err != nil {
		return err
	}
	return a.runPlan(ctx, &once, s, runFlags{})
}
