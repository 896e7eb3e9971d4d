package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// sitting is a person at a terminal with the program in it: standard input and standard error are the terminal, standard output is
// a pipe, as when a script reads the results.
type sitting struct {
	*exec.Cmd
	master *os.File
	out    bytes.Buffer
	mu     sync.Mutex
	shown  bytes.Buffer
	seen   chan struct{} // closed when the terminal is gone
	asked  int
}

// answerLimit is how long a prompt may take to appear on a busy machine.
const answerLimit = 2 * time.Minute

// sit starts the program in the directories of another run, if one is given: what is stored stays.
func sit(t *testing.T, after *sitting, args ...string) *sitting {
	t.Helper()
	s := &sitting{Cmd: hermes(t, args...), seen: make(chan struct{})}
	if after != nil {
		s.Dir, s.Env = after.Dir, after.Env
	}
	tty := s.open(t)
	s.Stdin, s.Stdout, s.Stderr = tty, &s.out, tty
	s.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	return s
}

func (s *sitting) open(t *testing.T) *os.File {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo terminals here: %v", err)
	}
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	s.master = master
	t.Cleanup(func() {
		_ = tty.Close()
		<-s.seen
		_ = master.Close()
	})
	go func() {
		defer close(s.seen)
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			s.mu.Lock()
			s.shown.Write(buf[:n])
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return tty
}

func (s *sitting) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.ReplaceAll(s.shown.String(), "\r\n", "\n")
}

// prompts counts the menus that were shown. The sign that stands for input says nothing: it comes again behind a preview.
func (s *sitting) prompts() int { return strings.Count(s.text(), " denies.") }

// answer waits for the next prompt and types.
func (s *sitting) answer(t *testing.T, keys string) {
	t.Helper()
	s.asked++
	until(t, answerLimit, "no prompt appears", func() bool {
		if s.prompts() >= s.asked {
			return true
		}
		if s.ProcessState != nil {
			t.Fatalf("it has ended: %s\n%s", s.text(), s.out.String())
		}
		return false
	})
	if _, err := s.master.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}

// end waits for the program's end and gives the outcomes of its calls, in order: what an approval says, or "" for a call without one.
func (s *sitting) end(t *testing.T, code int) (outcomes []string) {
	t.Helper()
	overdue := time.AfterFunc(answerLimit, func() { _ = s.Process.Kill() })
	defer overdue.Stop()
	err := s.Wait()
	if got := s.ProcessState.ExitCode(); got != code {
		t.Errorf("exit code %d, want %d (%v)\n%s\n%s", got, code, err, s.text(), s.out.String())
	}
	for line := range strings.Lines(s.out.String()) {
		var l struct {
			Result struct {
				Approval struct {
					Outcome string
				}
			}
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Errorf("%v in %q", err, line)
		}
		outcomes = append(outcomes, l.Result.Approval.Outcome)
	}
	if n := s.prompts(); n != s.asked {
		t.Errorf("%d prompts appeared, not %d:\n%s", n, s.asked, s.text())
	}
	return outcomes
}

// batch writes commands as one batch.
func batch(t *testing.T, commands ...string) string {
	t.Helper()
	var b strings.Builder
	for i, c := range commands {
		b.WriteString(object(t, map[string]any{"id": fmt.Sprint(i + 1), "name": "terminal", "arguments": map[string]any{"command": c}}) + "\n")
	}
	return file(t, "calls.jsonl", b.String())
}

func (s *sitting) begin(t *testing.T, dirs ...string) {
	t.Helper()
	for _, d := range dirs {
		if err := os.MkdirAll(filepath.Join(s.Dir, d, "inner"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Process.Kill() })
}

// left tells which directories are still there.
func (s *sitting) left(t *testing.T, dirs ...string) (out string) {
	t.Helper()
	for _, d := range dirs {
		if _, err := os.Lstat(filepath.Join(s.Dir, d)); err == nil {
			out += d + " "
		} else if !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	return strings.TrimSpace(out)
}

func (s *sitting) want(t *testing.T, got []string, want ...string) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("outcomes %q, want %q\n%s\n%s", got, want, s.text(), s.out.String())
	}
}

