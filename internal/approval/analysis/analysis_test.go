package analysis_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
)

func read(t testing.TB, command string) *analysis.Reading {
	t.Helper()
	s, err := analysis.Parse(command)
	if err != nil {
		t.Logf("%q: %v", command, err)
	}
	return s.Read(analysis.Input{Dir: "/data", Home: "/home/ann"})
}

// argvs shows what a reading runs: a command a line, … for what isn't known, | between the values that a word may have.
func argvs(r *analysis.Reading) string {
	var lines []string
	for _, c := range r.Commands {
		var words []string
		for _, w := range c.Words {
			var vals []string
			for _, v := range w.Values() {
				vals = append(vals, analysis.Show(v))
			}
			words = append(words, strings.Join(vals, "|"))
		}
		lines = append(lines, strings.Join(words, " "))
	}
	return strings.Join(lines, "\n")
}

// A14–A17, A20, A25, A26, A28: what each spelling comes to.
func TestRead_FoldsAsTheShellDoes(t *testing.T) {
	for command, want := range map[string]string{
		`echo a\ b 'c d' "e f" $'g\th'`:        "echo a b c d e f g\th",
		"echo a\\\nb":                          "echo ab",
		`echo ~ ~/x ~bob/y "~"`:                "echo /home/ann /home/ann/x /home/bob/y ~",
		`echo {a,b{c,d}} {1..3} {c..a} {x} {}`: "echo a bc bd 1 2 3 c b a {x} {}",
		`X=a; echo $X ${X} "$X" '$X' \$X`:      "echo a a a $X $X",
		`X="a b"; echo $X "$X"`:                "echo a b a b",
		`X='*'; echo $X "$X"`:                  "echo * *",
		`echo $UNKNOWN "x$UNKNOWN"`:            "echo … x…",
		`X=abcabc; echo ${X#a} ${X%c} ${X/b/x} ${X//b/x} ${X:1:2} ${X^^} ${#X}`: "echo bcabc abcab axcabc axcaxc bc ABCABC …",
		`X=/a/b.tar.gz; echo ${X##*/} ${X%%.*} ${X%.*}`:                         "echo b.tar.gz /a/b /a/b.tar",
		`echo ${A:-x} ${B:=y} $B; C=; echo ${C:-z}`:                             "echo x|… y|… y|…\necho z",
		`if a; then X=1; else X=2; fi; echo $X`:                                 "a\necho 1|2",
		`X=0; if a; then X=1; fi; echo $X`:                                      "a\necho 1|0",
		`for x in a b; do echo $x; done`:                                        "echo a|b",
		`a=(1 "2 3"); echo "${a[@]}" ${a[1]}`:                                   "echo 1 2 3 2 3",
		`set -- x y; echo $2 $1 "$@"`:                                           "set -- x y\necho y x x y",
		`f() { echo "$1"; }; f a; f b`:                                          "echo a\necho b",
		`echo $(echo a; echo b)`:                                                "echo a\necho b\necho a b",
		`bash -c 'echo $0 $1' x y`:                                              "bash -c echo $0 $1 x y\necho x y",
		`eval "echo \$HOME"`:                                                    "eval echo $HOME\necho /home/ann",
		`echo 'echo b' | sh`:                                                    "echo echo b\nsh\necho b",
		`X=1 env A=2 nice -n 3 ls`:                                              "env A=2 nice -n 3 ls\nnice -n 3 ls\nls",
		`echo a | xargs -I{} ls {}/b`:                                           "echo a\nxargs -I{} ls {}/b\nls a/b",
		`find d -exec ls {} \;`:                                                 "find d -exec ls {} ;\nls d/…",
		"cat <<EOF | sh\necho $HOME\nEOF":                                       "cat\nsh\necho /home/ann",
		"cat <<'EOF' | sh\necho $HOME\nEOF":                                     "cat\nsh\necho /home/ann",
		"sh <<-EOF\n\techo a\n\tEOF":                                            "sh\necho a",
		`ls # comment`:                                                          "ls",
		"ls\x00 a":                                                              "ls a",
		"echo \xff\xfe":                                                         "echo ÿþ",
	} {
		if got := argvs(read(t, command)); got != want {
			t.Errorf("%q:\n%s\nwant\n%s", command, got, want)
		}
	}
}

