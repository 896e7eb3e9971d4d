package envtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/environment"
)

// shells holds how a command is started and what it sees.
var shells = []check{
	{"ENG-1_EachCallIsAFreshShell", "", func(t *testing.T, s *suite) {
		st := environment.NewState(s.env.Info().Temp)
		_, first := s.run(t, environment.Command{Script: "x=1; set -f; umask 077; echo $$", State: st})
		_, second := s.run(t, environment.Command{Script: `echo $$; echo "x=$x $- $(umask)"`, State: st})
		pid, rest, _ := strings.Cut(second, "\n")
		if pid == strings.TrimSpace(first) || strings.Contains(rest, "x=1") || strings.Contains(strings.Fields(rest)[1], "f") || strings.Contains(rest, "0077") {
			t.Errorf("first %q, second %q", first, second)
		}
	}},
	{"ENG-2_ScriptsOfAnyLengthArriveUnchanged", "", scriptsArrive},
	{"ENG-2_NothingInAScriptTouchesWhatIsAround", "", func(t *testing.T, s *suite) {
		for script, want := range map[string]string{
			`echo 'a'"b"\'`:          "ab'\n",
			"echo \"'\"; echo '\"'":  "'\n\"\n",
			"cat <<E\n'$((1+1))'\nE": "'2'\n",
			"echo a # ' comment":     "a\n",
			"echo a;":                "a\n",
			"echo a &&\necho b":      "a\nb\n",
			"\n\necho $LINENO":       "3\n",
			`echo "$#:$*"`:           "0:\n",
			"set -x 2>/dev/null; echo a 2>/dev/null; exit 0": "a\n",
		} {
			st := environment.NewState(s.env.Info().Temp)
			var out buffer
			if res, _ := s.run(t, environment.Command{Script: script, State: st, Output: &out, Stderr: new(buffer)}); res.ExitCode != 0 || out.String() != want {
				t.Errorf("%q prints %q (exit %d), want %q", script, out.String(), res.ExitCode, want)
			}
		}
	}},
	{"ENG-2_TheShellReportsItsOwnSyntaxErrors", "", func(t *testing.T, s *suite) {
		res, out := s.run(t, environment.Command{Script: "echo before\nif (", State: environment.NewState(s.env.Info().Temp)})
		if res.ExitCode != 2 || !strings.HasPrefix(out, "before\n") || !strings.Contains(strings.ToLower(out), "syntax error") {
			t.Errorf("exit %d, %q", res.ExitCode, out)
		}
	}},
	{"ENG-3_ASessionOfItsOwnWithoutATerminal", "", func(t *testing.T, s *suite) {
		_, out := s.run(t, environment.Command{Script: `(: </dev/tty) 2>/dev/null && echo tty; read -r pid name state parent group session rest </proc/$$/stat && [ "$pid" = "$group" ] && [ "$pid" = "$session" ] && echo leads; echo end`})
		if out != "leads\nend\n" {
			t.Errorf("%q", out)
		}
	}},
	{"ENG-4_StandardInput", "", standardInput},
	{"ENG-5_OnlyTheThreeDescriptors", "", func(t *testing.T, s *suite) {
		for name, st := range map[string]*environment.State{"stateless": nil, "carrying": environment.NewState(s.env.Info().Temp)} {
			for _, c := range []environment.Command{
				{Script: "ls /proc/self/fd", State: st}, {Script: "ls /proc/self/fd; exit 0", State: st, Stdin: strings.NewReader("x")},
				{Script: "#" + strings.Repeat("x", 100<<10) + "\nls /proc/self/fd; exit 0", State: st}, {Argv: []string{"ls", "/proc/self/fd"}, State: st},
			} {
				if _, out := s.run(t, c); strings.Join(strings.Fields(out), " ") != "0 1 2 3" { // 3 is ls looking
					t.Errorf("%s %.30q %q: %q", name, c.Script, c.Argv, out)
				}
			}
		}
	}},
	{"ENG-5_DescriptorsThatAreMeant", Descriptor, func(t *testing.T, s *suite) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		_, _ = s.run(t, environment.Command{Script: `eval "echo there >&$ENVTEST_FD"`, Extra: []environment.Extra{{Name: "ENVTEST_FD", File: w}}})
		w.Close()
		var got bytes.Buffer
		if _, err := got.ReadFrom(r); err != nil || got.String() != "there\n" {
			t.Errorf("%q, %v", got.String(), err)
		}
	}},
	{"ENG-6_DirectoriesAreNames", "", directoriesAreNames},
	{"ENG-7_AGoneDirectory", "", goneDirectory},
	{"ENG_StderrApartOrInOrder", "", func(t *testing.T, s *suite) {
		const script = "echo 1; echo 2 >&2; echo 3; echo 4 >&2"
		if _, out := s.run(t, environment.Command{Script: script}); out != "1\n2\n3\n4\n" {
			t.Errorf("together: %q", out)
		}
		var out, errs buffer
		s.run(t, environment.Command{Script: script, Output: &out, Stderr: &errs})
		if out.String() != "1\n3\n" || errs.String() != "2\n4\n" {
			t.Errorf("apart: %q and %q", out.String(), errs.String())
		}
	}},
	{"ENG_WholeEnvironment", "", func(t *testing.T, s *suite) {
		st := environment.NewState(s.env.Info().Temp)
		s.run(t, environment.Command{Script: "export ENVTEST_A=1", State: st})
		_, out := s.run(t, environment.Command{Script: `echo "$ENVTEST_A,$ENVTEST_B,$ENVTEST_C"`, State: st,
			Environ: []string{"ENVTEST_B=2", "PATH=/usr/bin:/bin"}, Env: map[string]string{"ENVTEST_C": "3"}})
		if out != ",2,\n" {
			t.Errorf("%q", out)
		}
	}},
	{"ENG_ProgramsAreFoundInTheirOwnPath", "", func(t *testing.T, s *suite) {
		d := s.dir(t)
		s.sh(t, `printf '#!/bin/sh\necho mine' >`+string(d)+`/envtest-prog && chmod +x `+string(d)+`/envtest-prog`)
		res, out := s.run(t, environment.Command{Argv: []string{"envtest-prog"}, Env: map[string]string{"PATH": string(d) + ":/usr/bin:/bin"}})
		if res.ExitCode != 0 || out != "mine\n" {
			t.Errorf("exit %d, %q", res.ExitCode, out)
		}
	}},
	{"SUD-2_EachSudoGetsThePassword", Sudo, sudoGetsThePassword},
}

