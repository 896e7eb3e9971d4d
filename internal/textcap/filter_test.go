package textcap_test

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/internal/redact"
	"github.com/hermes-runtime/hermes/internal/secret"
	"github.com/hermes-runtime/hermes/internal/textcap"
)

func TestFilter_DecodesStripsRedactsInOrder(t *testing.T) { // ENG-18, XO-4
	var set secret.Set
	set.Add("NAME", "größter wert")
	key := "sk-" + strings.Repeat("a1", 10)
	in := "\xff \x1b]0;t\x07key s\x1b[1mk-" + key[3:] + "\x1b[0m gr\x1b[31möß\x1b[0mter wert\a password=x\n"
	const (
		all       = "\uFFFD key [redacted:api-key] [redacted:NAME]\a password=[redacted:password]\n"
		knownOnly = "\uFFFD key KEY [redacted:NAME] password=x\n"
	)
	for _, c := range []struct {
		opts textcap.FilterOptions
		want string
	}{
		{textcap.FilterOptions{Redactor: redact.New(&set)}, all},
		{textcap.FilterOptions{Redactor: redact.New(&set), KnownOnly: true, DropControls: true}, strings.Replace(knownOnly, "KEY", key, 1)},
	} {
		for cut := range len(in) + 1 {
			col := textcap.NewCollector(textcap.CollectorOptions{})
			f, err := textcap.NewFilter(col, c.opts)
			if err != nil {
				t.Fatal(err)
			}
			io.WriteString(f, in[:cut])
			io.WriteString(f, in[cut:])
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			if got := col.Result().Head; got != c.want {
				t.Fatalf("cut at %d\n got %q\nwant %q", cut, got, c.want)
			}
		}
	}
}

func TestFilter_FlushShowsAPrompt(t *testing.T) {
	var out bytes.Buffer
	f, err := textcap.NewFilter(&out, textcap.FilterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(f, "\x1b[1mPassword:\x1b[0m ")
	if err := f.Flush(); err != nil || out.String() != "Password: " {
		t.Errorf("%q, %v", out.String(), err)
	}
}

func TestFilter_UnknownEncodingIsRefused(t *testing.T) {
	if _, err := textcap.NewFilter(io.Discard, textcap.FilterOptions{Encoding: "none-such"}); err == nil {
		t.Error("no error")
	}
}

var benchTexts = map[string]string{
	"ascii":  "drwxr-xr-x  12 user group   4096 Jan  2 10:11 some-directory-name-that-is-long\n",
	"yes":    "y\n",
	"utf8":   "größer als ✅ 日本語のテキスト und so weiter, immer weiter in die Nacht\n",
	"colour": "\x1b[2m10:11:12\x1b[0m \x1b[32mINFO\x1b[0m listening on \x1b[1m127.0.0.1:8080\x1b[0m\n",
}

// BenchmarkFilter is the way of all output: filter, collect, spill, in the pieces a pipe gives.
func BenchmarkFilter(b *testing.B) {
	var set secret.Set
	for _, v := range []string{"one-secret-value", "Another Secret 123", "sk_third_0123456789"} {
		set.Add("S", v)
	}
	for name, line := range benchTexts {
		chunk := bytes.Repeat([]byte(line), 32<<10/len(line))
		b.Run(name, func(b *testing.B) {
			c := textcap.NewCollector(textcap.CollectorOptions{Spill: func() (io.WriteCloser, error) { return nopCloser{io.Discard}, nil }})
			f, err := textcap.NewFilter(c, textcap.FilterOptions{Redactor: redact.New(&set)})
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(chunk)))
			b.ReportAllocs()
			for b.Loop() {
				f.Write(chunk)
			}
		})
	}
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// BenchmarkPipe compares 100 MB through a pipe into the filter and collector with the same into a counter.
//
// The bar for a flood is 0.7 of the bare pipe.
func BenchmarkPipe(b *testing.B) {
	chunk := bytes.Repeat([]byte(benchTexts["ascii"]), 32<<10/len(benchTexts["ascii"]))
	const total = 100 << 20
	run := func(b *testing.B, dst io.Writer) {
		r, w, err := os.Pipe()
		if err != nil {
			b.Fatal(err)
		}
		go func() {
			defer w.Close()
			for n := 0; n < total; n += len(chunk) {
				w.Write(chunk)
			}
		}()
		buf := make([]byte, 64<<10)
		if _, err := io.CopyBuffer(dst, struct{ io.Reader }{r}, buf); err != nil {
			b.Fatal(err)
		}
		r.Close()
	}
	b.Run("bare", func(b *testing.B) {
		b.SetBytes(total)
		for b.Loop() {
			run(b, nopCloser{io.Discard})
		}
	})
	b.Run("filtered", func(b *testing.B) {
		b.SetBytes(total)
		for b.Loop() {
			c := textcap.NewCollector(textcap.CollectorOptions{})
			f, err := textcap.NewFilter(c, textcap.FilterOptions{})
			if err != nil {
				b.Fatal(err)
			}
			run(b, f)
			f.Close()
		}
	})
}
