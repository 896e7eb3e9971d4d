// Package cli is the command line, one file for each verb. Results go to stdout; everything else to stderr.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/internal/ansi"
	"github.com/hermes-runtime/hermes/internal/runtime"
	"github.com/hermes-runtime/hermes/internal/store"
	"github.com/hermes-runtime/hermes/tool"
)

// The exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitDenied      = 3
	exitTimeout     = 124
	exitInterrupted = 130
)

// exitOf says how a verb exits for the status of a call.
var exitOf = map[tool.Status]int{
	tool.StatusOK: exitOK, tool.StatusError: exitFailed, tool.StatusBlocked: exitDenied, tool.StatusDenied: exitDenied,
	tool.StatusTimeout: exitTimeout, tool.StatusCancelled: exitInterrupted,
}

// exit is an error that says how to leave. What there is to say has been said if err is nil.
type exit struct {
	code int
	err  error
}

func (e *exit) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *exit) Unwrap() error { return e.err }

func usage(format string, args ...any) error { return &exit{exitUsage, fmt.Errorf(format, args...)} }

// app is one run of the command line.
type app struct {
	in      *os.File
	out     *steady
	err     io.Writer
	dir     string
	config  string
	verbose bool
	noColor bool
	alone   bool     // nobody is asked, whoever sits at the terminal
	judging bool     // the verb itself lists what is wrong in the configuration
	left    []string // conversations that were left: how to go on with them is said at the very end, behind all that went wrong
	lost    map[string]*store.Lost
	rt      *runtime.Runtime
}

// Main runs the command line and returns the exit code.
func Main() int {
	a := &app{in: os.Stdin, out: &steady{to: os.Stdout}, err: os.Stderr}
	ctx, stop := interruptible(context.Background())
	defer stop()
	return a.run(ctx, os.Args[1:])
}

func (a *app) run(ctx context.Context, args []string) int {
	root := a.root(args...)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if closeErr := a.close(ctx); closeErr != nil { // the verb's answer stands
		fmt.Fprintln(a.err, "hermes: warning:", oneLine(closeErr))
	}
	if err == nil {
		err = a.out.err
	}
	code := a.report(err)
	a.farewell()
	return code
}

// report says what went wrong, in one line, and chooses the exit code.
func (a *app) report(err error) int {
	if err == nil {
		return exitOK
	}
	code := exitFailed
	e, coded := errors.AsType[*exit](err)
	if coded {
		code = e.code
		if e.err == nil {
			return code
		}
	}
	if !errors.Is(err, syscall.EPIPE) { // who reads stdout has seen enough
		fmt.Fprintln(a.err, "hermes:", oneLine(err))
	}
	return code
}

// oneLine shows an error as one line: names of files may hold anything.
func oneLine(err error) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.TrimSpace(ansi.Clean(err.Error())))
}

// verb is a word of the command line and what builds its part of it.
type verb struct {
	name  string
	build func() *cobra.Command
}

// offer adds verbs to c. Where words begin with one of them it adds no other, and says so: building the whole tree takes a tenth of a
// start.
func offer(c *cobra.Command, words []string, verbs []verb) (one bool) {
	if len(words) > 0 {
		for _, v := range verbs {
			if v.name == words[0] {
				c.AddCommand(v.build())
				return true
			}
		}
	}
	for _, v := range verbs {
		c.AddCommand(v.build())
	}
	return false
}

// root is the command line, as far as the words of one run need it.
func (a *app) root(words ...string) *cobra.Command {
	root := &cobra.Command{
		Use:   "hermes",
		Short: "The tool runtime for LLM agents",
		Long: "Hermes runs the tools of an LLM agent: everything between a model's tool call and the JSON string that goes back to it.\n" +
			"Results are printed on stdout, everything else on stderr. What belongs to you lies in HERMES_HOME (~/.hermes).\n\n" +
			"Exit codes: 0 success, 1 the work failed, 2 usage, or a command that would be asked about, 3 denied or blocked, 124 timed out, 130 interrupted.\n" +
			"A call that ran a command is a success whatever the command's own exit code, which stands in the result.",
		Example:       "  hermes exec examples/hello.py\n  hermes tools call terminal '{\"command\": \"echo hi\"}'",
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version(),
	}
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetVersionTemplate("hermes {{.Version}}\n")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usage("%v; `%s --help` shows what there is", err, c.CommandPath())
	})
	f := root.PersistentFlags()
	f.StringVarP(&a.dir, "cwd", "C", "", "work in `DIR`")
	f.StringVar(&a.config, "config", "", "read `FILE` instead of HERMES_HOME/config.yaml")
	f.BoolVarP(&a.verbose, "verbose", "v", false, "say more on stderr")
	f.BoolVar(&a.noColor, "no-color", false, "no colours (also NO_COLOR)")
	root.PersistentPreRunE = func(*cobra.Command, []string) error { return a.enter() }
	one := offer(root, words, []verb{
		{"exec", a.exec}, {"chat", a.chat}, {"tools", func() *cobra.Command { return a.tools(words) }}, {"toolsets", a.toolsets}, {"config", a.configure},
		{"approvals", a.approvals}, {"process", a.process}, {"sessions", a.sessions},
		{"doctor", a.doctor}, {"version", a.version}, {"bench", a.bench}, {"resident", a.resident},
	})
	if root.CompletionOptions.DisableDefaultCmd = one; !one {
		furnish(root)
	}
	strict(root)
	return root
}

