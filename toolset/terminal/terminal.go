// Package terminal is the toolset of shell commands.
package terminal

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/redact"
	"github.com/hermes-runtime/hermes/internal/session"
	"github.com/hermes-runtime/hermes/tool"
)

func init() { tool.Register(terminal{}) }

// terminal runs one shell command, in the foreground or as a job.
type terminal struct{}

const name = "terminal"

const description = `Run a shell command and return what it printed, stdout and stderr together, with its exit code.

Every command gets a shell of its own, but files, the working directory (cd) and exported variables stay from one command to the next: activate a virtual environment once, not in every command. Aliases, shell options and unexported variables do not stay.
The command ends when its shell ends or when the timeout is over; then everything it started in the foreground is ended too. Input is empty, so give programs their non-interactive options (-y, --no-pager, --batch), or a terminal with pty.
What doesn't end by itself (a server, a watcher) or takes long goes into the background: background: true answers at once with a session_id, and process looks at it, waits for it, writes to it and ends it. No nohup, setsid or trailing &. With notify_on_complete you are told of its end; without, look with process. What is still running ends with the session unless persist was approved.
Long output is cut in the middle, and the result names the file that holds the whole.`

const schema = `{
  "name": "terminal",
  "parameters": {
    "type": "object",
    "properties": {
      "command": {"type": "string", "minLength": 1, "description": "The command, as bash reads it: several lines, pipes and here-documents are fine."},
      "timeout": {"type": "integer", "minimum": 1, "description": "Seconds after which the command is ended. Left out, the configured default (180); in the background, none."},
      "workdir": {"type": "string", "description": "Directory for this command only; the working directory of later commands stays."},
      "background": {"type": "boolean", "description": "Start it and answer at once; it goes on by itself."},
      "pty": {"type": "boolean", "description": "Run it on a terminal, for programs that want one. A cd in it does not stay."},
      "keep_stdin": {"type": "boolean", "description": "In the background without pty: keep standard input open for process write, until close."},
      "persist": {"type": "boolean", "description": "In the background: let it go on after this session ends. The user is asked."},
      "notify_on_complete": {"type": "boolean", "description": "In the background: tell me once when it ends."},
      "watch_patterns": {"type": "array", "items": {"type": "string"}, "description": "In the background: tell me of lines that contain one of these texts. Not together with notify_on_complete."}
    },
    "required": ["command"],
    "additionalProperties": false
  }
}`

// abilityCommands is under what a place that has only files says why commands don't run there.
const abilityCommands = "commands"

// Availability is what the tool asks whether commands can run at all. It is asked for each call, so it answers from what is known.
type Availability interface {
	// TerminalUnavailable says why commands can't run, in words that a user can act on; nil = they can.
	TerminalUnavailable(ctx context.Context) error
}

// Renewer replaces an environment that is gone. *envs.Manager is one.
type Renewer interface {
	Renew(ctx context.Context, task string, old environment.Environment) (environment.Place, error)
}

// check is shared by all tools that need a shell.
var check = &tool.Check{Name: name, Run: func(ctx context.Context, s tool.Services) error { return unavailable(ctx, s) }}

func unavailable(ctx context.Context, s tool.Services) error {
	if a, ok := tool.Lookup[Availability](s); ok {
		return a.TerminalUnavailable(ctx)
	}
	return nil
}

// Spec declares the tool.
func (terminal) Spec() tool.Spec {
	return tool.Spec{
		Name: name, Toolset: "terminal", Emoji: "💻",
		Description: description,
		Schema:      json.RawMessage(schema),
		Check:       check,
		Aliases:     map[string]string{"cmd": "command", "cwd": "workdir"},
		Redact:      tool.LooksSecret,
	}
}

// Risks refuses what can't be run and hands the command over for approval.
func (terminal) Risks(ctx context.Context, c *tool.Call) ([]tool.Action, error) {
	r, err := read(ctx, c)
	if err != nil {
		return nil, err
	}
	acts := []tool.Action{{Kind: tool.ActionCommand, Text: r.Command, Dir: r.Workdir}}
	if r.Persist {
		acts = append(acts, tool.Action{Kind: tool.ActionPersist, Text: r.Command, Dir: r.Workdir, Description: "it goes on in the background after its session has ended"})
	}
	return acts, nil
}

