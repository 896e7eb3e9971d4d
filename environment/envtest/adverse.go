package envtest

import (
	"context"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/environment"
)

// FullDisk shows what becomes of commands, files and jobs in a place whose home fills up (LOG-7, CON-2, JOB-3). The home is small, and
// temporary files lie elsewhere.
func FullDisk(t *testing.T, e environment.Environment) {
	jobs, _ := e.(environment.Starter)
	var before environment.Process
	var err error
	if jobs != nil {
		if before, err = jobs.Start(t.Context(), environment.Job{KeepStdin: true, Command: environment.Command{
			Script: `read x; head -c 400000 /dev/zero | tr '\0' x | fold -w 99; rm ~/full; echo; echo later; exit 6`}}); err != nil {
			t.Fatal(err)
		}
	}
	script := func(text string) string {
		_, out := run(t, t.Context(), e, environment.Command{Script: text})
		return out
	}
	script("printf kept >~/alone; printf kept >~/linked; ln ~/linked ~/other; cat /dev/zero >~/full 2>/dev/null")
	large := strings.Repeat("x", 100_000)
	for _, name := range []string{"new", "alone", "linked"} {
		if _, err := e.Files().Replace(t.Context(), join(e.Info().Home, name), strings.NewReader(large), environment.ReplaceOptions{}); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("the file %s: %v", name, err)
		}
	}
	if out := script("cat ~/alone ~/linked; ls -A ~ | grep -v '^\\.cache'"); out != "keptkeptalone\nfull\nlinked\nother\n" {
		t.Errorf("files afterwards: %q", out)
	}
	if out := script("echo works"); out != "works\n" {
		t.Errorf("a command prints %q", out)
	}
	if jobs == nil {
		return
	}
	at := join(e.Info().Temp, "envtest-ran")
	_, err = jobs.Start(t.Context(), environment.Job{Command: environment.Command{Script: "echo ran >>'" + string(at) + "'"}})
	if !errors.Is(err, environment.ErrNotStarted) || !strings.Contains(err.Error(), "no space") {
		t.Errorf("a job: %v", err)
	}
	if _, err := e.Files().Stat(t.Context(), at); err == nil {
		t.Error("a job that was refused has run")
	}
	if _, err := before.Write(t.Context(), []byte("on\n")); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := before.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	i, err := before.Info(ctx, 10)
	if err != nil || i.ExitCode == nil || *i.ExitCode != 6 || !strings.HasSuffix(i.Preview, "later\n") {
		t.Errorf("one that ran already: %+v, %v", i, err)
	}
	page, err := before.Log(ctx, 0, 1<<20)
	if err != nil || !strings.Contains(page.Text, "characters are missing here: the disk was full") {
		t.Errorf("its log says nothing of a gap: %v", err)
	}
}

// hog says that it runs, takes the processes that a place may have, says so, and goes on until its input ends.
const hog = `echo ran >>~/envtest-ran; sh -c 'while :; do sleep 4242 & done' 2>/dev/null; echo up; read x`

// hogs is how many of them there may be until one is refused.
const hogs = 20

// FullProcesses shows that a place in which no further process may be begins nothing, says so, and works again afterwards (CON-1, CON-2,
// ENG-14). It may have some hundred at most.
func FullProcesses(t *testing.T, e environment.Environment) {
	r, w := io.Pipe()
	done := make(chan error, hogs)
	var refused error
	ran := 0
	for ; refused == nil && ran < hogs; ran++ { // each takes what the former ones have left
		up := &watched{seen: make(chan struct{})}
		go func() {
			_, err := e.Run(context.Background(), environment.Command{Script: hog, Output: up, Stdin: r, EndLeft: true, Grace: 50 * time.Millisecond})
			done <- err
		}()
		select {
		case <-up.seen:
		case refused = <-done:
			ran--
		}
	}
	if !errors.Is(refused, environment.ErrNotStarted) {
		t.Errorf("a command: %v", refused)
	}
	if jobs, ok := e.(environment.Starter); ok {
		if !errors.Is(refused, syscall.EAGAIN) && !strings.Contains(refused.Error(), "temporarily unavailable") {
			t.Errorf("a command: %v", refused)
		}
		_, err := jobs.Start(t.Context(), environment.Job{Command: environment.Command{Script: "echo ran >>~/envtest-ran"}})
		if !errors.Is(err, environment.ErrUnavailable) && !errors.Is(err, environment.ErrNotStarted) {
			t.Errorf("a job: %v", err)
		}
	}
	_ = w.Close()
	for range ran {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if _, out := run(t, t.Context(), e, environment.Command{Script: "cat ~/envtest-ran; echo works"}); out != strings.Repeat("ran\n", ran)+"works\n" {
		t.Errorf("%d commands ran; afterwards %q", ran, out)
	}
}

// watched tells when something was printed.
type watched struct {
	seen chan struct{}
	over bool
}

func (w *watched) Write(p []byte) (int, error) {
	if !w.over {
		w.over = true
		close(w.seen)
	}
	return len(p), nil
}
