package brought_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hermes-runtime/hermes/internal/engine/brought"
)

func TestTold_KnowsMachinesByWhatTheySay(t *testing.T) {
	for said, want := range map[string]string{"Linux x86_64": "linux/amd64", "Linux aarch64": "linux/arm64", "Darwin arm64": "darwin/arm64", "Plan9 mips": "", "": "", "Linux": ""} {
		if m, ok := brought.Told(said); ok != (want != "") || ok && m.String() != want {
			t.Errorf("%q: %v, %v", said, m, ok)
		}
	}
}

func TestProgram_IsKnownByItsContent(t *testing.T) { // RES-6
	path := filepath.Join(t.TempDir(), "hermes")
	f := brought.Finder{Path: path}
	for content, want := range map[string]string{"a": "ca978112ca1b", "bb": "3b64db95cb55"} {
		if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
		if p, err := f.Program(brought.Here()); err != nil || p.Path != path || p.Hash[:12] != want {
			t.Errorf("%q: %+v, %v", content, p, err)
		}
	}
	if _, err := (brought.Finder{Mode: brought.Off}).Program(brought.Here()); err == nil {
		t.Error("it is off")
	}
}
