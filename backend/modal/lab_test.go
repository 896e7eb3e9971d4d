//go:build modal && linux

package modal_test

import (
	"context"
	"os"
	"testing"

	"github.com/hermes-runtime/hermes/backend/modal"
	"github.com/hermes-runtime/hermes/backend/modal/modaltest"
	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/cloud"
	"github.com/hermes-runtime/hermes/internal/cloud/cloudtest"
	"github.com/hermes-runtime/hermes/internal/engine/resident/residenttest"
	"github.com/hermes-runtime/hermes/internal/envs"
)

func TestMain(m *testing.M) {
	modaltest.Main()
	runtimeProcess()
	code := m.Run()
	residenttest.Done()
	os.Exit(code)
}

// lab is what a test opens places with.
type lab struct {
	s      *modaltest.Server
	config modal.Config
	o      environment.OpenOptions
	vars   map[string]string
	secret string
}

// newLab has sandboxes that aren't kept, and are used through a plain shell.
func newLab(t testing.TB) *lab {
	t.Helper()
	b, _ := environment.Lookup("modal")
	l := &lab{s: modaltest.New(t), config: *b.Config().(*modal.Config), secret: modaltest.Secret}
	l.config.Kept, l.config.Resident = false, "off"
	home := t.TempDir()
	l.vars = map[string]string{"MODAL_TOKEN_ID": modaltest.ID, "MODAL_TOKEN_SECRET": modaltest.Secret, "MODAL_SERVER_URL": l.s.URL, "HOME": home}
	l.o = environment.OpenOptions{Key: "test", HermesHome: home, Dir: "/", Getenv: func(n string) string { return l.vars[n] }}
	return l
}

// engine has the engine run in the sandboxes.
func (l *lab) engine(t testing.TB) *lab {
	t.Helper()
	l.config.Resident, l.config.ResidentPath = "require", residenttest.Binary(t)
	return l
}

// kept has the files of sandboxes kept.
func (l *lab) kept() *lab {
	l.config.Kept = true
	return l
}

func (l *lab) options() environment.OpenOptions {
	o, c := l.o, l.config
	o.Config = &c
	return o
}

// Try opens a place.
func (l *lab) Try(ctx context.Context) (environment.Environment, error) {
	b, _ := environment.Lookup("modal")
	return b.Open(ctx, l.options())
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

// fresh opens a place that its test closes.
func (l *lab) fresh(t *testing.T) environment.Environment { t.Helper(); return cloudtest.Open(t, l) }

// Made counts the sandboxes that ever were made.
func (l *lab) Made() int { return l.s.Made() }

// Home is the directory that a sandbox has as /root.
func (l *lab) Home(id string) string { return l.s.Home(id) }

// Ledger is the one of its HERMES_HOME.
func (l *lab) Ledger() (*cloud.Ledger, error) {
	return cloud.OpenLedger(l.o.HermesHome, envs.Owner(l.o.HermesHome))
}

// Secret is what is in no error.
func (l *lab) Secret() string { return l.secret }

// There are the sandboxes that run.
func (l *lab) There() map[string]bool {
	all := map[string]bool{}
	for _, s := range l.s.Sandboxes() {
		if s.Running {
			all[s.Name] = true
		}
	}
	return all
}

func (l *lab) agree(t testing.TB, running int) { t.Helper(); cloudtest.Agree(t, l, running) }

// left is the snapshot that is recorded under a key.
func (l *lab) left(t testing.TB, key string) string {
	t.Helper()
	ref, err := cloud.OpenSnapshots(l.o.HermesHome, "modal_snapshots.json").Get(key)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}
