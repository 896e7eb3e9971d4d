package recorded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hermes-runtime/hermes/provider"
	"github.com/hermes-runtime/hermes/provider/providertest"
)

// tapeOf writes a tape and makes its model.
func tapeOf(t *testing.T, lines ...string) provider.Model {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tape.jsonl")
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := play(file, provider.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func ask(text string) provider.Request {
	return provider.Request{Messages: []provider.Message{{Role: provider.User, Text: text}}}
}

// REC-1: a tape written by hand is played line by line.
func TestReplay_LinesAnswerInOrder(t *testing.T) {
	m := tapeOf(
		t, `# by hand`, `{"text": "Grüße", "chunks": 2, "usage": {"input": 3, "output": 1}}`, ``,
		`{"reasoning": "hm", "calls": [{"name": "f", "arguments": {"a": 1}}, {"id": "x", "name": "g", "arguments": "{broken"}], "end": "length"}`,
		`{"text": "abc", "error": {"type": "overloaded", "status": 529, "message": "busy", "retry_after": 2.5}}`,
	)
	h, err := providertest.Hear(t.Context(), m, ask("a"))
	want := providertest.Heard{Text: "Grüße", Pieces: 3, Usage: &provider.Usage{Input: 3, Output: 1}, End: provider.EndStop}
	if diff := cmp.Diff(want, h); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	h, err = providertest.Hear(t.Context(), m, ask("b"))
	want = providertest.Heard{Reasoning: "hm", End: provider.EndLength, Calls: []provider.Call{{ID: "call_2_1", Name: "f", Arguments: `{"a":1}`}, {ID: "x", Name: "g", Arguments: "{broken"}}}
	if diff := cmp.Diff(want, h); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	h, err = providertest.Hear(t.Context(), m, ask("c"))
	var e *provider.Error
	if !errors.As(err, &e) || e.Kind != provider.ErrOverloaded || e.RetryAfter.Seconds() != 2.5 || h.Text != "abc" {
		t.Errorf("%+v %v", h, err)
	}
	if _, err = providertest.Hear(t.Context(), m, ask("d")); !errors.As(err, &e) || e.Kind != provider.ErrReplay || !strings.Contains(err.Error(), "ends after 3 replies") {
		t.Errorf("after the end: %v", err)
	}
}

// REC-2
func TestReplay_ExpectationsAreHeld(t *testing.T) {
	r := provider.Request{
		Tools: `[{"type":"function","function":{"name":"f"}}]`,
		Messages: []provider.Message{
			{Role: provider.User, Text: "list the files"}, {Role: provider.Assistant, Calls: []provider.Call{{ID: "a", Name: "f"}, {ID: "b", Name: "g"}}},
			{Role: provider.Tool, CallID: "a", Name: "f", Text: "x.go"}, {Role: provider.Tool, CallID: "b", Name: "g", Text: "y.go"},
		},
	}
	for expect, want := range map[string]string{
		`{}`:                                   "",
		`{"user": "files"}`:                    "",
		`{"user": "folders"}`:                  `messages[0].text: "list the files", in which "folders" is missing`,
		`{"results": {"f": "x.go", "g": "y"}}`: "",
		`{"results": {"f": "z.go"}}`:           `messages[2].text: "x.go", in which "z.go" is missing`,
		`{"results": {"h": ""}}`:               "no result of h",
		`{"tools": ["f"]}`:                     "",
		`{"tools": ["f", "q"]}`:                "tools: q is not offered",
		`{"model": "tape"}`:                    "",
		`{"model": "other"}`:                   `model: "tape" instead of "other"`,
		`{"user": "folders", "tools": ["q"]}`:  "messages[0]", // the first difference
	} {
		_, err := providertest.Hear(t.Context(), tapeOf(t, `{"expect": `+expect+`, "text": "ok"}`), r)
		var e *provider.Error
		if (err == nil) != (want == "") || err != nil && (!errors.As(err, &e) || e.Kind != provider.ErrReplay || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", expect, err, want)
		}
	}
}

// Sessions play for themselves, and those that the recorded one began have tracks of their own.
func TestReplay_Tracks(t *testing.T) {
	m := tapeOf(
		t, `{"expect": {"user": "parent"}, "text": "p1"}`, `{"session": "x", "expect": {"user": "goal one"}, "text": "x1"}`, `{"text": "p2"}`,
		`{"session": "y", "expect": {"user": "goal"}, "text": "y1"}`, `{"session": "x", "text": "x2"}`,
	)
	for _, step := range []struct{ session, user, want string }{
		{"s", "parent", "p1"}, {"c2", "goal two", "y1"}, {"c1", "goal one", "x1"}, {"t", "parent", "p1"}, {"s", "go on", "p2"}, {"c1", "", "x2"}, {"t", "", "p2"},
	} {
		r := ask(step.user)
		r.Session = step.session
		if h, err := providertest.Hear(t.Context(), m, r); err != nil || h.Text != step.want {
			t.Errorf("%+v: %+v %v", step, h, err)
		}
	}
}

// 200 conversations at once, on a tape each and on one tape: nothing is lost or mixed.
func TestReplay_ManyAtOnce(t *testing.T) {
	const conversations, turns = 200, 30
	var lines []string
	for i := range turns {
		lines = append(lines, fmt.Sprintf(`{"text": "reply %d", "chunks": 3}`, i))
	}
	one := tapeOf(t, lines...)
	var wg sync.WaitGroup
	for n := range conversations {
		own := tapeOf(t, lines...)
		for _, m := range []provider.Model{one, own} {
			wg.Go(func() {
				for i := range turns {
					r := ask("go")
					r.Session = fmt.Sprint(n)
					if h, err := providertest.Hear(t.Context(), m, r); err != nil || h.Text != fmt.Sprintf("reply %d", i) || h.Pieces != 3 && i < 10 {
						t.Errorf("conversation %d, turn %d: %+v %v", n, i, h, err)
						return
					}
				}
			})
		}
	}
	wg.Wait()
}

func TestReplay_DelayAndCancelling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := tapeOf(t, `{"text": "a", "delay_ms": 1500}`, `{"text": "b", "delay_ms": 60000}`, `{"text": "c"}`)
		start := time.Now()
		if _, err := providertest.Hear(t.Context(), m, ask("")); err != nil || time.Since(start) != 1500*time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(cause) })
		if _, err := providertest.Hear(ctx, m, ask("")); !errors.Is(err, cause) {
			t.Errorf("%v", err)
		}
		if _, err := providertest.Hear(ctx, m, ask("")); !errors.Is(err, cause) {
			t.Errorf("cancelled before: %v", err)
		}
	})
}

