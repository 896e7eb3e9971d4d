//go:build linux || darwin

package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine"
)

// patience bounds every wait of a test. It is long: what is waited for comes at once, but for a machine that is busy.
const patience = time.Minute

// call runs one command and gives its result and output.
func call(t *testing.T, e *engine.Engine, c environment.Command) (environment.Result, string) {
	t.Helper()
	var out bytes.Buffer
	c.Output = &out
	res, err := e.Run(context.Background(), c, base(t))
	if err != nil {
		t.Fatalf("Run(%q): %v", c.Script, err)
	}
	return res, out.String()
}

func base(t *testing.T) engine.Base {
	t.Helper()
	return engine.Base{Environ: os.Environ(), Home: os.TempDir(), Temp: os.TempDir()}
}

func open(t *testing.T, o engine.Options) *engine.Engine {
	t.Helper()
	e := engine.New(o)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := e.Close(ctx); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return e
}

func TestCarry_StateSurvivesEveryEnd(t *testing.T) { // ENG-8, ENG-9
	e := open(t, engine.Options{})
	for _, row := range []struct {
		name, script, want string
		code               int
	}{
		{"plain", `export A=1`, "1", 0},
		{"exit", `export A=2; exit 3`, "2", 3},
		{"exit in a function", `f() { export A=3; exit 4; }; f`, "3", 4},
		{"set -e", `set -e; export A=4; false; export A=no`, "4", 1},
		{"syntax error on a later line", "export A=5\nif (", "5", 2},
		{"own EXIT trap", `trap 'echo bye $?' EXIT; export A=6; exit 5`, "6", 5},
		{"own EXIT trap that changes", `trap 'export A=7' EXIT; exit 5`, "7", 5},
		{"own EXIT trap that exits", `trap 'exit 9' EXIT; export A=8; exit 5`, "8", 9},
		{"EXIT trap of a file", `echo "trap 'echo bye' 0" >"$TMPDIR/lib.sh"; . "$TMPDIR/lib.sh"; export A=9; exit 6`, "9", 6},
		{"tracing", `set -x; export A=10`, "10", 0},
		{"DEBUG trap", `trap 'echo dbg' DEBUG; export A=11`, "11", 0},
		{"descriptors taken", `exec 9>/dev/null 10>/dev/null; export A=12; exit 1`, "12", 1},
		{"awkward values", `export A=$'a"b\\c\n$x` + "`" + `\ty\x01\'' `, "a\"b\\c\n$x`\ty\x01'", 0},
		{"POSIX mode", `set -o posix; export A=13; exit 1`, "13", 1},
		{"POSIX mode by variable", `export POSIXLY_CORRECT=1 A=14; exec 9>&1`, "14", 0},
		{"former after exec", `export A=no; exec true`, "", 0},
		{"former after a signal", `export A=no; kill -9 $$`, "", 137},
		{"unset", `export A=1; unset A`, "", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := environment.NewState(environment.Path(t.TempDir()))
			res, _ := call(t, e, environment.Command{Script: row.script, State: s, Env: map[string]string{"TMPDIR": t.TempDir()}})
			if res.ExitCode != row.code {
				t.Errorf("exit code %d, want %d", res.ExitCode, row.code)
			}
			if _, got := call(t, e, environment.Command{Script: `printf %s "$A"`, State: s}); got != row.want {
				t.Errorf("A = %q, want %q", got, row.want)
			}
		})
	}
}

func TestCarry_WhatNoProgramCanBeStartedWithIsLeftOutAndNamed(t *testing.T) { // ENG-8, ENG-12
	const fill = `fill() { printf "%*s" "$1" ""; };`
	for name, row := range map[string]struct{ script, check, want, named string }{
		"one":        {fill + `export SMALL=1 HUGE="$(fill 3000000)"`, `echo "$SMALL ${#HUGE}"`, "1 0\n", "HUGE"},
		"many":       {fill + `export SMALL=1; for i in {10..39}; do export "BIG$i=$(fill 100000)"; done`, `echo "$SMALL"; env | grep -c ^BIG`, "1\n5\n", "BIG10, BIG11, BIG12, BIG13, BIG14 and 20 more"},
		"grown":      {fill + `export KEPT="$(fill 200000)"`, `echo "$KEPT"`, "former\n", "KEPT"},
		"many small": {fill + `v=$(fill 300); for i in {1..2000}; do export "V$i=$v"; done`, `/bin/echo ok`, "ok\n", "more"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := open(t, engine.Options{})
			s := environment.NewState(environment.Path(t.TempDir()))
			call(t, e, environment.Command{Script: `export KEPT=former`, State: s})
			if res, out := call(t, e, environment.Command{Script: row.script, State: s}); res.ExitCode != 0 || !strings.Contains(res.VarsNote, row.named) {
				t.Errorf("%+v, %q", res, out)
			}
			if res, out := call(t, e, environment.Command{Script: row.check, State: s}); out != row.want || res.VarsNote != "" {
				t.Errorf("%+v, %.80q", res, out)
			}
		})
	}
}

