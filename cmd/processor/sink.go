package main

import "github.com/spf13/cobra"

func (a *app) sinkCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "sink",
		Short: "Look at what the targets of sinks remember, and decide whose they are",
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.sinkStatusCmd(), a.sinkAdoptCmd())
	return c
}
