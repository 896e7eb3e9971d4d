package ansi_test

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hermes-runtime/hermes/internal/ansi"
)

var stripped = []struct{ name, in, want string }{ // ENG-20
	{"plain", "hello\n", "hello\n"},
	{"colour", "a\x1b[31mred\x1b[0mb", "aredb"},
	{"private CSI", "\x1b[?25lx\x1b[?1049h", "x"},
	{"colon CSI", "\x1b[38:2::255:0:0mx", "x"},
	{"intermediate CSI", "\x1b[1 qx\x1b[!px", "xx"},
	{"CSI of a secondary kind", "\x1b[>0cx\x1b[<35;1;1Mx\x1b[=1ux", "xxx"},
	{"CSI ended by a final of column 7", "\x1b[200~paste\x1b[201~", "paste"},
	{"CSI cut by a newline", "\x1b[31\nx", "\nx"},
	{"CSI cut by a character", "\x1b[31é", "é"},
	{"CSI cut by CAN", "\x1b[31\x18x", "x"},
	{"CSI cut by an escape", "\x1b[3\x1b[0mx", "x"},
	{"OSC with BEL", "\x1b]0;title\x07x", "x"},
	{"OSC with ST", "\x1b]0;title\x1b\\x", "x"},
	{"OSC with C1 ST", "\x1b]0;title\u009cx", "x"},
	{"OSC with a check mark, whose bytes look like ST", "\x1b]0;✅ done\x07x", "x"},
	{"OSC 8 keeps its text", "\x1b]8;;http://a/\x1b\\link\x1b]8;;\x1b\\ after", "link after"},
	{"OSC cut by another escape", "\x1b]0;t\x1b[31mx", "x"},
	{"DCS", "\x1bPq#0;2\nabc\x07d\x1b\\x", "x"},
	{"SOS PM APC", "\x1bXa\x1b\\1\x1b^b\x1b\\2\x1b_c\x1b\\3", "123"},
	{"nF", "\x1b(B\x1b)0\x1b#8\x1b%Gx\x1b (xx", "xx"},
	{"Fe", "\x1bD\x1bE\x1bMx\x1bH", "x"},
	{"Fp", "\x1b7\x1b8\x1b=\x1b>x", "x"},
	{"Fs", "\x1bcx\x1bn", "x"},
	{"escape twice", "\x1b\x1b[31mx", "x"},
	{"escape before a newline", "\x1b\nx", "\nx"},
	{"escape before a character", "\x1béx", "éx"},
	{"C1 CSI", "\u009b31mx", "x"},
	{"C1 OSC", "\u009d0;t\u009cx\u009d0;t\x07y", "xy"},
	{"C1 DCS SOS PM APC", "\u0090a\u009c1\u0098b\u009c2\u009ec\u009c3\u009fd\u009c4", "1234"},
	{"other C1", "a\u0084\u0085\u009cb", "ab"},
	{"what begins like C1", "10\u00b0 \u00a9 \u00bf", "10\u00b0 \u00a9 \u00bf"},
	{"a byte of a character that looks like C1", "\u251b \u6d9b \U0001f49b", "\u251b \u6d9b \U0001f49b"},
	{"index", "arr[0] [31m", "arr[0] [31m"},
	{"emoji", "👩‍👩‍👧 é ✅", "👩‍👩‍👧 é ✅"},
	{"tabs and returns", "a\tb\r\nc", "a\tb\r\nc"},
	{"written out", `\x1b[31m \033[0m \e[1m ^[[0m`, `\x1b[31m \033[0m \e[1m ^[[0m`},
	{"unfinished at the end", "x\x1b", "x"},
	{"unfinished CSI at the end", "x\x1b[31", "x"},
	{"unfinished OSC at the end", "x\x1b]0;title", "x"},
	{"lead byte at the end", "x\xc2", "x\xc2"},
}

func TestStrip_RemovesEverySequenceAndNothingElse(t *testing.T) {
	for _, c := range stripped {
		t.Run(c.name, func(t *testing.T) {
			if got := ansi.Strip(c.in); got != c.want {
				t.Errorf("Strip(%q) = %q, want %q", c.in, got, c.want)
			}
		})
	}
}

