package recipes

import (
	"context"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/charmbracelet/x/vt"

	"github.com/hermes-runtime/hermes/internal/keys/keystest"
)

// The terminal that conversations of the pages are had at: no line of theirs is wrapped, and none scrolls away.
const cols, rows = 200, 120

// converse has a conversation at a terminal, as a block shows it: a command, what is on the screen then, and what is typed where the
// prompt stands. Each line is typed when the screen shows all that is above it.
func (x *tree) converse(t *testing.T, s step) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(s.content, "\n"), "\n")
	text, typed := strings.CutPrefix(lines[0], "$ ")
	if !typed {
		t.Fatalf("line %d: the conversation begins with no command", s.line)
	}
	lines = lines[1:]
	screen := keystest.Open(t)
	screen.Resize(t, cols, rows)
	ctx, cancel := context.WithTimeout(t.Context(), commandTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", "exec "+text)
	cmd.Dir, cmd.Env = x.root, append(x.environ, "TERM=xterm", "NO_COLOR=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = screen.TTY, screen.TTY, screen.TTY
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	until := func(expected []string) {
		t.Helper()
		screen.Until(t, "the screen isn't as the page shows it:\n"+strings.Join(expected, "\n"), func(sent string) bool { return matches(shown(sent), expected) })
	}
	for i, line := range lines {
		if says, typed := strings.CutPrefix(line, "> "); typed {
			until(append(lines[:i:i], ">"))
			screen.Type(t, says+"\r")
		}
	}
	until(lines)
	if err := cmd.Wait(); err != nil {
		t.Errorf("$ %s: %v", text, err)
	}
}

// shown is what stands on the screen after it was sent a text.
func shown(text string) string {
	em := vt.NewEmulator(cols, rows)
	defer em.Close()
	_, _ = em.Write([]byte(text))
	var b strings.Builder
	for row := range strings.SplitSeq(em.String(), "\n") {
		b.WriteString(strings.TrimRight(row, " \r") + "\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}
