package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// tree is a command whose processes carry a marker as their last argument: a shell that ignores TERM, a child in a session of its
// own that holds the pipe, an orphan, and a grandchild that ignores TERM too and holds the pipe. Three of
// them make a file when they stand.
const tree = `trap '' TERM INT HUP
sh -c 'trap "" TERM INT HUP; echo >up-1; sleep 300; :' MARK &
( (sh -c 'trap "" TERM INT HUP; echo >up-2; while :; do sleep 300; done' MARK) & )
python3 -c 'import os, signal, sys, time
for s in (1, 2, 15): signal.signal(s, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    open("up-3", "w").close()
    time.sleep(300)
time.sleep(300)' MARK &
echo begun
wait`

const standing = 3 // files that tree makes

// marker is a word that no other process on this machine carries.
func marker(t *testing.T) string {
	return fmt.Sprintf("hermes-test-%d-%d", os.Getpid(), time.Now().UnixNano())
}

// carrying lists the living processes that have a word in their arguments.
func carrying(t *testing.T, word string) (found []string) {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		line, _ := os.ReadFile(filepath.Join(d, "cmdline"))
		stat, _ := os.ReadFile(filepath.Join(d, "stat"))
		if bytes.Contains(line, []byte(word)) && !bytes.Contains(stat, []byte(") Z ")) {
			found = append(found, filepath.Base(d)+": "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

// until waits for a condition that must come true.
func until(t *testing.T, limit time.Duration, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after %v: %s", limit, what)
		}
	}
}

// run is a hermes that runs a tree.
type run struct {
	*exec.Cmd
	word        string
	out, errors bytes.Buffer
	ended       chan error
}

// start runs the program on arguments made from the tree and waits until all of the tree stands.
func start(t *testing.T, arguments func(script string) []string) *run {
	t.Helper()
	r := &run{word: marker(t), ended: make(chan error, 1)}
	r.Cmd = hermes(t, arguments(strings.ReplaceAll(tree, "MARK", r.word))...)
	r.Stdout, r.Stderr = &r.out, &r.errors
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { r.ended <- r.Wait() }()
	t.Cleanup(func() {
		_ = r.Process.Kill()
		for _, left := range carrying(t, r.word) {
			id, _, _ := strings.Cut(left, ":")
			if pid, err := strconv.Atoi(id); err == nil {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	})
	until(t, time.Minute, "the tree doesn't stand", func() bool {
		up, _ := filepath.Glob(filepath.Join(r.Dir, "up-*"))
		return len(up) == standing
	})
	return r
}

// ways are the entrances by which a tree can be run.
var ways = map[string]func(t *testing.T) func(script string) []string{
	"tools call": func(t *testing.T) func(string) []string {
		return func(script string) []string {
			return []string{"tools", "call", "terminal", object(t, map[string]any{"command": script}), "--yolo"}
		}
	},
	"tools batch": func(t *testing.T) func(string) []string {
		return func(script string) []string {
			line := object(t, map[string]any{"id": "1", "name": "terminal", "arguments": map[string]any{"command": script}})
			return []string{"tools", "batch", file(t, "calls.jsonl", line+"\n"+strings.Replace(line, `"1"`, `"2"`, 1)), "--yolo"}
		}
	},
	"exec, through a tool": func(t *testing.T) func(string) []string {
		return func(script string) []string {
			return []string{"exec", "--yolo", file(t, "s.py", "from hermes_tools import terminal\nprint(terminal("+object(t, script)+"))")}
		}
	},
	"exec, by the script itself": func(t *testing.T) func(string) []string {
		return func(script string) []string {
			return []string{"exec", file(t, "s.py", "import subprocess\nsubprocess.run(['sh', '-c', "+object(t, script)+"])")}
		}
	},
}

func object(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func file(t *testing.T, name, text string) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// guardLimit is how long the guard has on any machine. It gives TERM half a second; with eight programs to a processor all is over in
// about one.
const guardLimit = 30 * time.Second

// interruptLimit is how long a person waits after Ctrl-C, at most, on any machine.
const interruptLimit = 30 * time.Second

func TestInterrupt_EndsTheTreeAndExitsWith130(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for name, way := range ways {
		for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
			t.Run(name+", "+s.String(), func(t *testing.T) {
				t.Parallel()
				r := start(t, way(t))
				if err := r.Process.Signal(s); err != nil {
					t.Fatal(err)
				}
				select {
				case err := <-r.ended:
					if e, ok := errors.AsType[*exec.ExitError](err); !ok || e.ExitCode() != 130 {
						t.Errorf("%v\n%s\n%s", err, r.out.String(), r.errors.String())
					}
				case <-time.After(interruptLimit):
					t.Fatalf("it still runs\n%s\n%s", r.out.String(), r.errors.String())
				}
				until(t, guardLimit, "something is left behind", func() bool { return len(carrying(t, r.word)) == 0 }) // each had its KILL
				for line := range strings.Lines(r.out.String()) {
					if !json.Valid([]byte(line)) {
						t.Errorf("no JSON: %q", line)
					}
				}
				if r.out.Len() == 0 {
					t.Error("there is no result")
				}
				if strings.Contains(r.errors.String(), "goroutine ") {
					t.Error(r.errors.String())
				}
			})
		}
	}
}

func TestKill_TheGuardEndsTheTree(t *testing.T) { // ENG-22
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := start(t, way(t))
			if err := r.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			var left []string
			until(t, guardLimit, "the tree lives on", func() bool { left = carrying(t, r.word); return len(left) == 0 })
		})
	}
}

func TestInterrupt_WhileInputIsAwaited(t *testing.T) {
	for name, args := range map[string][]string{
		"script": {"exec", "-"}, "arguments": {"tools", "call", "terminal", "-"}, "calls": {"tools", "batch", "-"},
		"script from a pipe": {"exec", "PIPE"}, "calls from a pipe": {"tools", "batch", "PIPE"}, "configuration from a pipe": {"--config", "PIPE", "tools", "list"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := hermes(t, args...)
			var errs bytes.Buffer
			c.Stderr = &errs
			opened := awaited(t, c)
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			until(t, time.Minute, "it doesn't read", opened)
			if err := c.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			overdue := time.AfterFunc(interruptLimit, func() { _ = c.Process.Kill() })
			defer overdue.Stop()
			if e, ok := errors.AsType[*exec.ExitError](c.Wait()); !ok || e.ExitCode() != 130 || errs.Len() > 0 {
				t.Errorf("%v, %q", e, errs.String())
			}
		})
	}
}

// awaited gives a run an input that never ends, and reports whether the run has begun to read it.
func awaited(t *testing.T, c *exec.Cmd) func() bool {
	t.Helper()
	if i := slices.Index(c.Args, "PIPE"); i >= 0 {
		c.Args[i] = filepath.Join(t.TempDir(), "pipe")
		if err := syscall.Mkfifo(c.Args[i], 0o600); err != nil {
			t.Fatal(err)
		}
		return func() bool {
			w, err := os.OpenFile(c.Args[i], os.O_WRONLY|syscall.O_NONBLOCK, 0) // there is no such open without a reader
			if err == nil {
				t.Cleanup(func() { _ = w.Close() })
			}
			return err == nil
		}
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	c.Stdin = r
	if _, err := w.WriteString("x"); err != nil {
		t.Fatal(err)
	}
	return func() bool {
		n, err := unix.IoctlGetInt(int(r.Fd()), unix.TIOCINQ)
		return err == nil && n == 0
	}
}
