package model

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hermes-runtime/hermes/provider"
	"github.com/hermes-runtime/hermes/provider/providertest"
)

// script is a model whose attempts are told beforehand.
type script struct {
	attempts [][]any // events and errors
	times    []time.Time
	seen     []provider.Request
}

func (s *script) Info() provider.Info { return provider.Info{Provider: "p", Model: "m"} }

func (s *script) Stream(_ context.Context, r provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		s.times, s.seen = append(s.times, time.Now()), append(s.seen, r)
		for _, x := range s.attempts[min(len(s.times), len(s.attempts))-1] {
			ev, _ := x.(provider.Event)
			err, _ := x.(error)
			if !yield(ev, err) {
				return
			}
		}
	}
}

var (
	text  = provider.Event{Kind: provider.KindText, Text: "half"}
	think = provider.Event{Kind: provider.KindReasoning, Text: "hm"}
	used  = provider.Event{Kind: provider.KindUsage, Usage: &provider.Usage{Input: 1, Output: 2}}
	end   = provider.Event{Kind: provider.KindEnd, End: provider.EndStop}
	aCall = provider.Event{Kind: provider.KindCall, Call: &provider.Call{ID: "a", Name: "f", Arguments: "{}"}}
)

func fails(kind provider.ErrorKind) *provider.Error {
	return &provider.Error{Kind: kind, Provider: "p", Model: "m", Message: "it failed"}
}

func after(d time.Duration) *provider.Error {
	e := fails(provider.ErrRateLimit)
	e.RetryAfter = d
	return e
}

// PRV-3: what is made again, when, and what is not.
func TestRetry(t *testing.T) {
	second := time.Second
	for name, c := range map[string]struct {
		attempts [][]any
		waits    [][2]time.Duration // least and most before each further attempt
		fails    provider.ErrorKind
		text     string
	}{
		"at once":         {[][]any{{text, end}}, nil, "", "half"},
		"network":         {[][]any{{fails(provider.ErrNetwork)}, {text, end}}, [][2]time.Duration{{second / 4, second / 2}}, "", "half"},
		"overloaded":      {[][]any{{fails(provider.ErrOverloaded)}, {fails(provider.ErrOverloaded)}, {text, end}}, [][2]time.Duration{{second / 4, second / 2}, {second / 2, second}}, "", "half"},
		"five times":      {[][]any{{fails(provider.ErrNetwork)}}, [][2]time.Duration{{second / 4, second / 2}, {second / 2, second}, {second, 2 * second}, {2 * second, 4 * second}, {4 * second, 8 * second}}, provider.ErrNetwork, ""},
		"as asked":        {[][]any{{after(7 * second)}, {text, end}}, [][2]time.Duration{{7 * second, 7 * second}}, "", "half"},
		"up to 60 s":      {[][]any{{after(60 * second)}, {text, end}}, [][2]time.Duration{{60 * second, 60 * second}}, "", "half"},
		"no longer":       {[][]any{{after(61 * second)}}, nil, provider.ErrRateLimit, ""},
		"auth":            {[][]any{{fails(provider.ErrAuth)}}, nil, provider.ErrAuth, ""},
		"schema":          {[][]any{{fails(provider.ErrSchema)}}, nil, provider.ErrSchema, ""},
		"refused":         {[][]any{{fails(provider.ErrRefused)}}, nil, provider.ErrRefused, ""},
		"context":         {[][]any{{fails(provider.ErrContext)}}, nil, provider.ErrContext, ""},
		"protocol":        {[][]any{{fails(provider.ErrProtocol)}}, nil, provider.ErrProtocol, ""},
		"after text":      {[][]any{{text, fails(provider.ErrNetwork)}}, nil, provider.ErrNetwork, "half"},
		"after a call":    {[][]any{{aCall, fails(provider.ErrNetwork)}}, nil, provider.ErrNetwork, ""},
		"after usage":     {[][]any{{used, fails(provider.ErrNetwork)}, {text, end}}, [][2]time.Duration{{second / 4, second / 2}}, "", "half"},
		"after reasoning": {[][]any{{think, fails(provider.ErrNetwork)}, {think, text, end}}, [][2]time.Duration{{second / 4, second / 2}}, "", "half"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{attempts: c.attempts}
				h, err := providertest.Hear(t.Context(), &steady{Model: s, retries: 5}, provider.Request{})
				var e *provider.Error
				if errors.As(err, &e) != (c.fails != "") || e != nil && e.Kind != c.fails {
					t.Errorf("%v, want %q", err, c.fails)
				}
				if h.Text != c.text || len(s.times) != len(c.waits)+1 {
					t.Fatalf("%d attempts, want %d; %+v", len(s.times), len(c.waits)+1, h)
				}
				for i, w := range c.waits {
					if took := s.times[i+1].Sub(s.times[i]); took < w[0] || took > w[1] {
						t.Errorf("attempt %d after %v, want %v", i+2, took, w)
					}
				}
			})
		})
	}
}

