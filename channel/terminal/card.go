package terminal

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/internal/ansi"
)

// maxShown is how many bytes of a command a card shows; more is hidden in the middle, never at a finding.
const maxShown = 1200

// maxFindings is how many findings a card spells out; the gravest come first.
const maxFindings = 20

// around is how much stays visible beside a finding's span in a long command.
const around = 40

// maxTargets is how many targets a card lists for one finding.
const maxTargets = 5

// card is what a question shows, in short lines that begin with what they are about.
func card(q channel.Question, width int) string {
	var b strings.Builder
	b.WriteString("\nApproval needed. " + oneLine(q.Title) + "\n")
	if q.Command != "" {
		b.WriteString("Command:\n" + indent(abridged(q)) + "\n")
	}
	for i := range q.Findings {
		if i == maxFindings {
			fmt.Fprintf(&b, "And %d more findings, v shows them.\n", len(q.Findings)-i)
			break
		}
		b.WriteString(found(i, q, width))
	}
	if q.Objection != "" {
		b.WriteString(wrap("A reviewer said no: "+oneLine(q.Objection), width))
	}
	facts(&b, q, width)
	return b.String()
}

// found shows one finding: what it is, why, where it stands, what it will run and on what.
func found(i int, q channel.Question, width int) string {
	var b strings.Builder
	f := q.Findings[i]
	fmt.Fprintf(&b, "%d. %s\n", i+1, oneLine(f.Key))
	if f.Reason != "" {
		b.WriteString(indented(ansi.Visible(f.Reason), width))
	}
	part := span(q.Command, f.Span)
	if part != "" && part != q.Command {
		b.WriteString(indent("at: "+short(ansi.Visible(part))) + "\n")
	}
	if f.Text != "" && f.Text != part && f.Text != q.Command {
		b.WriteString(indent("runs: "+short(ansi.Visible(f.Text))) + "\n")
	}
	if f.Origin != "" {
		b.WriteString(indent("inside: "+short(oneLine(f.Origin))) + "\n")
	}
	for n, t := range f.Targets {
		if n == maxTargets {
			fmt.Fprintf(&b, "    and on %d more, v shows them\n", len(f.Targets)-n)
			break
		}
		if !strings.Contains(f.Reason, t) {
			b.WriteString(indent("on: "+short(oneLine(t))) + "\n")
		}
	}
	return b.String()
}

func facts(b *strings.Builder, q channel.Question, width int) {
	task := q.Task
	if task == q.Session { // the session's own
		task = ""
	}
	for _, f := range [][2]string{{"Directory", q.Dir}, {"Environment", q.Environment}, {"Asked by", q.Tool}, {"Session", q.Session}, {"Task", task}} {
		if f[1] != "" {
			b.WriteString(f[0] + ": " + oneLine(f[1]) + "\n")
		}
	}
	if q.Elevated {
		b.WriteString("It runs with elevated rights.\n")
	}
	for _, n := range q.Notes {
		b.WriteString(wrap("Note: "+oneLine(n), width))
	}
	if q.Waiting > 0 {
		fmt.Fprintf(b, "Questions waiting behind this one: %d\n", q.Waiting)
	}
}

// full is the view: everything, nothing hidden.
func full(q channel.Question, width int) string {
	var b strings.Builder
	b.WriteString("\nThe whole command:\n" + indent(ansi.Visible(q.Command)) + "\n")
	for i, f := range q.Findings {
		fmt.Fprintf(&b, "%d. %s (%s)\n", i+1, oneLine(f.Key), oneLine(f.ID))
		b.WriteString(indent(ansi.Visible(f.Reason)) + "\n")
		b.WriteString(indent("runs: "+ansi.Visible(f.Text)) + "\n")
		if f.Origin != "" {
			b.WriteString(indent("inside: "+oneLine(f.Origin)) + "\n")
		}
		for _, t := range f.Targets {
			b.WriteString(indent("on: "+oneLine(t)) + "\n")
		}
		if f.Payload != "" {
			b.WriteString(indent("it stands in this text, decoded:\n"+indent(ansi.Visible(f.Payload))) + "\n")
		}
	}
	facts(&b, q, width)
	return b.String()
}

