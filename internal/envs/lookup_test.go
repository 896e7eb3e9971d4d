package envs_test

import (
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/envs"
)

// A program that has linked no backend in is told what to import.
func TestLookup_WithoutBackendsSaysWhatToImport(t *testing.T) {
	if n := len(environment.Backends()); n > 0 {
		t.Fatalf("%d backends are linked into this test, which is about none", n)
	}
	if _, err := envs.Lookup("local"); err == nil || !strings.Contains(err.Error(), "import github.com/hermes-runtime/hermes/backend/all") {
		t.Error(err)
	}
}
