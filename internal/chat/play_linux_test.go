package chat_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/charmbracelet/x/vt"

	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/channel/terminal"
	"github.com/hermes-runtime/hermes/internal/agent"
	"github.com/hermes-runtime/hermes/internal/chat"
	"github.com/hermes-runtime/hermes/internal/keys/keystest"
	"github.com/hermes-runtime/hermes/internal/leaktest"
	"github.com/hermes-runtime/hermes/internal/registry"
	"github.com/hermes-runtime/hermes/internal/registry/schema"
	"github.com/hermes-runtime/hermes/internal/store"
	"github.com/hermes-runtime/hermes/provider"
	"github.com/hermes-runtime/hermes/tool"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// line is how the model answers one request.
type line struct {
	text  string
	calls []provider.Call
	wait  <-chan struct{} // behind the text; a context that ends is heeded
	then  string          // text behind that
}

func calls(names ...string) (out []provider.Call) {
	for i, n := range names {
		name, args, _ := strings.Cut(n, " ")
		if args == "" {
			args = "{}"
		}
		out = append(out, provider.Call{ID: fmt.Sprint("call", i), Name: name, Arguments: args})
	}
	return out
}

// play is a model with its lines, the tools that it calls, and where it is played.
type play struct {
	t     *testing.T
	lines []line
	tools map[string]func(ctx context.Context, p *performance) (string, tool.Status)
	inUse bool
	below int // children that work in the background
	store store.Store

	mu    sync.Mutex
	heard []string // the messages of users, as requests held them last
	opens []chat.Opening
}

func (p *play) Info() provider.Info { return provider.Info{Provider: "test", Model: "actor"} }

func (p *play) Stream(ctx context.Context, r provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		p.mu.Lock()
		p.heard = nil
		for _, m := range r.Messages {
			if m.Role == provider.User {
				p.heard = append(p.heard, m.Text)
			}
		}
		if len(p.lines) == 0 {
			p.mu.Unlock()
			yield(provider.Event{}, errors.New("the play is over"))
			return
		}
		l := p.lines[0]
		p.lines = p.lines[1:]
		p.mu.Unlock()
		for piece := range strings.SplitAfterSeq(l.text, " ") {
			if piece != "" && !yield(provider.Event{Kind: provider.KindText, Text: piece}, nil) {
				return
			}
		}
		if l.wait != nil {
			select {
			case <-l.wait:
			case <-ctx.Done():
				yield(provider.Event{}, context.Cause(ctx))
				return
			}
		}
		if l.then != "" && !yield(provider.Event{Kind: provider.KindText, Text: l.then}, nil) {
			return
		}
		for _, c := range l.calls {
			if !yield(provider.Event{Kind: provider.KindCall, Call: &c}, nil) {
				return
			}
		}
		yield(provider.Event{Kind: provider.KindEnd, End: provider.EndStop}, nil)
	}
}

func (p *play) said() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.heard
}

// performance is one conversation of the play.
type performance struct {
	*agent.Conversation
	play  *play
	asker channel.Asker
}

func (p *performance) StopChildren() int {
	p.play.mu.Lock()
	defer p.play.mu.Unlock()
	n := p.play.below
	p.play.below = 0
	return n
}

func (*performance) Close(context.Context) error { return nil }

// stage is what the agent needs of the tools.
type stage struct{ *performance }

func (stage) Definitions(context.Context, schema.Dialect) (registry.Definitions, error) {
	return registry.Definitions{List: make([]registry.Definition, 1), Body: "[{}]"}, nil
}

func (stage) Meant(name string) string { return name }

func (s stage) CallBatch(ctx context.Context, b tool.Batch) []tool.Result {
	out := make([]tool.Result, len(b.Calls))
	var all sync.WaitGroup
	for i, c := range b.Calls {
		all.Go(func() {
			b.Began(i, &tool.Call{ID: c.ID, Name: c.Name, Args: c.Arguments}, nil)
			json, status := s.play.tools[c.Name](ctx, s.performance)
			out[i] = tool.Result{ID: c.ID, Name: c.Name, JSON: json, Status: status}
			b.Ended(i, out[i])
		})
	}
	all.Wait()
	return out
}