// words explains each choice in what is left of 40 columns.
var words = map[channel.Choice]string{
	channel.Once: "this time only", channel.Session: "until the session ends", channel.Always: "for ever",
	channel.Exact: "this command, this session", channel.Deny: "don't run it",
}

// menu lists the choices on offer, what they will store, and how to answer.
func menu(q channel.Question, left time.Duration, width int) string {
	var b strings.Builder
	for _, c := range q.Choices {
		if c == "" {
			continue
		}
		text := words[c]
		if c == channel.Under {
			text = "this session, below\n     " + oneLine(q.Under)
		}
		fmt.Fprintf(&b, "  %c  %s: %s\n", c[0], c, text)
	}
	b.WriteString("  v  view: show everything\n")
	if slices.Contains(q.Choices, channel.Session) || slices.Contains(q.Choices, channel.Always) {
		if keys := storable(q); len(keys) > 0 {
			b.WriteString(wrap("Session and always are for: "+oneLine(strings.Join(keys, ", ")), width))
		}
	}
	b.WriteString("Type a letter or word, then Enter.\nEnter alone denies." + remaining(left) + "\n> ")
	return b.String()
}

// storable lists the keys that an answer for longer than once will store.
func storable(q channel.Question) (keys []string) {
	for _, f := range q.Findings {
		if !f.Unstorable && !slices.Contains(keys, f.Key) {
			keys = append(keys, f.Key)
		}
	}
	return keys
}

// confirmation asks for the text that lets an act run which no choice opens.
func confirmation(q channel.Question, left time.Duration, width int) string {
	return wrap("This is refused everywhere but here, and runs once only if you type, to the letter, what it destroys:", width) +
		indent(oneLine(q.Confirm)) + "\n  v  view: show everything\n" +
		"Type that, then Enter.\nAnything else denies." + remaining(left) + "\n> "
}

// asked shows a free question.
func asked(q channel.Question, left time.Duration, width int) string {
	var b strings.Builder
	b.WriteString("\n" + wrap(ansi.Visible(q.Text), width))
	for i, o := range q.Options {
		fmt.Fprintf(&b, "  %d  %s\n", i+1, oneLine(o))
	}
	if q.Waiting > 0 {
		fmt.Fprintf(&b, "Questions waiting behind this one: %d\n", q.Waiting)
	}
	how := "Type an answer, then Enter."
	if len(q.Options) > 0 {
		how = "Type a number or an answer of your own, then Enter."
	}
	b.WriteString(wrap(how+" Enter alone leaves it open."+remaining(left), width) + "> ")
	return b.String()
}

func remaining(left time.Duration) string {
	if left < 0 {
		return ""
	}
	return fmt.Sprintf(" %d s left.", int(left.Round(time.Second).Seconds()))
}

// wrap breaks a text at spaces into lines of a width, for prose: commands stay as they are.
func wrap(text string, width int) string {
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		column := 0
		for i, word := range strings.Split(line, " ") {
			n := utf8.RuneCountInString(word)
			switch {
			case i == 0:
			case column+1+n > width:
				b.WriteString("\n")
				column = 0
			default:
				b.WriteString(" ")
				column++
			}
			b.WriteString(word)
			column += n
		}
		b.WriteString("\n")
	}
	return b.String()
}

// indented is wrap for what stands below a heading.
func indented(text string, width int) string {
	return indent(strings.TrimSuffix(wrap(text, max(width-4, 20)), "\n")) + "\n"
}

// oneLine is Visible for what stands at the start of a line of the card's own: a line break in it would let a name of a directory, say,
// write further lines of the card.
func oneLine(s string) string { return strings.ReplaceAll(ansi.Visible(s), "\n", `\n`) }

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
		return ansi.Visible(text)
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
		b.WriteString(ansi.Visible(text[at:k[1]]))
		at = k[1]
	}
	return b.String()
}
