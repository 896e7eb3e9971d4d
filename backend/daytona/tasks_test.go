//go:build linux

package daytona_test

import (
	"context"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/envs"
)

func TestTasks_WithAnImageOrABackendHaveASandboxOfTheirOwnThatIsDeleted(t *testing.T) { // MGR-1, MGR-4
	for _, kept := range []bool{true, false} {
		l := newLab(t)
		l.config.Kept = kept
		m := envs.New(envs.Options{Backend: "daytona", Settings: func(environment.Backend, string, envs.Override) (environment.OpenOptions, error) {
			o, c := l.o, l.config
			o.Config = &c
			return o, nil
		}})
		t.Cleanup(func() { _ = m.Close(context.Background()) })
		place := func(task string) environment.Environment {
			t.Helper()
			p, err := m.Place(t.Context(), task)
			if err != nil {
				t.Fatal(err)
			}
			return p.Environment
		}
		run(t, place("a"), "echo shared >~/f")
		if out := run(t, place("b"), "cat ~/f"); out != "shared\n" || l.s.Made() != 1 {
			t.Errorf("kept %v: %q, %d made", kept, out, l.s.Made())
		}
		for task, o := range map[string]envs.Override{"c": {"daytona_image": "debian:12"}, "d": {envs.KeyBackend: "daytona"}} {
			if err := m.Override(task, o); err != nil {
				t.Fatal(err)
			}
			if out := run(t, place(task), "[ -e ~/f ] || echo apart"); out != "apart\n" {
				t.Errorf("kept %v, %s: %q", kept, task, out)
			}
		}
		made := 0
		for _, s := range l.s.Sandboxes() {
			if strings.Contains(string(s.Build), `FROM debian:12\n`) {
				made++
			}
		}
		if made != 1 {
			t.Errorf("kept %v: %d are of the task's image", kept, made)
		}
		l.agree(t, 3)
		if err := m.Override("c", nil); err != nil { // it shares again
			t.Fatal(err)
		}
		if out := run(t, place("c"), "cat ~/f"); out != "shared\n" || l.s.Made() != 3 {
			t.Errorf("kept %v, taken back: %q, %d made", kept, out, l.s.Made())
		}
		if err := m.Close(context.Background()); err != nil {
			t.Error(err)
		}
		l.agree(t, 0)
		if n := len(l.s.Sandboxes()); n != map[bool]int{true: 3, false: 0}[kept] {
			t.Errorf("kept %v: %d are there", kept, n)
		}
	}
}
