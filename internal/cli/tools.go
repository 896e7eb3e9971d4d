package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/hermes-runtime/hermes/internal/dispatch"
	"github.com/hermes-runtime/hermes/internal/registry"
	"github.com/hermes-runtime/hermes/internal/registry/schema"
	"github.com/hermes-runtime/hermes/internal/runtime"
	"github.com/hermes-runtime/hermes/tool"
)

// choice is which tools a verb is about, and what is allowed to them.
type choice struct {
	enabled  []string
	disabled []string
	platform string
	session  string
	task     string
	yes      []string
	yolo     bool
}

func (c *choice) pick(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringSliceVarP(&c.enabled, "toolsets", "t", nil, "only these toolsets or tools")
	f.StringSliceVar(&c.disabled, "disable", nil, "without these toolsets or tools")
	f.StringVar(&c.platform, "platform", "", "the tools that a session of `PLATFORM` gets")
}

func (c *choice) act(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&c.session, "session", "", "`ID` of the session")
	f.StringVar(&c.task, "task", "", "`ID` of the task")
	f.StringArrayVar(&c.yes, "yes-to", nil, "approve this `KEY` in advance (repeatable)")
	f.BoolVar(&c.yolo, "yolo", false, "ask nothing; what nobody may approve is refused all the same")
}

// begin opens a session of the CLI.
func (a *app) begin(ctx context.Context, c choice, services ...any) (*runtime.Session, error) {
	rt, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	o := runtime.SessionOptions{
		ID: c.session, Task: c.task, Platform: c.platform, Caller: tool.CallerCLI, Agent: true, Enabled: c.enabled, Disabled: c.disabled,
		Yolo: c.yolo, YesTo: c.yes, Services: services, Progress: a.show(), User: c.session == "",
	}
	s := rt.Session(o)
	for _, u := range s.Scope().Unknown() {
		fmt.Fprintln(a.err, "hermes: warning:", u.String())
	}
	return s, nil
}

// show prints progress where a person asked for it.
func (a *app) show() func(dispatch.Progress) {
	if !a.verbose {
		return nil
	}
	return func(p dispatch.Progress) {
		if p.Total > 0 {
			fmt.Fprintf(a.err, "hermes: %s: %g of %g %s\n", p.Tool, p.Done, p.Total, p.Message)
		} else {
			fmt.Fprintf(a.err, "hermes: %s: %s\n", p.Tool, p.Message)
		}
	}
}

func (a *app) tools(words []string) *cobra.Command {
	cmd := &cobra.Command{
		Use: "tools", Short: "List, describe and call tools",
		Example: "  hermes tools list\n  hermes tools call terminal '{\"command\": \"echo hi\"}'",
	}
	offer(cmd, words[min(1, len(words)):], []verb{
		{"list", a.toolsList}, {"schema", a.toolsSchema}, {"call", a.toolsCall}, {"batch", a.toolsBatch},
	})
	return cmd
}

func (a *app) toolsList() *cobra.Command {
	var c choice
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "Every tool, its toolset, and why one is not available",
		Example: "  hermes tools list\n  hermes tools list --toolsets file,terminal --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.begin(cmd.Context(), c)
			if err != nil {
				return err
			}
			rows, err := a.rt.Registry().Tools(cmd.Context())
			if err != nil {
				return err
			}
			scope, kept := s.Scope(), rows[:0]
			for _, r := range rows {
				if scope.Has(r.Name) || c.enabled == nil && c.disabled == nil && c.platform == "" {
					kept = append(kept, r)
				}
			}
			if asJSON {
				return a.printJSON(kept)
			}
			return a.printTools(kept)
		},
	}
	c.pick(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON document")
	return cmd
}

