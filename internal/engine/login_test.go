//go:build linux || darwin

package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine"
)

func TestLogin_VariablesFunctionsAliases(t *testing.T) { // ENG-13
	home := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(".profile", "echo chatty; echo grumble >&2; export FROM_PROFILE='a b'; unset GOES\n")
	write(".bashrc", "alias hi='echo hello'\n_x() { cat <<E\nbody }\nE\n}\n__y() { _x; }\ntrap() { echo broken; }\nexport -f _x\nexit 3\n")
	e := open(t, engine.Options{})
	b := engine.Base{Environ: append(os.Environ(), "HOME="+home, "GOES=1"), Home: home, Temp: home}
	l := e.LoginEnviron(context.Background(), b, nil)
	if len(l.Warnings) != 1 || !strings.Contains(l.Warnings[0], "grumble") {
		t.Errorf("warnings %q, want one that shows what was said", l.Warnings)
	}
	b.Environ, b.Login = l.Over(b.Environ), l
	s := environment.NewState(environment.Path(home))
	for range 2 { // also with a state
		var out strings.Builder
		res, err := e.Run(context.Background(), environment.Command{Script: `echo "$FROM_PROFILE,${GOES-gone}"; hi; __y; bash -c _x; trap 'echo bye' EXIT`, State: s, Output: &out}, b)
		if want := "a b,gone\nhello\nbody }\nbody }\nbye\n"; err != nil || res.ExitCode != 0 || out.String() != want {
			t.Errorf("%+v, %v: %q, want %q", res, err, out.String(), want)
		}
	}
	for name := range s.Snapshot().Vars {
		t.Errorf("%s is carried though no command changed it", name)
	}
}

func TestLogin_NamedFilesReplaceTheUsual(t *testing.T) { // ENG-13
	home := t.TempDir()
	for name, text := range map[string]string{".bashrc": "export USUAL=1", "one": "export ONE=1", "two": "export TWO=$ONE"} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e := open(t, engine.Options{})
	b := engine.Base{Environ: []string{"PATH=" + os.Getenv("PATH"), "D=" + home}, Home: home, Temp: home}
	l := e.LoginEnviron(context.Background(), b, []string{"~/one", "$D/two", "~/missing"})
	if got := strings.Join(l.Environ, "\n"); !strings.Contains(got, "TWO=1") || strings.Contains(got, "USUAL") || len(l.Warnings) > 0 {
		t.Errorf("%q, warnings %q", got, l.Warnings)
	}
}

func TestLogin_ABrokenFileCostsAWarningOnly(t *testing.T) { // ENG-13
	home := t.TempDir()
	for name, text := range map[string]string{"syntax": "if (", "dies": "kill -9 $$", "exec": "exec true"} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		e := open(t, engine.Options{})
		b := engine.Base{Environ: []string{"PATH=" + os.Getenv("PATH"), "A=1"}, Home: home, Temp: home}
		l := e.LoginEnviron(context.Background(), b, []string{"~/" + name})
		if len(l.Warnings) != 1 {
			t.Errorf("%s: warnings %q", name, l.Warnings)
		}
		b.Environ, b.Login = l.Over(b.Environ), l
		var out strings.Builder
		if res, err := e.Run(context.Background(), environment.Command{Script: "echo $A", Output: &out}, b); err != nil || res.ExitCode != 0 || out.String() != "1\n" {
			t.Errorf("%s: %+v, %v, %q", name, res, err, out.String())
		}
	}
}
