//go:build linux || darwin

package jobs_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/jobs"
)

// held counts what this process has open: descriptors (masters of terminals among them), goroutines, dead children, control groups.
func held() (files, goroutines, zombies, groups int) {
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), "hermes-") && strings.Contains(d.Name(), "-"+strconv.Itoa(os.Getpid())+"-") {
			groups++
		}
		return nil
	})
	fds, _ := os.ReadDir("/proc/self/fd")
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	me := strconv.Itoa(os.Getpid())
	for _, s := range stats {
		b, _ := os.ReadFile(s)
		if f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:])); len(f) > 1 && f[0] == "Z" && f[1] == me {
			zombies++
		}
	}
	return len(fds), runtime.NumGoroutine(), zombies, groups
}

// many runs n jobs, terminals of them on terminals, a third killed, a third failing to start.
func many(t *testing.T, table *jobs.Table, n, terminals int) {
	t.Helper()
	var wg sync.WaitGroup
	slots := make(chan struct{}, 20)
	for i := range n {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			j := script("echo " + strconv.Itoa(i))
			if i%3 == 1 {
				j = script("sleep 60")
			}
			if i < terminals {
				j.Terminal = &environment.Size{Rows: 24, Cols: 80}
			}
			if i%3 == 2 {
				j.Command.Dir = "/no/such/directory"
			}
			p, err := table.Start(t.Context(), jobs.Spec{Job: j, Base: base(t)})
			if (err != nil) != (i%3 == 2) {
				t.Errorf("job %d: %v", i, err)
			}
			if err != nil {
				return
			}
			if i%3 == 1 {
				if left, err := p.Kill(t.Context(), "test"); err != nil || len(left) > 0 {
					t.Errorf("job %d: left %v, %v", i, left, err)
				}
			}
			ended(t, p)
		})
	}
	wg.Wait()
}

// LIM-4, PTY-8: two thousand jobs, five hundred of them on terminals, leave nothing open once they are over.
func TestTable_LeavesNothingOpen(t *testing.T) {
	n, terminals := 2000, 500
	if testing.Short() || raceEnabled {
		n, terminals = 45, 12
	}
	dir := filepath.Join(t.TempDir(), "jobs")
	table := openTable(t, jobs.Options{Dir: dir, MaxRunning: 5000})
	many(t, table, 9, 3) // what is opened once
	files, goroutines, _, _ := held()
	many(t, table, n, terminals)
	until(t, "everything is let go of", func() bool {
		f, g, z, c := held()
		return f <= files+2 && g <= goroutines+2 && z == 0 && c == 0
	})
	list, err := table.Jobs(t.Context(), 0)
	if err != nil || len(list) != n+9 {
		t.Errorf("%d jobs, %v", len(list), err)
	}
	for _, i := range list {
		if err := table.Forget(t.Context(), i.ID); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%d directories are left, %v", len(left), err)
	}
	if err := table.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

func BenchmarkStart(b *testing.B) {
	table := openTable(b, jobs.Options{})
	for b.Loop() {
		p, err := table.Start(context.Background(), jobs.Spec{Job: script("true"), Base: base(b)})
		if err != nil {
			b.Fatal(err)
		}
		if err := p.Wait(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkKill100(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		table := openTable(b, jobs.Options{})
		for range 100 {
			start(b, table, script("sleep 600"))
		}
		b.StartTimer()
		table.KillAll(context.Background(), "bench")
	}
}

// BenchmarkIdle1000 (LOG-5) tells what a thousand jobs take that do nothing, and how long a list of them takes.
func BenchmarkIdle1000(b *testing.B) {
	table := openTable(b, jobs.Options{MaxRunning: 2000})
	rss := resident()
	for range 1000 {
		start(b, table, environment.Job{Command: environment.Command{Argv: []string{"sleep", "600"}}})
	}
	runtime.GC()
	memory, goroutines := resident()-rss, runtime.NumGoroutine()
	for b.Loop() {
		if list, err := table.Jobs(context.Background(), 200); err != nil || len(list) < 1000 {
			b.Fatal(len(list), err)
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(memory)/(1<<20), "MB/1000-jobs")
	b.ReportMetric(float64(goroutines), "goroutines")
	began := time.Now()
	table.KillAll(context.Background(), "bench")
	b.ReportMetric(time.Since(began).Seconds(), "s-to-end-1000")
}

// resident is the memory of this process, in bytes.
func resident() int {
	b, _ := os.ReadFile("/proc/self/statm")
	f := strings.Fields(string(b))
	if len(f) < 2 {
		return 0
	}
	n, _ := strconv.Atoi(f[1])
	return n * os.Getpagesize()
}
