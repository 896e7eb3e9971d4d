//go:build linux

package docker_test

import (
	"cmp"
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
