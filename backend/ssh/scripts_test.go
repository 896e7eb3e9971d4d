//go:build unix

package ssh_test

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/backend/ssh/sshtest"
	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/script/scripttest"
	"github.com/hermes-runtime/hermes/tool"
)

func TestScripts_RunOnTheHost(t *testing.T) { // XF-1 to XF-7
	for mode, resident := range map[string]string{"engine": "", "plain shell": "off"} {
		t.Run(mode, func(t *testing.T) {
			scripttest.Conform(t, func(t *testing.T) environment.Environment {
				l := newLab(t, sshtest.Options{})
				l.config.Resident = cmp.Or(resident, l.config.Resident)
				e := l.open(t)
				t.Cleanup(func() { closed(t, e) })
				return e
			})
		})
	}
}

// BenchmarkScript measures print(1) as a script and through the ssh command, and a tool call of a script.
func BenchmarkScript(b *testing.B) {
	l := newLab(b, sshtest.Options{})
	e := l.open(b)
	b.Cleanup(func() { closed(b, e) })
	in := scripttest.Enter(b, e)
	argv := append(l.program(b), "python3 -c 'print(1)'")
	b.Run("execute_code", func(b *testing.B) {
		for b.Loop() {
			if rep := in.Run(b, "print(1)"); rep.Output != "1\n" {
				b.Fatal(rep.Error)
			}
		}
	})
	b.Run("ssh", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command(argv[0], argv[1:]...).Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("call", in.BenchmarkCalls)
}

func TestScripts_ADroppedLinkEndsBothEnds(t *testing.T) { // XF-5
	l := newLab(t, sshtest.Options{})
	r := l.relayed(t, "ServerAliveInterval 1", "ServerAliveCountMax 1")
	e := l.open(t)
	t.Cleanup(func() { closed(t, e) })
	in := scripttest.Enter(t, e)
	dir := string(in.State.Dir())
	calls := 0
	in.Tools["terminal"] = func(ctx context.Context, q tool.Request, args map[string]any) tool.Result {
		if calls++; args["command"] == "cut" {
			r.Cut()
			<-ctx.Done()
		}
		return scripttest.Result(q, map[string]any{"exit_code": 0})
	}
	rep := in.Run(t, `
import os, signal
from hermes_tools import terminal
for s in signal.SIGTERM, signal.SIGHUP: signal.signal(s, signal.SIG_IGN)
open("pid", "w").write(str(os.getpid()))
terminal(os.environ["TMPDIR"])
try:
    terminal("cut")
finally:
    while True: pass
`)
	if rep.Status != "error" || !strings.Contains(rep.Error, environment.ErrLost.Error()) || rep.ToolCallsMade != 2 || calls != 2 {
		t.Errorf("%+v, %d calls", rep, calls)
	}
	pid, err := strconv.Atoi(read(t, filepath.Join(dir, "pid")))
	if err != nil {
		t.Fatal(err)
	}
	gone(t, []int{pid})
	temp := in.Calls()[0].Arguments
	if rep := in.Run(t, fmt.Sprintf("import os\nprint(os.path.exists(%s['command']))", temp)); rep.Status != "success" || rep.Output != "False\n" {
		t.Errorf("the next script, over a new contact: %+v", rep)
	}
}
