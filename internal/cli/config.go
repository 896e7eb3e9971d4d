package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hermes-runtime/hermes/internal/config"
)

// reserved are top-level keys of areas that this build doesn't have. They are no mistakes.
var reserved = []string{
	"approvals.approvers", "approvals.editor_surface", "auxiliary", "browser", "delegation", "gateway", "hooks", "hooks_import", "hooks_auto_accept", "mcp", "mcp_servers",
	"memory", "plugins", "process", "search", "skills", "tool_loop_guardrails", "web",
}

func (a *app) configure() *cobra.Command {
	cmd := &cobra.Command{
		Use: "config", Short: "Show, change and check the configuration",
		Example: "  hermes config get terminal.timeout\n  hermes config set terminal.timeout 60\n  hermes config check",
	}
	cmd.AddCommand(a.configPath(), a.configGet(), a.configSet(), a.configCheck())
	return cmd
}

func (a *app) configPath() *cobra.Command {
	return &cobra.Command{
		Use: "path", Short: "Where the configuration lies", Example: "  hermes config path",
		RunE: func(cmd *cobra.Command, _ []string) error {
			rt, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.out, rt.Config().Path)
			return err
		},
	}
}

func (a *app) configGet() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "get [KEY]", Short: "What is in force for a key, or all keys with their meaning", Example: "  hermes config get terminal.timeout",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			rt, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			keys := config.Keys(config.Registered())
			if len(args) == 0 {
				return a.printKeys(keys, asJSON)
			}
			if v, ok := rt.Config().Get(args[0]); ok {
				return a.printValue(v, asJSON)
			}
			i := slices.IndexFunc(keys, func(k config.Key) bool { return k.Path == args[0] })
			if i < 0 {
				return &exit{exitFailed, unknownKey(args[0], keys)}
			}
			if v := rt.Getenv(keys[i].Env); keys[i].Env != "" && v != "" {
				return a.printValue(v, asJSON)
			}
			return a.printValue(keys[i].Default, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON document")
	return cmd
}

func unknownKey(key string, keys []config.Key) error {
	var names []string
	for _, k := range keys {
		names = append(names, k.Path)
	}
	if near := config.Nearest(key, names); near != "" {
		return fmt.Errorf("no setting is called %s; did you mean %s?", key, near)
	}
	return fmt.Errorf("no setting is called %s; `hermes config get` lists them", key)
}

func (a *app) printKeys(keys []config.Key, asJSON bool) error {
	if asJSON {
		return a.printJSON(keys)
	}
	w := tabwriter.NewWriter(a.out, 0, 4, 2, ' ', 0)
	for _, k := range keys {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", k.Path, k.Type, k.Default, k.Help)
	}
	return w.Flush()
}

func (a *app) printValue(v any, asJSON bool) error {
	if text, ok := v.(string); ok && !asJSON {
		_, err := fmt.Fprintln(a.out, text)
		return err
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("show the value: %w", err)
	}
	_, err = fmt.Fprintln(a.out, string(text))
	return err
}

func (a *app) configSet() *cobra.Command {
	return &cobra.Command{
		Use: "set KEY VALUE", Short: "Change one value and keep the rest of the file as it is",
		Example: "  hermes config set terminal.timeout 60",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			rt, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			keys := config.Keys(config.Registered())
			if !knows(keys, args[0]) {
				return &exit{exitUsage, unknownKey(args[0], keys)}
			}
			if err := tryValue(rt.Config().Path, args[0], args[1]); err != nil {
				return &exit{exitUsage, err}
			}
			if err := os.MkdirAll(filepath.Dir(rt.Config().Path), 0o700); err != nil {
				return fmt.Errorf("make HERMES_HOME: %w", err)
			}
			return config.Set(cmd.Context(), rt.Config().Path, args[0], args[1])
		},
	}
}

func knows(keys []config.Key, path string) bool {
	return slices.ContainsFunc(keys, func(k config.Key) bool {
		return k.Path == path || k.Open && len(path) > len(k.Path) && path[:len(k.Path)+1] == k.Path+"."
	})
}

// tryValue refuses a value that the setting could not take.
func tryValue(file, key, value string) error {
	d, err := config.Nested(file, key, value)
	if err != nil {
		return err
	}
	if p := d.Check(config.Registered(), reserved); len(p) > 0 {
		p[0].Line = 0
		return p[0]
	}
	return nil
}

func (a *app) configCheck() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "check", Short: "Find what is wrong in the configuration", Example: "  hermes config check",
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.judging = true
			rt, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			found := rt.Check(reserved)
			if asJSON {
				if err := a.printJSON(found); err != nil {
					return err
				}
			}
			for _, p := range found {
				if !asJSON {
					fmt.Fprintln(a.out, p)
				}
			}
			if len(found) > 0 {
				return &exit{code: exitFailed}
			}
			if !asJSON {
				fmt.Fprintln(a.out, rt.Config().Path+": nothing is wrong")
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON document")
	return cmd
}
