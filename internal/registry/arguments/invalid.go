package arguments

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Kind says what was wrong with arguments, in the words of the result's error type.
type Kind string

// The kinds of invalid arguments.
const (
	InvalidJSON      Kind = "invalid_json"      // the text is no JSON object
	InvalidArguments Kind = "invalid_arguments" // the object doesn't fit the schema
)

// Bounds of a refusal, in characters and problems.
const (
	maxText     = 2000
	maxProblems = 10
	maxPreview  = 80
	// maxExpected keeps one large enumeration from using up the whole text.
	maxExpected = 400
)

// Problem is one thing wrong with an argument object.
type Problem struct {
	Path     string // e.g. "edits[2].path"; "" is the object itself
	Expected string // what was wanted, in words
	Got      string // preview of what came, at most 80 characters; "" if nothing came
}

func (p Problem) String() string {
	var b strings.Builder
	if p.Path == "" {
		b.WriteString("the arguments")
	} else {
		b.WriteString(p.Path)
	}
	b.WriteString(": ")
	b.WriteString(p.Expected)
	if p.Got != "" {
		b.WriteString(", got ")
		b.WriteString(p.Got)
	}
	return b.String()
}

// Invalid is the refusal of a call's arguments. Its text, at most 2 000 characters, is written for the model.
type Invalid struct {
	Kind      Kind
	Truncated bool // the text was cut off before its end
	Problems  []Problem
	text      string
}

func (e *Invalid) Error() string { return e.text }

func cut(s string, limit int) string {
	if len(s) <= limit || utf8.RuneCountInString(s) <= limit {
		return s
	}
	n := 0
	for i := range s {
		if n == limit-1 {
			return s[:i] + "…"
		}
		n++
	}
	return s
}

// refuse writes the text of a refusal from its problems, of which the first ten are listed.
func refuse(problems []Problem, more int) *Invalid {
	e := &Invalid{Kind: InvalidArguments, Problems: problems}
	var b strings.Builder
	if len(problems) == 1 && more == 0 {
		b.WriteString("Invalid arguments. ")
	} else {
		fmt.Fprintf(&b, "Invalid arguments, %d problems:", len(problems)+more)
	}
	// Each problem gets its share, so that a long first one doesn't push the others out.
	share := (maxText - 100) / max(1, len(problems))
	for i, p := range problems {
		if len(problems) > 1 || more > 0 {
			fmt.Fprintf(&b, "\n%d. ", i+1)
		}
		b.WriteString(cut(p.String(), max(share-5, 120)))
	}
	if more > 0 {
		fmt.Fprintf(&b, "\n… and %d more", more)
	}
	e.text = cut(b.String(), maxText)
	return e
}
