package cli

import (
	"fmt"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hermes-runtime/hermes/internal/runtime"
)

func (a *app) doctor() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "What works on this machine, and what to do about the rest",
		Long:    "Each line is ok, warn or fail, or off for a backend that isn't used and couldn't be, with the reason. The exit code is 1 if something fails.",
		Example: "  hermes doctor\n  hermes doctor --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.judging = true
			rt, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			found := rt.Doctor(cmd.Context(), reserved)
			if err := a.printFindings(found, asJSON); err != nil {
				return err
			}
			if slices.ContainsFunc(found, runtime.Finding.Failed) {
				return &exit{code: exitFailed}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON document")
	return cmd
}

func (a *app) printFindings(found []runtime.Finding, asJSON bool) error {
	if asJSON {
		return a.printJSON(found)
	}
	w := tabwriter.NewWriter(a.out, 0, 4, 2, ' ', 0)
	for _, f := range found {
		fmt.Fprintf(w, "%s\t%s\t%s\n", f.State, f.About, f.Text)
	}
	return w.Flush()
}
