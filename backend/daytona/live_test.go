package daytona_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/backend/daytona"
	"github.com/hermes-runtime/hermes/environment"
)

// With real credentials: one sandbox is made, used through a plain shell and deleted. It costs a few cents at most.
func TestLive_ASandboxOfTheRealService(t *testing.T) {
	if os.Getenv("DAYTONA_API_KEY") == "" {
		t.Skip("DAYTONA_API_KEY is not set")
	}
	b, _ := environment.Lookup("daytona")
	c := b.Config().(*daytona.Config)
	c.Kept, c.AutoStop, c.Image, c.Resident = false, 5, "debian:12", "off"
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