// REC-1: mistakes in a tape are told with their line.
func TestParse_Mistakes(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "no reply",
		"# nothing\n":                            "no reply",
		"{\"text\": \"a\"}\n{\"txt\": \"b\"}\n":  "line 2: json: unknown field \"txt\"",
		"{\"text\": \"a\"}\nhello\n":             "line 2",
		"{\"error\": {\"type\": \"bad\"}}\n":     "line 1: error.type: \"bad\" is none of",
		"{\"end\": \"never\"}\n":                 "end: \"never\"",
		"{\"delay_ms\": -1}\n":                   "delay_ms",
		"{\"text\": \"a\", \"chunks\": 0}\n":     "chunks are",
		"{\"text\": \"a\", \"chunks\": [1,0]}\n": "chunks are",
		"{\"tape\": 2}\n{\"text\": \"a\"}\n":     "version 2",
		"{\"text\": \"a\"} {\"text\": \"b\"}\n":  "more than one",
		"{\"text\": 5}\n":                        "line 1",
	} {
		if _, err := parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestChunks_CutByCharacters(t *testing.T) {
	for c, want := range map[*Chunks][]string{
		nil: {"aüb🙂"}, {Every: 3}: {"aüb", "🙂"}, {Sizes: []int{1, 2}}: {"a", "üb", "🙂"}, {Sizes: []int{9, 9}}: {"aüb🙂"}, {}: {"aüb🙂"},
	} {
		if diff := cmp.Diff(want, c.cut("aüb🙂")); diff != "" {
			t.Error(diff)
		}
	}
}

// Whatever a file holds, reading it doesn't panic, and what can be read can be played and written again.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"text": "a", "chunks": [1, 2]}` + "\n" + `{"calls": [{"name": "f", "arguments": {"a": 1}}]}`))
	f.Add([]byte(`{"tape":1,"strict":true}` + "\n" + `{"session":"x","error":{"type":"auth"},"opaque":{"data":1},"usage":{"input":1}}` + "\n"))
	f.Add([]byte("# x\n\n{\"reasoning\":\"é\",\"reasoning_chunks\":1,\"request\":{\"messages\":[\"a\"],\"from\":-5}}\n{"))
	f.Fuzz(func(t *testing.T, data []byte) {
		tp, err := parse(data)
		if err != nil {
			return
		}
		for _, tr := range tp.tracks {
			for _, l := range tr.lines {
				text := ""
				for _, ev := range l.events() {
					if ev.Kind == provider.KindText {
						text += ev.Text
					}
				}
				if text != l.Text {
					t.Errorf("%q comes out as %q", l.Text, text)
				}
				l.Request.differs(provider.Request{Messages: []provider.Message{{}}}, []string{"a"}, strings.TrimSpace)
				out, err := encode(l)
				if err != nil {
					t.Fatal(err)
				}
				again, err := parse(append(out, '\n'))
				if err != nil {
					t.Fatalf("%s: %v", out, err)
				}
				if diff := cmp.Diff(l, again.tracks[0].lines[0], cmpopts.EquateEmpty()); diff != "" {
					t.Error(diff)
				}
			}
		}
	})
}

// REC-2, REC-4: where the end of a tape is missed, its last line being cut off is told.
func TestPlay_TellsThatItsLastLineIsCutOff(t *testing.T) {
	file := filepath.Join(t.TempDir(), "t.jsonl")
	for text, want := range map[string]string{
		"{\"text\":\"one\"}\n\n{\"text\":\"tw": "the tape ends after 1 replies, and the conversation asks for another; its last line, 3, is cut off and left out",
		"{\"text\":\"one\"}\n":                 "the tape ends after 1 replies, and the conversation asks for another",
		"{\"te":                                "it holds no reply; its last line, 1, is cut off and left out",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := play(file, provider.Options{})
		for range 2 {
			if err == nil {
				_, err = providertest.Hear(t.Context(), m, provider.Request{Messages: []provider.Message{{Role: provider.User, Text: "x"}}})
			}
		}
		if e, ok := errors.AsType[*provider.Error](err); !ok || !strings.HasSuffix(e.Message+": "+e.Hint, want) && !strings.HasSuffix(e.Message, want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
