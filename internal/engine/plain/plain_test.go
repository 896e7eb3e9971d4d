//go:build linux

package plain_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/environment/envtest"
	"github.com/hermes-runtime/hermes/internal/engine/plain"
)

// here runs scripts on this machine, as something far away would: each in a session of its own, with pipes.
func here(shell string, environ []string) plain.Exec {
	return func(ctx context.Context, script string, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
		cmd := exec.Command(shell, "-c", script)
		cmd.Env = environ
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		in, err := cmd.StdinPipe()
		if err != nil {
			return 0, err
		}
		outR, outW, err := os.Pipe()
		if err != nil {
			return 0, err
		}
		errR, errW, err := os.Pipe()
		if err != nil {
			return 0, err
		}
		cmd.Stdout, cmd.Stderr = outW, errW
		if err := cmd.Start(); err != nil {
			return 0, err
		}
		outW.Close()
		errW.Close()
		go func() {
			if stdin != nil {
				_, _ = io.Copy(struct{ io.Writer }{in}, stdin)
			}
			in.Close()
		}()
		copied := make(chan struct{}, 2)
		for _, c := range []struct {
			w io.Writer
			r *os.File
		}{{stdout, outR}, {stderr, errR}} {
			go func() { _, _ = io.Copy(struct{ io.Writer }{c.w}, c.r); c.r.Close(); copied <- struct{}{} }()
		}
		stop := context.AfterFunc(ctx, func() { // hangs up; the script is not ended by it
			_ = outR.SetReadDeadline(time.Now())
			_ = errR.SetReadDeadline(time.Now())
		})
		<-copied
		<-copied
		if !stop() && ctx.Err() != nil {
			go func() { _ = cmd.Wait() }()
			return 0, context.Cause(ctx)
		}
		err = cmd.Wait()
		var e *exec.ExitError
		if errors.As(err, &e) {
			if s := e.Sys().(syscall.WaitStatus); s.Signaled() {
				return 128 + int(s.Signal()), nil
			}
			return e.ExitCode(), nil
		}
		return 0, err
	}
}

func opener(shell string, environ ...string) func(t *testing.T) environment.Environment {
	return func(t *testing.T) environment.Environment {
		t.Helper()
		p, err := plain.Open(t.Context(), here(shell, append([]string{"HOME=" + t.TempDir()}, environ...)), plain.Options{
			Info: environment.Info{Backend: "plain", ID: "t", Namespace: environment.NamespaceHost}, Why: "this is a test",
		})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
}

var lacking = []envtest.Ability{envtest.Descriptor, envtest.Search, envtest.Sudo, envtest.Jobs, envtest.Terminals}

// RES-8, RMT-2, CNF-1: what is left of the engine's promises holds with nothing but a shell.
func TestPlain_Conforms(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	envtest.Run(t, opener("/bin/sh", "PATH="+os.Getenv("PATH")), envtest.Abilities{Place: "a plain shell on pipes", Lacking: lacking})
}

// What this process was given without being told is none of the shells'.
func init() {
	for fd := 3; fd < 256; fd++ {
		syscall.CloseOnExec(fd)
	}
}
