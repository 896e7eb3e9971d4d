package vercel

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/cloud"
	"github.com/hermes-runtime/hermes/internal/engine/plain"
)

const (
	// typedLine and typedAtOnce are how many bytes go on a line of input, and with one request.
	typedLine, typedAtOnce = 24 << 10, 48 << 10
	// endOfOutput is the line behind the last of an output, endOfInput that of the input.
	endOfOutput, endOfInput = ".", "."
	// follows is how often the log of a command is asked for again after contact broke: it can be read from its beginning.
	follows = 4
	// killTime bounds the end of commands that somebody hung up on.
	killTime = 10 * time.Second
)

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

// link is a contact with a sandbox: each operation is a command of its own.
type link struct {
	*plain.Place
	p       *place
	session string
	life    context.Context // ends with Close
	end     context.CancelFunc
	over    chan struct{}
	once    sync.Once

	mu   sync.Mutex
	held map[string]bool // commands that somebody hung up on
}

// plainly makes contact.
func (p *place) plainly(ctx context.Context) (*link, error) {
	l := &link{p: p, session: p.current(), over: make(chan struct{}), held: map[string]bool{}}
	l.life, l.end = context.WithCancel(context.WithoutCancel(ctx))
	var err error
	l.Place, err = plain.Open(ctx, l.shell, plain.Options{Info: p.base, Why: noEngine, Grace: p.o.KillGrace, Limits: p.o.Limits})
	if err != nil {
		l.end()
		return nil, err
	}
	return l, nil
}

// Done is closed when no command can be started in the sandbox any more.
func (l *link) Done() <-chan struct{} { return l.over }

// Run runs one command, and keeps the sandbox awake meanwhile.
func (l *link) Run(ctx context.Context, c environment.Command) (environment.Result, error) {
	defer l.p.inUse(ctx)()
	return l.Place.Run(ctx, c)
}

// Close ends what runs.
func (l *link) Close(ctx context.Context) error {
	err := l.Place.Close(ctx)
	l.end()
	l.mu.Lock()
	held := l.held
	l.held = nil
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, killTime)
	defer cancel()
	for id := range held {
		_ = l.do(ctx, http.MethodPost, id+"/kill", cloud.Call{Once: true, Body: map[string]int{"signal": int(syscall.SIGKILL)}}) // it ends with the session at the latest
	}
	return err
}

// do asks for something that is about one command.
func (l *link) do(ctx context.Context, method, below string, c cloud.Call) error {
	c.Method, c.Path = method, session(l.session)+"/cmd/"+below
	if c.Query == nil {
		c.Query = l.p.a.query()
	}
	return l.p.a.api.Do(ctx, c)
}

// unbegun is a script that was not started. After that nothing else can be expected of this contact.
func (l *link) unbegun(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		l.once.Do(func() { close(l.over) })
	}
	return &environment.Error{Kind: environment.ErrNotStarted, Op: "run a shell in sandbox " + l.p.name, Err: err}
}

// lost is a script of which nobody knows what became of it.
func (l *link) lost(err error) error {
	l.once.Do(func() { close(l.over) })
	return &environment.Error{Kind: environment.ErrLost, Op: "follow a shell in sandbox " + l.p.name, Err: err}
}

// shell runs a script there.
func (l *link) shell(ctx context.Context, script string, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	args := []string{"-c", wrapper, "sh", script, ""}
	if stdin != nil {
		args[4] = "i"
	}
	c := &command{l: l, out: output{to: stdout}, err: output{to: stderr}}
	feeding, stop := context.WithCancel(ctx)
	defer stop()
	if stdin != nil {
		c.begun = func() { go c.feed(feeding, stdin) } // nobody waits for it: what it reads may block for as long as it likes
		c.silent = func() { go c.give(feeding, endOfInput+"\n", true) }
	}
	r, err := l.p.a.api.Send(ctx, cloud.Call{
		Method: http.MethodPost, Path: session(l.session) + "/cmd", Query: l.p.a.query(), Once: true,
		Body: map[string]any{"command": "sh", "args": args, "wait": true, "logs": true, "attachStdin": stdin != nil},
	})
	if err != nil {
		if ctx.Err() == nil && !cloud.Refused(err) && stdin == nil { // with input it waits for its program, which it is never given
			return -1, l.lost(err)
		}
		return -1, l.unbegun(ctx, err)
	}
	err = c.follow(r.Body)
	switch {
	case ctx.Err() != nil:
		l.hold(c.id)
		return -1, context.Cause(ctx)
	case c.id == "":
		return -1, l.lost(err)
	case err == nil && c.whole():
		return *c.exit, nil
	}
	return c.lookUp(ctx, err)
}

// hold remembers a command that somebody hung up on, to end it with the contact.
func (l *link) hold(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id != "" && l.held != nil {
		l.held[id] = true
	}
}

