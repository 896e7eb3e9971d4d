package runtime

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

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
	must(t, os.WriteFile(filepath.Join(home, "config.yaml"), []byte("timezone: Asia/Seoul\nsecurity: {redact: false}\nmodel: {max_tools: 7}\n"), 0o600))
	r, err := Open(t.Context(), Options{Home: home, Environ: []string{"HERMES_TIMEZONE=UTC"}})
	must(t, err)
	defer func() { must(t, r.Close(context.Background())) }()
	if got := r.Getenv("HERMES_TIMEZONE"); got != "Asia/Seoul" {
		t.Errorf("HERMES_TIMEZONE is %q", got)
	}
	if n := r.registry.Settings().MaxTools; n != 7 { // DEF-12
		t.Errorf("model.max_tools: %d", n)
	}
	if p := r.Problems(); len(p) != 0 || !r.settings.security.KnownOnly() {
		t.Errorf("security.redact: false: %v", p)
	}
}
