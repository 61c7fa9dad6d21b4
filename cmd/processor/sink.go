package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"sluice/batch"
	"sluice/daemon"
	"sluice/fault"
	"sluice/option"
	"sluice/plan"
	"sluice/state"
)

func (a *app) sinkCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "sink",
		Short: "Decide whose a sink's target is",
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(&cobra.Command{
		Use:   "adopt FLOW",
		Short: "Make the target of a flow this store's, whoever wrote it; the daemon must be stopped",
		Args:  exactArgs(1, "a flow"),
		RunE: func(c *cobra.Command, args []string) error {
			p, err := a.load()
			if err != nil {
				return err
			}
			id, ok, err := adopt(c.Context(), p, args[0])
			if err != nil {
				return err
			}
			after := "its first batch"
			if ok {
				after = fmt.Sprintf("the one after batch %d of generation %d", id.Number, id.Generation)
			}
			fmt.Fprintf(a.out, "the target of flow %s belongs to this store; what it gets next is %s\n", id.Flow, after)
			return nil
		},
	})
	return c
}

// adopter is a sink whose target remembers who writes it (D-18).
type adopter interface {
	Adopt(ctx context.Context, last batch.ID, ok bool) error
}

// adopt tells the target of a flow that the last batch it has is the last one that this store knows as accepted; ok is false
// when there is none. The store's lock keeps a daemon out.
func adopt(ctx context.Context, p *plan.Pipeline, name string) (last batch.ID, ok bool, err error) {
	f := flowOf(p, name)
	switch {
	case f == nil:
		return last, false, unknownFlow(p, name)
	case f.Sink == nil:
		return last, false, fault.New(fault.SinkNotAdoptable, "flow %s writes the table %s, not a sink", name, f.Table.Display)
	}
	defer func() { err = option.NewMask(f.Secrets...).Error(err) }()
	s, err := daemon.OpenSink(p, f)
	if err != nil {
		return last, false, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	target, remembers := s.(adopter)
	if !remembers {
		return last, false, fault.New(fault.SinkNotAdoptable, "a sink of format %s does not remember who writes to it", f.Sink.Format).
			WithHint("there is nothing to adopt: its flow just goes on")
	}
	store, err := state.Open(state.Options{Dir: p.Storage, Pipeline: p.Name})
	if err != nil {
		return last, false, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	flow, err := store.Flow(name)
	if err != nil {
		return last, false, err
	}
	who, next := store.Identity(), flow.NextBatch()
	last = batch.ID{Pipeline: who.Pipeline, Flow: name, Store: who.ID, Epoch: who.Epoch, Generation: flow.Generation(), Number: max(next, 1) - 1}
	return last, next > 0, target.Adopt(ctx, last, next > 0)
}

func flowOf(p *plan.Pipeline, name string) *plan.Flow {
	for _, f := range p.Flows {
		if f.Name == name {
			return f
		}
	}
	return nil
}