func TestWriter_AnySplitGivesTheSame(t *testing.T) { // ENG-18
	for _, c := range stripped {
		for cut := range len(c.in) + 1 {
			if got := through(t, false, c.in[:cut], c.in[cut:]); got != c.want {
				t.Errorf("%s cut at %d: %q, want %q", c.name, cut, got, c.want)
			}
		}
		if got := through(t, false, strings.Split(c.in, "")...); utf8.ValidString(c.in) && got != c.want {
			t.Errorf("%s by characters: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestWriter_UnendedStringHidesABoundedAmount(t *testing.T) {
	for _, opener := range []string{"\x1b]", "\x1bP", "\x1bX", "\x1b^", "\x1b_", "\u009d"} {
		in := opener + strings.Repeat("x", ansi.MaxString) + "shown again"
		if got := ansi.Strip(in); got != "shown again" {
			t.Errorf("after %q: %d bytes shown, want the text behind %d bytes", opener, len(got), ansi.MaxString)
		}
	}
}

func TestWriter_DropControlsKeepsTabNewlineReturn(t *testing.T) { // XO-4
	in := "a\x00b\x07\tc\r\n\x08d\x7f\x1b[31me\x0c"
	if got, want := through(t, true, in), "ab\tc\r\nde"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	plain := []byte("a\x07b")
	through(t, true, string(plain))
	if string(plain) != "a\x07b" {
		t.Error("the caller's bytes were changed")
	}
}

// CHAT-9: marks that turn text around don't reach a terminal, in whatever pieces they come; letters of languages that run the other way, and
// the marks that only stand beside them, do.
func TestForPeople_DropsMarksThatTurnTextAround(t *testing.T) {
	const in = "a\u202eb\u202a\u2066c\u2069 שלום \u200f\u200e “q” €\u2028\u2070 \x1b[2Jd\x07\u009b1mé\u202c"
	const want = "abc שלום \u200f\u200e “q” €\u2028\u2070 dé"
	if got := ansi.Clean(in); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for size := 1; size < 5; size++ {
		var out bytes.Buffer
		w := ansi.ForPeople(&out)
		for at := 0; at < len(in); at += size {
			if _, err := io.WriteString(w, in[at:min(at+size, len(in))]); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil || out.String() != want {
			t.Errorf("in pieces of %d: %q, %v", size, out.String(), err)
		}
	}
	for _, half := range []string{"a\xe2", "a\xe2\x80", "a\xe2\x81", "a\xe2b", "\xe2\xe2\x80"} {
		if got := ansi.Clean(half); got != half {
			t.Errorf("%q became %q", half, got)
		}
	}
}

// CHAT-9: JSON means the same and drives no terminal.
func TestJSON_EscapesWhatATerminalObeys(t *testing.T) {
	const said = "a\u202e\x7f\u009bé€\u2069\u0080 “q” \xff\x1b"
	var out bytes.Buffer
	if err := json.NewEncoder(ansi.JSON(&out)).Encode(said); err != nil {
		t.Fatal(err)
	}
	var back string
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || back != strings.ToValidUTF8(said, "\ufffd") {
		t.Errorf("%q, %v", back, err)
	}
	if line := strings.TrimSuffix(out.String(), "\n"); line != ansi.Clean(line) || !strings.Contains(line, "é€") {
		t.Errorf("%q", line)
	}
}

func through(t *testing.T, drop bool, pieces ...string) string {
	t.Helper()
	var out bytes.Buffer
	w := ansi.NewWriter(&out)
	w.DropControls = drop
	for _, p := range pieces {
		if n, err := io.WriteString(w, p); n != len(p) || err != nil {
			t.Fatalf("Write of %q: %d, %v", p, n, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func FuzzWriter(f *testing.F) {
	for _, c := range stripped {
		f.Add(c.in, uint8(3), uint8(5))
	}
	f.Fuzz(func(t *testing.T, s string, a, b uint8) {
		whole := ansi.Strip(s)
		i := min(int(a), len(s))
		j := min(i+int(b), len(s))
		if got := through(t, false, s[:i], s[i:j], s[j:]); got != whole {
			t.Fatalf("split at %d, %d: %q, whole: %q", i, j, got, whole)
		}
		if strings.ContainsRune(whole, 0x1b) {
			t.Fatalf("an escape is left in %q", whole)
		}
		if utf8.ValidString(s) && ansi.Strip(whole) != whole {
			t.Fatalf("a second Strip changes %q", whole)
		}
	})
}

func BenchmarkWriter(b *testing.B) {
	for name, line := range map[string]string{
		"ascii":  "2026-01-02 10:11:12 INFO listening on 127.0.0.1:8080 with 16 workers\n",
		"utf8":   "10° größer als ✅ 日本語のテキスト und so weiter, immer weiter in die Nacht\n",
		"colour": "\x1b[2m10:11:12\x1b[0m \x1b[32mINFO\x1b[0m listening on \x1b[1m127.0.0.1:8080\x1b[0m\n",
	} {
		chunk := bytes.Repeat([]byte(line), 32<<10/len(line))
		b.Run(name, func(b *testing.B) {
			w := ansi.NewWriter(io.Discard)
			b.SetBytes(int64(len(chunk)))
			for b.Loop() {
				w.Write(chunk)
			}
		})
	}
}

func FuzzVisible(f *testing.F) {
	for _, s := range []string{"ls", "\x1b[2J", "\u202e", "\xff\xfe", "a\tb\nc", "\U000e0041"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v := ansi.Visible(s)
		for _, r := range v {
			if r < 0x20 && r != '\n' || r >= 0x7f && r < 0xa0 || r == 0x202e || r == 0x200b || r == 0xfffd && !strings.ContainsRune(s, 0xfffd) {
				t.Errorf("%q came out as %q", s, v)
			}
		}
		if again := ansi.Visible(v); again != v {
			t.Errorf("%q isn't stable: %q", v, again)
		}
	})
}
