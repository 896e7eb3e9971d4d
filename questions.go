package hermes

import (
	"context"

	"github.com/hermes-runtime/hermes/internal/approval/ask"
)

// A QuestionQueue is an Asker for programs that answer questions, of consent and free ones, elsewhere than where they are asked: in a web page, a chat,
// another goroutine. It keeps many questions open at once. Each is answered by its id, from any goroutine, and ends once: answered,
// after its time, with its session, or at once when nobody could be shown it. Give it to Options.Asker, or q.For(owners…) to a session.
//
//	q.Attach(name, channel)          shows questions by a QuestionChannel; Subscribe gives a Go channel of them
//	q.Pending(session)               lists what is open; "" = of all sessions
//	q.Answer(ctx, id, QuestionReply) decides one, a free question by its Text; the errors below say why an answer did not count
//	q.Close(ctx)                     cancels what is open
type (
	QuestionQueue   = ask.Queue
	QuestionOptions = ask.Config    // the zero value keeps no journal and lets every caller of Answer answer
	Question        = ask.Request   // a question as people are shown it, and how it ended
	QuestionReply   = ask.Reply     // a choice, or words for a free question, and who gave them
	QuestionOutcome = ask.Outcome   // how a question ended
	QuestionChannel = ask.Channel   // shows questions, and that they have ended
	QuestionDeliver = ask.Deliver   // a function as a QuestionChannel
	Person          = ask.Person    // who answers, as a channel has verified it
	Approvers       = ask.Approvers // says who may answer what
	ListedApprovers = ask.Listed    // the usual rule: owners, and approvers by a list
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
