//go:build linux || darwin

package resident_test

import (
	"context"
	"net"
	"os"
	"testing"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/environment/envtest"
	"github.com/hermes-runtime/hermes/internal/engine/resident"
)

// near opens a place whose engine stands in the same process, at the other end of a pipe.
func near(text bool) func(t *testing.T) environment.Environment {
	return func(t *testing.T) environment.Environment {
		t.Helper()
		here, there := net.Pipe()
		served := make(chan error, 1)
		home := t.TempDir()
		go func() {
			served <- resident.Serve(context.Background(), there, resident.ServeOptions{Text: text, Environ: append(os.Environ(), "HOME="+home)})
		}()
		p, err := resident.Connect(t.Context(), here, environment.Info{Backend: "near", ID: "t", Namespace: environment.NamespaceHost},
			resident.Options{Text: text})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := <-served; err != nil {
				t.Errorf("Serve: %v", err)
			}
		})
		return p
	}
}

// RES-1, CNF-1: the engine at the other end of a stream passes what the engine in process passes.
func TestResident_Conforms(t *testing.T) {
	envtest.Run(t, near(false), envtest.Abilities{Place: "resident on a pipe", Lacking: []envtest.Ability{envtest.Descriptor}})
}

// RES-2: also over a transport that carries lines of text.
func TestResident_ConformsOverText(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds, and the engine in process shows the same")
	}
	envtest.Run(t, near(true), envtest.Abilities{Place: "resident over text", Lacking: []envtest.Ability{envtest.Descriptor}})
}
