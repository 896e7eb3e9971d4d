//go:build linux

package docker_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/script/scripttest"
)

func TestScripts_RunInTheContainer(t *testing.T) { // XF-1 to XF-7
	for mode, resident := range map[string]string{"engine": "", "plain shell": "off"} {
		t.Run(mode, func(t *testing.T) {
			scripttest.Conform(t, func(t *testing.T) environment.Environment {
				l := newLab(t)
				l.config.Image, l.config.Resident = l.d.Python(t), cmp.Or(resident, l.config.Resident)
				return l.open(t)
			})
		})
	}
}

func TestScripts_AnImageWithoutPythonSaysWhatToInstall(t *testing.T) { // XF-2
	in := scripttest.Enter(t, newLab(t).open(t))
	if rep := in.Run(t, "print(1)"); rep.Status != "error" || !strings.Contains(rep.Error, "docker") || !strings.Contains(rep.Error, "install") {
		t.Errorf("%+v", rep)
	}
}

// BenchmarkScript measures print(1) as a script and through the engine's API alone, and a tool call of a script.
func BenchmarkScript(b *testing.B) {
	l := newLab(b)
	l.config.Image = l.d.Python(b)
	e := l.open(b)
	in := scripttest.Enter(b, e)
	b.Run("execute_code", func(b *testing.B) {
		for b.Loop() {
			if rep := in.Run(b, "print(1)"); rep.Output != "1\n" {
				b.Fatal(rep.Error)
			}
		}
	})
	b.Run("exec", func(b *testing.B) {
		for b.Loop() {
			l.attach(b, e.Info().ID, "python3 -c 'print(1)'", io.Discard)
		}
	})
	b.Run("call", in.BenchmarkCalls)
}

func TestScripts_ThroughTheWholeProgram(t *testing.T) { // XF-1, XA-1: the program, the door, the tools, a script in the container
	l := newLab(t)
	l.config.Image = l.d.Python(t)
	code := `
from hermes_tools import patch, read_file, search_files, terminal, write_file
write_file("/root/f.txt", "one\n")
patch("/root/f.txt", "one", "two")
print(read_file("/root/f.txt")["content"].strip(), search_files("tw.", path="/root")["total_count"], terminal("cat f.txt; hostname")["output"].split()[0])
import os, socket
print(os.getcwd(), os.path.exists("/.dockerenv"), socket.gethostname() == terminal("hostname")["output"].strip())
for i in range(3000): print("%099d" % i)
`
	args, err := json.Marshal(map[string]string{"code": code})
	if err != nil {
		t.Fatal(err)
	}
	got := l.hermes(t, nil, "execute_code", string(args))
	out, _ := got["output"].(string)
	if got["status"] != "success" || !strings.HasPrefix(out, "two 1 two\n/root True True\n") || got["tool_calls_made"] != 6.0 {
		t.Errorf("%v: %.200s", got["status"], out)
	}
	spill, _ := got["stdout_spill_path"].(string)
	if page := l.hermes(t, nil, "read_file", fmt.Sprintf(`{"path":%q,"limit":3}`, spill)); !strings.Contains(fmt.Sprint(page["content"]), "two 1 two") { // XO-3
		t.Errorf("%s: %v", spill, page)
	}
}
