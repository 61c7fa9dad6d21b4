package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice/daemon"
	"sluice/eval"
	"sluice/fault"
	"sluice/internal/broker"
	"sluice/option"
	"sluice/plan"
)

// runFlags are the flags of run.
type runFlags struct {
	broker      string
	seeds       []string
	refresh     []string
	fullRefresh []string
	all         bool
	acceptLoss  bool
	serve       bool
}

func (a *app) runCmd() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run",
		Short: "Run the pipeline: once through, or until stopped when it is continuous",
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return a.runPipeline(c.Context(), f) },
	}
	flags := c.Flags()
	flags.StringVar(&f.broker, "embedded-broker", "", "run a Kafka-compatible broker inside, with its data in the storage folder (for trials, not for production)")
	flags.Lookup("embedded-broker").NoOptDefVal = defaultBroker
	flags.StringArrayVar(&f.seeds, "seed", nil, "TOPIC=FILE[@RATE]: create the topic and fill it from a file, where it does not exist; may be repeated")
	flags.StringSliceVar(&f.refresh, "refresh", nil, "run the flows into these tables and sinks only")
	flags.StringSliceVar(&f.fullRefresh, "full-refresh", nil, "empty these tables and compute them anew; of sinks, send everything again")
	flags.BoolVar(&f.serve, "serve", false, "of a pipeline that is not continuous: stay, and refresh tables at the turns of their schedules")
	flags.BoolVar(&f.all, "full-refresh-all", false, "empty all tables and compute them anew; send everything again to the sinks")
	flags.BoolVar(&f.acceptLoss, "accept-data-loss", false, "refresh fully although topics do not hold everything any more that was read from them")
	return c
}

func (a *app) runPipeline(ctx context.Context, f runFlags) error {
	if len(f.seeds) > 0 && f.broker == "" {
		return usage{fmt.Errorf("--seed fills topics of the embedded broker: it needs --embedded-broker")}
	}
	if f.broker != "" {
		a.set = append([]string{"kafka.bootstrap.servers=" + f.broker}, a.set...)
	}
	p, err := a.load()
	if err != nil {
		return err
	}
	for _, w := range p.Warnings {
		fmt.Fprintf(a.err, "%s: warning: %s\n", w.Pos, w.Text)
	}
	s, err := daemon.Select(p, f.refresh, f.fullRefresh, f.all)
	if fault.Of(err, fault.ConflictingRefresh) {
		return usage{err}
	}
	if err != nil {
		return err
	}
	if s.AcceptLoss = f.acceptLoss; f.acceptLoss && !f.all && len(f.fullRefresh) == 0 {
		return usage{fmt.Errorf("--accept-data-loss is for full refreshes")}
	}
	return a.runPlan(ctx, p, s, f)
}

// runPlan runs a pipeline until it has ended, or ctx ends.
func (a *app) runPlan(ctx context.Context, p *plan.Pipeline, s daemon.Selection, f runFlags) error {
	log := newLog(a.err, p, false)
	slog.SetDefault(newLog(a.err, p, true)) // what connectors say, and the programs they run

	// The first signal ends take: the batches in hand are finished. do ends when the grace period is over (D-39).
	do, hard := context.WithCancelCause(context.WithoutCancel(ctx))
	defer hard(nil)
	take, soft := context.WithCancelCause(ctx)
	defer soft(nil)
	context.AfterFunc(take, func() { time.AfterFunc(p.Settings.GracePeriod, func() { hard(context.Canceled) }) })

	if f.broker != "" {
		stop, err := a.embed(take, p, f, log)
		if err != nil {
			return err
		}
		defer stop()
	}
	eval.GiveBack()
	debug.SetMemoryLimit(daemon.MemoryOf(p).Heap)
	d, err := daemon.Start(do, daemon.Options{Plan: p, Select: s, Stay: f.serve, Log: log, Build: build(), Fatal: func(error) {
		os.Exit(exitFailure) // the store has said why
	}})
	if err != nil {
		return err
	}
	defer d.Close()
	address, err := d.Serve()
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "pipeline %s: status at http://%s/, metrics at http://%s/metrics\n", p.Name, a.mask.Text(address), a.mask.Text(address))
	if tables := d.Unserved(); len(tables) > 0 {
		fmt.Fprintf(a.err, "pipeline %s: this run ends after one update, and does not serve the schedules of %s; run --serve does\n", p.Name, strings.Join(tables, ", "))
	}
	shown := make(chan struct{})
	showing, stopShowing := context.WithCancel(take)
	go func() {
		defer close(shown)
		newProgress(a.out, d.Status).show(showing)
	}()
	result := d.Run(take, do)
	stopShowing()
	<-shown
	printSummary(a.out, d.Status())
	if len(result.Failed) > 0 {
		return fault.New(fault.RunFailed, "flows that failed or were skipped: %s", strings.Join(result.Failed, ", ")).WithHint("processor events says why")
	}
	return nil
}

// embed starts the embedded broker and fills its topics in the background, since seeds may come at a rate.
func (a *app) embed(ctx context.Context, p *plan.Pipeline, f runFlags, log *slog.Logger) (stop func(), err error) {
	var seeds []broker.Seed
	topics := map[string]int32{}
	for _, text := range f.seeds {
		seed, err := broker.ParseSeed(text)
		if err != nil {
			return nil, usage{err}
		}
		if !filepath.IsAbs(seed.File) {
			seed.File = filepath.Join(p.Dir, seed.File)
		}
		seeds = append(seeds, seed)
	}
	b, err := broker.Start(broker.Options{Listen: f.broker, DataDir: filepath.Join(p.Storage, "broker"), Topics: topics})
	if err != nil {
		return nil, err
	}
	filling, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, seed := range seeds {
			if _, err := b.Seed(filling, seed); err != nil && filling.Err() == nil {
				log.Error("filling the topic", "topic", seed.Topic, "error", err)
			}
		}
	}()
	return func() {
		cancel()
		<-done
		b.Close()
	}, nil
}

// newLog returns the log. What is foreign in it (what programs say, the file or topic a connector tells of) has none of the
// pipeline's secrets. The rest is ours, and is made of events, which have none: a word of ours that happens to be somebody's
// password is to be read.
func newLog(w io.Writer, p *plan.Pipeline, foreign bool) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(p.Settings.LogLevel)); err != nil {
		level = slog.LevelInfo
	}
	o := &slog.HandlerOptions{Level: level}
	if mask := option.NewMask(p.Secrets...); foreign {
		o.ReplaceAttr = func(_ []string, a slog.Attr) slog.Attr {
			switch v := a.Value.Any().(type) {
			case string:
				a.Value = slog.StringValue(mask.Text(v))
			case error:
				a.Value = slog.StringValue(mask.Text(v.Error()))
			}
			return a
		}
	}
	if p.Settings.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}
