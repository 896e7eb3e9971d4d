package verceltest

import (
	"context"
	"net/http"
	"os"
	"syscall"

	"github.com/hermes-runtime/hermes/internal/cloud/cloudtest"
)

// run starts a command in a sandbox.
func run(m *cloudtest.Machine, c *command, input bool) error {
	cmd := m.Command(c.Name, c.Args...)
	cmd.Stdout, cmd.Stderr = &recorder{c, "stdout"}, &recorder{c, "stderr"}
	if input {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		defer r.Close()
		cmd.Stdin, c.stdin = r, w
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	c.kill = func(s syscall.Signal) { cloudtest.Signal(cmd, s) }
	go func() {
		_ = cmd.Wait()
		c.typing.Lock()
		if c.stdin != nil {
			_ = c.stdin.Close()
			c.stdin = nil
		}
		c.typing.Unlock()
		code := cmd.ProcessState.ExitCode()
		if code < 0 {
			code = 137
		}
		c.mu.Lock()
		c.Exit, c.done = &code, true
		c.more.Broadcast()
		c.mu.Unlock()
	}()
	return nil
}

// recorder makes lines of the log of an output.
type recorder struct {
	c      *command
	stream string
}

func (r *recorder) Write(p []byte) (int, error) {
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	r.c.lines = append(r.c.lines, logLine{r.stream, string(p)})
	r.c.more.Broadcast()
	return len(p), nil
}

// contextWakes wakes who waits for a command when nobody listens any more.
func contextWakes(r *http.Request, c *command) func() {
	stop := context.AfterFunc(r.Context(), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.more.Broadcast()
	})
	return func() { stop() }
}
