package ssh

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/plain"
)

// plainLink is one contact with a host where the engine can't run: each operation is a shell command of its own.
type plainLink struct {
	*plain.Place
	conn *connection
	o    plain.Options

	mu      sync.Mutex
	watched *plain.Place // the same place by shells that stay; nil until a command needs one
}

// plainly makes do without the engine.
func (p *place) plainly(ctx context.Context, conn *connection) (*plainLink, error) {
	o := plain.Options{Info: p.about(conn), Why: p.plain, Grace: p.o.KillGrace, Limits: p.o.Limits}
	inner, err := plain.Open(ctx, conn.shell, o)
	if err != nil {
		return nil, err
	}
	return &plainLink{Place: inner, conn: conn, o: o}, nil
}

// Run runs one command. Where a limit may end it by a signal that SSH has no name for, a shell that stays tells which one it was.
func (l *plainLink) Run(ctx context.Context, c environment.Command) (environment.Result, error) {
	if cmp.Or(c.Limits.FileSizeMB, c.Limits.CPUSeconds, l.o.Limits.FileSizeMB, l.o.Limits.CPUSeconds) == 0 {
		return l.Place.Run(ctx, c)
	}
	w, err := l.watching(ctx)
	if err != nil {
		return environment.Result{}, &environment.Error{Kind: environment.ErrNotStarted, Op: "watch a command there", Err: err}
	}
	return w.Run(ctx, c)
}

func (l *plainLink) watching(ctx context.Context) (*plain.Place, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.watched != nil {
		return l.watched, nil
	}
	w, err := plain.Open(ctx, l.conn.watchedShell, l.o)
	if err == nil {
		l.watched = w
	}
	return w, err
}

// Done is closed when the connection is over.
func (l *plainLink) Done() <-chan struct{} { return l.conn.over }

// Close ends what runs and hangs up.
func (l *plainLink) Close(ctx context.Context) error {
	l.mu.Lock()
	w := l.watched
	l.mu.Unlock()
	err := l.Place.Close(ctx)
	if w != nil {
		err = errors.Join(err, w.Close(ctx))
	}
	return errors.Join(err, l.conn.Close())
}

// shell runs a script there, up to the end of its outputs. watchedShell does so under a shell that stays.
func (c *connection) shell(ctx context.Context, script string, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	return c.follow(ctx, anyShell(becomes, script), piped{stdin, stdout, stderr})
}

func (c *connection) watchedShell(ctx context.Context, script string, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	return c.follow(ctx, anyShell(watches, script), piped{stdin, stdout, stderr})
}

// piped is what a script reads and writes.
type piped struct {
	stdin          io.Reader
	stdout, stderr io.Writer
}

func (c *connection) follow(ctx context.Context, line string, to piped) (int, error) {
	var session *ssh.Session
	g := &gate{}
	err := c.within(ctx, func() (err error) {
		if session, err = c.NewSession(); err != nil {
			return fmt.Errorf("open a channel: %w", err)
		}
		session.Stdout, session.Stderr = &unchattered{w: &gated{g, to.stdout}}, &gated{g, to.stderr}
		in, err := session.StdinPipe()
		if err == nil {
			err = session.Start(line)
		}
		if err != nil {
			_ = session.Close()
			return fmt.Errorf("start a shell: %w", err)
		}
		go func() { // nobody waits for it: what it reads may block for as long as it likes
			if to.stdin != nil {
				_, _ = io.Copy(struct{ io.Writer }{in}, to.stdin) // a script that stops reading early is no failure
			}
			_ = in.Close()
		}()
		return nil
	})
	if err != nil {
		return -1, err
	}
	done := make(chan error, 1)
	c.work.Go(func() { done <- session.Wait() }) // ends with the channel, at the latest with the connection
	select {
	case err = <-done:
	case <-ctx.Done():
		_ = session.Close()
		g.shut()
		return -1, context.Cause(ctx)
	}
	var code *ssh.ExitError
	switch {
	case err == nil:
		return 0, nil
	case errors.As(err, &code):
		return code.ExitStatus(), nil
	}
	return -1, fmt.Errorf("follow the shell: %w", err)
}

// gate keeps what comes late from writers whose owner has gone on.
type gate struct {
	mu   sync.Mutex
	over bool
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.over = true
}

type gated struct {
	g *gate
	w io.Writer
}

func (g *gated) Write(b []byte) (int, error) {
	g.g.mu.Lock()
	defer g.g.mu.Unlock()
	if g.g.over || g.w == nil {
		return len(b), nil
	}
	return g.w.Write(b)
}

// beginning is a line that stands before what a script prints: what start-up files print comes before it.
const beginning = "hermes-begins"

// maxChatter bounds what start-up files may print.
const maxChatter = 64 << 10

// unchattered passes on what comes after the beginning.
type unchattered struct {
	w     io.Writer
	begun bool
	held  []byte
}

func (u *unchattered) Write(b []byte) (int, error) {
	if u.begun {
		return u.w.Write(b)
	}
	u.held = append(u.held, b...)
	_, rest, ok := bytes.Cut(u.held, []byte(beginning+"\n"))
	switch {
	case ok:
		u.begun, u.held = true, nil
		if len(rest) > 0 {
			if _, err := u.w.Write(rest); err != nil {
				return 0, err
			}
		}
	case len(u.held) > maxChatter:
		return 0, errors.New("start-up files there print more than 64 KiB")
	}
	return len(b), nil
}

// asLine makes a text one line for printf %b.
var asLine = strings.NewReplacer(`\`, `\\`, "\n", `\n`)

// asWord makes a line one word that every login shell reads alike: what some take for themselves inside single quotes stands outside.
var asWord = strings.NewReplacer(`'`, `'\''`, `\`, `'\\'`, `!`, `'\!'`)

// The texts that take a script as their first argument. The second is a shell that stays, and is neither ended with the script nor says
// a word about its end.
const (
	becomes = `echo ` + beginning + `; eval "$(printf %b "$1")"`
	watches = `trap : TERM HUP INT; echo ` + beginning + `; exec 3>&2 2>/dev/null; (exec 2>&3 3>&-; eval "$(printf %b "$1")"); exit $?`
)

// anyShell is the line that has a script run by sh, whatever the login shell is.
func anyShell(boot, script string) string {
	return "sh -c '" + boot + "' sh '" + asWord.Replace(asLine.Replace(script)) + "'"
}
