package main_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/internal/keys/keystest"
)

// guest is a person in a conversation with a played model and real tools.
type guest struct {
	*keystest.Screen
	*exec.Cmd
	t *testing.T
}

// converse starts a conversation at a terminal that moves no cursor, so that what was sent to it is what is read. After another one it
// has the same directories.
func converse(t *testing.T, after *guest, tape string, args ...string) *guest {
	t.Helper()
	g := &guest{keystest.Open(t), hermes(t, append([]string{"chat", "-m", "replay:" + file(t, "tape.jsonl", tape)}, args...)...), t}
	if after != nil {
		g.Dir, g.Env = after.Dir, after.Env
	}
	g.sit()
	return g
}

// sit starts the program at the terminal.
func (g *guest) sit() {
	t := g.t
	t.Helper()
	g.Env = append(g.Env, "TERM=dumb")
	g.Stdin, g.Stdout, g.Stderr = g.TTY, g.TTY, g.TTY
	g.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	before := g.Settings(t)
	if err := g.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = g.Process.Kill()
		if after := g.Settings(t); before != after { // CHAT-4
			t.Errorf("the terminal isn't as it was:\n%+v\n%+v", before, after)
		}
	})
}

// text is what was shown, without carriage returns.
func (g *guest) text() string { return strings.ReplaceAll(g.Text(), "\r", "") }

// shows waits until a text was shown.
func (g *guest) shows(text string) {
	g.t.Helper()
	g.Until(g.t, "it doesn't show "+text, func(shown string) bool { return strings.Contains(strings.ReplaceAll(shown, "\r", ""), text) })
}

// say waits for the prompt and types.
func (g *guest) say(text string) {
	g.t.Helper()
	g.Until(g.t, "there is no prompt for "+text, func(shown string) bool { return strings.HasSuffix(shown, "\n> ") })
	g.Type(g.t, text)
}

var lastLine = regexp.MustCompile(`\nhermes: session (s_[0-9a-f]+); go on with: hermes chat --resume (s_[0-9a-f]+)\n$`)

// leaves waits for the end, and gives the session that the last line names.
func (g *guest) leaves(code int) string {
	g.t.Helper()
	overdue := time.AfterFunc(answerLimit, func() { _ = g.Process.Kill() })
	defer overdue.Stop()
	if err := g.Wait(); g.ProcessState.ExitCode() != code {
		g.t.Errorf("%v, want exit code %d:\n%s", err, code, g.text())
	}
	g.Until(g.t, "the last line isn't how to go on", func(shown string) bool { return lastLine.MatchString(strings.ReplaceAll(shown, "\r", "")) })
	return lastLine.FindStringSubmatch(g.text())[1]
}

// CHAT-1 to CHAT-4, CHAT-6, CHAT-7: a conversation with real tools and a question; it goes on in the next process.
func TestChat_AtATerminal(t *testing.T) {
	t.Parallel()
	g := converse(t, nil, `{"text": "I look.", "calls": [{"name": "terminal", "arguments": {"command": "echo one > f; cat f"}}]}
{"text": "I tidy.", "calls": [{"name": "terminal", "arguments": {"command": "rm -rf a"}}, {"name": "todo", "arguments": {"todos": [{"id": "1", "content": "rest", "status": "pending"}]}}]}
{"text": "So be it."}
`)
	if err := os.MkdirAll(filepath.Join(g.Dir, "a", "b"), 0o755); err != nil {
		t.Fatal(err)
	}
	g.say("go\r")
	g.shows("I look.\n💻 terminal echo one > f; cat f …\n💻 terminal echo one > f; cat f ✓")
	g.Until(t, "nobody is asked", func(shown string) bool {
		return strings.Contains(shown, "What would be lost:") && strings.HasSuffix(shown, "\n> ")
	})
	g.Type(t, "d\r")
	g.shows("💻 terminal rm -rf a ✗")
	g.shows("So be it.\n> ")
	g.say("/todo\r")
	g.shows("> /todo\n· rest\n> ")
	g.say("\x04")
	id := g.leaves(0)
	if _, err := os.Stat(filepath.Join(g.Dir, "a", "b")); err != nil {
		t.Error("it was deleted")
	}
	again := converse(t, g, `{"text": "Again.", "calls": [{"name": "todo", "arguments": {}}]}
{"text": "Done."}
`, "--resume", "last")
	again.shows("session " + id)
	again.say("/todo\r")
	again.shows("> /todo\n· rest\n> ")
	again.say("and?\r")
	again.shows("Done.\n> ")
	again.say("/exit\r")
	if got := again.leaves(0); got != id {
		t.Errorf("it went on in %s, not %s", got, id)
	}
}

