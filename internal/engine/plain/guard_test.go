//go:build linux

package plain_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/plain"
)

// cut is contact that ends without a word: what stands there sees the end of its input, and nobody hears of it any more.
type cut struct {
	io.Reader
	over <-chan struct{}
}

func (c cut) Read(b []byte) (int, error) {
	type part struct {
		n   int
		err error
	}
	got := make(chan part, 1)
	go func() { n, err := c.Reader.Read(b); got <- part{n, err} }()
	select {
	case p := <-got:
		return p.n, p.err
	case <-c.over:
		return 0, io.EOF
	}
}

// pidIn waits for a number in a file.
func pidIn(t *testing.T, file string) int {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		b, _ := os.ReadFile(file)
		if pid, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil {
			return pid
		}
	}
	t.Fatalf("%s is not written", file)
	return 0
}

func lives(pid int) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(b), ") Z ")
}

// RES-8, ENG-22: what runs there ends when contact does, whether it listens to signals or not, and what was left on purpose stays when the
// place is closed.
func TestPlain_TheGuardEndsWhatALostContactLeaves(t *testing.T) {
	home := t.TempDir()
	over := make(chan struct{})
	inner := here("/bin/sh", []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home})
	guarded := make(chan struct{}, 1)
	p, err := plain.Open(t.Context(), func(ctx context.Context, script string, stdin io.Reader, out, errs io.Writer) (int, error) {
		if stdin != nil {
			stdin = cut{stdin, over}
		}
		if strings.Contains(script, "bye") {
			guarded <- struct{}{}
		}
		return inner(ctx, script, stdin, out, errs)
	}, plain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Run(t.Context(), environment.Command{Script: "setsid sh -c 'echo $$ >left; exec sleep 600' >/dev/null 2>&1 &", Dir: home}); err != nil {
		t.Fatal(err)
	}
	<-guarded
	left := pidIn(t, filepath.Join(home, "left"))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = p.Run(ctx, environment.Command{Dir: home, Script: `trap "" TERM HUP; setsid sh -c 'trap "" TERM HUP; echo $$ >away; while :; do sleep 1; done' & echo $$ >near; while :; do sleep 1; done`})
	}()
	pids := []int{left, pidIn(t, filepath.Join(home, "near")), pidIn(t, filepath.Join(home, "away"))}
	close(over)
	for end := time.Now().Add(time.Minute); lives(pids[0]) || lives(pids[1]) || lives(pids[2]); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%v: some of them go on", pids)
		}
	}
	cancel()
	<-done
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestPlain_TheGuardLeavesAloneWhatGoesOnAfterAGoodbye(t *testing.T) { // ENG-22
	home := t.TempDir()
	e := opener("/bin/sh", "PATH="+os.Getenv("PATH"))(t)
	if _, err := e.Run(t.Context(), environment.Command{Script: "setsid sh -c 'echo $$ >left; exec sleep 600' >/dev/null 2>&1 &", Dir: home}); err != nil {
		t.Fatal(err)
	}
	left := pidIn(t, filepath.Join(home, "left"))
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !lives(left) {
		t.Error("it was ended")
	}
	_ = syscall.Kill(left, syscall.SIGKILL)
}
