package cli

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hermes-runtime/hermes/internal/bench"
	"github.com/hermes-runtime/hermes/internal/config"
)

func (a *app) bench() *cobra.Command {
	var asJSON bool
	var answer string
	cmd := &cobra.Command{
		Use: "bench [WORD]", Short: "Measure whole paths against a bare equivalent, as ratios",
		Long:    "Each path is measured in the same run as its bare equivalent. With WORD only the paths whose names hold it.",
		Example: "  hermes bench --json\n  hermes bench door",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if answer != "" {
				return bench.Answer(cmd.Context(), answer)
			}
			rt, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			o := bench.Options{
				Environ: os.Environ(), Config: cmp.Or(a.config, config.DefaultPath(rt.Home())), GuardArgv: guardArgv(), KeeperArgv: keeperArgv(),
				Progress: func(p string) { fmt.Fprintln(a.err, "hermes: measuring", p) },
			}
			if len(args) == 1 {
				o.Only = func(p string) bool { return strings.Contains(p, args[0]) }
			}
			rows, err := bench.Run(cmd.Context(), o)
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(rows)
			}
			return a.printRows(rows)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON document")
	cmd.Flags().StringVar(&answer, "answer", "", "answer at this socket: the other end of a measurement")
	_ = cmd.Flags().MarkHidden("answer")
	return cmd
}

func (a *app) printRows(rows []bench.Row) error {
	w := tabwriter.NewWriter(a.out, 0, 4, 2, ' ', 0)
	for _, r := range rows {
		state := "within"
		switch {
		case r.Error != "":
			fmt.Fprintf(w, "%s\t-\t\t%s\n", r.Path, r.Error)
			continue
		case !r.Within:
			state = "OVER"
		case r.Budget == 0:
			state = ""
		}
		fmt.Fprintf(w, "%s\t%.2f %s\t%s %g\t%s\n", r.Path, r.Value, r.Unit, state, r.Budget, r.Detail)
	}
	return w.Flush()
}
