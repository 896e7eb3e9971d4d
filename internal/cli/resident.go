package cli

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/hermes-runtime/hermes/internal/runtime"
)

// resident is what hermes starts of itself.
func (a *app) resident() *cobra.Command {
	var guard bool
	cmd := &cobra.Command{
		Use: "resident", Short: "What hermes starts of itself", Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !guard {
				return usage("hermes starts this by itself; there is nothing to do with it by hand")
			}
			return runtime.Guard(os.Stdin)
		},
	}
	cmd.Flags().BoolVar(&guard, "guard", false, "end what a runtime leaves behind")
	return cmd
}
