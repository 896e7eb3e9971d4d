package vercel_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/backend/vercel"
	"github.com/hermes-runtime/hermes/environment"
)

// With real credentials: one sandbox is made, used through a plain shell and deleted. It costs a few cents at most.
func TestLive_ASandboxOfTheRealService(t *testing.T) {
	if os.Getenv("VERCEL_OIDC_TOKEN") == "" && os.Getenv("VERCEL_TOKEN") == "" {
		t.Skip("neither VERCEL_OIDC_TOKEN nor VERCEL_TOKEN is set")
	}
	b, _ := environment.Lookup("vercel_sandbox")
	c := b.Config().(*vercel.Config)
	c.Kept, c.Resident = false, "off"
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	e, err := b.Open(ctx, environment.OpenOptions{Key: "live-test", HermesHome: t.TempDir(), Config: c})
	if err != nil {
		t.Fatal(err)
	}
	res, err := e.Run(ctx, environment.Command{Script: "echo out; exit 3"})
	if err != nil || res.ExitCode != 3 {
		t.Errorf("%+v, %v", res, err)
	}
	if err := e.Close(ctx); err != nil {
		t.Error(err)
	}
}
