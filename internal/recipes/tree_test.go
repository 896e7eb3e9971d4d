package recipes

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// tree is a copy of the repository, and the environment that commands are typed in there.
type tree struct {
	root    string
	environ []string
}

// copyTree copies the repository without its history, what it ignores and the modules of its own.
func copyTree(t *testing.T) *tree {
	t.Helper()
	if testing.Short() {
		t.Skip("it builds a copy of the tree")
	}
	for _, need := range []string{"go", "bash"} {
		if _, err := exec.LookPath(need); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatalf("%s is not here, and in CI no recipe goes untried", need)
			}
			t.Skipf("%s is not here", need)
		}
	}
	from, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	x := &tree{root: filepath.Join(t.TempDir(), "hermes")}
	if err := filepath.WalkDir(from, func(file string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, file)
		if err != nil {
			return err
		}
		switch {
		case e.IsDir() && (rel == ".git" || rel == ".cache" || rel == "bin" || rel == "tools"):
			return filepath.SkipDir
		case e.IsDir():
			return os.MkdirAll(filepath.Join(x.root, rel), 0o755)
		case !e.Type().IsRegular():
			return nil
		}
		return copyFile(file, filepath.Join(x.root, rel))
	}); err != nil {
		t.Fatal(err)
	}
	x.environ = environ(filepath.Join(t.TempDir(), "home"))
	return x
}

// moveIn begins with a HERMES_HOME in which nothing is configured.
func (x *tree) moveIn(t *testing.T) { x.environ = environ(filepath.Join(t.TempDir(), "home")) }

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		_ = out.Close() // the copy failed already
		return err
	}
	return out.Close()
}

// environ is that of a newcomer: nothing of Hermes is set. Builds of all copies share their results
// (-trimpath leaves the place out of them), and do only what the tests look at.
func environ(home string) []string {
	var env []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		switch {
		case strings.HasPrefix(name, "HERMES_"), strings.HasPrefix(name, "TERMINAL_"), strings.HasPrefix(name, "GOCOVER"):
		case name == "GOFLAGS", name == "CGO_ENABLED", name == "GOOS", name == "GOARCH", name == "PWD":
		default:
			env = append(env, kv)
		}
	}
	return append(env, "HERMES_HOME="+home, "GOFLAGS=-trimpath -buildvcs=false -ldflags=-w -vet=off", "CGO_ENABLED=0")
}

// commandTime bounds one command; the first build of all takes longest.
const commandTime = 5 * time.Minute

// apply puts blocks into files.
func (x *tree) apply(t *testing.T, s step) {
	t.Helper()
	file := filepath.Join(x.root, filepath.FromSlash(s.file))
	if s.after == "" {
		if _, err := os.Stat(file); err == nil {
			t.Fatalf("line %d: %s is there already", s.line, s.file)
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(s.content), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("line %d: %v", s.line, err)
	}
	before, behind, found := strings.Cut("\n"+string(text), "\n"+s.after+"\n")
	if !found {
		t.Fatalf("line %d: %s has no line %q", s.line, s.file, s.after)
	}
	text = []byte(strings.TrimPrefix(before, "\n") + "\n" + s.after + "\n" + s.content + behind)
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// carryOut does what a section says.
func (x *tree) carryOut(t *testing.T, steps []step) {
	t.Helper()
	for _, s := range steps {
		if s.file != "" {
			x.apply(t, s)
			continue
		}
		if s.talk {
			x.converse(t, s)
			continue
		}
		cs, err := commandsOf(s.content)
		if err != nil {
			t.Fatalf("line %d: %v", s.line, err)
		}
		for _, c := range cs {
			x.command(t, c)
		}
	}
}

// command types one command at the root of the tree and compares exit code and output.
func (x *tree) command(t *testing.T, c command) {
	t.Helper()
	exit, out, errs := x.run(t, c.text)
	if exit != c.exit || !matches(out, c.output) {
		t.Fatalf("$ %s\nexit %s, want %s\n--- printed\n%s--- expected\n%s\n--- on stderr\n%s",
			c.text, exit, c.exit, out, strings.Join(c.output, "\n"), errs)
	}
}

func (x *tree) run(t *testing.T, text string) (exit, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), commandTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", text)
	cmd.Dir, cmd.Env, cmd.WaitDelay = x.root, x.environ, 10*time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if e, failed := errors.AsType[*exec.ExitError](err); err != nil && (!failed || !e.Exited()) {
		t.Fatalf("$ %s: %v\n%s%s", text, err, out.String(), errs.String())
	}
	return strconv.Itoa(cmd.ProcessState.ExitCode()), out.String(), errs.String()
}
