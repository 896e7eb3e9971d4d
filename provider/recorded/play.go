package recorded

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/provider"
)

// player is a tape that is played.
type player struct {
	tape    *tape
	info    provider.Info
	redact  func(string) string
	mu      sync.Mutex
	playing map[string]*position // by session
	taken   []int                // how many play a track
}

// position is where a session stands.
type position struct {
	track  *track
	next   int
	before []string // hashes of the messages of the last request
}

func play(file string, o provider.Options) (provider.Model, error) {
	setup := func(err error) error {
		return &provider.Error{Kind: provider.ErrSetup, Provider: "replay", Model: file, Message: "the tape can't be played", Err: err, Hint: err.Error()}
	}
	data, err := read(file)
	if err != nil {
		return nil, setup(err)
	}
	t, err := parse(data)
	if err != nil {
		return nil, setup(err)
	}
	name := cmp.Or(t.head.Model, strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)))
	return &player{
		tape: t, redact: redaction(o), playing: map[string]*position{}, taken: make([]int, len(t.tracks)),
		info: provider.Info{Provider: "replay", Model: name, Dialect: cmp.Or(t.head.Dialect, "openai"), Context: cmp.Or(o.Context, t.head.Context), MaxTools: o.MaxTools},
	}, nil
}

// maxTape bounds a tape, in bytes.
const maxTape = 64 << 20

// read reads a tape, which is a regular file: anything else may never end, or never begin.
func read(file string) ([]byte, error) {
	if file == "" {
		return nil, errors.New("no file is named: write replay:FILE")
	}
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file", file)
	case info.Size() > maxTape:
		return nil, fmt.Errorf("%s has %d bytes; a tape has %d at most", file, info.Size(), maxTape)
	}
	return os.ReadFile(file)
}

func redaction(o provider.Options) func(string) string {
	if o.Redact != nil {
		return o.Redact
	}
	return func(s string) string { return s }
}

func (p *player) Info() provider.Info { return p.info }

func (p *player) Stream(ctx context.Context, r provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		l, err := p.line(r)
		if err == nil {
			err = pause(ctx, time.Duration(l.DelayMS)*time.Millisecond)
		}
		if err != nil {
			yield(provider.Event{}, err)
			return
		}
		for _, ev := range l.events() {
			if ctx.Err() != nil {
				yield(provider.Event{}, context.Cause(ctx))
				return
			}
			if !yield(ev, nil) {
				return
			}
		}
		if l.Error != nil {
			yield(provider.Event{}, p.fault(l.Error))
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// line takes the next line of the request's session. One that the request doesn't fit stays the next.
func (p *player) line(r provider.Request) (*Line, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.playing[r.Session]
	if at == nil {
		at = p.begin(r)
	}
	n := at.next
	if n == len(at.track.lines) {
		return nil, p.mismatch(n, fmt.Sprintf("the tape ends after %d replies, and the conversation asks for another%s", n, p.tape.atItsEnd()))
	}
	l := &at.track.lines[n]
	if diff := l.Expect.differs(r, p.info.Model, p.redact); diff != "" {
		return nil, p.mismatch(n, diff)
	}
	if p.tape.head.Strict {
		diff, messages := l.Request.differs(r, at.before, p.redact)
		if diff != "" {
			return nil, p.mismatch(n, diff)
		}
		at.before = messages
	}
	at.next++
	return l, nil
}

// begin finds the track of a session: the first whose first line takes its request, of those that the fewest play.
func (p *player) begin(r provider.Request) *position {
	best := -1
	for i := range p.tape.tracks {
		if p.tape.tracks[i].lines[0].Expect.differs(r, p.info.Model, p.redact) == "" && (best < 0 || p.taken[i] < p.taken[best]) {
			best = i
		}
	}
	best = max(best, 0) // none: its first line tells the difference
	p.taken[best]++
	at := &position{track: &p.tape.tracks[best]}
	p.playing[r.Session] = at
	return at
}

func (p *player) mismatch(n int, diff string) error {
	return &provider.Error{
		Kind: provider.ErrReplay, Provider: p.info.Provider, Model: p.info.Model,
		Message: fmt.Sprintf("request %d is not the recorded one: %s", n+1, diff), Hint: "change the tape or record it again; nothing is asked of a network instead",
	}
}

func (p *player) fault(f *Fault) error {
	return &provider.Error{
		Kind: f.Type, Provider: p.info.Provider, Model: p.info.Model, Status: f.Status, Message: f.Message, Limit: f.Limit,
		RetryAfter: time.Duration(min(max(f.RetryAfter, 0)*float64(time.Second), 1<<62)),
	}
}

// events are what a line streams.
func (l *Line) events() []provider.Event {
	var out []provider.Event
	for _, piece := range l.ReasoningChunks.cut(l.Reasoning) {
		out = append(out, provider.Event{Kind: provider.KindReasoning, Text: piece})
	}
	for _, piece := range l.Chunks.cut(l.Text) {
		out = append(out, provider.Event{Kind: provider.KindText, Text: piece})
	}
	for _, c := range l.Calls {
		out = append(out, provider.Event{Kind: provider.KindCall, Call: &provider.Call{ID: c.ID, Name: c.Name, Arguments: string(c.Arguments)}})
	}
	if l.Usage != nil {
		u := *l.Usage
		out = append(out, provider.Event{Kind: provider.KindUsage, Usage: &u})
	}
	if l.Error != nil {
		return out
	}
	end := provider.Event{Kind: provider.KindEnd, End: cmp.Or(l.End, provider.EndStop)}
	if len(l.Opaque) > 0 {
		var o provider.Opaque
		if json.Unmarshal(l.Opaque, &o) == nil { // it means nothing here, and is kept for whoever goes on with the session
			end.Opaque = &o
		}
	}
	return append(out, end)
}
