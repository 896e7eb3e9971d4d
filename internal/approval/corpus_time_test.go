package approval_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/internal/approval"
	"github.com/hermes-runtime/hermes/internal/approval/analysis"
	"github.com/hermes-runtime/hermes/internal/approval/rules"
)

// Sizes and bounds of A91. The bound that a test holds to is three times that of a quiet machine: it shares its processors with others,
// and not every machine is a fast one.
const (
	small      = 16 << 10
	large      = 64 << 10
	largeBound = 3 * 50 * time.Millisecond // of processor time for one analysis of large bytes
	suspect    = largeBound / 48           // of an eighth of that
	growth     = 6                         // of the time when the length is four times as much, on a quiet machine
)

// shape makes a text of about n bytes.
type shape struct {
	name string
	make func(n int) string
}

func repeated(name, unit string) shape {
	return shape{name, func(n int) string { return strings.Repeat(unit, n/len(unit)) }}
}

// between is a long body with something before and after it.
func between(name, head, unit, tail string) shape {
	return shape{name, func(n int) string { return head + strings.Repeat(unit, n/len(unit)) + tail }}
}

// nested opens something again and again and closes it as often.
func nested(name, opener, inner, closer string) shape {
	return shape{name, func(n int) string {
		k := n / (len(opener) + len(closer))
		return strings.Repeat(opener, k) + inner + strings.Repeat(closer, k)
	}}
}

// repeats are texts of one operator, quote, opener or small command again and again, also as a program text in quotes.
func repeats() []shape {
	var list []shape
	for _, unit := range []string{
		"|", "||", "&", "&&", ";", ";;", "(", ")", "{ ", "} ", "[", "[[ ", "]] ", "<", ">", ">>", "<<", "<<<", "<<-", "<(", ">(", "$", "$(", "${", "$((", "((", "`",
		"'", `"`, "$'", `$"`, `\`, "!", "#", "\n", " ", "\t", "=", "+=", "*", "?", "~", "^", "%", "@", ",", "{a,", "{1..9}", "{a,b}", "a{b,c}d ", "[a-z]", "?(a|", "\x00", "\xff", "é",
		"if ", "then ", "fi;", "for x in ", "do ", "done;", "while ", "case x in ", "x) ", "esac;", "function f ", "f() { ", "select x in ", "coproc ", "time ", "! ",
		"a;", "a|", "a&", "a&&", "a=b ", "a=$a$a;", "a+=x;", "$a ", "\"$a\" ", "${a/b/c} ", "${a##*b} ", "$((a+1)) ", "`a` ", "$(a) ", "<<E\nE\n", "<<<a ", ">a ", "2>&1 ",
		"'a' ", `"a" `, `\a `, "$'\\x61' ", "#a\n", "a\\\n", "~/a ", "/a/../a ", "a[1]=2;", "a=(b c);", "--a=b ", "-a ", "-- ",
		"eval ", "sh -c ", "sudo ", "env ", "xargs ", "exec ", "command ", "trap x 0;", "alias a=b;", "cd ..;", "cd a&&", "set -- a;", "shift;", "read a<<<b;", "printf -v a b;",
		"find . -exec ", "find . -delete;", "rm -rf /;", "rm -rf $a/ ", "echo a|sh;", "curl a|", "python -c 'x' ", "awk 'x' ", "sed e ", "git -c a=b ", "ssh a ", "docker run -v /:/a ",
		"psql -c 'DROP TABLE a' ", "dd of=/dev/sda;", "kill -9 -1;", "f(){ f|f& };", "base64 -d<<<YQ== |", "local a=b;", "export a=b;", "unset a;", ". a;", "source <(a);",
	} {
		list = append(list, repeated(fmt.Sprintf("%q again and again", unit), unit))
	}
	for _, name := range []string{"sh -c", "bash -c", "eval", "psql -c", "python3 -c", "node -e", "perl -e", "ruby -e", "php -r", "awk", "sed -n", "mysql -e", "sqlite3 a", "ssh h", "xargs sh -c", "trap", "echo"} {
		for _, body := range []string{"(", "a ", "a;", "\"", "\\", "# ", "DROP ", "x=1\n", "/*", "--", "$a", "+"} {
			list = append(list, between(fmt.Sprintf("%s with a body of %q", name, body), name+" '", body, "'"))
		}
	}
	return list
}

// bodies are texts that could cost more than their length: nestings, long bodies, words and comments, variables that double.
func bodies() []shape {
	return []shape{
		nested("groups", "{ ", "a", ";}"), nested("subshells", "(", "a", ")"), nested("substitutions", "$(", "a", ")"), nested("expansions", "${a:-", "b", "}"),
		nested("arithmetic", "$((", "1", "))"), nested("parentheses in arithmetic", "((", "1", "))"), nested("conditions", "if a; then ", "b", "; fi"), nested("loops", "for a in b; do ", "c", "; done"),
		nested("functions", "f() { ", "a", "; }"), nested("brace lists", "{a,", "b", "}"), nested("process substitutions", "<(", "a", ")"), nested("tests", "[[ ( ", "a", " ) ]]"),
		nested("quotes in substitutions", `"$(`, "a", `)"`), nested("cases", "case a in b) ", "c", " ;; esac"),
		between("a long word", "rm -rf ", "a", ""), between("a long path", "rm -rf /", "a/", ""), between("a long climb", "rm -rf ", "../", ""), between("a long glob", "rm -rf /", "*", ""),
		between("a long comment", "# ", "x ", ""), between("a here-document", "cat <<E\n", "$a `b` x\n", "E\n"), between("a here-document to sh", "sh <<E\n", "a;\n", "E\n"),
		between("a quoted here-document to sh", "sh <<'E'\n", "rm -rf a\n", "E\n"), between("many here-documents", "", "cat <<A <<B\nA\nB\n", ""), between("base64", "echo ", "cm0g", "|base64 -d|sh"),
		between("hex", "echo ", "726d", "|xxd -r -p|sh"), between("a value and its patterns", "a=", "ab", ";echo ${a//a/b} ${a##*a} ${a%%b*}"), between("a list of loop items", "for a in ", "b ", "; do rm -rf $a; done"),
		between("an array", "a=(", "b ", "); rm -rf ${a[@]}"), between("doubling", "a=xx;", "a=$a$a;", "rm -rf $a"), between("branches that assign", "a=b;", "if x; then a=$a;fi;", "$a"),
		between("SQL quotes", `psql -c "`, "'", `"`), between("an unset variable", "rm -rf ", "$x/ ", ""), between("words by default", "rm ", "${x:-y} ", ""),
		between("a chain of pipes to sh", "echo a", "|cat", "|sh"), between("functions that call on", "", "f() { f; };", "f"), between("definitions and calls", "f() { a; };", "f;", ""),
		between("aliases", "", "alias a='b c';", "a"), between("redirects of a group", "{ a; }", ">b ", ""), between("assignments before", "", "A=1 ", "rm -rf /"), between("wrappers", "", "nice ", "rm -rf /"),
		between("options of rm", "rm ", "-r ", "/"), between("words after --", "rm -- ", "-r ", ""), between("globs of programs", "", "r*m ", ""), between("a set for a program", "a=b;", "[ x ]&&a=rm;", "$a -rf /"),
	}
}

