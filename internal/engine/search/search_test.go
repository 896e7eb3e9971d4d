package search_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/search"
)

// engines gives those that can be tested here.
func engines(t *testing.T, run func(t *testing.T, s *search.Searcher)) {
	t.Run(search.Builtin, func(t *testing.T) { run(t, search.New(search.Options{Engine: search.Builtin})) })
	t.Run(search.Ripgrep, func(t *testing.T) {
		needRipgrep(t)
		run(t, search.New(search.Options{Engine: search.Ripgrep}))
	})
	t.Run("ripgrep alone", func(t *testing.T) {
		needRipgrep(t)
		run(t, search.RipgrepAlone())
	})
}

func find(t *testing.T, s *search.Searcher, q environment.Query) environment.Matches {
	t.Helper()
	m, err := s.Search(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// rel makes paths relative to the root and sorts out what is compared.
func rel(root string, paths []environment.Path) []string {
	var list []string
	for _, p := range paths {
		r, err := filepath.Rel(root, string(p))
		if err != nil {
			r = string(p)
		}
		list = append(list, filepath.ToSlash(r))
	}
	return list
}

func filesWith(t *testing.T, s *search.Searcher, root, pattern, glob string) []string {
	t.Helper()
	return rel(root, find(t, s, environment.Query{
		Pattern: pattern, Root: environment.Path(root), Glob: glob, Mode: environment.SearchFiles,
	}).Files)
}

func TestEngines_ChooseTheSameFilesByGlob(t *testing.T) { // SRC-3, SRC-4
	needRipgrep(t)
	root := corpus(t)
	for _, glob := range []string{
		"*.txt", "*.{py,go}", "!*.txt", "a/*.txt", "a*/*.txt", "**/x.txt", "/a/x.txt", "sub/**", "!sub", "!sub/", "!/sub", "!**/build",
		"*", "**", "**/*", "x.txt", "?.go", "[ab].*", "[!a].*", "{a,b}.{go,py}", "deep/**/er.txt", ".hid*", ".*", ".hidden/**", "**/.h*/*",
		"*.log", "nothing", "sp ace/*", "-*", "-dash/*", "sub", "sub/", "*ü*", "\\-f.txt", "{a,b{/x,.d}}*", "d*/**/*.md", "**.txt",
	} {
		for _, mode := range []environment.SearchMode{environment.SearchFiles, environment.SearchContent} {
			both(t, environment.Query{Pattern: "o", Root: environment.Path(root), Glob: glob, Mode: mode})
		}
	}
	for _, dir := range []string{"sub", ".hidden", "build", "sub/build", "a.go", ".hid.txt", "ignored.log", "binary.bin", "link.go", "linkdir", "utf16le.txt"} {
		both(t, environment.Query{Pattern: "foo", Root: environment.Path(filepath.Join(root, dir))})
	}
}

func TestGlob_ChoosesFiles(t *testing.T) { // SRC-4
	root := t.TempDir()
	write(t, root, map[string]string{
		"a.py": "x", "a.go": "x", "d/a.py": "x", "d/e/b.py": "x", "d/e/b.txt": "x", ".h.py": "x", ".g/a.py": "x", "{x}.md": "x",
	})
	engines(t, func(t *testing.T, s *search.Searcher) {
		for _, c := range []struct{ glob, want string }{
			{"", "a.go a.py d/a.py d/e/b.py d/e/b.txt {x}.md"},
			{"*.py", "a.py d/a.py d/e/b.py"},
			{"!*.py", "a.go d/e/b.txt {x}.md"},
			{"d/*.py", "d/a.py"},
			{"d/**", "d/a.py d/e/b.py d/e/b.txt"},
			{"**/b.*", "d/e/b.py d/e/b.txt"},
			{"*.{go,txt}", "a.go d/e/b.txt"},
			{"[ab].py", "a.py d/a.py d/e/b.py"},
			{"/a.py", "a.py"},
			{".h*", ".h.py"},
			{".g/*", ".g/a.py"},
			{"!d", "a.go a.py {x}.md"},
			{`\{x\}.md`, "{x}.md"},
		} {
			if got := strings.Join(filesWith(t, s, root, "x", c.glob), " "); got != c.want {
				t.Errorf("glob %q: %s, want %s", c.glob, got, c.want)
			}
		}
		for _, bad := range []string{"[a", "{a", "a}", "x\\", "[z-a]", "!", strings.Repeat("{a,b}", 20)} {
			var e *search.Error
			if _, err := s.Search(context.Background(), environment.Query{Pattern: "x", Root: environment.Path(root), Glob: bad}); !errors.As(err, &e) || e.What != "glob" {
				t.Errorf("glob %q: %v", bad, err)
			}
		}
	})
}

func TestIgnore_RulesOfEveryKindHold(t *testing.T) { // SRC-3
	needRipgrep(t)
	outer := t.TempDir()
	root := filepath.Join(outer, "in", "root")
	write(t, outer, map[string]string{
		".gitignore":                "up.txt\nin/root/anchored.txt\nnever.txt\n",
		"in/.ignore":                "*.upper\n",
		"in/root/up.txt":            "x",
		"in/root/anchored.txt":      "x",
		"in/root/a.upper":           "x",
		"in/root/repo/.git/HEAD":    "x",
		"in/root/repo/never.txt":    "x", // rules from above a repository don't reach into it
		"in/root/repo/a.upper":      "x", // but those that aren't git's do
		"in/root/repo/.gitignore":   "/only\n*.o\n!keep.o\n**/cache/\nfoo/**/bar\nx[0-9].t\n\\!bang\nsp\\ \n{p,q}.r\nmid/dle\ntrail/**\n",
		"in/root/repo/only/f":       "x",
		"in/root/repo/s/only/f":     "x",
		"in/root/repo/a.o":          "x",
		"in/root/repo/keep.o":       "x",
		"in/root/repo/cache/f":      "x",
		"in/root/repo/s/cache/f":    "x",
		"in/root/repo/s/mid/dle":    "x",
		"in/root/repo/mid/dle":      "x",
		"in/root/repo/foo/bar":      "x",
		"in/root/repo/foo/a/b/bar":  "x",
		"in/root/repo/x1.t":         "x",
		"in/root/repo/xx.t":         "x",
		"in/root/repo/!bang":        "x",
		"in/root/repo/sp ":          "x",
		"in/root/repo/p.r":          "x",
		"in/root/repo/trail/a/b":    "x",
		"in/root/repo/n/.gitignore": "*\n!.gitignore\n!*.yes\n",
		"in/root/repo/n/a.yes":      "x",
		"in/root/repo/n/a.no":       "x",
		"in/root/repo/n/m/a.yes":    "x",
		"in/root/o/.ignore":         "!a.t\n",
		"in/root/o/.gitignore":      "*.t\n", // weaker than .ignore beside it
		"in/root/o/a.t":             "x",
		"in/root/o/b.t":             "x",
		"in/root/o/.rgignore":       "c.u\n",
		"in/root/o/c.u":             "x",
		"in/root/dirs/.gitignore":   "out/\n",
		"in/root/dirs/out/f":        "x",
		"in/root/dirs/s/out":        "x", // a file is no directory
		"in/root/crlf/.gitignore":   "f1\r\nf2\r\n",
		"in/root/crlf/f1":           "x",
		"in/root/crlf/f2":           "x",
	})
	for _, dir := range []string{"", "repo", "repo/s", "repo/foo", "repo/n", "repo/n/m", "o", "dirs", "dirs/out", "crlf"} {
		q := environment.Query{Pattern: "", Root: environment.Path(filepath.Join(root, dir)), Mode: environment.SearchFiles}
		m, _ := both(t, q)
		names := q
		names.Names, names.Pattern, names.Mode = true, "", ""
		byName := find(t, search.New(search.Options{}), names)
		slices.Sort(byName.Files)
		slices.Sort(m.Files)
		if d := cmp.Diff(m.Files, byName.Files); d != "" {
			t.Errorf("in %q the names found are others than the files searched:\n%s", dir, d)
		}
	}
	s := search.New(search.Options{Engine: search.Builtin})
	if got := filesWith(t, s, root, "x", ""); slices.Contains(got, "crlf/f1") || !slices.Contains(got, "repo/never.txt") || slices.Contains(got, "up.txt") {
		t.Errorf("found %v", got)
	}
}

func TestSearch_NothingFoundTellsOfIgnoredFiles(t *testing.T) { // SRC-3
	root := t.TempDir()
	write(t, root, map[string]string{
		".gitignore": "*.log\nout/\n", "a.log": "word", "out/b.txt": "word", "out/deep/c.txt": "word", "d.txt": "other", "secret.log": "",
	})
	engines(t, func(t *testing.T, s *search.Searcher) {
		q := environment.Query{Pattern: "word", Root: environment.Path(root)}
		if m := find(t, s, q); m.Total != 0 || m.Ignored != 4 {
			t.Errorf("total %d, ignored %d", m.Total, m.Ignored)
		}
		q.Glob = "*.txt"
		if m := find(t, s, q); m.Ignored != 2 {
			t.Errorf("with a glob: ignored %d", m.Ignored)
		}
		q.Glob = ""
		q.Skip = func(p environment.Path) bool { return strings.Contains(string(p), "secret") }
		if m := find(t, s, q); m.Ignored != 3 {
			t.Errorf("without guarded ones: ignored %d", m.Ignored)
		}
		q.Pattern = "other"
		if m := find(t, s, q); m.Total != 1 || m.Ignored != 0 {
			t.Errorf("something found: total %d, ignored %d", m.Total, m.Ignored)
		}
	})
}

func TestSearch_PagesNeitherOverlapNorSkip(t *testing.T) { // SRC-5, SRC-6
	root := t.TempDir()
	tree := map[string]string{}
	for i := range 30 {
		tree[fmt.Sprintf("d%d/f%d.txt", i%7, i)] = strings.Repeat("hit\nmiss\nhit\n", i%4+1)
	}
	write(t, root, tree)
	engines(t, func(t *testing.T, s *search.Searcher) {
		for _, mode := range []environment.SearchMode{environment.SearchContent, environment.SearchFiles, environment.SearchCount} {
			q := environment.Query{Pattern: "hit", Root: environment.Path(root), Mode: mode}
			all := find(t, s, q)
			if all.More || all.TotalIsMin {
				t.Errorf("%s: all of %d isn't all", mode, all.Total)
			}
			var joined environment.Matches
			q.Limit = 7
			for {
				m := find(t, s, q)
				joined.Matches = append(joined.Matches, m.Matches...)
				joined.Files = append(joined.Files, m.Files...)
				joined.Counts = append(joined.Counts, m.Counts...)
				q.Offset += q.Limit
				if m.Total != all.Total || m.More != (q.Offset < all.Total) {
					t.Errorf("%s to %d: total %d of %d, more %v", mode, q.Offset, m.Total, all.Total, m.More)
				}
				if !m.More {
					break
				}
			}
			for _, d := range []string{cmp.Diff(all.Matches, joined.Matches), cmp.Diff(all.Files, joined.Files), cmp.Diff(all.Counts, joined.Counts)} {
				if d != "" {
					t.Errorf("%s: the pages differ from the whole:\n%s", mode, d)
				}
			}
			q.Offset = all.Total + 5
			if m := find(t, s, q); m.More || len(m.Matches)+len(m.Files)+len(m.Counts) > 0 || m.Total != all.Total {
				t.Errorf("%s behind the end: %+v", mode, m)
			}
		}
	})
}

func TestSearch_CountingStopsAtItsLimit(t *testing.T) { // SRC-6
	root := t.TempDir()
	tree := map[string]string{}
	for i := range 20 {
		tree[fmt.Sprintf("f%02d", i)] = strings.Repeat("hit\n", 10)
	}
	write(t, root, tree)
	engines(t, func(t *testing.T, s *search.Searcher) {
		for _, c := range []struct {
			limit int
			total int
			min   bool
		}{{195, 200, false}, {194, 199, true}, {10, 15, true}} {
			m := find(t, s, environment.Query{Pattern: "hit", Root: environment.Path(root), Limit: 5, CountLimit: c.limit})
			if m.Total != c.total || m.TotalIsMin != c.min || !m.More || len(m.Matches) != 5 {
				t.Errorf("limit %d: total %d, minimum %v, %d matches", c.limit, m.Total, m.TotalIsMin, len(m.Matches))
			}
		}
	})
}

func TestSearch_BadPatternsSayWhere(t *testing.T) { // SRC-4
	root := t.TempDir()
	write(t, root, map[string]string{"a": "a"})
	engines(t, func(t *testing.T, s *search.Searcher) {
		for _, c := range []struct {
			pattern string
			at      int
			says    string
		}{
			{"foo(", 3, "not closed"}, {"é)", 1, "closes nothing"}, {"a[b", 1, "not closed"}, {"*a", 0, "nothing to repeat"},
			{`a\q`, 1, `\q`}, {"a{2,1}", 2, "wrong way"}, {"ab{", 2, `\{`}, {"x(?=y)", 1, "look-around"}, {`(a)\1`, 3, "backreferences"},
			{"a\nb", 1, "line break"}, {`a\n`, 1, "line break"}, {"[z-a]", 1, "backwards"},
		} {
			_, err := s.Search(context.Background(), environment.Query{Pattern: c.pattern, Root: environment.Path(root)})
			var e *search.Error
			if !errors.As(err, &e) || e.What != "pattern" || e.At != c.at || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%q: %v", c.pattern, err)
			}
		}
	})
}

func TestBuiltin_NamesTheConstructItLacks(t *testing.T) { // SRC-2
	root := t.TempDir()
	write(t, root, map[string]string{"a": "a"})
	s := search.New(search.Options{Engine: search.Builtin})
	for pattern, names := range map[string]string{
		`\Aa`: `\A`, `a\z`: `\z`, `a{2000}`: "1000", `\<a`: `\<`, `\b{start}a`: `\b{`, `(?-u)a`: "-u", `(?R)a`: "R", `\p{NoSuch}`: "NoSuch", `(?-m)a`: "-m",
	} {
		_, err := s.Search(context.Background(), environment.Query{Pattern: pattern, Root: environment.Path(root)})
		var e *search.Error
		if !errors.As(err, &e) || !strings.Contains(e.Err, names) || !strings.Contains(e.Err, "built-in") {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}
