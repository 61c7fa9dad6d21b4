package main

import (
	"strings"

	"github.com/spf13/cobra"

	"sluice/admin"
	"sluice/daemon"
	"sluice/state"
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
			digests, err := ask(p,
				func(client *admin.Client) ([]admin.Digest, error) { return client.Digests(c.Context(), tables) },
				func(store *state.Store) ([]admin.Digest, error) { return daemon.Digests(c.Context(), p, store, tables) })
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
