//go:build unix

package ssh_test

import (
	"cmp"
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
