package wire

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func events(r io.Reader) ([]string, error) {
	e := NewEventReader(r)
	var out []string
	for {
		ev, err := e.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, ev.Name+"|"+string(ev.Data))
	}
}

// PRV-6
func TestEventReader_TakesWhatServersSend(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want []string
	}{
		"LF":                        {"data: {}\n\ndata: 2\n\n", []string{"|{}", "|2"}},
		"CRLF":                      {"event: a\r\ndata: {}\r\n\r\n", []string{"a|{}"}},
		"comments":                  {": hi\n\n:\n\ndata: 1\n: in between\n\n", []string{"|1"}},
		"several data lines":        {"data: {\ndata: }\n\n", []string{"|{\n}"}},
		"empty data line":           {"data:\ndata: x\n\n", []string{"|\nx"}},
		"no space after the colon":  {"data:1\n\n", []string{"|1"}},
		"only one space is cut":     {"data:  1\n\n", []string{"| 1"}},
		"other fields":              {"id: 7\nretry: 10\nnonsense\ndata: 1\n\n", []string{"|1"}},
		"an event without data":     {"event: ping\n\ndata: 1\n\n", []string{"|1"}},
		"a byte order mark":         {"\ufeffdata: 1\n\n", []string{"|1"}},
		"no blank line at the end":  {"data: 1\n", []string{"|1"}},
		"no line end at the end":    {"data: {\"a\":1}", []string{`|{"a":1}`}},
		"the mark without line end": {"data: 1\n\ndata: [DONE]", []string{"|1", "|[DONE]"}},
		"cut off at the end":        {"data: 1\n\ndata: {\"a\":", []string{"|1"}},
		"an object on its own":      {"data: 1\n\n{\"error\": 5}\n", []string{"|1", `|{"error": 5}`}},
		"blank lines":               {"\n\r\n\n\ndata: 1\n\n\n", []string{"|1"}},
		"nothing":                   {"", nil},
		"a long line":               {"data: \"" + strings.Repeat("é", 100_000) + "\"\n\n", []string{"|\"" + strings.Repeat("é", 100_000) + "\""}},
	} {
		t.Run(name, func(t *testing.T) {
			for how, r := range map[string]io.Reader{"whole": strings.NewReader(c.in), "bytes": iotest.OneByteReader(strings.NewReader(c.in)), "end with data": iotest.DataErrReader(strings.NewReader(c.in))} {
				got, err := events(r)
				if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
					t.Errorf("%s: %v\n%s", how, err, diff)
				}
			}
		})
	}
}

func TestEventReader_BrokenReadIsTold(t *testing.T) {
	broken := errors.New("reset")
	got, err := events(io.MultiReader(strings.NewReader("data: 1\n\ndata: 2\n"), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) || len(got) != 1 {
		t.Errorf("%v, %v", got, err)
	}
}

// endless gives one byte over and over.
type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}

// PRV-6: a line of 16 MiB is taken, more is not, in one line or in many.
func TestEventReader_LinesAreBounded(t *testing.T) {
	long := "data: " + strings.Repeat("x", MaxLine-len("data: \n")) + "\n\n"
	if got, err := events(strings.NewReader(long)); err != nil || len(got) != 1 || len(got[0]) != MaxLine-len("data: \n")+1 {
		t.Errorf("16 MiB: %d events, %v", len(got), err)
	}
	for name, r := range map[string]io.Reader{
		"one line":   io.MultiReader(strings.NewReader("data: "), endless('x')),
		"many lines": strings.NewReader(strings.Repeat("data: "+strings.Repeat("x", 1<<20)+"\n", 20)),
	} {
		if _, err := events(r); !errors.Is(err, ErrTooLong) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Whatever comes, in whatever pieces, gives the same events and no panic.
func FuzzEventReader(f *testing.F) {
	for _, seed := range []string{"data: 1\n\n", "event: a\r\ndata: {\r\ndata: }\r\n\r\n", ": c\n\ufeffdata:x", "{\"error\":1}\n", "data: [DONE]", "\r\n\r", "data\n\nevent\n\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		whole, err := events(strings.NewReader(string(in)))
		bytes, err2 := events(iotest.OneByteReader(strings.NewReader(string(in))))
		if fmt.Sprint(whole, err) != fmt.Sprint(bytes, err2) {
			t.Errorf("in one piece: %q, %v; in bytes: %q, %v", whole, err, bytes, err2)
		}
	})
}
