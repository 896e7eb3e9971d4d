package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/hermes-runtime/hermes/internal/script/scripttest"
)

var scratch string

// after ends what tests have started that several of them use.
var after = func() {}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "hermes-main-*")
	if err != nil {
		panic(err)
	}
	scratch = dir
	code := m.Run()
	after()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// build makes the program as users have it, once for all tests.
var build = sync.OnceValues(func() (string, error) {
	file := filepath.Join(scratch, "hermes")
	if runtime.GOOS == "windows" {
		file += ".exe"
	}
	c := exec.Command("go", "build", "-o", file, ".")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := c.CombinedOutput()
	if err != nil {
		return string(out), err
	}
	return file, nil
})

// hermes is a run of the program with a home, a working directory and a temporary directory of its own.
func hermes(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	file, err := build()
	if err != nil {
		t.Fatalf("build: %v\n%s", err, file)
	}
	c := exec.Command(file, args...)
	dir := t.TempDir()
	c.Dir = filepath.Join(dir, "work")
	for _, d := range []string{c.Dir, filepath.Join(dir, "tmp")} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	venv := filepath.Join(dir, "venv")
	if err := scripttest.VirtualEnv(venv); err != nil {
		t.Fatal(err)
	}
	c.Env = append(os.Environ(), "VIRTUAL_ENV="+venv, "HERMES_HOME="+filepath.Join(dir, "home"), "TMPDIR="+filepath.Join(dir, "tmp"), "HERMES_PROFILE=", "HERMES_YOLO_MODE=")
	return c
}
