package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"sluice/admin"
)

// version is set by the build (-ldflags "-X main.version=...").
var version = "dev"

// commit returns the revision the binary was built from, as far as the build knows it.
func commit() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return ""
}

// build says which build this is.
func build() admin.Build {
	return admin.Build{Version: version, Revision: commit(), Go: runtime.Version()}
}

func (a *app) versionCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of the binary",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			return a.print(table{
				columns: []string{"version", "commit", "go", "platform"},
				rows:    [][]jsonCell{{cell(version), cell(commit()), cell(runtime.Version()), cell(runtime.GOOS + "/" + runtime.GOARCH)}},
			})
		},
	}
}