// strict makes a verb that only groups others refuse words that it doesn't know.
func strict(c *cobra.Command) {
	if c.HasSubCommands() && c.RunE == nil && c.Run == nil {
		c.Args = cobra.ArbitraryArgs
		c.RunE = func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.Help()
			}
			near := c.SuggestionsFor(args[0])
			if len(near) > 0 {
				return usage("unknown verb %q for %q; did you mean %q?", args[0], c.CommandPath(), near[0])
			}
			return usage("unknown verb %q; `%s --help` lists what there is", args[0], c.CommandPath())
		}
	}
	if c.Args == nil {
		c.Args = cobra.NoArgs
	}
	if check := c.Args; c.RunE != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				return usage("%v: it is `%s`; `%s --help` says more", err, c.UseLine(), c.CommandPath())
			}
			return nil
		}
	}
	for _, sub := range c.Commands() {
		strict(sub)
	}
}

// enter applies the global flags.
func (a *app) enter() error {
	if os.Getenv("NO_COLOR") != "" {
		a.noColor = true
	}
	if a.dir == "" {
		return nil
	}
	if err := os.Chdir(a.dir); err != nil {
		return usage("-C: %v", err)
	}
	return nil
}

// open builds the runtime of this run.
func (a *app) open(ctx context.Context) (*runtime.Runtime, error) {
	if a.rt != nil {
		return a.rt, nil
	}
	level := slog.LevelError
	if a.verbose {
		level = slog.LevelDebug
	}
	o := runtime.Options{
		ConfigFile: a.config, Dir: a.dir, Log: slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: level, ReplaceAttr: a.brief})),
		Asker: a.asker(), Progress: a.err, GuardArgv: guardArgv(), KeeperArgv: keeperArgv(), Subreaper: true, Version: version(),
	}
	rt, err := attend(ctx, func() (*runtime.Runtime, error) { return runtime.Open(ctx, o) }) // the file may be a pipe
	if _, left := errors.AsType[*exit](err); left {
		return nil, err
	}
	if err != nil {
		return nil, &exit{exitUsage, err}
	}
	a.rt = rt
	if !a.judging {
		for _, p := range rt.Check(reserved) {
			fmt.Fprintln(a.err, "hermes: warning:", p)
		}
	}
	return rt, nil
}

// closeTime bounds the end of a run. With the grace that an interrupted call has (3 s) it stays below what a person waits.
const closeTime = 3 * time.Second

// brief leaves stacks out of what people read unless they asked for more.
func (a *app) brief(_ []string, at slog.Attr) slog.Attr {
	if at.Key == "stack" && !a.verbose {
		return slog.String("stack", "shown with -v")
	}
	return at
}

func (a *app) close(ctx context.Context) error {
	if a.rt == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	err := a.rt.Close(ctx)
	if a.rt = nil; err != nil {
		a.lost = store.LostIn(err)
	}
	return err
}

// asker reaches the person at this terminal, if there is one who is to be asked.
func (a *app) asker() channel.Asker {
	if a.alone {
		return nil
	}
	return a.person(nil)
}

// person is whoever sits at this terminal, nil if nobody does. interrupt is called when they interrupt a question; nil = this process is
// interrupted.
func (a *app) person(interrupt func()) channel.Asker {
	for _, c := range channel.Registered() {
		if c.Local == nil {
			continue
		}
		if ask := c.Local(channel.LocalOptions{In: a.in, Out: os.Stderr, NoColor: a.noColor, Interrupt: interrupt}); ask != nil {
			return ask
		}
	}
	return nil
}

// interruptible gives a context that ends with Ctrl-C or a request to end, with the cause that it stands for. The second signal ends
// the process at once; the guard then ends what it ran.
func interruptible(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup keeps its meaning
		signal.Notify(signals, syscall.SIGHUP)
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // a reader that went away is a failed write; unlike "ignore", children don't inherit it
	done := make(chan struct{})
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			if s == os.Interrupt {
				cancel(tool.Stop)
			} else {
				cancel(tool.Shutdown)
			}
		case <-done:
		}
	}()
	return ctx, func() { signal.Stop(signals); close(done); cancel(nil) }
}

// printJSON writes one document.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(ansi.JSON(a.out))
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

func guardArgv() []string {
	exe, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{exe, "resident", "--guard"}
}
