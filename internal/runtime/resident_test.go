package runtime

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hermes-runtime/hermes/internal/atomicfile"
)

func TestKeeperLog_RemovedHomeIsNotMadeAgain(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(home, "run", "keeper.log")
	l := keeperLog{home: home, file: &atomicfile.Rotating{Path: path}}
	if _, err := l.Write([]byte("a job has no receipt\n")); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "a job has no receipt\n" {
		t.Fatalf("%q, %v", text, err)
	}
	if err := os.RemoveAll(home); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Write([]byte("a job has no receipt\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(home); !os.IsNotExist(err) {
		t.Errorf("%s is there again: %v", home, err)
	}
}
