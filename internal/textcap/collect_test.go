package textcap_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hermes-runtime/hermes/internal/textcap"
)

func collect(opts textcap.CollectorOptions, pieces ...string) textcap.Result {
	c := textcap.NewCollector(opts)
	for _, p := range pieces {
		io.WriteString(c, p)
	}
	c.Close()
	return c.Result()
}

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %05d\n", i) // 11 bytes
	}
	return b.String()
}

func TestCollector_AtTheLimitNothingIsCut(t *testing.T) { // ENG-17, XO-2
	for _, unit := range []textcap.Unit{textcap.InChars, textcap.InBytes} {
		for _, c := range []string{"x", "é", "👍"} {
			size := 1
			if unit == textcap.InBytes {
				size = len(c)
			}
			text := strings.Repeat(c, 1000)
			r := collect(textcap.CollectorOptions{Limit: 1000 * size, Unit: unit}, text)
			if r.Truncated || r.Head != text || r.Tail != "" || r.Omitted != (textcap.Counts{}) {
				t.Errorf("unit %d, %q: cut at the limit exactly: %+v", unit, c, r.Omitted)
			}
			r = collect(textcap.CollectorOptions{Limit: 1000 * size, Unit: unit}, text, c)
			if !r.Truncated || r.Total.Chars != 1001 || r.Total.Lines != 1 {
				t.Errorf("unit %d, %q: not cut above the limit: %+v", unit, c, r.Total)
			}
			if utf8.RuneCountInString(r.Head) > 400 || !utf8.ValidString(r.Head+r.Tail) {
				t.Errorf("unit %d, %q: head of %d", unit, c, utf8.RuneCountInString(r.Head))
			}
		}
	}
}

func TestCollector_KeepsFortyAndSixtyPercent(t *testing.T) { // ENG-17, SIZ-9
	r := collect(textcap.CollectorOptions{Limit: 1000}, strings.Repeat("日", 400), strings.Repeat("m", 5000), strings.Repeat("本", 600))
	if r.Head != strings.Repeat("日", 400) || r.Tail != strings.Repeat("本", 600) {
		t.Errorf("head %d bytes, tail %d bytes", len(r.Head), len(r.Tail))
	}
	want := textcap.Counts{Bytes: 5000, Chars: 5000, Lines: 1}
	if r.Omitted != want {
		t.Errorf("omitted %+v, want %+v", r.Omitted, want)
	}
}

func TestCollector_CutsAtLineEndsNearby(t *testing.T) { // XO-2
	text := numbered(1000)
	for _, unit := range []textcap.Unit{textcap.InChars, textcap.InBytes} {
		r := collect(textcap.CollectorOptions{Limit: 1000, Unit: unit}, text)
		if !strings.HasSuffix(r.Head, "\n") || !strings.HasPrefix(r.Tail, "line ") || len(r.Head)+len(r.Tail) > 1000 {
			t.Errorf("head …%q, tail %q…", r.Head[len(r.Head)-12:], r.Tail[:12])
		}
		if len(r.Head) != 396 || len(r.Tail) != 594 {
			t.Errorf("head of %d, tail of %d; want 396 and 594", len(r.Head), len(r.Tail))
		}
		want := textcap.Counts{Bytes: 11000 - 990, Chars: 11000 - 990, Lines: 910}
		if r.Omitted != want || r.Total != (textcap.Counts{Bytes: 11000, Chars: 11000, Lines: 1000}) {
			t.Errorf("omitted %+v of %+v", r.Omitted, r.Total)
		}
	}
	// 401 to 600 bytes from the next line end: too far.
	r := collect(textcap.CollectorOptions{Limit: 1000}, "x\n"+strings.Repeat("y", 3000)+"\nz")
	if len(r.Head) != 400 || len(r.Tail) != 600 {
		t.Errorf("head of %d, tail of %d; want 400 and 600", len(r.Head), len(r.Tail))
	}
}

type file struct {
	bytes.Buffer
	closed int
	fail   error
}

func (f *file) Write(p []byte) (int, error) {
	if f.fail != nil {
		return 0, f.fail
	}
	return f.Buffer.Write(p)
}

func (f *file) Close() error { f.closed++; return nil }

