package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"sluice/admin"
	"sluice/daemon"
	"sluice/fault"
	"sluice/plan"
	"sluice/state"
)

func (a *app) sinkStatusCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show what the target of each sink flow remembers, what the store has sent, and what the next start does; changes nothing",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			p, err := a.load()
			if err != nil {
				return err
			}
			flows, err := sinkFlows(c.Context(), p)
			if err != nil {
				return err
			}
			if err := a.print(a.sinkTable(flows)); err != nil {
				return err
			}
			return a.tellRefusals(flows)
		},
	}
}

// sinkFlows looks at the targets beside the running daemon, or the stopped store.
func sinkFlows(ctx context.Context, p *plan.Pipeline) ([]daemon.SinkFlow, error) {
	return ask(p,
		func(client *admin.Client) ([]daemon.SinkFlow, error) {
			return daemon.RunningSinks(ctx, p, client.Status, daemon.IntoSinks(p))
		},
		func(store *state.Store) ([]daemon.SinkFlow, error) {
			return daemon.StoppedSinks(ctx, p, store, daemon.IntoSinks(p))
		})
}

// sinkTable has a row for each flow. A table shows the beginnings of the stores' names, and its errors follow on standard
// error; rows that a program reads have all.
func (a *app) sinkTable(flows []daemon.SinkFlow) table {
	t := table{columns: []string{"flow", "sink", "kind", "remembers", "target_store", "target_epoch", "target_generation", "target_batch",
		"store", "epoch", "generation", "batch", "next_start"}}
	whole, short := a.output != "table", 8
	if whole {
		t.columns = append(t.columns, "may_have_sent", "where", "message", "hint")
		short = 1 << 10
	}
	for i := range flows {
		f := &flows[i]
		row := []jsonCell{cell(f.Plan.Name), cell(f.Plan.Sink.Name), cell(f.Plan.Sink.Format), cell(remembers(f)), nil, nil, nil, nil,
			cell(cut(f.Sent.Store, short)), cell(f.Sent.Epoch), cell(f.Sent.Generation), nil, cell("goes on")}
		if m := &f.Memory; m.Found {
			row[4], row[5], row[6], row[7] = cell(cut(m.Store, short)), cell(m.Epoch), cell(m.Generation), cell(m.Number)
		}
		if f.Sent.Next > 0 {
			row[11] = cell(f.Sent.Next - 1)
		}
		if f.Refusal != nil {
			row[12] = cell(f.Refusal.Code.Name)
		}
		if whole {
			var planned jsonCell
			if f.Sent.Planned {
				planned = cell(f.Sent.Next)
			}
			problem := problemCells(fault.Pos{}, f.Refusal)
			row = append(row, planned, cell(f.Memory.Where), problem[1], problem[2])
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// remembers is the column of that name.
func remembers(f *daemon.SinkFlow) string {
	switch {
	case !f.Keeps:
		return "this kind keeps none"
	case f.Memory.Found:
		return "a batch"
	case f.Refusal != nil && !f.Adoptable():
		return "not known"
	}
	return "nothing"
}

func cut(s string, n int) string { return s[:min(n, len(s))] }

// tellRefusals says why flows will not go on, in whole sentences. That a target could not be asked is a failure.
func (a *app) tellRefusals(flows []daemon.SinkFlow) (err error) {
	for i := range flows {
		f := &flows[i]
		if f.Refusal == nil {
			continue
		}
		fmt.Fprintf(a.err, "flow %s: %v\n", f.Plan.Name, f.Refusal)
		if !f.Adoptable() {
			err = errSilent
		}
	}
	return err
}
