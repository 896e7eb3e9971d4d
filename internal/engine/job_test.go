//go:build linux || darwin

package engine_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine"
)

// lockedBuffer is what a job prints.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func startJob(t *testing.T, c environment.Command, s engine.Starting) (*engine.Started, *lockedBuffer) {
	t.Helper()
	e := engine.New(engine.Options{Subreaper: true})
	out := &lockedBuffer{}
	c.Output = out
	j, err := e.Start(t.Context(), c, engine.Base{Environ: os.Environ()}, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		j.Kill(10 * time.Millisecond)
		<-j.Over()
		j.Release()
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return j, out
}

func TestStart_OutputAndExitCode(t *testing.T) {
	j, out := startJob(t, environment.Command{Script: "echo one; echo two >&2; exit 7"}, engine.Starting{})
	<-j.Over()
	j.Drain()
	if got := out.String(); got != "one\ntwo\n" || j.End().ExitCode != 7 {
		t.Errorf("%q, exit %d", got, j.End().ExitCode)
	}
}

// JOB-3: nothing of the command has run when Ready is told, and nothing runs if that fails.
func TestStart_WaitsForItsGo(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "ran")
	e := engine.New(engine.Options{})
	defer func() { _ = e.Close(context.Background()) }()
	for _, c := range []environment.Command{{Script: "touch " + mark}, {Argv: []string{"touch", mark}}} {
		wrong := errors.New("no room for the record")
		_, err := e.Start(t.Context(), c, engine.Base{Environ: os.Environ()}, engine.Starting{Ready: func(b engine.Begun) error {
			if b.PID <= 0 || b.Group.ID == "" {
				t.Errorf("told of %+v", b)
			}
			return wrong
		}})
		if !errors.Is(err, wrong) || !errors.Is(err, environment.ErrNotStarted) {
			t.Errorf("Start gives %v", err)
		}
		if _, err := os.Stat(mark); err == nil {
			t.Error("the command ran without its go")
		}
	}
}

// JOB-7: without data a job's input is at its end; kept open it takes what is written until it is closed.
func TestStart_Input(t *testing.T) {
	j, out := startJob(t, environment.Command{Script: "cat; echo end"}, engine.Starting{})
	<-j.Over()
	j.Drain()
	if out.String() != "end\n" {
		t.Errorf("without input: %q", out)
	}
	if _, err := j.Write([]byte("x"), time.Second); !errors.Is(err, engine.ErrNoInput) {
		t.Errorf("writing gives %v", err)
	}
	j, out = startJob(t, environment.Command{Script: "cat; echo end"}, engine.Starting{KeepStdin: true})
	if n, err := j.Write([]byte("hello\n"), patience); n != 6 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if err := j.CloseInput(); err != nil {
		t.Error(err)
	}
	<-j.Over()
	j.Drain()
	if out.String() != "hello\nend\n" {
		t.Errorf("kept open: %q", out)
	}
}

// PTY-3, PTY-4: a terminal of its size is the controlling one; ctrl-c and the end-of-file character work as from a keyboard.
func TestStart_Terminal(t *testing.T) {
	j, out := startJob(t, environment.Command{Script: `test -t 0 && stty size && echo $TERM; trap 'echo caught' INT; echo ready; cat; echo end`},
		engine.Starting{Terminal: &environment.Size{Rows: 33, Cols: 101}})
	await := func(want string) {
		t.Helper()
		late := time.After(patience)
		for !strings.Contains(out.String(), want) {
			select {
			case <-j.Over():
				if j.Drain(); !strings.Contains(out.String(), want) {
					t.Fatalf("it ended without %q: %q", want, out)
				}
			case <-late:
				t.Fatalf("never %q: %q", want, out)
			case <-time.After(5 * time.Millisecond):
			}
		}
	}
	await("ready")
	if _, err := j.Write([]byte("typed\n"), patience); err != nil {
		t.Error(err)
	}
	await("typed\r\ntyped") // echoed, and copied by cat, which the next key is for
	if got := out.String(); !strings.Contains(got, "33 101") || !strings.Contains(got, "xterm-256color") {
		t.Errorf("%q", got)
	}
	if _, err := j.Write([]byte{3}, patience); err != nil {
		t.Error(err)
	}
	await("caught")
	await("end")
	<-j.Over()
}

// GRP-2: what a job started ends with it, session changed or not.
func TestStart_KillEndsTheTree(t *testing.T) {
	j, out := startJob(t, environment.Command{Script: `trap '' TERM; setsid sh -c "trap '' TERM; echo up; sleep 600" & sleep 600`}, engine.Starting{})
	for !strings.Contains(out.String(), "up") {
		<-time.After(5 * time.Millisecond)
	}
	if left := j.Kill(50 * time.Millisecond); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	<-j.Over()
	if m := j.Members(); len(m) > 0 {
		t.Errorf("alive: %v", m)
	}
	if j.End().Signal != "SIGKILL" {
		t.Errorf("it ended with %+v", j.End())
	}
}
