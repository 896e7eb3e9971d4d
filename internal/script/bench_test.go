//go:build unix

package script_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/internal/script/scripttest"
	"github.com/hermes-runtime/hermes/tool"
)

func bench(b *testing.B) *fixture {
	b.Helper()
	f := newFixture(b)
	f.Unrecorded = true
	return f
}

// BenchmarkRun_Print measures XP-2 against the same interpreter on its own.
func BenchmarkRun_Print(b *testing.B) {
	f := bench(b)
	py, _ := systemPython()
	file := filepath.Join(b.TempDir(), "x.py")
	if err := os.WriteFile(file, []byte("print(1)"), 0o600); err != nil {
		b.Fatal(err)
	}
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command(py.Path, file).Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("execute_code", func(b *testing.B) {
		for b.Loop() {
			if rep := f.run("print(1)"); rep.Output != "1\n" {
				b.Fatal(rep.Error)
			}
		}
	})
	b.Run("bare/import", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command(py.Path, "-c", "import json, socket").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("execute_code/import", func(b *testing.B) {
		f.Tools["terminal"] = echo
		for b.Loop() {
			if rep := f.run("from hermes_tools import terminal"); rep.Status != "success" {
				b.Fatal(rep.Error)
			}
		}
	})
}

// bareClient is a round trip of JSON lines over a Unix socket, and nothing else.
const bareClient = `
import json, socket, sys, time
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); f = s.makefile("rb")
n = int(sys.argv[2])
def call(i):
    s.sendall(json.dumps({"id": i, "tool": "terminal", "args": {"command": "x"}}).encode() + b"\n")
    return json.loads(f.readline())
for i in range(100): call(i)
t = time.perf_counter()
for i in range(n): call(i)
print((time.perf_counter() - t) / n * 1e6)
`

// BenchmarkCall measures XP-3, both ways in one run.
func BenchmarkCall(b *testing.B) {
	const calls = 5000
	b.Run("bare", func(b *testing.B) {
		path := filepath.Join(b.TempDir(), "s")
		ln, err := net.Listen("unix", path)
		if err != nil {
			b.Fatal(err)
		}
		defer ln.Close()
		go serveBare(ln)
		py, _ := systemPython()
		var sum float64
		for b.Loop() {
			out, err := exec.Command(py.Path, "-c", bareClient, path, strconv.Itoa(calls)).Output()
			if err != nil {
				b.Fatal(err)
			}
			v, _ := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
			sum += v
		}
		b.ReportMetric(sum/float64(b.N), "µs/call")
	})
	b.Run("script", func(b *testing.B) {
		f := bench(b)
		f.config.MaxToolCalls = 1_000_000
		f.Tools["terminal"] = func(_ context.Context, r tool.Request, _ map[string]any) tool.Result {
			return tool.Result{JSON: `{"output":"x","exit_code":0}`, Status: tool.StatusOK}
		}
		var sum float64
		for b.Loop() {
			rep := f.run(fmt.Sprintf(`
import time
from hermes_tools import terminal
n = %d
for i in range(100): terminal("x")
t = time.perf_counter()
for i in range(n): terminal("x")
print((time.perf_counter() - t) / n * 1e6)
`, calls))
			v, err := strconv.ParseFloat(strings.TrimSpace(rep.Output), 64)
			if err != nil {
				b.Fatal(rep.Error)
			}
			sum += v
		}
		b.ReportMetric(sum/float64(b.N), "µs/call")
	})
}

func serveBare(ln net.Listener) {
	for {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			r := bufio.NewReader(c)
			for {
				line, err := r.ReadBytes('\n')
				if err != nil {
					return
				}
				var q struct {
					ID   int             `json:"id"`
					Tool string          `json:"tool"`
					Args json.RawMessage `json:"args"`
				}
				if json.Unmarshal(line, &q) != nil {
					return
				}
				a, _ := json.Marshal(map[string]any{"id": q.ID, "result": map[string]any{"output": "x", "exit_code": 0}})
				c.Write(append(a, '\n')) //nolint:errcheck // the client notices
			}
		}()
	}
}

// BenchmarkParallel measures XP-4: 50 calls of 100 ms.
func BenchmarkParallel(b *testing.B) {
	for name, code := range map[string]string{
		"threads": `
from concurrent.futures import ThreadPoolExecutor
from hermes_tools import terminal
with ThreadPoolExecutor(50) as p: print(len(list(p.map(terminal, map(str, range(50))))))
`,
		"aio": `
import asyncio
from hermes_tools.aio import terminal
async def main(): print(len(await asyncio.gather(*[terminal(str(i)) for i in range(50)])))
asyncio.run(main())
`,
	} {
		b.Run(name, func(b *testing.B) {
			f := bench(b)
			f.Tools["terminal"] = func(_ context.Context, r tool.Request, _ map[string]any) tool.Result {
				time.Sleep(100 * time.Millisecond)
				return scripttest.Result(r, map[string]any{"exit_code": 0})
			}
			for b.Loop() {
				if rep := f.run(code); rep.Output != "50\n" {
					b.Fatal(rep.Output, rep.Error)
				}
			}
		})
	}
}

// BenchmarkLarge measures XP-5: a result and an argument of 10 and 20 MB.
func BenchmarkLarge(b *testing.B) {
	for _, mb := range []int{10, 20} {
		lines := strings.Repeat("0123456789 abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQR\n", mb<<20/58)
		for name, code := range map[string]string{
			"result":   "t = time.perf_counter(); n = len(read_file('x')['content'])",
			"argument": fmt.Sprintf("text = 'x' * %d; t = time.perf_counter(); n = len(write_file('x', text)); n = len(text)", len(lines)),
		} {
			b.Run(fmt.Sprintf("%s/%dMB", name, mb), func(b *testing.B) {
				f := bench(b)
				big := scripttest.Result(tool.Request{}, map[string]any{"content": lines})
				f.Tools["read_file"] = func(context.Context, tool.Request, map[string]any) tool.Result { return big }
				f.Tools["write_file"] = func(_ context.Context, r tool.Request, _ map[string]any) tool.Result {
					return scripttest.Result(r, map[string]any{"bytes_written": 1})
				}
				var sum float64
				for b.Loop() {
					rep := f.run("import time\nfrom hermes_tools import read_file, write_file\n" + code + "\nprint(time.perf_counter() - t, n)")
					var n int
					var s float64
					if _, err := fmt.Sscan(rep.Output, &s, &n); err != nil || n != len(lines) {
						b.Fatal(rep.Output, rep.Error)
					}
					sum += s
				}
				b.ReportMetric(sum/float64(b.N)*1000, "ms/call")
			})
		}
	}
}

// BenchmarkOutput measures XO-5: 1 GB printed, against a pipe that is thrown away.
func BenchmarkOutput(b *testing.B) {
	const code = "import sys\nline = ('x' * 99 + '\\n') * 10000\nfor _ in range(1000): sys.stdout.write(line)\n"
	py, _ := systemPython()
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			cmd := exec.Command(py.Path, "-u", "-c", code)
			out, err := cmd.StdoutPipe()
			if err != nil {
				b.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				b.Fatal(err)
			}
			n, _ := io.Copy(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{out})
			if err := cmd.Wait(); err != nil || n != 1e9 {
				b.Fatal(err, n)
			}
		}
	})
	b.Run("script", func(b *testing.B) {
		f := bench(b)
		for b.Loop() {
			if rep := f.run(code); rep.StdoutTotal == nil || *rep.StdoutTotal != 1e9 {
				b.Fatal(rep.Error)
			}
		}
	})
}
