package docker

import (
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/internal/engine/hold"
	"github.com/hermes-runtime/hermes/internal/envs"
)

// Keeping is how the keeper of jobs in a container is called.
const Keeping = keeping

// SweepAt looks for what was left behind as if it were so much later.
func SweepAt(t testing.TB, getenv func(string) string, c *Config, home string, later time.Duration) {
	t.Helper()
	d, err := connect(t.Context(), getenv)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	s := newSweeper(d, c, labels{home: envs.Owner(home)}, hold.Of(home, name))
	s.now = func() time.Time { return time.Now().Add(later) }
	s.sweep(t.Context())
}
