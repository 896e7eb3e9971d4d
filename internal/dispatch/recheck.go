package dispatch

import (
	"context"
	"errors"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/approval"
	"github.com/hermes-runtime/hermes/tool"
)

// judged is an act that may be done, and the decision that it rests on.
type judged struct {
	action   tool.Action
	decision approval.Decision
}

// rechecker is an Approver that can tell whether a decision still holds.
type rechecker interface {
	// Still tells whether what was decided about is what would run now.
	Still(r approval.Request, d *approval.Decision) bool
	// Wider tells whether more of the host is reached now than then.
	Wider(r approval.Request, d *approval.Decision) bool
}

// maxRechecks bounds how often a question is put again because what it is about changed while it was answered.
const maxRechecks = 3

// recheck has those acts judged again that changed while a person thought about them, right before they are done.
func (f *flight) recheck(ctx context.Context) {
	g, ok := f.door.approver.(rechecker)
	if !ok {
		return
	}
	for range maxRechecks {
		changed := false
		for i := range f.judged {
			j := &f.judged[i]
			if !j.decision.Asked || g.Still(f.act(j.action), &j.decision) {
				continue
			}
			v := f.judge(ctx, j.action)
			if f.decide(v); f.done {
				return
			}
			j.decision, changed = v.Decision, true
		}
		if !changed {
			return
		}
	}
	f.refuse(tool.StatusBlocked, tool.ErrTypeGuardrailBlock, "what this call is about changed again and again while it was being approved: "+
		"look at it as it is now, and send the call again", nil)
}

// reviewPlace has acts judged again when the place, now that it is open, turns out to reach more of the host than its configuration
// said. A refusal is the reason why the call has no place.
func (f *flight) reviewPlace(ctx context.Context) error {
	g, ok := f.door.approver.(rechecker)
	if !ok || len(f.judged) == 0 {
		return nil
	}
	f.exposed.Do(func() {
		for i := range f.judged {
			j := &f.judged[i]
			if !g.Wider(f.act(j.action), &j.decision) {
				continue
			}
			v := f.judge(ctx, j.action)
			f.recordVerdict(v)
			if v.Refused {
				f.unplaced = &environment.Error{Kind: environment.ErrUnavailable, Op: "use the environment, which reaches more of the host than its configuration said",
					Err: errors.New(v.Approval.Text)}
				return
			}
		}
	})
	return f.unplaced
}
