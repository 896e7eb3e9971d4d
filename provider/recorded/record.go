package recorded

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/hermes-runtime/hermes/provider"
)

// recorder is a model whose replies are written to a tape as they end. The file is opened for each line, so that nothing is left open
// and a crash costs the running reply at most.
type recorder struct {
	provider.Model
	file   string
	redact func(string) string

	mu     sync.Mutex
	names  map[string]string   // of tracks, by session
	before map[string][]string // hashes of the messages of its last request, by track
}

func record(file string, inner provider.Model, o provider.Options) (provider.Model, error) {
	setup := func(err error) error {
		return &provider.Error{Kind: provider.ErrSetup, Provider: "record", Model: file, Message: "the tape can't be written", Err: err, Hint: err.Error()}
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		err = fmt.Errorf("there is a file %s already; take another name", file)
	}
	if err != nil {
		return nil, setup(err)
	}
	if err := f.Close(); err != nil {
		return nil, setup(err)
	}
	r := &recorder{Model: inner, file: file, redact: redaction(o), names: map[string]string{}, before: map[string][]string{}}
	info := inner.Info()
	if err := r.write(Head{Tape: 1, Model: info.Model, Dialect: info.Dialect, Context: info.Context}); err != nil {
		return nil, setup(err)
	}
	return r, nil
}

func (r *recorder) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		h := hearing{redact: r.redact}
		ended := false
		for ev, err := range r.Model.Stream(ctx, req) {
			switch {
			case err != nil:
				h.line.Error = faultOf(err)
				ended = true
			default:
				h.event(ev)
				ended = ev.Kind == provider.KindEnd
			}
			if ended { // before it is handed on: what was seen is on the tape
				if lost := r.keep(req, h.finish()); lost != nil && err == nil {
					yield(provider.Event{}, lost)
					return
				}
			}
			if !yield(ev, err) {
				break
			}
		}
		if !ended {
			h.line.Error = &Fault{Type: provider.ErrNetwork, Message: "the request was interrupted"}
			_ = r.keep(req, h.finish()) // nobody is there to be told
		}
	}
}

// faultOf is an error as a tape holds it. An interruption is one, too: on the tape the turn ends there as it did.
func faultOf(err error) *Fault {
	var e *provider.Error
	if !errors.As(err, &e) {
		return &Fault{Type: provider.ErrNetwork, Message: "the request was interrupted"}
	}
	return &Fault{Type: e.Kind, Status: e.Status, Message: e.Message, RetryAfter: e.RetryAfter.Seconds(), Limit: e.Limit}
}

// hearing puts a reply together.
type hearing struct {
	line            Line
	redact          func(string) string
	text, reasoning strings.Builder
	chunks, thought []int
	opaque          *provider.Opaque
}

func (h *hearing) event(ev provider.Event) {
	switch ev.Kind {
	case provider.KindText:
		h.text.WriteString(ev.Text)
		h.chunks = append(h.chunks, utf8.RuneCountInString(ev.Text))
	case provider.KindReasoning:
		h.reasoning.WriteString(ev.Text)
		h.thought = append(h.thought, utf8.RuneCountInString(ev.Text))
	case provider.KindCall:
		h.line.Calls = append(h.line.Calls, Call{ID: ev.Call.ID, Name: h.redact(ev.Call.Name), Arguments: Arguments(h.redact(ev.Call.Arguments))})
	case provider.KindUsage:
		h.line.Usage = ev.Usage
	case provider.KindEnd:
		h.line.End = ev.End
		h.opaque = ev.Opaque
	}
}

// finish redacts the text as a whole: a secret may be in two pieces. Where that changes it, the borders that no longer fit move.
func (h *hearing) finish() Line {
	l := h.line
	l.Text, l.Reasoning = h.redact(h.text.String()), h.redact(h.reasoning.String())
	l.Chunks, l.ReasoningChunks = borders(h.chunks), borders(h.thought)
	if l.Error != nil {
		l.Error.Message = h.redact(l.Error.Message)
	}
	if l.End == provider.EndStop {
		l.End = ""
	}
	if h.opaque != nil {
		raw, err := json.Marshal(h.opaque)
		if err == nil && h.redact(string(raw)) == string(raw) { // it is of use whole or not at all
			l.Opaque = raw
		}
	}
	return l
}

// borders are the sizes of pieces; one piece needs none.
func borders(sizes []int) *Chunks {
	if len(sizes) < 2 {
		return nil
	}
	return &Chunks{Sizes: sizes}
}

// keep writes a line for a request.
func (r *recorder) keep(req provider.Request, l Line) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	name, known := r.names[req.Session]
	if !known {
		if len(r.names) > 0 {
			name = strconv.Itoa(len(r.names) + 1)
		}
		r.names[req.Session] = name
	}
	l.Session = name
	system, tools, messages := prints(req, r.redact)
	from := common(r.before[name], messages)
	r.before[name] = messages
	l.Request = &Fingerprint{System: system, Tools: tools, From: from, Messages: messages[from:]}
	if _, text := lastUser(req); text != "" {
		l.Expect = &Expect{User: r.redact(text)}
	}
	return r.write(l)
}

// write adds a line to the file, in one piece.
func (r *recorder) write(line any) error {
	text, err := encode(line)
	if err != nil {
		return fmt.Errorf("write the tape %s: %w", r.file, err)
	}
	f, err := os.OpenFile(r.file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("write the tape: %w", err)
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write the tape %s: %w", r.file, err)
	}
	return nil
}
