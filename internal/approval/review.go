package approval

import (
	"context"
	"slices"
	"strings"

	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/internal/approval/analysis"
	"github.com/hermes-runtime/hermes/internal/approval/rules"
)

// Verdict is what a reviewer says of a request.
type Verdict string

// The verdicts. Whatever isn't one of the other two is Escalate.
const (
	Escalate       Verdict = "escalate" // a person shall decide
	ReviewApproved Verdict = "approve"  // this once
	ReviewDenied   Verdict = "deny"     // a person may overrule it
)

// ReviewRequest is what a reviewer gets to judge by.
type ReviewRequest struct {
	Request  *Request
	Question channel.Question  // what a person would be shown
	Findings []rules.Finding   // those that nothing covers yet
	Reading  *analysis.Reading // nil for acts that are no commands
	// Preview waits for what would be lost, a fraction of a second; "" = nothing is known.
	Preview func(ctx context.Context) string
}

// Reviewer judges in a person's place: a model, or a program of the user's. It bounds its own time and returns Escalate when it fails.
// Its consent counts once and is stored nowhere.
type Reviewer interface {
	Review(ctx context.Context, r ReviewRequest) (v Verdict, reason string)
}

// maxReviewed is the longest text that a reviewing model is shown, in bytes: in more it may overlook what matters.
const maxReviewed = 16 << 10

// reviewed lets the user's own program and then, in a smart session, the reviewing model judge. objection is why one said no.
func (c *check) reviewed(ctx context.Context, open []rules.Finding, smart bool) (done bool, objection string) {
	if slices.ContainsFunc(open, func(f rules.Finding) bool { return alwaysAsked(f.Row) || f.Floor }) {
		return false, ""
	}
	for _, by := range []struct {
		reviewer Reviewer
		how      How
		may      bool
	}{{c.gate.config.Approver, ByProgram, true}, {c.gate.config.Reviewer, ByModel, smart && c.reviewable(open)}} {
		if by.reviewer == nil || !by.may {
			continue
		}
		v, reason := c.review(ctx, by.reviewer, open)
		c.decision.How = by.how
		switch v {
		case ReviewApproved:
			c.decision.Scope, c.decision.Who = channel.Once, string(by.how)
			c.end(Approved, by.how)
			return true, ""
		case ReviewDenied:
			if reason == "" {
				reason = "no reason given"
			}
			return false, reason
		}
	}
	return false, ""
}

// review keeps a reviewer's panic away from the request.
func (c *check) review(ctx context.Context, r Reviewer, open []rules.Finding) (v Verdict, reason string) {
	defer func() {
		if p := recover(); p != nil {
			c.gate.config.Log.Error("a reviewer panicked", "request", c.req.ID, "panic", p)
			v, reason = Escalate, ""
		}
	}()
	return r.Review(ctx, ReviewRequest{Request: c.req, Question: c.question(open, 0), Findings: open, Reading: c.reading, Preview: c.preview})
}

// preview waits for what would be lost. The previewer bounds its time.
func (c *check) preview(ctx context.Context) string {
	if c.gate.config.Preview == nil {
		return ""
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines := c.gate.config.Preview(ctx, c.req, c.all)
	if lines == nil {
		return ""
	}
	select {
	case s := <-lines:
		return s
	case <-ctx.Done():
		return ""
	}
}

// reviewable tells whether a model may approve: every act is one that it may, nothing is hidden from it, and it can read it all.
func (c *check) reviewable(open []rules.Finding) bool {
	if len(c.req.Command) > maxReviewed {
		return false
	}
	return !slices.ContainsFunc(open, func(f rules.Finding) bool {
		return !f.Row.Smart || f.Row.Note != "" || strings.HasSuffix(f.Row.ID, ".opaque")
	}) && !slices.ContainsFunc(c.all, func(f rules.Finding) bool { return f.Row.Note != "" || strings.HasSuffix(f.Row.ID, ".opaque") })
}
