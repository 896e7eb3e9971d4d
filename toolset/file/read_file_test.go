//go:build linux || darwin

package file_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/tool"
	"github.com/hermes-runtime/hermes/toolset/file"
)

func numberedLines(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

func TestRead_ShowsNumberedLines_RDF1(t *testing.T) {
	h := here(t)
	h.put("a.txt", "one\n\ntwo")
	if r := h.do("read_file", m{"path": "a.txt"}); r.content() != "1|one\n2|\n3|two" || r.TotalLines != 3 || r.Truncated || strings.Contains(r.text, "error") {
		t.Errorf("%s", r.text)
	}
	h.put("long.txt", strings.Repeat("x", 5000)+"\nend\n")
	r := h.do("read_file", m{"path": "long.txt"})
	mention(t, r.content(), "5000 characters", "2|end")
	if len(r.content()) > 2200 {
		t.Errorf("%d characters", len(r.content()))
	}
}

func TestRead_PagesMeetWithoutGap_RDF2(t *testing.T) {
	h := here(t)
	h.put("a.txt", strings.TrimSuffix(numberedLines(501), "\n"))
	r := h.do("read_file", m{"path": "a.txt"})
	if !r.Truncated || r.TotalLines != 501 || !strings.HasSuffix(r.content(), "500|line 500") {
		t.Errorf("%.200s", r.text)
	}
	mention(t, r.Hint, "offset=501")
	r = h.do("read_file", m{"path": "a.txt", "offset": 501})
	if r.Truncated || r.content() != "501|line 501" || r.TotalLines != 501 {
		t.Errorf("%s", r.text)
	}
	r = h.do("read_file", m{"path": "a.txt", "offset": 900})
	if r.content() != "" || r.TotalLines != 501 || r.Truncated {
		t.Errorf("%s", r.text)
	}
	mention(t, r.Hint, "501 lines")
	for _, args := range []m{{"limit": 0}, {"limit": -3}, {"offset": 0}, {"offset": nil, "limit": nil}} {
		args["path"] = "a.txt"
		if r := h.as("other", tool.CallerAPI).do("read_file", args); r.TotalLines != 501 || !strings.HasPrefix(r.content(), "1|") || !strings.HasSuffix(r.content(), "500|line 500") {
			t.Errorf("%v: %.100s", args, r.text)
		}
	}
	h.put("b.txt", numberedLines(2500))
	if r := h.do("read_file", m{"path": "b.txt", "limit": 100_000}); !strings.HasSuffix(r.content(), "2000|line 2000") {
		t.Errorf("%.100s", r.Hint)
	}
}

func TestRead_KeepsWithinItsBudget_RDF3(t *testing.T) {
	h := here(t)
	h.put("a.txt", strings.Repeat(strings.Repeat("y", 900)+"\n", 300))
	r := h.do("read_file", m{"path": "a.txt"})
	if n := len(r.content()); n > 100_000 || n < 90_000 || !r.Truncated {
		t.Errorf("%d characters, truncated %v", n, r.Truncated)
	}
	shown := strings.Count(r.content(), "\n") + 1
	mention(t, r.Hint, fmt.Sprintf("offset=%d", shown+1))
	h.services[1] = &file.Config{ReadMaxChars: 1000}
	h.put("b.txt", strings.Repeat("z", 1900)+"\nnext\n")
	r = h.do("read_file", m{"path": "b.txt"})
	if !r.Truncated || strings.Contains(r.content(), "next") {
		t.Errorf("%s", r.text)
	}
	mention(t, r.Advice, "line 1")
}

func TestRead_EmptyDirectoryMissing_RDF4_RDF7_RDF8(t *testing.T) {
	h := here(t)
	h.put("empty.txt", "")
	if r := h.do("read_file", m{"path": "empty.txt"}); r.content() != "" || !strings.Contains(r.text, `"total_lines":0`) || r.Error != "" {
		t.Errorf("%s", r.text)
	}
	h.put("dir/settings.py", "")
	h.put("dir/.env", "")
	h.put("deep/down/config.go", "package x\n")
	r := h.do("read_file", m{"path": "dir"})
	mention(t, r.Error, "directory", "settings.py")
	r = h.do("read_file", m{"path": "dir/setings.py"})
	mention(t, r.Error, "no such file", "setings.py")
	if len(r.Similar) == 0 || r.Similar[0] != "dir/settings.py" {
		t.Errorf("similar: %v", r.Similar)
	}
	if r := h.do("read_file", m{"path": "config.go"}); len(r.Similar) == 0 || r.Similar[0] != "deep/down/config.go" {
		t.Errorf("elsewhere: %s", r.text)
	}
	h.put("names/u\u0308ni.txt", "")
	h.put("names/other.txt", "")
	if r := h.do("read_file", m{"path": "names/\u00fcni.txt"}); len(r.Similar) != 1 || r.Similar[0] != "names/u\u0308ni.txt" {
		t.Errorf("the same name in other code points: %s", r.text)
	}
	if r := h.do("read_file", m{"path": "names/.config"}); len(r.Similar) != 0 {
		t.Errorf("a hidden name is like any other: %v", r.Similar)
	}
	if r := h.do("read_file", m{"path": "dir/.en"}); strings.Contains(fmt.Sprint(r.Similar), ".env") {
		t.Errorf("a guarded name was offered: %v", r.Similar)
	}
	for _, bad := range []string{"", "a\x00b"} {
		mention(t, h.do("read_file", m{"path": bad}).Error, "path")
	}
}

func TestRead_BinaryAndImages_RDF9_ENC6(t *testing.T) {
	h := here(t)
	for name, c := range map[string]struct {
		content       string
		binary, image bool
	}{
		"p.png": {"\x89PNG\r\n\x1a\nxxxx", true, true}, "lies.txt": {"\x89PNG\r\n\x1a\nxxxx", true, true}, "a.zip": {"PK\x03\x04", true, false},
		"b.txt": {strings.Repeat("\x00\x01\x02", 300), true, false}, "v.svg": {"<svg></svg>", false, false}, "few.txt": {"a\x00b is mostly text", false, false},
		"wide.txt": {string(writeAs("le", "wide text\n")), false, false}, "old.txt": {"gr\xfc\xdfe\n", false, false}, "script.exe": {"#!/bin/sh\n", false, false},
	} {
		h.put(name, c.content)
		r := h.do("read_file", m{"path": name})
		if r.IsBinary != c.binary || r.IsImage != c.image || (r.Content == nil) != c.binary || c.binary && !c.image && r.Error == "" {
			t.Errorf("%s: %s", name, r.text)
		}
	}
}

func TestRead_EncodingsAreShownAsText_ENC1_ENC2(t *testing.T) {
	h := here(t)
	for encoding, want := range map[string]string{"utf8": "", "bom": "utf-8-bom", "le": "utf-16-le", "be": "utf-16-be", "latin": "unknown-8bit"} {
		h.put(encoding, string(writeAs(encoding, "größe\r\nzwei\r\n")))
		r := h.do("read_file", m{"path": encoding})
		line := "größe"
		if encoding == "latin" {
			line = "gr\uFFFD\uFFFDe"
		}
		if r.content() != "1|"+line+"\n2|zwei" || r.Encoding != want {
			t.Errorf("%s: %s", encoding, r.text)
		}
	}
}

func TestRead_NotebooksAreText_RDF10(t *testing.T) {
	h := here(t)
	h.put("a.ipynb", `{"cells":[{"cell_type":"markdown","source":["# Title\n","text"]},{"cell_type":"code","source":"x = 1","outputs":[{"text":"SECRET"}]}]}`)
	h.put("old.ipynb", `{"worksheets":[{"cells":[{"cell_type":"code","input":["y = 2"]}]}]}`)
	h.put("broken.ipynb", `{"cells":`)
	r := h.do("read_file", m{"path": "a.ipynb"})
	mention(t, r.content(), "# Title", "x = 1")
	if !r.Extracted || strings.Contains(r.content(), "SECRET") {
		t.Errorf("%s", r.text)
	}
	mention(t, h.do("read_file", m{"path": "old.ipynb"}).content(), "y = 2")
	if r := h.do("read_file", m{"path": "broken.ipynb"}); r.Extracted || r.content() != `1|{"cells":` {
		t.Errorf("%s", r.text)
	}
}

func TestRead_ControlCharactersAreShownEscaped_RDF11(t *testing.T) {
	h := here(t)
	h.put("a.txt", "\x1b[31mred\x07 \u009b password=hunter2hunter2\n")
	if r := h.do("read_file", m{"path": "a.txt"}); r.content() != `1|\x1b[31mred\x07 \u009b password=hunter2hunter2` {
		t.Errorf("%q", r.content())
	}
	if r := h.as("s", tool.CallerScript).do("read_file", m{"path": "a.txt"}); r.content() != "\x1b[31mred\x07 \u009b password=hunter2hunter2\n" {
		t.Errorf("%q", r.content())
	}
}

func TestRead_ScriptsGetTheText_XT3_STL5(t *testing.T) {
	h := here(t)
	s := h.as("t1", tool.CallerScript)
	h.put("a.txt", numberedLines(3000))
	h.do("read_file", m{"path": "a.txt"})
	for range 5 {
		if r := s.do("read_file", m{"path": "a.txt"}); r.content() != numberedLines(3000) || r.TotalLines != 3000 || r.Truncated || r.Warning != "" {
			t.Fatalf("%.200s", r.text)
		}
	}
	r := s.do("read_file", m{"path": "a.txt", "offset": 2, "limit": 2})
	if r.content() != "line 2\nline 3\n" || !r.Truncated || r.TotalLines != 3000 {
		t.Errorf("%s", r.text)
	}
}

func TestRead_RepeatsAreAnsweredOnce_STL3_STL2(t *testing.T) {
	h := here(t)
	mem := h.services[0].(*tool.Memory)
	p := h.put("a.txt", "one\ntwo\n")
	again := func(want string) {
		t.Helper()
		r := h.do("read_file", m{"path": "a.txt"})
		got := "content"
		if r.Dedup {
			got = "unchanged"
		} else if r.AlreadyRead > 0 {
			got = fmt.Sprint("stop ", r.AlreadyRead)
		}
		if got != want {
			t.Errorf("got %s, want %s: %s", got, want, r.text)
		}
	}
	again("content")
	again("unchanged")
	again("stop 3")
	again("stop 4")
	h.do("read_file", m{"path": "a.txt", "offset": 2})
	again("content")
	info, _ := os.Stat(p)
	os.WriteFile(p, []byte("ONE\ntwo\n"), 0o644)
	os.Chtimes(p, info.ModTime(), info.ModTime()) // same size, same time
	again("content")
	again("unchanged")
	h.as("t2", tool.CallerModel).do("write_file", m{"path": "a.txt", "content": "x\n"})
	h.as("t2", tool.CallerModel).do("write_file", m{"path": "a.txt", "content": "ONE\ntwo\n"})
	again("content")
	again("unchanged")
	mem.Called("t1") // another tool ran in between
	again("content")
	mem.Forget("t1")
	again("content")
	if r := h.as("other", tool.CallerModel).do("read_file", m{"path": "a.txt"}); r.Dedup {
		t.Errorf("another task: %s", r.text)
	}
}

func TestRead_GuardsHold_GRD1_GRD7(t *testing.T) {
	h := here(t)
	h.put("real/.env", "TOKEN=x")
	os.Symlink("real/.env", h.path("innocent.txt"))
	os.Symlink("/dev/zero", h.path("zero"))
	before := h.places
	for _, p := range []string{".env", "/dev/zero", "/proc/1/environ"} {
		r := h.do("read_file", m{"path": p})
		mention(t, r.Error, "guarded")
	}
	if h.places != before {
		t.Error("an environment was started for what the name alone refuses")
	}
	for _, p := range []string{"real/.env", "innocent.txt", "real/../real//.env", "zero", "/proc/self/environ"} {
		r := h.do("read_file", m{"path": p})
		if r.Error == "" || r.Content != nil {
			t.Errorf("%s: %s", p, r.text)
		}
	}
}

func TestRead_LargeFilesInPages_RDF5_RDF6(t *testing.T) {
	h := here(t)
	var b strings.Builder
	for i := 1; b.Len() < 3<<20; i++ {
		fmt.Fprintf(&b, "row %d of a file that is larger than what one looks at\n", i)
	}
	h.put("big.txt", b.String())
	total := strings.Count(b.String(), "\n")
	r := h.do("read_file", m{"path": "big.txt"})
	mention(t, r.Advice, "large")
	for _, off := range []int{total, total - 700, 30_000, 2, total} {
		r := h.as(fmt.Sprint(off), tool.CallerAPI).do("read_file", m{"path": "big.txt", "offset": off, "limit": 2})
		if !strings.HasPrefix(r.content(), fmt.Sprintf("%d|row %d of", off, off)) || r.TotalLines != total {
			t.Errorf("offset %d: %s", off, r.text)
		}
	}
}
