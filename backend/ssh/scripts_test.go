//go:build unix

package ssh_test

import (
	"testing"

	"github.com/hermes-runtime/hermes/backend/ssh/sshtest"
	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/script/scripttest"
)

func TestScripts_RunOnTheHost(t *testing.T) { // XF-1 to XF-6
	scripttest.Conform(t, func(t *testing.T) environment.Environment {
		e := newLab(t, sshtest.Options{}).open(t)
		t.Cleanup(func() { closed(t, e) })
		return e
	})
}
