//go:build linux || darwin

package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/hermes-runtime/hermes/backend/local"
	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/process"
)

// CLI-1, RMT-1: the user is shown what another backend than the configured one keeps, where looking there starts nothing, and is told of
// what can't be seen. A session is not.
func TestJobs_OfOtherBackendsAreShownToTheUser(t *testing.T) {
	made := 0
	for name, found := range map[string]error{"lab-here": environment.ErrGone, "lab-made": environment.ErrUnavailable, "lab-gone": environment.ErrGone} {
		environment.Register(environment.Backend{Name: name, Namespace: environment.NamespaceOwn, Open: func(_ context.Context, o environment.OpenOptions) (environment.Environment, error) {
			if !o.Find {
				made++
			}
			return nil, found
		}})
	}
	home := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(home, "jobs", "proc_0123456789ab"), 0o700))
	record, err := json.Marshal(map[string]any{"format": 1, "session_id": "proc_0123456789ab", "command": "old", "boot": "another", "started_at": time.Now(), "labels": map[string]string{"session_key": "s"}})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(home, "jobs", "proc_0123456789ab", "job.json"), record, 0o600))
	must(t, os.MkdirAll(filepath.Join(home, "run", "kept"), 0o700))
	for _, name := range []string{"lab-here", "lab-made", "lab-gone"} {
		must(t, os.WriteFile(filepath.Join(home, "run", "kept", name), nil, 0o600))
	}
	r, err := Open(t.Context(), Options{Home: home, Environ: []string{"TERMINAL_ENV=lab-here", "PATH=" + os.Getenv("PATH")}})
	must(t, err)
	defer func() { must(t, r.Close(context.Background())) }()
	l, err := r.Jobs().List(t.Context(), process.Caller{User: true})
	must(t, err)
	if len(l.Processes) != 1 || l.Processes[0].Command != "old" || !strings.Contains(l.Note, "TERMINAL_ENV=lab-made") || strings.Contains(l.Note, "lab-gone") || made != 0 {
		t.Errorf("%+v, %d places made", l, made)
	}
	l, err = r.Jobs().List(t.Context(), process.Caller{Session: "s"})
	if err != nil || len(l.Processes) != 0 || l.Note != "" {
		t.Errorf("a session sees %+v, %v", l, err)
	}
}

// slow is a backend that says when it is being opened, and opens once it may.
func slow(open func(context.Context) (environment.Environment, error)) (environment.Backend, chan struct{}) {
	begun := make(chan struct{}, 1)
	return environment.Backend{Name: "lab-slow", Open: func(ctx context.Context, _ environment.OpenOptions) (environment.Environment, error) {
		begun <- struct{}{}
		return open(ctx)
	}}, begun
}

// Whoever waits for another to open a place gives up when they like, and what is being opened is given up by closing.
func TestDistant_NobodyIsHeldUpByAnOpeningPlace(t *testing.T) {
	d, r := newDistant(), &Runtime{}
	b, begun := slow(func(ctx context.Context) (environment.Environment, error) {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	opened := make(chan error, 1)
	go func() {
		_, err := d.find(context.Background(), r, b)
		opened <- err
	}()
	<-begun
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.find(impatient, r, b); !errors.Is(err, context.Canceled) {
		t.Errorf("the second got %v", err)
	}
	must(t, d.close(t.Context()))
	if err := <-opened; !errors.Is(err, errClosing) {
		t.Errorf("the first got %v", err)
	}
	if _, err := d.find(t.Context(), r, b); !errors.Is(err, errClosing) {
		t.Errorf("after the end: %v", err)
	}
}

// closing is a place that tells when it is closed.
type closing struct {
	environment.Environment
	closed chan struct{}
}

func (c closing) Close(context.Context) error {
	close(c.closed)
	return nil
}

// Closing waits no longer than it is given; a place that opens after all is closed by whoever opened it.
func TestDistant_ClosingIsBounded(t *testing.T) {
	d, r := newDistant(), &Runtime{}
	let, place := make(chan struct{}), closing{closed: make(chan struct{})}
	b, begun := slow(func(context.Context) (environment.Environment, error) { // deaf to its context
		<-let
		return place, nil
	})
	opened := make(chan error, 1)
	go func() {
		_, err := d.find(context.Background(), r, b)
		opened <- err
	}()
	<-begun
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.close(over); !errors.Is(err, context.Canceled) {
		t.Errorf("closed with %v", err)
	}
	close(let)
	if err := <-opened; !errors.Is(err, errClosing) {
		t.Errorf("opened with %v", err)
	}
	select {
	case <-place.closed:
	default:
		t.Error("the place stays open")
	}
}

// Each backend that isn't used has its own time to answer, so that one that hangs says nothing of the next.
func TestDoctor_EachOtherBackendHasItsOwnTime(t *testing.T) {
	var asked []context.Context
	check := func(ctx context.Context, _ environment.OpenOptions) error {
		if _, ok := ctx.Deadline(); !ok {
			t.Error("it may take for ever")
		}
		for _, before := range asked {
			if before.Err() == nil {
				t.Error("the time of the one before goes on")
			}
		}
		asked = append(asked, ctx)
		return ctx.Err()
	}
	for _, name := range []string{"lab-one", "lab-two"} {
		environment.Register(environment.Backend{Name: name, Namespace: environment.NamespaceOwn, Check: check, Open: func(context.Context, environment.OpenOptions) (environment.Environment, error) {
			return nil, environment.ErrUnavailable
		}})
	}
	out := configured(t, "", Options{}).checkOthers(t.Context())
	ok := 0
	for _, f := range out {
		if (f.About == "lab-one" || f.About == "lab-two") && f.State == stateOK {
			ok++
		}
	}
	if len(asked) != 2 || ok != 2 {
		t.Errorf("%d asked, %+v", len(asked), out)
	}
}