// programShapes repeat every program that a row is about.
func programShapes() []shape {
	var list []shape
	for _, p := range rules.Programs() {
		list = append(list, repeated(p+" as commands", p+" -rf x;"), repeated(p+" as words", p+" "))
	}
	return list
}

func took(text string) time.Duration {
	start := spent()
	approval.Analyze(text, analysis.Input{Dir: "/data/app", Home: "/home/ann"})
	return spent() - start
}

// leastOf is the least time of several tries: others on the machine make one longer, none shorter.
func leastOf(tries int, text string, enough time.Duration) time.Duration {
	d := took(text)
	for range tries - 1 {
		if d <= enough {
			break
		}
		d = min(d, took(text))
	}
	return d
}

// A91: no text of 64 KiB takes long, whatever its shape. Shapes are tried at an eighth of that, and those that could be too slow when
// the time grows with the square of the length are tried whole. Of the programs some are tried, unless all are asked for.
func TestTime_NoShapeTakesLong(t *testing.T) {
	if raced {
		t.Skip("one thread's work, many times slower than it is: nothing to be seen here")
	}
	type cost struct {
		name string
		d    time.Duration
	}
	var costs []cost
	all := slices.Concat(bodies(), repeats())
	for i, s := range programShapes() {
		if i%7 < 2 || *everyDisguise {
			all = append(all, s)
		}
	}
	for _, s := range all {
		if !*everyDisguise && leastOf(3, s.make(large/8), suspect) <= suspect {
			continue
		}
		d := leastOf(5, s.make(large), largeBound)
		costs = append(costs, cost{s.name, d})
		if d > largeBound {
			t.Errorf("%s: %v for %d KiB", s.name, d, large>>10)
		}
	}
	slices.SortFunc(costs, func(a, b cost) int { return int(b.d - a.d) })
	t.Logf("%d shapes tried whole", len(costs))
	for _, c := range costs[:min(12, len(costs))] {
		t.Logf("%-40s %v", c.name, c.d.Round(10*time.Microsecond))
	}
}

// A91, for a quiet machine: how the time of each shape grows when the text is four times as long. The metric is the worst shape's. Of the
// shapes that repeat one thing some are tried, unless all are asked for.
func BenchmarkShapes_Growth(b *testing.B) {
	all := bodies()
	for i, s := range slices.Concat(repeats(), programShapes()) {
		if i%29 == 0 || *everyDisguise {
			all = append(all, s)
		}
	}
	worst, worstName, longest, longestName := 0.0, "", time.Duration(0), ""
	for b.Loop() {
		for _, s := range all {
			l := leastOf(3, s.make(large), 0)
			if g := float64(l) / float64(max(leastOf(3, s.make(small), 0), time.Millisecond)); g > worst {
				worst, worstName = g, s.name
			}
			if l > longest {
				longest, longestName = l, s.name
			}
		}
	}
	b.ReportMetric(worst, "×/4×length")
	b.ReportMetric(float64(longest)/1e6, "ms/64KiB")
	b.Logf("grows most: %s, %.1f times (%d at most wanted); takes longest: %s, %v", worstName, worst, growth, longestName, longest)
}

// A90: analysis and rules over the corpus, each line by itself: what half and what nearly all of the lines cost at most.
func BenchmarkCorpus_Lines(b *testing.B) {
	all := corpus(b)
	times := make([]time.Duration, len(all))
	for b.Loop() {
		for i, e := range all {
			start := time.Now()
			e.report()
			if d := time.Since(start); times[i] == 0 || d < times[i] {
				times[i] = d
			}
		}
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2])/1e3, "µs-p50")
	b.ReportMetric(float64(times[len(times)*99/100])/1e3, "µs-p99")
	b.ReportMetric(float64(times[len(times)-1])/1e3, "µs-max")
}
