package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"sluice/admin"
	"sluice/daemon"
	"sluice/plan"
)

func (a *app) digestCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "digest [TABLE...]",
		Short: "Print a number for the rows of each table, to compare two daemons, or a store before and after a restore",
		RunE: func(c *cobra.Command, tables []string) error {
			p, err := a.load()
			if err != nil {
				return err
			}
			digests, err := digests(c.Context(), p, tables)
			if err != nil {
				return err
			}
			t := table{columns: []string{"table", "rows", "digest", "varies"}}
			for _, d := range digests {
				t.rows = append(t.rows, []jsonCell{cell(d.Table), cell(d.Rows), cell(d.Digest), cell(strings.Join(d.Varies, "; "))})
			}
			return a.print(t)
		},
	}
}

func digests(ctx context.Context, p *plan.Pipeline, tables []string) ([]admin.Digest, error) {
	client, store, err := reach(p)
	if err != nil {
		return nil, err
	}
	if client != nil {
		return client.Digests(ctx, tables)
	}
	defer store.Close()
	return daemon.Digests(ctx, p, store, tables)
}