func TestCollector_SpillOpensOnlyAboveTheLimitAndHoldsTheWhole(t *testing.T) { // ENG-17, XO-3
	var f *file
	opts := textcap.CollectorOptions{Limit: 100, Spill: func() (io.WriteCloser, error) {
		f = &file{}
		return f, nil
	}}
	r := collect(opts, strings.Repeat("é", 100))
	if f != nil || r.Spill.Opened {
		t.Fatal("opened at the limit")
	}
	text := numbered(500)
	var pieces []string
	for i := 0; i < len(text); i += 7 {
		pieces = append(pieces, text[i:min(i+7, len(text))])
	}
	r = collect(opts, pieces...)
	if f == nil || f.String() != text || f.closed != 1 {
		t.Fatal("the spill isn't the text")
	}
	if s := r.Spill; !s.Opened || !s.Complete || s.Err != nil || s.Held.Bytes != int64(len(text)) || s.Held.Lines != 500 {
		t.Errorf("state %+v", s)
	}
}

func TestCollector_SpillEndsAtItsMaximum(t *testing.T) { // ENG-17
	for _, unit := range []textcap.Unit{textcap.InChars, textcap.InBytes} {
		var f file
		r := collect(textcap.CollectorOptions{Limit: 10, Unit: unit, SpillMax: 501, Spill: func() (io.WriteCloser, error) { return &f, nil }},
			strings.Repeat("é", 400), strings.Repeat("é", 400))
		want := 501 * 2
		if unit == textcap.InBytes {
			want = 500 // not within a character
		}
		if f.Len() != want || f.closed != 1 || r.Spill.Complete || !r.Spill.Opened || r.Spill.Held.Bytes != int64(want) {
			t.Errorf("unit %d: %d bytes, closed %d times, %+v", unit, f.Len(), f.closed, r.Spill)
		}
		if r.Total.Chars != 800 {
			t.Errorf("total %+v", r.Total)
		}
	}
}

