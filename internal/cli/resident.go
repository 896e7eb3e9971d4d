package cli

import (
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/hermes-runtime/hermes/internal/engine/resident"
	"github.com/hermes-runtime/hermes/internal/runtime"
)

// resident is what hermes starts of itself, here and elsewhere.
func (a *app) resident() *cobra.Command {
	var guard, keeper, text bool
	cmd := &cobra.Command{
		Use: "resident", Short: "What hermes starts of itself", Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case guard:
				return runtime.Guard(os.Stdin)
			case keeper:
				return runtime.Keeper(cmd.Context(), version())
			case !text && term.IsTerminal(int(os.Stdin.Fd())): // text goes over terminals, which whoever starts it has made raw
				return usage("hermes starts this by itself; there is nothing to do with it by hand")
			}
			return runtime.Resident(cmd.Context(), resident.ServeOptions{Build: version(), Text: text, Guard: guardArgv(), Keeper: keeperArgv()})
		},
	}
	cmd.Flags().BoolVar(&guard, "guard", false, "end what a runtime leaves behind")
	cmd.Flags().BoolVar(&keeper, "keeper", false, "keep the jobs of HERMES_HOME")
	cmd.Flags().BoolVar(&text, "text", false, "the stream carries lines of text only")
	return cmd
}

// keeperArgv starts a keeper.
func keeperArgv() []string {
	exe, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{exe, "resident", "--keeper"}
}