func TestRun_ScriptsOfQuotesArriveWhole(t *testing.T) { // ENG-2
	e := open(t, engine.Options{})
	for name, script := range map[string]string{
		"quotes":     "#" + strings.Repeat("'", 60_000) + "\necho ok $BASHPID | tr -d 0-9",
		"one line":   "echo ok '' #" + strings.Repeat("'", 60_000),
		"line ends":  ": <<'E'\n" + strings.Repeat("\\\n", 40_000) + "E\necho 'ok '",
		"just below": "#" + strings.Repeat("x", 96<<10-20) + "\necho 'ok '",
	} {
		for _, s := range []*environment.State{nil, environment.NewState("/")} {
			if res, out := call(t, e, environment.Command{Script: script, State: s}); res.ExitCode != 0 || out != "ok \n" {
				t.Errorf("%s: %+v, %.80q", name, res, out)
			}
		}
	}
}

func TestCarry_PosixModeStays(t *testing.T) { // ENG-8
	e := open(t, engine.Options{})
	s := environment.NewState(environment.Path(t.TempDir()))
	for _, script := range []string{`export POSIXLY_CORRECT=1; f() { echo f; }; export -f f`, `trap 'echo bye' EXIT; export A=1`} {
		call(t, e, environment.Command{Script: script, State: s})
	}
	if _, got := call(t, e, environment.Command{Script: `f; echo "$POSIXLY_CORRECT"; case $SHELLOPTS in *posix*) echo posix;; esac`, State: s}); got != "f\n1\nposix\n" {
		t.Errorf("%q", got)
	}
}

func TestCarry_NothingOfOursEvenWithAllexport(t *testing.T) { // ENG-12
	e := open(t, engine.Options{})
	s := environment.NewState(environment.Path(t.TempDir()))
	call(t, e, environment.Command{Script: `set -a; A=1; trap 'B=2' EXIT; exit 0`, State: s, SudoSecret: func(context.Context) (string, error) { return "", nil }})
	for name := range s.Snapshot().Vars {
		if name != "A" && name != "B" && name != "OLDPWD" {
			t.Errorf("%s is carried", name)
		}
	}
	if _, got := call(t, e, environment.Command{Script: `echo $A$B`, State: s}); got != "12\n" {
		t.Errorf("%q", got)
	}
}

func TestLeft_WhatIsAboutToExitIsNotNamed(t *testing.T) { // ENG-16
	e := open(t, engine.Options{})
	for range 5 {
		res, out := call(t, e, environment.Command{Script: `echo x > >(cat; cat </dev/null)`})
		if out != "x\n" || len(res.Left) > 0 {
			t.Errorf("%+v, %q", res, out)
		}
	}
}

func TestRun_AnEndedContextStartsNothing(t *testing.T) { // CON-5
	e := open(t, engine.Options{})
	file := filepath.Join(t.TempDir(), "ran")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	res, err := e.Run(ctx, environment.Command{Script: "echo >" + file}, base(t))
	if err != nil || res.Reason != environment.Interrupted || res.ExitCode != 130 {
		t.Errorf("%+v, %v", res, err)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Error("it ran")
	}
}

func TestEnd_TreeThatIgnoresTermAndHoldsThePipe(t *testing.T) { // ENG-14, ENG-15, GRP-2
	for _, o := range []engine.Options{{}, {NoCgroup: true}} {
		e := open(t, o)
		var out bytes.Buffer
		mark := fmt.Sprintf("3%09d", time.Now().UnixNano()%1e9) // seconds that no other test sleeps
		res, err := e.Run(context.Background(), environment.Command{
			Script: `trap '' TERM; (setsid sh -c "trap '' TERM; sleep ` + mark + `" &); (trap '' TERM; sleep ` + mark + ` & sleep ` + mark + `); sleep ` + mark,
			Output: &out, Timeout: 200 * time.Millisecond, Grace: 100 * time.Millisecond,
		}, base(t))
		if err != nil || res.Reason != environment.TimedOut || res.ExitCode != 124 {
			t.Errorf("%v: result %+v, error %v", e.Describe(), res, err)
		}
		still := environment.Command{Script: `for f in /proc/[0-9]*/cmdline; do tr '\0' ' ' <$f; echo; done 2>/dev/null | grep 'sleep ` + mark + `' | grep -v grep | grep -v for`}
		for end := time.Now().Add(patience); ; { // what is named as not gone yet has had its KILL
			_, ps := call(t, e, still)
			if !strings.Contains(ps, mark) {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("%v: still there:\n%s", e.Describe(), ps)
			}
		}
	}
}