func scriptsArrive(t *testing.T, s *suite) {
	for _, size := range []int{1, 96<<10 - 1, 96 << 10, 1<<20 - 200} {
		text := strings.Repeat("0123456789'\"$\\é\n", size/16+1)[:size]
		sum := sha256.Sum256([]byte(text + "\n"))
		script := "sha256sum <<'ENVTEST-END'\n" + text + "\nENVTEST-END"
		res, out := s.run(t, environment.Command{Script: script, State: environment.NewState(s.env.Info().Temp)})
		if got, _, _ := strings.Cut(out, " "); got != hex.EncodeToString(sum[:]) {
			t.Errorf("%d bytes: exit %d, %.200q", size, res.ExitCode, out)
		}
	}
}

func standardInput(t *testing.T, s *suite) {
	if out := s.sh(t, "wc -c"); strings.TrimSpace(out) != "0" {
		t.Errorf("without data: %q", out)
	}
	if out := s.sh(t, "[ -p /dev/stdin ] && echo pipe || echo none"); out != "none\n" {
		t.Errorf("without data stdin is a %q", out)
	}
	data := bytes.Repeat([]byte("a\x00b\xff\r\n"), 200_000)
	if _, out := s.run(t, environment.Command{Script: "cat", Stdin: bytes.NewReader(data)}); out != string(data) {
		t.Errorf("%d bytes came back as %d", len(data), len(out))
	}
	if _, out := s.run(t, environment.Command{Script: "cat", Stdin: strings.NewReader("no newline")}); out != "no newline" {
		t.Errorf("%q", out)
	}
	res, out := s.run(t, environment.Command{Script: "head -c 1", Stdin: bytes.NewReader(data)})
	if res.ExitCode != 0 || out != "a" {
		t.Errorf("a reader that stops early: exit %d, %q", res.ExitCode, out)
	}
}

