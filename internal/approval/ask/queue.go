package ask

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/channel"
)

const (
	// DefaultTimeout is how long people have for an answer.
	DefaultTimeout = 300 * time.Second
	// MaxTimeout bounds what may be configured.
	MaxTimeout = 24 * time.Hour
	// maxPending bounds the requests that wait at once: more are a loop, not questions.
	maxPending = 1000
	// maxEnded is how many ended requests are kept for late and repeated answers; older ones are found in the journal.
	maxEnded = 1000
	// previewWait is how long a request is held back for its preview.
	previewWait = 300 * time.Millisecond
	// farewell is how long channels have to show that a queue was closed.
	farewell = time.Second
)

// Config builds a Queue. The zero value keeps no journal and lets every caller of Answer answer.
type Config struct {
	Dir       string        // where the journal lies; "" = none, requests end with the process
	Timeout   time.Duration // for an answer; default DefaultTimeout, at most MaxTimeout
	Approvers Approvers     // nil: whoever the caller lets reach Answer
	Refused   func(Refusal) // told of each answer that Approvers turned down, for the audit
	Redact    func(string) string
	Log       *slog.Logger
}

// Queue keeps requests open until each is answered by its id. Many may wait, of one session and of many; each ends once, by the
// first that ends it. It is a channel.Crowd, and safe for use by many goroutines.
type Queue struct {
	config  Config
	journal *journal // nil = none

	mu       sync.Mutex
	closed   bool
	reserved map[string]struct{} // ids that are being written down
	open     map[string]*entry
	ended    map[string]Request
	order    []string // of ended, oldest first
	attached map[*attachment]struct{}
	orphans  []Request
	work     sync.WaitGroup
}

// entry is an open request.
type entry struct {
	request   Request
	cause     error
	trying    int  // deliveries that run
	delivered bool // somebody has it
	failures  []error
	done      chan struct{} // closed when it has ended
}

// Open makes a queue. With a journal, requests that a dead process left open become expired: see Orphans. Close must be called.
func Open(ctx context.Context, c Config) (*Queue, error) {
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	c.Timeout = min(c.Timeout, MaxTimeout)
	if c.Log == nil {
		c.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	if c.Redact == nil {
		c.Redact = func(s string) string { return s }
	}
	q := &Queue{config: c, reserved: map[string]struct{}{}, open: map[string]*entry{}, ended: map[string]Request{}, attached: map[*attachment]struct{}{}}
	if c.Dir == "" {
		return q, nil
	}
	j, orphans, err := openJournal(ctx, c.Dir, c.Redact)
	if err != nil {
		return nil, fmt.Errorf("open the journal of approval requests in %s: %w", c.Dir, err)
	}
	q.journal, q.orphans = j, orphans
	return q, nil
}

// Orphans lists the requests that were expired when the queue was opened, because the process that asked is gone. Each channel that
// is attached and has a receipt for one is told as well.
func (q *Queue) Orphans() []Request { return slices.Clone(q.orphans) }

// Patience implements channel.Crowd.
func (q *Queue) Patience() time.Duration { return q.config.Timeout }

// Ask implements channel.Asker, for sessions that belong to nobody in particular.
func (q *Queue) Ask(ctx context.Context, question channel.Question) (channel.Answer, error) {
	return q.ask(ctx, nil, question)
}

// For returns an asker for the questions of a session that belongs to people, as Person.String writes them.
func (q *Queue) For(owners ...string) channel.Crowd { return &seat{q, owners} }

type seat struct {
	*Queue
	owners []string
}

func (s *seat) Ask(ctx context.Context, question channel.Question) (channel.Answer, error) {
	return s.ask(ctx, s.owners, question)
}

// ask opens a request and waits until it has ended.
func (q *Queue) ask(ctx context.Context, owners []string, question channel.Question) (channel.Answer, error) {
	if question.Kind == channel.KindSecret || question.Confirm != "" {
		return channel.Answer{}, fmt.Errorf("%w: this is only asked of a person at a terminal", ErrUndeliverable)
	}
	r := Request{Question: question, Owners: owners, Status: Pending, Receipts: map[string]string{}}
	if r.ID == "" {
		r.ID = newID()
	}
	now := time.Now()
	if r.Created.IsZero() {
		r.Created = now
	}
	if limit := now.Add(q.longest(question.Kind)); r.Expires.IsZero() || r.Expires.After(limit) {
		r.Expires = limit
	}
	r.Preview = preview(ctx, question.Preview)
	r.Question.Preview = nil
	e, err := q.enter(ctx, r)
	if err != nil {
		return channel.Answer{}, err
	}
	timer := time.NewTimer(time.Until(r.Expires))
	defer timer.Stop()
	select {
	case <-e.done:
	case <-timer.C:
		q.end(e, ending{status: Expired, cause: channel.ErrTimeout})
	case <-ctx.Done():
		status := Cancelled
		if errors.Is(context.Cause(ctx), channel.ErrTimeout) {
			status = Expired
		}
		q.end(e, ending{status: status, cause: context.Cause(ctx)})
	}
	<-e.done // whoever ended it closes it at once
	q.mu.Lock()
	defer q.mu.Unlock()
	if e.cause != nil {
		return channel.Answer{}, e.cause
	}
	return channel.Answer{Choice: e.request.Choice, Keys: e.request.Keys, Text: e.request.Answer, Who: e.request.Who}, nil
}

// longest is how long a question may wait at most. A free one comes with its own time.
func (q *Queue) longest(kind channel.Kind) time.Duration {
	if kind == channel.KindClarify {
		return MaxTimeout
	}
	return q.config.Timeout
}

// preview waits a moment for what would be lost.
func preview(ctx context.Context, text <-chan string) string {
	if text == nil {
		return ""
	}
	timer := time.NewTimer(previewWait)
	defer timer.Stop()
	select {
	case s := <-text:
		return s
	case <-timer.C:
	case <-ctx.Done():
	}
	return ""
}

// enter writes a request down, and only then shows it to whoever is attached.
func (q *Queue) enter(ctx context.Context, r Request) (*entry, error) {
	if err := q.reserve(r.ID); err != nil {
		return nil, err
	}
	err := q.journal.asked(ctx, r)
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.reserved, r.ID)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: write it to the journal: %w", ErrUndeliverable, err)
	case q.closed: // what was written down is expired by the next process
		return nil, fmt.Errorf("%w: %w", ErrUndeliverable, ErrClosed)
	}
	e := &entry{request: r, done: make(chan struct{})}
	q.open[r.ID] = e
	for a := range q.attached {
		q.serve(a, e)
	}
	if e.trying == 0 {
		e.trying = 1
		q.work.Go(func() { q.tried(e, errNobody) })
	}
	return e, nil
}

