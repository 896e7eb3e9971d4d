//go:build linux || darwin

package runtime

import (
	"context"
	"encoding/json"
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
	for _, name := range []string{"lab-here", "lab-made"} {
		environment.Register(environment.Backend{Name: name, Namespace: environment.NamespaceOwn, Open: func(context.Context, environment.OpenOptions) (environment.Environment, error) {
			made++
			return nil, environment.ErrUnavailable
		}})
	}
	home := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(home, "jobs", "proc_0123456789ab"), 0o700))
	record, err := json.Marshal(map[string]any{"format": 1, "session_id": "proc_0123456789ab", "command": "old", "boot": "another", "started_at": time.Now(), "labels": map[string]string{"session_key": "s"}})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(home, "jobs", "proc_0123456789ab", "job.json"), record, 0o600))
	must(t, os.MkdirAll(filepath.Join(home, "run", "kept"), 0o700))
	must(t, os.WriteFile(filepath.Join(home, "run", "kept", "lab-made"), nil, 0o600))
	r, err := Open(t.Context(), Options{Home: home, Environ: []string{"TERMINAL_ENV=lab-here", "PATH=" + os.Getenv("PATH")}})
	must(t, err)
	defer func() { must(t, r.Close(context.Background())) }()
	l, err := r.Jobs().List(t.Context(), process.Caller{User: true})
	must(t, err)
	if len(l.Processes) != 1 || l.Processes[0].Command != "old" || !strings.Contains(l.Note, "TERMINAL_ENV=lab-made") || made != 0 {
		t.Errorf("%+v, %d places made", l, made)
	}
	l, err = r.Jobs().List(t.Context(), process.Caller{Session: "s"})
	if err != nil || len(l.Processes) != 0 || l.Note != "" {
		t.Errorf("a session sees %+v, %v", l, err)
	}
}
