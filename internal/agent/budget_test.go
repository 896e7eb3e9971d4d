package agent

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermes-runtime/hermes/provider"
)

// byTheToken costs a hundredth for each token that is written.
func byTheToken(u provider.Usage) float64 { return float64(u.Output) / 100 }

// BUD-2, BUD-3: whichever budget is used up, no request with tools is made any more: a last one asks for a summary, and the outcome names
// the budget.
func TestTurn_EndsWithAnyBudget(t *testing.T) {
	look := func(then func()) step {
		return step{calls: []provider.Call{call("a", "look", `{}`)}, usage: &provider.Usage{Input: 40, Output: 10}, then: then}
	}
	for name, tc := range map[string]struct {
		limits Limits
		then   func()
		says   string
		why    ExitReason
	}{
		"tokens": {Limits{MaxTokens: 100}, nil, "100 of 100 tokens are used, agent.max_tokens_total", ExitBudget},
		"cost":   {Limits{MaxCost: 0.15}, nil, "0.2 of 0.15 (cost) are used, agent.max_cost", ExitBudget},
		"time":   {Limits{MaxWall: 3 * time.Second}, func() { time.Sleep(1600 * time.Millisecond) }, "3.2 of 3 seconds are used, agent.max_wall", ExitBudget},
		"turns":  {Limits{MaxTurns: 2, TurnsKey: "some.key"}, nil, "2 of 2 requests are used, some.key", ExitMaxIterations},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := set(t, Options{Limits: tc.limits, Price: byTheToken}, look(tc.then), look(tc.then), step{text: "so far"})
				o := s.Turn(t.Context(), "go")
				if o.Status != Partial || o.ExitReason != tc.why || o.Answer != "so far" || o.APICalls != 3 || !strings.Contains(o.Error, tc.says) {
					t.Errorf("%+v", o)
				}
				if last := s.model.seen[2]; last.Tools != "" || !strings.Contains(last.Messages[len(last.Messages)-1].Text, tc.says) {
					t.Errorf("the last request: %+v", last)
				}
				if says := valid(s.History()); says != "" {
					t.Error(says)
				}
			})
		})
	}
}

// BUD-3: it is looked at before each request, also before one that continues a text.
func TestTurn_BudgetEndsInTheMiddleOfAText(t *testing.T) {
	s := set(t, Options{Limits: Limits{MaxTokens: 100}}, step{text: "a long", end: provider.EndLength, usage: &provider.Usage{Output: 100}}, step{text: "cut short"})
	if o := s.Turn(t.Context(), "go"); o.Status != Partial || o.ExitReason != ExitBudget || o.Answer != "cut short" || o.APICalls != 2 || s.model.seen[1].Tools != "" {
		t.Errorf("%+v", o)
	}
}

// BUD-3: a conversation whose budget is used up makes no request more, whatever is said to it.
func TestTurn_BeginsWithNothingLeft(t *testing.T) {
	for name, limits := range map[string]Limits{"tokens": {MaxTokens: 100}, "cost": {MaxCost: 0.5}} {
		s := set(t, Options{Limits: limits, Price: byTheToken}, step{text: "all", usage: &provider.Usage{Output: 100}}, step{text: "more"})
		s.Turn(t.Context(), "go")
		before := len(s.History())
		o := s.Turn(t.Context(), "and on")
		if o.Status != Failed || o.ExitReason != ExitBudget || o.APICalls != 0 || len(s.model.seen) != 1 || !strings.Contains(o.Error, "raise it") {
			t.Errorf("%s: %+v after %d requests", name, o, len(s.model.seen))
		}
		if n := len(s.History()); n != before {
			t.Errorf("%s: %d messages became %d", name, before, n)
		}
	}
}

// BUD-3: what a compaction uses is used, too.
func TestCompact_DrawsOnTheBudget(t *testing.T) {
	s := set(t, Options{Compact: CompactConfig{Keep: 1}, Price: byTheToken}, step{text: "one"}, step{text: "two"}, step{text: "a summary", usage: &provider.Usage{Input: 7, Output: 3}})
	s.Turn(t.Context(), "first")
	s.Turn(t.Context(), "second")
	before := s.options.Tree.Total()
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if now := s.options.Tree.Total(); now.Tokens != before.Tokens+10 || now.Cost != before.Cost+0.03 {
		t.Errorf("%+v, then %+v", before, now)
	}
}

// BUD-4: the model is told of each budget that nears its end, once: of one of the turn in each, of one of the conversation in all.
func TestTurn_ToldOnceOfEachBudget(t *testing.T) {
	look := step{calls: []provider.Call{call("a", "look", `{}`)}, usage: &provider.Usage{Input: 40, Output: 1}}
	s := set(t, Options{Limits: Limits{MaxTurns: 5, MaxTokens: 400}}, look, look, look, look, step{text: "done"}, look, look, look, look, step{text: "done"})
	s.Turn(t.Context(), "go")
	s.Turn(t.Context(), "and on")
	told := map[string]int{}
	for _, m := range s.History() {
		for line := range strings.Lines(m.Text) {
			if strings.Contains(line, "80 % of the budget") {
				_, what, _ := strings.Cut(line, ", ")
				told[strings.TrimSpace(what)]++
			}
		}
	}
	if len(told) != 2 || told["agent.max_turns): come to an end soon.]"] != 2 || told["agent.max_tokens_total): come to an end soon.]"] != 1 {
		t.Errorf("%v", told)
	}
}

// BUD-4: what is left is told with the usage; a budget that isn't set is nil, one that is used up is 0.
func TestTurn_UsageTellsWhatIsLeft(t *testing.T) {
	s := set(t, Options{Limits: Limits{MaxTurns: 9, MaxTokens: 60, MaxCost: 1}, Price: byTheToken}, step{text: "done", usage: &provider.Usage{Input: 50, Output: 25}})
	s.Turn(t.Context(), "go")
	var left *Left
	for _, e := range s.told {
		if e.Type == EventUsage {
			left = e.Left
		}
	}
	if left == nil || *left.Turns != 9 || *left.Tokens != 0 || *left.Cost != 0.75 || left.Seconds != nil {
		t.Errorf("%v", left)
	}
}

// BUD-3, DEL-8: children draw on what is left; where that is nothing, or less than they are told in, none is begun, and the refusal says
// how much there is.
func TestGrant_SaysWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := set(t, Options{Limits: Limits{MaxTokens: 100, MaxCost: 5, MaxWall: time.Minute}, Price: byTheToken}, step{text: "x", usage: &provider.Usage{Input: 30, Output: 20}, then: func() { time.Sleep(10 * time.Second) }})
		s.Turn(t.Context(), "go")
		left, err := s.Grant(50)
		if err != nil || left.String() != "50 tokens, 4.8 (cost), 50 seconds" || left.Wall() != 50*time.Second {
			t.Errorf("%v, %v", left, err)
		}
		if _, err := s.Grant(51); err == nil || !strings.Contains(err.Error(), "50 tokens are left of agent.max_tokens_total") {
			t.Errorf("more than there is: %v", err)
		}
		s.options.Tree.Add(Spent{Tokens: 50}) // by a child
		if _, err := s.Grant(0); err == nil || !strings.Contains(err.Error(), "nothing is left") || !strings.Contains(err.Error(), "100 of 100 tokens") {
			t.Errorf("nothing left: %v", err)
		}
	})
	free := set(t, Options{})
	if left, err := free.Grant(1 << 40); err != nil || left.String() != "" || left.Wall() != 0 || (*Left)(nil).Wall() != 0 {
		t.Errorf("without budgets: %v, %v", left, err)
	}
}
