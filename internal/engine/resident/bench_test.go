//go:build linux || darwin

package resident_test

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine"
	"github.com/hermes-runtime/hermes/internal/engine/jobs"
)

func BenchmarkSpawnBare(b *testing.B) {
	for b.Loop() {
		if err := exec.Command("bash", "-c", "true").Run(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSpawnJob(b *testing.B) {
	k := keeperOf(b, newHome(b, "30s"))
	startJob(b, k, script("true"))
	s := jobs.Spec{Job: environment.Job{Command: environment.Command{Script: "true"}}, Base: engine.Base{Environ: os.Environ(), Home: "/tmp", Temp: "/tmp"}}
	for b.Loop() {
		p, err := k.Start(context.Background(), s)
		if err != nil {
			b.Fatal(err)
		}
		if err := p.Wait(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStartJob is the start alone: what the caller waits for.
func BenchmarkStartJob(b *testing.B) {
	k := keeperOf(b, newHome(b, "30s"))
	s := jobs.Spec{Job: environment.Job{Command: environment.Command{Script: "true"}}, Base: engine.Base{Environ: os.Environ(), Home: "/tmp", Temp: "/tmp"}}
	for b.Loop() {
		if _, err := k.Start(context.Background(), s); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPoll(b *testing.B) {
	k := keeperOf(b, newHome(b, "30s"))
	p := startJob(b, k, script("echo hello; sleep 600"))
	for b.Loop() {
		if _, err := p.Info(context.Background(), 1000); err != nil {
			b.Fatal(err)
		}
	}
}
