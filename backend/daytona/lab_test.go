//go:build linux

package daytona_test

import (
	"context"
	"os"
	"testing"

	"github.com/hermes-runtime/hermes/backend/daytona"
	"github.com/hermes-runtime/hermes/backend/daytona/daytonatest"
	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/environment/envtest"
	"github.com/hermes-runtime/hermes/internal/cloud"
	"github.com/hermes-runtime/hermes/internal/cloud/cloudtest"
	"github.com/hermes-runtime/hermes/internal/engine/resident/residenttest"
	"github.com/hermes-runtime/hermes/internal/envs"
)

func TestMain(m *testing.M) {
	daytonatest.Main()
	cloudtest.Runtime(runtimeOf)
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

// Try opens a place.
func (l *lab) Try(ctx context.Context) (environment.Environment, error) {
	b, _ := environment.Lookup("daytona")
	o, c := l.o, l.config
	o.Config = &c
	return b.Open(ctx, o)
}

// open opens a place, which is closed after the test.
func (l *lab) open(t testing.TB) environment.Environment {
	t.Helper()
	e, err := l.Try(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	return e
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
func (l *lab) Secret() string { return daytonatest.Key }

// There are the sandboxes that aren't deleted, and whether they run.
func (l *lab) There() map[string]bool {
	all := map[string]bool{}
	for _, s := range l.s.Sandboxes() {
		all[s.Name] = s.State != "stopped" && s.State != "archived"
	}
	return all
}

func (l *lab) agree(t testing.TB, running int) { t.Helper(); cloudtest.Agree(t, l, running) }

func run(t testing.TB, e environment.Environment, script string) string {
	t.Helper()
	return envtest.Output(t, e, script)
}

func shut(t testing.TB, e environment.Environment) { t.Helper(); envtest.Shut(t, e) }
