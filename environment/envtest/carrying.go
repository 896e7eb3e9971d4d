package envtest

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/environment"
)

// carrying holds what goes from command to command.
var carrying = []check{
	{"ENG-8_DirectoryVariablesAndRemovalsAreCarried", "", carried},
	{"ENG-8_OnlyTheDifferenceIsKept", "", func(t *testing.T, s *suite) {
		st := environment.NewState(s.env.Info().Temp)
		s.run(t, environment.Command{Script: "export ENVTEST_A=1 PATH=$PATH", State: st, Env: map[string]string{"ENVTEST_CALL": "1"}})
		for name := range st.Snapshot().Vars {
			if name != "ENVTEST_A" && name != "OLDPWD" {
				t.Errorf("%s is carried", name)
			}
		}
	}},
	{"ENG-8_ExportedFunctionsAreWholeOrAbsent", Bash, functionsAreWhole},
	{"ENG-9_StateSurvivesEndsOfAllKinds", "", survives([][2]string{
		{"exit", "export A=1; exit 3"}, {"exit in a function", "f() { export A=1; exit 3; }; f"}, {"set -e", "set -e; export A=1; false"},
		{"set -u", "set -u; export A=1; echo $nosuchvariable"}, {"syntax error", "export A=1\nif ("}, {"set -x", "set -x; export A=1"},
		{"background", "export A=1; sleep 0 & wait"}, {"exec of descriptors", "exec 9>/dev/null 8</dev/null; export A=1"},
	})},
	{"ENG-9_StateSurvivesAnExitTrapOfTheScript", Bash, survives([][2]string{
		{"trap", "trap 'echo bye' EXIT; export A=1; exit 3"}, {"trap 0", "trap 'echo bye' 0; export A=1; exit 3"},
		{"trap that changes", "trap 'export A=1' EXIT; exit 3"}, {"trap that exits", "trap 'exit 4' EXIT; export A=1; exit 3"},
		{"trap with set -e", "set -e; trap 'echo bye' EXIT; export A=1; false"}, {"trap in a subshell", "(trap 'echo bye' EXIT); export A=1; exit 3"},
		{"trap taken back", "trap 'echo bye' EXIT; trap - EXIT; export A=1; exit 3"}, {"ERR trap", "trap 'echo err' ERR; export A=1; false"},
		{"DEBUG trap", "trap 'echo dbg' DEBUG; export A=1; exit 3"},
	})},
	{"ENG-9_AnExitTrapRunsAsItWould", Bash, trapsRunAsTheyWould},
	{"ENG-9_FormerStateStays", "", formerStays},
	{"ENG-9_NothingElseIsCarried", "", func(t *testing.T, s *suite) {
		st := environment.NewState(s.env.Info().Temp)
		s.run(t, environment.Command{Script: "x=1; f() { :; }; alias ll=ls; set -u; umask 077; export A=1", State: st})
		_, out := s.run(t, environment.Command{Script: `echo "x=${x-}"; case $- in *u*) echo options;; esac; type f ll 2>/dev/null; umask`, State: st})
		if strings.Contains(out, "x=1") || strings.Contains(out, "options") || strings.Contains(out, "f") || strings.Contains(out, "077") {
			t.Errorf("%q", out)
		}
	}},
	{"ENG-10_StateBelongsToTheSession", "", func(t *testing.T, s *suite) {
		a, b := environment.NewState(s.dir(t)), environment.NewState(s.dir(t))
		s.run(t, environment.Command{Script: "export A=a; mkdir a; cd a", State: a})
		child := a.Clone()
		if _, out := s.run(t, environment.Command{Script: `echo "$A"; pwd`, State: b}); out != "\n"+string(b.Dir())+"\n" {
			t.Errorf("another session sees %q", out)
		}
		s.run(t, environment.Command{Script: "export A=child", State: child})
		if _, out := s.run(t, environment.Command{Script: "echo $A", State: a}); out != "a\n" {
			t.Errorf("the parent sees %q", out)
		}
	}},
	{"ENG-11_ParallelCallsMergeWhatEachChanged", "", func(t *testing.T, s *suite) {
		st := environment.NewState(s.dir(t))
		var all sync.WaitGroup
		for _, n := range []string{"1", "2", "3", "4"} {
			script := "export A" + n + "=" + n + "; : >in" + n + "; until [ -e in1 -a -e in2 -a -e in3 -a -e in4 ]; do sleep 0.02; done"
			all.Go(func() {
				if res, err := s.env.Run(t.Context(), environment.Command{Script: script, State: st, Timeout: patience}); err != nil || res.ExitCode != 0 {
					t.Errorf("%+v, %v", res, err)
				}
			})
		}
		all.Wait()
		if _, out := s.run(t, environment.Command{Script: "echo $A1$A2$A3$A4", State: st}); out != "1234\n" {
			t.Errorf("%q", out)
		}
	}},
	{"ENG-12_ValuesAreNeverInArguments", "", func(t *testing.T, s *suite) {
		st := environment.NewState(s.env.Info().Temp)
		s.run(t, environment.Command{Script: "export A=verysecretvalue", State: st})
		res, out := s.run(t, environment.Command{Script: `printf %s "$A" | wc -c; tr '\0' ' ' </proc/$$/cmdline`, State: st})
		if res.ExitCode != 0 || strings.Contains(out, "verysecretvalue") || !strings.Contains(out, "15") {
			t.Errorf("%q", out)
		}
	}},
	{"ENG-12_VariablesOfACallAreNotCarried", "", func(t *testing.T, s *suite) {
		st := environment.NewState(s.env.Info().Temp)
		_, out := s.run(t, environment.Command{Script: "echo $ENVTEST_CALL", State: st, Env: map[string]string{"ENVTEST_CALL": "1"}})
		if out != "1\n" {
			t.Fatalf("%q", out)
		}
		if _, out = s.run(t, environment.Command{Script: "echo ${ENVTEST_CALL-unset}", State: st}); out != "unset\n" {
			t.Errorf("%q", out)
		}
		s.run(t, environment.Command{Script: "export ENVTEST_CALL=2", State: st, Env: map[string]string{"ENVTEST_CALL": "1"}})
		if _, out = s.run(t, environment.Command{Script: "echo ${ENVTEST_CALL-unset}", State: st}); out != "2\n" {
			t.Errorf("changed by the command: %q", out)
		}
	}},
	{"ENG-8_TooLargeAVariableSpoilsNoLaterCommand", "", func(t *testing.T, s *suite) {
		st := environment.NewState(s.env.Info().Temp)
		s.run(t, environment.Command{Script: `export ENVTEST_BIG=$(head -c 200000 /dev/zero | tr '\0' x) ENVTEST_A=1`, State: st})
		if _, out := s.run(t, environment.Command{Script: "echo $ENVTEST_A; /bin/echo ok", State: st}); out != "1\nok\n" {
			t.Errorf("%.100q", out)
		}
	}},
}

