package vercel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/hermes-runtime/hermes/internal/cloud"
)

const (
	// follows is how often the log of a command is asked for again in vain.
	follows = 4
	// answerTime is how long the API may take to say that a command began, or to begin with its log.
	answerTime = 20 * time.Second
	// silentTime is how long a stream may be silent until the API is asked whether the command runs, and how long one has to have lasted
	// to count as contact.
	silentTime = 10 * time.Second
)

// tape is what the API tells of one command: its outputs, from their beginning whenever it is asked again, and its exit code.
type tape struct {
	m     *machine
	print func(of, text string) error // takes what is new of "stdout" and "stderr"
	begun func()                      // called once, when the id is known; nil = nothing is to be done
	whole func() bool                 // whether nothing is to come any more
	broke func() (back func())        // called when contact breaks; nil = nobody wants to know
	back  func()                      // called when it is made again; nil = it isn't broken

	broken   error // why what is printed can't be made use of
	id       string
	exit     *int // as Vercel recorded it
	out, err replay
	heard    atomic.Bool // something came
}

// replay is an output that may come again from its beginning.
type replay struct{ seen, skip int } // bytes

func (r *replay) rewind() { r.skip = r.seen }

// fresh is what is new in a piece.
func (r *replay) fresh(text string) string {
	n := min(r.skip, len(text))
	r.skip -= n
	r.seen += len(text) - n
	return text[n:]
}

// play starts a command and follows it to its end. Where contact breaks its log is read again; only an exit code that Vercel recorded
// counts.
func (t *tape) play(ctx context.Context, start cloud.Call) error {
	why := t.ask(ctx, start)
	if t.id == "" {
		if why == nil {
			why = errors.New("the server names no command")
		}
		return why
	}
	if why == nil {
		why = io.ErrUnexpectedEOF
	}
	defer t.again()
	for try := 0; !t.whole(); try++ {
		if t.broke != nil && t.back == nil {
			t.back = t.broke()
		}
		switch {
		case t.broken != nil:
			return t.broken
		case try == follows || final(why):
			return why
		}
		if try > 0 && cloud.Rest(ctx, time.Second<<(try-1)) != nil {
			return context.Cause(ctx)
		}
		began, seen := time.Now(), t.out.seen+t.err.seen
		err := t.ask(ctx, t.m.about(t.id, "/logs", cloud.Call{Method: http.MethodGet}))
		if err == nil && t.exit == nil {
			t.exit, err = t.state(ctx)
		}
		if err != nil {
			why = err
		}
		if t.out.seen+t.err.seen > seen || err == nil && time.Since(began) > silentTime {
			try = 0 // there was contact
		}
	}
	return nil
}

// again says that contact is made.
func (t *tape) again() {
	if t.back != nil {
		t.back()
		t.back = nil
	}
}

// final tells whether asking again is in vain.
func final(err error) bool {
	return cloud.Refused(err) && cloud.Status(err) != http.StatusTooManyRequests
}

// ask sends a request that is answered with a stream, and reads that.
func (t *tape) ask(ctx context.Context, c cloud.Call) error {
	ctx, hangUp := context.WithCancelCause(ctx)
	defer hangUp(nil)
	late := time.AfterFunc(answerTime, func() { hangUp(fmt.Errorf("%s did not answer within %v", t.m.a.api.Base.Host, answerTime)) })
	defer late.Stop()
	r, err := t.m.a.api.Send(ctx, c)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	t.out.rewind()
	t.err.rewind()
	watched := make(chan struct{})
	watching := false
	watch := func() {
		watching = true
		go func() { defer close(watched); t.watch(ctx, hangUp) }()
	}
	if t.id != "" {
		late.Stop()
		watch()
	}
	err = readLines(r.Body, func(l line) error {
		t.heard.Store(true)
		err := t.take(l)
		t.again()
		if t.id != "" && !watching {
			late.Stop()
			watch()
		}
		return err
	})
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	hangUp(nil)
	if watching {
		<-watched
	}
	return err
}

// watch hangs up on a stream that is silent although the command has ended, or of which nobody knows anything any more.
func (t *tape) watch(ctx context.Context, hangUp context.CancelCauseFunc) {
	id := t.id
	for cloud.Rest(ctx, silentTime) == nil {
		if t.heard.Swap(false) {
			continue
		}
		exit, err := t.m.exitOf(ctx, id)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			hangUp(fmt.Errorf("the stream of outputs is silent: %w", err))
		case exit != nil && !t.heard.Load():
			hangUp(errors.New("the stream of outputs is silent, and the command has ended"))
		}
	}
}

// state asks for the exit code.
func (t *tape) state(ctx context.Context) (*int, error) { return t.m.exitOf(ctx, t.id) }

// exitOf asks how a command ended; nil = it hasn't.
func (m *machine) exitOf(ctx context.Context, id string) (*int, error) {
	var l line
	err := m.a.api.Do(ctx, m.about(id, "", cloud.Call{Method: http.MethodGet, Into: &l}))
	if err == nil && l.Command == nil {
		err = errors.New("the answer about a command names none")
	}
	if err != nil {
		return nil, err
	}
	return l.Command.Exit, nil
}

// take makes use of one line of a stream.
func (t *tape) take(l line) error {
	switch {
	case l.Command != nil:
		if t.id == "" {
			if t.id = l.Command.ID; t.id == "" {
				return errors.New("the server names no command")
			}
			if t.begun != nil {
				t.begun()
			}
		}
		if l.Command.Exit != nil {
			t.exit = l.Command.Exit
		}
	case l.Stream == "stdout", l.Stream == "stderr":
		o := &t.out
		if l.Stream == "stderr" {
			o = &t.err
		}
		text, err := l.text()
		if text = o.fresh(text); err == nil && text != "" {
			err = t.print(l.Stream, text)
		}
		t.broken = err
		return err
	case l.Stream == "error":
		return l.failure()
	}
	return nil
}
