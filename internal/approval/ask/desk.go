// Package ask puts questions to people and bounds every wait: one at a time where one person sits, many at once where each is
// answered by its id.
package ask

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hermes-runtime/hermes/channel"
)

// ErrUndeliverable is matched when a question reached nobody: the surface failed or panicked.
var ErrUndeliverable = errors.New("the question reached nobody")

// grace is how long a surface may take to return after its context ended.
const grace = 2 * time.Second

// Desk lets one question through at a time, and any number to a channel.Crowd. The zero value works.
type Desk struct {
	Asked func(q channel.Question) // told of each question that is put to somebody; nil = nobody is

	once    sync.Once
	turn    chan struct{} // holds a token while a question is open
	waiting atomic.Int32
	open    atomic.Int32 // questions that wait, for their turn or for an answer
}

// Pending is how many questions wait now, for their turn or for an answer.
func (d *Desk) Pending() int { return int(d.open.Load()) }

// Ask waits for its turn, prepares the question and puts it to asker. prepare may find it needless, by what was decided meanwhile;
// then asked is false. It returns channel.ErrTimeout at the question's expiry, the context's cause when
// ctx ends, and an error that matches ErrUndeliverable when asker fails in another way.
func (d *Desk) Ask(ctx context.Context, asker channel.Asker, prepare func(waiting int) (q channel.Question, needed bool)) (a channel.Answer, asked bool, err error) {
	d.open.Add(1)
	defer d.open.Add(-1)
	if crowd, ok := asker.(channel.Crowd); ok {
		return d.together(ctx, crowd, prepare)
	}
	d.once.Do(func() { d.turn = make(chan struct{}, 1) })
	d.waiting.Add(1)
	select {
	case d.turn <- struct{}{}:
		d.waiting.Add(-1)
	case <-ctx.Done():
		d.waiting.Add(-1)
		return a, false, context.Cause(ctx)
	}
	defer func() { <-d.turn }()
	if ctx.Err() != nil {
		return a, false, context.Cause(ctx)
	}
	q, needed := prepare(int(d.waiting.Load()))
	if !needed {
		return a, false, nil
	}
	a, err = d.put(ctx, asker, q)
	return a, true, err
}

// put tells of a question and asks it.
func (d *Desk) put(ctx context.Context, asker channel.Asker, q channel.Question) (channel.Answer, error) {
	if d.Asked != nil {
		d.Asked(q)
	}
	return put(ctx, asker, q)
}

// together asks many at once: nobody waits for a turn.
func (d *Desk) together(ctx context.Context, crowd channel.Crowd, prepare func(int) (channel.Question, bool)) (a channel.Answer, asked bool, err error) {
	if ctx.Err() != nil {
		return a, false, context.Cause(ctx)
	}
	q, needed := prepare(0)
	if !needed {
		return a, false, nil
	}
	q.Expires = expiry(crowd, q)
	a, err = d.put(ctx, crowd, q)
	return a, true, err
}

// ClarifyTime is how long people elsewhere have to answer a free question that doesn't say by when.
const ClarifyTime = 300 * time.Second

// expiry is when a question to a crowd ends. Its patience is for acts that wait; a free question has a time of its own.
func expiry(crowd channel.Crowd, q channel.Question) time.Time {
	patience := crowd.Patience()
	switch {
	case q.Kind == channel.KindClarify && !q.Expires.IsZero():
		return q.Expires
	case q.Kind == channel.KindClarify:
		return time.Now().Add(ClarifyTime)
	case patience > 0:
		return time.Now().Add(patience)
	}
	return q.Expires
}

type reply struct {
	answer channel.Answer
	err    error
}

// put asks and waits: for the answer, for the question's expiry, for ctx. A surface that ignores its context is left behind.
func put(ctx context.Context, asker channel.Asker, q channel.Question) (channel.Answer, error) {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	if !q.Expires.IsZero() {
		inner, cancel = context.WithDeadlineCause(ctx, q.Expires, channel.ErrTimeout)
		defer cancel()
	}
	replies := make(chan reply, 1)
	go func() {
		defer func() {
			if v := recover(); v != nil {
				replies <- reply{err: fmt.Errorf("%w: the surface panicked: %v", ErrUndeliverable, v)}
			}
		}()
		a, err := asker.Ask(inner, q)
		replies <- reply{a, err}
	}()
	select {
	case r := <-replies:
		return settle(ctx, inner, r)
	case <-inner.Done():
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case r := <-replies:
		if r.err == nil { // the answer and the end met: the answer came first for the person
			return r.answer, nil
		}
		return settle(ctx, inner, r)
	case <-timer.C:
		return channel.Answer{}, context.Cause(inner)
	}
}

func settle(ctx, inner context.Context, r reply) (channel.Answer, error) {
	switch {
	case r.err == nil:
		return r.answer, nil
	case errors.Is(r.err, channel.ErrTimeout), errors.Is(r.err, channel.ErrInterrupted), errors.Is(r.err, ErrUndeliverable):
		return channel.Answer{}, r.err
	case ctx.Err() != nil:
		return channel.Answer{}, context.Cause(ctx)
	case inner.Err() != nil:
		return channel.Answer{}, context.Cause(inner)
	}
	return channel.Answer{}, fmt.Errorf("%w: %w", ErrUndeliverable, r.err)
}
