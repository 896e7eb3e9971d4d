//go:build linux

package docker_test

import (
	"cmp"
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
