package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/hermes-runtime/hermes/internal/script"
	"github.com/hermes-runtime/hermes/internal/script/stub"
	"github.com/hermes-runtime/hermes/tool"
)

// scriptTool is the tool that runs scripts: the one thing this verb is about.
const scriptTool = script.ToolName

func (a *app) exec() *cobra.Command {
	var c choice
	var text bool
	var stubs string
	cmd := &cobra.Command{
		Use: "exec FILE.py|- [-- ARGS...]", Short: "Run a Python script that calls tools, with no model involved",
		Long: "The script runs as a model's would: in a child process, with `from hermes_tools import ...` for the tools.\n" +
			"The JSON result of execute_code is printed, and the exit code is 0 only if its status is success.\n\n" +
			"FILE.py is read as Python reads it: UTF-8, or the encoding that a comment on its first or second line declares.\n" +
			"With code_execution.mode project, modules are looked for in the working directory before the standard library, as\n" +
			"python -m does: a json.py there is the script's json. The tools don't mind.",
		Example: "  hermes exec examples/hello.py\n  echo 'print(1 + 1)' | hermes exec --text -\n" +
			"  hermes exec --stubs .hermes-stubs",
		Args: func(cmd *cobra.Command, args []string) error {
			if stubs != "" {
				return cobra.NoArgs(cmd, args)
			}
			return cobra.MinimumNArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if stubs != "" {
				return a.writeStubs(stubs)
			}
			code, err := a.readScript(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			inv := &script.Invocation{Args: args[1:], FileName: args[0], Trusted: true}
			if args[0] == "-" {
				inv.FileName = ""
			}
			if c.enabled != nil { // what was chosen is for the script; what runs it is needed all the same
				c.enabled = append(c.enabled, scriptTool)
			}
			s, err := a.begin(cmd.Context(), c, inv)
			if err != nil {
				return err
			}
			arguments, err := json.Marshal(map[string]string{"code": code})
			if err != nil {
				return fmt.Errorf("pass the script on: %w", err)
			}
			return a.printRun(s.Call(cmd.Context(), tool.Request{Name: scriptTool, Arguments: arguments}), text)
		},
	}
	c.act(cmd)
	c.pick(cmd)
	cmd.Flags().BoolVar(&text, "text", false, "print only what the script printed")
	cmd.Flags().StringVar(&stubs, "stubs", "", "write hermes_tools and its types into `DIR`, for an editor, and run nothing")
	return cmd
}

// writeStubs writes the module that scripts import, and says where.
func (a *app) writeStubs(dir string) error {
	files, err := stub.WriteTo(dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		if _, err := fmt.Fprintln(a.out, f); err != nil {
			return err
		}
	}
	return nil
}

// readScript reads the script's file, or standard input for "-", as Python would.
func (a *app) readScript(ctx context.Context, name string) (string, error) {
	from, label := "-", "standard input"
	if name != "-" {
		info, err := os.Stat(name)
		if err != nil {
			return "", usage("read the script: %v", err)
		}
		if info.IsDir() {
			return "", usage("read the script: %s is a directory", name)
		}
		from, label = "@"+name, name
	}
	raw, err := a.argument(ctx, from)
	if err != nil {
		return "", err
	}
	code, err := script.Decode([]byte(raw))
	if err != nil {
		return "", usage("read the script %s: %v", label, err)
	}
	return code, nil
}

// printRun prints the result of a run; as text, its output on stdout and what went wrong on stderr.
func (a *app) printRun(r tool.Result, text bool) error {
	if !text {
		if _, err := fmt.Fprintln(a.out, r.JSON); err != nil {
			return err
		}
		return leave(r.Status)
	}
	var run struct {
		Output, Error, Hint, Warning string
	}
	if err := json.Unmarshal([]byte(r.JSON), &run); err != nil {
		return fmt.Errorf("read the result: %w", err)
	}
	if _, err := io.WriteString(a.out, run.Output); err != nil {
		return err
	}
	if run.Output != "" && run.Output[len(run.Output)-1] != '\n' {
		fmt.Fprintln(a.out)
	}
	for _, line := range []string{run.Error, run.Hint, run.Warning} {
		if line != "" {
			fmt.Fprintln(a.err, "hermes:", line)
		}
	}
	return leave(r.Status)
}
