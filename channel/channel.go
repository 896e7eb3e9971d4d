// Package channel is the contract for ways to reach a person: a terminal, an editor, a chat. It holds plain data only, so that
// whoever asks knows nothing of how the question is shown.
package channel

import (
	"context"
	"errors"
	"time"
)

// Kind says what an answer to a question decides.
type Kind string

// The kinds of question.
const (
	KindApproval Kind = "approval" // may this act be done?
	KindSecret   Kind = "secret"   // type a secret; input is hidden and never stored
	KindClarify  Kind = "clarify"  // answer in words of one's own, or by one of Question.Options
)

// Choice is one answer on offer.
type Choice string

// The choices of an approval. Deny is the default of every surface.
const (
	Once    Choice = "once"
	Session Choice = "session"
	Always  Choice = "always"
	Exact   Choice = "exact" // for this session, this very command only
	Under   Choice = "under" // for this session, whatever lies below Question.Under
	Deny    Choice = "deny"
)

// Finding is one dangerous act, in the words that a person is shown.
type Finding struct {
	ID         string // stable machine name of the rule
	Key        string // what an approval is remembered by
	Span       [2]int // byte offsets of the act in Question.Command
	Text       string // the act itself, as it will run
	Reason     string // why it is asked, in plain words
	Origin     string // the programs that carry it, outermost first; "" = it stands in the command itself
	Payload    string // the text that it stands in, decoded, when that isn't the command
	Targets    []string
	Floor      bool // nobody may approve it
	Unstorable bool // may be approved once, never remembered
}

// Question is one thing that only a person can decide. Text in it may come from a model: a surface makes control characters visible.
type Question struct {
	ID          string
	Kind        Kind
	Session     string
	Task        string
	Call        string
	Turn        string // of the conversation; "" = none
	Surface     string // where the session's person sits
	Tool        string
	Title       string   // one line, ours
	Text        string   // KindClarify: what is asked
	Options     []string // KindClarify: answers on offer; any other is as good
	Command     string   // what would run, whole
	Dir         string
	Environment string
	Elevated    bool
	Findings    []Finding
	Choices     []Choice // on offer, in order
	Under       string   // the directory that the choice Under stands for
	Confirm     string   // what must be typed, letter by letter, for Once to count; "" = nothing. Only a Confirmer is asked this
	Notes       []string // why a choice is missing, what will be stored
	Objection   string   // why a reviewer said no; consent overrules it
	Waiting     int      // further questions behind this one
	// Preview brings what would be lost, one value of a few lines, and is closed; nil = nothing comes. It takes a fraction of a second:
	// a surface shows the question at once and the preview when it is there. It has one reader.
	Preview <-chan string `json:"-"`
	Created time.Time
	Expires time.Time // zero = never
}

// Answer is what the person said.
type Answer struct {
	Choice Choice
	Keys   []string // the keys that Session and Always are for; empty = all that are shown
	Typed  string   // what was typed for Question.Confirm
	Secret string   // KindSecret only
	Text   string   // KindClarify only; "" = the person won't answer
	Who    string   // person and surface, for the audit
}

// Errors of an Asker. Any other error means that the question did not reach anybody.
var (
	ErrTimeout     = errors.New("nobody answered in time")
	ErrInterrupted = errors.New("the question was interrupted")
)

// Asker puts a question to a person and waits for the answer. It returns when ctx ends, at the latest. It is called from one
// goroutine at a time, unless it is a Crowd.
type Asker interface {
	Ask(ctx context.Context, q Question) (Answer, error)
}

// Crowd is what an Asker implements that keeps many questions open at once, each answered by its id: a chat, a console.
type Crowd interface {
	Asker
	// Patience is how long people there have for an answer; 0 = as long as the question says.
	Patience() time.Duration
}

// Confirmer is an Asker at whose other end a person sits at an interactive terminal, so that a word can be asked of them that no
// program types by itself. Whoever can't be sure of that doesn't implement it.
type Confirmer interface {
	Asker
	// Confirms tells whether such a person is there now.
	Confirms() bool
}

// AskerFunc lets a function be an Asker.
type AskerFunc func(ctx context.Context, q Question) (Answer, error)

// Ask calls f.
func (f AskerFunc) Ask(ctx context.Context, q Question) (Answer, error) { return f(ctx, q) }

// Notifier tells a person something that needs no answer.
type Notifier interface {
	Notify(ctx context.Context, text string) error
}
