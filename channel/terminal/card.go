package terminal

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/channel"
)

// maxShown is how many bytes of a command a card shows; more is hidden in the middle, never at a finding.
const maxShown = 1200

// maxFindings is how many findings a card spells out; the gravest come first.
const maxFindings = 20

// around is how much stays visible beside a finding's span in a long command.
const around = 40

// card is what a question shows, in short lines that begin with what they are about.
func card(q channel.Question) string {
	var b strings.Builder
	b.WriteString("\nApproval needed. " + oneLine(q.Title) + "\n")
	if q.Command != "" {
		b.WriteString("Command:\n" + indent(abridged(q)) + "\n")
	}
	for i, f := range q.Findings {
		if i == maxFindings {
			fmt.Fprintf(&b, "And %d more findings, v shows them.\n", len(q.Findings)-i)
			break
		}
		fmt.Fprintf(&b, "%d. %s\n", i+1, oneLine(f.Key))
		if f.Reason != "" {
			b.WriteString(indent(Visible(f.Reason)) + "\n")
		}
		if part := span(q.Command, f.Span); part != "" && part != q.Command {
			b.WriteString(indent("at: "+short(Visible(part))) + "\n")
		}
	}
	facts(&b, q)
	return b.String()
}

func facts(b *strings.Builder, q channel.Question) {
	for _, f := range [][2]string{{"Directory", q.Dir}, {"Environment", q.Environment}, {"Asked by", q.Tool}, {"Task", q.Task}} {
		if f[1] != "" {
			b.WriteString(f[0] + ": " + oneLine(f[1]) + "\n")
		}
	}
	if q.Elevated {
		b.WriteString("It runs with elevated rights.\n")
	}
	for _, n := range q.Notes {
		b.WriteString("Note: " + oneLine(n) + "\n")
	}
	if q.Waiting > 0 {
		fmt.Fprintf(b, "Questions waiting behind this one: %d\n", q.Waiting)
	}
}

// full is the view: everything, nothing hidden.
func full(q channel.Question) string {
	var b strings.Builder
	b.WriteString("\nThe whole command:\n" + indent(Visible(q.Command)) + "\n")
	for i, f := range q.Findings {
		fmt.Fprintf(&b, "%d. %s (%s)\n", i+1, oneLine(f.Key), oneLine(f.ID))
		b.WriteString(indent(Visible(f.Reason)) + "\n")
		b.WriteString(indent("runs: "+Visible(f.Text)) + "\n")
		for _, t := range f.Targets {
			b.WriteString(indent("on: "+Visible(t)) + "\n")
		}
	}
	facts(&b, q)
	return b.String()
}

// words explains each choice.
var words = map[channel.Choice]string{
	channel.Once: "this time", channel.Session: "for this session", channel.Always: "for ever", channel.Deny: "don't run it",
}

func menu(offered []channel.Choice, left time.Duration) string {
	var b strings.Builder
	for _, c := range offered {
		fmt.Fprintf(&b, "  %c  %s: %s\n", c[0], c, words[c])
	}
	b.WriteString("  v  view: show everything\n")
	fmt.Fprintf(&b, "Your choice, deny by default%s\n> ", within(left))
	return b.String()
}

func within(left time.Duration) string {
	if left < 0 {
		return ""
	}
	return fmt.Sprintf(", within %d s", int(left.Round(time.Second).Seconds()))
}

// oneLine is Visible for what stands at the start of a line of the card's own: a line break in it would let a name of a directory, say,
// write further lines of the card.
func oneLine(s string) string { return strings.ReplaceAll(Visible(s), "\n", `\n`) }

func indent(s string) string { return "    " + strings.ReplaceAll(s, "\n", "\n    ") }

func short(s string) string {
	if r := []rune(s); len(r) > 200 {
		return string(r[:150]) + " … " + string(r[len(r)-40:])
	}
	return s
}

func span(command string, s [2]int) string {
	if s[0] < 0 || s[1] > len(command) || s[0] >= s[1] {
		return ""
	}
	return command[s[0]:s[1]]
}

// abridged shows a command; of a long one the beginning, the end, and the surroundings of each finding.
func abridged(q channel.Question) string {
	text := q.Command
	if len(text) <= maxShown {
		return Visible(text)
	}
	keep := [][2]int{{0, maxShown / 3}, {len(text) - maxShown/6, len(text)}}
	for _, f := range q.Findings {
		if s := f.Span; span(text, s) != "" {
			end := min(s[1], s[0]+maxShown/2) // of a span that is long itself, its beginning; the rest is one key away
			keep = append(keep, [2]int{max(0, s[0]-around), min(len(text), end+around)})
		}
	}
	slices.SortFunc(keep, func(a, b [2]int) int { return a[0] - b[0] })
	var b strings.Builder
	at := 0
	for _, k := range keep {
		if k[1] <= at {
			continue
		}
		if k[0] > at {
			fmt.Fprintf(&b, "\n[… %d bytes hidden, v shows them …]\n", k[0]-at)
			at = k[0]
		}
		b.WriteString(Visible(text[at:k[1]]))
		at = k[1]
	}
	return b.String()
}
