package model

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/hermes-runtime/hermes/provider"
)

const (
	firstWait = 500 * time.Millisecond // before the second attempt; it doubles
	mostWait  = 30 * time.Second
	mostAsked = 60 * time.Second // the longest Retry-After that is waited for
)

// steady is a model that makes a request again when it failed for a reason that passes, as long as nothing of it was handed on but
// reasoning, which is only shown. With text handed on the error is the caller's: what came is kept there and can be continued, whereas a
// second reply would say it once more in other words. A request whose calls were handed on is therefore never repeated.
//
// Histories that other models began are fitted to this one, and tokens are estimated where the API doesn't count them.
type steady struct {
	provider.Model
	retries int
}

func (s *steady) Stream(ctx context.Context, r provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		r.Messages = Convert(r.Messages, s.Info())
		for n := 0; ; n++ {
			a := attempt{request: &r}
			err := a.run(s.Model.Stream(ctx, r), yield)
			if err == nil {
				return
			}
			wait, again := s.wait(err, n)
			if a.handedOn || !again || ctx.Err() != nil {
				yield(provider.Event{}, patient(err))
				return
			}
			if !yield(provider.Event{Kind: provider.KindNotice, Text: fmt.Sprintf("%v; attempt %d of %d in %v", err, n+2, s.retries+1, wait.Round(100*time.Millisecond))}, nil) {
				return
			}
			if err := pause(ctx, wait); err != nil {
				yield(provider.Event{}, err)
				return
			}
		}
	}
}

// wait says how long to wait before another attempt after n more than the first, and whether one is worth it.
func (s *steady) wait(err error, n int) (time.Duration, bool) {
	var e *provider.Error
	if n >= s.retries || !errors.As(err, &e) || !e.Passing() || e.RetryAfter > mostAsked {
		return 0, false
	}
	if e.RetryAfter > 0 {
		return e.RetryAfter, true
	}
	full := min(firstWait<<min(n, 10), mostWait)
	return full/2 + rand.N(full/2+1), true
}

// patient says how long an API wants to be left alone, if that is longer than is waited for.
func patient(err error) error {
	var e *provider.Error
	if !errors.As(err, &e) || e.RetryAfter <= mostAsked {
		return err
	}
	out := *e
	out.Hint = asked(e.RetryAfter, time.Now()) + "; nothing was tried again. Another model, or another key, may answer now"
	return &out
}

// asked says a wait as a person would: how long, and until when, with the day where it isn't over today.
func asked(d time.Duration, now time.Time) string {
	until, layout := now.Add(d), "15:04:05 MST"
	if y, m, day := until.Date(); y != now.Year() || m != now.Month() || day != now.Day() {
		layout = "2 January 2006, 15:04 MST"
	}
	return fmt.Sprintf("the API asks to wait %s, until %s", length(d), until.Format(layout))
}

const day = 24 * time.Hour

// lengths are the units in which a wait is told, and from where on each is.
var lengths = []struct {
	from, unit time.Duration
	name       string
}{
	{2 * 365 * day, 365 * day, "years"}, {2 * day, day, "days"}, {2 * time.Hour, time.Hour, "hours"}, {2 * time.Minute, time.Minute, "minutes"},
}

// length rounds a duration to what a person keeps in mind.
func length(d time.Duration) string {
	for _, l := range lengths {
		if d >= l.from {
			return fmt.Sprintf("about %d %s", (d+l.unit/2)/l.unit, l.name)
		}
	}
	return fmt.Sprintf("%d seconds", (d+time.Second/2)/time.Second)
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// attempt hands the events of one attempt on.
type attempt struct {
	request  *provider.Request
	handedOn bool // text or a call was
	counted  bool // the API told usage
	size     int  // of the reply in bytes
}

// run returns what the attempt failed with; nil if the reply is complete or nobody wants more of it.
func (a *attempt) run(events iter.Seq2[provider.Event, error], yield func(provider.Event, error) bool) error {
	for ev, err := range events {
		if err != nil {
			return err
		}
		a.size += len(ev.Text)
		switch ev.Kind {
		case provider.KindText:
			a.handedOn = true
		case provider.KindCall:
			a.handedOn = true
			a.size += len(ev.Call.Name) + len(ev.Call.Arguments)
		case provider.KindUsage:
			a.counted = true
		case provider.KindEnd:
			if !a.counted {
				u := provider.Usage{Input: Estimate(*a.request), Output: tokens(a.size), Estimated: true}
				if !yield(provider.Event{Kind: provider.KindUsage, Usage: &u}, nil) {
					return nil
				}
			}
		}
		if !yield(ev, nil) {
			return nil
		}
	}
	return nil
}
