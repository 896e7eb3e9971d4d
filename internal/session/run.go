// Package session runs one command of a session in the place where its task works, within bounds: output is filtered and cut while
// it is read, and what provably did not start is tried again.
package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/config"
	"github.com/hermes-runtime/hermes/internal/redact"
	"github.com/hermes-runtime/hermes/internal/textcap"
	"github.com/hermes-runtime/hermes/tool"
)

// Whole is how many characters of an output are kept at most, in the spill file or for a program that reads the result.
const Whole = textcap.DefaultSpillMax

// spillEnd is how long the spill file may take to be finished once the command has ended.
const spillEnd = 5 * time.Second

// retries are the waits before a command that provably did not start is tried again.
var retries = []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second}

// Config is the part of `tool_output:` that bounds the output of commands.
type Config struct {
	MaxBytes int `yaml:"max_bytes" default:"50000" min:"1000" help:"characters of a command's output that a result holds: 40 % from its start, 60 % from its end"`
}

// Secrecy is the part of `security:` that says how much is taken out of what commands print.
type Secrecy struct {
	Redact string `yaml:"redact" default:"on" enum:"on|off|true|false" help:"off leaves what merely looks like a secret; values of known secrets are taken out always"`
}

func init() {
	config.Register(func() config.Sectioned { return &Config{} }, func() config.Sectioned { return &Secrecy{} })
}

// Section is where Config stands in the configuration.
func (*Config) Section() string { return "tool_output" }

// Section is where Secrecy stands in the configuration.
func (*Secrecy) Section() string { return "security" }

// KnownOnly reports whether what merely looks like a secret is left.
func (s *Secrecy) KnownOnly() bool { return s.Redact == "off" || s.Redact == "false" }

// Request is one command of a session. Command.Output and Command.State are filled in.
type Request struct {
	Place   environment.Place
	Command environment.Command
	Output  Output
	// Renew replaces a place that was found gone before the command started; nil = it can't be replaced.
	Renew func(ctx context.Context, old environment.Environment) (environment.Place, error)
}

// Output says what becomes of what a command prints. The zero value keeps 50 000 characters and no file.
type Output struct {
	Limit     int              // characters; 0 = 50 000
	Encoding  string           // "" = UTF-8
	Redactor  *redact.Redactor // known secrets; may be nil
	KnownOnly bool             // leave what merely looks like a secret
	Also      io.Writer        // gets the filtered output too, all of it; nil = nobody. Its errors end nothing
	// Spill opens the file that takes the whole output once it is over the limit; nil = none.
	Spill func(ctx context.Context) (tool.SpillFile, error)
}

// Answer is what became of a command and its output.
type Answer struct {
	environment.Result
	Place environment.Place // where it ran: another than asked for if that was gone
	Text  textcap.Result    // filtered and bounded
	Spill *tool.Spill       // the file that holds the whole output, or as much of it as a file may
}

// Run runs one command. The error is that of the place (see environment.Environment), or that of ctx if it ended before the command
// could start; the answer then holds what was printed until then.
func Run(ctx context.Context, r Request) (Answer, error) {
	out, err := newSink(ctx, r.Output)
	if err != nil {
		return Answer{Place: r.Place}, err
	}
	defer out.release()
	r.Command.Output = out
	res, place, err := start(ctx, r)
	a := Answer{Result: res, Place: place}
	a.Text, a.Spill = out.finish()
	return a, err
}

// Replace has text take the place of the output of a: it is filtered and bounded as if the command had printed it.
func (a *Answer) Replace(ctx context.Context, text string, o Output) error {
	out, err := newSink(ctx, o)
	if err != nil {
		return err
	}
	defer out.release()
	if _, err := io.WriteString(out, text); err != nil {
		return fmt.Errorf("replace an output: %w", err)
	}
	a.Text, a.Spill = out.finish()
	return nil
}

// start runs the command, again where it provably did not start.
func start(ctx context.Context, r Request) (environment.Result, environment.Place, error) {
	begin, place, renewed := time.Now(), r.Place, false
	for try := 0; ; {
		c := r.Command
		c.State = place.State
		res, err := place.Run(ctx, c)
		if err == nil || !errors.Is(err, environment.ErrNotStarted) {
			res.Recreated = res.Recreated || renewed
			return res, place, err
		}
		if errors.Is(err, environment.ErrGone) && r.Renew != nil && !renewed {
			anew, again := r.Renew(ctx, place.Environment)
			if again != nil {
				return res, place, again
			}
			place, renewed = anew, true
			continue
		}
		if try == len(retries) || c.Timeout > 0 && time.Since(begin)+retries[try] > c.Timeout {
			return res, place, err
		}
		if waitErr := wait(ctx, retries[try]); waitErr != nil {
			return res, place, fmt.Errorf("wait to start a command again: %w", waitErr)
		}
		try++
	}
}

func wait(ctx context.Context, d time.Duration) error {
	if end, ok := ctx.Deadline(); ok && time.Until(end) < d {
		return context.DeadlineExceeded
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Shown is the output as a model reads it: whole, or its head and tail around a note that says what is missing, who cut it and where
// the rest is.
func (a Answer) Shown(who string) string {
	if !a.Text.Truncated {
		return a.Text.Head
	}
	kept := textcap.Chars(a.Text.Head) + textcap.Chars(a.Text.Tail)
	note := fmt.Sprintf("[%s shows %d of %d characters (tool_output.max_bytes): %d characters, %d of %d lines, are left out here",
		who, kept, a.Text.Total.Chars, a.Text.Omitted.Chars, a.Text.Omitted.Lines, a.Text.Total.Lines)
	switch {
	case a.Spill == nil:
		note += "; they could not be kept. Send the output to a file, or ask for less, to see them]"
	case a.Text.Spill.Complete:
		note += fmt.Sprintf("; the whole output is in %s: read on there with read_file, offset and limit]", a.Spill.Path)
	default:
		note += fmt.Sprintf("; the first %d characters are in %s: read on there with read_file, offset and limit]", a.Text.Spill.Held.Chars, a.Spill.Path)
	}
	return onItsOwnLine(a.Text.Head) + note + "\n" + a.Text.Tail
}

func onItsOwnLine(head string) string {
	if head == "" || head[len(head)-1] == '\n' {
		return head
	}
	return head + "\n"
}
