package match_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hermes-runtime/hermes/toolset/file/match"
	"github.com/hermes-runtime/hermes/toolset/file/text"
)

// edit applies a request to a text.
func edit(t testing.TB, content string, r match.Request) (string, match.Found, error) {
	t.Helper()
	d := text.Parse([]byte(content))
	f, err := match.Find(d, r)
	if err != nil {
		return content, f, err
	}
	out, err := d.Apply(f.Edits)
	if err != nil {
		return content, f, err
	}
	return string(out), f, nil
}

func TestFind_EachStrategyFindsItsPlace(t *testing.T) { // PAT-1, PAT-4, PAT-6
	for _, c := range []struct {
		name           string
		file, old, new string
		want           string
		strategy       match.Strategy
	}{
		{"exact in a line", "a = 1; b = 2\n", "b = 2", "b = 3", "a = 1; b = 3\n", match.Exact},
		{"exact is never indented again", "  a\n  b\n", "  a\n", "c\n", "c\n  b\n", match.Exact},
		{"exact over CRLF", "a\r\nb\r\nc\r\n", "a\nb", "a\nx\ny", "a\r\nx\r\ny\r\nc\r\n", match.Exact},
		{"exact over CR", "a\rb\rc", "a\nb", "a\nx", "a\rx\rc", match.Exact},
		{"blanks around", "def f():\n    x = 1\n    y = 2\n", "x = 1\ny = 2", "x = 1\ny = 3", "def f():\n    x = 1\n    y = 3\n", match.LineTrimmed},
		{"new lines get the file's indent", "class A:\n    def f(self):\n        return 1\n", "def f(self):\n    return 1", "def f(self):\n    if x:\n        return 2\n    return 1",
			"class A:\n    def f(self):\n        if x:\n            return 2\n        return 1\n", match.LineTrimmed},
		{"tabs as in the file", "func f() {\n\tif x {\n\t\ty()\n\t}\n}\n", "    if x {\n        y()\n    }", "    if x {\n        y()\n        z()\n    }",
			"func f() {\n\tif x {\n\t\ty()\n\t\tz()\n\t}\n}\n", match.LineTrimmed},
		{"two blanks become four", "def f():\n    if a:\n        b()\n    c()\n", "  if a:\n    b()\n  c()", "  if a:\n    b()\n    if d:\n      e()\n  c()",
			"def f():\n    if a:\n        b()\n        if d:\n            e()\n    c()\n", match.LineTrimmed},
		{"blank lines stay empty", "def f():\n    a\n    b\n", "a\nb", "a\n  \nc", "def f():\n    a\n\n    c\n", match.LineTrimmed},
		{"runs of blanks", "x  =   1\ny = 2\n", "x = 1\ny = 2", "x = 1\ny = 3", "x  =   1\ny = 3\n", match.WhitespaceNormalized},
		{"escapes", "a\n\tb\n", `a\n\tb`, "a\n\tc", "a\n\tc\n", match.EscapeNormalized},
		{"a tab where the text has one", "x\ty\n", `x\ty`, `x\tz`, "x\tz\n", match.EscapeNormalized},
		{"quotes", "say “hello” – now\nnext\n", `say "hello" - now`, `say "hello" - later`, "say “hello” – later\nnext\n", match.UnicodeNormalized},
		{"a no-break blank", "a\u00a0b c\n", "a b c", "a b d", "a\u00a0b d\n", match.UnicodeNormalized},
		{"composition", "cafe\u0301 x\n", "caf\u00e9 x", "caf\u00e9 y", "cafe\u0301 y\n", match.UnicodeNormalized},
		{"a stale middle", "def f():\n    alpha = compute(one)\n    beta = compute(two)\n    gamma = 3\n    return alpha\n",
			"def f():\n    alpha = compute(one)\n    beta = compute(too)\n    gamma = 3\n    return alpha",
			"def f():\n    alpha = compute(one)\n    beta = compute(too)\n    gamma = 4\n    return alpha",
			"def f():\n    alpha = compute(one)\n    beta = compute(two)\n    gamma = 4\n    return alpha\n", match.BlockAnchor},
		{"deleting a line", "a\n  b\nc\n", "  b\n", "", "a\nc\n", match.Exact},
		{"deleting loose lines", "a\n  b\n  d\nc\n", "b\nd\n", "", "a\nc\n", match.LineTrimmed},
		{"the last line keeps having no break", "a\n  b", "b\n", "c\n", "a\n  c", match.LineTrimmed},
	} {
		got, f, err := edit(t, c.file, match.Request{Old: c.old, New: c.new})
		if err != nil || got != c.want || f.Strategy != c.strategy || f.Matches != 1 {
			t.Errorf("%s: %q by %s, %v; want %q by %s", c.name, got, f.Strategy, err, c.want, c.strategy)
		}
	}
}

