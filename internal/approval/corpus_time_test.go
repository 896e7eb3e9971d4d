package approval_test

import (
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/internal/approval"
	"github.com/hermes-runtime/hermes/internal/approval/analysis"
	"github.com/hermes-runtime/hermes/internal/approval/payload/timetest"
)

// The bounds of A91: the processor time of one analysis, in proportion above that many bytes, and what it allocates.
const (
	small     = 16<<10 - 256
	large     = 64<<10 - 256 // below the length from which on the analysis looks at the clock
	mostBytes = 64 << 20
	growth    = 4.5 // of what is allocated when the length is four times as much
)

// analysed is the analysis of a text, for its time to be taken.
func analysed(text string) func() {
	return func() { approval.Analyze(text, analysis.Input{Dir: "/data/app", Home: "/home/ann"}) }
}

// some leaves of many shapes every n-th, unless all are asked for.
func some(all []shape, n int) (out []shape) {
	for i, s := range all {
		if i%n == 0 || *everyDisguise {
			out = append(out, s)
		}
	}
	return out
}

// A91: no text of 64 KiB takes long, whatever its shape. Of the shapes that repeat one thing some are tried, unless all are asked for.
func TestTime_NoShapeTakesLong(t *testing.T) {
	if raced {
		t.Skip("one thread's work, many times slower than it is: nothing to be seen here")
	}
	type cost struct {
		name string
		d    time.Duration
	}
	var costs []cost
	for _, s := range slices.Concat(bodies(), some(growing(), 4), some(repeats(), 5), some(programShapes(), 37)) {
		text := s.make(large)
		most := timetest.Most(text)
		d := timetest.Least(timetest.Tries, most, analysed(text))
		costs = append(costs, cost{s.name, d})
		if d > most {
			t.Errorf("%s: %v for %d bytes, at most %v wanted", s.name, d, len(text), most)
		}
	}
	slices.SortFunc(costs, func(a, b cost) int { return int(b.d - a.d) })
	t.Logf("%d shapes", len(costs))
	for _, c := range costs[:min(12, len(costs))] {
		t.Logf("%-50s %v", c.name, c.d.Round(10*time.Microsecond))
	}
}

// allocated is what an analysis allocates, in bytes: unlike time, the same on any machine.
func allocated(text string) float64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	approval.Analyze(text, analysis.Input{Dir: "/data/app", Home: "/home/ann"})
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc - before.TotalAlloc)
}

// A91: what a shape costs is linear in its length, and within 64 MiB.
func TestTime_WorkIsLinear(t *testing.T) {
	if raced {
		t.Skip("memory of its own under the detector")
	}
	const slack = 2 << 20 // buffers that are there whatever the length, and what a list leaves behind each time it grows
	worst, worstName := 0.0, ""
	for _, s := range slices.Concat(bodies(), some(growing(), 7), some(repeats(), 9), some(programShapes(), 97)) {
		s4, s16 := allocated(s.make(small)), allocated(s.make(large))
		if s16 > mostBytes {
			t.Errorf("%s: %.1f MiB for %d KiB", s.name, s16/(1<<20), large>>10)
		}
		if s16 > growth*s4+slack {
			t.Errorf("%s: %.1f times as much for four times the length (%.1f MiB)", s.name, s16/s4, s16/(1<<20))
		}
		if g := s16 / (s4 + slack); g > worst {
			worst, worstName = g, s.name
		}
	}
	t.Logf("grows most: %s, %.1f times", worstName, worst)
}