// A72: once runs once, and the next of its kind is asked again.
func TestPrompt_OnceRunsOnce(t *testing.T) {
	t.Parallel()
	s := sit(t, nil, "tools", "batch", batch(t, "rm -rf a", "rm -rf b"))
	s.begin(t, "a", "b")
	until(t, answerLimit, "no preview appears", func() bool { return strings.Contains(s.text(), "What would be lost:") })
	s.answer(t, "v\r") // decides nothing
	s.answer(t, "once\r")
	s.answer(t, "d\r")
	s.want(t, s.end(t, 0), "approved", "denied")
	if left := s.left(t, "a", "b"); left != "b" {
		t.Errorf("left: %s", left)
	}
	if text := s.text(); !strings.Contains(text, "The whole command:") || strings.Count(text, "What would be lost:") < 2 {
		t.Errorf("shown:\n%s", text)
	}
}

// A64: session opens its pattern until the session ends, and no other finding of a later command.
func TestPrompt_SessionOpensThePatternAndNothingElse(t *testing.T) {
	t.Parallel()
	s := sit(t, nil, "tools", "batch", batch(t, "rm -rf a", "rm -rf b", "rm -rf c; chmod 777 d", "rm -rf d"))
	s.begin(t, "a", "b", "c", "d")
	s.answer(t, "s\r")
	s.answer(t, "\r")
	text := s.text()
	out := s.end(t, 0)
	if len(out) != 4 || out[0] != "approved" || out[2] != "denied" {
		t.Errorf("outcomes %q", out)
	}
	if left := s.left(t, "a", "b", "c", "d"); left != "c" {
		t.Errorf("left: %s", left)
	}
	if second := text[strings.LastIndex(text, "Approval needed"):]; !strings.Contains(second, "world/other-writable") || strings.Contains(second, "1. recursive delete") {
		t.Errorf("the second question is about what was approved already:\n%s", second)
	}
	again := sit(t, s, "tools", "batch", batch(t, "rm -rf c")) // another session
	again.begin(t)
	again.answer(t, "d\r")
	again.want(t, again.end(t, 0), "denied")
}

// A68: always writes the list, keeps the file as it was otherwise, and holds in the next process.
func TestPrompt_AlwaysSurvivesARestart(t *testing.T) {
	t.Parallel()
	s := sit(t, nil, "tools", "batch", batch(t, "rm -rf a"))
	home := filepath.Join(filepath.Dir(s.Dir), "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(home, "config.yaml")
	const kept = "# mine\napprovals:\n  timeout: 200 # long enough\n"
	if err := os.WriteFile(config, []byte(kept), 0o600); err != nil {
		t.Fatal(err)
	}
	s.begin(t, "a")
	s.answer(t, "always\r")
	s.want(t, s.end(t, 0), "approved")
	b, err := os.ReadFile(config)
	if text := string(b); err != nil || !strings.HasPrefix(text, kept) || !strings.Contains(text, "command_allowlist:") || !strings.Contains(text, "recursive delete") {
		t.Errorf("%v, the file holds:\n%s", err, text)
	}
	again := sit(t, s, "tools", "batch", batch(t, "rm -rf b", "chmod 777 b"))
	again.begin(t, "b")
	again.answer(t, "d\r")
	if out := again.end(t, 0); len(out) != 2 || out[1] != "denied" {
		t.Errorf("outcomes %q\n%s", out, again.text())
	}
	if left := s.left(t, "a", "b"); left != "" {
		t.Errorf("left: %s", left)
	}
}

// A65: exact opens one command, under opens one directory.
func TestPrompt_ExactAndUnder(t *testing.T) {
	t.Parallel()
	s := sit(t, nil, "tools", "batch", batch(t, "rm -rf a", "mkdir a; rm -rf b", "rm -rf a", "rm -rf in/c", "rm -rf in/d", "rm -rf e"))
	s.begin(t, "a", "b", "in/c", "in/d", "e")
	s.answer(t, "e\r")     // rm -rf a, this very command
	s.answer(t, "d\r")     // another
	s.answer(t, "under\r") // in
	s.answer(t, "d\r")     // beside it
	out := s.end(t, 0)
	if len(out) != 6 || out[1] != "denied" || out[5] != "denied" {
		t.Errorf("outcomes %q\n%s", out, s.text())
	}
	if left := s.left(t, "a", "b", "in/c", "in/d", "e"); left != "b e" {
		t.Errorf("left: %s", left)
	}
}

// A72: whatever isn't a clear yes runs nothing.
func TestPrompt_NoIsNo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		keys    []string
		outcome string
		code    int
	}{
		"deny":           {[]string{"d\r"}, "denied", 3},
		"Enter":          {[]string{"\r"}, "denied", 3},
		"Esc":            {[]string{"o\x1b"}, "denied", 3},
		"end of input":   {[]string{"\x04"}, "denied", 3},
		"unknown, twice": {[]string{"yes\r", "y\r"}, "denied", 3},
		"Ctrl-C":         {[]string{"o\x03"}, "cancelled", 130},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sit(t, nil, "tools", "call", "terminal", object(t, map[string]any{"command": "rm -rf a"}))
			s.begin(t, "a")
			for _, k := range c.keys {
				s.answer(t, k)
			}
			s.outcome(t, c.code, c.outcome)
		})
	}
}

