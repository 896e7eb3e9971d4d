//go:build linux || darwin

package engine_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine"
)

// bare runs bash plainly and reads two pipes to their ends: output, and directory with variables.
func bare(b *testing.B, script string) {
	b.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	c := exec.Command("bash", "-c", script)
	c.ExtraFiles = []*os.File{w}
	out, err := c.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	w.Close()
	_, _ = io.Copy(io.Discard, out)
	_, _ = io.Copy(io.Discard, r)
	r.Close()
	if err := c.Wait(); err != nil {
		b.Fatal(err)
	}
}

// ratio measures the engine against bare in turns, so that both see the same machine, and reports engine ÷ bare.
func ratio(b *testing.B, script, bareScript string, o engine.Options) {
	e := engine.New(o)
	defer e.Close(context.Background())
	s := environment.NewState("/tmp")
	base := engine.Base{Environ: os.Environ(), Home: "/tmp"}
	ours, theirs := time.Hour, time.Hour // the best of each: what the machine does beside is no part of the ratio
	run := func() {
		res, err := e.Run(context.Background(), environment.Command{Script: script, State: s, Output: io.Discard}, base)
		if err != nil || res.ExitCode != 0 {
			b.Fatalf("%+v, %v", res, err)
		}
	}
	run()
	bare(b, bareScript)
	for b.Loop() {
		t := time.Now()
		run()
		u := time.Now()
		bare(b, bareScript)
		ours, theirs = min(ours, u.Sub(t)), min(theirs, time.Since(u))
	}
	b.ReportMetric(float64(ours)/float64(theirs), "×bare")
	b.ReportMetric(float64(ours.Microseconds()), "µs-best")
}

// BenchmarkTrue compares with a shell that carries nothing: target 1.6.
func BenchmarkTrue(b *testing.B) { ratio(b, "true", "true", engine.Options{}) }

// BenchmarkTrueScan is the same without cgroups.
func BenchmarkTrueScan(b *testing.B) { ratio(b, "true", "true", engine.Options{NoCgroup: true}) }

// BenchmarkEchoHi compares with a shell that carries directory and variables too: target 1.5.
func BenchmarkEchoHi(b *testing.B) {
	ratio(b, "echo hi", "echo hi; pwd >&3; env -0 >&3", engine.Options{})
}

// BenchmarkEchoHiScan is the same without cgroups.
func BenchmarkEchoHiScan(b *testing.B) {
	ratio(b, "echo hi", "echo hi; pwd >&3; env -0 >&3", engine.Options{NoCgroup: true})
}

// Benchmark100MB compares the throughput with a plain copy from a pipe: target 0.7, at most 16 MiB of memory more.
func Benchmark100MB(b *testing.B) {
	const script = "head -c 104857600 /dev/zero"
	e := engine.New(engine.Options{})
	defer e.Close(context.Background())
	ours, theirs := time.Hour, time.Hour
	var grown uint64
	for b.Loop() {
		var n count
		before := rss()
		t := time.Now()
		res, err := e.Run(context.Background(), environment.Command{Script: script, State: environment.NewState("/tmp"), Output: &n}, engine.Base{Environ: os.Environ()})
		if err != nil || res.ExitCode != 0 || n != 104857600 {
			b.Fatalf("%+v, %v, %d bytes", res, err, n)
		}
		ours = min(ours, time.Since(t))
		if after := rss(); after > before {
			grown = max(grown, after-before)
		}
		t = time.Now()
		c := exec.Command("bash", "-c", script)
		out, err := c.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := c.Start(); err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(struct{ io.Writer }{new(count)}, struct{ io.Reader }{out})
		if err := c.Wait(); err != nil {
			b.Fatal(err)
		}
		theirs = min(theirs, time.Since(t))
	}
	b.ReportMetric(float64(theirs)/float64(ours), "×plain-throughput")
	b.ReportMetric(float64(grown)/(1<<20), "MiB-grown")
}

type count int

func (c *count) Write(p []byte) (int, error) { *c += count(len(p)); return len(p), nil }

// rss is the memory that the Go heap has from the system.
func rss() uint64 {
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Sys - m.HeapReleased
}
