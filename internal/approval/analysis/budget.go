package analysis

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Budget is the work that may still be done for one text, in steps of at most a tenth of a microsecond on a machine of today. There is one
// for all of it: reading the grammar, walking, folding, scanning programs, judging. So the time that a text takes is linear in its length
// whatever it holds, and depends on nothing else: where the budget ends, the rest isn't read, and that is asked about.
type Budget struct{ left int }

// The budgets of a text up to largeText bytes: for reading it and for judging what was read. A longer one has more in proportion.
const (
	MaxSteps    = 200_000
	MaxJudging  = 120_000
	MaxMatching = 1_000_000 // with the expressions of a user, who may have many
	largeText   = 64 << 10
)

// What work costs in steps, and how many bytes are worked on in one.
const (
	stepsNode    = 5   // a node of the syntax
	stepsWalked  = 2   // a node that is only gone by
	stepsCommand = 20  // recording and following one command, besides its words
	stepsWrapper = 5   // holding one command against a row of the table of wrappers
	stepsText    = 20  // setting out to read one more text
	stepsScan    = 50  // setting out to read a program
	stepsFile    = 200 // opening a file of the session
	bytesParsed  = 2   // by the grammar of the shell
	bytesFolded  = 8   // put together
	bytesScanned = 1   // of a program
	bytesCopied  = 16  // taken along
)

func budget(steps int, text string) Budget {
	return Budget{steps * max(len(text), largeText) / largeText}
}

// Spend takes steps off, and tells whether that many were left.
func (b *Budget) Spend(steps int) bool {
	b.left -= steps
	return b.left >= 0
}

// Budget is what may be spent on judging what was read.
func (r *Reading) Budget() Budget { return budget(MaxJudging, r.Text) }

// Matching is what may be spent on expressions of the user's own.
func (r *Reading) Matching() Budget { return budget(MaxMatching, r.Text) }

// spend takes steps off the text's budget, and tells whether the reading may go on.
func (r *reader) spend(steps int) bool {
	if !r.out.budget.Spend(steps) {
		r.limit(TooMuch, r.at)
	}
	return !r.full
}

// TooMuch is why a text isn't read or judged to its end.
const TooMuch = "more work than the analysis does for a text of its length"

// matchCost is how much a regular expression does for each byte of a text, as if it were so many bytes long: a repeat is written out.
func matchCost(pattern string) int {
	if strings.IndexByte(pattern, '{') >= 0 {
		return len(pattern) * repeatCost
	}
	return len(pattern)
}

// bytesMatching are the bytes of a text, times those of what is done with it, that take one step; repeatCost is what a repeat counts for.
const (
	bytesMatching = 32
	repeatCost    = 32
)

// maxWalked is how deep a part of the syntax may be that is gone through by recursion.
const maxWalked = 4000

// passes takes the steps for a node that is gone by, so deep in a part of the syntax, and tells whether to go on.
func (r *reader) passes(depth int) bool {
	if depth > maxWalked {
		r.limit(TooMuch, r.at)
	}
	return r.spend(stepsWalked)
}

// each goes through what is below a node of the syntax, as far as the budget allows: f tells whether to go on below.
func (r *reader) each(n syntax.Node, f func(syntax.Node) bool) {
	depth := 0
	syntax.Walk(n, func(n syntax.Node) bool {
		if n == nil {
			depth--
			return true
		}
		if !r.passes(depth) || !f(n) {
			return false
		}
		depth++
		return true
	})
}