func carried(t *testing.T, s *suite) {
	d := s.dir(t)
	st := environment.NewState(d)
	s.run(t, environment.Command{Script: "mkdir x; cd x; export ENVTEST_A='1\n2' ENVTEST_B=; ENVTEST_C=no; unset HOME", State: st})
	_, out := s.run(t, environment.Command{Script: `pwd; printf '%s|%s|%s|%s\n' "$ENVTEST_A" "${ENVTEST_B-unset}" "${ENVTEST_C-unset}" "${HOME-unset}"`, State: st})
	if out != string(d)+"/x\n1\n2||unset|unset\n" {
		t.Errorf("%q", out)
	}
	s.run(t, environment.Command{Script: "unset ENVTEST_A; cd - >/dev/null", State: st})
	if _, out = s.run(t, environment.Command{Script: `pwd; echo ${ENVTEST_A-unset}`, State: st}); out != string(d)+"\nunset\n" {
		t.Errorf("after removal: %q", out)
	}
}

func functionsAreWhole(t *testing.T, s *suite) {
	st := environment.NewState(s.env.Info().Temp)
	s.run(t, environment.Command{Script: "_x() { if true; then echo \"x $1\"; fi; }; __x() { cat <<E\nhere}\nE\n}; no() { :; }; export -f _x __x", State: st})
	for range 2 {
		if _, out := s.run(t, environment.Command{Script: "_x 1; __x; type no 2>/dev/null; bash -c '_x 2'", State: st}); out != "x 1\nhere}\nx 2\n" {
			t.Errorf("%q", out)
		}
	}
	s.run(t, environment.Command{Script: "unset -f _x", State: st})
	if _, out := s.run(t, environment.Command{Script: "type _x 2>/dev/null; __x", State: st}); out != "here}\n" {
		t.Errorf("after removal: %q", out)
	}
}

func trapsRunAsTheyWould(t *testing.T, s *suite) {
	for script, want := range map[string]string{
		"trap 'echo bye $?' EXIT; exit 3":                         "bye 3\n",
		"f() { trap 'echo bye $?' EXIT; }; f; (exit 4)":           "bye 4\n",
		"(trap 'echo sub' EXIT); echo main":                       "sub\nmain\n",
		"trap 'echo usr' USR1; kill -USR1 $$; trap 'echo x' EXIT": "usr\nx\n",
		"trap 'echo err $?' ERR; trap : EXIT; false; true":        "err 1\n",
		"trap : EXIT; trap 'echo a; echo \"b c\"' EXIT":           "a\nb c\n",
		"trap -- 'echo a' EXIT INT":                               "a\n",
	} {
		for name, st := range map[string]*environment.State{"carrying": environment.NewState(s.env.Info().Temp), "stateless": nil} {
			if _, out := s.run(t, environment.Command{Script: script, State: st}); out != want {
				t.Errorf("%s %q prints %q, want %q", name, script, out, want)
			}
		}
	}
}

func formerStays(t *testing.T, s *suite) {
	for name, c := range map[string]environment.Command{
		"exec":    {Script: "export A=2; cd /; exec true"},
		"signal":  {Script: "export A=2; cd /; kill -KILL $$"},
		"TERM":    {Script: "export A=2; cd /; kill -TERM $$; sleep 1"},
		"timeout": {Script: "export A=2; cd /; sleep 60", Timeout: 200 * time.Millisecond, Grace: 50 * time.Millisecond},
	} {
		d := s.env.Info().Temp
		st := environment.NewState(d)
		s.run(t, environment.Command{Script: "export A=1", State: st})
		c.State = st
		s.run(t, c)
		if _, out := s.run(t, environment.Command{Script: "echo $A", State: st}); out != "1\n" || st.Dir() != d {
			t.Errorf("%s: A is %q in %q", name, out, st.Dir())
		}
	}
}

// survives shows that A is 1 in the command after each script.
func survives(rows [][2]string) func(*testing.T, *suite) {
	return func(t *testing.T, s *suite) {
		for _, row := range rows {
			st := environment.NewState(s.env.Info().Temp)
			_, first := s.run(t, environment.Command{Script: row[1], State: st})
			if _, out := s.run(t, environment.Command{Script: "echo $A", State: st}); out != "1\n" {
				t.Errorf("%s: A is %q after %q, which printed %q", row[0], out, row[1], first)
			}
		}
	}
}
