package daytona

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/internal/cloud"
	"github.com/hermes-runtime/hermes/internal/cloud/sandbox"
	"github.com/hermes-runtime/hermes/internal/engine"
)

const (
	// follows is how often the log of a command is asked for again after contact broke: it can be read from its beginning.
	follows = 4
	// inputTime is how long a command may leave input lying.
	inputTime = 24 * time.Hour
	// maxLine bounds a line of a log, in bytes: ours are short, and a script that the server repeats is on one.
	maxLine = 16 << 20
)

// wrapper runs the script $1 so that nothing of what goes in and out is changed on the way: the server's logs are lines of text, and input
// never ends. Both outputs come as lines of base64 behind the mark $2 and a letter; then their ends, and the exit code. All lines are
// short, so that each is written in one piece. With $3 the script has input, which is lines of base64, and its outputs come as they arrive;
// without it they come at the end, which takes fewer processes. There is no single quote in it.
const wrapper = `m=$2; exec 3>&1; n=; command -v setsid >/dev/null 2>&1 && n=setsid; ` +
	`tell() { for l in $b; do printf "%s%s%s\n" "$m" "$1" "$l"; done >&3; }; over() { printf "%s%s\n" "$m" "$1" >&3; }; ` +
	`some() { b=$(dd bs=49152 count=1 2>/dev/null | base64) && [ -n "$b" ]; }; ` +
	`enc() { if [ -n "$i" ]; then while some; do tell "$1"; done; else b=$(base64); tell "$1"; fi; over "$2"; }; ` +
	`dec() { while IFS= read -r l && [ "$l" != . ]; do printf %s "$l" | base64 -d || exit; done; }; ` +
	`run() { $n sh -c "$1" 3>&- 4>&-; over "x$?"; }; i=$3; ` +
	`if [ -n "$i" ]; then { dec | run "$1" 2>&4 | enc o O; } 4>&1 >/dev/null | enc e E; else { run "$1" </dev/null 2>&4 | enc o O; } 4>&1 >/dev/null | enc e E; fi`

// toolbox is what runs programs in one sandbox, and keeps its files.
type toolbox struct {
	*sandbox.Contact
	api  *cloud.API
	life context.Context // ends with Close
	end  context.CancelFunc

	mu   sync.Mutex
	idle []string          // sessions in which nothing runs
	held map[string]string // those that were left with a command: session → command
}

func newToolbox(api *cloud.API, name string) *toolbox {
	t := &toolbox{Contact: sandbox.NewContact(name), api: api, held: map[string]string{}}
	t.life, t.end = context.WithCancel(context.Background())
	return t
}

var _ sandbox.Machine = (*toolbox)(nil)

// Close ends the shells.
func (t *toolbox) Close(ctx context.Context) error {
	t.end()
	t.mu.Lock()
	all := t.idle
	for s := range t.held {
		all = append(all, s)
	}
	t.idle, t.held = nil, map[string]string{}
	t.mu.Unlock()
	if t.Over() {
		return nil // they end with the sandbox
	}
	for _, s := range all {
		_ = t.api.Do(ctx, cloud.Call{Method: http.MethodDelete, Path: session(s)}) // it ends with the sandbox at the latest
	}
	return nil
}

func session(id string) string { return "/process/session/" + url.PathEscape(id) }

// acquire gives a session, a shell that runs one command after the other.
func (t *toolbox) acquire(ctx context.Context) (string, error) {
	t.mu.Lock()
	if n := len(t.idle); n > 0 {
		s := t.idle[n-1]
		t.idle = t.idle[:n-1]
		t.mu.Unlock()
		return s, nil
	}
	t.mu.Unlock()
	s := "hermes-" + cloud.Token()
	err := t.api.Do(ctx, cloud.Call{Method: http.MethodPost, Path: "/process/session", Body: map[string]string{"sessionId": s}})
	if err != nil && cloud.Status(err) != http.StatusConflict { // which says that an earlier try was heard: nobody else has the name
		return "", err
	}
	return s, nil
}

// Exec runs a script there.
func (t *toolbox) Exec(ctx context.Context, script string, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	s, err := t.acquire(ctx)
	if err != nil {
		return -1, t.Unbegun(ctx, err)
	}
	c := &command{t: t, session: s, mark: "h" + cloud.Token(), stdout: stdout, stderr: stderr, code: -1}
	input := ""
	if stdin != nil {
		input = "i"
	}
	line := "sh -c '" + wrapper + "' sh " + engine.Word(script, false) + " " + c.mark + " " + input
	var answer struct {
		ID string `json:"cmdId"`
	}
	err = t.api.Do(ctx, cloud.Call{Method: http.MethodPost, Path: session(s) + "/exec", Once: true, Into: &answer,
		Body: map[string]any{"command": line, "runAsync": true, "suppressInputEcho": true}})
	switch {
	case err == nil && answer.ID == "":
		err = errors.New("the server names no command")
		fallthrough
	case err != nil && !cloud.Refused(err) && stdin == nil: // with input it waits for its program, which it is never given
		return -1, t.Lost(err)
	case err != nil:
		return -1, t.Unbegun(ctx, err)
	}
	c.id = answer.ID
	return c.run(ctx, stdin)
}

