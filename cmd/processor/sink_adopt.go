package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sluice/daemon"
	"sluice/fault"
	"sluice/option"
	"sluice/plan"
	"sluice/state"
)

func (a *app) sinkAdoptCmd() *cobra.Command {
	var flow string
	var yes bool
	c := &cobra.Command{
		Use:   "adopt SINK",
		Short: "Make the target of a sink this store's, whoever wrote it, so that its flows go on; the daemon must be stopped",
		Args:  exactArgs(1, "a sink"),
		RunE: func(c *cobra.Command, args []string) error {
			p, err := a.load()
			if err != nil {
				return err
			}
			flows, err := flowsInto(p, args[0], flow)
			if err != nil {
				return err
			}
			return a.adoptAll(c.Context(), p, flows, yes)
		},
	}
	c.Flags().StringVar(&flow, "flow", "", "only for this flow (default: for every flow into the sink)")
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return c
}

// flowsInto are the flows that write a sink, or the one of them that is named.
func flowsInto(p *plan.Pipeline, sink, flow string) (out []*plan.Flow, err error) {
	var sinks []string
	for _, f := range p.Flows {
		switch {
		case f.Sink == nil:
		case f.Sink.Name != sink:
			sinks = append(sinks, f.Sink.Name)
		case flow == "" || f.Name == flow:
			out = append(out, f)
		}
	}
	switch {
	case len(out) > 0:
		return out, nil
	case flow != "" && !slices.ContainsFunc(p.Flows, func(f *plan.Flow) bool { return f.Name == flow }):
		return nil, unknownFlow(p, flow)
	case flow != "" && slices.ContainsFunc(p.Flows, func(f *plan.Flow) bool { return f.Sink != nil && f.Sink.Name == sink }):
		return nil, fault.New(fault.SinkNotFound, "flow %s does not write the sink %s", flow, sink)
	}
	e := fault.New(fault.SinkNotFound, "no flow writes a sink %q", sink)
	slices.Sort(sinks)
	if len(sinks) == 0 {
		return nil, e.WithHint("the pipeline has none")
	}
	if near := option.Nearest(sink, sinks); near != "" {
		return nil, e.WithHint("did you mean %q?", near)
	}
	return nil, e.WithHint("the sinks of the pipeline are: %s", strings.Join(slices.Compact(sinks), ", "))
}

// adoptAll adopts what flows would be refused for, after somebody has agreed. The store's lock keeps a daemon out from the look
// at the targets to the end.
func (a *app) adoptAll(ctx context.Context, p *plan.Pipeline, flows []*plan.Flow, yes bool) (err error) {
	store, err := state.Open(state.Options{Dir: p.Storage, Pipeline: p.Name})
	if locked := (*fault.Error)(nil); errors.As(err, &locked) && locked.Code == fault.StoreLocked {
		return locked.WithHint("stop it first: a target is given to a store that does not write")
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	looked, err := daemon.StoppedSinks(ctx, p, store, flows)
	if err != nil {
		return err
	}
	var wanted []daemon.SinkFlow
	for _, f := range looked {
		switch {
		case !f.Keeps && f.Refusal == nil:
			return fault.New(fault.SinkNotAdoptable, "a sink of format %s does not remember who writes to it", f.Plan.Sink.Format).
				WithHint("there is nothing to adopt: flow %s just goes on", f.Plan.Name)
		case f.Adoptable():
			fmt.Fprintf(a.out, "flow %s: %v\n", f.Plan.Name, f.Refusal)
			for _, line := range consequences(&f) {
				fmt.Fprintf(a.out, "  - %s\n", line)
			}
			wanted = append(wanted, f)
		case f.Refusal != nil:
			return f.Refusal
		default:
			fmt.Fprintf(a.out, "flow %s goes on as it is; there is nothing to adopt\n", f.Plan.Name)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	if err := a.agree(yes); err != nil {
		return err
	}
	for _, f := range wanted {
		if err := daemon.Adopt(ctx, p, store, f.Plan); err != nil {
			return err
		}
		fmt.Fprintf(a.out, "the target of flow %s is this store's; what it gets next is %s\n", f.Plan.Name, upcoming(&f.Sent))
	}
	return nil
}

// consequences are what an adoption may double or lose, one sentence each.
func consequences(f *daemon.SinkFlow) (out []string) {
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	m, sent := &f.Memory, &f.Sent
	const twice = "they stand twice in a topic or an appended table, once with upsert and replace_using"
	switch f.Refusal.Code {
	case fault.SinkOtherStore:
		say("what the other store sent stays in the target, and that store is refused from then on: stop it before")
		say("rows that it sent and this store sends, too, may be doubled: %s", twice)
		if sent.Next > 0 {
			say("batches up to %d, which this store sent before, are not sent again: what the other store changed of them stays changed", sent.Next-1)
		}
	case fault.SinkAhead:
		say("what the newer copy of the store sent stays in the target, and that copy is refused from then on: stop it before")
		if m.Generation != sent.Generation || m.Number >= sent.Next {
			say("rows of its batches up to %d of generation %d that this store reads again are sent again: %s", m.Number, m.Generation, twice)
		}
	case fault.SinkIdentityLost:
		from := uint64(0)
		if m.Found && m.Generation == sent.Generation {
			from = m.Number + 1
		}
		say("batches %d to %d are not sent again: those of their rows that the target lost stay lost; a full refresh of what feeds the flow sends everything", from, sent.Next-1)
	}
	if sent.Planned {
		say("batch %d is sent, although it may have been accepted before: then its rows are doubled in the same way", sent.Next)
	}
	return out
}

// upcoming names the next batch of a flow.
func upcoming(s *daemon.Sent) string {
	if s.Next == 0 {
		return fmt.Sprintf("the first batch of generation %d", s.Generation)
	}
	return fmt.Sprintf("batch %d of generation %d", s.Next, s.Generation)
}

// agree asks on a terminal. Where nobody can be asked --yes has to be given.
func (a *app) agree(yes bool) error {
	if yes {
		return nil
	}
	in, ok := a.in.(*os.File)
	if ok {
		info, err := in.Stat()
		ok = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	if !ok {
		return usage{errors.New("nobody can be asked here: --yes says that this is wanted")}
	}
	fmt.Fprint(a.out, "Go on? [y/N] ")
	answer, err := bufio.NewReader(in).ReadString('\n')
	if answer = strings.ToLower(strings.TrimSpace(answer)); err != nil || answer != "y" && answer != "yes" {
		fmt.Fprintln(a.out, "nothing was changed")
		return errSilent
	}
	return nil
}
