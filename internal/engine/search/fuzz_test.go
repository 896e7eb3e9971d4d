package search

import (
	"bytes"
	"strings"
	"testing"
)

// FuzzPattern: whatever is given, the translation is refused with a place or compiles; and where package regexp and the exact
// simulation must agree, they do.
func FuzzPattern(f *testing.F) {
	for _, p := range []string{
		"foo", `(?i)\bfoo\b`, `[a-z&&[^aeiou]]`, `a**|b{2,3}?`, `(?x) a # c`, `\p{Greek}+$`, `[[:alpha:]--x]`, `(?P<n>a)(?:b)`, `\x{e9}[\/]`, "((a|b)*c)?", "^$", "[", `\`,
		"(?U)a+?", "[^\\n]", "(?i)[^k]", "(?i)\\PL",
	} {
		f.Add(p, "foo bar\nkäse x\r\n")
	}
	f.Fuzz(func(t *testing.T, text, hay string) {
		if len(text) > 100 || len(hay) > 1000 {
			return
		}
		p, err := parsePattern(text)
		if err != nil || p.bad != nil {
			if p.bad == nil || p.bad.Err == "" || p.bad.At > len([]rune(text)) {
				t.Fatalf("%q is refused without a word or place: %v", text, p.bad)
			}
			return
		}
		e := newExact(p.prog)
		s := newScanner(p)
		for _, line := range bytes.Split([]byte(hay), []byte{'\n'}) {
			start, end := e.find(line)
			if start > end || end > len(line) {
				t.Fatalf("%q matches %q from %d to %d", text, line, start, end)
			}
			if s.plain(line) {
				m := p.re.FindIndex(line)
				if (m == nil) != (start < 0) || m != nil && (m[0] != start || m[1] != end) {
					t.Fatalf("%q on %q: package regexp finds %v, the simulation %d to %d", text, line, m, start, end)
				}
			}
		}
		compareScan(t, s, []byte(hay))
	})
}

// compareScan checks that looking for literals first changes nothing.
func compareScan(t *testing.T, s *scanner, hay []byte) {
	t.Helper()
	var want, got []int
	for at := 0; at < len(hay); {
		end := len(hay)
		if n := bytes.IndexByte(hay[at:], '\n'); n >= 0 {
			end = at + n
		}
		if s.matches(hay[at:end]) {
			want = append(want, at)
		}
		at = end + 1
	}
	s.load(hay)
	for at := 0; ; {
		start, end, ok := s.line(at)
		if !ok {
			break
		}
		got = append(got, start)
		at = end + 1
	}
	if len(want) != len(got) {
		t.Fatalf("%q in %q: lines at %v match, found were %v", s.p.text, hay, want, got)
	}
	for i := range want {
		if want[i] != got[i] {
			t.Fatalf("%q in %q: lines at %v match, found were %v", s.p.text, hay, want, got)
		}
	}
}

// FuzzGlob: a compiled glob answers, and one without special characters matches itself alone.
func FuzzGlob(f *testing.F) {
	for _, g := range []string{"*.go", "**/a/**", "{a,b{c,d}}", "[!a-c]?", "a/**/b", `\*`, "{", "[", "", "/x", "!y", ".*", "**"} {
		f.Add(g, "a/b/c.go")
	}
	f.Fuzz(func(t *testing.T, text, path string) {
		if len(text) > 60 || len(path) > 200 {
			return
		}
		if g, err := newFileGlob(text); err == nil && path != "" {
			g.admits(path)
		}
		g, err := compileGlob(text)
		if err != nil {
			if err.Err == "" || err.At > len([]rune(text)) {
				t.Fatalf("%q is refused without a word or place", text)
			}
			return
		}
		plain := !strings.ContainsAny(text, `*?[]{}\`)
		if got := g.match(path, plainMode); plain && got != (path == text) {
			t.Fatalf("%q matches %q: %v", text, path, got)
		}
		if g.match(path, visible) && !g.match(path, plainMode) {
			t.Fatalf("%q matches %q only without hidden names", text, path)
		}
	})
}

// FuzzPieces: pieces put together are the file, whatever sizes reads come in.
func FuzzPieces(f *testing.F) {
	f.Add("a\nbb\nccc", 2)
	f.Add("\xff\xfea\x00\n\x00", 1)
	f.Add("\uFEFFx\n", 4)
	f.Fuzz(func(t *testing.T, text string, size int) {
		if len(text) > 4096 {
			return
		}
		var p pieces
		p.open(&stutter{text: text, size: max(size%7, 1)}, 16)
		var all []byte
		for {
			b, err := p.next()
			if err != nil {
				break
			}
			all = append(all, b...)
		}
		wide := strings.HasPrefix(text, "\xff\xfe") || strings.HasPrefix(text, "\xfe\xff")
		if want := strings.TrimPrefix(text, "\uFEFF"); !wide && !strings.Contains(text, "\x00") && string(all) != want {
			t.Fatalf("got %q, want %q", all, want)
		}
	})
}
