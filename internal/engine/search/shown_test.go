package search_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/search"
)

func TestSearch_LongLinesAreShownAroundTheMatch(t *testing.T) { // SRC-7
	root := t.TempDir()
	pad := strings.Repeat("é", 2000)
	write(t, root, map[string]string{"a": pad + "needle" + pad + "\n", "b": "needle" + pad, "c": pad + "needle", "d": strings.Repeat("x", 494) + "needle"})
	engines(t, func(t *testing.T, s *search.Searcher) {
		m := find(t, s, environment.Query{Pattern: "needle", Root: environment.Path(root)})
		for i, c := range []struct {
			column int
			cut    bool
		}{{2001, true}, {1, true}, {2001, true}, {495, false}} {
			got := m.Matches[i]
			if n := len([]rune(got.Text)); got.Column != c.column || got.Truncated != c.cut || n != 500 || !strings.Contains(got.Text, "needle") {
				t.Errorf("%s: column %d, cut %v, %d characters", got.Path, got.Column, got.Truncated, n)
			}
		}
		m = find(t, s, environment.Query{Pattern: "needle", Root: environment.Path(root), MaxLine: 20})
		if got := m.Matches[0].Text; got != "éééééneedleééééééééé" {
			t.Errorf("a small window is %q", got)
		}
	})
}

func TestSearch_OddNamesAndLinesAreData(t *testing.T) { // SRC-7
	root := t.TempDir()
	tree := map[string]string{
		"-n": "x:1:hit\n", "a:12:b": "hit\n", "a-3-b": "--\nhit\n", "line\nbreak": "hit\n", "--hidden": "hit", "b:1:hit": "1:2:hit\x01\n", "sp ace": "\x1b[31mhit\n",
		"\xff\xfe": "hit\n", "{\"type\":\"match\"}": "{\"type\":\"match\"} hit\n",
	}
	write(t, root, tree)
	engines(t, func(t *testing.T, s *search.Searcher) {
		m := find(t, s, environment.Query{Pattern: "hit", Root: environment.Path(root), Context: 1})
		if len(m.Matches) != len(tree) {
			t.Errorf("%d matches in %d files", len(m.Matches), len(tree))
		}
		for _, got := range m.Matches {
			content := tree[rel(root, []environment.Path{got.Path})[0]]
			if lines := strings.Split(content, "\n"); lines[got.Line-1] != got.Text {
				t.Errorf("%q line %d is %q", got.Path, got.Line, got.Text)
			}
		}
	})
}

func TestSearch_EachContextLineIsShownOnce(t *testing.T) {
	root := t.TempDir()
	write(t, root, map[string]string{"f": "1\n2\nhit\n4\nhit\n6\n7\n8\n9\n10\nhit\nhit\n13"})
	engines(t, func(t *testing.T, s *search.Searcher) {
		q := environment.Query{Pattern: "hit", Root: environment.Path(root), Context: 2}
		want := [][]int{{1, 2, 4}, {6, 7}, {9, 10}, {13}}
		for limit := range 5 {
			q.Limit = limit
			var got [][]int
			for q.Offset = 0; q.Offset < 4; q.Offset += max(limit, 4*(1-limit)) {
				for _, m := range find(t, s, q).Matches {
					var lines []int
					for _, c := range m.Context {
						lines = append(lines, c.Line)
					}
					got = append(got, lines)
				}
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("in pages of %d:\n%s", limit, d)
			}
		}
	})
}

func TestSearch_GuardedFilesAreNeitherMatchedNorNamed(t *testing.T) { // SRC-10
	root := t.TempDir()
	write(t, root, map[string]string{"a.txt": "word", "auth.json": "word", "d/auth.json": "word"})
	skip := func(p environment.Path) bool { return filepath.Base(string(p)) == "auth.json" }
	engines(t, func(t *testing.T, s *search.Searcher) {
		for _, q := range []environment.Query{
			{Pattern: "word"}, {Pattern: "word", Mode: environment.SearchFiles}, {Pattern: "word", Mode: environment.SearchCount}, {Names: true},
			{Pattern: "word", Root: environment.Path(filepath.Join(root, "auth.json"))},
		} {
			q.Skip = skip
			want := 0
			if q.Root == "" {
				q.Root = environment.Path(root)
				want = 1
			}
			m := find(t, s, q)
			if m.Total != want || strings.Contains(fmt.Sprint(m), "auth.json") {
				t.Errorf("%+v found", m)
			}
		}
	})
}

func TestSearch_AFileAsRootIsSearchedThoughIgnored(t *testing.T) { // SRC-9
	root := t.TempDir()
	write(t, root, map[string]string{".gitignore": "*.log\n", "a.log": "word\n", ".hid/f": "word\n", "z.txt": "word"})
	engines(t, func(t *testing.T, s *search.Searcher) {
		for _, name := range []string{"a.log", ".hid/f", ".hid"} {
			m := find(t, s, environment.Query{Pattern: "word", Root: environment.Path(filepath.Join(root, name))})
			if m.Total != 1 {
				t.Errorf("%s: %+v", name, m)
			}
		}
		_, err := s.Search(context.Background(), environment.Query{Pattern: "word", Root: environment.Path(filepath.Join(root, "none"))})
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a missing root: %v", err)
		}
	})
}
