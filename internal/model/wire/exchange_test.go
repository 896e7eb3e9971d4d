package wire

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/hermes-runtime/hermes/internal/leaktest"
	"github.com/hermes-runtime/hermes/provider"
)

// reply is a server in the same time bubble: what write writes is the body.
type reply struct {
	before func(context.Context) error // what happens before the status
	write  func(w *io.PipeWriter)
}

func (r reply) RoundTrip(req *http.Request) (*http.Response, error) {
	if r.before != nil {
		if err := r.before(req.Context()); err != nil {
			return nil, err
		}
	}
	pr, pw := io.Pipe()
	stop := context.AfterFunc(req.Context(), func() { pw.CloseWithError(req.Context().Err()) })
	go func() {
		defer stop()
		r.write(pw)
		pw.Close()
	}()
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: pr, Request: req}, nil
}

func (r reply) post(ctx context.Context) (*Reply, error) {
	c := NewClient(provider.Bounds{})
	c.transport = r
	return c.Post(ctx, Exchange{Provider: "p", Model: "m", URL: "http://127.0.0.1/x", Header: http.Header{}})
}

const event = "data: {\"n\":1}\n\n"

// PRV-4: each bound, told by its name, at its time and not before.
func TestBounds_EndWhatIsTooSlow(t *testing.T) {
	say := func(w io.Writer, text string) { _, _ = io.WriteString(w, text) }
	silent := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for name, c := range map[string]struct {
		server reply
		after  time.Duration
		says   string
	}{
		"no status":              {reply{before: silent}, 180 * time.Second, "first_event_timeout"},
		"no event":               {reply{write: func(*io.PipeWriter) { time.Sleep(time.Hour) }}, 180 * time.Second, "first_event_timeout"},
		"comments, no event":     {reply{write: func(w *io.PipeWriter) { drip(w, ": x\n\n", time.Second) }}, 180 * time.Second, "first_event_timeout"},
		"late, then silent":      {reply{write: func(w *io.PipeWriter) { time.Sleep(170 * time.Second); say(w, event); time.Sleep(time.Hour) }}, 230 * time.Second, "idle_timeout"},
		"bytes without events":   {reply{write: func(w *io.PipeWriter) { say(w, event); drip(w, ": x\n\n", 10*time.Second) }}, 300 * time.Second, "stall_timeout"},
		"events without content": {reply{write: func(w *io.PipeWriter) { say(w, event); drip(w, "data: {}\n\n", 10*time.Second) }}, 300 * time.Second, "stall_timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				err := drain(c.server.post(t.Context()))
				var e *provider.Error
				if !errors.As(err, &e) || !e.Passing() || !strings.Contains(e.Message, c.says) {
					t.Errorf("%v, want %s", err, c.says)
				}
				if took := time.Since(start).Round(time.Second); took != c.after {
					t.Errorf("after %v, want %v", took, c.after)
				}
				time.Sleep(2 * time.Hour) // the server's turn to end
			})
		})
	}
}

// drip writes the same over and over, until nobody reads.
func drip(w io.Writer, text string, every time.Duration) {
	for {
		time.Sleep(every)
		if _, err := io.WriteString(w, text); err != nil {
			return
		}
	}
}

// drain reads a reply; the first event counts as content.
func drain(r *Reply, err error) error {
	if err != nil {
		return err
	}
	defer r.Close()
	for n := 0; ; n++ {
		if _, err := r.Next(); err != nil {
			return err
		}
		if n == 0 {
			r.Content()
		}
	}
}

// A slow but steady reply has no end by the clock, and the time that its reader takes is not the server's.
func TestBounds_SteadyRepliesGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := reply{write: func(w *io.PipeWriter) {
			for range 100 {
				time.Sleep(50 * time.Second)
				_, _ = io.WriteString(w, event)
			}
		}}.post(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		n := 0
		for ; err == nil; n++ {
			if _, err = r.Next(); err == nil {
				r.Content()
				time.Sleep(time.Hour)
			}
		}
		if !errors.Is(err, io.EOF) || n != 101 {
			t.Errorf("%d events, %v", n, err)
		}
	})
}

// What follows the content is waited for shortly.
func TestEnding_IsNotWaitedForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := reply{write: func(w *io.PipeWriter) { _, _ = io.WriteString(w, event); time.Sleep(time.Hour) }}.post(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
		r.Ending()
		start := time.Now()
		if _, err := r.Next(); err == nil || time.Since(start) != endWait {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		time.Sleep(2 * time.Hour) // the server's turn to end
	})
}

// PRV-5: the cause of the caller's context is what comes back.
func TestCancelling_GivesTheCause(t *testing.T) {
	defer leaktest.None(t, goleak.IgnoreCurrent())
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("enough")
		for _, server := range []reply{
			{before: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }},
			{write: func(w *io.PipeWriter) { drip(w, event, time.Second) }},
		} {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(20*time.Second, func() { cancel(cause) })
			start := time.Now()
			if err := drain(server.post(ctx)); !errors.Is(err, cause) {
				t.Errorf("%v", err)
			}
			if took := time.Since(start); took > 20*time.Second+100*time.Millisecond {
				t.Errorf("took %v", took)
			}
		}
		time.Sleep(2 * time.Hour) // the server's turn to end
	})
}

// A page of a web server, which is what stands at most addresses that aren't an API's, is told at once and not asked for again.
func TestNext_APageIsNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := drain(reply{write: func(w *io.PipeWriter) { _, _ = io.WriteString(w, "\n<!doctype html><title>hello</title>") }}.post(t.Context()))
		var e *provider.Error
		if !errors.As(err, &e) || e.Kind != provider.ErrProtocol || e.Passing() || !strings.Contains(e.Hint, "model.base_url") {
			t.Errorf("%v", err)
		}
	})
}

// PRV-10: an address is told by its host; what else stands in it may be a key.
func TestErrors_TellNoAddress(t *testing.T) {
	c := NewClient(provider.Bounds{})
	_, err := c.Post(t.Context(), Exchange{Provider: "p", Model: "m", URL: "http://user:secret-pw@127.0.0.1:1/v1?key=secret-q", Header: http.Header{}})
	var e *provider.Error
	if !errors.As(err, &e) || e.Kind != provider.ErrNetwork || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("%v", err)
	}
}
