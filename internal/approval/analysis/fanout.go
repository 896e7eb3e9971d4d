package analysis

import (
	"slices"
	"strings"
)

// fanOut runs the command of xargs or parallel with the words that it gets from its input.
func (r *reader) fanOut(st *state, in *inner, at place) output {
	c := in.c
	var extra []Word
	span := c.Words[0].Span
	if file, ok := in.value("a arg-file"); ok {
		c.Stdin = Stdin{}
		if out, made := r.processOut[file.From]; made && !file.From.Empty() {
			c.Stdin = Stdin{Kind: StdinPipe, Text: out.value(), Known: out.known, From: file.From}
		} else if out := r.contents(c, []string{file.Text}); out.known {
			c.Stdin = Stdin{Kind: StdinText, Text: out.text, Known: true}
		}
	}
	switch names := r.expanded(c.Stdin.From); {
	case len(names) > 0:
		extra = names
	case c.Stdin.Known:
		extra = in.arguments(span)
	case strings.HasPrefix(c.Stdin.Text, someDevice):
		extra = []Word{{Text: someDevice, From: c.Stdin.From, Span: span}}
	default:
		extra = []Word{{Text: markSome, From: c.Stdin.From, Span: span}}
	}
	words := slices.Clone(in.words)
	if i := slices.IndexFunc(words, func(w Word) bool { return strings.HasPrefix(w.Text, ":::") }); i >= 0 && c.Program == "parallel" {
		if words[i].Text == ":::" || words[i].Text == ":::+" {
			extra = slices.DeleteFunc(slices.Clone(words[i+1:]), func(w Word) bool { return strings.HasPrefix(w.Text, ":::") })
		}
		words = words[:i]
	}
	place := in.replace
	if c.Program == "parallel" {
		place = "{}"
	}
	replaced := false
	for i, w := range words {
		if place != "" && strings.Contains(w.Text, place) && len(extra) > 0 {
			replaced = true
			vals := make([]string, 0, len(extra))
			for _, e := range extra[:min(len(extra), MaxValues)] {
				vals = append(vals, strings.ReplaceAll(w.Text, place, e.Text))
			}
			words[i].Text, words[i].Alts, words[i].From = vals[0], vals[1:], extra[0].From
		}
	}
	at.stdin, at.last = Stdin{}, false
	if len(words) == 0 && c.Program == "parallel" { // the arguments are commands themselves
		for _, e := range extra {
			r.text(st.clone(), e, c, at)
		}
		return output{}
	}
	if !replaced && in.replace == "" {
		words = append(words, extra...)
	}
	sub := st.clone()
	if c.Program == "parallel" {
		return r.joined(sub, words, c, at)
	}
	return r.run(sub, simple{words: words, span: c.Span}, at)
}

// expanded lists the patterns of file names that the last command of a flow prints as the shell expands them: echo /*, ls -d /*.
func (r *reader) expanded(from Flow) (names []Word) {
	if from.Empty() || from.End > len(r.out.Commands) {
		return nil
	}
	last := &r.out.Commands[from.End-1]
	switch last.Program {
	case "echo", "printf", "print", "ls":
	default:
		return nil
	}
	for _, w := range last.Words[1:] {
		if !Literal(w.Text) && Known(w.Text) && len(w.Alts) == 0 && len(names) < MaxValues && (last.Program != "ls" || last.lists()) {
			names = append(names, w)
		}
	}
	return names
}

// lists tells whether ls prints the names that it is given, not what is in them.
func (c *Command) lists() bool {
	return slices.ContainsFunc(c.Words, func(w Word) bool {
		return len(w.Text) > 1 && w.Text[0] == '-' && w.Text[1] != '-' && strings.Contains(w.Text, "d") || w.Is("--directory")
	})
}

// arguments splits what xargs or parallel reads as its options say.
func (in *inner) arguments(span Span) []Word {
	text := in.c.Stdin.Text
	sep := ""
	switch d, ok := in.value("d delimiter"); {
	case strings.Contains(in.letters, "0"), slices.ContainsFunc(in.options, func(o option) bool { return o.name == "null" }):
		sep = "\x00"
	case ok:
		sep = ansiC(d.Text)
	case in.replace != "" || in.c.Program == "parallel":
		sep = "\n"
	}
	if sep == "" {
		return splitWords(Word{Text: text, Span: span})
	}
	var words []Word
	for f := range strings.SplitSeq(text, sep) {
		if sep == "\n" {
			f = strings.Trim(f, " \t\"'")
		}
		if f != "" {
			words = append(words, Word{Text: f, Span: span})
		}
	}
	return words
}

// execOptions are the words behind which find or fd is given a command.
var execOptions = map[string][]string{
	"find": {"-exec", "-execdir", "-ok", "-okdir"},
	"fd":   {"-x", "--exec", "-X", "--exec-batch"}, "fdfind": {"-x", "--exec", "-X", "--exec-batch"},
}

// findExec runs the commands of find's -exec and its kin; {} is something at or below a start path.
func (r *reader) findExec(st *state, c *Command, at place) {
	starts := []string{"."}
	if c.Program == "find" {
		starts = FindStarts(c)
	}
	at.origin, at.last, at.stdin = origin(c, false), false, Stdin{}
	words := c.Words
	for i := 1; i < len(words); i++ {
		if !slices.Contains(execOptions[c.Program], words[i].Text) {
			continue
		}
		end := i + 1
		for end < len(words) && words[end].Text != ";" && !(words[end].Text == "+" && words[end-1].Text == "{}") {
			end++
		}
		argv := slices.Clone(words[i+1 : end])
		if c.Program != "find" && !slices.ContainsFunc(argv, func(w Word) bool { return strings.Contains(w.Text, "{") }) {
			argv = append(argv, Word{Text: "{}", Span: c.Span}) // fd adds what it found
		}
		for k, w := range argv {
			if strings.Contains(w.Text, "{}") {
				argv[k].Text = strings.ReplaceAll(w.Text, "{}", starts[0]+"/"+markSome)
				for _, s := range starts[1:min(len(starts), MaxValues)] {
					argv[k].Alts = append(argv[k].Alts, strings.ReplaceAll(w.Text, "{}", s+"/"+markSome))
				}
			}
		}
		if len(argv) > 0 {
			sub := st.clone()
			sub.funcs = nil
			r.run(sub, simple{words: argv, span: c.Span}, at)
		}
		i = end
	}
}

// FindStarts lists the start paths of a find command; without one it is the working directory.
func FindStarts(c *Command) []string {
	var starts []string
	for _, w := range c.Words[1:] {
		if strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "-H") && !strings.HasPrefix(w.Text, "-L") &&
			!strings.HasPrefix(w.Text, "-P") || w.Text == "(" || w.Text == "!" {
			break
		}
		if !strings.HasPrefix(w.Text, "-") {
			starts = append(starts, w.Values()...)
		}
	}
	if len(starts) == 0 {
		starts = []string{"."}
	}
	return starts
}
