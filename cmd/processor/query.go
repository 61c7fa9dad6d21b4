package main

import (
	"context"
	"encoding/json"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"sluice/admin"
	"sluice/daemon"
	"sluice/eval"
	"sluice/plan"
	"sluice/state"
)

func (a *app) queryCmd() *cobra.Command {
	return &cobra.Command{
		Use:   `query "SELECT ..."`,
		Short: "Run a query over the tables, in the running daemon or, beside a stopped one, in its store",
		Args:  exactArgs(1, "one query"),
		RunE: func(c *cobra.Command, args []string) error {
			p, err := a.load()
			if err != nil {
				return err
			}
			t, err := ask(p,
				func(client *admin.Client) (table, error) { return queryDaemon(c.Context(), client, args[0]) },
				func(store *state.Store) (table, error) { return queryStore(c.Context(), store, p, args[0]) })
			if err != nil {
				return err
			}
			return a.print(t)
		},
	}
}

func queryDaemon(ctx context.Context, client *admin.Client, sql string) (t table, err error) {
	result, err := client.Query(ctx, sql)
	if err != nil {
		return t, err
	}
	return resultTable(result)
}

// queryStore runs a query in this process. One of two engines works, with half of the memory that the daemon may use: the
// other half is for what is read and printed.
func queryStore(ctx context.Context, store *state.Store, p *plan.Pipeline, sql string) (t table, err error) {
	limit, zone := p.Settings.MemoryLimit/2, p.Zone
	ordered, err := eval.Open(eval.Options{Threads: 1, MemoryLimit: limit, Zone: zone})
	if err != nil {
		return t, err
	}
	defer ordered.Close()
	parallel, err := eval.Open(eval.Options{Threads: runtime.GOMAXPROCS(0), MemoryLimit: limit, Zone: zone})
	if err != nil {
		return t, err
	}
	defer parallel.Close()
	rows, err := daemon.Query(ctx, store, ordered, parallel, zone, sql)
	if err != nil {
		return t, err
	}
	return rowsTable(ctx, rows)
}

// add appends a row of JSON values.
func (t *table) add(row []json.RawMessage) {
	row = slices.Clone(row)
	for i, c := range row {
		if string(c) == "null" {
			row[i] = nil
		}
	}
	t.rows = append(t.rows, row)
}
