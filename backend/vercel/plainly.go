package vercel

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"strings"

	"github.com/hermes-runtime/hermes/internal/cloud"
	"github.com/hermes-runtime/hermes/internal/cloud/sandbox"
	"github.com/hermes-runtime/hermes/internal/engine/plain"
)

// endOfOutput is the line behind the last of an output.
const endOfOutput = "."

// wrapper runs the script $1 so that nothing of what goes in and out is changed on the way, which carries text only: both outputs are lines
// of base64, with a last line that says that they are whole. With $2 the script has input, which is lines of base64, and its outputs come
// as they arrive; without it they come at the end, which takes fewer processes.
const wrapper = `exec 5>&1 6>&2; n=; command -v setsid >/dev/null 2>&1 && n=setsid; i=$2
some() { b=$(dd bs=49152 count=1 2>/dev/null | base64) && [ -n "$b" ]; }
enc() { if [ -n "$i" ]; then while some; do printf "%s\n" "$b"; done; else base64; fi; echo .; }
dec() { while IFS= read -r l && [ "$l" != . ]; do printf %s "$l" | base64 -d || exit; done; }
run() { $n sh -c "$1" 3>&- 4>&- 5>&- 6>&-; echo $? >&3; }
if [ -n "$i" ]; then x=$({ { dec | run "$1" 2>&4 | enc >&5; } 4>&1 >/dev/null | enc >&6; } 3>&1)
else x=$({ { run "$1" </dev/null 2>&4 | enc >&5; } 4>&1 >/dev/null | enc >&6; } 3>&1); fi
exit "${x:-255}"`

// Exec runs a script there.
func (m *machine) Exec(ctx context.Context, script string, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	args := []string{"-c", wrapper, "sh", script, ""}
	c := &command{out: output{to: stdout}, err: output{to: stderr}}
	t := &tape{m: m, print: c.take}
	t.whole = func() bool { return t.exit != nil && c.over() }
	if w, ok := stdout.(plain.Waiter); ok {
		t.broke = w.Broken
	}
	following, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	feeding, stop := context.WithCancel(ctx)
	defer stop()
	if stdin != nil {
		args[4] = "i"
		t.begun = func() { c.begin(feeding, &typing{m: m, id: t.id}, stdin, giveUp) }
	}
	err := t.play(following, m.starting(args, stdin != nil))
	switch {
	case t.whole():
		return *t.exit, nil
	case ctx.Err() != nil:
		m.hold(t.id)
		return -1, context.Cause(ctx)
	case t.id == "" && stdin == nil && !cloud.Refused(err):
		return -1, m.Lost(err)
	case t.id == "": // with input it waits for its program, which it is never given
		return -1, m.Unbegun(ctx, err)
	}
	m.hold(t.id)
	if c.input != nil && !c.input.Stop() {
		return -1, m.Unbegun(ctx, err)
	}
	return -1, m.Lost(err)
}

// command is what a script prints and reads.
type command struct {
	out, err output
	input    *sandbox.Input  // nil = it has none
	feeding  context.Context // ends with the command
}

func (c *command) over() bool { return c.out.ended && c.err.ended }

// begin has the script given its input, which nobody waits for: what it comes from may block for as long as it likes.
func (c *command) begin(ctx context.Context, y *typing, stdin io.Reader, giveUp context.CancelCauseFunc) {
	c.feeding = ctx
	c.input = sandbox.NewInput(y.m.life, func(ctx context.Context, lines string) error { return y.send(ctx, input{Data: lines}) })
	go c.input.Feed(ctx, stdin)
	go c.input.Starve(ctx, giveUp)
}

// take makes use of what is printed. Once both outputs are over, what takes the input is to end as well.
func (c *command) take(of, text string) error {
	o := &c.out
	if of == "stderr" {
		o = &c.err
	}
	before := c.over()
	err := o.take(text)
	if c.input != nil && !before && c.over() {
		go c.input.End(c.feeding)
	}
	return err
}

// output is one of the two outputs of a script.
type output struct {
	to    io.Writer
	rest  string // of a line
	ended bool
}

// take passes on a piece of the log.
func (o *output) take(text string) error {
	o.rest += text
	for {
		l, after, whole := strings.Cut(o.rest, "\n")
		if !whole {
			return nil
		}
		o.rest = after
		if l == endOfOutput {
			o.ended = true
			continue
		}
		data, err := base64.StdEncoding.DecodeString(l)
		if err != nil {
			return fmt.Errorf("a line of output is no base64: %w", err)
		}
		if o.to != nil {
			_, _ = o.to.Write(data) // a reader who went away must not hold the command up
		}
	}
}
