package cli

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/hermes-runtime/hermes/internal/atomicfile"
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
				return keep(cmd.Context())
			case term.IsTerminal(int(os.Stdin.Fd())):
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

// keep keeps jobs. What goes wrong is noted beside its socket: nobody listens to it.
func keep(ctx context.Context) error {
	home := os.Getenv("HERMES_HOME")
	if home == "" {
		return usage("HERMES_HOME doesn't say whose jobs to keep")
	}
	o := resident.KeeperServeOptions{Home: home, Scope: os.Getenv(resident.ScopeVariable), Build: version()}
	notes := &atomicfile.Rotating{Path: filepath.Join(home, "run", "keeper.log")}
	o.Log = slog.New(slog.NewTextHandler(notes, &slog.HandlerOptions{Level: slog.LevelWarn}))
	err := runtime.Keeper(ctx, o)
	if err != nil {
		o.Log.Error("the keeper of jobs ended", "error", err)
	}
	return err
}

// keeperArgv starts a keeper.
func keeperArgv() []string {
	exe, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{exe, "resident", "--keeper"}
}
