package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"sluice/admin"
	"sluice/daemon"
	"sluice/plan"
	"sluice/state"
)

func (a *app) digestCmd() *cobra.Command {
	verify := false
	c := &cobra.Command{
		Use:   "digest [TABLE...]",
		Short: "Print a number for the rows of each table, to compare two daemons, or a store before and after a restore",
		RunE: func(c *cobra.Command, tables []string) error {
			p, err := a.load()
			if err != nil {
				return err
			}
			ask, columns := digests, []string{"table", "rows", "digest", "varies"}
			if verify {
				ask, columns = verified, append(columns, "batch")
			}
			rows, err := ask(c.Context(), p, tables)
			if err != nil {
				return err
			}
			t := table{columns: columns}
			for _, d := range rows {
				row := []jsonCell{cell(d.Table), cell(d.Rows), cell(d.Digest), cell(strings.Join(d.Varies, "; "))}
				if verify {
					row = append(row, cell(d.Version))
				}
				t.rows = append(t.rows, row)
			}
			return a.print(t)
		},
	}
	c.Flags().BoolVar(&verify, "verify", false, "read the tables and compare with the digest that is kept of them; exit 1 when one differs")
	return c
}

func digests(ctx context.Context, p *plan.Pipeline, tables []string) ([]admin.Digest, error) {
	return ask(p,
		func(client *admin.Client) ([]admin.Digest, error) { return client.Digests(ctx, tables) },
		func(store *state.Store) ([]admin.Digest, error) { return daemon.Digests(ctx, p, store, tables) })
}

// verified are the digests that are kept and that are those of the rows.
func verified(ctx context.Context, p *plan.Pipeline, tables []string) ([]admin.Digest, error) {
	return ask(p,
		func(client *admin.Client) ([]admin.Digest, error) { return client.VerifyDigests(ctx, tables) },
		func(store *state.Store) ([]admin.Digest, error) {
			return daemon.VerifyDigests(ctx, p, store, tables)
		})
}
