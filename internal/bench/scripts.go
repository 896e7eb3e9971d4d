package bench

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/internal/script"
	"github.com/hermes-runtime/hermes/tool"
)

// Scripts may call seven tools and no others, so the tools that are measured from scripts stand in for two of them.
const (
	quickName = "web_search"  // does nothing
	slowName  = "web_extract" // takes 100 ms
)

// quick does nothing.
func quick() tool.Tool {
	return tool.Func(tool.Spec{Name: quickName, Toolset: "web", Description: "Does nothing.", Effects: tool.ReadOnly},
		func(context.Context, *tool.Call, struct {
			Query string `json:"query"`
			Limit int    `json:"limit,omitempty"`
		}) (any, error) {
			return map[string]bool{"ok": true}, nil
		})
}

// slow takes 100 ms.
func slow() tool.Tool {
	return tool.Func(tool.Spec{Name: slowName, Toolset: "web", Description: "Takes 100 ms.", Effects: tool.ReadOnly},
		func(ctx context.Context, _ *tool.Call, _ struct {
			URLs []string `json:"urls"`
		}) (any, error) {
			select {
			case <-time.After(100 * time.Millisecond):
				return map[string]bool{"ok": true}, nil
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		})
}

func scriptPaths() []path {
	return []path{
		{"16 calls of 100 ms in one batch, to two sleeps", "×", 1.15, false, batchTime},
		{"execute_code print(1), cold, to the same interpreter", "×", 1.5, false, printOne},
		{"a no-op call from a script, to a bare socket round trip", "×", 1.5, false, scriptCall},
		{"50 calls of 100 ms at once, threads", "s", 0.3, false, fifty(threads)},
		{"50 calls of 100 ms at once, asyncio", "s", 0.3, false, fifty(gather)},
		{"a result of 20 MB into a script, parsed", "s", 0.5, false, bigResult},
		{"1 GB printed by a script, throughput to a pipe", "×", 0.5, true, scriptFlood},
		{"1 GB printed by a script, memory", "MB", 16, false, scriptFloodMemory},
	}
}

func batchTime(ctx context.Context, b *Bench) (float64, string, error) {
	var calls []tool.Request
	for i := range 16 {
		calls = append(calls, tool.Request{ID: strconv.Itoa(i), Name: slowName, Arguments: json.RawMessage(fmt.Sprintf(`{"urls":["%d"]}`, i))})
	}
	start := time.Now()
	for _, r := range b.session.CallBatch(ctx, tool.Batch{Calls: calls}) {
		if r.Status != tool.StatusOK {
			return 0, "", errors.New(r.JSON)
		}
	}
	d := time.Since(start)
	return float64(d) / float64(200*time.Millisecond), d.String(), nil
}

// script runs code and gives what it printed.
func (b *Bench) script(ctx context.Context, code string) (string, error) {
	args, err := json.Marshal(map[string]string{"code": code})
	if err != nil {
		return "", err
	}
	r := b.session.Call(ctx, tool.Request{Name: script.ToolName, Arguments: args})
	var out struct{ Output string }
	if err := json.Unmarshal([]byte(r.JSON), &out); err != nil || r.Status != tool.StatusOK {
		return "", fmt.Errorf("the script ended with %s: %s", r.Status, r.JSON)
	}
	return out.Output, nil
}

// figure runs code that prints one number.
func (b *Bench) figure(ctx context.Context, code string) (float64, error) {
	out, err := b.script(ctx, code)
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(strings.TrimSpace(out), 64)
}

// interpreter is the one that scripts run with.
func (b *Bench) interpreter(ctx context.Context) (string, error) {
	out, err := b.script(ctx, "import sys\nprint(sys.executable)")
	return strings.TrimSpace(out), err
}

func printOne(ctx context.Context, b *Bench) (float64, string, error) {
	python, err := b.interpreter(ctx)
	if err != nil {
		return 0, "", err
	}
	return ratio(15, func() error { _, err := b.script(ctx, "print(1)"); return err },
		func() error { return exec.CommandContext(ctx, python, "-c", "print(1)").Run() })
}

// timing is the loop that both sides of scriptCall run, around one call.
const timing = `
import time
def best(call, rounds=5, n=400):
    times = []
    for _ in range(rounds):
        t = time.perf_counter()
        for _ in range(n):
            call()
        times.append((time.perf_counter() - t) / n)
    return min(times) * 1e6
`

func scriptCall(ctx context.Context, b *Bench) (float64, string, error) {
	python, err := b.interpreter(ctx)
	if err != nil {
		return 0, "", err
	}
	bare, err := b.bareRoundTrip(ctx, python)
	if err != nil {
		return 0, "", err
	}
	ours, err := b.figure(ctx, "from hermes_tools import web_search"+timing+"print(best(lambda: web_search('q')))")
	if err != nil {
		return 0, "", err
	}
	return ours / bare, fmt.Sprintf("%.0f µs against %.0f µs", ours, bare), nil
}

// bareClient is what a script would write by hand: a framed JSON request and its answer over a Unix socket.
const bareClient = timing + `
import json, socket, struct, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
f = s.makefile("rb")
def call():
    b = json.dumps({"id": 1, "tool": "web_search", "args": {"query": "q"}}).encode()
    s.sendall(struct.pack(">I", len(b)) + b)
    n, = struct.unpack(">I", f.read(4))
    return json.loads(f.read(n))
print(best(call))
`

func (b *Bench) bareRoundTrip(ctx context.Context, python string) (float64, error) {
	at := filepath.Join(b.dir, "bare.sock")
	l, err := net.Listen("unix", at)
	if err != nil {
		return 0, err
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		answer(c)
	}()
	out, err := exec.CommandContext(ctx, python, "-c", bareClient, at).Output()
	if err != nil {
		return 0, fmt.Errorf("run the bare client: %w", err)
	}
	return strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
}

// answer decodes each request and encodes a small answer, until the other side leaves.
func answer(c io.ReadWriter) {
	in := bufio.NewReader(c)
	for {
		var head [4]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(head[:]))
		if _, err := io.ReadFull(in, body); err != nil {
			return
		}
		var req map[string]any
		if json.Unmarshal(body, &req) != nil {
			return
		}
		out, _ := json.Marshal(map[string]any{"id": req["id"], "result": map[string]bool{"ok": true}})
		if _, err := c.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(out))), out...)); err != nil {
			return
		}
	}
}

