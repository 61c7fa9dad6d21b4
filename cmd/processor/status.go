package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"sluice/admin"
	"sluice/catalog"
	"sluice/daemon"
	"sluice/eventlog"
	"sluice/fault"
	"sluice/flow"
	"sluice/option"
	"sluice/plan"
	"sluice/state"
)

func (a *app) statusCmd() *cobra.Command {
	positions := false
	c := &cobra.Command{
		Use:   "status",
		Short: "Show what every flow is doing, or, beside a stopped daemon, where it stands",
		Long: "Show what every flow is doing, or, beside a stopped daemon, where it stands. The counts are those of the flow's generation: they are\n" +
			"kept with every commit, and begin anew with a reset of the checkpoint and a full refresh.",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			p, err := a.load()
			if err != nil {
				return err
			}
			live, stored := liveStatus, storedStatus
			if positions {
				live, stored = livePositions, storedPositions
			}
			t, err := ask(p,
				func(client *admin.Client) (table, error) {
					s, err := client.Status(c.Context())
					if err != nil {
						return table{}, err
					}
					return live(s), nil
				},
				func(store *state.Store) (table, error) { return stored(p, store) })
			if err != nil {
				return err
			}
			return a.print(t)
		},
	}
	c.Flags().BoolVar(&positions, "positions", false, "show how far each flow has read each partition or file instead")
	return c
}

var (
	statusColumns   = []string{"flow", "target", "status", "reason", "generation", "last_batch", "read", "written", "dropped", "late", "bad", "null", "quarantine", "lag_records", "digest", "next_turn"}
	positionColumns = []string{"flow", "split", "next", "lag_records", "lag_seconds", "waiting"}
)

// statusRow is a row of status. Cells that are nil are not known.
func statusRow(flow, target string, status any, reason string, generation uint64, last jsonCell, sums eventlog.Outcome, quarantine, lag, digest, turn jsonCell) []jsonCell {
	return []jsonCell{cell(flow), cell(target), cell(status), cell(reason), cell(generation), last,
		cell(sums.Read), cell(sums.Written), cell(sums.Dropped), cell(sums.Late), cell(sums.Bad), cell(sums.Null), quarantine, lag, digest, turn}
}

func liveStatus(s admin.Status) table {
	t := table{columns: statusColumns}
	digests, turns := map[string]jsonCell{}, map[string]jsonCell{}
	for _, t := range s.Tables {
		digests[t.Name], turns[t.Name] = optional(t.Digest), nextTurn(t.Schedule)
	}
	quarantine, letters := map[string]jsonCell{}, map[string]jsonCell{}
	for _, q := range s.Store.Quarantines {
		quarantine[q.Flow] = cell(q.Records)
		letters[q.Flow+catalog.DeadLetterSuffix] = cell(q.DeadLetters)
	}
	totals := map[string]eventlog.Outcome{}
	for _, sums := range s.Store.Totals {
		totals[sums.Flow] = sums.Counts
	}
	for _, f := range s.Flows {
		reason := cmp.Or(silent(f.Silent), f.Reason, held(f.Positions))
		if f.Error != nil && len(f.Silent) > 0 {
			reason = f.Reason + "; " + reason // when it is tried again
		}
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
		if waiting, sends := letters[f.Name]; sends {
			lag = waiting
		}
		t.rows = append(t.rows, statusRow(f.Name, f.Target, f.Status, reason, f.Generation, known(f.LastBatch), totals[f.Name], quarantine[f.Name], lag, digests[f.Target], turns[f.Target]))
	}
	return t
}

func livePositions(s admin.Status) table {
	t := table{columns: positionColumns}
	for _, f := range s.Flows {
		for _, p := range f.Positions {
			t.rows = append(t.rows, []jsonCell{cell(f.Name), cell(p.Split), cell(p.Next), known(p.LagRecords), known(p.LagSeconds), optional(p.Waiting)})
		}
	}
	return t
}

// silent is what a flow that waits for brokers says, whatever else it does.
func silent(brokers []admin.SilentBroker) (why string) {
	if len(brokers) == 0 {
		return ""
	}
	why = brokers[0].Text
	if more := len(brokers) - 1; more > 0 {
		why += fmt.Sprintf("; and %d more brokers", more)
	}
	return why
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
	flows, err := store.Flows()
	if err != nil {
		return table{}, err
	}
	tables, err := store.Tables()
	if err != nil {
		return table{}, err
	}
	digests := map[string]jsonCell{}
	for _, t := range tables {
		if t.Digest != nil {
			digests[t.Name] = cell(t.Digest.String())
		}
	}
	planned := map[string]*plan.Flow{}
	for _, f := range p.Flows {
		planned[f.Name] = f
	}
	letters := map[string]jsonCell{}
	for _, f := range flows {
		letters[f.Name+catalog.DeadLetterSuffix] = cell(f.Letters.Waiting)
	}
	t := table{columns: statusColumns}
	for _, f := range flows {
		target, status, digest, turn := "", "not running", jsonCell(nil), jsonCell(nil)
		if defined := planned[f.Name]; defined == nil {
			status = "removed"
		} else if target = defined.Target(); defined.Table != nil {
			digest = digests[defined.Table.Name]
			s, err := daemon.StoredSchedule(store, defined.Table, time.Now())
			if err != nil {
				return table{}, err
			}
			turn = nextTurn(s)
		}
		reason := ""
		switch {
		case f.Planned:
			reason = fmt.Sprintf("batch %d waits for its sink", f.NextBatch)
		case !f.Completed.IsZero():
			reason = "completed at " + f.Completed.Format(time.RFC3339)
		}
		var last, quarantine jsonCell
		if f.NextBatch > 0 {
			last = cell(f.NextBatch - 1)
		}
		if f.Quarantine != "" {
			quarantine = cell(f.Quarantined.Records)
		}
		t.rows = append(t.rows, statusRow(f.Name, target, status, reason, f.Generation, last, flow.Counts(f.Counters), quarantine, letters[f.Name], digest, turn))
	}
	return t, nil
}

func storedPositions(p *plan.Pipeline, store *state.Store) (table, error) {
	flows, err := store.Flows()
	if err != nil {
		return table{}, err
	}
	masks := map[string]option.Mask{}
	for _, f := range p.Flows {
		masks[f.Name] = option.NewMask(f.Secrets...)
	}
	t := table{columns: positionColumns}
	for _, f := range flows {
		for _, m := range f.Position {
			t.rows = append(t.rows, []jsonCell{cell(f.Name), cell(masks[f.Name].Text(m.Split)), cell(m.Next.String()), nil, nil, nil})
		}
	}
	return t, nil
}

// nextTurn is when a schedule has its next turn.
func nextTurn(s *admin.Schedule) jsonCell {
	switch {
	case s == nil || s.Clause == "":
		return nil
	case s.Running:
		return cell("now")
	case s.Next == nil:
		return cell("on update")
	}
	return cell(s.Next.UTC().Format(time.RFC3339))
}

// known is a number that may not be there.
func known[T uint64 | int64 | float64](v *T) jsonCell {
	if v == nil {
		return nil
	}
	return cell(*v)
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
	return daemon.ResetStored(store, o.Pipeline, flow)
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
