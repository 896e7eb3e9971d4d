package local_test

import (
	"os"
	"runtime"
	"testing"

	_ "github.com/hermes-runtime/hermes/backend/local"
	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/environment/envtest"
)

func open(t *testing.T) environment.Environment {
	t.Helper()
	b, _ := environment.Lookup("local")
	e, err := b.Open(t.Context(), environment.OpenOptions{Key: "test", HermesHome: t.TempDir(), Getenv: os.Getenv, Environ: os.Environ})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestLocal_IsAnEnvironment(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("commands can't be run there")
	}
	envtest.Run(t, open, envtest.Abilities{})
}
