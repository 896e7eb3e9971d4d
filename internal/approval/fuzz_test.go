package approval_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/internal/approval"
	"github.com/hermes-runtime/hermes/internal/approval/analysis"
	"github.com/hermes-runtime/hermes/internal/approval/payload"
	"github.com/hermes-runtime/hermes/internal/approval/payload/timetest"
)

// seldom is what part of the corpus is gone through when the detector of races looks on: one thread's work shows it nothing.
const seldom = 5

// A92: no panic, the same answer each time, spans that lie in the text.
func FuzzAnalyze(f *testing.F) {
	for i, e := range corpus(f) {
		if i%7 == 0 {
			f.Add(e.Command)
		}
	}
	f.Fuzz(func(t *testing.T, command string) {
		in := analysis.Input{Dir: "/data/app", Home: "/home/ann"}
		most := timetest.Most(command)
		if d := timetest.Least(timetest.Tries, most, analysed(command)); d > most {
			t.Errorf("%q of %d bytes takes %v of the processor, at most %v wanted", command[:min(len(command), 200)], len(command), d, most)
		}
		a, b := approval.Analyze(command, in), approval.Analyze(command, in)
		if ia, ib := ids(a), ids(b); !slices.Equal(ia, ib) {
			t.Errorf("%q: %v, then %v", command, ia, ib)
		}
		for _, n := range a.Reading.Notes {
			if strings.Contains(n.Reason, "the analysis failed") || strings.Contains(n.Reason, "parser failed") {
				t.Errorf("%q: %s", command, n.Reason)
			}
		}
		for _, finding := range a.Findings {
			if s := finding.Span; s.Start < 0 || s.Start > s.End || s.End > len(command) {
				t.Errorf("%q: %s has the span %v", command, finding.Row.ID, s)
			}
		}
		for _, c := range a.Reading.Commands {
			for _, w := range c.Words {
				if w.Span.Start < 0 || w.Span.Start > w.Span.End || w.Span.End > len(command) {
					t.Errorf("%q: a word has the span %v", command, w.Span)
				}
			}
		}
		if len(a.Reading.Commands) == 0 && len(a.Findings) == 0 && len(command) < 64 && strings.Contains(command, "rm -rf /\n") && !strings.ContainsAny(command, "'\"#<=\\") {
			t.Errorf("%q: read as nothing", command)
		}
	})
}

func ids(r *approval.Report) []string {
	_, ids := verdict(r)
	return ids
}

func FuzzSQL(f *testing.F) {
	for _, s := range []string{"DROP TABLE t", "DELETE FROM t WHERE a=1", "DO $$ BEGIN DROP TABLE t; END $$", "/*!50000 x */", "'a\\'", "$a$", "WITH x AS (DELETE FROM t) SELECT 1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, d := range []payload.SQLDialect{payload.SQLStandard, payload.SQLBackslash} {
			if a, b := payload.SQL(text, d), payload.SQL(text, d); !reflect.DeepEqual(a, b) {
				t.Errorf("%q: %v, then %v", text, a, b)
			}
		}
	})
}

// A92: what carries a command doesn't change what is found in it.
func TestAnalyze_CarriersKeepTheFindings(t *testing.T) {
	carriers := []string{"%s", "A=1 %s", "sudo %s", "env X=y %s", "nohup %s", "timeout 5 %s", "nice %s", "command %s", "true && %s", "%s || true",
		"(%s)", "{ %s\n}", "if true; then %s\nfi", "for i in 1; do %s\ndone", "%s > out.txt", "echo $(%s)", "f() { %s\n}; f", "! %s", "%s &"}
	for i, e := range corpus(t) {
		if raced && i%seldom != 0 || e.Verdict == "allow" || len(e.IDs) != 1 || strings.ContainsAny(e.Command, "\n;&|(){}<>#$`=!") || strings.HasPrefix(e.IDs[0], "analysis.") ||
			strings.HasPrefix(e.Command, "coproc") { // a keyword is one at the beginning only
			continue
		}
		for _, c := range carriers {
			carried := strings.Replace(c, "%s", e.Command, 1)
			got := approval.Analyze(carried, analysis.Input{Dir: e.Dir, Home: "/home/ann"})
			if !slices.Contains(ids(got), e.IDs[0]) {
				t.Errorf("%q: %v, want %v", carried, ids(got), e.IDs)
			}
		}
	}
}

