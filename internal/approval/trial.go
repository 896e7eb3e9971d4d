package approval

import (
	"slices"
	"time"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
	"github.com/hermes-runtime/hermes/internal/approval/rules"
)

// The verdicts of a trial.
const (
	TrialAllow = "allow"
	TrialAsk   = "ask"
	TrialDeny  = "deny"
)

// Trial is what would become of a request in a session in which nothing was answered yet.
type Trial struct {
	Verdict   string // TrialAllow, TrialAsk or TrialDeny
	Findings  []rules.Finding
	Reading   *analysis.Reading // nil for acts that are no commands
	AllowedBy []string          // entries of the permanent list that open findings
	How       How               // what an allow rests on where something was found
	Took      time.Duration
}

// Try judges a request as Check does, with the configuration's rows, list and mode, but asks nobody, records nothing and remembers
// nothing.
func (g *Gate) Try(req Request) (t Trial) {
	start := time.Now()
	defer func() { t.Took = time.Since(start) }()
	findings, reading := g.findings(&req)
	t = Trial{Verdict: TrialAllow, Findings: findings, Reading: reading}
	if len(findings) == 0 {
		return t
	}
	c := g.check(&req, findings, reading)
	c.trial = true
	for i := range findings {
		if how, e := g.memory.covers(c, &findings[i]); how != "" && e != nil && !slices.Contains(t.AllowedBy, e.Name) {
			t.AllowedBy = append(t.AllowedBy, e.Name)
		}
	}
	if o, _ := c.forbidden(); o != "" {
		t.Verdict = TrialDeny
		return t
	}
	open, how := c.uncovered()
	if len(open) > 0 && c.unasked() {
		open, how = slices.DeleteFunc(open, func(f rules.Finding) bool { return !alwaysAsked(f.Row) }), ByMode
	}
	if t.How = how; len(open) > 0 {
		t.Verdict, t.How = TrialAsk, ""
	}
	return t
}