const threads = `
import time
from concurrent.futures import ThreadPoolExecutor
from hermes_tools import web_extract
t = time.perf_counter()
with ThreadPoolExecutor(50) as pool:
    assert all("error" not in r for r in pool.map(lambda i: web_extract([str(i)]), range(50)))
print(time.perf_counter() - t)
`

const gather = `
import asyncio, time
from hermes_tools import aio
async def main():
    t = time.perf_counter()
    assert all("error" not in r for r in await asyncio.gather(*(aio.web_extract([str(i)]) for i in range(50))))
    print(time.perf_counter() - t)
asyncio.run(main())
`

func fifty(code string) func(context.Context, *Bench) (float64, string, error) {
	return func(ctx context.Context, b *Bench) (float64, string, error) {
		v, err := b.figure(ctx, code)
		return v, "measured in the script", err
	}
}

func bigResult(ctx context.Context, b *Bench) (float64, string, error) {
	file := filepath.Join(b.dir, "big.txt")
	if err := os.WriteFile(file, []byte(strings.Repeat("a line of some text, no more and no less\n", 20_000_000/41)), 0o600); err != nil {
		return 0, "", err
	}
	v, err := b.figure(ctx, fmt.Sprintf(`
import time
from hermes_tools import read_file
times = []
for _ in range(5):
    t = time.perf_counter()
    r = read_file(%q)
    assert len(r["content"]) > 19_000_000, r
    times.append(time.perf_counter() - t)
print(sorted(times)[2])
`, file))
	return v, "read_file of 20 MB, measured in the script, the median of 5", err
}

const floodLines = `
import sys
line = b"x" * 99 + b"\n"
for _ in range(10_000):
    sys.stdout.buffer.write(line * 1000)
`

func scriptFlood(ctx context.Context, b *Bench) (float64, string, error) {
	python, err := b.interpreter(ctx)
	if err != nil {
		return 0, "", err
	}
	bare := func() error { return drain(exec.CommandContext(ctx, python, "-c", floodLines)) }
	v, detail, err := ratio(1, func() error { _, err := b.script(ctx, floodLines); return err }, bare)
	if err != nil {
		return 0, "", err
	}
	return 1 / v, detail, nil
}

func scriptFloodMemory(ctx context.Context, b *Bench) (float64, string, error) {
	return growth(func() error { _, err := b.script(ctx, floodLines); return err })
}
