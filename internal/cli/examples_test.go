package cli_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/internal/cli"
	"github.com/hermes-runtime/hermes/internal/script/scripttest"
)

// long are verbs whose examples measure for a while; what they do is tested beside them.
var long = map[string]bool{"hermes bench": true}

// TestHelp_ShowsExamplesThatWorkAsTyped runs every example of every verb as a reader would: in a copy of what a clone has beside
// the code, in a shell.
func TestHelp_ShowsExamplesThatWorkAsTyped(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the examples are for a POSIX shell")
	}
	for verb, lines := range cli.HelpExamples() {
		t.Run(verb, func(t *testing.T) {
			if len(lines) == 0 {
				t.Fatal("the help shows no example")
			}
			if long[verb] {
				t.SkipNow()
			}
			t.Parallel()
			dir, home, venv := clone(t), t.TempDir(), filepath.Join(t.TempDir(), "venv")
			if err := scripttest.VirtualEnv(venv); err != nil {
				t.Fatal(err)
			}
			env := append(os.Environ(), "HERMES_HOME="+home, "VIRTUAL_ENV="+venv, "HERMES_PROFILE=")
			job := ""
			if strings.HasPrefix(verb, "hermes process") { // they are about one that is there
				job = background(t, dir, env)
			}
			if strings.HasPrefix(verb, "hermes sessions") {
				if err := keepTalks(filepath.Join(home, "sessions.db")); err != nil {
					t.Fatal(err)
				}
			}
			for _, line := range lines {
				c := exec.Command("bash", "-c", "set -o pipefail\n"+strings.ReplaceAll(line, someJob, job))
				c.Dir, c.Env = dir, env
				if out, err := c.CombinedOutput(); err != nil || len(out) == 0 && !strings.Contains(line, " set ") && !strings.Contains(line, ">") {
					t.Errorf("%s\n%v\n%s", line, err, out)
				}
			}
		})
	}
}

// someJob is the job that examples name.
const someJob = "proc_0123456789ab"

// background starts a job and gives its id.
func background(t *testing.T, dir string, env []string) string {
	t.Helper()
	c := exec.Command("hermes", "tools", "call", "terminal", `{"command": "echo hi; sleep 1", "background": true}`)
	c.Dir, c.Env = dir, env
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	var started struct {
		ID string `json:"session_id"`
	}
	if err := json.Unmarshal(out, &started); err != nil || started.ID == "" {
		t.Fatalf("%s: %v", out, err)
	}
	return started.ID
}

// clone copies what examples speak of.
func clone(t *testing.T) string {
	t.Helper()
	dir, root := t.TempDir(), filepath.Join("..", "..")
	if err := os.CopyFS(filepath.Join(dir, "examples"), os.DirFS(filepath.Join(root, "examples"))); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "README.md"), string(b))
	return dir
}