func (p *play) Open(ctx context.Context, o chat.Opening) (chat.Conversation, []string, error) {
	p.mu.Lock()
	p.opens = append(p.opens, o)
	n := len(p.opens)
	p.mu.Unlock()
	if p.inUse && !o.Shared {
		return nil, nil, store.ErrInUse
	}
	s := &performance{play: p, asker: o.Asker}
	id := fmt.Sprint("s", n)
	if o.Resume != "" {
		id = o.Resume
	}
	var err error
	s.Conversation, err = agent.New(ctx, agent.Options{
		Model: p, Tools: stage{s}, Store: p.store, Session: store.Session{ID: id}, Resume: o.Resume != "", Listen: o.Listen,
	})
	return s, nil, err
}

func (p *play) Tools(chat.Conversation) []chat.Tool {
	return []chat.Tool{{Name: "work", Toolset: "labour", Description: "Does the work.\nAt length."}}
}

func (p *play) Skills(context.Context, chat.Conversation) []chat.Skill {
	return []chat.Skill{{Name: "knitting", Description: "makes scarves"}}
}

func (p *play) Find(ctx context.Context, ref string) (store.Session, error) {
	return p.store.Find(ctx, ref)
}

func (p *play) Todos(ctx context.Context, id string) ([]store.Todo, error) {
	return p.store.Todos(ctx, id)
}

func (p *play) Sessions(ctx context.Context) ([]store.Entry, error) {
	return p.store.List(ctx, store.Filter{})
}

// seat is a person at a play.
type seat struct {
	*keystest.Screen
	t    *testing.T
	left chan chat.Left
	err  error
}

// sit begins a play. What is not said of the options is filled in.
func (p *play) sit(t *testing.T, look chat.ScreenOptions, o chat.Options) *seat {
	t.Helper()
	s := &seat{Screen: keystest.Open(t), t: t, left: make(chan chat.Left, 1)}
	p.t = t
	if p.store == nil {
		d, err := store.Open(t.Context(), store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = d.Close() })
		p.store = d
	}
	look.Text, look.Rest = s.TTY, s.TTY
	look.Emoji = func(string) string { return "🔧" }
	o.Host, o.In, o.Screen = p, s.TTY, chat.NewScreen(look)
	o.Asker = func(interrupt func()) channel.Asker {
		return terminal.New(terminal.Options{In: s.TTY, Out: s.TTY, Interrupt: interrupt})
	}
	before := s.Settings(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		var left chat.Left
		left, s.err = chat.Run(t.Context(), o)
		s.left <- left
	}()
	t.Cleanup(func() { // the test's context has ended
		<-done
		if after := s.Settings(t); before != after { // CHAT-4
			t.Errorf("the terminal isn't as it was:\n%+v\n%+v", before, after)
		}
	})
	return s
}

// duration is a time on the screen.
var duration = regexp.MustCompile(`\d+(\.\d)? s\b`)

// screen is what a terminal shows after it was sent text: rows without trailing spaces, without empty ones at the end; times are all N s.
func screen(text string) string { return screenOf(80, text) }

func screenOf(cols int, text string) string {
	em := vt.NewEmulator(cols, 24)
	defer em.Close()
	_, _ = em.Write([]byte(text))
	var rows []string
	for row := range strings.SplitSeq(em.String(), "\n") {
		rows = append(rows, strings.TrimRight(row, " \r"))
	}
	return duration.ReplaceAllString(strings.TrimRight(strings.Join(rows, "\n"), "\n"), "N s")
}

// shows waits until the screen shows a text.
func (s *seat) shows(text string) {
	s.t.Helper()
	s.Until(s.t, fmt.Sprintf("the screen doesn't show %q", text), func(shown string) bool { return strings.Contains(screen(shown), text) })
}

// prompt waits until the screen ends with an empty prompt.
func (s *seat) prompt() {
	s.t.Helper()
	s.Until(s.t, "there is no prompt", func(shown string) bool { return strings.HasSuffix("\n"+screen(shown), "\n>") })
}

// say waits for the prompt and sends a message.
func (s *seat) say(text string) {
	s.t.Helper()
	s.prompt()
	s.Type(s.t, text+"\r")
}

// leaves waits for the end.
func (s *seat) leaves(code int, sessions ...string) {
	s.t.Helper()
	if got := <-s.left; got.Code != code || s.err != nil || fmt.Sprint(got.Sessions) != fmt.Sprint(sessions) {
		s.t.Errorf("left with %+v, %v, want %d and %s:\n%s", got, s.err, code, sessions, screen(s.Text()))
	}
}

func object(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}