// command is a script on its way.
type command struct {
	l        *link
	id       string
	begun    func() // called once, when the id is known; nil = nothing is to be done
	silent   func() // likewise, when both outputs have ended: what takes the input is to end as well
	out, err output
	exit     *int // as recorded by Vercel

	typing sync.Mutex
	typed  int  // bytes of input
	full   bool // the line behind the last was typed, or is to be
}

func (c *command) whole() bool { return c.exit != nil && c.out.ended && c.err.ended }

// follow reads a stream of the API to its end.
func (c *command) follow(body io.ReadCloser) error {
	defer body.Close()
	c.out.rewind()
	c.err.rewind()
	return readLines(body, c.take)
}

// take makes use of one line of a stream.
func (c *command) take(l line) error {
	switch {
	case l.Command != nil:
		if c.id == "" {
			c.id = l.Command.ID
			if c.id == "" {
				return errors.New("the server names no command")
			}
			if c.begun != nil {
				c.begun()
			}
		}
		if l.Command.Exit != nil {
			c.exit = l.Command.Exit
		}
	case l.Stream == "stdout", l.Stream == "stderr":
		o := &c.out
		if l.Stream == "stderr" {
			o = &c.err
		}
		if err := o.take(l.text()); err != nil {
			return err
		}
		if c.silent != nil && c.out.ended && c.err.ended {
			c.silent()
			c.silent = nil
		}
	case l.Stream == "error":
		return l.failure()
	}
	return nil
}

// lookUp finds out what became of a command whose stream ended early: only the exit code that is recorded counts, and the outputs are read
// from the log, which begins at the beginning.
func (c *command) lookUp(ctx context.Context, why error) (int, error) {
	if why == nil {
		why = io.ErrUnexpectedEOF
	}
	below := url.PathEscape(c.id)
	for try := range follows {
		if try > 0 && rest(ctx, time.Second<<(try-1)) != nil {
			break
		}
		r, err := c.l.p.a.api.Send(ctx, cloud.Call{Method: http.MethodGet, Path: session(c.l.session) + "/cmd/" + below + "/logs", Query: c.l.p.a.query()})
		if err == nil {
			err = c.follow(r.Body)
		}
		if err == nil && c.out.ended && c.err.ended && c.exit == nil {
			var answer line
			q := c.l.p.a.query()
			q.Set("wait", "true")
			if err = c.l.do(ctx, http.MethodGet, below, cloud.Call{Query: q, Into: &answer}); err == nil && answer.Command != nil {
				c.exit = answer.Command.Exit
			}
		}
		if c.whole() {
			return *c.exit, nil
		}
		if why = errors.Join(why, err); cloud.Refused(err) {
			break
		}
	}
	if ctx.Err() != nil {
		c.l.hold(c.id)
		return -1, context.Cause(ctx)
	}
	return -1, c.l.lost(why)
}

// output is one of the two outputs of a script.
type output struct {
	to         io.Writer
	rest       string // of a line
	seen, skip int    // lines that were passed on, and such that come again
	ended      bool
}

// rewind says that what comes begins at the beginning.
func (o *output) rewind() { o.rest, o.skip = "", o.seen }

// take passes on what is new in a piece of the log.
func (o *output) take(text string) error {
	o.rest += text
	for {
		l, after, whole := strings.Cut(o.rest, "\n")
		if !whole {
			return nil
		}
		o.rest = after
		if o.skip > 0 {
			o.skip--
			continue
		}
		o.seen++
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

// feed types what the script reads, a request after the other. A script that stops reading early is no failure.
func (c *command) feed(ctx context.Context, stdin io.Reader) {
	buf := make([]byte, typedAtOnce)
	for {
		n, err := stdin.Read(buf)
		var lines strings.Builder
		for at := 0; at < n; at += typedLine {
			lines.WriteString(base64.StdEncoding.EncodeToString(buf[at:min(n, at+typedLine)]) + "\n")
		}
		if err != nil {
			lines.WriteString(endOfInput + "\n")
		}
		if !c.give(ctx, lines.String(), err != nil) || err != nil {
			return
		}
	}
}

// give types once. With its offset a request may be sent again: what was heard isn't taken twice.
func (c *command) give(ctx context.Context, text string, last bool) bool {
	c.typing.Lock()
	defer c.typing.Unlock()
	for ctx.Err() == nil && !c.full {
		err := c.l.do(ctx, http.MethodPost, url.PathEscape(c.id)+"/stdin", cloud.Call{Body: map[string]any{"data": text, "offset": c.typed}})
		if err == nil {
			c.typed += len(text)
			c.full = last
			return true
		}
		if cloud.Status(err) != http.StatusGatewayTimeout { // which says that the script doesn't read just now
			return false
		}
	}
	return false
}
