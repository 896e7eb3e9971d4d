//go:build linux || darwin

package file_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"
	"unicode/utf16"

	"github.com/hermes-runtime/hermes/tool"
)

// sample is one generated file: what it holds, and an edit whose effect on its bytes is known.
type sample struct {
	name     string
	before   []byte
	after    []byte
	old, new string
	mode     fs.FileMode
	link     string // "sym", "hard" or ""
}

// writeAs writes text in an encoding.
func writeAs(encoding, s string) []byte {
	units := func(little bool) []byte {
		var b bytes.Buffer
		for _, u := range utf16.Encode([]rune("\uFEFF" + s)) {
			if little {
				b.Write([]byte{byte(u), byte(u >> 8)})
			} else {
				b.Write([]byte{byte(u >> 8), byte(u)})
			}
		}
		return b.Bytes()
	}
	switch encoding {
	case "bom":
		return []byte("\uFEFF" + s)
	case "le":
		return units(true)
	case "be":
		return units(false)
	case "latin":
		var b bytes.Buffer
		for _, r := range s {
			if r < 256 {
				b.WriteByte(byte(r))
			} else {
				b.WriteByte('?')
			}
		}
		return b.Bytes()
	}
	return []byte(s)
}

var words = strings.Fields("alpha beta gamma delta größe naïve straße épsilon one two three {x} 'q' \"z\" #c \\n $HOME")

// makeSample generates the n-th file. The edit replaces one line by others; each line knows its own break.
func makeSample(n int) sample {
	r := rand.New(rand.NewPCG(uint64(n), 4))
	encodings := []string{"utf8", "bom", "le", "be", "latin"}
	encoding := encodings[n%len(encodings)]
	breaks := []string{"\n", "\r\n", "\n", "\r"}
	mixed := n%7 == 3
	base := breaks[n/5%len(breaks)]
	count := 3 + r.IntN(12)
	at := r.IntN(count)
	var before, after strings.Builder
	var s sample
	for i := range count {
		line := fmt.Sprintf("%d", i)
		for range r.IntN(6) {
			line += " " + words[r.IntN(len(words))]
		}
		if n%31 == 5 && i == 0 {
			line += strings.Repeat(" long", 3000)
		}
		if n%37 == 6 && i == 1 && encoding == "utf8" {
			line += "\x00nul"
		}
		br := base
		if mixed {
			br = breaks[r.IntN(2)]
		}
		if i == count-1 && n%3 == 1 {
			br = ""
		}
		before.WriteString(line + br)
		if i != at {
			after.WriteString(line + br)
			continue
		}
		s.old = "target " + fmt.Sprint(n)
		s.new = "done\nnext " + fmt.Sprint(n)
		before.Reset()
		before.WriteString(after.String() + line + s.old + br)
		between := br
		if between == "" { // the last line takes its neighbour's
			between = lastBreak(after.String())
		}
		after.WriteString(line + "done" + between + "next " + fmt.Sprint(n) + br)
	}
	s.before, s.after = writeAs(encoding, before.String()), writeAs(encoding, after.String())
	names := []string{"plain", "with blank", "ünïcode", "-dash", "a;b", "$X", "tab\tname", "new\nline", "star*", "quote'd", "[set]", "~tilde"}
	s.name = fmt.Sprintf("d%d/%s%d.txt", n%40, names[n%len(names)], n)
	s.mode = []fs.FileMode{0o644, 0o600, 0o755, 0o640, 0o664, 0o444 | 0o200}[n%6]
	s.link = []string{"", "", "", "sym", "hard"}[n/3%5]
	return s
}

func lastBreak(s string) string {
	for _, br := range []string{"\r\n", "\n", "\r"} {
		if strings.HasSuffix(s, br) {
			return br
		}
	}
	return "\n"
}

func TestRoundTrip_AnEditChangesExactlyItsBytes(t *testing.T) { // ENC-1 to ENC-5, WRI-1 to WRI-4, PAT-6
	files, shards := 2000, 4
	if raced {
		files = 200
	}
	for shard := range shards {
		t.Run(fmt.Sprint(shard), func(t *testing.T) {
			t.Parallel()
			h := hereIn(t, inMemory(t))
			h.caller = tool.CallerScript
			for n := shard; n < files && !t.Failed(); n += shards {
				h.roundTrip(n)
			}
			left, _ := os.ReadDir(h.dir)
			for _, e := range left {
				if strings.HasPrefix(e.Name(), ".hermes-") {
					t.Errorf("%s was left behind", e.Name())
				}
			}
		})
	}
}

// roundTrip reads, writes and edits the n-th file.
func (h *host) roundTrip(n int) {
	t := h.t
	s := makeSample(n)
	p := h.put(s.name, string(s.before))
	if err := os.Chmod(p, s.mode); err != nil {
		t.Fatal(err)
	}
	call := s.name
	switch s.link {
	case "sym":
		call = fmt.Sprintf("link%d", n)
		if err := os.Symlink(s.name, h.path(call)); err != nil {
			t.Fatal(err)
		}
	case "hard":
		if err := os.Link(p, h.path(fmt.Sprintf("hard%d", n))); err != nil {
			t.Fatal(err)
		}
	}
	old := stat(t, p)
	read := h.do("read_file", m{"path": call})
	if read.Error != "" || !strings.Contains(read.content(), s.old) {
		t.Fatalf("%d: read %q: %s", n, call, read.text)
	}
	if s.exact() {
		if w := h.do("write_file", m{"path": call, "content": read.content()}); w.Error != "" || !w.Unchanged {
			t.Fatalf("%d: what was read is not what is there: %.300s", n, w.text)
		}
	} else if read.Encoding != "unknown-8bit" || read.Warning == "" {
		t.Fatalf("%d: %s", n, read.text)
	}
	got := h.do("patch", m{"path": call, "old_string": s.old, "new_string": s.new})
	if !got.Success || got.MatchStrategy != "exact" {
		t.Fatalf("%d: %s", n, got.text)
	}
	after, err := os.ReadFile(p)
	if err != nil {
		t.Fatal(err)
	}
	if want := s.after; !bytes.Equal(after, want) {
		t.Fatalf("%d (%s): holds %q\nwant %q\nwas %q", n, call, after, want, s.before)
	}
	s.compare(t, n, old, stat(t, p))
}

// exact reports whether a program can read the file without loss: not one of an unknown code page.
func (s sample) exact() bool {
	return !strings.Contains(string(bytes.ToValidUTF8(s.before, []byte("\uFFFD"))), "\uFFFD") || s.wide()
}

func (s sample) wide() bool {
	return bytes.HasPrefix(s.before, []byte{0xFF, 0xFE}) || bytes.HasPrefix(s.before, []byte{0xFE, 0xFF})
}

func stat(t testing.TB, p string) *syscall.Stat_t {
	t.Helper()
	info, err := os.Lstat(p)
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t)
}

// compare holds what must stay: mode, owner, links, and the identity of a file with several names.
func (s sample) compare(t testing.TB, n int, old, now *syscall.Stat_t) {
	t.Helper()
	if old.Mode != now.Mode || old.Uid != now.Uid || old.Gid != now.Gid || old.Nlink != now.Nlink {
		t.Errorf("%d: mode %o, owner %d:%d, links %d became %o, %d:%d, %d", n, old.Mode, old.Uid, old.Gid, old.Nlink, now.Mode, now.Uid, now.Gid, now.Nlink)
	}
	if s.link == "hard" && old.Ino != now.Ino {
		t.Errorf("%d: a hard link was broken", n)
	}
}
