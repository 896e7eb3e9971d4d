//go:build modal

package modal

import (
	"context"
	"errors"
	"io"
	"sync"
	"syscall"
	"time"

	sdk "github.com/modal-labs/modal-client/go"
)

// apart runs the script $1 in a session of its own, if that is to be had there.
const apart = `n=; command -v setsid >/dev/null 2>&1 && n=setsid; $n sh -c "$1"; exit $?`

// backstop is how long after its time Modal ends a script that hermes doesn't.
const backstop = time.Minute

// Exec runs a script there. The client sends the start of one again under the same id, by which it is started once.
func (m *machine) Exec(ctx context.Context, script string, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	if stdin == nil {
		script = "exec </dev/null\n" + script
	}
	how := &sdk.SandboxExecParams{}
	if d, ok := ctx.Deadline(); ok {
		how.Timeout = time.Until(d).Truncate(time.Second) + time.Second + backstop
	}
	if m.life.Err() != nil {
		return -1, m.unbegun(ctx, context.Cause(m.life))
	}
	starting, cancel := context.WithCancelCause(ctx)
	defer context.AfterFunc(m.life, func() { cancel(context.Cause(m.life)) })()
	p, err := m.sb.Exec(starting, []string{"sh", "-c", apart, "sh", script}, how)
	if err != nil {
		heard := !refused(err) && !errors.As(err, new(sdk.ConflictError)) // or may have been; a conflict is that it has ended
		err = m.reason(ctx, err)
		cancel(nil)
		if stdin == nil && heard {
			return -1, m.lost(ctx, err)
		}
		return -1, m.unbegun(ctx, err) // with input it waits for its program, which it is never given
	}
	c := &command{m: m, p: p, run: starting, stop: cancel}
	return c.follow(ctx, stdin, stdout, stderr)
}

// command is a script that was started.
type command struct {
	m    *machine
	p    *sdk.ContainerProcess
	run  context.Context // ends when it is not to be followed any more, and tells why
	stop context.CancelCauseFunc

	mu    sync.Mutex
	fed   bool // the program that it waits for may have reached it
	shut  bool // it is given nothing any more
	reads sync.WaitGroup
}

// follow waits for the end of the script and of its outputs.
func (c *command) follow(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	defer c.stop(nil)
	hung := make(chan struct{})
	unhook := context.AfterFunc(c.run, func() {
		defer close(hung)
		_ = c.p.Stdout.Close()
		_ = c.p.Stderr.Close()
	})
	c.reads.Go(func() { c.take(c.p.Stdout, stdout) })
	c.reads.Go(func() { c.take(c.p.Stderr, stderr) })
	if stdin != nil {
		go c.feed(stdin) // nobody waits for it: what it reads may block for as long as it likes
	}
	code, err := c.p.Wait(c.run, nil)
	if err != nil {
		c.stop(err)
	}
	c.reads.Wait()
	if !unhook() {
		<-hung
	}
	fed := c.starve()
	if c.run.Err() == nil && !c.cut(ctx, code) {
		return code, nil
	}
	if stdin != nil && !fed {
		go c.p.Stdin.Close() //nolint:errcheck // whoever waits for input there is to see that there is none; the client bounds it
	}
	if ctx.Err() != nil {
		return -1, context.Cause(ctx)
	}
	err = c.m.reason(ctx, context.Cause(c.run))
	if fed || stdin == nil {
		return -1, c.m.lost(ctx, err)
	}
	return -1, c.m.unbegun(ctx, err)
}

// cut tells whether the exit code is that of a program which ended with its sandbox. Then why that did is what c.run tells.
func (c *command) cut(ctx context.Context, code int) bool {
	if code != 128+int(syscall.SIGKILL) && code != 128+int(syscall.SIGTERM) {
		return false
	}
	why := c.m.reason(ctx, nil)
	if why != nil {
		c.stop(why)
	}
	return why != nil
}

// take hands on an output to its end. A reader who went away doesn't hold the script up.
func (c *command) take(from io.Reader, to io.Writer) {
	if to == nil {
		to = io.Discard
	}
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			_, _ = to.Write(buf[:n])
		}
		if err == nil {
			continue
		}
		if !errors.Is(err, io.EOF) {
			c.stop(err)
		}
		return
	}
}

// feed gives the script what it reads. One that stops reading early is no failure; that nobody hears what it is given is one.
func (c *command) feed(stdin io.Reader) {
	buf := make([]byte, atOnce)
	for {
		n, err := stdin.Read(buf)
		if (n > 0 || err != nil) && !c.may() {
			return
		}
		var failed error
		if n > 0 {
			_, failed = c.p.Stdin.Write(buf[:n])
		}
		if failed == nil && err != nil {
			failed = c.p.Stdin.Close()
		}
		if failed != nil && !refused(failed) {
			c.stop(failed)
		}
		if failed != nil || err != nil {
			return
		}
	}
}

// starve has the script be given nothing any more, and tells whether it was given something. Half a program must not end like a whole one.
func (c *command) starve() (fed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shut = true
	return c.fed
}

// may tells whether the script may still be given something, which it may act on from then on.
func (c *command) may() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fed = c.fed || !c.shut
	return !c.shut
}