func TestFind_RefusesHonestly(t *testing.T) { // PAT-1, PAT-3, PAT-5, PAT-7
	block := "def f():\n    alpha = compute(one)\n    beta = %s\n    gamma = 3\n    return alpha\n"
	two := strings.Replace(block, "%s", "two", 1) + "\n" + strings.Replace(block, "%s", "ten", 1)
	for _, c := range []struct {
		name, file, old, new, says string
	}{
		{"twice", "a\nb\na\n", "a", "c", "2 times"},
		{"overlapping", "aaa\n", "aa", "b", "2 times"},
		{"not to fewer by a looser one", "  a\na\n a\n", "a\n", "b\n", "3 times"},
		{"nowhere", "a\nb\n", "zebra stripes", "x", "not found"},
		{"escape drift", "  say 'x'\n  b\n", "say \\'x\\'\nb", "say \\'y\\'\nb", "not found"},
		{"two blocks equally alike", two, strings.Replace(block, "%s", "six", 1), strings.Replace(block, "%s", "new", 1), "2 times"},
		{"unlike middles", "start here\none fish\ntwo fish\nend here\n", "start here\ncompletely\ndifferent text\nend here", "x", "not found"},
		{"blanks alone", "a\n\n\nb\n", "   ", "x", "not found"},
	} {
		got, _, err := edit(t, c.file, match.Request{Old: c.old, New: c.new})
		if err == nil || !strings.Contains(err.Error(), c.says) || got != c.file {
			t.Errorf("%s: %q, %v; want an error with %q", c.name, got, err, c.says)
		}
	}
}

func TestFind_EscapeDriftIsRefused(t *testing.T) { // PAT-5
	file := "def f():\n    print('one thing')\n    alpha = compute(one)\n    beta = compute(two)\n    return 1\n"
	old := "def f():\n    print(\\'one thing\\')\n    alpha = compute(one)\n    beta = compute(two)\n    return 1"
	_, _, err := edit(t, file, match.Request{Old: old, New: strings.Replace(old, "one thing", "other", 1)})
	var r *match.Refused
	if !errors.As(err, &r) {
		t.Errorf("got %v", err)
	}
}

func TestFind_AllFromTheTopAndApart(t *testing.T) { // PAT-2
	for _, c := range []struct{ file, old, new, want string }{
		{"aaaa", "aa", "a", "aa"},
		{"x\nx\nx\n", "x", "xx", "xx\nxx\nxx\n"},
		{"  a\n  b\n    a\n    b\n", "a\nb\n", "a\nc\n", "  a\n  c\n    a\n    c\n"},
	} {
		got, _, err := edit(t, c.file, match.Request{Old: c.old, New: c.new, All: true})
		if err != nil || got != c.want {
			t.Errorf("all %q in %q: %q, %v; want %q", c.old, c.file, got, err, c.want)
		}
	}
	file := "start here\nalpha beta gamma one\ndelta two\nend here\n"
	if got, _, err := edit(t, file, match.Request{Old: "start here\nalpha beta gamma two\ndelta two\nend here", New: "x", All: true}); err == nil {
		t.Errorf("a likeness was replaced everywhere: %q", got)
	}
}

func TestFind_NothingFoundShowsWhatIsNear(t *testing.T) { // PAT-7
	_, _, err := edit(t, "one\nfunc compute(alpha, beta int) int {\n\treturn 1\n}\n", match.Request{Old: "func compute(alpha, beta string) {\n\tpanic(1)\n}", New: "x"})
	var nf *match.NotFound
	if !errors.As(err, &nf) || len(nf.Near) == 0 || nf.Near[0].Line != 2 {
		t.Errorf("got %v, %+v", err, nf)
	}
}

func TestFind_EqualLinesStayCheap(t *testing.T) {
	file := strings.Repeat("    the same line again and again\n", 10_000)
	old := strings.Repeat("the same line again and again\n", 20) + "another line\n" + strings.Repeat("the same line again and again\n", 20)
	if _, _, err := edit(t, file, match.Request{Old: old, New: "x"}); err == nil {
		t.Error("found what isn't there")
	}
}

func FuzzFind(f *testing.F) {
	f.Add("a\n  b\nc\n", "b\nc", "x", false)
	f.Add("a\r\nb\r\n", "a\nb", "c\n", true)
	f.Add("“a” – b", `"a" - b`, `"a" - c`, false)
	f.Add("x\n\ty\n", `x\n\ty`, `x\tz`, false)
	f.Add("\xff\xfea\x00", "a", "b", false)
	f.Add("é\n", "\u200b", "b", true)
	f.Fuzz(func(t *testing.T, file, old, fresh string, all bool) {
		old, fresh = text.Normalise(old), text.Normalise(fresh)
		if old == "" || old == fresh || len(file)+len(old) > 4000 {
			return
		}
		if !utf8.ValidString(old) || !utf8.ValidString(fresh) {
			return // arguments come as JSON and are valid
		}
		d := text.Parse([]byte(file))
		found, err := match.Find(d, match.Request{Old: old, New: fresh, All: all})
		if err != nil {
			return
		}
		if found.Matches < 1 || !all && found.Matches != 1 {
			t.Fatalf("%d matches", found.Matches)
		}
		out, err := d.Apply(found.Edits)
		if errors.Is(err, text.ErrUndecodable) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(found.Edits) == 0 {
			return
		}
		// What stands outside of the edits is there afterwards, byte for byte.
		first, last := found.Edits[0].Start, found.Edits[len(found.Edits)-1].End
		res := text.Parse(out)
		if d.Encoding == res.Encoding && (!strings.HasPrefix(res.Text, d.Text[:first]) || !strings.HasSuffix(res.Text, d.Text[last:])) {
			t.Fatalf("outside of %d to %d %q became %q", first, last, d.Text, res.Text)
		}
	})
}

// All of several loosely found lines can go, the last of the file among them: the line break between them goes once.
func TestFind_TheLastLinesGoTogether(t *testing.T) {
	for file, want := range map[string]string{"a \na": "", "x\na \na": "x", "a \nb\na": "b"} {
		out, _, err := edit(t, file, match.Request{Old: "a\n", New: "", All: true})
		if err != nil || strings.TrimSuffix(out, "\n") != want {
			t.Errorf("%q becomes %q, %v", file, out, err)
		}
	}
}
