package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"sluice/admin"
	"sluice/daemon"
	"sluice/eventlog"
	"sluice/state"
)

func (a *app) eventsCmd() *cobra.Command {
	var q admin.EventQuery
	var level string
	c := &cobra.Command{
		Use:   "events",
		Short: "Show the event log: its newest events, or with --after those that follow one",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			p, err := a.load()
			if err != nil {
				return err
			}
			q.Newest = !c.Flags().Changed("after")
			events, err := ask(p,
				func(client *admin.Client) (admin.Events, error) { return client.SelectEvents(c.Context(), q) },
				func(store *state.Store) (admin.Events, error) { return storedEvents(c.Context(), store, q) })
			if err != nil {
				return err
			}
			return a.printEvents(events)
		},
	}
	c.Flags().Uint64Var(&q.After, "after", 0, "only events behind this sequence number, the oldest of them first")
	c.Flags().IntVarP(&q.Limit, "limit", "n", 1000, "at most so many events")
	c.Flags().StringVar(&level, "level", "METRICS", "least level: METRICS, INFO, WARN or ERROR")
	c.PreRunE = func(*cobra.Command, []string) (err error) {
		if q.Level, err = admin.Level(level); err != nil {
			return usage{fmt.Errorf("--level takes METRICS, INFO, WARN or ERROR, not %q", level)}
		}
		if q.Limit < 1 {
			return usage{fmt.Errorf("-n takes a number above zero, not %d", q.Limit)}
		}
		return nil
	}
	return c
}

// printEvents prints events, and beside them that there are more.
func (a *app) printEvents(events admin.Events) error {
	t := table{columns: []string{"sequence", "timestamp", "level", "event_type", "message"}}
	for _, r := range events.Events {
		t.rows = append(t.rows, []jsonCell{cell(r.Sequence), cell(r.Timestamp.Format(time.RFC3339Nano)), cell(r.Level), cell(r.EventType), cell(r.Message)})
	}
	if err := a.print(t); err != nil {
		return err
	}
	switch {
	case events.More:
		fmt.Fprintf(a.err, "there are more: go on with --after %d\n", events.Next)
	case events.Older > 0:
		fmt.Fprintf(a.err, "%d older ones are not shown: -n takes more, --after 0 begins with the oldest\n", events.Older)
	}
	return nil
}

// storedEvents reads the log of a stopped daemon.
func storedEvents(ctx context.Context, store *state.Store, q admin.EventQuery) (admin.Events, error) {
	return q.Select(ctx, func(ctx context.Context, after uint64, visit func(eventlog.Record) bool) error {
		return daemon.Events(ctx, store, after, visit)
	})
}
