package textcap_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/internal/redact"
	"github.com/hermes-runtime/hermes/internal/secret"
	"github.com/hermes-runtime/hermes/internal/textcap"
)

// floods are long outputs with secrets where it matters: near the end, over line ends, in lines without an end.
func floods() map[string]string {
	key := "-----BEGIN RSA PRIVATE " + "KEY-----\n" + strings.Repeat("MIIEowIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7\n", 30) + "-----END RSA PRIVATE " + "KEY-----\n"
	lines := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "\x1b[1m%06d\x1b[0m an ordinary line, größer than some and smaller than others\n", i)
		}
		return b.String()
	}
	return map[string]string{
		"short":               "password=x\n",
		"just lines":          lines(32000),
		"secrets in the tail": lines(32000) + "password=x\n" + key + "a multi\nline secret, and token=abc",
		"one endless line":    strings.Repeat("word ", 200_000) + "token=abc end",
		"an endless secret":   lines(32000) + "token=" + strings.Repeat("x", 2_000_000),
		"lines, then none":    lines(32000) + strings.Repeat("word ", 400_000) + "\n" + lines(8000),
		"half a character":    lines(1000) + "\xe2\x82",
	}
}

func TestOutput_ShowsWhatFilterAndCollectorWould(t *testing.T) { // ENG-17, ENG-18
	var set secret.Set
	set.Add("MULTI", "a multi\nline secret")
	filter := textcap.FilterOptions{Redactor: redact.New(&set)}
	for name, text := range floods() {
		for _, spill := range []bool{name == "just lines", true} {
			opts := textcap.CollectorOptions{Limit: 2000, SpillMax: 10_000}
			var files [2]file
			n := 0
			if spill {
				opts.Spill = func() (io.WriteCloser, error) { n++; return &files[n-1], nil }
			}
			c := textcap.NewCollector(opts)
			f, err := textcap.NewFilter(c, filter)
			if err != nil {
				t.Fatal(err)
			}
			o, err := textcap.NewOutput(filter, opts)
			if err != nil {
				t.Fatal(err)
			}
			r := rand.New(rand.NewPCG(1, 2))
			for p := text; p != ""; {
				n := min(1+r.IntN(64<<10), len(p))
				io.WriteString(f, p[:n])
				io.WriteString(o, p[:n])
				p = p[n:]
				if r.IntN(40) == 0 {
					o.Result() // looking must not change anything
				}
			}
			for _, w := range []io.Closer{f, c, o} {
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if got, want := o.Result(), c.Result(); got != want {
				t.Errorf("%s, spill %v: total %+v, want %+v; omitted %+v, want %+v; same head %v, same tail %v", name, spill,
					got.Total, want.Total, got.Omitted, want.Omitted, got.Head == want.Head, got.Tail == want.Tail)
			}
			if files[0].String() != files[1].String() {
				t.Errorf("%s: the spills differ", name)
			}
		}
	}
}

func TestOutput_SecretThatBeganBeforeTheKeptLinesStaysHidden(t *testing.T) { // ENG-18
	var b strings.Builder
	for i := range 40 { // keys one after the other, so that some straddle any place
		fmt.Fprintf(&b, "%d\n-----BEGIN PRIVATE "+"KEY-----\n%s-----END PRIVATE "+"KEY-----\n", i, strings.Repeat("KEYTEXTKEYTEXT\n", 2000))
	}
	o, err := textcap.NewOutput(textcap.FilterOptions{}, textcap.CollectorOptions{})
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(o, b.String())
	o.Close()
	r := o.Result()
	if got := r.Head + r.Tail; strings.Contains(got, "KEYTEXT") || !strings.HasSuffix(got, "39\n[redacted:private-key]\n") {
		t.Errorf("%.300q", got)
	}
}

func TestOutput_FlushShowsAPrompt(t *testing.T) {
	o, err := textcap.NewOutput(textcap.FilterOptions{}, textcap.CollectorOptions{})
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(o, "Password: ")
	if err := o.Flush(); err != nil || o.Result().Head != "Password: " {
		t.Errorf("%q, %v", o.Result().Head, err)
	}
}
