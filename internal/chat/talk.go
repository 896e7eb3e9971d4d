package chat

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/internal/agent"
	"github.com/hermes-runtime/hermes/internal/ansi"
	"github.com/hermes-runtime/hermes/internal/store"
	"github.com/hermes-runtime/hermes/provider"
	"github.com/hermes-runtime/hermes/tool"
)

// talk is a chat under way. All of it belongs to the goroutine of run.
type talk struct {
	o          Options
	screen     *Screen
	keyboard   *keyboard
	strokes    chan stroke
	interrupts chan struct{} // from a question
	c          Conversation
	left       []string // sessions that were left, to go on with
	said       bool     // something was said in c
	model      string   // that was asked for; "" = none was

	work    *work
	pending []string  // messages that wait for the turn's end
	pressed time.Time // when Ctrl-C was pressed last, and nothing since
	late    <-chan time.Time
	ended   bool
	code    int
}

// work is what goes on while the person may type: a turn, a compaction.
type work struct {
	done     chan func() // what is to be done when it has ended
	cancel   context.CancelCauseFunc
	turn     bool // it is one, which can be told something
	stopped  bool // the person doesn't want it any more
	outlasts bool // and it went on for so long that the prompt is back before its end
}

const (
	// twice is how soon a second Ctrl-C ends the program.
	twice = 2 * time.Second
	// patience is how long after Ctrl-C the prompt is back at the latest, though something runs on. It is below 2 s.
	patience = 1800 * time.Millisecond
)

// run has the conversation.
func (t *talk) run(ctx context.Context) int {
	second := time.NewTicker(time.Second)
	defer second.Stop()
	resized := make(chan os.Signal, 1)
	if len(resizes) > 0 {
		signal.Notify(resized, resizes...)
		defer signal.Stop(resized)
	}
	t.screen.expect(true)
	for !t.ended {
		var done <-chan func()
		if t.work != nil {
			done = t.work.done
		}
		select {
		case s := <-t.strokes:
			t.stroke(ctx, s)
		case <-t.interrupts:
			t.interrupt()
		case after := <-done:
			t.finish(after)
			t.next(ctx)
		case <-t.late:
			t.late, t.work.outlasts = nil, true
			t.screen.note("something doesn't stop; a message that you send now waits for its end")
			t.screen.expect(true)
		case <-second.C:
			t.screen.tick()
		case <-resized:
			t.screen.fitted()
		case <-ctx.Done():
			t.leave(exitInterrupted)
		}
	}
	return t.code
}

func (t *talk) leave(code int) { t.ended, t.code = true, code }

// begin starts work that ends with a func for the loop.
func (t *talk) begin(ctx context.Context, f func(ctx context.Context) func()) *work {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &work{done: make(chan func(), 1), cancel: cancel}
	t.work = w
	t.screen.expect(false)
	go func() {
		defer func() {
			if p := recover(); p != nil { // the crash is to be read in a terminal that works
				_ = t.keyboard.restore()
				panic(p)
			}
		}()
		w.done <- f(ctx)
	}()
	return w
}

// turn says something to the model.
func (t *talk) turn(ctx context.Context, text string) {
	t.said = true
	c := t.c
	t.screen.awaited()
	w := t.begin(ctx, func(ctx context.Context) func() {
		o := c.Turn(ctx, text)
		return func() {
			t.screen.endText()
			t.outcome(o)
			t.unread(c.Unread())
		}
	})
	w.turn = true
}

// unread takes messages that the model wasn't told because the turn ended first. They begin the next one, unless the person stopped it.
func (t *talk) unread(texts []string) {
	if t.work.stopped {
		t.screen.unsend(texts)
		return
	}
	t.pending = append(texts, t.pending...)
}

// finish does what is to be done when the work has ended.
func (t *talk) finish(after func()) {
	t.work.cancel(nil)
	after()
	t.work, t.late = nil, nil
}

// outcome says how a turn ended, unless it just did.
func (t *talk) outcome(o agent.Outcome) {
	switch {
	case o.Status == agent.Completed:
	case o.Status == agent.Interrupted:
		t.screen.note("interrupted")
	default:
		t.screen.say(fmt.Sprintf("%s (%s): %s", o.Status, o.ExitReason, ansi.Visible(o.Error)))
	}
}

// next goes on with what waits, or expects a message.
func (t *talk) next(ctx context.Context) {
	if len(t.pending) == 0 || ctx.Err() != nil {
		t.screen.expect(true)
		return
	}
	text := t.pending[0]
	t.pending = t.pending[1:]
	if t.o.Busy != Queue { // what was said while the turn came to its end belongs together
		text = strings.Join(append([]string{text}, t.pending...), "\n\n")
		t.pending = nil
	}
	t.turn(ctx, text)
}

// stroke takes what was typed.
func (t *talk) stroke(ctx context.Context, s stroke) {
	ed := t.screen.ed
	if s.key != interrupt {
		t.pressed = time.Time{}
	}
	switch {
	case s.key == interrupt:
		t.interrupt()
	case s.key == gone:
		t.leave(exitInterrupted)
	case s.key == endOfInput && ed.empty():
		t.leave(exitOK)
	case s.key == enter:
		if strings.TrimSpace(ed.String()) == "" {
			return
		}
		text := t.screen.take()
		t.screen.sent(text)
		t.submit(ctx, text)
		if !t.ended && (t.work == nil || t.work.outlasts) {
			t.screen.expect(true)
		}
	case s.key == clearScreen:
		t.screen.clear()
	case s.key == suspend:
		t.suspend()
	default:
		t.screen.edit(s)
	}
}