// A91, for a quiet machine: how the time of each shape grows when the text is four times as long. The metric is the worst shape's. Of the
// shapes that repeat one thing some are tried, unless all are asked for.
func BenchmarkShapes_Growth(b *testing.B) {
	all := slices.Concat(bodies(), some(slices.Concat(repeats(), growing(), programShapes()), 29))
	worst, worstName, longest, longestName := 0.0, "", time.Duration(0), ""
	for b.Loop() {
		for _, s := range all {
			l := timetest.Least(3, 0, analysed(s.make(large)))
			if g := float64(l) / float64(max(timetest.Least(3, 0, analysed(s.make(small))), time.Millisecond)); g > worst {
				worst, worstName = g, s.name
			}
			if l > longest {
				longest, longestName = l, s.name
			}
		}
	}
	b.ReportMetric(worst, "×/4×length")
	b.ReportMetric(float64(longest)/1e6, "ms/64KiB")
	b.Logf("grows most: %s, %.1f times (%v at most wanted); takes longest: %s, %v", worstName, worst, growth, longestName, longest)
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

// A6, A91: a text that takes more work than its length allows is asked about, wherever the work is: in the grammar, in walking, folding,
// filters, programs, SQL, or in judging. What was read before counts: a floor act stays one.
func TestTime_WhatIsTooMuchIsAsked(t *testing.T) {
	text := strings.Repeat("ab", 500)
	for name, command := range map[string]string{
		"a chain in a function": "f(){ a" + strings.Repeat("|a", 30_000) + "; }",
		"brace lists":           strings.Repeat("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b} ", 200),
		"patterns of programs":  numbered("", "", "*q%*e*i*s*t;", "").make(8 << 10),
		"copies of variables":   numbered("", "", "(a%=b);a%=b;", "").make(16 << 10),
		"arrays":                strings.Repeat("a+=(b);", 2000),
		"trimming":              "a=" + text + ";" + strings.Repeat("${a#*c*d*e};", 100),
		"regular expressions":   "a=" + text + ";" + strings.Repeat("[[ $a =~ (a{100}){9}b ]];", 50),
		"filters":               "echo " + text + text + strings.Repeat("|sed -E 's/(a*)*b/c/g'", 300),
		"programs":              strings.Repeat("node -e 'a;';", 3000),
		"calls":                 "f(){ a;a;a;a;a;a;a;a;};g(){ f;f;f;f;f;f;f;f;};h(){ g;g;g;g;g;g;g;g;};h;h;h;h;h;h;h;h;h;h",
		"SQL, in judging":       "a='" + strings.Repeat("+", 20_000) + "';" + strings.Repeat(`psql -c "$a";`, 16),
	} {
		if got := approval.Analyze(command, analysis.Input{Dir: "/data/app", Home: "/home/ann"}); !slices.Contains(ids(got), "analysis.limit") {
			t.Errorf("%s: %v, want analysis.limit among them", name, ids(got))
		}
		if got := approval.Analyze("rm -rf /;"+command, analysis.Input{Dir: "/data/app", Home: "/home/ann"}); !got.Floor() {
			t.Errorf("%s: behind a floor act, which is no longer one: %v", name, ids(got))
		}
	}
}

// A4: a long script of simple commands is no reason to ask: up to 3,000 of them in 64 KiB, and what a build, an installation or a test
// run is made of.
func TestTime_LargeOrdinaryScriptsPass(t *testing.T) {
	var mixed strings.Builder
	lines := 0
	for _, e := range corpus(t) {
		if e.Verdict != "allow" || e.Dir != "/data/app" || !plainText.MatchString(e.Command) || keyword.MatchString(e.Command) {
			continue
		}
		if mixed.Len()+len(e.Command) < large && lines < 3000 {
			mixed.WriteString(e.Command + "\n")
			lines++
		}
	}
	if lines < 1100 {
		t.Errorf("%d lines of the corpus in one script, want at least 1,100", lines)
	}
	repeat := func(n int, unit string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(strings.ReplaceAll(unit, "%", strconv.Itoa(i)))
		}
		return b.String()
	}
	for name, script := range map[string]string{
		"lines of the corpus":    mixed.String(),
		"short commands":         repeat(300, "git add x%\ncp a% b%\nmkdir -p d%\nls d%\nmv a% b%\ntouch f%\ntest -f f%\nx=%\necho $x\ncat f%\n"),
		"copies":                 "set -e\nROOT=/data/app\nOUT=$ROOT/out\n" + repeat(1000, "mkdir -p \"$OUT/d%\" && cp \"$ROOT/src/f%.c\" \"$OUT/d%/\"\n"),
		"conditions":             repeat(750, "if [ ! -f out/% ]; then\n  echo \"make %\" | tee -a log\n  touch out/%\nfi\n"),
		"searches":               repeat(500, "sed -i \"s/foo%/bar/g\" src/a%.c\ngrep -rn foo% src | wc -l\nfind . -name \"x%*\" -type f\ncurl -s http://localhost/%\n"),
		"functions and calls":    "log() { echo \"$(date +%s) $1\" >> log; }\n" + repeat(1000, "log \"step %\"\ntouch s%\n"),
		"a file, line by line":   repeat(1500, "echo \"key%: value %\" >> settings.txt\n"),
		"a here-document a file": repeat(550, "cat > src/f%.txt <<'EOF'\nsome text, number %\nand more of it in a second line\nEOF\n"),
	} {
		if len(script) > 64<<10 {
			t.Errorf("%s: %d bytes", name, len(script))
		}
		r := judge(script)
		if name != "lines of the corpus" && len(r.Findings) > 0 || slices.Contains(ids(r), "analysis.limit") { // lines may mean more side by side
			t.Errorf("%s: %v in %d commands: %q", name, ids(r), len(r.Reading.Commands), r.Findings[0].Reason)
		}
	}
}
