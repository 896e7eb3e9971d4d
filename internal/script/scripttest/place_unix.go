//go:build unix

package scripttest

import (
	"context"
	"errors"
	"os/exec"
	"syscall"
	"time"

	"github.com/hermes-runtime/hermes/environment"
)

// Run starts the command in a group of its own, ends it with ctx, and drains its output for a bounded time.
func (p *Env) Run(ctx context.Context, c environment.Command) (environment.Result, error) {
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Timeout)
		defer cancel()
	}
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.Dir, c.Environ, c.Output, c.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.WaitDelay = 300 * time.Millisecond
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return environment.Result{ExitCode: -1}, &environment.Error{Kind: environment.ErrNotStarted, Op: "start " + c.Argv[0], Err: err}
	}
	if c.OnStart != nil {
		c.OnStart(cmd.Process.Pid)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	var err error
	reason := environment.Exited
	select {
	case err = <-done:
	case <-ctx.Done():
		reason = environment.Interrupted
		grace := min(c.Grace, time.Second)
		if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			reason, grace = environment.TimedOut, c.Grace
		}
		syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) //nolint:errcheck // it may have ended
		select {
		case err = <-done:
		case <-time.After(grace):
			syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) //nolint:errcheck // it may have ended
			err = <-done
		}
	}
	res := environment.Result{Reason: reason, Elapsed: time.Since(began)}
	if c.EndLeft && syscall.Kill(-cmd.Process.Pid, 0) == nil {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) //nolint:errcheck // it may have ended
		res.Left = []environment.ProcessRef{{PID: cmd.Process.Pid}}
	}
	var exit *exec.ExitError
	status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	switch {
	case reason == environment.TimedOut:
		res.ExitCode = 124
	case reason == environment.Interrupted:
		res.ExitCode = 130
	case errors.As(err, &exit) && status.Signaled():
		res.Reason, res.ExitCode, res.Signal = environment.Signaled, 128+int(status.Signal()), signals[status.Signal()]
	default:
		res.ExitCode = cmd.ProcessState.ExitCode()
	}
	return res, nil
}

var signals = map[syscall.Signal]string{syscall.SIGSEGV: "SIGSEGV", syscall.SIGABRT: "SIGABRT", syscall.SIGKILL: "SIGKILL", syscall.SIGTERM: "SIGTERM"}
