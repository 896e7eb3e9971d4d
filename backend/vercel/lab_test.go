//go:build linux

package vercel_test

import (
	"context"
	"os"
	"testing"

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
	cloudtest.Runtime(runtimeOf)
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

// Try opens a place.
func (l *lab) Try(ctx context.Context) (environment.Environment, error) {
	b, _ := environment.Lookup("vercel_sandbox")
	o, c := l.o, l.config
	o.Config = &c
	return b.Open(ctx, o)
}

// anew opens a place that its test closes.
func (l *lab) anew(t *testing.T) environment.Environment { t.Helper(); return cloudtest.Open(t, l) }

// Made counts the sandboxes that ever were made.
func (l *lab) Made() int { return l.s.Made() }

// Home is the directory that a sandbox has as /root.
func (l *lab) Home(id string) string { return l.s.Home(id) }

// Ledger is the one of its HERMES_HOME.
func (l *lab) Ledger() (*cloud.Ledger, error) {
	return cloud.OpenLedger(l.o.HermesHome, envs.Owner(l.o.HermesHome))
}

// Secret is what is in no error.
func (l *lab) Secret() string { return verceltest.Token }

// There are the sandboxes that aren't deleted, and whether they run.
func (l *lab) There() map[string]bool {
	all := map[string]bool{}
	for _, s := range l.s.Sandboxes() {
		all[s.Name] = s.Status != "stopped" && s.Status != "snapshotting"
	}
	return all
}

func (l *lab) agree(t testing.TB, running int) { t.Helper(); cloudtest.Agree(t, l, running) }

func run(t testing.TB, e environment.Environment, script string) string {
	t.Helper()
	return envtest.Output(t, e, script)
}

func shut(t testing.TB, e environment.Environment) { t.Helper(); envtest.Shut(t, e) }

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