// A92: in single quotes behind a plain program, in a comment, in a quoted here-document, a command is text.
func TestAnalyze_TextIsNoCommand(t *testing.T) {
	for i, e := range corpus(t) {
		if raced && i%seldom != 0 || e.Verdict == "allow" || strings.Contains(e.Command, "\nEOF") {
			continue
		}
		quoted := "'" + strings.ReplaceAll(e.Command, "'", `'\''`) + "'"
		for _, text := range []string{"echo " + quoted, "grep -F " + quoted + " f", "git commit -m " + quoted,
			"cat <<'STOP' > /tmp/notes\n" + e.Command + "\nSTOP", "# " + strings.ReplaceAll(e.Command, "\n", " ")} {
			if got := approval.Analyze(text, analysis.Input{Dir: e.Dir, Home: "/home/ann"}); len(got.Findings) != 0 {
				t.Errorf("%q: %v", text, ids(got))
			}
		}
	}
}

// A6, A91: long and nested texts end in a verdict. The bound is the analysis's own, with room for a loaded machine.
func TestAnalyze_HostileShapesEnd(t *testing.T) {
	long := 64 << 10
	if raced {
		long /= seldom
	}
	fill := func(s string) string { return strings.Repeat(s, long/len(s)) }
	for name, command := range map[string]string{
		"parentheses": fill("("), "braces": fill("{"), "substitutions": fill("$("), "backquotes": fill("`"), "quotes": fill(`"`), "single": fill("'"),
		"expansions": fill("${"), "brackets": fill("["), "arithmetic": fill("$(("), "heredocs": fill("<<a "), "pipes": fill("a|"), "lists": fill("a;"),
		"ands": fill("a&&"), "background": fill("a&"), "redirects": fill(">a "), "words": fill("rm "), "stars": fill("*"), "questions": fill("?"),
		"backslashes": fill(`\`), "lines": fill("\n"), "comments": fill("#\n"), "ifs": fill("if "), "cases": fill("case x in "), "functions": fill("f(){ "),
		"removals": fill("rm -rf /;"), "evals": fill("eval "), "sudos": fill("sudo "), "shells": fill("sh -c "), "assignments": fill("a=$a$a;"),
		"doubling": "a=xx;" + fill("a=$a$a;"), "brace lists": fill("{a,b}"), "nested lists": fill("{a,{b,"), "sql": "psql -c '" + fill("DROP;") + "'",
		"sql quotes": `psql -c "` + fill("'") + `"`, "finds": fill("find . -exec "), "xargs": fill("xargs "), "nul": fill("\x00"), "bytes": fill("\xff"),
		"loops": fill("for x in a b; do "), "globs": fill("r*m"), "any program": "* " + fill("0 "), "removed": "rm -rf " + fill("$x/ "), "sets": "a=b;" + fill("if x; then a=$a;fi;"), "bombs": fill("f(){ f|f& };"),
		"replace": "a=" + fill("a") + ";" + strings.Repeat("echo ${a/a/b};", 100), "trim": "a=" + fill("a") + ";" + strings.Repeat("echo ${a##*b};", 100),
	} {
		if d := timetest.Took(analysed(command)); d > 3*time.Second {
			t.Errorf("%s: %v", name, d)
		} else if testing.Verbose() {
			t.Logf("%-14s %8v", name, d.Round(time.Microsecond))
		}
	}
}