// CHAT-3, INT-5: Ctrl-C ends what runs, whatever it is; nothing of it is left, and the conversation goes on.
func TestChat_CtrlCEndsWhatRuns(t *testing.T) {
	t.Parallel()
	calling := func(name string, args map[string]any) string {
		return object(t, map[string]any{"calls": []any{map[string]any{"name": name, "arguments": args}}}) + "\n"
	}
	stands := func(g *guest) bool {
		up, _ := filepath.Glob(filepath.Join(g.Dir, "up-*"))
		return len(up) == standing
	}
	shown := func(text string) func(*guest) bool {
		return func(g *guest) bool { return strings.Contains(g.text(), text) }
	}
	asked := func(g *guest) bool {
		return strings.Contains(g.text(), "What would be lost:") && strings.HasSuffix(g.text(), "\n> ")
	}
	script := "import subprocess\nsubprocess.run(['sh', '-c', " + object(t, tree) + "])"
	for name, c := range map[string]struct {
		tape  string
		ready func(*guest) bool
	}{
		"waiting for the model": {`{"delay_ms": 600000, "text": "late"}` + "\n", shown("> go\n")},
		"a command":             {calling("terminal", map[string]any{"command": tree}), stands},
		"a script":              {calling("execute_code", map[string]any{"code": script}), stands},
		"a question":            {calling("terminal", map[string]any{"command": "rm -rf a"}), asked},
		"a child": {calling("delegate_task", map[string]any{"goal": "stand", "toolsets": []string{"terminal"}}) +
			strings.Replace(calling("terminal", map[string]any{"command": tree}), "{", `{"session": "child", `, 1), stands},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			word := marker(t)
			g := converse(t, nil, strings.ReplaceAll(c.tape, "MARK", word)+`{"text": "Still here."}`+"\n")
			g.say("go\r")
			until(t, answerLimit, "it doesn't begin", func() bool { return c.ready(g) })
			g.Type(t, "\x03")
			g.shows("interrupted\n> ")
			until(t, guardLimit, "it says that it was interrupted, and something runs on", func() bool { return len(carrying(t, word)) == 0 })
			if name == "waiting for the model" { // whose reply is still the next one
				g.say("/todo\r")
				g.shows("there is no plan\n> ")
			} else {
				g.say("well?\r")
				g.shows("Still here.\n> ")
			}
			g.say("\x03")
			g.shows("Ctrl-C again leaves")
			g.say("\x03\x03") // one is enough, unless the machine was busy for so long that it counts as the first
			g.leaves(130)
		})
	}
}

// CHAT-4, INT-7: whoever ends the process leaves nothing behind: no child, no raw terminal, and the session can be gone on with.
func TestChat_ARequestToEnd(t *testing.T) {
	t.Parallel()
	word := marker(t)
	g := converse(t, nil, object(t, map[string]any{"calls": []any{map[string]any{
		"name": "terminal", "arguments": map[string]any{"command": strings.ReplaceAll(tree, "MARK", word)}}}})+"\n")
	g.say("go\r")
	until(t, answerLimit, "the command doesn't stand", func() bool {
		up, _ := filepath.Glob(filepath.Join(g.Dir, "up-*"))
		return len(up) == standing
	})
	if err := g.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	g.leaves(130)
	until(t, guardLimit, "something runs on", func() bool { return len(carrying(t, word)) == 0 })
}

