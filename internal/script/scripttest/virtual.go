package scripttest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// VirtualEnv makes dir an environment around the python3 of this machine, for VIRTUAL_ENV: it spares a test with a new HERMES_HOME the
// seconds in which Hermes's own interpreter is laid out there.
func VirtualEnv(dir string) error {
	python, err := exec.LookPath("python3")
	if err != nil {
		return fmt.Errorf("the tests of scripts need python3: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil {
		return fmt.Errorf("make a virtual environment: %w", err)
	}
	if err := os.Symlink(python, filepath.Join(dir, "bin", "python")); err != nil {
		return fmt.Errorf("make a virtual environment: %w", err)
	}
	return nil
}
