package agent

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/provider"
)

// Price says what a reply costs, in the currency of agent.max_cost. nil = nothing.
type Price func(provider.Usage) float64

// Spent is what was used of the budgets that outlast a turn.
type Spent struct {
	Tokens int // read and written
	Cost   float64
}

// Tree is what a conversation and all its descendants have used together. The zero value is nothing.
type Tree struct {
	mu   sync.Mutex
	used Spent
}

// Add adds to what was used.
func (t *Tree) Add(s Spent) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.used.Tokens += s.Tokens
	t.used.Cost += s.Cost
}

// spend adds what a reply has used.
func (t *Tree) spend(u provider.Usage, p Price) {
	s := Spent{Tokens: u.Input + u.Output}
	if p != nil {
		s.Cost = p(u)
	}
	t.Add(s)
}

// Total is what was used so far.
func (t *Tree) Total() Spent {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.used
}

// bound is a budget that is set, with what is used of it.
type bound struct {
	key        string // of the configuration
	unit       string
	used, most float64
	exit       ExitReason
	lasting    bool // beyond the turn
}

func (b bound) spent() bool { return b.used >= b.most }

// near tells whether four fifths are used.
func (b bound) near() bool { return b.used*5 >= b.most*4 }

func (b bound) left() float64 { return max(0, b.most-b.used) }

// String says how much is used of how much, and what bounds it.
func (b bound) String() string {
	return fmt.Sprintf("%s of %s are used, %s", amount(b.used), measure(b.most, b.unit), b.key)
}

// amount is a number with up to four places behind the point.
func amount(n float64) string {
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(n, 'f', 4, 64), "0"), ".")
}

// measure is an amount with its unit. Money has none: its currency is that of the prices.
func measure(n float64, unit string) string { return strings.TrimSpace(amount(n) + " " + unit) }

// The units of budgets.
const (
	unitRequests = "requests"
	unitTokens   = "tokens"
	unitCost     = "(cost)"
	unitSeconds  = "seconds"
)

// shared are the budgets that children draw on, too, as far as they are set.
func (c *Conversation) shared() []bound {
	c.mu.Lock()
	begun := c.turnBegun
	c.mu.Unlock()
	l, used := c.options.Limits, c.options.Tree.Total()
	var out []bound
	for _, b := range []bound{
		{"agent.max_tokens_total", unitTokens, float64(used.Tokens), float64(l.MaxTokens), ExitBudget, true},
		{"agent.max_cost", unitCost, used.Cost, l.MaxCost, ExitBudget, true},
		{"agent.max_wall", unitSeconds, time.Since(begun).Seconds(), l.MaxWall.Seconds(), ExitBudget, false},
	} {
		if b.most > 0 {
			out = append(out, b)
		}
	}
	return out
}

// bounds are all budgets of the turn. Requests that don't count, because scripts alone came of them, count half: twice the budget is never
// passed.
func (t *turn) bounds() []bound {
	l := t.options.Limits
	turns := bound{l.TurnsKey, unitRequests, float64(max(t.charged, t.out.APICalls/2)), float64(l.MaxTurns), ExitMaxIterations, false}
	return append([]bound{turns}, t.shared()...)
}

// spentError says that a budget is used up.
type spentError struct{ bound }

func (e *spentError) Error() string { return "the budget is used up: " + e.String() }

// firstSpent is the first of the budgets that is used up, nil if none is.
func firstSpent(bounds []bound) error {
	for _, b := range bounds {
		if b.spent() {
			return &spentError{b}
		}
	}
	return nil
}

// nearlySpent says which budgets near their end, of each once.
func (t *turn) nearlySpent() []string {
	var out []string
	for _, b := range t.bounds() {
		warned := t.warned
		if b.lasting {
			warned = t.Conversation.warned
		}
		if b.near() && !b.spent() && !warned[b.key] {
			warned[b.key] = true
			out = append(out, fmt.Sprintf(nearlyOut, b))
		}
	}
	return out
}

// Left is what is left of the budgets; nil = there is no such budget.
type Left struct {
	Turns   *int     `json:"turns,omitempty"` // requests of the turn
	Tokens  *int     `json:"tokens,omitempty"`
	Cost    *float64 `json:"cost,omitempty"`
	Seconds *float64 `json:"seconds,omitempty"`
}

// leftOf sums the bounds up.
func leftOf(bounds []bound) *Left {
	out := &Left{}
	for _, b := range bounds {
		n, whole := b.left(), int(b.left())
		switch b.unit {
		case unitRequests:
			out.Turns = &whole
		case unitTokens:
			out.Tokens = &whole
		case unitCost:
			out.Cost = &n
		case unitSeconds:
			out.Seconds = &n
		}
	}
	return out
}

// Grant is what children may have of the budgets: all that is left. Where that isn't anything, or not even the tokens that are needed at
// least, it is an error that says so.
func (c *Conversation) Grant(needed int) (*Left, error) {
	bounds := c.shared()
	if err := firstSpent(bounds); err != nil {
		return nil, fmt.Errorf("no child may be begun: nothing is left, %w", err)
	}
	left := leftOf(bounds)
	if left.Tokens != nil && *left.Tokens < needed {
		return nil, fmt.Errorf("no child may be begun: %d tokens are left of agent.max_tokens_total, and what the children are told needs %d", *left.Tokens, needed)
	}
	return left, nil
}

// Wall is how much time is left; 0 = any.
func (l *Left) Wall() time.Duration {
	if l == nil || l.Seconds == nil {
		return 0
	}
	return time.Duration(*l.Seconds * float64(time.Second))
}

// String says it in words, "" if there are no budgets.
func (l *Left) String() string {
	if l == nil {
		return ""
	}
	var parts []string
	if l.Turns != nil {
		parts = append(parts, measure(float64(*l.Turns), unitRequests))
	}
	if l.Tokens != nil {
		parts = append(parts, measure(float64(*l.Tokens), unitTokens))
	}
	if l.Cost != nil {
		parts = append(parts, measure(*l.Cost, unitCost))
	}
	if l.Seconds != nil {
		parts = append(parts, measure(*l.Seconds, unitSeconds))
	}
	return strings.Join(parts, ", ")
}
