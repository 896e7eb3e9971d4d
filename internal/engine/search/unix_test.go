//go:build unix

package search_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/search"
)

// TestSearch_UnreadableFilesAreCounted runs as someone whom permissions bind, since they don't bind the superuser.
func TestSearch_UnreadableFilesAreCounted(t *testing.T) { // SRC-9
	root := os.Getenv("HERMES_TEST_ROOT")
	if root == "" {
		root = t.TempDir()
		if os.Geteuid() == 0 {
			var err error
			if root, err = os.MkdirTemp("/tmp", "hermes-search-"); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(root) })
		}
		write(t, root, map[string]string{"a.txt": "word\n", "no.txt": "word\n", "nodir/x": "word\n"})
		for name, mode := range map[string]os.FileMode{"": 0o755, "no.txt": 0, "nodir": 0} {
			if err := os.Chmod(filepath.Join(root, name), mode); err != nil {
				t.Fatal(err)
			}
		}
		t.Cleanup(func() { os.Chmod(filepath.Join(root, "nodir"), 0o755) })
		if os.Geteuid() == 0 {
			asNobody(t, root)
			return
		}
	}
	engines(t, func(t *testing.T, s *search.Searcher) {
		m := find(t, s, environment.Query{Pattern: "word", Root: environment.Path(root)})
		if m.Total != 1 || m.Unreadable != 2 {
			t.Errorf("%d found, %d unreadable", m.Total, m.Unreadable)
		}
		if m = find(t, s, environment.Query{Names: true, Root: environment.Path(root)}); m.Unreadable != 1 {
			t.Errorf("names: %d unreadable", m.Unreadable)
		}
		if _, err := s.Search(t.Context(), environment.Query{Pattern: "word", Root: environment.Path(filepath.Join(root, "nodir"))}); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("a root that can't be read: %v", err)
		}
	})
}

// asNobody runs the test again without privileges.
func asNobody(t *testing.T, root string) {
	t.Helper()
	program, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(root, ".test") // where the original lies others may not look
	if err := os.WriteFile(copied, program, 0o755); err != nil {
		t.Fatal(err)
	}
	const nobody = 65534
	c := exec.Command(copied, "-test.run=^"+t.Name()+"$")
	c.Env = append(os.Environ(), "HERMES_TEST_ROOT="+root)
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	c.Dir = "/"
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
}
