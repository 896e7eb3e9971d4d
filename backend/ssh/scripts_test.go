//go:build unix

package ssh_test

import (
	"cmp"
	"os/exec"
	"testing"

	"github.com/hermes-runtime/hermes/backend/ssh/sshtest"
	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/script/scripttest"
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