// Shape gives every answer the members that callers rely on, a refusal of the door included.
func (terminal) Shape(c *tool.Call, s tool.Status) map[string]any {
	m := map[string]any{"output": "", "exit_code": nothingRan}
	if c.Caller != tool.CallerScript {
		m["error"] = nil
	}
	switch s {
	case tool.StatusDenied, tool.StatusBlocked:
		m["status"] = statusBlocked
	case tool.StatusError, tool.StatusTimeout, tool.StatusCancelled:
		m["status"] = statusError
	}
	return m
}

// Run runs the command.
func (terminal) Run(ctx context.Context, c *tool.Call) (any, error) {
	r, err := read(ctx, c)
	if err != nil {
		return declined(err)
	}
	place, err := c.Host.Place(ctx)
	if err != nil {
		return failed(ctx, c, placing, err), nil
	}
	if why := place.Info().Lacking[abilityCommands]; why != "" {
		return declined(refuse(c, tool.ErrTypeTool, statusDisabled, why))
	}
	if r.Background {
		return launch(ctx, c, r, place), nil
	}
	ptyNote := ""
	if r.PTY {
		var res any
		if res, ptyNote = onTerminal(ctx, c, r, place); res != nil {
			return res, nil
		}
	}
	cmd := environment.Command{Script: r.Command, Dir: r.Workdir, Timeout: r.timeout, Env: variables(ctx, c, place)}
	sudo := prepareSudo(ctx, c, sudoCall{place: place, reading: r.reading})
	cmd.Script, cmd.SudoSecret = sudo.script(r.Command), sudo.secret
	out := output(c, r.cfg)
	hooks := watch(c, &out)
	a, err := session.Run(ctx, session.Request{Place: place, Command: cmd, Output: out, Renew: renewer(c)})
	if err != nil {
		return failed(ctx, c, a, err), nil
	}
	hooks.transform(ctx, r.Command, &a)
	res := ended(c, r, a)
	left, why := listLeft(ctx, c, r, a)
	res.LeftRunning = left
	notes := []string{sudo.finish(ctx, a.Place, a.Result), a.VarsNote, why}
	res.Note = strings.Join(slices.DeleteFunc(notes, func(n string) bool { return n == "" }), "; ")
	res.PTYNote = ptyNote
	if a.ExitCode == nothingRan {
		return tool.Outcome{Value: neverRan(res), Status: tool.StatusError, Type: tool.ErrTypeTool}, nil
	}
	return outcome(a.Reason, res), nil
}

// declined turns a refusal of Risks into the same answer for a caller that did not ask for risks first.
func declined(err error) (any, error) {
	var r *tool.Refusal
	if errors.As(err, &r) {
		return tool.Outcome{Value: r.Result, Status: tool.StatusError, Type: r.Type}, nil
	}
	return nil, err
}

// output says what is kept of what the command prints: programs get it whole, models within their budget and a file.
func output(c *tool.Call, cfg Config) session.Output {
	o := session.Output{Encoding: cfg.Encoding}
	o.Redactor, _ = tool.Service[*redact.Redactor](c)
	if s, ok := tool.Service[*session.Config](c); ok && s != nil {
		o.Limit = s.MaxBytes
	}
	if s, ok := tool.Service[*session.Secrecy](c); ok && s != nil {
		o.KnownOnly = s.KnownOnly()
	}
	if c.Caller == tool.CallerScript {
		o.Limit = session.Whole
		return o
	}
	o.Spill = c.Host.Spill
	return o
}

func renewer(c *tool.Call) func(context.Context, environment.Environment) (environment.Place, error) {
	r, ok := tool.Service[Renewer](c)
	if !ok {
		return nil
	}
	return func(ctx context.Context, old environment.Environment) (environment.Place, error) {
		return r.Renew(ctx, c.Task, old)
	}
}
