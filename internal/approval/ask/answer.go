package ask

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/channel"
)

// Answer decides the request of an id. The same answer again returns the same outcome; any other returns the outcome that holds with
// ErrSettled. It returns ErrForbidden and ErrNotOffered for answers that change nothing, ErrUnknown for an id that was never asked or
// is forgotten, and ErrElsewhere when another living process has to be told.
func (q *Queue) Answer(ctx context.Context, id string, reply Reply) (Outcome, error) {
	q.mu.Lock()
	e := q.open[id]
	var r Request
	var ok bool
	if e != nil {
		r, ok = e.copy(), true
	} else {
		r, ok = q.ended[id]
	}
	q.mu.Unlock()
	if !ok {
		return q.journaled(ctx, id, reply)
	}
	if err := q.permitted(r, reply); err != nil {
		return Outcome{ID: id, Status: r.Status}, err
	}
	if e == nil {
		return settled(r, reply)
	}
	to, ok := answering(r, reply)
	if !ok {
		return Outcome{ID: id, Status: r.Status}, fmt.Errorf("answer %s with %q: %w", id, reply.Choice, ErrNotOffered)
	}
	q.end(e, to)
	q.mu.Lock()
	r = e.copy() // as it has ended: by this answer or by what came before
	q.mu.Unlock()
	return settled(r, reply)
}

// answering is what an answer makes of a request, if it is one that counts: a choice on offer, words for a free question, and for
// each that it is turned down.
func answering(r Request, reply Reply) (ending, bool) {
	free := r.Kind == channel.KindClarify
	switch {
	case reply.Choice == channel.Deny && reply.Text == "":
		return ending{status: Denied, reply: reply}, true
	case free:
		return ending{status: Answered, reply: reply}, reply.Choice == "" && strings.TrimSpace(reply.Text) != ""
	}
	return ending{status: Approved, reply: reply}, reply.Text == "" && slices.Contains(r.Choices, reply.Choice)
}

// settled compares an answer with how the request has ended.
func settled(r Request, reply Reply) (Outcome, error) {
	o := Outcome{ID: r.ID, Status: r.Status, Choice: r.Choice, Answer: r.Answer, Who: r.Who, Ended: r.Ended}
	if r.Choice == "" && r.Answer == "" || r.Choice != reply.Choice || r.Answer != reply.Text || !slices.Equal(r.Keys, reply.Keys) {
		return o, fmt.Errorf("answer %s with %q: %w: %s", r.ID, reply.Choice, ErrSettled, r.Status)
	}
	return o, nil
}

// permitted asks Approvers, and tells of a no.
func (q *Queue) permitted(r Request, reply Reply) error {
	if q.config.Approvers == nil {
		return nil
	}
	err := q.config.Approvers.May(r, reply.By, reply.Choice)
	if err == nil {
		return nil
	}
	if q.config.Refused != nil {
		q.config.Refused(Refusal{Time: time.Now(), RequestID: r.ID, Session: r.Session, By: reply.By, Choice: reply.Choice, Reason: err.Error()})
	}
	if errors.Is(err, ErrForbidden) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrForbidden, err)
}

// journaled finds a request of an earlier or another process.
func (q *Queue) journaled(ctx context.Context, id string, reply Reply) (Outcome, error) {
	r, err := q.journal.find(ctx, id)
	switch {
	case err != nil:
		return Outcome{ID: id}, fmt.Errorf("answer %s: %w", id, err)
	case r.Status == Pending:
		return Outcome{ID: id, Status: Pending}, fmt.Errorf("answer %s: %w", id, ErrElsewhere)
	}
	return settled(r, reply)
}
