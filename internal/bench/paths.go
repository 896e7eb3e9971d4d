package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hermes-runtime/hermes/internal/registry/schema"
	"github.com/hermes-runtime/hermes/tool"
)

// paths is what is measured. A budget is what the design allows.
func paths() []path {
	return append([]path{
		{"tools list --json, whole process", "×", 3, false, listProcess},
		{"tools list --json, memory", "MB", 25, false, listMemory},
		{"chat with a replay, to its first text", "ms", 100, false, firstText},
		{"definitions, warm", "µs", 5, false, definitions},
		{"no-op call through the door, less its audit line", "µs", 5, false, doorTime},
		{"no-op call through the door, to decoding and encoding its JSON", "×", 6, false, doorRatio},
		{"no-op call from 8 goroutines, per call, to one", "×", 1, false, doorParallel},
		{"terminal echo hi", "×", 1.5, false, echo},
		{"100 MB of output through terminal, throughput to a pipe", "×", 0.7, true, flood},
		{"100 MB of output through terminal, memory", "MB", 16, false, floodMemory},
	}, slices.Concat(filePaths(), scriptPaths(), jobPaths(), placePaths())...)
}

func (b *Bench) env() []string {
	env := []string{"HERMES_HOME=" + filepath.Join(b.dir, "home")}
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "HERMES_") {
			env = append(env, kv)
		}
	}
	return env
}

// emptyProgram builds a Go program that does nothing.
func (b *Bench) emptyProgram(ctx context.Context) (string, error) {
	out := filepath.Join(b.dir, "empty")
	if _, err := os.Stat(out); err == nil {
		return out, nil
	}
	if _, err := exec.LookPath("go"); err != nil {
		return "", errors.New("the bare equivalent is an empty Go program, and go is not on PATH")
	}
	src := filepath.Join(b.dir, "empty.go")
	if err := os.WriteFile(src, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", out, src)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build an empty program: %w: %s", err, text)
	}
	return out, nil
}

func (b *Bench) list(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, b.Executable, "tools", "list", "--json")
	cmd.Env = b.env()
	return cmd
}

func listProcess(ctx context.Context, b *Bench) (float64, string, error) {
	empty, err := b.emptyProgram(ctx)
	if err != nil {
		return 0, "", err
	}
	return ratio(40, func() error { return b.list(ctx).Run() }, func() error { return exec.CommandContext(ctx, empty).Run() })
}

func listMemory(ctx context.Context, b *Bench) (float64, string, error) {
	cmd := b.list(ctx)
	if err := cmd.Run(); err != nil {
		return 0, "", err
	}
	kb, ok := maxResident(cmd.ProcessState)
	if !ok {
		return 0, "", errors.New("this system doesn't tell the memory of a child")
	}
	return kb / 1000, "maximum resident set of the process", nil
}

// firstText is how long a person waits for the first words of a model that answers at once.
func firstText(ctx context.Context, b *Bench) (float64, string, error) {
	empty, err := b.emptyProgram(ctx)
	if err != nil {
		return 0, "", err
	}
	tape := filepath.Join(b.dir, "tape.jsonl")
	if err := os.WriteFile(tape, []byte(`{"text":"Hello."}`), 0o600); err != nil {
		return 0, "", fmt.Errorf("write a tape: %w", err)
	}
	var waited []time.Duration
	chat := func() error {
		cmd := exec.CommandContext(ctx, b.Executable, "chat", "-m", "replay:"+tape, "-q", "hello")
		cmd.Env = b.env()
		out, err := cmd.StdoutPipe()
		if err != nil {
			return err
		}
		begun := time.Now()
		if err := cmd.Start(); err != nil {
			return err
		}
		_, err = out.Read(make([]byte, 1))
		waited = append(waited, time.Since(begun))
		_, _ = io.Copy(io.Discard, out)
		return errors.Join(err, cmd.Wait())
	}
	_, bare, err := pair(20, chat, func() error { return exec.CommandContext(ctx, empty).Run() })
	if err != nil {
		return 0, "", err
	}
	d := median(waited[1:]) // the first one makes the store
	return float64(d) / float64(time.Millisecond), fmt.Sprintf("%.0f times an empty program", float64(d)/float64(max(bare, 1))), nil
}

func definitions(ctx context.Context, b *Bench) (float64, string, error) {
	var failed error
	d := perCall(2000, func() {
		if _, err := b.session.Definitions(ctx, schema.OpenAI); err != nil {
			failed = err
		}
	})
	return micro(d), "every tool on offer, from the memo", failed
}

