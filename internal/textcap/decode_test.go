package textcap_test

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hermes-runtime/hermes/internal/textcap"
)

var decoded = []struct{ name, encoding, in, want string }{ // ENG-19
	{"ascii", "", "plain\n", "plain\n"},
	{"utf-8", "utf-8", "größer 日本 👍", "größer 日本 👍"},
	{"a lone byte", "", "a\xffb", "a\uFFFDb"},
	{"two lone bytes", "", "\xff\xfe", "\uFFFD\uFFFD"},
	{"truncated character", "", "a\xe2\x82b", "a\uFFFDb"},
	{"truncated, then whole", "", "\xe2\x82\xe2\x82\xac", "\uFFFD€"},
	{"overlong", "", "\xc0\xaf", "\uFFFD\uFFFD"},
	{"surrogate", "", "\xed\xa0\x80", "\uFFFD\uFFFD\uFFFD"},
	{"above the last", "", "\xf4\x90\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD"},
	{"a continuation alone", "", "a\x80b", "a\uFFFDb"},
	{"incomplete at the end", "", "a\xe2\x82", "a\uFFFD"},
	{"incomplete of four at the end", "", "a\xf0\x9f\x91", "a\uFFFD"},
	{"the mark itself", "", "a\uFFFDb", "a\uFFFDb"},
	{"latin1", "iso-8859-1", "gr\xf6\xdfer", "größer"},
	{"shift_jis", "Shift_JIS", "\x93\xfa\x96\x7b", "日本"},
	{"euc-kr", "euc-kr", "\xc7\xd1\xb1\xdb", "한글"},
	{"utf-16", "utf-16le", "a\x00\xac\x20", "a€"},
	{"cp437", "cp437", "\x81", "ü"},
	{"an alias of WHATWG", "x-sjis", "\x93\xfa\x96\x7b", "日本"},
	{"an alias of IANA", "csPC8CodePage437", "\x81", "ü"},
	{"a name with its year", " ISO_8859-2:1987 ", "\xb3\xf3d\xbc", "łódź"},
	{"a name with its hyphens left out", "iso885915", "\xa4", "€"},
	{"a byte that its encoding doesn't have", "windows-1253", "\xd2\xe1", "\uFFFDα"},
}

func TestDecoder_MendsWhateverPiecesItComesIn(t *testing.T) { // ENG-19
	for _, c := range decoded {
		t.Run(c.name, func(t *testing.T) {
			for cut := range len(c.in) + 1 {
				if got := decode(t, c.encoding, c.in[:cut], c.in[cut:]); got != c.want {
					t.Errorf("cut at %d: %q, want %q", cut, got, c.want)
				}
			}
			var bytewise []string
			for i := range len(c.in) {
				bytewise = append(bytewise, c.in[i:i+1])
			}
			if got := decode(t, c.encoding, bytewise...); got != c.want {
				t.Errorf("by bytes: %q, want %q", got, c.want)
			}
		})
	}
}

func TestDecoder_UnknownEncodingIsNamed(t *testing.T) {
	_, err := textcap.NewDecoder(io.Discard, "klingon-8")
	if err == nil || !strings.Contains(err.Error(), "klingon-8") {
		t.Errorf("error %v", err)
	}
}

func decode(t *testing.T, encoding string, pieces ...string) string {
	t.Helper()
	var out bytes.Buffer
	d, err := textcap.NewDecoder(&out, encoding)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pieces {
		if n, err := io.WriteString(d, p); n != len(p) || err != nil {
			t.Fatal(n, err)
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func FuzzDecoder(f *testing.F) {
	for _, c := range decoded {
		f.Add(c.in, uint8(1), uint8(2))
	}
	f.Fuzz(func(t *testing.T, s string, a, b uint8) {
		i := min(int(a), len(s))
		j := min(i+int(b), len(s))
		whole := decode(t, "", s)
		if got := decode(t, "", s[:i], s[i:j], s[j:]); got != whole {
			t.Fatalf("split at %d, %d: %q, whole: %q", i, j, got, whole)
		}
		if !utf8.ValidString(whole) || utf8.ValidString(s) && whole != s {
			t.Fatalf("%q became %q", s, whole)
		}
	})
}
