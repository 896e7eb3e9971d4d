//go:build linux || darwin

package resident_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/resident"
)

// far connects to a server on a stream whose user has a home; argv starts a keeper there.
func far(t *testing.T, home string, argv []string) *resident.Place {
	t.Helper()
	here, there := net.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- resident.Serve(context.Background(), there, resident.ServeOptions{Environ: append(os.Environ(), "HOME="+home), Keeper: argv})
	}()
	p, err := resident.Connect(t.Context(), here, environment.Info{Backend: "far", ID: "t"}, resident.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Close(context.Background())
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return p
}

// RMT-1: jobs at the other end of a stream outlive it, kept by the keeper there, and another stream finds them.
func TestPlace_JobsOutliveTheStream(t *testing.T) {
	home := t.TempDir()
	cache := filepath.Join(home, ".cache", "hermes")
	if err := os.MkdirAll(cache, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { killKeepers(t, cache) })
	argv := []string{os.Args[0], keeperRole}
	first := far(t, home, argv)
	st := environment.NewState("")
	one := "1"
	st.Merge(environment.Snapshot{}, environment.Snapshot{Vars: map[string]*string{"CARRIED": &one}})
	p, err := first.Start(t.Context(), environment.Job{
		Command: environment.Command{Script: "echo $CARRIED $HOME; cat; exit 6", State: st}, KeepStdin: true, Notify: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	id := infoOf(t, p).ID
	if err := first.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := far(t, home, argv)
	if p, err = second.Attach(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Write(t.Context(), []byte("through\n")); err != nil {
		t.Error(err)
	}
	if err := p.CloseInput(t.Context()); err != nil {
		t.Error(err)
	}
	if i := endOf(t, p); *i.ExitCode != 6 || i.Preview != "1 "+home+"\nthrough\n" {
		t.Errorf("%+v", i)
	}
	if events, err := second.Events(t.Context(), nil); err != nil || len(events) != 1 || events[0].Job != id || second.Taken(t.Context(), events[0].ID) != nil {
		t.Errorf("%+v, %v", events, err)
	}
	if list, err := second.Jobs(t.Context()); err != nil || len(list) != 1 || list[0].ID != id {
		t.Errorf("%+v, %v", list, err)
	}
}

// Without a program to start there the server keeps them itself, and they end with it.
func TestPlace_JobsWithoutAKeeper(t *testing.T) {
	p := far(t, t.TempDir(), nil)
	j, err := p.Start(t.Context(), environment.Job{Command: environment.Command{Script: "sleep 600"}})
	if err != nil {
		t.Fatal(err)
	}
	pid := infoOf(t, j).PID
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	until(t, "it has ended", func() bool { return !lives(pid) })
}
