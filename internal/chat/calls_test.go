package chat

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// CHAT-2.
func TestArgument_TellsWhatACallIsAbout(t *testing.T) {
	for _, c := range [][2]string{
		{`{"timeout":3,"command":"ls"}`, "ls"},
		{`{"path":"/a","pattern":"x+"}`, "x+"},
		{`{"mode":"m","text":"what is longest"}`, "what is longest"},
		{`{"command":"  a\nb\tc\u001b[1m\u202e "}`, `a\nb    c\x1b[1m\u202e`},
		{`{"urls":["http://a","http://b"]}`, `http://a http://b`},
		{`{"todos":[{"id":"1"},{"id":"2"}],"merge":true}`, "2 todos"},
		{`{"n":1}`, `{"n":1}`},
		{`{"command":7,"n":"x"}`, "x"},
		{`{}`, ""}, {`[1]`, ""}, {`nonsense`, ""}, {``, ""},
	} {
		if got := argument(json.RawMessage(c[0])); got != c[1] {
			t.Errorf("%s: %q, want %q", c[0], got, c[1])
		}
	}
	if got := argument(json.RawMessage(`{"command":"` + strings.Repeat("é", 500) + `"}`)); utf8.RuneCountInString(got) != 80 {
		t.Errorf("%d characters", utf8.RuneCountInString(got))
	}
}

func TestDecoder_WhateverThePieces(t *testing.T) {
	const typing = "aé日\x1b[A\x1bOB\x1b[1;5C\x1b[3~\x1bb\x1b\r\x7f\x01\r\x1b[200~x\r\ny\x1b[201~\x03\xff.\x1b[99zq"
	want := []stroke{
		{typed, "aé日"}, {key: up}, {key: down}, {key: wordRight}, {key: remove}, {key: wordLeft}, {key: newline}, {key: backspace}, {key: home}, {key: enter},
		{pasted, "x\ny"}, {key: interrupt}, {typed, "."}, {typed, "q"},
	}
	for size := 1; size <= len(typing); size++ {
		var d decoder
		var got []stroke
		for rest := typing; rest != ""; {
			n := min(size, len(rest))
			got = append(got, d.feed([]byte(rest[:n]))...)
			rest = rest[n:]
		}
		if a, b := spelled(got), spelled(want); a != b {
			t.Errorf("in pieces of %d: %s, want %s", size, a, b)
		}
	}
}

// spelled writes strokes as text; where one typing ends and the next begins doesn't count.
func spelled(strokes []stroke) string {
	var b strings.Builder
	for _, s := range strokes {
		if s.key == typed {
			b.WriteString(s.text)
			continue
		}
		b.WriteString("<" + string('A'+rune(s.key)) + s.text + ">")
	}
	return b.String()
}

func TestDecoder_AnEscapeAloneIsNoBeginning(t *testing.T) {
	var d decoder
	d.feed([]byte{0x1b})
	d.idle()
	if got := d.feed([]byte("[A")); len(got) != 1 || got[0].text != "[A" {
		t.Errorf("got %+v", got)
	}
}

func TestDecoder_AnEndlessPasteIsBounded(t *testing.T) {
	var d decoder
	d.feed([]byte("\x1b[200~"))
	chunk := []byte(strings.Repeat("x", 1<<20))
	for range 10 {
		d.feed(chunk)
	}
	got := d.feed([]byte("\x1b[201~y"))
	if len(got) != 2 || len(got[0].text) > maxPaste+10 || got[1].text != "y" {
		t.Errorf("%d strokes, the first of %d bytes", len(got), len(got[0].text))
	}
}

func FuzzDecoder(f *testing.F) {
	f.Add([]byte("a\x1b[A\x1b[200~\r\n\x1b[201~"), 3)
	f.Fuzz(func(t *testing.T, p []byte, at int) {
		var d decoder
		e := &editor{}
		at = min(max(0, at), len(p))
		for _, s := range append(d.feed(p[:at]), d.feed(p[at:])...) {
			e.press(s)
			if e.at < 0 || e.at > len(e.text) {
				t.Fatalf("the cursor is at %d of %d", e.at, len(e.text))
			}
			for _, r := range s.text {
				if r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
					t.Fatalf("%q reached the text", r)
				}
			}
		}
	})
}

func TestEditor_Keys(t *testing.T) {
	for _, c := range []struct{ keys, want string }{
		{"abc\x02\x02X", "aXbc"},
		{"abc\x01X\x05Y", "XabcY"},
		{"one two\x17three", "one three"},
		{"one two\x1bb\x0b!", "one !"},
		{"one two\x15x", "x"},
		{"日本\x7f語", "日語"},
		{"e\u0301x\x7f\x7f", ""},
		{"ab\x01\x1b[3~", "b"},
		{"a\x1b\rb\x01c", "a\ncb"},
		{"old\x1b[A", "before"}, {"old\x1b[A\x1b[A\x1b[A\x1b[B\x1b[B", "old"},
		{"\x1b[A\x1b[A", "first"},
	} {
		e := &editor{history: []string{"first", "before"}}
		var d decoder
		for _, s := range d.feed([]byte(c.keys)) {
			e.press(s)
		}
		if e.String() != c.want {
			t.Errorf("%q: %q, want %q", c.keys, e.String(), c.want)
		}
	}
}
