// Package terminal asks the person who sits at the terminal that the process was started from. It writes to standard error, so that
// standard output stays the program's own, and reads keys one at a time, so that Esc and Ctrl-C count at once.
package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/internal/keys"
)

// ErrNoTerminal is returned when input or output is no terminal: nobody would see the question.
var ErrNoTerminal = errors.New("there is no terminal on both standard input and standard error")

// Options says where the person is. The zero value means standard input and standard error.
type Options struct {
	In        *os.File
	Out       *os.File
	Interrupt func() // called on Ctrl-C, beside the refusal; default: an interrupt signal to this process
}

// Asker is a channel.Asker at a terminal.
type Asker struct {
	in, out   *os.File
	interrupt func()
}

// New returns an Asker. It touches no terminal.
func New(o Options) *Asker {
	a := &Asker{in: o.In, out: o.Out, interrupt: o.Interrupt}
	if a.in == nil {
		a.in = os.Stdin
	}
	if a.out == nil {
		a.out = os.Stderr
	}
	if a.interrupt == nil {
		a.interrupt = interruptSelf
	}
	return a
}

func interruptSelf() {
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Signal(os.Interrupt) // where signals can't be sent, the refusal alone has to do
	}
}

// Available tells whether a person can be asked: a terminal on both ends, on a system whose keys can be read one at a time.
func (a *Asker) Available() bool {
	return keys.Supported && term.IsTerminal(int(a.in.Fd())) && term.IsTerminal(int(a.out.Fd()))
}

// Ask shows the question and waits for a choice on offer. Everything but a clear yes is a no: Enter, Esc, the end of input, a word
// that is no choice twice. A free question is answered by a line. It returns ErrNoTerminal without a terminal, channel.ErrTimeout at the question's expiry and
// channel.ErrInterrupted on Ctrl-C.
func (a *Asker) Ask(ctx context.Context, q channel.Question) (answer channel.Answer, err error) {
	if !a.Available() {
		return channel.Answer{}, ErrNoTerminal
	}
	keys, err := keys.Open(a.in)
	if err != nil {
		return channel.Answer{}, fmt.Errorf("read keys from the terminal: %w", err)
	}
	defer func() {
		if closeErr := keys.Close(); err == nil && closeErr != nil {
			err = fmt.Errorf("give the terminal back: %w", closeErr)
		}
	}()
	if err := keys.Discard(); err != nil { // what was typed before can't have been meant as an answer
		return channel.Answer{}, err
	}
	p := &prompt{asker: a, keys: keys, q: q, preview: q.Preview, width: a.width()}
	switch {
	case q.Kind == channel.KindSecret:
		return p.secret(ctx)
	case q.Kind == channel.KindClarify:
		return p.clarify(ctx)
	case q.Confirm != "":
		return p.confirm(ctx)
	}
	return p.approval(ctx)
}

// Confirms implements channel.Confirmer: what is typed here is typed by hand.
func (a *Asker) Confirms() bool { return a.Available() }

// The widths that prose is broken at: longer lines are hard to read, and a terminal that says less than the least says nonsense.
const (
	leastWidth = 30
	usualWidth = 80
	mostWidth  = 100
)

func (a *Asker) width() int {
	w, _, err := term.GetSize(int(a.out.Fd()))
	if err != nil || w < leastWidth {
		return usualWidth
	}
	return min(w, mostWidth)
}

// prompt is one question at the terminal.
type prompt struct {
	asker   *Asker
	keys    *keys.Reader
	q       channel.Question
	preview <-chan string // nil once it is shown
	lost    string        // the preview
	width   int
	warned  int
}

func (p *prompt) print(s string) { _, _ = io.WriteString(p.asker.out, s) }

// who is what the audit gets: the surface; the system's own account of who is logged in stands beside it there.
const who = "person at the terminal"

func (p *prompt) approval(ctx context.Context) (channel.Answer, error) {
	p.print(card(p.q, p.width))
	for unknown := 0; unknown < 2; {
		p.print(menu(p.q, p.left(), p.width))
		word, err := p.line(ctx, echo)
		switch {
		case errors.Is(err, errEscaped):
			return p.deny()
		case err != nil:
			return p.fail(ctx, err)
		}
		word = strings.ToLower(strings.TrimSpace(word))
		if word == "" {
			return p.deny()
		}
		if strings.HasPrefix("view", word) {
			p.view()
			continue
		}
		if c, ok := choose(p.q.Choices, word); ok {
			p.print("→ " + string(c) + "\n")
			return channel.Answer{Choice: c, Who: who}, nil
		}
		unknown++
		p.print("That is no choice on offer.\n")
	}
	return p.deny()
}

