package ask

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// deliveryTime bounds one attempt of a channel to show a request, or to show that it has ended.
const deliveryTime = 10 * time.Second

// Channel shows requests to people somewhere. Its methods are called from many goroutines.
type Channel interface {
	// Deliver shows a request. It returns nil only when people there can see it, with what the channel needs to find its message
	// again after a restart, if anything. It is called for requests that were open before the channel was attached, too.
	Deliver(ctx context.Context, r Request) (receipt string, err error)
	// Settled says that a request that was delivered has ended, so that nobody answers in vain.
	Settled(ctx context.Context, r Request)
}

// attachment is a channel that takes part.
type attachment struct {
	name    string
	channel Channel
	ctx     context.Context // ends when the channel leaves
	leave   context.CancelFunc
}

// Attach lets a channel take part under its name, and shows it what is open. What only it has delivered stays open when it leaves: it
// may come back. The name is what Request.Receipts has its receipts under.
func (q *Queue) Attach(name string, c Channel) (detach func()) {
	ctx, leave := context.WithCancel(context.Background())
	a := &attachment{name: name, channel: c, ctx: ctx, leave: leave}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		leave()
		return leave
	}
	q.attached[a] = struct{}{}
	for _, e := range q.open {
		q.serve(a, e)
	}
	for _, r := range q.orphans {
		if r.Receipts[name] != "" {
			q.work.Go(func() { a.settled(r) })
		}
	}
	return func() {
		q.mu.Lock()
		delete(q.attached, a)
		q.mu.Unlock()
		leave()
	}
}

// serve shows a request to a channel, and its end when it comes. The caller holds mu; q.work owns the goroutine.
func (q *Queue) serve(a *attachment, e *entry) {
	e.trying++
	r := e.copy()
	q.work.Go(func() {
		receipt, err := a.deliver(r)
		if err == nil && receipt != "" {
			q.mu.Lock()
			e.request.Receipts[a.name] = receipt
			q.mu.Unlock()
			if err := q.journal.delivered(r.ID, a.name, receipt); err != nil {
				q.config.Log.Warn("the delivery of an approval request was not written down", "request", r.ID, "channel", a.name, "error", err)
			}
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", a.name, err)
			q.config.Log.Warn("an approval request was not delivered", "request", r.ID, "channel", a.name, "error", err)
		}
		q.tried(e, err)
		if err != nil {
			return
		}
		select {
		case <-e.done:
			q.mu.Lock()
			final := e.copy()
			q.mu.Unlock()
			a.settled(final)
		case <-a.ctx.Done():
		}
	})
}

// errNobody is why a request that no channel was there for is undeliverable.
var errNobody = errors.New("no channel is attached")

// tried counts one attempt to deliver, whose error is nil if a channel has the request. When the last one is over and nobody has it, it
// ends at once.
func (q *Queue) tried(e *entry, err error) {
	q.mu.Lock()
	e.trying--
	if err == nil {
		e.delivered = true
	} else {
		e.failures = append(e.failures, err)
	}
	lost := e.trying == 0 && !e.delivered
	why := errors.Join(e.failures...)
	q.mu.Unlock()
	if lost {
		q.end(e, ending{status: Undeliverable, cause: fmt.Errorf("%w: %w", ErrUndeliverable, why)})
	}
}

// deliver runs the channel's method for a bounded time.
func (a *attachment) deliver(r Request) (receipt string, err error) {
	ctx, cancel := context.WithTimeout(a.ctx, deliveryTime)
	defer cancel()
	type result struct {
		receipt string
		err     error
	}
	results := make(chan result, 1)
	go func() { // a channel that ignores its context is left behind
		var out result
		defer func() {
			if v := recover(); v != nil {
				out.err = fmt.Errorf("it panicked: %v", v)
			}
			results <- out
		}()
		out.receipt, out.err = a.channel.Deliver(ctx, r)
	}()
	select {
	case out := <-results:
		return out.receipt, out.err
	case <-ctx.Done():
		return "", fmt.Errorf("it did not confirm: %w", context.Cause(ctx))
	}
}

// settled tells a channel of an end for a bounded time; there is nobody to tell of a failure.
func (a *attachment) settled(r Request) {
	ctx, cancel := context.WithTimeout(a.ctx, deliveryTime)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }() // a card that stays as it was does no harm: its answer is late
		a.channel.Settled(ctx, r)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// Deliver lets a function be a Channel of code in this process: a request is delivered when it returns nil, and it isn't told of ends.
type Deliver func(ctx context.Context, r Request) error

// Deliver implements Channel.
func (d Deliver) Deliver(ctx context.Context, r Request) (string, error) { return "", d(ctx, r) }

// Settled implements Channel.
func (Deliver) Settled(context.Context, Request) {}

// Subscribe attaches code in this process that reads from a Go channel: each open request as it comes, and again when it has ended.
// A request counts as delivered when it was received. Whoever stops reading calls detach; the channel is never closed.
func (q *Queue) Subscribe(name string) (requests <-chan Request, detach func()) {
	s := subscriber(make(chan Request))
	return s, q.Attach(name, s)
}

type subscriber chan Request

func (s subscriber) Deliver(ctx context.Context, r Request) (string, error) {
	select {
	case s <- r:
		return "", nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

func (s subscriber) Settled(ctx context.Context, r Request) {
	select {
	case s <- r:
	case <-ctx.Done():
	}
}
