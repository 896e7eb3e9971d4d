package ask

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hermes-runtime/hermes/channel"
)

// Status is where a request stands. It leaves Pending once and never changes again.
type Status string

// The states of a request.
const (
	Pending       Status = "pending"
	Approved      Status = "approved"
	Denied        Status = "denied"
	Answered      Status = "answered"      // in words: a free question
	Expired       Status = "expired"       // nobody answered in time, or the process that asked is gone
	Cancelled     Status = "cancelled"     // who asked no longer wants to know
	Undeliverable Status = "undeliverable" // it reached nobody
)

// Request is one question that waits for people, or has waited. It is a copy: changing it changes nothing.
type Request struct {
	channel.Question
	Owners  []string // who the session belongs to, as Person.String writes them
	Preview string   // what would be lost, if it was known in time
	Status  Status
	Choice  channel.Choice // what decided it: Approved and Denied only
	Answer  string         // to a free question: Answered only
	Keys    []string       // of Session and Always: the keys it was for; empty = all
	Who     string         // who did
	Ended   time.Time
	// Receipts is what channels gave back for the request when it was delivered, by channel: enough for each to find its message again.
	Receipts map[string]string
}

// Person is who answers: an identity that a channel has verified.
type Person struct {
	Channel string
	ID      string
}

// String writes a person as lists of owners and approvers name them.
func (p Person) String() string {
	if p.Channel == "" {
		return p.ID
	}
	return p.Channel + ":" + p.ID
}

// Reply is what a person answers to the request of one id.
type Reply struct {
	Choice channel.Choice // Deny for a free question: it won't be answered
	Text   string         // the answer to a free question
	Keys   []string       // the keys that Session and Always are for; empty = all that were shown
	By     Person
}

// Outcome is how a request ended.
type Outcome struct {
	ID     string
	Status Status
	Choice channel.Choice
	Answer string
	Who    string
	Ended  time.Time
}

// Errors of Queue.Answer. With ErrSettled the outcome is the final one all the same.
var (
	ErrUnknown    = errors.New("there is no such request")
	ErrSettled    = errors.New("the request has ended otherwise")
	ErrNotOffered = errors.New("that answer is not on offer")
	ErrForbidden  = errors.New("this person may not answer that")
	ErrElsewhere  = errors.New("the request waits in another process")
)

// ErrClosed is the cause of requests that were cancelled because their queue was closed.
var ErrClosed = errors.New("no more questions are asked here")

// Approvers says who may answer what. May returns an error in words for the person, nil = yes.
type Approvers interface {
	May(r Request, by Person, choice channel.Choice) error
}

// Listed is the usual rule: the session's owners and the approvers may answer. With a list, only who stands in it may approve for
// ever, or against a reviewer's objection; without one every allowed person is an approver.
type Listed struct {
	Approvers []string          // as Person.String writes them
	Allowed   func(Person) bool // who is known here at all; membership of a group is not enough. nil = nobody
}

// May implements Approvers.
func (l Listed) May(r Request, by Person, choice channel.Choice) error {
	listed := slices.Contains(l.Approvers, by.String())
	approver := listed || len(l.Approvers) == 0 && l.Allowed != nil && l.Allowed(by)
	switch {
	case by.ID == "":
		return fmt.Errorf("%w: nobody knows who it is", ErrForbidden)
	case !approver && !slices.Contains(r.Owners, by.String()):
		return fmt.Errorf("%w: only the session's owner and approvers may", ErrForbidden)
	case choice == channel.Deny || listed || len(l.Approvers) == 0:
		return nil
	case choice == channel.Always:
		return fmt.Errorf("%w: only listed approvers may approve for ever", ErrForbidden)
	case r.Objection != "":
		return fmt.Errorf("%w: only listed approvers may overrule a reviewer", ErrForbidden)
	}
	return nil
}

// Refusal is an answer that counted for nothing because of who gave it.
type Refusal struct {
	Time      time.Time
	RequestID string
	Session   string
	By        Person
	Choice    channel.Choice
	Reason    string
}
