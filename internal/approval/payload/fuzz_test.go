package payload_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/internal/approval/payload"
	"github.com/hermes-runtime/hermes/internal/approval/payload/timetest"
)

// inTime has a scan keep within the processor time that its text's length gives (A91). Of many tries the shortest counts: what else the
// machine does makes one longer.
func inTime(t *testing.T, text string, scan func()) {
	t.Helper()
	most := timetest.Most(text)
	if least := timetest.Least(timetest.Tries, most, scan); least > most {
		t.Errorf("%q of %d bytes takes %v of the processor, at most %v wanted", text[:min(len(text), 200)], len(text), least, most)
	}
}

// numbered are statements that are repeated with another number each time in the place of %: names, texts and acts that are all different.
var numbered = []string{"a%=b\n", "x = x + 'a%'\n", "def f%(a): return a\nf%('x')\n", "os.remove('a%')\n", "exec('a%')\n", "function f%(a) { return a }\nf%('x');\n", "fs.rmSync('a%');\n", "x.push('a%');\n",
	"x['a%'] = 'b'\n", "class A%:\n def f(self): a\n", "sub f% { a }\n", "$a% = 'b';\n", "my $a% = \"$b\";\n", "Remove-Item a%\n", "ri \"a$b%\"\n", "iex 'a%'\n", "foreach ($a in 'x%') { ri $a }\n", "$a.reboot()\n", "$a=\"$a$a\"\n", "a.delete(%)\n", "a.prune()\n", "find(sub { unlink }, %);\n", "\"#{a%}\"\n",
	"DROP TABLE a%;\n", "WITH a% AS (DELETE FROM b) SELECT 1;\n", "EXECUTE 'DROP TABLE a%';\n", "x = [x, x]\n", "y = x.replace('a%', x)\n", "a = lambda b: c%\n"}

// A91: no program of 64 KiB takes long, whatever its shape.
func TestScan_NoShapeTakesLong(t *testing.T) {
	if raced {
		t.Skip("one thread's work, many times slower than it is: nothing to be seen here")
	}
	const large = 64<<10 - 256
	var texts []string
	for _, s := range shapes {
		texts = append(texts, strings.Repeat(s, large/len(s)))
	}
	for _, s := range numbered {
		var b strings.Builder
		for i := 0; b.Len() < large-2*len(s); i++ {
			b.WriteString(strings.ReplaceAll(s, "%", strconv.Itoa(i)))
		}
		texts = append(texts, b.String())
	}
	for i, text := range texts {
		for k, lang := range langs {
			if (i+k)%3 > 0 && lang != payload.PowerShell { // a third of the pairs will do; PowerShell has a reader of its own
				continue
			}
			inTime(t, text, func() { payload.Scan(lang, text, payload.Input{Home: "/home/ann"}) })
		}
		for _, d := range []payload.SQLDialect{payload.SQLStandard, payload.SQLBackslash, payload.SQLBatch} {
			inTime(t, text, func() { payload.SQL(text, d) })
		}
	}
}

// fuzzed scans any text as one language: whatever it is, acts lie in it and texts are never empty.
func fuzzed(f *testing.F, lang payload.Lang, seeds ...string) {
	for _, s := range append(seeds, shapes...) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		inTime(t, text, func() { payload.Scan(lang, text, payload.Input{Home: "/home/ann"}) })
		for _, a := range payload.Scan(lang, text, payload.Input{Home: "/home/ann"}) {
			if a.Start < 0 || a.End < a.Start || a.End > len(text) {
				t.Errorf("%q: an act from %d to %d of %d", text, a.Start, a.End, len(text))
			}
			for _, arg := range a.Args {
				if len(arg) == 0 {
					t.Errorf("%q: %s has an argument without a value", text, a.Call)
				}
			}
		}
	})
}

func FuzzPython(f *testing.F) {
	fuzzed(f, payload.Python, `import os; os.system(f"rm {x!r:>3} {'a'}" % 1)`, "def f(a, *b):\n  return a[1:2][::-1]\nf(1)", `exec("eval('x')")`, `[g(x) for x in [1, 2] if x]`)
}

func FuzzJavaScript(f *testing.F) {
	fuzzed(f, payload.JavaScript, "const {a: b} = require('fs'); b.rmSync(`x${1}`, {recursive: true})", `[1].map(x => x / 2 / 3)`, `a?.b?.[c] ?? /x[/]/g.exec(1)`)
}

func FuzzRuby(f *testing.F) {
	fuzzed(f, payload.Ruby, "%w[a b].each { |x| system \"rm #{x}\" }", "x = <<~A\n a\nA\nsystem x", `FileUtils.rm_rf Dir["*"] if a ? :b : %q(c)`)
}

func FuzzPerl(f *testing.F) {
	fuzzed(f, payload.Perl, `unlink <*.o>; s{a}{b}e; open(F, ">x"); print qw(a b)`, "my $x = <<\"A\";\n$y @{[1]}\nA\n", `for my $f (glob "*") { unlink $f } kill 9, -1`)
}

func FuzzPHP(f *testing.F) {
	fuzzed(f, payload.PHP, `<?php $f = "sys{$a['b']}"; $f('x'); foreach ($a as $k => $v) unlink($v); ?>x<?= 1`, "echo <<<A\nx $y\nA;")
}

func FuzzPowerShell(f *testing.F) {
	fuzzed(f, payload.PowerShell, `foreach ($d in 'a','b') { ri "$d/$(x)" -r } | iex`, "@\"\nx\n\"@ > a", `[IO.File]::Delete('a') ; $x = @{a=1}; & $x`)
}

func FuzzSmall(f *testing.F) {
	for _, s := range shapes {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, lang := range []payload.Lang{payload.Lua, payload.AppleScript, payload.R, payload.Julia, payload.Generic} {
			inTime(t, text, func() { payload.Scan(lang, text, payload.Input{}) })
		}
	})
}

func FuzzSQL(f *testing.F) {
	for _, s := range []string{"WITH d AS (DELETE FROM t) SELECT 1", "DO $x$ BEGIN EXECUTE 'DROP TABLE t'; END $x$", "DELIMITER //\nDROP TABLE t//", "DELETE FROM t WHERE ((1=1)) OR a", "IF 1 DROP TABLE [t]\nGO\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, d := range []payload.SQLDialect{payload.SQLStandard, payload.SQLBackslash, payload.SQLBatch} {
			inTime(t, text, func() { payload.SQL(text, d) })
			for _, found := range payload.SQL(text, d) {
				if found.Act == "" || found.Text == "" {
					t.Errorf("%q: an empty finding", text)
				}
			}
		}
	})
}
