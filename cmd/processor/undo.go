package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"sluice/admin"
	"sluice/daemon"
	"sluice/plan"
	"sluice/state"
)

func (a *app) undoCmd() *cobra.Command {
	var version int64
	c := &cobra.Command{
		Use:   "undo TABLE --to VERSION",
		Short: "Put a table back to an earlier version, which becomes its newest one, in the running daemon or in the store of a stopped one",
		Args:  exactArgs(1, "a table"),
		RunE: func(c *cobra.Command, args []string) error {
			if !c.Flags().Changed("to") {
				return usage{fmt.Errorf("undo needs --to VERSION; `DESCRIBE HISTORY %s` lists the versions that there are", args[0])}
			}
			p, err := a.load()
			if err != nil {
				return err
			}
			done, err := undo(c.Context(), p, admin.Undo{Table: args[0], Version: &version})
			if err != nil {
				return err
			}
			if done.Unchanged {
				fmt.Fprintf(a.out, "table %s is as it was at version %d already; it has version %d\n", done.Table, version, done.Version)
				return nil
			}
			fmt.Fprintf(a.out, "table %s is as it was at version %d, and has version %d now: %d rows went, %d came\n", done.Table, version, done.Version, done.RowsRemoved, done.RowsAdded)
			return nil
		},
	}
	c.Flags().Int64Var(&version, "to", 0, "the version")
	return c
}

// undo puts a table back, in the running daemon or in the stopped store.
func undo(ctx context.Context, p *plan.Pipeline, u admin.Undo) (done admin.Undone, err error) {
	client, store, err := reach(p)
	if err != nil {
		return done, err
	}
	if client != nil {
		return client.Undo(ctx, u)
	}
	if err := store.Close(); err != nil {
		return done, err
	}
	if store, err = state.Open(state.Options{Dir: p.Storage, Pipeline: p.Name, Sealer: daemon.Files(p)}); err != nil {
		return done, err
	}
	defer func() { err = cmp.Or(err, store.Close()) }()
	return daemon.UndoStored(ctx, p, store, u)
}
