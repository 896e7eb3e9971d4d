//go:build linux

package vercel_test

import (
	"bytes"
	"context"
	"os"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/backend/vercel"
	"github.com/hermes-runtime/hermes/backend/vercel/verceltest"
	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/environment/envtest"
	"github.com/hermes-runtime/hermes/internal/cloud"
	"github.com/hermes-runtime/hermes/internal/cloud/cloudtest"
	"github.com/hermes-runtime/hermes/internal/engine/resident/residenttest"
	"github.com/hermes-runtime/hermes/internal/envs"
)

func TestMain(m *testing.M) {
	cloudtest.Main()
	code := m.Run()
	residenttest.Done()
	os.Exit(code)
}

// lab is what a test opens places with.
type lab struct {
	s      *verceltest.Server
	config vercel.Config
	o      environment.OpenOptions
	vars   map[string]string
}

// newLab has sandboxes that aren't kept, and are used through a plain shell.
func newLab(t testing.TB) *lab {
	t.Helper()
	b, _ := environment.Lookup("vercel_sandbox")
	l := &lab{s: verceltest.New(t), config: *b.Config().(*vercel.Config)}
	l.config.Kept, l.config.Resident, l.config.URL = false, "off", l.s.URL
	home := t.TempDir()
	l.vars = map[string]string{"VERCEL_TOKEN": verceltest.Token, "VERCEL_TEAM_ID": verceltest.Team, "VERCEL_PROJECT_ID": verceltest.Project, "HOME": home}
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
	b, _ := environment.Lookup("vercel_sandbox")
	o, c := l.o, l.config
	o.Config = &c
	return b.Open(ctx, o)
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

// agree shows that the ledger and the server know of the same sandboxes, and how many run.
func (l *lab) agree(t testing.TB, running int) {
	t.Helper()
	there, on := map[string]bool{}, 0
	for _, s := range l.s.Sandboxes() {
		there[s.Name] = true
		if s.Status != "stopped" {
			on++
		}
	}
	c, err := cloud.OpenLedger(l.o.HermesHome, envs.Owner(l.o.HermesHome))
	if err != nil {
		t.Fatal(err)
	}
	all, err := c.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
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

func TestVercel_RunsACommandThereAndLeavesNothing(t *testing.T) { // CLD-1
	l := newLab(t)
	e := l.anew(t)
	if out := run(t, e, "echo mine; echo yours >&2; pwd"); out != "mine\nyours\n/root\n" {
		t.Errorf("%q", out)
	}
	l.agree(t, 1)
	shut(t, e)
	l.agree(t, 0)
	if n := len(l.s.Sandboxes()); n != 0 {
		t.Errorf("%d are there", n)
	}
}

func TestVercel_IsAnEnvironment(t *testing.T) { // CNF-1
	l := newLab(t).engine(t)
	l.config.MaxPlaces = 100
	envtest.Run(t, l.anew, envtest.Abilities{Lacking: []envtest.Ability{envtest.Descriptor}})
}

func TestVercel_ConformsThroughAPlainShell(t *testing.T) { // CNF-1
	l := newLab(t)
	l.config.MaxPlaces = 100
	suite := envtest.Run
	if raceEnabled { // each command takes some twenty processes
		suite = envtest.RunEnds
	}
	suite(t, l.anew, envtest.Abilities{
		Place: "vercel_sandbox, plain shell", Lacking: []envtest.Ability{envtest.Descriptor, envtest.Search, envtest.Sudo, envtest.Jobs, envtest.Terminals}})
}
