package cli

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

func (a *app) doctor() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "What works on this machine, and what to do about the rest", Example: "  hermes doctor\n  hermes doctor --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			rt, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			found := rt.Doctor(cmd.Context(), reserved)
			if asJSON {
				return a.printJSON(found)
			}
			w := tabwriter.NewWriter(a.out, 0, 4, 2, ' ', 0)
			for _, f := range found {
				fmt.Fprintf(w, "%s\t%s\t%s\n", f.State, f.About, f.Text)
			}
			return w.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON document")
	return cmd
}