// PRV-3: the time that an API asks for is named, and waits are told.
func TestRetry_IsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, err := providertest.Hear(t.Context(), &steady{Model: &script{attempts: [][]any{{after(time.Hour)}}}, retries: 5}, provider.Request{})
		if err == nil || !strings.Contains(err.Error(), "about 60 minutes, until ") || !strings.Contains(err.Error(), "nothing was tried again") {
			t.Errorf("%v", err)
		}
		var notices []string
		s := &steady{Model: &script{attempts: [][]any{{after(3 * time.Second)}, {end}}}, retries: 5}
		for ev := range s.Stream(t.Context(), provider.Request{}) {
			if ev.Kind == provider.KindNotice {
				notices = append(notices, ev.Text)
			}
		}
		if diff := cmp.Diff([]string{"p/m: rate limit: it failed; attempt 2 of 6 in 3s"}, notices); diff != "" {
			t.Error(diff)
		}
	})
}

// Waits grow to half a minute, and no further.
func TestRetry_WaitsAreBounded(t *testing.T) {
	s := &steady{retries: 100}
	for n := range 100 {
		full := 30 * time.Second
		if n < 6 {
			full = 500 * time.Millisecond << n
		}
		if w, ok := s.wait(fails(provider.ErrNetwork), n); !ok || w < full/2 || w > full {
			t.Errorf("after %d: %v, %v", n, w, ok)
		}
	}
}

// PRV-5: who cancels doesn't wait for the next attempt.
func TestRetry_CancellingEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(cause) })
		start := time.Now()
		_, err := providertest.Hear(ctx, &steady{Model: &script{attempts: [][]any{{after(50 * time.Second)}}}, retries: 5}, provider.Request{})
		if !errors.Is(err, cause) || time.Since(start) != time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

// PRV-9
func TestUsage_IsEstimatedWhereThereIsNone(t *testing.T) {
	r := provider.Request{System: strings.Repeat("s", 400), Messages: []provider.Message{{Role: provider.User, Text: strings.Repeat("é", 784)}}}
	h, err := providertest.Hear(t.Context(), &steady{Model: &script{attempts: [][]any{{think, text, aCall, end}}}}, r)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&provider.Usage{Input: 300, Output: 3, Estimated: true}, h.Usage); diff != "" {
		t.Error(diff)
	}
	h, err = providertest.Hear(t.Context(), &steady{Model: &script{attempts: [][]any{{text, used, end}}}}, r)
	if diff := cmp.Diff(used.Usage, h.Usage); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

// PRV-13: what only another model understands stays out, of a copy.
func TestConvert_ForeignPartsStayOut(t *testing.T) {
	opaque := func(p, m string) provider.Message {
		return provider.Message{Role: provider.Assistant, Text: p + m, Opaque: &provider.Opaque{Provider: p, Model: m}}
	}
	in := []provider.Message{{Role: provider.User, Text: "q"}, opaque("p", "m"), opaque("p", "other"), opaque("other", "m")}
	s := &script{attempts: [][]any{{end}}}
	if _, err := providertest.Hear(t.Context(), &steady{Model: s}, provider.Request{Messages: in}); err != nil {
		t.Fatal(err)
	}
	var kept []string
	for _, m := range s.seen[0].Messages {
		kept = append(kept, fmt.Sprint(m.Text, " ", m.Opaque != nil))
	}
	if diff := cmp.Diff([]string{"q false", "pm true", "pother false", "otherm false"}, kept); diff != "" {
		t.Error(diff)
	}
	if i := slices.IndexFunc(in[1:], func(m provider.Message) bool { return m.Opaque == nil }); i >= 0 {
		t.Error("the caller's history was changed")
	}
}

// PRV-3: a wait that nobody is going to sit out is told as a person would say it, with its day.
func TestRetry_ALongWaitIsToldInWords(t *testing.T) {
	now := time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)
	for d, want := range map[time.Duration]string{
		61 * time.Second:          "the API asks to wait 61 seconds, until 09:01:01 UTC",
		90 * time.Minute:          "the API asks to wait about 90 minutes, until 10:30:00 UTC",
		16 * time.Hour:            "the API asks to wait about 16 hours, until 2 December 2026, 01:00 UTC",
		5_000_000 * time.Second:   "the API asks to wait about 58 days, until 28 January 2027, 05:53 UTC",
		73 * 365 * 24 * time.Hour: "the API asks to wait about 73 years, until 13 November 2099, 09:00 UTC",
	} {
		if got := asked(d, now); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}
