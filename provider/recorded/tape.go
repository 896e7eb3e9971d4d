package recorded

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hermes-runtime/hermes/provider"
)

// Head is the first line of a tape that was recorded. A tape written by hand needs none.
type Head struct {
	Tape    int    `json:"tape"` // version of the form: 1
	Model   string `json:"model,omitempty"`
	Dialect string `json:"dialect,omitempty"` // the form of tool definitions; "" = openai
	Context int    `json:"context,omitempty"` // tokens
	Strict  bool   `json:"strict,omitempty"`  // requests must be what "request" says, times of sessions and ids of calls aside
}

// Line is one reply, or an error after what was received of one.
type Line struct {
	Session         string          `json:"session,omitempty"` // names a track; "" = the first
	Expect          *Expect         `json:"expect,omitempty"`  // nil = any request is taken
	Request         *Fingerprint    `json:"request,omitempty"`
	DelayMS         int             `json:"delay_ms,omitempty"` // before anything comes
	Reasoning       string          `json:"reasoning,omitempty"`
	ReasoningChunks *Chunks         `json:"reasoning_chunks,omitempty"`
	Text            string          `json:"text,omitempty"`
	Chunks          *Chunks         `json:"chunks,omitempty"` // pieces of text; nil = one
	Calls           []Call          `json:"calls,omitempty"`
	Usage           *provider.Usage `json:"usage,omitempty"`
	End             provider.End    `json:"end,omitempty"` // "" = stop
	Opaque          json.RawMessage `json:"opaque,omitempty"`
	Error           *Fault          `json:"error,omitempty"`
}

// Call is a tool call of a reply.
type Call struct {
	ID        string    `json:"id,omitempty"` // "" = made of its place on the tape
	Name      string    `json:"name"`
	Arguments Arguments `json:"arguments"`
}

// Arguments are JSON text. On a tape they are JSON, or a string where they are none or their spaces count.
type Arguments string

// UnmarshalJSON takes both forms.
func (a *Arguments) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		var s string
		err := json.Unmarshal(raw, &s)
		*a = Arguments(s)
		return err
	}
	var b bytes.Buffer
	err := json.Compact(&b, raw)
	*a = Arguments(b.String())
	return err
}

// MarshalJSON writes the form that keeps every byte.
func (a Arguments) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	if len(a) > 0 && a[0] == '{' && json.Compact(&b, []byte(a)) == nil && b.String() == string(a) {
		return b.Bytes(), nil
	}
	return encode(string(a))
}

// Fault is an error that ends a reply.
type Fault struct {
	Type       provider.ErrorKind `json:"type"`
	Status     int                `json:"status,omitempty"`
	Message    string             `json:"message,omitempty"`
	RetryAfter float64            `json:"retry_after,omitempty"` // seconds
	Limit      int                `json:"limit,omitempty"`       // tokens
}

var faults = []provider.ErrorKind{
	provider.ErrAuth, provider.ErrRateLimit, provider.ErrOverloaded, provider.ErrContext, provider.ErrSchema, provider.ErrRefused,
	provider.ErrNetwork, provider.ErrProtocol, provider.ErrSetup, provider.ErrReplay,
}

var ends = []provider.End{"", provider.EndStop, provider.EndLength, provider.EndRefused}

// Chunks are where text is cut: a number is the size of every piece, a list the sizes one by one, the rest being the last. Sizes are in
// characters.
type Chunks struct {
	Every int
	Sizes []int
}

// UnmarshalJSON takes a number or a list.
func (c *Chunks) UnmarshalJSON(raw []byte) error {
	if json.Unmarshal(raw, &c.Every) == nil && c.Every > 0 {
		return nil
	}
	if err := json.Unmarshal(raw, &c.Sizes); err != nil || slices.ContainsFunc(c.Sizes, func(n int) bool { return n < 1 }) {
		return errors.New("chunks are a positive number of characters, or a list of such")
	}
	return nil
}

// MarshalJSON writes what UnmarshalJSON reads.
func (c Chunks) MarshalJSON() ([]byte, error) {
	if c.Every > 0 {
		return json.Marshal(c.Every)
	}
	return json.Marshal(c.Sizes)
}

