package approval

import (
	"fmt"
	"strings"

	"github.com/hermes-runtime/hermes/internal/approval/rules"
)

// lacks says, by outcome, why there is no consent, and what can be done.
var lacks = map[Outcome]struct{ why, do string }{
	Denied: {"The user was asked and said no.",
		"Go on without it, or ask the user what they want instead."},
	TimedOut: {"The user was asked and did not answer in time, which counts as no.",
		"Go on without it, or ask again later when the user is there."},
	Cancelled: {"The session was interrupted before anyone answered.",
		"Wait for the user's next message."},
	Unattended: {"It needs a person's consent, and in this session nobody can be asked.",
		"Go on without it and tell the user in your answer what was left undone. They can run it themselves, or allow its key beforehand."},
	Policy: {"A setting of this installation forbids it, or its record could not be written.",
		"Go on without it and tell the user."},
	Floor: {"Nobody can approve this on a machine that is not a sandbox, in any mode.",
		"If it is really wanted, the user has to do it by hand, outside."},
	Undeliverable: {"It needs a person's consent, and the question could not be delivered.",
		"Go on without it and tell the user that the way to ask them failed."},
}

// maxActs is how many findings a refusal spells out; the gravest come first.
const maxActs = 8

// refusal makes the words that the model reads when an act was not done. They are made here and nowhere else.
func refusal(c *check) string {
	findings := c.all
	l, ok := lacks[c.decision.Outcome]
	if !ok {
		l = lacks[Policy]
	}
	if c.decision.Outcome == Denied && !c.decision.Asked {
		l.why = "The reviewer that stands in for the user said no"
		if c.decision.Objection != "" {
			l.why += ": " + strings.TrimRight(clip(c.decision.Objection), ". ")
		}
		l.why += ". In this session no person can be asked to overrule it."
	}
	acts := make([]string, 0, maxActs+1)
	for i, f := range findings {
		if i == maxActs {
			acts = append(acts, fmt.Sprintf("and %d more", len(findings)-i))
			break
		}
		acts = append(acts, fmt.Sprintf("%s (%s)", f.Row.Key, f.Reason))
	}
	what := "an act that was not analysed"
	if len(acts) > 0 {
		what = strings.Join(acts, "; ")
	}
	return fmt.Sprintf("BLOCKED, nothing was run. Found: %s. %s Do not try to reach the same end by another spelling, script or tool. %s",
		what, l.why, l.do)
}

// clip bounds a reviewer's words: they come from a program or a model.
func clip(s string) string {
	const most = 300
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// unstorable says why a finding can't be remembered, for the person.
func unstorable(f rules.Finding) string {
	switch f.Row.Remember {
	case rules.RememberExact:
		return fmt.Sprintf("%q is remembered for this very command only", f.Row.Key)
	case rules.RememberNever:
		return fmt.Sprintf("%q is asked each time", f.Row.Key)
	}
	return ""
}