// reserve takes an id.
func (q *Queue) reserve(id string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return fmt.Errorf("%w: %w", ErrUndeliverable, ErrClosed)
	case len(q.open)+len(q.reserved) >= maxPending:
		return fmt.Errorf("%w: %d requests wait already", ErrUndeliverable, maxPending)
	case q.known(id):
		return fmt.Errorf("%w: the id %s was used before", ErrUndeliverable, id)
	}
	q.reserved[id] = struct{}{}
	return nil
}

// known tells whether an id is in use. The caller holds mu.
func (q *Queue) known(id string) bool {
	_, open := q.open[id]
	_, ended := q.ended[id]
	_, reserved := q.reserved[id]
	return open || ended || reserved
}

// ending is what a request is to become.
type ending struct {
	status Status
	reply  Reply
	cause  error // nil: the reply decided
}

// end brings a request to its final state, unless something else has. It reports whether it did.
func (q *Queue) end(e *entry, to ending) bool {
	q.mu.Lock()
	if e.request.Status != Pending {
		q.mu.Unlock()
		return false
	}
	e.request.Status, e.request.Choice, e.request.Ended = to.status, to.reply.Choice, time.Now()
	e.request.Keys, e.request.Answer, e.cause = slices.Clone(to.reply.Keys), to.reply.Text, to.cause
	if to.cause == nil {
		e.request.Who = to.reply.By.String()
	}
	final := e.copy()
	delete(q.open, final.ID)
	q.keep(final)
	q.mu.Unlock()
	if err := q.journal.ended(final); err != nil { // a restart would call it expired, which runs nothing either
		q.config.Log.Warn("the end of an approval request was not written down", "request", final.ID, "error", err)
	}
	close(e.done)
	return true
}

// copy returns the request by itself. The caller holds mu.
func (e *entry) copy() Request {
	r := e.request
	r.Receipts = maps.Clone(r.Receipts)
	return r
}

// keep remembers how a request ended. The caller holds mu.
func (q *Queue) keep(r Request) {
	r.Command, r.Text, r.Options, r.Findings = "", "", nil, nil // who asks again needs the outcome only
	q.ended[r.ID] = r
	q.order = append(q.order, r.ID)
	if len(q.order) > maxEnded {
		delete(q.ended, q.order[0])
		q.order = q.order[1:]
	}
}

// Pending lists the open requests of a session, or of all with "", oldest first.
func (q *Queue) Pending(session string) []Request {
	q.mu.Lock()
	defer q.mu.Unlock()
	var out []Request
	for _, e := range q.open {
		if session == "" || e.request.Session == session {
			out = append(out, e.copy())
		}
	}
	slices.SortFunc(out, func(a, b Request) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// Close cancels what is open, gives the channels a moment to show it, lets go of them, and waits for them until ctx ends.
func (q *Queue) Close(ctx context.Context) error {
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return nil
	}
	q.closed = true
	open := slices.Collect(maps.Values(q.open))
	q.mu.Unlock()
	for _, e := range open {
		q.end(e, ending{status: Cancelled, cause: fmt.Errorf("%w: %w", context.Canceled, ErrClosed)})
	}
	ended := make(chan struct{})
	go func() { q.work.Wait(); close(ended) }()
	timer := time.NewTimer(farewell)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
	case <-ctx.Done():
	}
	q.mu.Lock()
	for a := range q.attached {
		a.leave()
	}
	clear(q.attached)
	q.mu.Unlock()
	err := error(nil)
	select {
	case <-ended:
	case <-ctx.Done():
		err = fmt.Errorf("close the approval requests: %w", context.Cause(ctx))
	}
	return errors.Join(err, q.journal.close())
}

func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
