package hermes

import (
	"context"

	"github.com/hermes-runtime/hermes/internal/approval/ask"
)

// A QuestionQueue is an Asker for programs that answer questions, of consent and free ones, elsewhere than where they are asked: in a web
// page, a chat, another goroutine. It keeps many questions open at once. Each is answered by its id, from any goroutine, and ends once: answered,
// after its time, with its session, or at once when nobody could be shown it. Give it to Options.Asker, or q.For(owners…) to a session.
//
//	q.Attach(name, channel)          shows questions by a QuestionChannel; Subscribe gives a Go channel of them
//	q.Pending(session)               lists what is open; "" = of all sessions
//	q.Answer(ctx, id, QuestionReply) decides one, a free question by its Text; the errors below say why an answer did not count
//	q.Close(ctx)                     cancels what is open
type (
	QuestionQueue = ask.Queue
	// QuestionOptions makes a queue: Dir of its journal, Timeout for an answer, Approvers, Refused (told of answers that didn't count),
	// Redact, Log. The zero value keeps no journal and lets every caller of Answer answer.
	QuestionOptions = ask.Config
	// Question is a channel.Question as people are shown it, with Owners and Preview, and how it ended: Status, Choice, Answer, Keys, Who,
	// Ended.
	Question = ask.Request
	// QuestionReply is a Choice, or the Text for a free question, with the Keys that it is for (empty = all), and By whom it is.
	QuestionReply = ask.Reply
	// QuestionOutcome is how a question ended: ID, Status, Choice, Answer, Who, Ended.
	QuestionOutcome = ask.Outcome
	// QuestionChannel shows questions (Deliver), and that they have ended (Settled).
	QuestionChannel = ask.Channel
	// QuestionDeliver is a function as a QuestionChannel: func(ctx, Question) error.
	QuestionDeliver = ask.Deliver
	// Person is who answers, as a channel has verified it: Channel and ID.
	Person = ask.Person
	// Approvers says who may answer what: May(Question, Person, channel.Choice) error.
	Approvers = ask.Approvers
	// ListedApprovers is the usual rule: the session's owners, and who stands in Approvers or, where that is empty, is Allowed.
	ListedApprovers = ask.Listed
)

// Why an answer did not count, for errors.Is.
var (
	ErrQuestionUnknown   = ask.ErrUnknown
	ErrQuestionSettled   = ask.ErrSettled
	ErrAnswerNotOffered  = ask.ErrNotOffered
	ErrAnswerForbidden   = ask.ErrForbidden
	ErrQuestionElsewhere = ask.ErrElsewhere
)

// OpenQuestions makes a queue of approval questions. With a Dir, questions that a process left open which is gone become expired.
func OpenQuestions(ctx context.Context, o QuestionOptions) (*QuestionQueue, error) {
	return ask.Open(ctx, o)
}