func TestCollector_SpillThatFailsLosesNothingElse(t *testing.T) { // SIZ-5
	cause := errors.New("disk full")
	for name, open := range map[string]func() (io.WriteCloser, error){
		"open":  func() (io.WriteCloser, error) { return nil, cause },
		"write": func() (io.WriteCloser, error) { return &file{fail: cause}, nil },
	} {
		c := textcap.NewCollector(textcap.CollectorOptions{Limit: 100, Spill: open})
		for range 100 {
			if n, err := io.WriteString(c, numbered(100)); n != 1100 || err != nil {
				t.Fatal(n, err)
			}
		}
		if err := c.Close(); !errors.Is(err, cause) {
			t.Errorf("%s: Close gave %v", name, err)
		}
		r := c.Result()
		if !errors.Is(r.Spill.Err, cause) || r.Spill.Complete || r.Total.Lines != 10000 || r.Head == "" || r.Tail == "" {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestCollector_LimitBelowZeroOnlyCounts(t *testing.T) {
	r := collect(textcap.CollectorOptions{Limit: -1}, "a\nb")
	if r.Head+r.Tail != "" || r.Total != (textcap.Counts{Bytes: 3, Chars: 3, Lines: 2}) || r.Omitted != r.Total {
		t.Errorf("%+v", r)
	}
}

func TestCollector_ALineThatIsCutCountsAsLeftOut(t *testing.T) { // ENG-17, XO-2
	long := strings.Repeat("x", 300)
	for _, c := range []struct {
		name, text string
		want       int64
	}{
		{"one line, cut twice", strings.Repeat("x", 3000), 1},
		{"the head's last line and the tail's first", "a\n" + long + long + "\nb\nc\n" + long + long + "\nd", 4},
		{"at a line's end before the tail", "a\n" + long + long + "\n" + long[:250] + "\n", 1},
		{"whole lines", strings.Repeat("0123456789\n", 100), 100 - 18 - 27},
		{"no line break at the end", strings.Repeat("0123456789\n", 100) + "z", 100 - 18 - 27},
	} {
		r := collect(textcap.CollectorOptions{Limit: 500, Unit: textcap.InBytes}, c.text)
		gone := c.text[len(r.Head) : len(c.text)-len(r.Tail)]
		if r.Omitted.Lines != c.want || r.Omitted.Lines != int64(textcap.Lines(gone)) {
			t.Errorf("%s: %d lines left out, want %d; they are %q", c.name, r.Omitted.Lines, c.want, gone)
		}
	}
}

func FuzzCollector(f *testing.F) {
	f.Add(numbered(30), uint8(100), uint8(40), uint8(7), false)
	f.Add("é👍日\n\n", uint8(3), uint8(40), uint8(1), true)
	f.Fuzz(func(t *testing.T, s string, limit, head, step uint8, inBytes bool) {
		s = strings.ToValidUTF8(s, "?")
		opts := textcap.CollectorOptions{Limit: int(limit), HeadPercent: int(head%100) + 1}
		count := utf8.RuneCountInString
		if inBytes {
			opts.Unit, count = textcap.InBytes, func(s string) int { return len(s) }
		}
		if limit == 0 {
			opts.Limit = -1
		}
		var spill file
		opts.Spill = func() (io.WriteCloser, error) { return &spill, nil }
		whole := collect(opts, s)
		spill.Reset()
		var pieces []string
		for p := s; p != ""; {
			n := min(int(step)+1, len(p))
			pieces, p = append(pieces, p[:n]), p[n:]
		}
		r := collect(opts, pieces...)
		if r != whole {
			t.Fatalf("in pieces %+v\nwhole %+v", r, whole)
		}
		if truncated := count(s) > int(limit); r.Truncated != truncated {
			t.Fatalf("truncated %v at %d of %d", r.Truncated, limit, count(s))
		}
		if !r.Truncated {
			if r.Head != s || r.Spill.Opened {
				t.Fatalf("%q became %q", s, r.Head)
			}
			return
		}
		if !strings.HasPrefix(s, r.Head) || !strings.HasSuffix(s, r.Tail) || count(r.Head)+count(r.Tail) > int(limit) {
			t.Fatalf("%q became %q and %q", s, r.Head, r.Tail)
		}
		gone := s[len(r.Head) : len(s)-len(r.Tail)]
		want := textcap.Counts{Bytes: int64(len(gone)), Chars: int64(utf8.RuneCountInString(gone)), Lines: int64(textcap.Lines(gone))}
		if r.Omitted != want || !utf8.ValidString(r.Head) || !utf8.ValidString(r.Tail) {
			t.Fatalf("omitted %+v, want %+v", r.Omitted, want)
		}
		if spill.String() != s || !r.Spill.Complete {
			t.Fatalf("spill %q of %q", spill.String(), s)
		}
	})
}

func TestMiddle_KeepsHeadAndTailAtLineEnds(t *testing.T) { // SIZ-4
	if c := textcap.Middle(strings.Repeat("é", 1500), 1000, 500); c.Truncated() || len(c.Head) != 3000 {
		t.Errorf("cut at the limit: %+v", c.OmittedChars)
	}
	c := textcap.Middle(numbered(1000), 1000, 500)
	if len(c.Head) != 990 || len(c.Tail) != 495 || c.OmittedLines != 1000-135 || c.OmittedChars != 11000-1485 {
		t.Errorf("head of %d, tail of %d, omitted %d lines, %d chars", len(c.Head), len(c.Tail), c.OmittedLines, c.OmittedChars)
	}
	c = textcap.Middle(strings.Repeat("👍", 2000), 1000, 500)
	if len(c.Head) != 4000 || len(c.Tail) != 2000 || c.OmittedChars != 500 || c.OmittedBytes != 2000 || c.OmittedLines != 1 {
		t.Errorf("head of %d, tail of %d, %d chars", len(c.Head), len(c.Tail), c.OmittedChars)
	}
}

func TestHead_CutsByCharacters(t *testing.T) { // ERR-4
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{"", 3, ""}, {"abc", 3, "abc"}, {"abcd", 3, "abc…"}, {"éèêë", 4, "éèêë"}, {"éèêë", 3, "éèê…"}, {"abc", 0, "…"},
		{strings.Repeat("é", 200), 150, strings.Repeat("é", 150) + "…"},
	} {
		if got := textcap.Head(c.in, c.n, "…"); got != c.want {
			t.Errorf("Head(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

func TestCounts_OfStrings(t *testing.T) {
	for _, s := range []string{"", "a", "é", "日本語のテキスト", "👍👍👍 and ascii é", strings.Repeat("aé日👍\n", 100)} {
		if got, want := textcap.Chars(s), utf8.RuneCountInString(s); got != want {
			t.Errorf("Chars(%.20q) = %d, want %d", s, got, want)
		}
	}
	for s, want := range map[string]int{"": 0, "a": 1, "a\n": 1, "a\nb": 2, "\n\n": 2} {
		if got := textcap.Lines(s); got != want {
			t.Errorf("Lines(%q) = %d, want %d", s, got, want)
		}
	}
}
