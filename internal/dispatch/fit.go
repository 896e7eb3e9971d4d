package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hermes-runtime/hermes/internal/registry/schema"
	"github.com/hermes-runtime/hermes/internal/textcap"
	"github.com/hermes-runtime/hermes/tool"
)

// DefaultMaxResult is the budget of a result in characters, unless tool or configuration set another.
const DefaultMaxResult = 100_000

const (
	keptHead = 1000 // characters of a spilled text that stay in front
	keptTail = 500  // and behind
	shortest = keptHead + keptTail + 1000

	spillWithin = 10 * time.Second // a place that is slow to take a file costs the file, not the result
)

// spillable are the members that may hold the excess of a result object.
var spillable = []string{"output", "content", "result"}

// Spiller writes what is too long for a result to a file that read_file can read, and gives its path.
type Spiller interface {
	SpillText(ctx context.Context, call, text string) (path string, err error)
}

// fitter makes a result fit.
type fitter struct {
	spiller Spiller
	call    string
	had     *tool.Spill // a file that holds one member already, or more than the result does; nil = none
}

// fit keeps text within budget characters by moving the excess to a file.
func (t fitter) fit(ctx context.Context, text string, budget int) (string, *tool.Spill) {
	if budget <= 0 {
		budget = DefaultMaxResult
	}
	if len(text) <= budget || utf8.RuneCountInString(text) <= budget {
		return text, t.had
	}
	for _, m := range byLength(members(text)) {
		rest := utf8.RuneCountInString(text[:m.start]) + utf8.RuneCountInString(text[m.end:])
		if rest+keptHead+keptTail > budget {
			continue
		}
		whole, ok := unquote(m.value)
		if !ok {
			continue
		}
		short, spill := t.shorten(ctx, m.key, whole)
		out := text[:m.start] + string(schema.AppendText(nil, short)) + text[m.end:]
		return withMembers(out, map[string]any{"spilled": spill}), spill
	}
	short, spill := t.shorten(ctx, "", text)
	out := map[string]any{"result": short, "spilled": spill}
	if says, failed := saysError(text); failed {
		out["error"] = textcap.Head(says, maxMessage, "…")
	}
	encoded, err := marshal(out)
	if err != nil {
		return errorObject("the result was too long and could not be shortened", nil), spill
	}
	return encoded, spill
}

// byLength picks the members that may hold the excess, longest first.
func byLength(all []member) []member {
	var out []member
	for _, m := range all {
		for _, name := range spillable {
			if m.key == name && m.value[0] == '"' {
				out = append(out, m)
			}
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return len(out[i].value) > len(out[j].value) })
	return out
}

// shorten writes whole, which stands in a member or is the result, to a file and returns what stays of it, with a note between head
// and tail. A member that a file is kept of is not written again: that file is the better one, and nothing takes its place.
func (t fitter) shorten(ctx context.Context, field, whole string) (string, *tool.Spill) {
	cut := textcap.Middle(whole, keptHead, keptTail)
	spill := &tool.Spill{Chars: utf8.RuneCountInString(whole), Lines: textcap.Lines(whole), Field: field}
	ctx, cancel := context.WithTimeout(ctx, spillWithin)
	defer cancel()
	var err error
	switch {
	case t.had == nil:
		spill.Path, err = t.spiller.SpillText(ctx, t.call, whole)
	case t.had.Field == field:
		cut.OmittedChars += max(0, t.had.Chars-spill.Chars)
		cut.OmittedLines += max(0, t.had.Lines-spill.Lines)
		*spill = *t.had
	default:
		spill.Path, err = t.spiller.SpillText(ctx, t.call+"_result", whole)
	}
	var note strings.Builder
	fmt.Fprintf(&note, "[hermes left out %d characters (%d lines) here, of %d characters in %d lines", cut.OmittedChars, cut.OmittedLines, spill.Chars, spill.Lines)
	if err != nil {
		fmt.Fprintf(&note, "; the whole could not be kept: %v]", err)
	} else {
		fmt.Fprintf(&note, "; the whole is in %s: read on with read_file, path, offset and limit]", spill.Path)
	}
	head := strings.TrimSuffix(cut.Head, "\n")
	return head + "\n" + note.String() + "\n" + strings.TrimPrefix(cut.Tail, "\n"), spill
}

// ownSpill reads what a result says of the file that its tool keeps.
func ownSpill(text string) *tool.Spill {
	for _, m := range members(text) {
		if m.key != "spilled" {
			continue
		}
		var s tool.Spill
		if json.Unmarshal([]byte(m.value), &s) != nil || s.Path == "" {
			return nil
		}
		return &s
	}
	return nil
}

// fitBatch shortens the largest results until all of them together fit into the budget of a turn.
func (d *Door) fitBatch(ctx context.Context, s *Session, results []tool.Result) {
	total := 0
	for _, r := range results {
		total += utf8.RuneCountInString(r.JSON)
	}
	budget := d.config.TurnResultChars
	if total <= budget {
		return
	}
	order := make([]int, len(results))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool { return len(results[order[a]].JSON) > len(results[order[b]].JSON) })
	for _, i := range order {
		r := &results[i]
		if total <= budget {
			return
		}
		if len(r.JSON) <= shortest || d.unspilled(r.Name) {
			continue
		}
		before := utf8.RuneCountInString(r.JSON)
		r.JSON, r.Spill = fitter{s, r.ID, r.Spill}.fit(ctx, r.JSON, shortest)
		total -= before - utf8.RuneCountInString(r.JSON)
	}
}
