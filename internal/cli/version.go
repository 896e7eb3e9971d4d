package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Version is set when a release is built.
var Version = ""

func version() string {
	v := Version
	if v == "" {
		v = "0.1.0-dev"
	}
	return v
}

func (a *app) version() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "version", Short: "Version and build", Example: "  hermes version --json",
		RunE: func(*cobra.Command, []string) error {
			build := map[string]string{"version": version(), "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH}
			if info, ok := debug.ReadBuildInfo(); ok {
				for _, s := range info.Settings {
					if s.Key == "vcs.revision" {
						build["revision"] = s.Value
					}
				}
			}
			if asJSON {
				return a.printJSON(build)
			}
			_, err := fmt.Fprintf(a.out, "hermes %s (%s, %s/%s)\n", build["version"], build["go"], build["os"], build["arch"])
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON document")
	return cmd
}