func (s *sitting) outcome(t *testing.T, code int, want string) {
	t.Helper()
	overdue := time.AfterFunc(answerLimit, func() { _ = s.Process.Kill() })
	defer overdue.Stop()
	_ = s.Wait()
	if got := s.ProcessState.ExitCode(); got != code {
		t.Errorf("exit code %d, want %d\n%s\n%s", got, code, s.text(), s.out.String())
	}
	if !strings.Contains(s.out.String(), `"outcome":"`+want+`"`) {
		t.Errorf("no outcome %q in %s\n%s", want, s.out.String(), s.text())
	}
	if left := s.left(t, "a"); left != "a" {
		t.Error("it ran")
	}
}

// A72: at the end of the time it is no, and the outcome says why.
func TestPrompt_TimeoutIsNo(t *testing.T) {
	t.Parallel()
	s := sit(t, nil, "--config", file(t, "c.yaml", "approvals:\n  timeout: 1\n"), "tools", "call", "terminal", object(t, map[string]any{"command": "rm -rf a"}))
	s.begin(t, "a")
	s.outcome(t, 3, "timeout")
	until(t, answerLimit, "the person isn't told", func() bool { return strings.Contains(s.text(), "Nobody answered in time") })
}

// What was typed before the question appeared can't answer it.
func TestPrompt_EarlierInputIsNoAnswer(t *testing.T) {
	t.Parallel()
	s := sit(t, nil, "tools", "call", "terminal", object(t, map[string]any{"command": "rm -rf a"}))
	if _, err := s.master.WriteString("once\nonce\nalways\n"); err != nil {
		t.Fatal(err)
	}
	s.begin(t, "a")
	until(t, answerLimit, "no prompt appears", func() bool { return s.prompts() > 0 })
	if _, err := s.master.WriteString("\r"); err != nil {
		t.Fatal(err)
	}
	s.outcome(t, 3, "denied")
}

// A45a: by typing the device, and nothing else, a floor act of a device runs once; without the setting nobody is asked.
func TestPrompt_AFloorActIsTyped(t *testing.T) {
	t.Parallel()
	const device = "/dev/nvme99n99p99" // no machine has it
	call := object(t, map[string]any{"command": "mkfs.ext4 " + device})
	confirm := file(t, "c.yaml", "approvals:\n  floor: confirm\n")
	for name, c := range map[string]struct {
		config, keys, outcome string
	}{
		"typed":   {confirm, device + "\r", "approved"},
		"a yes":   {confirm, "once\r", "denied"},
		"not set": {file(t, "d.yaml", "approvals:\n  mode: manual\n"), "", "floor"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sit(t, nil, "--config", c.config, "tools", "call", "terminal", call)
			s.begin(t)
			if c.keys != "" {
				s.answer(t, c.keys)
			}
			overdue := time.AfterFunc(answerLimit, func() { _ = s.Process.Kill() })
			defer overdue.Stop()
			_ = s.Wait()
			if !strings.Contains(s.out.String(), `"outcome":"`+c.outcome+`"`) || s.prompts() != s.asked {
				t.Errorf("no %q in %s\n%s", c.outcome, s.out.String(), s.text())
			}
		})
	}
}

// A script's terminal() asks as the main path would, and goes on with an error that it can use.
func TestPrompt_AScriptAsks(t *testing.T) {
	t.Parallel()
	s := sit(t, nil, "exec", file(t, "s.py", "from hermes_tools import terminal\nprint(terminal('rm -rf a').get('exit_code'), terminal('rm -rf b')['error'][:7])\n"))
	s.begin(t, "a", "b")
	s.answer(t, "o\r")
	s.answer(t, "d\r")
	overdue := time.AfterFunc(answerLimit, func() { _ = s.Process.Kill() })
	defer overdue.Stop()
	_ = s.Wait()
	if !strings.Contains(s.out.String(), "0 BLOCKED") {
		t.Errorf("the script got %s\n%s", s.out.String(), s.text())
	}
	if left := s.left(t, "a", "b"); left != "b" {
		t.Errorf("left: %s", left)
	}
	if !strings.Contains(s.text(), "from a script") {
		t.Errorf("the question doesn't say where it comes from:\n%s", s.text())
	}
}