func (a *app) printTools(rows []registry.ToolStatus) error {
	w := tabwriter.NewWriter(a.out, 0, 4, 2, ' ', 0)
	for _, r := range rows {
		state := firstLine(r.Description)
		if r.Reason != "" {
			state = "not available: " + r.Reason
		}
		fmt.Fprintf(w, "%s %s\t%s\t%s\n", r.Emoji, r.Name, r.Toolset, state)
	}
	return w.Flush()
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	if r := []rune(line); len(r) > 90 {
		return string(r[:89]) + "…"
	}
	return line
}

// formats are the names of the dialects on the command line.
var formats = map[string]schema.Dialect{
	"openai": schema.OpenAI, "anthropic": schema.Anthropic, "gemini": schema.Gemini, "mcp": schema.MCP,
}

func (a *app) toolsSchema() *cobra.Command {
	var c choice
	var format string
	cmd := &cobra.Command{
		Use: "schema [NAME...]", Short: "The definitions as a model gets them",
		Example: "  hermes tools schema\n  hermes tools schema terminal --format anthropic",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, names []string) error {
			dialect, ok := formats[format]
			if !ok {
				return usage("--format %s: it is one of openai, anthropic, gemini, mcp", format)
			}
			s, err := a.begin(cmd.Context(), c)
			if err != nil {
				return err
			}
			defs, err := s.Report(cmd.Context(), dialect)
			if err != nil {
				return err
			}
			if c.enabled != nil || c.disabled != nil || a.verbose {
				fmt.Fprint(a.err, defs.Report.String())
			}
			return a.printSchemas(defs, names)
		},
	}
	c.pick(cmd)
	cmd.Flags().StringVar(&format, "format", "openai", "openai, anthropic, gemini or mcp")
	return cmd
}

func (a *app) printSchemas(defs registry.Definitions, names []string) error {
	byName := map[string]json.RawMessage{}
	for _, d := range defs.List {
		byName[d.Name] = json.RawMessage(d.JSON)
	}
	if len(names) == 0 {
		return a.printJSON(json.RawMessage(defs.Body))
	}
	out := []json.RawMessage{}
	for _, n := range names {
		d, ok := byName[n]
		if !ok {
			return &exit{exitFailed, fmt.Errorf("%s is not on offer; `hermes tools list` shows what is, and why not", n)}
		}
		out = append(out, d)
	}
	return a.printJSON(out)
}

func (a *app) toolsCall() *cobra.Command {
	var c choice
	var timeout float64
	cmd := &cobra.Command{
		Use: "call NAME JSON|@FILE|-", Short: "Make one call and print the JSON string that a model would get",
		Example: "  hermes tools call terminal '{\"command\": \"echo hi\"}'\n  echo '{\"path\": \"README.md\"}' | hermes tools call read_file -",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			limit, err := seconds(timeout)
			if err != nil {
				return err
			}
			text := "{}"
			if len(args) == 2 {
				if text, err = a.argument(cmd.Context(), args[1]); err != nil {
					return err
				}
			}
			s, err := a.begin(cmd.Context(), c)
			if err != nil {
				return err
			}
			r := s.Call(cmd.Context(), tool.Request{
				Name: args[0], Arguments: json.RawMessage(text), Timeout: limit,
			})
			if r.Name != args[0] && r.Type != tool.ErrTypeUnknownTool { // a person may have meant something else
				fmt.Fprintf(a.err, "hermes: %s was taken for %s\n", args[0], r.Name)
			}
			if _, err := fmt.Fprintln(a.out, r.JSON); err != nil {
				return err
			}
			if cmd.Context().Err() != nil { // a question that Ctrl-C answered ends as one that nobody consented to
				return &exit{code: exitInterrupted}
			}
			return leave(r.Status)
		},
	}
	c.act(cmd)
	c.pick(cmd)
	cmd.Flags().Float64Var(&timeout, "timeout", 0, "end the call after `SECONDS`")
	return cmd
}

// seconds reads the flag that bounds a call; 0 = not given.
func seconds(n float64) (time.Duration, error) {
	if longest := time.Duration(math.MaxInt64).Seconds(); !(n >= 0 && n < longest) {
		return 0, usage("--timeout %g: give a number of seconds above 0", n)
	}
	return time.Duration(n * float64(time.Second)), nil
}