// A30: a cd is scoped as the shell scopes it; where its status is not looked at, both outcomes stay.
func TestRead_FollowsTheDirectory(t *testing.T) {
	for command, want := range map[string]string{
		"pwd":                               "/data",
		"cd a && pwd":                       "/data/a",
		"cd a; pwd":                         "/data/a /data",
		"cd a\npwd":                         "/data/a /data",
		"(cd a); pwd":                       "/data",
		"cd a | cat; pwd":                   "/data",
		"cd / ; pwd":                        "/",
		"cd; pwd":                           "/home/ann",
		"cd ~/x && pwd":                     "/home/ann/x",
		"cd a && cd .. && pwd":              "/data",
		"cd a || exit; pwd":                 "/data/a",
		"cd a || { echo no; exit 1; }; pwd": "/data/a",
		"cd a || true; pwd":                 "/data/a /data",
		"set -e; cd a; pwd":                 "/data/a",
		"cd \"$X\" && pwd":                  "",
		"cd a && cd - && pwd":               "/data",
		"if cd a; then pwd; fi":             "/data/a",
		"pushd a && pwd":                    "/data/a",
		"if x; then cd a && true; fi; pwd":  "/data/a /data",
		"env -C a pwd":                      "/data/a",
		"f() { cd a; }; f && pwd":           "/data/a /data",
	} {
		r := read(t, command)
		var got []string
		for _, c := range r.Commands {
			if c.Program == "pwd" {
				got = c.Dirs
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", command, got, want)
		}
	}
}

// TRM-8: the last command of the last pipeline, behind assignments, env, timeout and a path.
func TestReading_LastDecidesTheStatus(t *testing.T) {
	for command, want := range map[string]string{
		"grep x f": "grep",
		"ls; A=1 timeout 5 env B=2 /bin/grep x f": "grep",
		"cat f | grep x":           "grep",
		"grep x f | cat":           "cat",
		"true && grep x f":         "grep",
		"grep x f || true":         "true",
		"(cd a; grep x f)":         "grep",
		"{ grep x f; }":            "grep",
		"sudo grep x f":            "grep",
		"time grep x f":            "grep",
		"! grep x f":               "",
		"grep x f &":               "",
		"if grep x f; then ls; fi": "",
		"find . -exec grep x {} +": "find",
		"xargs grep x":             "xargs",
		"bash -c 'grep x f'":       "bash",
		"":                         "",
	} {
		got := ""
		if c := read(t, command).Last(); c != nil {
			got = c.Program
		}
		if got != want {
			t.Errorf("%q: %q, want %q", command, got, want)
		}
	}
}

// TRM-9: lists ended by & whose job is neither waited for, ended nor brought back.
func TestReading_UnawaitedJobs(t *testing.T) {
	for command, want := range map[string]string{
		"srv &":                              "srv &",
		"srv & sleep 1":                      "srv &",
		"a && b &":                           "a && b &",
		"a & b; wait":                        "",
		"srv & sleep 1; kill $!":             "",
		"srv & P=$!; sleep 1; kill $P":       "",
		"srv & sleep 1; kill %1":             "",
		"srv & fg":                           "",
		"ls &> out":                          "",
		"ls 2>&1":                            "",
		"echo 'a &'":                         "",
		"kill $!; srv &":                     "srv &",
		"cat <<EOF\na &\nEOF":                "",
		"(srv &)":                            "srv &",
		"trap 'kill $!' EXIT; srv & wait $!": "",
	} {
		r := read(t, command)
		var got []string
		for _, s := range r.Unawaited() {
			got = append(got, s.Slice(command))
		}
		if strings.Join(got, "\n") != want {
			t.Errorf("%q: %q, want %q", command, got, want)
		}
	}
}

// A4–A6: what is over a limit is a note, never a crash or a silence.
func TestParse_LimitsAreNotes(t *testing.T) {
	for name, command := range map[string]string{
		"text":     "echo " + strings.Repeat("a", analysis.MaxText),
		"nesting":  strings.Repeat("(", 200) + "ls" + strings.Repeat(")", 200),
		"keywords": strings.Repeat("if true; then ", 200) + "ls; " + strings.Repeat("fi; ", 200),
		"quotes":   strings.Repeat(`"$(echo `, 200) + "x" + strings.Repeat(`)"`, 200),
		"braces":   "echo {1..5000}",
		"commands": strings.Repeat("ls;", 5000),
		"payloads": strings.Repeat("eval ", 20) + "ls",
		"loops":    "for a in {1..64}; do for b in {1..64}; do for c in {1..64}; do for d in {1..64}; do ls; ls; done; done; done; done",
	} {
		r := read(t, command)
		found := false
		for _, n := range r.Notes {
			found = found || n.Kind == analysis.NoteLimit
			if n.Span.End > len(command) || n.Span.Start > n.Span.End {
				t.Errorf("%s: span %v of %d bytes", name, n.Span, len(command))
			}
		}
		if !found {
			t.Errorf("%s: no limit noted: %+v", name, r.Notes)
		}
	}
	if _, err := analysis.Parse(strings.Repeat("a", analysis.MaxText+1)); !errors.Is(err, analysis.ErrTooLarge) {
		t.Errorf("err %v, want ErrTooLarge", err)
	}
	if r := read(t, `echo "`+strings.Repeat("if (it's) { fine ", 300)+`"`); len(r.Notes) != 0 {
		t.Errorf("prose in quotes: %+v", r.Notes)
	}
}

// A7, A9: what bash would run before it meets the error is read.
func TestParse_ReadsUpToTheError(t *testing.T) {
	r := read(t, "ls a\necho )\n")
	if argvs(r) != "ls a" || len(r.Notes) != 1 || r.Notes[0].Kind != analysis.NoteUnparsed {
		t.Errorf("%q %+v", argvs(r), r.Notes)
	}
	if r := read(t, "cat <<EOF\nopen"); argvs(r) != "cat" || len(r.Notes) != 0 {
		t.Errorf("an open here-document: %q %+v", argvs(r), r.Notes)
	}
}

func TestScript_IsReadByManyAtOnce(t *testing.T) {
	s, err := analysis.Parse(`X={a,b}; echo {a,b}{c,d} $(echo x) | sh -c 'ls {1,2}'`)
	if err != nil {
		t.Fatal(err)
	}
	want := s.Read(analysis.Input{})
	done := make(chan *analysis.Reading)
	for range 8 {
		go func() { done <- s.Read(analysis.Input{}) }()
	}
	for range 8 {
		if got := <-done; !reflect.DeepEqual(got, want) {
			t.Errorf("%v, want %v", argvs(got), argvs(want))
		}
	}
}