// command is a script on its way.
type command struct {
	t                 *toolbox
	session, id, mark string
	stdout, stderr    io.Writer

	code    int
	hasCode bool
	ends    int // of the two outputs
	seen    int // bytes of the log
	line    []byte
	input   *sandbox.Input // nil = it has none
}

// run follows the script to the end of its outputs.
func (c *command) run(ctx context.Context, stdin io.Reader) (int, error) {
	feeding, stop := context.WithCancel(ctx)
	defer stop()
	following, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	if stdin != nil {
		c.input = sandbox.NewInput(c.t.life, c.send)
		go c.input.Feed(feeding, stdin) // nobody waits for it: what it comes from may block for as long as it likes
		go c.input.Starve(feeding, giveUp)
	}
	var err error
	for try := range follows {
		if try > 0 && cloud.Rest(following, time.Second<<(try-1)) != nil {
			break
		}
		var again bool
		if again, err = c.follow(following); !again {
			break
		}
	}
	stop()
	switch {
	case c.whole():
		c.finish(ctx)
		return c.code, nil
	case ctx.Err() != nil:
		c.t.hold(c.session, c.id)
		return -1, context.Cause(ctx)
	}
	if c.input == nil || c.input.Stop() {
		return -1, c.t.Lost(err)
	}
	return -1, c.t.Unbegun(ctx, err)
}

func (c *command) whole() bool { return c.hasCode && c.ends == 2 }

// finish gives the session back, once nothing of the command is in it.
func (c *command) finish(ctx context.Context) {
	if c.input != nil && !c.input.End(ctx) {
		c.t.hold(c.session, c.id)
		return
	}
	c.t.mu.Lock()
	defer c.t.mu.Unlock()
	c.t.idle = append(c.t.idle, c.session)
}

// hold remembers a session that somebody still uses, to end it with the contact.
func (t *toolbox) hold(session, command string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held[session] = command
}

// send types into the command.
func (c *command) send(ctx context.Context, data string) error {
	slow := *c.t.api
	slow.Limit = inputTime
	return slow.Do(ctx, cloud.Call{Method: http.MethodPost, Path: session(c.session) + "/command/" + url.PathEscape(c.id) + "/input", Once: true, Body: map[string]string{"data": data}})
}

// follow reads the log from its beginning and passes on what is new in it. again says that contact broke and the log may tell more.
func (c *command) follow(ctx context.Context) (again bool, err error) {
	s, err := dialSocket(ctx, c.t.api, session(c.session)+"/command/"+url.PathEscape(c.id)+"/logs", url.Values{"follow": {"true"}})
	if err != nil {
		return !cloud.Refused(err) && ctx.Err() == nil, err
	}
	defer s.Close()
	defer context.AfterFunc(ctx, func() { s.hangUp(context.Cause(ctx)) })()
	c.line = nil
	skip := c.seen
	for !c.whole() {
		_, b, err := s.next()
		if err != nil {
			return ctx.Err() == nil, err
		}
		n := min(skip, len(b))
		skip -= n
		if err := c.take(b[n:]); err != nil {
			return false, err
		}
	}
	return false, nil
}

// take reads a piece of the log: lines behind three bytes that say which output they are of, of which ours are all of the first.
func (c *command) take(b []byte) error {
	c.line = append(c.line, b...)
	for {
		line, after, whole := bytes.Cut(c.line, []byte("\n"))
		switch {
		case !whole && len(c.line) > maxLine:
			return fmt.Errorf("a line of its log has more than %d bytes", maxLine)
		case !whole:
			return nil
		}
		c.seen += len(line) + 1
		c.line = after
		at := bytes.Index(line, []byte(c.mark))
		if at < 0 || len(line) == at+len(c.mark) {
			continue // what the server or a shell there says
		}
		text := string(line[at+len(c.mark)+1:])
		switch kind := line[at+len(c.mark)]; kind {
		case 'o', 'e':
			out := c.stdout
			if kind == 'e' {
				out = c.stderr
			}
			data, err := base64.StdEncoding.DecodeString(text)
			if err != nil {
				return fmt.Errorf("a line of output is no base64: %w", err)
			}
			if out != nil {
				_, _ = out.Write(data) // a reader who went away must not hold the command up
			}
		case 'O', 'E':
			c.ends++
		case 'x':
			n, err := strconv.Atoi(text)
			if err != nil {
				return fmt.Errorf("an exit code that is none: %q", text)
			}
			c.code, c.hasCode = n, true
		}
	}
}
