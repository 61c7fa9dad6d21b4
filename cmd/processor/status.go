package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice/admin"
	"sluice/fault"
	"sluice/option"
	"sluice/plan"
	"sluice/state"
)

func (a *app) statusCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show what every flow is doing, or, beside a stopped daemon, where it stands",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			p, err := a.load()
			if err != nil {
				return err
			}
			t, err := ask(p,
				func(client *admin.Client) (table, error) { return liveStatus(c.Context(), client) },
				func(store *state.Store) (table, error) { return storedStatus(p, store) })
			if err != nil {
				return err
			}
			return a.print(t)
		},
	}
}

var statusColumns = []string{"flow", "target", "status", "reason", "generation", "last_batch", "read", "written", "dropped", "late", "quarantine", "lag_records", "digest"}

func liveStatus(ctx context.Context, client *admin.Client) (table, error) {
	s, err := client.Status(ctx)
	if err != nil {
		return table{}, err
	}
	t := table{columns: statusColumns}
	digests := map[string]jsonCell{}
	for _, t := range s.Tables {
		digests[t.Name] = optional(t.Digest)
	}
	quarantine := map[string]jsonCell{}
	for _, q := range s.Store.Quarantines {
		quarantine[q.Flow] = cell(q.Records)
	}
	for _, f := range s.Flows {
		reason := cmp.Or(f.Reason, held(f.Positions))
		if f.Error != nil {
			if reason != "" {
				reason += ": "
			}
			reason += f.Error.Fault().Error()
		}
		var lag jsonCell
		var sum int64
		for _, p := range f.Positions {
			if p.LagRecords != nil {
				sum += *p.LagRecords
				lag = cell(sum)
			}
		}
		var last jsonCell
		if f.LastBatch != nil {
			last = cell(*f.LastBatch)
		}
		t.rows = append(t.rows, []jsonCell{cell(f.Name), cell(f.Target), cell(f.Status), cell(reason), cell(f.Generation), last,
			cell(f.Counts.Read), cell(f.Counts.Written), cell(f.Counts.Dropped), cell(f.Counts.Late), quarantine[f.Name], lag, digests[f.Target]})
	}
	return t, nil
}

// held is what a flow waits for in a partition while it is busy with others.
func held(positions []admin.Position) (why string) {
	more := 0
	for _, p := range positions {
		switch {
		case p.Waiting != "" && why == "":
			why = p.Waiting
		case p.Waiting != "":
			more++
		}
	}
	if more > 0 {
		why += fmt.Sprintf("; and %d more partitions are held up", more)
	}
	return why
}

func storedStatus(p *plan.Pipeline, store *state.Store) (table, error) {
	masks := map[string]option.Mask{}
	for _, f := range p.Flows {
		masks[f.Name] = option.NewMask(f.Secrets...)
	}
	flows, err := store.Flows()
	if err != nil {
		return table{}, err
	}
	digests, err := storedDigests(p, store)
	if err != nil {
		return table{}, err
	}
	t := table{columns: []string{"flow", "status", "generation", "next_batch", "planned", "completed", "read", "written", "quarantine", "position", "digest"}}
	for _, f := range flows {
		var done, quarantine jsonCell
		if f.Quarantine != "" {
			quarantine = cell(f.Quarantined.Records)
		}
		if !f.Completed.IsZero() {
			done = cell(f.Completed.Format(time.RFC3339))
		}
		var marks []string
		for _, m := range f.Position {
			marks = append(marks, masks[f.Name].Text(m.Split)+" "+m.Next.String())
		}
		t.rows = append(t.rows, []jsonCell{cell(f.Name), cell("not running"), cell(f.Generation), cell(f.NextBatch), cell(f.Planned), done,
			cell(f.Counters["records"]), cell(f.Counters["written"]), quarantine, cell(strings.Join(marks, ", ")), digests[f.Name]})
	}
	return t, nil
}

// storedDigests are the digests that are kept of the tables that flows write, by flow.
func storedDigests(p *plan.Pipeline, store *state.Store) (map[string]jsonCell, error) {
	tables, err := store.Tables()
	if err != nil {
		return nil, err
	}
	kept := map[string]jsonCell{}
	for _, t := range tables {
		if t.Digest != nil {
			kept[t.Name] = cell(t.Digest.String())
		}
	}
	out := map[string]jsonCell{}
	for _, f := range p.Flows {
		if f.Table != nil {
			out[f.Name] = kept[f.Table.Name]
		}
	}
	return out, nil
}

// optional is a text that may not be there.
func optional(text string) jsonCell {
	if text == "" {
		return nil
	}
	return cell(text)
}

func (a *app) resetCheckpointCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "reset-checkpoint FLOW",
		Short: "Make a flow start anew from an empty checkpoint; its target keeps its rows",
		Args:  exactArgs(1, "a flow"),
		RunE: func(c *cobra.Command, args []string) error {
			p, err := a.load()
			if err != nil {
				return err
			}
			known := false
			for _, f := range p.Flows {
				known = known || f.Name == args[0]
			}
			if !known {
				return unknownFlow(p, args[0])
			}
			client, store, err := reach(p)
			if err != nil {
				return err
			}
			generation := uint64(0)
			if client != nil {
				if generation, err = client.ResetCheckpoint(c.Context(), args[0]); err != nil {
					return err
				}
			} else {
				store.Close()
				if generation, err = resetStored(state.Options{Dir: p.Storage, Pipeline: p.Name}, args[0]); err != nil {
					return err
				}
			}
			fmt.Fprintf(a.out, "flow %s starts anew, in generation %d\n", args[0], generation)
			return nil
		},
	}
}

// resetStored resets a checkpoint in the store of a stopped daemon.
func resetStored(o state.Options, flow string) (generation uint64, err error) {
	store, err := state.Open(o)
	if err != nil {
		return 0, err
	}
	defer func() {
		if closing := store.Close(); err == nil {
			err = closing
		}
	}()
	if err := store.Reset(nil, []string{flow}); err != nil {
		return 0, err
	}
	f, err := store.Flow(flow)
	if err != nil {
		return 0, err
	}
	return f.Generation(), nil
}

func (a *app) healthCheckCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "health-check",
		Short: "Exit 0 when the daemon of this pipeline is alive; for containers",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			p, err := a.load()
			if err != nil {
				return err
			}
			client, store, err := reach(p)
			if err != nil {
				return err
			}
			if client == nil {
				store.Close()
				return fault.New(fault.DaemonUnreachable, "no daemon runs pipeline %s", p.Name)
			}
			ctx, cancel := context.WithTimeout(c.Context(), 2*time.Second)
			defer cancel()
			return client.Live(ctx)
		},
	}
}
