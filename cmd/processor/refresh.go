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

func (a *app) refreshCmd() *cobra.Command {
	var full, async bool
	c := &cobra.Command{
		Use:   "refresh [TARGET ...]",
		Short: "Bring tables and sinks up to date now, of all when none is named: in the running daemon, else by a run of its own",
		RunE: func(c *cobra.Command, targets []string) error {
			p, err := a.load()
			if err != nil {
				return err
			}
			client, store, err := reach(p)
			if err != nil && !fault.Of(err, fault.StoreNotFound) {
				return err
			}
			if client != nil {
				return a.refreshLive(c.Context(), client, p, targets, full, async)
			}
			if store != nil {
				if err := store.Close(); err != nil {
					return err
				}
			}
			if async {
				return usage{fmt.Errorf("--async needs a running daemon")}
			}
			return a.runOnce(c.Context(), p, targets, full)
		},
	}
	c.Flags().BoolVar(&full, "full", false, "empty them first and compute them anew; of sinks, send everything again")
	c.Flags().BoolVar(&async, "async", false, "print the update's id and do not wait for its end")
	return c
}

// refreshLive has the running daemon do it.
func (a *app) refreshLive(ctx context.Context, client *admin.Client, p *plan.Pipeline, targets []string, full, async bool) error {
	r := admin.UpdateRequest{Cause: "USER_ACTION"}
	switch {
	case !full:
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
	if async {
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
func (a *app) runOnce(ctx context.Context, p *plan.Pipeline, targets []string, full bool) error {
	once := *p
	once.Continuous = false
	refresh, fullRefresh := targets, []string(nil)
	if full {
		refresh, fullRefresh = nil, targets
	}
	s, err := daemon.Select(&once, refresh, fullRefresh, full && len(targets) == 0)
	if err != nil {
		return err
	}
	return a.runPlan(ctx, &once, s, runFlags{})
}
