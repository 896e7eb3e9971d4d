//go:build !modal

package modal_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/environment"
)

func TestBuild_WithoutTheTagItSaysHowToGetIt(t *testing.T) {
	b, _ := environment.Lookup("modal")
	o := environment.OpenOptions{Config: b.Config(), HermesHome: t.TempDir()}
	_, err := b.Open(t.Context(), o)
	for what, err := range map[string]error{"check": b.Check(t.Context(), o), "open": err} {
		if !errors.Is(err, environment.ErrUnavailable) || !strings.Contains(err.Error(), "go build -tags modal -o bin/hermes ./cmd/hermes") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if lines := strings.Join(b.Probe(t.Context(), o), "\n"); !strings.Contains(lines, "go build -tags modal -o bin/hermes ./cmd/hermes") {
		t.Errorf("probe: %s", lines)
	}
}
