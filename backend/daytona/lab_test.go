//go:build linux

package daytona_test

import (
	"bytes"
	"context"
	"os"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/backend/daytona"
	"github.com/hermes-runtime/hermes/backend/daytona/daytonatest"
	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/cloud"
	"github.com/hermes-runtime/hermes/internal/engine/resident/residenttest"
	"github.com/hermes-runtime/hermes/internal/envs"
)

func TestMain(m *testing.M) {
	daytonatest.Main()
	runtimeProcess()
	code := m.Run()
	residenttest.Done()
	os.Exit(code)
}

// lab is what a test opens places with.
type lab struct {
	s      *daytonatest.Server
	config daytona.Config
	o      environment.OpenOptions
	vars   map[string]string
}

// newLab has sandboxes that aren't kept, and are used through a plain shell.
func newLab(t testing.TB) *lab {
	t.Helper()
	b, _ := environment.Lookup("daytona")
	l := &lab{s: daytonatest.New(t), config: *b.Config().(*daytona.Config)}
	l.config.Kept, l.config.Resident = false, "off"
	home := t.TempDir()
	l.vars = map[string]string{"DAYTONA_API_KEY": daytonatest.Key, "DAYTONA_API_URL": l.s.URL, "HOME": home}
	l.o = environment.OpenOptions{Key: "test", HermesHome: home, Dir: "/", Getenv: func(n string) string { return l.vars[n] }}
	return l
}

// engine has the engine run in the sandboxes.
func (l *lab) engine(t testing.TB) *lab {
	t.Helper()
	l.config.Resident, l.config.ResidentPath = "require", residenttest.Binary(t)
	return l
}

func (l *lab) try(ctx context.Context) (environment.Environment, error) {
	b, _ := environment.Lookup("daytona")
	o, c := l.o, l.config
	o.Config = &c
	return b.Open(ctx, o)
}

// open opens a place, which is closed after the test.
func (l *lab) open(t testing.TB) environment.Environment {
	t.Helper()
	e, err := l.try(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	return e
}

// anew opens a place that its test closes.
func (l *lab) anew(t *testing.T) environment.Environment {
	t.Helper()
	e, err := l.try(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func (l *lab) ledger(t testing.TB) []cloud.Record {
	t.Helper()
	c, err := cloud.OpenLedger(l.o.HermesHome, envs.Owner(l.o.HermesHome))
	if err != nil {
		t.Fatal(err)
	}
	all, err := c.List()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// agree shows that the ledger and the server know of the same sandboxes, and that none runs which isn't to.
func (l *lab) agree(t testing.TB, running int) {
	t.Helper()
	there, on := map[string]bool{}, 0
	for _, s := range l.s.Sandboxes() {
		there[s.Name] = true
		if s.State != "stopped" && s.State != "archived" {
			on++
		}
	}
	for _, r := range l.ledger(t) {
		if !there[r.Name] {
			t.Errorf("%s is in the ledger, and not on the server", r.Name)
		}
		delete(there, r.Name)
	}
	for n := range there {
		t.Errorf("%s is on the server, and not in the ledger", n)
	}
	if on != running {
		t.Errorf("%d sandboxes run, want %d", on, running)
	}
}

func run(t testing.TB, e environment.Environment, script string) string {
	t.Helper()
	var out bytes.Buffer
	if _, err := e.Run(context.Background(), environment.Command{Script: script, Output: &out, Timeout: time.Minute}); err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return out.String()
}

func shut(t testing.TB, e environment.Environment) {
	t.Helper()
	if err := e.Close(context.Background()); err != nil {
		t.Error(err)
	}
}
