package runtime

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/environment"
)

// SUD-2 likewise for backends: what a backend has to ask for is put to the runtime's person, hidden, and never shown again.
func TestAskSecret_AsksTheRuntimesPerson(t *testing.T) {
	var got channel.Question
	person := channel.AskerFunc(func(_ context.Context, q channel.Question) (channel.Answer, error) {
		got = q
		return channel.Answer{Secret: "open sesame"}, nil
	})
	r, err := Open(t.Context(), Options{Home: t.TempDir(), Environ: []string{}, Asker: person})
	must(t, err)
	defer func() { must(t, r.Close(context.Background())) }()
	text, err := r.askSecret()(t.Context(), "Passphrase of the key x")
	if err != nil || text != "open sesame" || got.Kind != channel.KindSecret || got.Title != "Passphrase of the key x" || got.Expires.IsZero() {
		t.Errorf("%q, %v: %+v", text, err, got)
	}
	if shown := r.hide("it said open sesame"); strings.Contains(shown, "sesame") {
		t.Errorf("shown: %s", shown)
	}
	failing, err := Open(t.Context(), Options{Home: t.TempDir(), Environ: []string{}, Asker: channel.AskerFunc(func(context.Context, channel.Question) (channel.Answer, error) {
		return channel.Answer{}, channel.ErrTimeout
	})})
	must(t, err)
	defer func() { must(t, failing.Close(context.Background())) }()
	if _, err := failing.askSecret()(t.Context(), "x"); !errors.Is(err, channel.ErrTimeout) {
		t.Errorf("%v", err)
	}
	nobody, err := Open(t.Context(), Options{Home: t.TempDir(), Environ: []string{}})
	must(t, err)
	defer func() { must(t, nobody.Close(context.Background())) }()
	if nobody.askSecret() != nil {
		t.Error("nobody is asked")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// RED-1: a key is a secret though it begins with a slash; what says where a file lies is none.
func TestHeldSecrets_KeysThatLookLikePathsCount(t *testing.T) {
	there := filepath.Join(t.TempDir(), "credentials.json")
	must(t, os.WriteFile(there, nil, 0o600))
	r := &Runtime{environ: map[string]string{"A_KEY": "/wJalrXUtnFEMIK7MDENG+bPxRfiCYEXAMPLE", "B_CREDENTIALS": there, "C_AUTH": "unix:path=/run/bus", "D": "plain"}}
	held := r.heldSecrets()
	if len(held) != 1 || held["A_KEY"] == "" {
		t.Errorf("held: %v", held)
	}
}

// PRV-10: the variable that is named for a model's key holds a secret, whatever it is called.
func TestHeldSecrets_TheModelsKeyCounts(t *testing.T) {
	home := t.TempDir()
	must(t, os.WriteFile(filepath.Join(home, "config.yaml"), []byte("model: {api_key_env: MINE}\n"), 0o600))
	r, err := Open(t.Context(), Options{Home: home, Environ: []string{"MINE=planted-1234567"}})
	must(t, err)
	defer func() { must(t, r.Close(context.Background())) }()
	if got := r.hide("it is planted-1234567"); strings.Contains(got, "planted") {
		t.Errorf("shown: %s", got)
	}
	if slices.ContainsFunc(r.environList(), func(kv string) bool { return strings.HasPrefix(kv, "MINE=") }) {
		t.Error("places see it")
	}
}

// SUD-3: what a session's person typed is forgotten with the session.
func TestSession_EndForgetsTheSudoPassword(t *testing.T) {
	r, err := Open(t.Context(), Options{Home: t.TempDir(), Environ: []string{}})
	must(t, err)
	defer func() { must(t, r.Close(context.Background())) }()
	s := r.Session(SessionOptions{ID: "s"})
	_, _, err = r.sudo.Ask(t.Context(), "s", func(context.Context) (string, bool, error) { return "pw", true, nil })
	must(t, err)
	must(t, s.Close(t.Context()))
	if _, known := r.sudo.Password("s"); known {
		t.Error("the password outlives its session")
	}
}

// Keys of the configuration have an effect: one that stands for a variable reaches what asks for the variable.
func TestOpen_KeysOfTheConfigurationHold(t *testing.T) {
	home := t.TempDir()
	must(t, os.WriteFile(filepath.Join(home, "config.yaml"), []byte("timezone: Asia/Seoul\nsecurity: {redact: false}\nmodel: {max_tools: 7}\nprocess: {max_running: 3, max_running_per_session: 2, log_max_bytes: 70000, keep_finished: 0, event_keep: 5}\n"), 0o600))
	r, err := Open(t.Context(), Options{Home: home, Environ: []string{"HERMES_TIMEZONE=UTC"}})
	must(t, err)
	defer func() { must(t, r.Close(context.Background())) }()
	if got := r.Getenv("HERMES_TIMEZONE"); got != "Asia/Seoul" {
		t.Errorf("HERMES_TIMEZONE is %q", got)
	}
	if n := r.registry.Settings().MaxTools; n != 7 { // DEF-12
		t.Errorf("model.max_tools: %d", n)
	}
	want := environment.JobBounds{Running: 3, PerOwner: 2, LogBytes: 70000, EventKeep: 5 * time.Second} // LIM-1, LOG-4, LOG-6, NTF-4
	if got := r.settings.jobs.Bounds(); got != want {
		t.Errorf("process: %+v", got)
	}
	if p := r.Problems(); len(p) != 0 || !r.settings.security.KnownOnly() {
		t.Errorf("security.redact: false: %v", p)
	}
}
