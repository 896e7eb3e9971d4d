package payload_test

import (
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/internal/approval/payload"
)

// script is an ordinary program of about n bytes.
func script(n int) string {
	const part = `import os
import json
from pathlib import Path

class Report:
    """Collects rows."""

    def __init__(self, path, rows=None):
        self.path = Path(path)
        self.rows = rows or []

    def add(self, name, value):
        if not name:
            raise ValueError(f"no name for {value!r}")
        self.rows.append({"name": name, "value": value, "tags": [t.strip() for t in name.split(",")]})

    def save(self):
        with open(os.path.join("out", self.path.name + ".json"), "w") as f:
            json.dump(self.rows, f, indent=2)  # rm -rf / is only a comment


def main(args):
    r = Report("x")
    for i, a in enumerate(args):
        r.add(a, i * 2 + 1 if i % 2 else -i)
    r.save()
    print("%d rows in %s" % (len(r.rows), r.path))

`
	return strings.Repeat(part, n/len(part)+1)[:n]
}

func BenchmarkScan_PythonScript(b *testing.B) {
	for _, n := range []int{4 << 10, 16 << 10, 64 << 10, 128 << 10} {
		text := script(n)
		b.Run(size(n), func(b *testing.B) {
			b.SetBytes(int64(n))
			b.ReportAllocs()
			for b.Loop() {
				payload.Scan(payload.Python, text, payload.Input{Home: "/home/ann"})
			}
		})
	}
}

func BenchmarkScan_OneLine(b *testing.B) {
	for lang, text := range map[payload.Lang]string{
		payload.Python: `import shutil; shutil.rmtree("build")`, payload.JavaScript: `require('fs').rmSync('dist', {recursive: true})`,
		payload.Perl: `unlink glob("*.o")`, payload.Ruby: `FileUtils.rm_rf Dir.glob("*.o")`, payload.PHP: `array_map('unlink', glob('*.o'));`,
		payload.PowerShell: `Get-ChildItem *.o | Remove-Item -Recurse`,
	} {
		b.Run(string(lang), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				payload.Scan(lang, text, payload.Input{Home: "/home/ann"})
			}
		})
	}
}

// shapes are the openings and repeats that make careless readers slow.
var shapes = []string{"(", "[", "{", "a(", "a[", "a.", "a=", "'", `"`, "`", "f'{", "f'{a}' + ", "x = x + x\n", "lambda: ", "def f(a):\n ", "for a in [", "#", "/*", "\\", "%w(", "q{", "<<A\n",
	"${", "`${", "=> ", "a => ", "f(a => ", "function f(", "exec('", "eval(eval(", "if a else ", "? a : ", "a ? b : ", "a.b.c(d)[e].", "not ", "- ", "do |x| ", "x { |y| ", "$x ", "@x ", "| ", "; ", "import a\n",
	"a, b = ", "from a import b\n", "[a for a in ", "()=>", "(a)=>", "@{", "$(", "[a]::b(", "-a ", "iex '", "\x00u", "x='a'\n", "f(g(h(", "\"#{", "\"$x", "\"{$x", "a+a+", "**", "..."}

func BenchmarkScan_Worst64K(b *testing.B) {
	for _, lang := range langs {
		b.Run(string(lang), func(b *testing.B) {
			for b.Loop() {
				for _, s := range shapes {
					payload.Scan(lang, strings.Repeat(s, (64<<10)/len(s)), payload.Input{})
				}
			}
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N)/float64(len(shapes)), "ms/shape")
		})
	}
}

func size(n int) string {
	return map[int]string{4 << 10: "4K", 16 << 10: "16K", 64 << 10: "64K", 128 << 10: "128K"}[n]
}

var langs = []payload.Lang{payload.Python, payload.JavaScript, payload.Ruby, payload.Perl, payload.PHP, payload.PowerShell, payload.Lua, payload.AppleScript, payload.R, payload.Julia}
