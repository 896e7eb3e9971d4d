package search_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/search"
)

func TestEngines_AgreeOnFilesReadInPieces(t *testing.T) { // SRC-2, SRC-7
	needRipgrep(t)
	root := t.TempDir()
	var text strings.Builder
	for i := 0; text.Len() < 5<<20; i++ {
		fmt.Fprintf(&text, "line %d of a long file %s\n", i, strings.Repeat("x", i%90))
		if i%97 == 0 {
			text.WriteString("needle here é\n")
		}
	}
	write(t, root, map[string]string{
		"big.txt": text.String(), "one-line.txt": strings.Repeat("0123456789", 600_000) + "needle" + strings.Repeat("z", 600_000),
	})
	for _, q := range []environment.Query{
		{Pattern: "needle", Mode: environment.SearchCount},
		{Pattern: "needle", Context: 3, Offset: 200, Limit: 400},
		{Pattern: `\bneedle\b|é$`, Context: 1, Offset: 100, Limit: 20},
	} {
		q.Root = environment.Path(root)
		both(t, q)
	}
}

func TestSearch_ALineOfAnyLengthHidesNoOther(t *testing.T) { // SRC-7, SRC-9
	root := t.TempDir()
	long := "needle" + strings.Repeat("0123456789abcdef", 5<<16)
	search.ShortLines(t, 4<<20)
	write(t, root, map[string]string{"e.txt": long + long, "f.txt": "a needle\n" + long + "\nmiddle\nthe needle\n" + long})
	engines(t, func(t *testing.T, s *search.Searcher) {
		m := find(t, s, environment.Query{Pattern: "needle", Root: environment.Path(root + "/f.txt"), Context: 1})
		var lines []int
		for _, x := range m.Matches {
			lines = append(lines, x.Line)
		}
		if fmt.Sprint(lines) != "[1 2 4 5]" || m.Total != 4 || len(m.Matches[1].Context) != 1 || m.Matches[1].Context[0].Text != "middle" || !m.Matches[1].Truncated {
			t.Errorf("lines %v of %d", lines, m.Total)
		}
		if m.Engine == search.Builtin && m.Unreadable != 1 {
			t.Error("nothing says that a line wasn't searched to its end")
		}
		if m := find(t, s, environment.Query{Pattern: "a needle", Root: environment.Path(root)}); m.Total != 1 { // behind a file like that
			t.Errorf("%d found in the tree", m.Total)
		}
	})
}

func TestSearch_WhatFollowsALinkSwappedInIsNotShown(t *testing.T) { // GRD-2
	root, outside := t.TempDir(), t.TempDir()
	write(t, root, map[string]string{"d/f": "word here\n", "e/f": "word\n"})
	write(t, outside, map[string]string{"f": "word of a secret\n"})
	engines(t, func(t *testing.T, s *search.Searcher) {
		if strings.HasSuffix(t.Name(), "alone") {
			t.Skip("ripgrep shows a page by itself only where nothing else can")
		}
		write(t, root, map[string]string{"d/f": "word here\n"})
		q := environment.Query{Pattern: "word", Root: environment.Path(root)}
		var swap sync.Once
		q.Skip = func(p environment.Path) bool {
			if strings.HasSuffix(string(p), "d/f") {
				swap.Do(func() {
					if err := os.RemoveAll(filepath.Join(root, "d")); err != nil {
						t.Error(err)
					}
					if err := os.Symlink(outside, filepath.Join(root, "d")); err != nil {
						t.Error(err)
					}
				})
			}
			return false
		}
		m := find(t, s, q)
		if strings.Contains(fmt.Sprint(m.Matches), "secret") {
			t.Errorf("shown: %v", m.Matches)
		}
		if err := os.Remove(filepath.Join(root, "d")); err != nil {
			t.Fatal(err)
		}
	})
}
