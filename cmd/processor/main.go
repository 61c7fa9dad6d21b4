// Command processor is Sluice's one binary.
//
// main.go maps errors to exit codes; each verb is one file. What a verb runs is package daemon.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"sluice/fault"
	"sluice/option"
)

// Exit codes.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
	exitWaits   = 3 // of diff: an edit needs somebody
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// app is what every verb shares: where it reads and writes, and the flags that all verbs have.
type app struct {
	in       io.Reader
	out, err io.Writer

	spec   string
	set    []string
	output string

	mask option.Mask // hides settings that are secrets, once the pipeline was read; what is about a flow has no secret of it
}

// run executes one command line and returns its exit code. The first SIGTERM or SIGINT ends ctx, which is a soft stop.
func run(args []string, in io.Reader, out, err io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	a := &app{in: in, out: out, err: err}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(err)
	return a.report(root.ExecuteContext(ctx))
}

// usage marks an error of the command line.
type usage struct{ error }

// silent marks a failure that has been told already.
var errSilent = errors.New("failed")

// errWaits is the end of a diff with an edit that needs somebody.
var errWaits = errors.New("an edit needs somebody")

// report prints err, one problem per line, and returns the exit code.
func (a *app) report(err error) int {
	var wrong usage
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &wrong):
		fmt.Fprintf(a.err, "processor: %v\nTry 'processor --help'.\n", wrong.error)
		return exitUsage
	case errors.Is(err, errSilent):
		return exitFailure
	case errors.Is(err, errWaits):
		return exitWaits
	}
	err = a.mask.Error(err)
	var list fault.List
	var coded *fault.Error
	switch {
	case errors.As(err, &list):
		fmt.Fprintln(a.err, list)
	case errors.As(err, &coded) && coded == err:
		fmt.Fprintln(a.err, coded)
	default:
		fmt.Fprintf(a.err, "processor: %v\n", err)
	}
	return exitFailure
}

// root builds the command tree.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "processor",
		Short:         "Sluice: declarative flows over Kafka",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage{err} })
	flags := root.PersistentFlags()
	flags.StringVar(&a.spec, "spec", "", "the pipeline's spec file, or its folder (default: found upwards from the working directory)")
	flags.StringArrayVar(&a.set, "set", nil, "key=value of the pipeline's configuration; may be repeated")
	flags.StringVarP(&a.output, "output", "o", "table", "how rows are printed: table, json, ndjson or csv")
	root.PersistentPreRunE = func(*cobra.Command, []string) error { return a.check() }
	root.AddCommand(a.initCmd(), a.dryRunCmd(), a.runCmd(), a.refreshCmd(), a.undoCmd(), a.statusCmd(), a.queryCmd(), a.sqlCmd(), a.digestCmd(), a.diffCmd(), a.testCmd(), a.schemaCmd(), a.eventsCmd(), a.resetCheckpointCmd(), a.dlqCmd(), a.sinkCmd(),
		a.brokerCmd(), a.topicCmd(), a.healthCheckCmd(), a.versionCmd())
	return root
}

// check looks at the flags that all verbs share.
func (a *app) check() error {
	if _, ok := printers[a.output]; !ok {
		return usage{fmt.Errorf("-o takes table, json, ndjson or csv, not %q", a.output)}
	}
	_, err := a.overrides()
	return err
}

// noArgs, exactArgs and anyArgs are cobra's validators with their errors marked as usage.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		if c.HasSubCommands() {
			return usage{fmt.Errorf("%s has no verb %q", c.CommandPath(), args[0])}
		}
		return usage{fmt.Errorf("%s takes no arguments, got %q", c.CommandPath(), args[0])}
	}
	return nil
}

func exactArgs(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != n {
			return usage{fmt.Errorf("%s takes %s", c.CommandPath(), what)}
		}
		return nil
	}
}