func directoriesAreNames(t *testing.T, s *suite) {
	d := s.dir(t)
	for _, name := range []string{"-x", "a b", "a;b", "a++b", "$(x)", "[a]", "'", "\"", "ä", "~", "a\nb"} {
		if err := s.env.Files().MkdirAll(t.Context(), join(d, name), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, c := range []environment.Command{
			{Script: "pwd", Dir: string(join(d, name))}, {Script: "pwd", State: environment.NewState(join(d, name))},
			{Argv: []string{"pwd"}, Dir: string(join(d, name))},
		} {
			res, out := s.run(t, c)
			if out != string(join(d, name))+"\n" || res.Dir != join(d, name) {
				t.Errorf("%q: prints %q, result says %q", name, out, res.Dir)
			}
		}
	}
	st := environment.NewState(d)
	if _, out := s.run(t, environment.Command{Script: "pwd", Dir: "a b", State: st}); out != string(d)+"/a b\n" {
		t.Errorf("relative to the carried one: %q", out)
	}
	if st.Dir() != d {
		t.Errorf("a directory given for one call is carried: %q", st.Dir())
	}
	home := strings.TrimSpace(s.sh(t, "cd ~ && pwd"))
	for _, name := range []string{"~", "~/"} {
		if _, out := s.run(t, environment.Command{Script: "pwd", Dir: name}); strings.TrimSpace(out) != home {
			t.Errorf("%s is %q, want %q", name, out, home)
		}
	}
}

func goneDirectory(t *testing.T, s *suite) {
	d := s.dir(t)
	st := environment.NewState(d)
	s.run(t, environment.Command{Script: "mkdir -p a/b/c; cd a/b/c", State: st})
	if st.Dir() != join(d, "a/b/c") {
		t.Fatalf("carried %q", st.Dir())
	}
	s.sh(t, "rm -r '"+string(d)+"/a/b'")
	res, out := s.run(t, environment.Command{Script: "pwd", State: st})
	if out != string(d)+"/a\n" || !strings.Contains(res.DirNote, "a/b/c") || !strings.Contains(res.DirNote, string(join(d, "a"))) {
		t.Errorf("prints %q, note %q", out, res.DirNote)
	}
	if res, _ := s.run(t, environment.Command{Script: "pwd", State: st}); res.DirNote != "" {
		t.Errorf("said twice: %q", res.DirNote)
	}
	res, out = s.run(t, environment.Command{Script: "pwd", Dir: string(d) + "/none", State: st})
	if res.ExitCode != 126 || !strings.Contains(out, string(d)+"/none") {
		t.Errorf("an explicit one: exit %d, %q", res.ExitCode, out)
	}
	s.sh(t, "echo >'"+string(d)+"/file'")
	if res, out = s.run(t, environment.Command{Script: "pwd", Dir: string(d) + "/file"}); res.ExitCode != 126 || !strings.Contains(out, "file") {
		t.Errorf("a file: exit %d, %q", res.ExitCode, out)
	}
}

func sudoGetsThePassword(t *testing.T, s *suite) {
	const secret = `p'a"s $w\rd`
	d := s.dir(t)
	s.sh(t, `cd '`+string(d)+`' && echo '`+fakeSudo+`' >sudo && chmod +x sudo`)
	c := environment.Command{
		Env:    map[string]string{"PATH": string(d) + ":/usr/bin:/bin"},
		Script: `sudo show; echo x | sudo run cat; sudo show | cat; dirname "$SUDO_ASKPASS"; env | grep -c 'w.rd'; (sudo show & sudo show & sudo show & wait)`,
	}
	c.SudoSecret = func(context.Context) (string, error) { return secret, nil }
	_, out := s.run(t, c)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 8 || lines[0] != secret || lines[1] != "x" || lines[2] != secret || lines[4] != "0" ||
		strings.Join(lines[5:], "|") != strings.Join([]string{secret, secret, secret}, "|") {
		t.Fatalf("%q", lines)
	}
	if out := s.sh(t, "ls -d '"+lines[3]+"' 2>/dev/null | wc -l"); strings.TrimSpace(out) != "0" {
		t.Errorf("%s is left", lines[3])
	}
	c.SudoSecret = func(context.Context) (string, error) { return "", os.ErrPermission }
	c.Script = "sudo show; echo end"
	if res, out := s.run(t, c); res.Reason != environment.Exited || strings.TrimSpace(out) != "end" {
		t.Errorf("a refused password: %+v, %q", res, out)
	}
}

// fakeSudo asks as sudo does, then shows the password or runs the rest.
const fakeSudo = `#!/bin/sh
p=$("$SUDO_ASKPASS" Password:) || exit 1
[ -n "$p" ] || exit 1
[ "$1" = show ] && printf "%s\n" "$p" && exit
shift
exec "$@"`
