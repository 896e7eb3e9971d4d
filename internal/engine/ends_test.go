//go:build linux || darwin

package engine_test

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/environment/envtest"
	"github.com/hermes-runtime/hermes/internal/engine"
	"github.com/hermes-runtime/hermes/internal/engine/files"
)

// place makes an environment of an engine.
type place struct {
	*engine.Engine
	base engine.Base
}

func (p place) Run(ctx context.Context, c environment.Command) (environment.Result, error) {
	return p.Engine.Run(ctx, c, p.base)
}

func (p place) Files() environment.FS { return files.New(files.Options{}) }

func (p place) Info() environment.Info {
	lacking := map[string]string{"search": "not the engine's", "variables": "not the engine's", "jobs": "not the engine's", "pty": "not the engine's"}
	return environment.Info{Lacking: lacking, Backend: "engine", Home: environment.Path(p.base.Home), Temp: environment.Path(p.base.Temp), Shell: p.Shell(), Namespace: environment.NamespaceHost}
}

func opens(o engine.Options) func(*testing.T) environment.Environment {
	return func(t *testing.T) environment.Environment { return place{engine.New(o), base(t)} }
}

func TestEnds_WithoutCgroups(t *testing.T) { // GRP-1, second rung
	envtest.RunEnds(t, opens(engine.Options{NoCgroup: true}), envtest.Abilities{
		Place: "local, no cgroups", Lacking: []envtest.Ability{envtest.Search, envtest.Variables, envtest.Jobs, envtest.Terminals}})
}

func TestDescribe_SaysTheRungAndTheReason(t *testing.T) { // GRP-1
	e := open(t, engine.Options{NoCgroup: true})
	if d := strings.Join(e.Describe(), "\n"); !strings.Contains(d, "no cgroups: not wanted") || !strings.Contains(e.Guarded(), "no guard") {
		t.Errorf("%s, %s", d, e.Guarded())
	}
}

func TestEndLeft_WhoIsAboutToEndByItselfIsNoLeftover(t *testing.T) { // XL-5
	e := open(t, engine.Options{})
	helper := "mkfifo p\n(read x <p; i=0; while [ $i -lt 8000 ]; do i=$((i+1)); done) &\nexec 3>p\n" // works on when the pipe closes
	for script, left := range map[string]int{helper: 0, helper + "sleep 60 3>&- &\n": 1, "sleep 60 & sleep 61 &": 2} {
		c := environment.Command{Script: script, Dir: t.TempDir(), EndLeft: true}
		if res, out := call(t, e, c); len(res.Left) != left || len(res.Survivors) != 0 || out != "" {
			t.Errorf("%q: %d left, %d wanted; %q", script, len(res.Left), left, out)
		}
	}
}

func command(script string) environment.Command { return environment.Command{Script: script} }

func TestSh_CarriesVariablesWithoutBash(t *testing.T) { // ENG-21
	sh := "/bin/sh"
	if p, err := os.Readlink(sh); err == nil && strings.Contains(p, "bash") {
		t.Skip("sh is bash here")
	}
	e := open(t, engine.Options{Shell: sh})
	for script, want := range map[string]string{
		`export A="it's \"1\"
2"; cd /; exit 3`: "it's \"1\"\n2 /\n",
		"set -e; export A=1; cd /; false": "1 /\n",
		"export A=1; cd /\nif (":          "", // dash gives up before the trap: the former state stays
	} {
		s := environment.NewState(environment.Path(os.TempDir()))
		call(t, e, environment.Command{Script: script, State: s})
		if _, got := call(t, e, environment.Command{Script: `echo "$A" "$PWD"`, State: s}); want != "" && got != want {
			t.Errorf("%q: %q, want %q", script, got, want)
		}
	}
	long := "cat <<'E'\n" + strings.Repeat("0123456789'\n", 10_000) + "E"
	if _, got := call(t, e, environment.Command{Script: long, State: environment.NewState("/")}); len(got) != 120_000 {
		t.Errorf("a long script prints %d bytes", len(got))
	}
}

// ENG-15: what a command printed right before its end is there, after a long silence and on a busy machine too.
func TestEngine_LastWordsAfterSilenceAreRead(t *testing.T) {
	e, b := engine.New(engine.Options{}), base(t)
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 2 {
				var out strings.Builder
				res, err := e.Run(context.Background(), environment.Command{Script: "sleep 0.35; echo last words", Output: &out}, b)
				if err != nil || res.ExitCode != 0 || out.String() != "last words\n" {
					t.Errorf("got %q, %+v, %v", out.String(), res, err)
				}
			}
		})
	}
	wg.Wait()
}
