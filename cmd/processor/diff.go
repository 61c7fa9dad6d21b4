package main

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"sluice/admin"
	"sluice/daemon"
	"sluice/fault"
	"sluice/plan"
	"sluice/state"
)

func (a *app) diffCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "diff",
		Short: "Say what an edit of the definitions does to what the store holds; exit 3 when it needs somebody",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			p, err := a.load()
			if err != nil {
				return err
			}
			definitions, err := storedDefinitions(c.Context(), p)
			if err != nil {
				return err
			}
			edits, err := daemon.DiffOf(p, definitions)
			if err != nil {
				return err
			}
			return a.printEdits(edits)
		},
	}
}

// storedDefinitions are those that the store was last run with, or is running; none when there is no store yet.
func storedDefinitions(ctx context.Context, p *plan.Pipeline) (json.RawMessage, error) {
	out, err := ask(p,
		func(client *admin.Client) (json.RawMessage, error) { return client.Definitions(ctx) },
		func(store *state.Store) (json.RawMessage, error) { return daemon.Definitions(store) })
	if fault.Of(err, fault.StoreNotFound) {
		return nil, nil
	}
	return out, err
}

// printEdits prints a row for each edit, and one for what is unchanged.
func (a *app) printEdits(edits []daemon.Edit) error {
	t := table{columns: []string{"kind", "name", "verdict", "starts", "position", "text", "command", "code"}}
	waits := false
	for _, e := range edits {
		row := []jsonCell{cell(e.Kind), cell(e.Name), cell(e.Verdict), cell(e.Refusal == nil), nil, optional(e.Text), optional(a.completed(e.Command)), nil}
		if e.Pos.IsValid() {
			row[4] = cell(e.Pos.String())
		}
		switch {
		case e.Refusal != nil:
			row[7] = cell(e.Refusal.Code.Name)
		case e.Warning != nil:
			row[7] = cell(e.Warning.Code.Name)
		}
		t.rows = append(t.rows, row)
		waits = waits || e.Waits()
	}
	if err := a.print(t); err != nil || !waits {
		return err
	}
	return errWaits
}

// completed is a command as it has to be typed here.
func (a *app) completed(command string) string {
	if command == "" || a.spec == "" {
		return command
	}
	return command + " --spec " + a.spec
}
