package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"sluice/catalog"
	"sluice/daemon"
	"sluice/fault"
	"sluice/option"
	"sluice/plan"
)

// overrides is what the command line and the environment say about the pipeline's configuration.
func (a *app) overrides() (catalog.Overrides, error) {
	set, err := catalog.ParseSet(a.set)
	if err != nil {
		return catalog.Overrides{}, usage{err}
	}
	return catalog.Overrides{Set: set, Env: os.LookupEnv}, nil
}

// findSpec returns the path of the spec file: the one named, or the nearest one upwards (CL-05).
func (a *app) findSpec() (string, error) {
	find := func() (string, *fault.Error) { return catalog.FindSpec(".") }
	if a.spec != "" {
		find = func() (string, *fault.Error) { return catalog.NamedSpec(a.spec) }
	}
	path, err := find()
	if err != nil {
		return "", err
	}
	return path, nil
}

// load reads and plans the pipeline; every problem is in the error.
func (a *app) load() (*plan.Pipeline, error) {
	path, err := a.findSpec()
	if err != nil {
		return nil, err
	}
	overrides, err := a.overrides()
	if err != nil {
		return nil, err
	}
	p, problems := plan.Load(path, overrides, daemon.Connectors())
	if err := problems.Err(); err != nil {
		return nil, err
	}
	a.mask = option.NewMask(p.SecretSettings...)
	return p, nil
}

func (a *app) dryRunCmd() *cobra.Command {
	connect := false
	c := &cobra.Command{
		Use:   "dry-run",
		Short: "Check a pipeline without reading or writing any data",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			p, err := a.load()
			if err != nil {
				return err
			}
			if err := daemon.CheckSinks(p).Err(); err != nil {
				return err
			}
			for _, w := range p.Warnings {
				fmt.Fprintf(a.err, "%s: warning: %s\n", w.Pos, w.Text)
			}
			if connect {
				return a.dryConnect(c.Context(), p)
			}
			return a.print(flowTable(p))
		},
	}
	c.Flags().BoolVar(&connect, "connect", false, "look at brokers, topics, files and sinks, too; makes nothing there")
	return c
}

// flowTable is what a pipeline would do.
func flowTable(p *plan.Pipeline) table {
	t := table{columns: []string{"flow", "reads", "decodes", "writes", "after"}}
	for _, f := range p.Flows {
		target := f.Target()
		if f.Sink != nil {
			target = "sink " + target
		}
		after := append(append([]string{}, f.DependsOn...), f.Upstream...)
		t.rows = append(t.rows, []jsonCell{cell(f.Name), cell(f.Input.Name), cell(decodes(f)), cell(target), cell(after)})
	}
	return t
}

// decodes are what is made columns of before SQL runs: the records by their format, or a column by from_json (D-14).
func decodes(f *plan.Flow) []string {
	out := []string{}
	if f.Input.Format != "" {
		out = append(out, f.Input.Format)
	}
	for _, d := range f.Query.Documents {
		out = append(out, d.String())
	}
	return out
}
