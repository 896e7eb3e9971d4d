package analysis

import (
	"strings"
)

// code notes which commands an interpreter's program text comes from.
func (r *reader) code(c *Command, from Flow) {
	if c.index >= 0 && c.index < len(r.out.Commands) {
		r.out.Commands[c.index].Code = from
	}
}

// eval joins its words and reads them again, in the shell itself.
func (r *reader) eval(st *state, c *Command, at place) output {
	words := c.Words[1:]
	if len(words) > 0 && words[0].Is("--") {
		words = words[1:]
	}
	if len(words) == 0 {
		return nothing
	}
	return r.joined(st, words, c, at)
}

// joined reads words, joined by spaces, as a text.
func (r *reader) joined(st *state, words []Word, c *Command, at place) output {
	text := Word{Text: words[0].Text, Alts: words[0].Alts, From: words[0].From, Span: words[0].Span}
	b := builder{r: r, st: st, from: text.From}
	var vals []string
	run := words[0].Text // of words with one value, which are most
	if len(words[0].Alts) > 0 {
		vals, run = text.Values(), ""
	}
	var single strings.Builder
	single.WriteString(run)
	for _, w := range words[1:] {
		b.flow(w.From)
		single.WriteByte(' ')
		if len(w.Alts) == 0 {
			single.WriteString(w.Text)
			continue
		}
		vals = r.join(r.join(vals, []string{single.String()}), w.Values())
		single.Reset()
	}
	if single.Len() > 0 || len(vals) == 0 {
		vals = join(vals, []string{single.String()})
	}
	text.Text, text.Alts, text.From = vals[0], vals[1:], b.from
	text.Span.End = max(text.Span.End, words[len(words)-1].Span.End)
	r.code(c, text.From)
	if !text.From.Empty() && r.initialiser(text.From) {
		return output{}
	}
	return r.text(st, text, c, at)
}

func (r *reader) source(st *state, c *Command, at place) {
	if len(c.Words) > 1 && len(c.Words[1].Text) > 0 && !oneOf(c.Words[1], "--help") {
		r.sourced(st, c.Words[1], c, at)
	}
}

// sourced reads a file that a shell takes its text from: a process substitution, standard input, a file that the session brought.
func (r *reader) sourced(st *state, w Word, c *Command, at place) {
	out, ok := r.processOut[w.From]
	body, given := descriptor(st, c, w)
	switch {
	case given:
		w = body
	case ok && !w.From.Empty():
		w = Word{Text: out.value(), From: w.From, Span: w.Span}
	case oneOf(w, "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0") && c.Stdin.Kind != StdinInherited && c.Stdin.Kind != StdinFile:
		w = Word{Text: c.Stdin.Text, From: c.Stdin.From, Span: w.Span}
	default:
		if oneOf(w, "/dev/stdin", "/dev/fd/0") && c.Stdin.Kind == StdinFile {
			w = c.Stdin.File
		}
		r.follow(st, w, c, shell, at)
		return
	}
	r.code(c, w.From)
	if !w.From.Empty() && r.initialiser(w.From) {
		return
	}
	r.text(st, w, c, at)
}

// Characters of a private range stand for marks while a text with unknown parts is parsed.
var (
	maskMarks   = strings.NewReplacer(markUnknown, "\uE0F0", markSome, "\uE0F1", markJob, "\uE0F2", markStar, "*", markAny, "?", markSet, "[")
	unmaskMarks = strings.NewReplacer("\uE0F0", markUnknown, "\uE0F1", markSome, "\uE0F2", markJob)
)

// text reads a word as shell program text.
func (r *reader) text(st *state, w Word, c *Command, at place) output {
	out := output{}
	for _, v := range w.Values() {
		trimmed := strings.TrimLeft(v, " \t\n")
		if !Known(leadMark(trimmed)) || len(v) > maxDecoded && !Known(v) {
			r.out.Notes = append(r.out.Notes, Note{NoteOpaque, w.Span, "the text that the shell is given is only known when the command runs", c.index})
			continue
		}
		out = r.payload(st, Word{Text: v, Span: w.Span}, c, at)
	}
	if len(w.Alts) > 0 {
		return output{}
	}
	return out
}

// leadMark returns the mark that text begins with, if it does.
func leadMark(text string) string {
	if len(text) > 1 && text[0] == mark {
		return text[:2]
	}
	return ""
}

func (r *reader) payload(st *state, w Word, c *Command, at place) output {
	text, span := w.Text, w.Span
	if at.depth >= MaxPayload {
		r.limit("more than 8 command texts inside each other", span)
		return output{}
	}
	masked := r.masked
	if !Known(text) {
		r.masked = true
	}
	defer func() { r.masked = masked }()
	if !r.spend(stepsText + len(text)/bytesParsed) {
		return output{}
	}
	script, err := Parse(maskMarks.Replace(text))
	r.spend(max(0, script.parsed-len(text)) / bytesParsed)
	if err != nil {
		kind := NoteUnparsed
		if isTooLarge(err) {
			kind = NoteLimit
		}
		r.out.Notes = append(r.out.Notes, Note{kind, span, "a text that a shell is given: " + err.Error(), c.index})
	}
	at.origin = &Origin{Name: c.Program, Payload: true, Span: span, Parent: at.origin}
	at.payload, at.depth, at.last = &span, at.depth+1, false
	at.redirects = nil
	return r.list(st, script.stmts, at)
}