func (p *prompt) view() {
	p.print(full(p.q, p.width))
	if p.lost != "" {
		p.print(p.lost)
	}
}

// confirm lets an act run only for whoever types what it destroys, at the first attempt.
func (p *prompt) confirm(ctx context.Context) (channel.Answer, error) {
	p.print(card(p.q, p.width))
	for {
		p.print(confirmation(p.q, p.left(), p.width))
		typed, err := p.line(ctx, echo)
		switch {
		case errors.Is(err, errEscaped):
			return p.deny()
		case err != nil:
			return p.fail(ctx, err)
		case typed == p.q.Confirm:
			p.print("→ once\n")
			return channel.Answer{Choice: channel.Once, Typed: typed, Who: who}, nil
		case typed == "v" || typed == "view":
			p.view()
		default:
			return p.deny()
		}
	}
}

func (p *prompt) deny() (channel.Answer, error) {
	p.print("→ deny\n")
	return channel.Answer{Choice: channel.Deny, Who: who}, nil
}

// interruptTime is how long the process may take to hear of an interrupt.
const interruptTime = time.Second

func (p *prompt) fail(ctx context.Context, err error) (channel.Answer, error) {
	switch {
	case errors.Is(err, channel.ErrTimeout):
		p.print("\nNobody answered in time" + p.denied(": denied") + ".\n")
	case errors.Is(err, channel.ErrInterrupted):
		p.print("^C\n" + p.denied("→ deny\n"))
		p.asker.interrupt()
		select { // what is interrupted shall know when it gets the answer, so that it doesn't take it for a mere no
		case <-ctx.Done():
		case <-time.After(interruptTime):
		}
	default:
		p.print("\nThe question was taken back.\n")
	}
	return channel.Answer{}, err
}

// denied is text that is true of questions of consent alone.
func (p *prompt) denied(text string) string {
	if p.q.Kind == channel.KindApproval {
		return text
	}
	return ""
}

// secret reads a secret without showing it. Enter alone, Esc and the end of input give an empty one.
func (p *prompt) secret(ctx context.Context) (channel.Answer, error) {
	p.print("\n" + oneLine(p.q.Title) + "\n")
	if p.q.Command != "" { // who gives a password has to see what for
		p.print("Command:\n" + indent(abridged(p.q)) + "\n")
	}
	for _, n := range p.q.Notes {
		p.print("  " + oneLine(n) + "\n")
	}
	p.print(fmt.Sprintf("Not shown while you type; Enter alone goes on without.%s\n> ", remaining(p.left())))
	word, err := p.line(ctx, hide)
	p.print("\n")
	switch {
	case errors.Is(err, errEscaped):
		word, err = "", nil
	case err != nil:
		return p.fail(ctx, err)
	}
	return channel.Answer{Secret: word, Who: who}, err
}

// clarify reads an answer in the person's own words, or the number of one on offer. Enter alone, Esc and the end of input give none.
func (p *prompt) clarify(ctx context.Context) (channel.Answer, error) {
	p.print(asked(p.q, p.left(), p.width))
	text, err := p.line(ctx, echo)
	switch {
	case errors.Is(err, errEscaped):
		return channel.Answer{Who: who}, nil
	case err != nil:
		return p.fail(ctx, err)
	}
	text = strings.TrimSpace(text)
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(p.q.Options) {
		text = p.q.Options[n-1]
	}
	return channel.Answer{Text: text, Who: who}, nil
}

// left is the time that remains, or a negative value when the question doesn't expire.
func (p *prompt) left() time.Duration {
	if p.q.Expires.IsZero() {
		return -1
	}
	return max(0, time.Until(p.q.Expires))
}

// choose reads a first letter, or a word or its beginning, as one of the choices on offer.
func choose(offered []channel.Choice, word string) (channel.Choice, bool) {
	for _, c := range offered {
		if strings.HasPrefix(string(c), word) {
			return c, true
		}
	}
	return "", false
}
