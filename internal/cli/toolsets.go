package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

func (a *app) toolsets() *cobra.Command {
	cmd := &cobra.Command{Use: "toolsets", Short: "Named bundles of tools", Example: "  hermes toolsets list\n  hermes toolsets show coding"}
	cmd.AddCommand(a.toolsetsList(), a.toolsetsShow())
	return cmd
}

func (a *app) toolsetsList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "Every toolset, and what of it is available", Example: "  hermes toolsets list --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			rt, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			sets, err := rt.Registry().Toolsets(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(sets)
			}
			w := tabwriter.NewWriter(a.out, 0, 4, 2, ' ', 0)
			for _, name := range slices.Sorted(maps.Keys(sets)) {
				s := sets[name]
				state := ""
				if !s.Available {
					state = "not available"
				}
				fmt.Fprintf(w, "%s\t%s\t%s\n", name, strings.Join(s.Tools, " "), state)
			}
			return w.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON document")
	return cmd
}

func (a *app) toolsetsShow() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show NAME", Short: "What a toolset contains, and what it resolves to now", Example: "  hermes toolsets show coding",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			rt, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			d, ok, err := rt.Registry().Describe(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if !ok {
				u := rt.Registry().Unknown(args[:1])
				if len(u) > 0 && u[0].Nearest != "" {
					return &exit{exitFailed, fmt.Errorf("no toolset is called %q; did you mean %q?", args[0], u[0].Nearest)}
				}
				return &exit{exitFailed, fmt.Errorf("no toolset is called %q; `hermes toolsets list` shows them", args[0])}
			}
			if asJSON {
				return a.printJSON(d)
			}
			fmt.Fprintf(a.out, "%s: %s\n", d.Name, d.Description)
			fmt.Fprintf(a.out, "  tools:    %s\n  includes: %s\n  resolves: %s (%d)\n",
				words(d.Tools), words(d.Includes), words(d.Resolved), len(d.Resolved))
			for _, name := range slices.Sorted(maps.Keys(d.Unavailable)) {
				fmt.Fprintf(a.out, "  %s is not available: %s\n", name, d.Unavailable[name])
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON document")
	return cmd
}

func words(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, " ")
}
