package cloudtest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/cloud"
)

// Lab is what trials are made in: a server of its own, and a HERMES_HOME whose places are there.
type Lab interface {
	// Try opens a place.
	Try(ctx context.Context) (environment.Environment, error)
	// Made counts the sandboxes that ever were made.
	Made() int
	// Home is the directory that a sandbox has as /root. It outlives the sandbox.
	Home(id string) string
	// There are the names of the sandboxes that aren't deleted, and whether each of them costs what one that runs does.
	There() map[string]bool
	// Ledger is the one of its HERMES_HOME.
	Ledger() (*cloud.Ledger, error)
	// Secret is what is in no error.
	Secret() string
}

// Trial is something that goes wrong, and what is to come of it: L is the lab of the cloud.
type Trial[L Lab] struct {
	Name string
	Set  func(l L)            // before the place is opened; nil = nothing
	Late func(l L, id string) // once it is
	In   func(l L, id string) // while the command runs
	// Opens and Runs are the kinds of the errors of opening a place and of a command; nil = none.
	Opens, Runs error
	Says        string // in that error
	Made        int    // sandboxes
	Unseen      int    // that may still come about, and stay in the ledger for the next sweep: nobody saw them made
	Ran         int    // times that the command began
	Short       bool   // time for opening is short
	Check       func(t *testing.T, l L)
	Otherwise   bool // the ledger and the server end otherwise than the same, with nothing that runs: Check says how
}

// mustHave are the faults that the table of every cloud has, and leastRows how many it has at least.
var mustHave = []string{
	"expired token", "429 with Retry-After", "429 without Retry-After", "500 in the middle of a stream", "sandbox gone", "quota reached", "slow start", "clock skew",
	"half-open connection", "duplicate create", "unknown state",
}

const leastRows = 25

// Complete shows that a table of faults lacks nothing: rows gives the names of the trials of each fault that every cloud has. Each trial
// compares the ledger with the server, and counts how often its command began (see Run).
func Complete[L Lab](t *testing.T, all []Trial[L], rows map[string][]string) {
	t.Helper()
	names := map[string]bool{}
	for _, f := range all {
		if names[f.Name] {
			t.Errorf("two trials are called %q", f.Name)
		}
		names[f.Name] = true
	}
	if len(all) < leastRows {
		t.Errorf("%d trials, want %d at least", len(all), leastRows)
	}
	for _, fault := range mustHave {
		if len(rows[fault]) == 0 {
			t.Errorf("no trial is of %q", fault)
		}
		for _, name := range rows[fault] {
			if !names[name] {
				t.Errorf("there is no trial %q, which is to be of %q", name, fault)
			}
		}
	}
}

// Run makes the trial in a lab of its own. In the end the ledger and the server know of the same sandboxes and none runs, unless Otherwise
// says that it is another end.
func (f Trial[L]) Run(t *testing.T, l L) {
	if f.Set != nil {
		f.Set(l)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 2*time.Minute, errors.New("the test is over"))
	if f.Short {
		ctx, cancel = context.WithTimeoutCause(t.Context(), 3*time.Second, errors.New("time is up"))
	}
	defer cancel()
	e, err := l.Try(ctx)
	id := ""
	if f.expect(t, l, err, f.Opens) && err == nil {
		id = e.Info().ID
		if f.Late != nil {
			f.Late(l, id)
		}
		f.expect(t, l, f.command(t, l, e), f.Runs)
		if err := e.Close(context.Background()); err != nil && f.Check == nil {
			t.Errorf("close it: %v", err)
		}
	}
	if l.Made() != f.Made {
		t.Errorf("%d sandboxes were made, want %d", l.Made(), f.Made)
	}
	if id != "" {
		b, _ := os.ReadFile(filepath.Join(l.Home(id), "ran"))
		if n := strings.Count(string(b), "x"); n != f.Ran {
			t.Errorf("the command began %d times, want %d", n, f.Ran)
		}
	}
	if !f.Otherwise {
		agree(t, l, 0, f.Unseen)
	}
	if f.Check != nil {
		f.Check(t, l)
	}
	if _, err := os.Stat("/root/ran"); err == nil {
		t.Error("it ran on this machine")
	}
}

// expect compares an error with its kind.
func (f Trial[L]) expect(t *testing.T, l L, err, want error) bool {
	t.Helper()
	ok := err == nil == (want == nil) && (want == nil || errors.Is(err, want) && strings.Contains(err.Error(), f.Says))
	if !ok {
		t.Errorf("%v, want %v: %s", err, want, f.Says)
	}
	if err != nil && strings.Contains(err.Error(), l.Secret()) {
		t.Errorf("it shows a secret: %v", err)
	}
	return ok
}

// command runs one that says that it began, waits where something is to happen meanwhile, and prints two lines.
func (f Trial[L]) command(t *testing.T, l L, e environment.Environment) error {
	t.Helper()
	script := "echo x >>~/ran; echo one; echo two"
	done := make(chan struct{})
	if f.In != nil {
		script = "echo x >>~/ran; while ! [ -e ~/go ]; do sleep 0.05; done; echo one; echo two"
		go func() {
			defer close(done)
			id := e.Info().ID
			Eventually(t, func() bool { b, _ := os.ReadFile(filepath.Join(l.Home(id), "ran")); return string(b) == "x\n" })
			f.In(l, id)
			_ = os.WriteFile(filepath.Join(l.Home(id), "go"), nil, 0o600)
		}()
	} else {
		close(done)
	}
	var out bytes.Buffer
	res, err := e.Run(t.Context(), environment.Command{Script: script, Output: &out, Timeout: 2 * time.Minute})
	<-done
	if err == nil && (res.ExitCode != 0 || out.String() != "one\ntwo\n") {
		t.Errorf("%+v, %q", res, out.String())
	}
	return err
}

// Eventually waits until something is true.
func Eventually(t testing.TB, true func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !true(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Error("it doesn't come about")
			return
		}
	}
}

// Ledger is what is recorded.
func Ledger(t testing.TB, l Lab) []cloud.Record {
	t.Helper()
	c, err := l.Ledger()
	if err != nil {
		t.Fatal(err)
	}
	all, err := c.List()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Agree shows that the ledger and the server know of the same sandboxes, and how many run.
func Agree(t testing.TB, l Lab, running int) {
	t.Helper()
	agree(t, l, running, 0)
}

func agree(t testing.TB, l Lab, running, unseen int) {
	t.Helper()
	there, on := l.There(), 0
	for _, runs := range there {
		if runs {
			on++
		}
	}
	for _, r := range Ledger(t, l) {
		if _, ok := there[r.Name]; !ok && r.ID == "" && unseen > 0 {
			unseen--
		} else if !ok {
			t.Errorf("%s is in the ledger, and not on the server", r.Name)
		}
		delete(there, r.Name)
	}
	for n := range there {
		t.Errorf("%s is on the server, and not in the ledger", n)
	}
	if on != running || unseen != 0 {
		t.Errorf("%d sandboxes run, want %d; %d that were to be unseen are not in the ledger", on, running, unseen)
	}
}
