package cli

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/term"

	"github.com/hermes-runtime/hermes/internal/chat"
	"github.com/hermes-runtime/hermes/internal/runtime"
	"github.com/hermes-runtime/hermes/internal/store"
)

// attended tells whether a person sees what is shown and may answer: a terminal on all three.
func (a *app) attended() bool {
	for _, f := range []*os.File{a.in, os.Stdout, os.Stderr} {
		if !term.IsTerminal(int(f.Fd())) {
			return false
		}
	}
	return true
}

// sit has conversations at the terminal.
func (a *app) sit(ctx context.Context, t talk) error {
	var l lounge
	kind := os.Getenv("TERM")
	look := chat.ScreenOptions{Dumb: kind == "" || kind == "dumb", Emoji: l.emoji}
	look.Color = !a.noColor && !look.Dumb
	screen := chat.NewScreen(look)
	a.err = screen
	a.alone = true // whoever asks has to know of the screen
	rt, err := a.open(ctx)
	if err != nil {
		return err
	}
	var display chat.Settings
	if err := rt.Config().Decode(display.Section(), &display); err != nil {
		return &exit{exitUsage, err}
	}
	l.runtime, l.options = rt, t.options(a)
	left, err := chat.Run(ctx, chat.Options{
		Host: &l, Screen: screen, In: a.in, Opening: chat.Opening{Resume: t.resume, Model: t.model}, Busy: display.BusyInputMode,
		Still: display.Still, Asker: a.person,
	})
	if closeErr := a.close(ctx); closeErr != nil {
		fmt.Fprintln(a.err, "hermes: warning:", oneLine(closeErr))
	}
	a.left = left.Sessions
	if err != nil {
		return err
	}
	return &exit{code: left.Code}
}

// lounge is where conversations are had.
type lounge struct {
	runtime *runtime.Runtime
	options runtime.ConversationOptions
}

func (l *lounge) emoji(tool string) string { return l.runtime.Registry().Emoji(tool) }

// Open implements chat.Host.
func (l *lounge) Open(ctx context.Context, o chat.Opening) (chat.Conversation, []string, error) {
	c := l.options
	c.Resume, c.Model, c.Shared, c.Listen, c.Session.Asker = o.Resume, o.Model, o.Shared, o.Listen, o.Asker
	opened, err := l.runtime.Converse(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	return opened, opened.Notices, nil
}

// Tools implements chat.Host.
func (l *lounge) Tools(c chat.Conversation) (out []chat.Tool) {
	for _, e := range c.(*runtime.Conversation).Tools() {
		out = append(out, chat.Tool{Name: e.Spec.Name, Toolset: e.Spec.Toolset, Description: e.Description()})
	}
	return out
}

// Skills implements chat.Host.
func (l *lounge) Skills(ctx context.Context, c chat.Conversation) (out []chat.Skill) {
	for _, s := range c.(*runtime.Conversation).Skills(ctx) {
		out = append(out, chat.Skill{Name: s.Title(), Description: s.Description})
	}
	return out
}

// Find implements chat.Host.
func (l *lounge) Find(ctx context.Context, ref string) (store.Session, error) {
	return l.runtime.Store().Find(ctx, ref)
}

// Todos implements chat.Host.
func (l *lounge) Todos(ctx context.Context, session string) ([]store.Todo, error) {
	return l.runtime.Store().Todos(ctx, session)
}

// listed is how many conversations /sessions shows.
const listed = 20

// Sessions implements chat.Host.
func (l *lounge) Sessions(ctx context.Context) ([]store.Entry, error) {
	return l.runtime.Store().List(ctx, store.Filter{Limit: listed, Hidden: begunByAgents})
}
