package search_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/search"
)

func TestNames_NewestFirstThenByPath(t *testing.T) { // SRC-5, SRC-11
	root := t.TempDir()
	write(t, root, map[string]string{
		"old.txt": "", "new.txt": "", "d/same.txt": "", "a.md": "", ".hid.txt": "", ".github/x.yml": "", "b-text/y.md": "", "fixtures/": "",
	})
	at := time.Unix(1_700_000_000, 0)
	for name, age := range map[string]time.Duration{
		"old.txt": time.Hour, "new.txt": 0, "d/same.txt": time.Minute, "a.md": time.Minute, ".hid.txt": 0, ".github/x.yml": 0, "b-text/y.md": time.Minute,
	} {
		if err := os.Chtimes(filepath.Join(root, name), at, at.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("old.txt", filepath.Join(root, "link.txt")); err != nil {
		t.Skip(err)
	}
	s := search.New(search.Options{})
	for _, c := range []struct{ pattern, glob, want string }{
		{"*.txt", "", "new.txt d/same.txt old.txt"},
		{"", "", "new.txt a.md b-text/y.md d/same.txt old.txt"},
		{"txt", "", "new.txt d/same.txt old.txt"},
		{"same", "", "d/same.txt"},
		{"d/*", "", "d/same.txt"},
		{"*", "*.md", "a.md b-text/y.md"},
		{".hid", "", ".hid.txt"},
		{".txt", "", "new.txt d/same.txt old.txt"},
		{".github/**", "", ".github/x.yml"},
		{"{a,old}.*", "", "a.md old.txt"},
		{"none", "", ""},
	} {
		m := find(t, s, environment.Query{Names: true, Pattern: c.pattern, Glob: c.glob, Root: environment.Path(root)})
		got := strings.Join(rel(root, m.Files), " ")
		if got != c.want || m.Total != len(m.Files) {
			t.Errorf("%q: %s, want %s", c.pattern, got, c.want)
		}
	}
	m := find(t, s, environment.Query{Names: true, Pattern: "*.txt", Root: environment.Path(root), Offset: 1, Limit: 1})
	if got := rel(root, m.Files); len(got) != 1 || got[0] != "d/same.txt" || !m.More || m.Total != 3 {
		t.Errorf("the second page is %v of %d", got, m.Total)
	}
}
