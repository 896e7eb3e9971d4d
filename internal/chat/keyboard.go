package chat

import (
	"context"
	"io"
	"os"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/internal/keys"
)

// keyboard reads what is typed, and lends the terminal to questions.
type keyboard struct {
	file *os.File
	out  io.Writer  // where the terminal is told how to send what is pasted
	dumb bool       // it can't be told
	mu   sync.Mutex // held by whoever reads
	keys *keys.Reader
}

// Between these a terminal marks what is pasted.
const (
	pasteMarked   = "\x1b[?2004h"
	pasteUnmarked = "\x1b[?2004l"
)

// look is how often the keyboard is offered to a question.
const look = 100 * time.Millisecond

// open takes the terminal over.
func (k *keyboard) open() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.take()
}

func (k *keyboard) take() (err error) {
	if k.keys, err = keys.Open(k.file); err == nil && !k.dumb {
		_, err = io.WriteString(k.out, pasteMarked)
	}
	return err
}

// close gives the terminal back.
func (k *keyboard) close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.restore()
}

// restore is close for whoever can't wait for a reader.
func (k *keyboard) restore() error {
	if k.keys == nil {
		return nil
	}
	if !k.dumb {
		_, _ = io.WriteString(k.out, pasteUnmarked)
	}
	return k.keys.Close()
}

// suspend stops the process, with the terminal as it was meanwhile.
func (k *keyboard) suspend() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.restore(); err != nil {
		return err
	}
	keys.Suspend()
	return k.take()
}

// read sends what is typed until ctx ends or the terminal is gone.
func (k *keyboard) read(ctx context.Context, to chan<- stroke) {
	var d decoder
	buf := make([]byte, 4096)
	for ctx.Err() == nil {
		k.mu.Lock()
		n, err := k.keys.Read(buf, look)
		k.mu.Unlock()
		if n == 0 {
			d.idle()
		}
		strokes := d.feed(buf[:n])
		if k.dumb {
			join(strokes)
		}
		if err != nil {
			strokes = append(strokes, stroke{key: gone})
		}
		for _, s := range strokes {
			select {
			case to <- s:
			case <-ctx.Done():
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// join makes one message of lines that came at once: nobody types so fast.
func join(strokes []stroke) {
	for i := range len(strokes) - 1 {
		if strokes[i].key == enter {
			strokes[i].key = newline
		}
	}
}

// asker puts questions to the person at the screen: the drawing stops, the question has the keyboard, and gives it back.
type asker struct {
	channel.Asker
	screen   *Screen
	keyboard *keyboard
}

// Ask implements channel.Asker.
func (a *asker) Ask(ctx context.Context, q channel.Question) (channel.Answer, error) {
	a.keyboard.mu.Lock()
	defer a.keyboard.mu.Unlock()
	a.screen.pause()
	defer a.screen.resume()
	return a.Asker.Ask(ctx, q)
}

// Confirms implements channel.Confirmer as the asker within does.
func (a *asker) Confirms() bool {
	c, ok := a.Asker.(channel.Confirmer)
	return ok && c.Confirms()
}
