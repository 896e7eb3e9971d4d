package cloudtest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/hermes-runtime/hermes/environment"
)

// Open opens a place that its test closes.
func Open(t testing.TB, l Lab) environment.Environment {
	t.Helper()
	e, err := l.Try(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// varRuntime makes the program that runs the tests a runtime: the value is its HERMES_HOME.
const varRuntime = "HERMES_TEST_RUNTIME"

// Runtime makes the program a runtime that uses a place until it is killed, if Kill started it as one. TestMain calls it after Main.
func Runtime(open func(home string) error) {
	home := os.Getenv(varRuntime)
	if home == "" {
		return
	}
	_ = os.Unsetenv(varRuntime)
	fmt.Println(open(home))
	select {}
}

// Kill has a runtime use a place, calls done, and kills it. vars are added to its environment.
func Kill(t testing.TB, home string, vars map[string]string, done func()) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), varRuntime+"="+home)
	for name, value := range vars {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	defer func() { _ = cmd.Process.Kill() }()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "<nil>\n" {
		t.Errorf("it can't use a sandbox: %q, %v", line, err)
	}
	done()
}
