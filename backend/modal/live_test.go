//go:build modal

package modal_test

import (
	"bytes"
	"context"
	"os"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/backend/modal"
	"github.com/hermes-runtime/hermes/environment"
)

// With real credentials: two sandboxes are made one after the other, used through a plain shell and ended, and their snapshot is deleted.
// It costs a few cents at most.
func TestLive_ASandboxOfTheRealService(t *testing.T) {
	if os.Getenv("MODAL_TOKEN_ID") == "" || os.Getenv("MODAL_TOKEN_SECRET") == "" {
		t.Skip("MODAL_TOKEN_ID and MODAL_TOKEN_SECRET are not set")
	}
	b, _ := environment.Lookup("modal")
	c := b.Config().(*modal.Config)
	c.Timeout, c.Image, c.Resident = 10*time.Minute, "debian:12", "off"
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	o := environment.OpenOptions{Key: "live-test", HermesHome: t.TempDir(), Config: c}
	e, err := b.Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	res, err := e.Run(ctx, environment.Command{Script: "echo kept >~/f; exit 3"})
	if err != nil || res.ExitCode != 3 {
		t.Errorf("%+v, %v", res, err)
	}
	if err := e.Close(ctx); err != nil {
		t.Error(err)
	}
	if e, err = b.Open(ctx, o); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := e.Run(ctx, environment.Command{Script: "cat ~/f", Output: &out}); err != nil || out.String() != "kept\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
	if err := e.(environment.Destroyer).Destroy(ctx); err != nil {
		t.Error(err)
	}
}
