package code

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hermes-runtime/hermes/internal/script"
	"github.com/hermes-runtime/hermes/internal/script/stub"
	"github.com/hermes-runtime/hermes/tool"
)

// Adapt makes the description that of this session: the tools that are on offer, the mode and the limits in force.
func (executeCode) Adapt(_ context.Context, a tool.Adaptation) (tool.Definition, error) {
	cfg, ok := tool.Lookup[*script.Config](a.Services)
	if !ok || cfg == nil {
		cfg = script.DefaultConfig()
	}
	a.Definition.Description = describe(description{config: cfg, offered: a.Offered})
	return a.Definition, nil
}

type description struct {
	config  *script.Config
	offered []string
}

// modes say where a script runs and in which Python.
var modes = map[string]string{
	script.ModeProject: "It starts in the session's directory, like terminal, with the active virtual or conda environment's Python (else Hermes's own); the project's modules can be imported.",
	script.ModeStrict:  "It starts in an empty temporary directory with Hermes's own Python; use absolute paths for the project's files.",
}

func describe(d description) string {
	var tools []stub.Function
	for _, f := range stub.Functions {
		if slices.Contains(d.offered, f.Name) {
			tools = append(tools, f)
		}
	}
	var b strings.Builder
	if len(tools) == 0 {
		b.WriteString("Run a Python script. Only what it prints comes back.\n\n" +
			"Use it to compute, parse and transform. Not for a shell command, a build, interactive or background work.\n")
	} else {
		b.WriteString("Run a Python script that calls tools as functions. Only what it prints comes back; results of the calls don't enter the conversation.\n\n" +
			"Use it for three or more tool calls with logic between them, for filtering much data, for branching or looping over results. " +
			"Not for a single call, a shell command, a build or test run, interactive or background work: call the tool itself.\n\n")
		b.WriteString(example(tools) + "\nFunctions (each returns a dict; a failed call has \"error\"):\n")
		for _, f := range tools {
			fmt.Fprintf(&b, "- %s → %s\n", f.Signature(), f.Doc)
		}
		b.WriteString("Helpers, imported likewise: " + strings.Join(stub.Helpers, ", ") + ". Coroutines of the same names: hermes_tools.aio.\n")
	}
	fmt.Fprintf(&b, "\n%s No stdin. Variables with keys or tokens are withheld unless the user passes them (%s).\n", modes[d.config.EffectiveMode()], script.PassSetting)
	fmt.Fprintf(&b, "Limits: %s, %d tool calls, %s of stdout; stderr is shown when the script fails.",
		script.Seconds(d.config.Timeout), d.config.MaxToolCalls, script.Kilobytes(d.config.MaxStdout))
	return b.String()
}

// example imports two tools that are there.
func example(tools []stub.Function) string {
	names := []string{tools[0].Name}
	if len(tools) > 1 {
		names = append(names, tools[1].Name)
	}
	return "from hermes_tools import " + strings.Join(names, ", ") + "\n"
}

// codeOf returns the script that a call would run.
func codeOf(c *tool.Call) (string, bool) {
	var args Args
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return "", false
	}
	code := script.Unfence(args.Code)
	return code, strings.TrimSpace(code) != ""
}