func leave(s tool.Status) error {
	if code := exitOf[s]; code != exitOK {
		return &exit{code: code}
	}
	return nil
}

func (a *app) toolsBatch() *cobra.Command {
	var c choice
	cmd := &cobra.Command{
		Use: "batch FILE.jsonl|-", Short: "Make many calls as one model turn, a JSON object a line in and out",
		Long: "Each line in is {\"id\", \"name\", \"arguments\"}; each line out is {\"id\", \"name\", \"result\"}, in the order of the calls.\n" +
			"Calls that don't conflict run side by side. A line that can't be read gets a result that says so, and the others run.",
		Example: "  echo '{\"id\": \"1\", \"name\": \"terminal\", \"arguments\": {\"command\": \"echo hi\"}}' | hermes tools batch -",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			lines, err := attend(cmd.Context(), func() ([]callLine, error) { return a.readCalls(args[0]) })
			if err != nil {
				return err
			}
			s, err := a.begin(cmd.Context(), c)
			if err != nil {
				return err
			}
			return a.batch(cmd.Context(), s, lines)
		},
	}
	c.act(cmd)
	c.pick(cmd)
	return cmd
}

// callLine is one line of a batch.
type callLine struct {
	request tool.Request
	err     string // why it can't be read
}

// maxBatch bounds the calls of a batch together, in bytes: they are held until the last one is read.
const maxBatch = 256 << 20

// readCalls reads the calls of a batch from a file, or from standard input if name is -.
func (a *app) readCalls(name string) ([]callLine, error) {
	in := a.in
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, usage("read the calls: %v", err)
		}
		defer f.Close()
		in = f
	}
	var out []callLine
	r := bufio.NewReaderSize(io.LimitReader(in, maxBatch+1), 64<<10)
	for read := 0; ; {
		text, err := r.ReadBytes('\n')
		if read += len(text); read > maxBatch {
			return nil, usage("the calls are longer than %d bytes together", maxBatch)
		}
		if line := strings.TrimSpace(string(text)); line != "" {
			out = append(out, readCall(line))
		}
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the calls: %w", err)
		}
	}
}

func readCall(line string) callLine {
	var l struct {
		ID        any             `json:"id"`
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if err := json.Unmarshal([]byte(line), &l); err != nil {
		return callLine{err: "the line is no JSON object with id, name and arguments: " + err.Error()}
	}
	id := ""
	if l.ID != nil {
		id = fmt.Sprint(l.ID)
	}
	if l.Name == "" {
		return callLine{request: tool.Request{ID: id}, err: "the line names no tool; give it as name"}
	}
	return callLine{request: tool.Request{ID: id, Name: l.Name, Arguments: l.Arguments}}
}

func (a *app) batch(ctx context.Context, s *runtime.Session, lines []callLine) error {
	var calls []tool.Request
	for _, l := range lines {
		if l.err == "" {
			calls = append(calls, l.request)
		}
	}
	results := s.CallBatch(ctx, tool.Batch{Calls: calls})
	out := bufio.NewWriter(a.out)
	for _, l := range lines {
		answer := struct {
			ID     string          `json:"id"`
			Name   string          `json:"name"`
			Result json.RawMessage `json:"result"`
		}{ID: l.request.ID}
		if l.err != "" {
			answer.Result, _ = json.Marshal(map[string]string{"error": l.err})
		} else {
			r := results[0]
			results = results[1:]
			answer.ID, answer.Name, answer.Result = r.ID, r.Name, json.RawMessage(r.JSON)
		}
		enc := json.NewEncoder(out)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(answer); err != nil {
			return fmt.Errorf("write the results: %w", err)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	if ctx.Err() != nil {
		return &exit{code: exitInterrupted}
	}
	return nil
}