func micro(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

var noopCall = tool.Request{Name: noopName, Arguments: json.RawMessage(`{"text":"a few words of text","count":7}`)}

func (b *Bench) noop(ctx context.Context) error {
	if r := b.session.Call(ctx, noopCall); r.Status != tool.StatusOK {
		return fmt.Errorf("the call ended with %s: %s", r.Status, r.JSON)
	}
	return nil
}

// auditLine is what appending one line to a file costs here.
func (b *Bench) auditLine() (time.Duration, error) {
	f, err := os.OpenFile(filepath.Join(b.dir, "lines"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	line := bytes.Repeat([]byte("x"), 250)
	line[249] = '\n'
	return perCall(5000, func() { _, err = f.Write(line) }), err
}

func doorTime(ctx context.Context, b *Bench) (float64, string, error) {
	if err := b.noop(ctx); err != nil {
		return 0, "", err
	}
	call := perCall(5000, func() { _ = b.noop(ctx) })
	line, err := b.auditLine()
	return micro(call - line), fmt.Sprintf("%v with its audit line of %v, hooks on", call, line), err
}

func doorRatio(ctx context.Context, b *Bench) (float64, string, error) {
	call := perCall(5000, func() { _ = b.noop(ctx) })
	line, err := b.auditLine()
	if err != nil {
		return 0, "", err
	}
	bare := perCall(5000, func() {
		var v map[string]any
		_ = json.Unmarshal(noopCall.Arguments, &v)
		_, _ = json.Marshal(v)
	})
	return float64(call-line) / float64(bare), fmt.Sprintf("%v against %v", call-line, bare), nil
}

func doorParallel(ctx context.Context, b *Bench) (float64, string, error) {
	one := perCall(5000, func() { _ = b.noop(ctx) })
	const workers, calls = 8, 2500
	best := time.Duration(0)
	for round := range 5 {
		start := time.Now()
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() {
				for range calls {
					_ = b.noop(ctx)
				}
			})
		}
		wg.Wait()
		if d := time.Since(start) / (workers * calls); round == 0 || d < best {
			best = d
		}
	}
	return float64(best) / float64(one), fmt.Sprintf("%v against %v", best, one), nil
}

const shell = "terminal"

func (b *Bench) command(ctx context.Context, script string) error {
	args, err := json.Marshal(map[string]string{"command": script})
	if err != nil {
		return err
	}
	if r := b.session.Call(ctx, tool.Request{Name: shell, Arguments: args}); r.Status != tool.StatusOK {
		return fmt.Errorf("the call ended with %s: %s", r.Status, r.JSON)
	}
	return nil
}

// echo is compared with a shell that does what the tool promises: it starts in the carried directory with the carried variables,
// and tells both at its end.
func echo(ctx context.Context, b *Bench) (float64, string, error) {
	bare := func() error {
		cmd := exec.CommandContext(ctx, "bash", "-c", `echo hi; pwd; env -0`)
		cmd.Dir, cmd.Env = b.dir, os.Environ()
		_, err := cmd.Output()
		return err
	}
	return ratio(60, func() error { return b.command(ctx, "echo hi") }, bare)
}

const floodScript = "head -c 100000000 /dev/zero | tr '\\0' x | fold -w 99"

// drain runs a program and throws away what it prints.
func drain(cmd *exec.Cmd) error {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, out)
	return errors.Join(err, cmd.Wait())
}

func flood(ctx context.Context, b *Bench) (float64, string, error) {
	bare := func() error { return drain(exec.CommandContext(ctx, "bash", "-c", floodScript)) }
	v, detail, err := ratio(3, func() error { return b.command(ctx, floodScript) }, bare)
	if err != nil {
		return 0, "", err
	}
	return 1 / v, detail, nil
}

func floodMemory(ctx context.Context, b *Bench) (float64, string, error) {
	return growth(func() error { return b.command(ctx, floodScript) })
}

// growth is how much more memory is in use at most while f runs, in MB.
func growth(f func() error) (float64, string, error) {
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var peak atomic.Uint64
	done := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				peak.Store(max(peak.Load(), m.HeapInuse+m.StackInuse))
			}
		}
	})
	err := f()
	close(done)
	watch.Wait()
	grown := float64(int64(peak.Load())-int64(before.HeapInuse+before.StackInuse)) / 1e6
	return max(grown, 0), "growth of heap and stacks in use", err
}