// suspend is Ctrl-Z.
func (t *talk) suspend() {
	t.screen.pause()
	defer t.screen.resume()
	if err := t.keyboard.suspend(); err != nil { // without keys there is nothing to do here
		t.leave(exitFailed)
	}
}

// submit does what a line says: a command, or a message.
func (t *talk) submit(ctx context.Context, text string) {
	if name, rest, ok := command(text); ok {
		t.command(ctx, name, rest)
		return
	}
	t.message(ctx, text)
}

// message says something to the model, now or as the mode for a busy one wants.
func (t *talk) message(ctx context.Context, text string) {
	switch w := t.work; {
	case w == nil:
		t.turn(ctx, text)
	case w.turn && !w.stopped && t.o.Busy == Steer && t.c.Steer(text):
		t.screen.note("told to the model with the next results")
	case w.turn && t.o.Busy != Queue && t.o.Busy != Steer:
		t.pending = append(t.pending, text)
		w.cancel(tool.NewMessage)
	default:
		t.pending = append(t.pending, text)
		t.screen.note("waits for the end of this")
	}
}

// interrupt is Ctrl-C.
func (t *talk) interrupt() {
	ed := t.screen.ed
	again := time.Since(t.pressed) < twice
	switch {
	case again:
		t.leave(exitInterrupted)
	case t.work != nil:
		t.pressed = time.Now()
		t.stop()
	case !ed.empty():
		t.screen.take()
		t.screen.edited()
	default:
		t.pressed = time.Now()
		t.screen.note("Ctrl-C again leaves; so does Ctrl-D")
	}
}

// stop ends the turn without a message. Those that waited for its end are the person's again.
func (t *talk) stop() {
	t.screen.unsend(t.pending)
	t.pending = nil
	t.work.stopped = true
	t.work.cancel(tool.Stop)
	t.late = time.After(patience)
}

// open goes on with another conversation; the one before is closed when that is certain.
func (t *talk) open(ctx context.Context, o Opening) error {
	if t.o.Asker != nil {
		inner := t.o.Asker(func() {
			select {
			case t.interrupts <- struct{}{}:
			default:
			}
		})
		if inner != nil {
			o.Asker = &asker{inner, t.screen, t.keyboard}
		}
	}
	o.Listen = t.screen.event
	c, notices, err := t.o.Host.Open(ctx, o)
	if errors.Is(err, store.ErrInUse) && !o.Shared {
		if !t.confirm(ctx, "This session is in use elsewhere. What both say will be mixed. Open it all the same? [y/N] ") {
			return err
		}
		o.Shared = true
		c, notices, err = t.o.Host.Open(ctx, o)
	}
	if err != nil {
		return err
	}
	t.close(ctx)
	t.c, t.said = c, false
	t.model = o.Model
	t.greet(notices)
	return nil
}

// greet says which conversation it is.
func (t *talk) greet(notices []string) {
	m := t.c.Model()
	line := fmt.Sprintf("%s/%s · session %s · /help lists the commands", m.Provider, m.Model, t.c.ID())
	if n := len(t.c.History()); n > 0 {
		t.said = true
		line = fmt.Sprintf("%s/%s · session %s, %d messages so far", m.Provider, m.Model, t.c.ID(), n)
		t.recall()
	}
	t.screen.note(ansi.Visible(line))
	for _, n := range notices {
		t.screen.say(ansi.Visible(n))
	}
}

// recall shows what was said last, so that one knows where one is.
func (t *talk) recall() {
	last := map[provider.Role]string{}
	for _, m := range t.c.History() {
		if strings.TrimSpace(m.Text) != "" {
			last[m.Role] = m.Text
		}
	}
	if said := last[provider.User]; said != "" {
		t.screen.note(promptSign + oneLine(said))
	}
	if said := last[provider.Assistant]; said != "" {
		t.screen.note(oneLine(said))
	}
}

// mostRecalled is how much of a message is shown where it only reminds of it, in characters.
const mostRecalled = 200

func oneLine(text string) string {
	return fit(strings.ReplaceAll(ansi.Visible(strings.TrimSpace(text)), "\n", " "), mostRecalled)
}

// confirm asks something whose answer is no unless it is y or yes.
func (t *talk) confirm(ctx context.Context, question string) bool {
	t.screen.say(question)
	t.screen.expect(true)
	defer t.screen.expect(false)
	for {
		select {
		case <-ctx.Done():
			return false
		case s := <-t.strokes:
			switch s.key {
			case interrupt, gone, endOfInput:
				return false
			case enter:
				text := t.screen.take()
				t.screen.sent(text)
				return strings.EqualFold(text, "y") || strings.EqualFold(text, "yes")
			}
			t.screen.edit(s)
		}
	}
}

// close ends the conversation, and what runs in it.
func (t *talk) close(ctx context.Context) {
	if t.c == nil {
		return
	}
	ctx = context.WithoutCancel(ctx)
	if t.work != nil {
		t.work.cancel(tool.SessionEnd)
		select {
		case after := <-t.work.done:
			t.finish(after)
		case <-time.After(turnEnd):
		}
		t.work = nil
	}
	ctx, cancel := context.WithTimeout(ctx, restEnd)
	defer cancel()
	if err := t.c.Close(ctx); err != nil {
		t.screen.say("hermes: warning: " + ansi.Visible(err.Error()))
	}
	if t.said {
		id := t.c.ID()
		t.left = append(slices.DeleteFunc(t.left, func(l string) bool { return l == id }), id)
	}
	t.c = nil
}

var _ channel.Confirmer = (*asker)(nil)