// cut takes text apart.
func (c *Chunks) cut(text string) []string {
	var out []string
	for i := 0; text != ""; i++ {
		size := len(text)
		switch {
		case c == nil:
		case c.Every > 0:
			size = c.Every
		case i < len(c.Sizes):
			size = c.Sizes[i]
		}
		at := 0
		for n := 0; n < size && at < len(text); n++ {
			_, w := utf8.DecodeRuneInString(text[at:])
			at += w
		}
		out = append(out, text[:at])
		text = text[at:]
	}
	return out
}

// tape is a file as read.
type tape struct {
	head   Head
	tracks []track
	cut    int // the number of the last line, if it is cut off; 0 = it isn't
}

// atItsEnd says what may be missing there.
func (t *tape) atItsEnd() string {
	if t.cut == 0 {
		return ""
	}
	return fmt.Sprintf("; its last line, %d, is cut off and left out", t.cut)
}

type track struct {
	name  string
	lines []Line
}

// parse reads a tape. A last line that is cut off is left out: it is what a crash leaves.
func parse(data []byte) (*tape, error) {
	t := &tape{}
	number, replies := 0, 0
	for raw := range bytes.Lines(data) {
		number++
		text := bytes.TrimSpace(raw)
		if len(text) == 0 || text[0] == '#' {
			continue
		}
		if !bytes.HasSuffix(raw, []byte{'\n'}) && !json.Valid(text) {
			t.cut = number
			break
		}
		if replies == 0 && t.head.Tape == 0 && isHead(text) {
			if err := strictly(text, &t.head); err != nil {
				return nil, fmt.Errorf("line %d: %w", number, err)
			}
			if t.head.Tape != 1 {
				return nil, fmt.Errorf("line %d: a tape of version %d, of which this build knows 1", number, t.head.Tape)
			}
			continue
		}
		var l Line
		if other, err := l.read(text); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		} else if other {
			continue
		}
		if err := l.check(); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		replies++
		t.add(l)
	}
	if replies == 0 {
		return nil, errors.New("it holds no reply" + t.atItsEnd())
	}
	return t, nil
}

// read decodes a line. One with a role is of a conversation that was exported: it says more than a tape does, and only what the assistant
// said is a reply.
func (l *Line) read(text []byte) (other bool, err error) {
	var of struct {
		Role provider.Role `json:"role"`
	}
	if json.Unmarshal(text, &of) != nil || of.Role == "" {
		return false, strictly(text, l)
	}
	if of.Role != provider.Assistant {
		return true, nil
	}
	return false, json.Unmarshal(text, l)
}

func isHead(line []byte) bool {
	var h struct {
		Tape *json.RawMessage `json:"tape"`
	}
	return json.Unmarshal(line, &h) == nil && h.Tape != nil
}

func (t *tape) add(l Line) {
	i := slices.IndexFunc(t.tracks, func(x track) bool { return x.name == l.Session })
	if i < 0 {
		i = len(t.tracks)
		t.tracks = append(t.tracks, track{name: l.Session})
	}
	tr := &t.tracks[i]
	for n := range l.Calls {
		if l.Calls[n].ID == "" {
			l.Calls[n].ID = strings.TrimSuffix("call_"+l.Session, "_") + fmt.Sprintf("_%d_%d", len(tr.lines)+1, n+1)
		}
	}
	tr.lines = append(tr.lines, l)
}

func (l *Line) check() error {
	switch {
	case l.Error != nil && !slices.Contains(faults, l.Error.Type):
		return fmt.Errorf("error.type: %q is none of %v", l.Error.Type, faults)
	case !slices.Contains(ends, l.End):
		return fmt.Errorf("end: %q is none of %v", l.End, ends[1:])
	case l.DelayMS < 0:
		return errors.New("delay_ms: less than none")
	}
	for i, c := range l.Calls {
		if c.Arguments == "" {
			l.Calls[i].Arguments = "{}"
		}
	}
	return nil
}

// strictly decodes a line, so that a word spelt wrong is told.
func strictly(line []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if d.More() {
		return errors.New("more than one value")
	}
	return nil
}

// encode writes JSON without marks for HTML.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), err
}