// CHAT-6: a conversation that is had elsewhere is opened only after asking.
func TestChat_InUseElsewhere(t *testing.T) {
	t.Parallel()
	g := converse(t, nil, `{"text": "Here."}`+"\n")
	g.say("hi\r")
	g.shows("Here.\n> ")
	other := converse(t, g, `{"text": "There."}`+"\n", "--resume", "last")
	other.shows("in use elsewhere")
	other.say("\r")
	if err := other.Wait(); other.ProcessState.ExitCode() != 1 {
		t.Errorf("%v:\n%s", err, other.text())
	}
	third := converse(t, g, `{"text": "There."}`+"\n", "--resume", "last")
	third.shows("in use elsewhere")
	third.say("y\r")
	third.shows("messages so far")
	third.say("hi\r")
	third.shows("There.\n> ")
	third.say("\x04")
	g.say("\x04")
	if a, b := third.leaves(0), g.leaves(0); a != b {
		t.Errorf("%s isn't %s", a, b)
	}
}

// INT-1: a message ends the turn that runs, also where it runs a script, and is answered.
func TestChat_AMessageEndsTheTurn(t *testing.T) {
	t.Parallel()
	g := converse(t, nil, object(t, map[string]any{"calls": []any{map[string]any{
		"name": "execute_code", "arguments": map[string]any{"code": "import time\nopen('up', 'w').close()\ntime.sleep(300)"}}}})+"\n"+
		`{"text": "At once.", "expect": {"results": {"execute_code": "user sent a new message"}}}`+"\n")
	g.say("go\r")
	until(t, answerLimit, "the script doesn't run", func() bool {
		_, err := os.Stat(filepath.Join(g.Dir, "up"))
		return !errors.Is(err, os.ErrNotExist)
	})
	g.Type(t, "stop that\r")
	g.shows("> stop that\n")
	g.shows("At once.\n> ")
	g.say("\x04")
	g.leaves(0)
}

// Ctrl-Z gives the terminal to the shell, and fg takes it again.
func TestChat_CtrlZ(t *testing.T) {
	t.Parallel()
	inner := hermes(t, "chat", "-m", "replay:"+file(t, "tape.jsonl", `{"text": "Hello."}`+"\n"))
	shell := exec.Command("/bin/sh", append([]string{"-c", `set -m; "$0" "$@"; echo stopped; stty -a | grep -o ' -*icanon'; fg >/dev/null; echo "ended $?"`}, inner.Args...)...)
	shell.Dir, shell.Env = inner.Dir, inner.Env
	g := &guest{keystest.Open(t), shell, t}
	g.sit()
	g.say("hal")
	g.shows("> hal")
	g.Type(t, "\x1a")
	g.shows("stopped\n icanon\n")
	g.shows("\n> hal")
	g.Until(t, "the message isn't shown again", func(shown string) bool { return strings.HasSuffix(shown, "\n> hal") })
	g.Type(t, "lo\r")
	g.shows("Hello.\n> ")
	g.say("\x04")
	g.shows("ended 0\n")
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
}

// CHAT-7: a skill is a command; a word that is no command is never said.
func TestChat_ASkillIsACommand(t *testing.T) {
	t.Parallel()
	g := &guest{keystest.Open(t), hermes(t, "chat", "-m", "replay:"+file(t, "tape.jsonl",
		`{"text": "I knit.", "expect": {"user": "\"knitting\" and follow it. a scarf"}}`+"\n")), t}
	skill := filepath.Join(filepath.Dir(g.Dir), "home", "skills", "knitting")
	if err := os.MkdirAll(skill, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(skill, "SKILL.md"), []byte("---\nname: knitting\ndescription: makes scarves\n---\nKnit.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	g.sit()
	g.say("/kniting a scarf\r")
	g.shows("there is no command /kniting; the nearest is /knitting")
	g.say("/help\r")
	g.shows("/knitting         makes scarves\n")
	g.say("/knitting a scarf\r")
	g.shows("I knit.\n> ")
	g.say("\x04")
	g.leaves(0)
}
