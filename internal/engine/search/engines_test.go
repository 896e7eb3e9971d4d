package search_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/search"
)

// needRipgrep skips where ripgrep is missing, but not where all must be tested.
func needRipgrep(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("rg"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("ripgrep is missing, so the engines can't be compared")
		}
		t.Skip("ripgrep is missing: the engines aren't compared")
	}
}

// write makes a tree: names end with a slash for directories.
func write(t testing.TB, root string, tree map[string]string) {
	t.Helper()
	for name, content := range tree {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			continue
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// patterns reads the published set: one per line, empty ones and comments left out. A line may be quoted by a leading space.
func patterns(t testing.TB) []string {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "patterns.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if l := lines.Text(); l != "" && !strings.HasPrefix(l, "## ") {
			list = append(list, l)
		}
	}
	return list
}

// corpus has one of everything that searches go wrong on.
func corpus(t testing.TB) string {
	t.Helper()
	root := t.TempDir()
	long := strings.Repeat("lorem ipsum ", 200)
	utf16 := func(little bool, s string) string {
		out := []byte{0xFE, 0xFF}
		if little {
			out = []byte{0xFF, 0xFE}
		}
		for _, r := range s {
			if little {
				out = append(out, byte(r), byte(r>>8))
			} else {
				out = append(out, byte(r>>8), byte(r))
			}
		}
		return string(out)
	}
	write(t, root, map[string]string{
		"a.go":               "package a\n\nfunc Foo(x int) (string, error) {\n\treturn \"foo\", nil // TODO: bar\n}\n\ntype T struct{ A, B int }\n",
		"b.py":               "import os\n\nclass Foo(object):\n    def bar(self, *args, **kwargs):\n        return os.path.join('a', \"b\")  # FIXME foo.bar\n",
		"crlf.txt":           "first line\r\nfoo\r\n\r\nlast foo bar\r\nno break foo",
		"mixed.txt":          "foo\nbar\r\nbaz\rqux\n",
		"empty.txt":          "",
		"blank.txt":          "\n\n\n",
		"nobreak.txt":        "foo bar",
		"latin1.txt":         "caf\xe9 foo\nna\xefve bar\nfoo\xff\xfebar\n\xe9\n",
		"unicode.txt":        "naïve café\nСтрока текста foo\n日本語 テキスト 42\n٤٢ arabic digits\nfoo\u00a0bar\u2003baz\nstraße ẞ ſ K k\nΣίσυφος ς σ\née foo e\u0301 end\nx_y-z ‿ a\u200db\n",
		"bom.txt":            "\uFEFFfoo at the start\nsecond foo\n",
		"utf16le.txt":        utf16(true, "foo in little\r\nzwei bär\n"),
		"utf16be.txt":        utf16(false, "foo in big\nbär\n"),
		"binary.bin":         "foo\x00bar\nfoo\n",
		"late.bin":           strings.Repeat("foo and more text\n", 5000) + "\x00",
		"long.txt":           long + "foo" + long + "\n" + strings.Repeat("x", 3000) + "foo\nfoo" + long + "\n",
		"a-b/x.txt":          "foo one\n",
		"a/x.txt":            "foo two\nbar\n",
		"a.d/x.txt":          "foo three\n",
		".hidden/x.txt":      "foo hidden\n",
		".hid.txt":           "foo hidden\n",
		".shown.txt":         "foo shown\n",
		"ignored.log":        "foo ignored\n",
		"kept.log":           "foo kept\n",
		"build/out.txt":      "foo build\n",
		"sub/build/out.txt":  "foo sub build\n",
		"sub/keep.log":       "foo sub kept\n",
		"sub/skip.txt":       "foo skip\n",
		"sub/.gitignore":     "skip.txt\n!keep.log\n",
		"deep/er/and/er.txt": "foo deep\n",
		"deep/er/gone.txt":   "foo gone\n",
		"doc/a.md":           "# foo\n\n* item [link](http://example.com/foo?x=1&y=2)\n* 12:34:56 2024-01-02\n",
		"doc/b.tmp":          "foo tmp\n",
		"sp ace/ü.txt":       "foo ünïcode name\n",
		"-dash/-f.txt":       "-foo --bar\n",
		"json.json":          "{\"a\": [1, 2.5e10, -3], \"b\": {\"c\": null}}\n",
		"odd.txt":            "a\\b\\c $HOME ${x} `cmd` 'q' \"dq\" a|b a+b a*b a.b (p) [s] {c} ^ ~ # & % @ ! ? < > = ; : ,\n\ttab\x0bvt\x0cff\n",
		".gitignore":         "*.log\n!kept.log\n/build/\n!.shown.txt\ndeep/**/gone.txt\n# comment\n\\#x\ntrail \nesc\\ \n",
		".ignore":            "*.tmp\n",
		".rgignore":          "rgonly.txt\n",
		"rgonly.txt":         "foo rgonly\n",
		".git/config":        "foo git\n",
		".git/info/exclude":  "excluded.txt\n",
		"excluded.txt":       "foo excluded\n",
	})
	if err := os.Symlink("a.go", filepath.Join(root, "link.go")); err != nil {
		t.Skip(err)
	}
	if err := os.Symlink("sub", filepath.Join(root, "linkdir")); err != nil {
		t.Skip(err)
	}
	return root
}

// both runs one query on both engines and compares the answers.
func both(t *testing.T, q environment.Query) (environment.Matches, error) {
	t.Helper()
	rg := search.RipgrepAlone()
	own := search.New(search.Options{Engine: search.Builtin})
	a, errA := rg.Search(context.Background(), q)
	b, errB := own.Search(context.Background(), q)
	if (errA == nil) != (errB == nil) {
		t.Errorf("%q in %s (glob %q): ripgrep says %v, the built-in says %v", q.Pattern, q.Root, q.Glob, errA, errB)
		return b, errB
	}
	if errA == nil && !q.Names && (a.Engine != search.Ripgrep || b.Engine != search.Builtin) {
		t.Errorf("engines are %q and %q", a.Engine, b.Engine)
	}
	a.Engine, b.Engine = "", ""
	if d := cmp.Diff(a, b); d != "" {
		t.Errorf("%q (glob %q, mode %q): ripgrep (-) and the built-in (+) differ:\n%s", q.Pattern, q.Glob, q.Mode, d)
	}
	return b, errB
}

func TestEngines_GiveEqualAnswersOnThePublishedPatterns(t *testing.T) { // SRC-2
	needRipgrep(t)
	root := corpus(t)
	list := patterns(t)
	if len(list) < 300 {
		t.Errorf("only %d patterns", len(list))
	}
	for i, p := range list {
		if i%thin != 0 {
			continue
		}
		q := environment.Query{Pattern: p, Root: environment.Path(root)}
		switch i % 4 {
		case 1:
			q.Context, q.Limit = 2, 40
		case 2:
			q.Mode = environment.SearchCount
		case 3:
			q.Offset, q.Limit = 3, 5
		}
		both(t, q)
	}
}
