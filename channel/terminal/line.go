package terminal

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/internal/ansi"
)

// errEscaped means that the person left the question: Esc, Ctrl-D, or the terminal is gone.
var errEscaped = errors.New("the person left the question")

// errPreview means that the preview has come while a key was awaited.
var errPreview = errors.New("the preview has come")

type display uint8

const (
	echo display = iota
	hide
)

const (
	// poll is how often a wait for a key looks at the context.
	poll = 50 * time.Millisecond
	// sequence is how soon the rest of a key's escape sequence follows its first byte.
	sequence = 25 * time.Millisecond
	maxLine  = 1024
)

// reminders are the times left at which the countdown is shown again, on a line of its own: a line that changes in place would be
// read aloud without end by a screen reader.
var reminders = []time.Duration{60 * time.Second, 30 * time.Second, 10 * time.Second}

// line reads up to Enter.
func (p *prompt) line(ctx context.Context, d display) (string, error) {
	var text []byte
	for {
		b, err := p.key(ctx, len(text) == 0)
		if errors.Is(err, errPreview) {
			p.print("\n" + p.lost + "> ")
			if d == echo {
				p.print(string(text))
			}
			continue
		}
		if err != nil {
			return "", err
		}
		switch {
		case b == '\r' || b == '\n':
			if d == echo {
				p.print("\n")
			}
			return string(text), nil
		case b == 3: // Ctrl-C
			return "", channel.ErrInterrupted
		case b == 4 && len(text) == 0: // Ctrl-D
			return "", errEscaped
		case b == 27:
			if !p.skipSequence() {
				return "", errEscaped
			}
		case b == 8 || b == 127:
			if len(text) > 0 {
				_, n := utf8.DecodeLastRune(text)
				text = text[:len(text)-n]
				if d == echo {
					p.print("\b \b")
				}
			}
		case b == 21: // Ctrl-U
			text = p.erase(text, d)
		case b >= 32 && len(text) < maxLine:
			text = append(text, b)
			if d == echo {
				p.print(string([]byte{b}))
			}
		}
	}
}

func (p *prompt) erase(text []byte, d display) []byte {
	if d == echo {
		for range utf8.RuneCount(text) {
			p.print("\b \b")
		}
	}
	return text[:0]
}

// key waits for a key, the question's expiry and the context's end. Reminders appear only while nothing is typed.
func (p *prompt) key(ctx context.Context, remind bool) (byte, error) {
	for {
		if ctx.Err() != nil {
			if errors.Is(context.Cause(ctx), channel.ErrTimeout) {
				return 0, channel.ErrTimeout
			}
			return 0, fmt.Errorf("wait for an answer at the terminal: %w", context.Cause(ctx))
		}
		left := p.left()
		if left == 0 {
			return 0, channel.ErrTimeout
		}
		if remind {
			p.remind(left)
		}
		if p.previewed() {
			return 0, errPreview
		}
		b, ok, err := p.keys.Next(poll)
		if err != nil {
			return 0, errEscaped
		}
		if ok {
			return b, nil
		}
	}
}

// previewed tells whether the preview has come since it was last asked.
func (p *prompt) previewed() bool {
	select {
	case text := <-p.preview:
		p.preview = nil // a closed one brings nothing
		if text != "" {
			p.lost = wrap("What would be lost:", p.width) + indent(strings.TrimSuffix(ansi.Visible(text), "\n")) + "\n"
		}
		return p.lost != ""
	default:
		return false
	}
}

func (p *prompt) remind(left time.Duration) {
	if left < 0 {
		return
	}
	for p.warned < len(reminders) && left <= reminders[p.warned] {
		due := reminders[p.warned]
		p.warned++
		if due-left < time.Second { // one that was over before the prompt appeared is left out
			p.print(fmt.Sprintf("\n%d s left to answer.\n> ", int(due.Seconds())))
		}
	}
}

// skipSequence reads the rest of an escape sequence, such as an arrow key's. It returns false for Esc alone.
func (p *prompt) skipSequence() bool {
	b, ok, err := p.keys.Next(sequence)
	if err != nil || !ok || b != '[' && b != 'O' {
		return false
	}
	for range 32 {
		b, ok, err = p.keys.Next(sequence)
		if err != nil || !ok || b >= 0x40 && b <= 0x7e {
			return true
		}
	}
	return true
}
