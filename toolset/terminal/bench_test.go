//go:build linux

package terminal_test

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/tool"
)

// carrying runs a command in a bare bash that reports directory and exported variables as well, which is what the tool does too.
func carrying(b *testing.B, dir, text string) {
	b.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command("bash", "-c", text+"\npwd >&3; export -p >&3")
	cmd.Dir, cmd.ExtraFiles = dir, []*os.File{w}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	_ = w.Close()
	state, err := io.ReadAll(r)
	_ = r.Close()
	if waited := cmd.Wait(); waited != nil || err != nil || len(state) == 0 {
		b.Fatal(waited, err, len(state))
	}
}

// ratio is what a costs in terms of b, by their medians: other work on the machine disturbs means too much.
func ratio(a, b []time.Duration) float64 { return float64(median(a)) / float64(median(b)) }

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// BenchmarkEcho compares the tool with a bare bash in one run.
func BenchmarkEcho(b *testing.B) {
	h := here(b)
	x := registered(b)
	risky, _ := tool.As[tool.Risky](x)
	c := call(h, `{"command": "echo hi"}`)
	var ours, bare []time.Duration
	for b.Loop() {
		t0 := time.Now()
		if _, err := risky.Risks(b.Context(), c); err != nil {
			b.Fatal(err)
		}
		if _, err := x.Run(b.Context(), c); err != nil {
			b.Fatal(err)
		}
		t1 := time.Now()
		carrying(b, h.dir, "echo hi")
		ours, bare = append(ours, t1.Sub(t0)), append(bare, time.Since(t1))
	}
	b.ReportMetric(ratio(ours, bare), "x-bash")
	b.ReportMetric(float64(median(ours).Microseconds()), "ours-µs")
}

const bulk = 100_000_000

// BenchmarkOutput compares 100 MB through the tool with a plain copy from a pipe: x-pipe is the share of its speed, MiB-more the
// growth of this process's memory.
func BenchmarkOutput(b *testing.B) {
	h := here(b)
	line := "The quick brown fox jumps over the lazy dog, " + strings.Repeat("0123456789 ", 4) + "and so on.\n"
	file := filepath.Join(h.dir, "bulk")
	if err := os.WriteFile(file, bytes.Repeat([]byte(line), bulk/len(line)), 0o600); err != nil {
		b.Fatal(err)
	}
	x := registered(b)
	c := call(h, `{"command": "cat bulk"}`)
	h.keep = filepath.Join(h.dir, "kept")
	var ours, bare []time.Duration
	var more float64
	b.SetBytes(bulk)
	for b.Loop() {
		t0 := time.Now()
		cmd := exec.Command("cat", file)
		out, err := cmd.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(struct{ io.Writer }{io.Discard}, out)
		_ = cmd.Wait()
		t1 := time.Now()
		before := peak(b)
		t2 := time.Now()
		if _, err := x.Run(b.Context(), c); err != nil {
			b.Fatal(err)
		}
		ours, bare = append(ours, time.Since(t2)), append(bare, t1.Sub(t0))
		more = max(more, resident(b, "VmHWM:")-before)
	}
	b.ReportMetric(ratio(bare, ours), "x-pipe")
	b.ReportMetric(more, "MiB-more")
}

// peak starts a new measurement of the peak and returns what is in use now, in MiB.
func peak(b *testing.B) float64 {
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		b.Logf("the peak can't be reset: %v", err)
	}
	return resident(b, "VmRSS:")
}

func resident(b *testing.B, field string) float64 {
	b.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), field)
	kb, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		b.Fatal(err)
	}
	return float64(kb) / 1024
}
