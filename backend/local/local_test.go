package local_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/backend/local"
	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/environment/envtest"
)

// fromShell is the environment of a process that a shell started: the tester's own shell files are not read.
func fromShell(name string) string {
	if name == "SHLVL" {
		return "1"
	}
	return os.Getenv(name)
}

func open(t *testing.T) environment.Environment {
	t.Helper()
	return openWith(t, environment.OpenOptions{HermesHome: t.TempDir(), Getenv: fromShell})
}

func openWith(t *testing.T, o environment.OpenOptions) environment.Environment {
	t.Helper()
	b, _ := environment.Lookup("local")
	o.Key = "test"
	if o.Environ == nil {
		o.Environ = os.Environ
	}
	e, err := b.Open(t.Context(), o)
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

// bare has what every environment must have, and declares nothing missing.
type bare struct{ environment.Environment }

func TestConformance_AnUndeclaredGapFails(t *testing.T) { // CNF-1
	const inner = "HERMES_TEST_GAP"
	switch os.Getenv(inner) {
	case "undeclared":
		envtest.Run(t, func(t *testing.T) environment.Environment { return bare{open(t)} }, envtest.Abilities{})
		return
	case "unexplained": // named in the test, not by the environment
		envtest.Run(t, func(t *testing.T) environment.Environment { return bare{open(t)} },
			envtest.Abilities{Lacking: []envtest.Ability{envtest.Search, envtest.Variables}})
		return
	}
	for gap, want := range map[string]string{"undeclared": "search: there false, declared missing false", "unexplained": "gives no reason for search"} {
		c := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$/^suite$/^declared$")
		c.Env = append(os.Environ(), inner+"="+gap)
		out, err := c.CombinedOutput()
		if _, failed := errors.AsType[*exec.ExitError](err); !failed || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, want a failure that says %q:\n%s", gap, err, want, out)
		}
	}
}

func TestInfo_CommandsReachTheHostItself(t *testing.T) { // CON-8
	e := open(t)
	defer shut(t, e)
	got := e.Info().Traits
	if !got.HostLike || !got.Network || len(got.Mounts) > 0 {
		t.Errorf("%+v; want the host itself with its network, and no mounts, since nothing is mounted", got)
	}
	file := filepath.Join(t.TempDir(), "f") // the traits are true: what a command writes is on the host
	run(t, e, "echo here >'"+file+"'")
	if text, err := os.ReadFile(file); err != nil || string(text) != "here\n" {
		t.Errorf("%q, %v", text, err)
	}
}

func run(t *testing.T, e environment.Environment, script string) string {
	t.Helper()
	var out bytes.Buffer
	if _, err := e.Run(context.Background(), environment.Command{Script: script, Output: &out}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func shut(t *testing.T, e environment.Environment) {
	t.Helper()
	if err := e.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestLogin_FilesAreReadWhereNoShellHasReadThem(t *testing.T) { // ENG-13
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".bashrc"), []byte("export FROM_RC=1; f() { echo function; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	named := filepath.Join(home, "named")
	if err := os.WriteFile(named, []byte("export FROM_NAMED=1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name, shlvl string
		config      local.Config
		want        string
	}{
		{"started by a shell", "1", local.Config{AutoSourceBashrc: true}, "||"},
		{"started by something else", "", local.Config{AutoSourceBashrc: true}, "1|function|"},
		{"started by something else, not wanted", "", local.Config{}, "||"},
		{"files that are named", "1", local.Config{ShellInitFiles: []string{named}}, "||1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			vars := map[string]string{"HOME": home, "SHLVL": row.shlvl, "PATH": os.Getenv("PATH")}
			e := openWith(t, environment.OpenOptions{
				Config: &row.config, Getenv: func(n string) string { return vars[n] }, Environ: func() []string { return []string{"HOME=" + home, "PATH=" + vars["PATH"]} },
			})
			defer shut(t, e)
			if got := run(t, e, `printf '%s|%s|%s' "$FROM_RC" "$(f 2>/dev/null)" "$FROM_NAMED"`); got != row.want {
				t.Errorf("%q, want %q", got, row.want)
			}
		})
	}
}

func TestOpen_ABadModeIsNamed(t *testing.T) { // LOC-4
	b, _ := environment.Lookup("local")
	_, err := b.Open(t.Context(), environment.OpenOptions{Config: &local.Config{HomeMode: "mine"}})
	if !errors.Is(err, environment.ErrConfig) || !strings.Contains(err.Error(), "home_mode") || !strings.Contains(err.Error(), "mine") {
		t.Errorf("%v", err)
	}
}

func TestHome_OfTheProfileIsMadeAndUsed(t *testing.T) { // LOC-4
	hermes := t.TempDir()
	e := openWith(t, environment.OpenOptions{HermesHome: hermes, Getenv: fromShell, Config: &local.Config{HomeMode: "profile"}})
	defer shut(t, e)
	home := filepath.Join(hermes, "home")
	if got := run(t, e, `echo "$HOME,$HERMES_REAL_HOME"; pwd`); got != home+","+os.Getenv("HOME")+"\n"+home+"\n" {
		t.Errorf("%q", got)
	}
	if i, err := os.Stat(home); err != nil || i.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", i, err)
	}
}

func TestHome_ThatCantBeMadeIsNeededOnlyIfAskedFor(t *testing.T) { // LOC-4
	b, _ := environment.Lookup("local")
	for mode, fails := range map[string]bool{"auto": false, "real": false, "profile": true} {
		e, err := b.Open(t.Context(), environment.OpenOptions{
			HermesHome: "/dev/null", Environ: os.Environ, Config: &local.Config{HomeMode: mode},
			Getenv: func(name string) string { return map[string]string{"container": "yes", "SHLVL": "1"}[name] },
		})
		if (err != nil) != fails {
			t.Errorf("%s: %v", mode, err)
		}
		if err != nil {
			continue
		}
		if got := run(t, e, `echo "$HOME"`); got != os.Getenv("HOME")+"\n" {
			t.Errorf("%s: HOME is %q", mode, got)
		}
		if notes := strings.Join(e.Info().Notes, "\n"); mode == "auto" && !strings.Contains(notes, "keep the host's HOME") {
			t.Errorf("%s", notes)
		}
		shut(t, e)
	}
}

func TestInfo_WarnsOfSandboxesThatHaveGrown(t *testing.T) { // LOC-6
	hermes := t.TempDir()
	if err := os.MkdirAll(filepath.Join(hermes, "sandboxes", "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(hermes, "sandboxes", "x", "f"), make([]byte, 2_000_000), 0o600); err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[string]bool{"0.001": true, "1": false, "": false, "nonsense": false} {
		getenv := func(n string) string {
			if n == "TERMINAL_DISK_WARNING_GB" {
				return limit
			}
			return fromShell(n)
		}
		e := openWith(t, environment.OpenOptions{HermesHome: hermes, Getenv: getenv})
		if got := strings.Contains(strings.Join(e.Info().Notes, "\n"), "sandboxes"); got != want {
			t.Errorf("limit %q: warned %v", limit, got)
		}
		shut(t, e)
	}
}
