package analysis

import (
	"slices"
	"strings"
)

// inner is what a wrapper is given to run.
type inner struct {
	c        *Command
	row      *wrapper
	words    []Word
	texts    []Word // values that a shell reads
	assigns  []Assign
	options  []option
	operands []Word
	letters  string
	replace  string // xargs -I
	shell    bool   // sudo -s, -i: without a command, a shell
}

// option is one option with a value.
type option struct {
	name  string // letter or long name
	value Word
}

// value returns the last value that one of the options in a list was given.
func (in *inner) value(names string) (Word, bool) {
	for _, o := range slices.Backward(in.options) {
		if has(names, o.name) {
			return o.value, true
		}
	}
	return Word{}, false
}

// unwrap takes a wrapper's verb, options, operands and assignments off. ok is false when no command runs.
func unwrap(c *Command, w *wrapper) (in inner, ok bool) {
	in = inner{c: c, row: w}
	words, dashed, begun := c.Words[1:], false, false
	verb := w.verb
	var split []Word
	for len(words) > 0 && !begun {
		text := words[0].Text
		next, rest, _ := strings.Cut(verb, " ")
		switch {
		case verb != "" && text == next:
			verb, words = rest, words[1:]
			continue
		case text == "--":
			words, dashed, begun = words[1:], true, true
			continue
		case text == "-" && w.assigns:
			words = words[1:]
			continue
		case !isOption(c, text):
			switch {
			case verb != "":
				return in, false
			case w.dash:
				words = words[1:]
			case w.only && w.operands == 0 && len(split) == 0 && len(in.texts) == 0:
				words = words[1:]
			case len(in.operands) < w.operands:
				in.operands, words = append(in.operands, words[0]), words[1:]
				begun = len(in.operands) == w.operands && !w.mixed
			default:
				begun = true
			}
			continue
		}
		var o option
		if o, words = in.option(words); in.idle(o.name) {
			return in, false
		}
		switch {
		case has(w.words, o.name) && w.assigns: // env -S puts its words in place
			words = append(splitWords(o.value), words...)
		case has(w.words, o.name):
			split = append(split, splitWords(o.value)...)
		case has(w.text, o.name):
			in.texts = append(in.texts, o.value)
		case has(w.argv, o.name):
			begun, dashed = true, true
			if o.value.Text != "" {
				split = append(split, splitWords(o.value)...)
			}
			if len(words) == 1 && strings.ContainsAny(words[0].Text, " \t\n;") && w.only {
				in.texts, words = append(in.texts, words[0]), nil
			}
		}
	}
	if verb != "" || w.only && !dashed && len(split) == 0 && len(in.texts) == 0 {
		return in, false
	}
	in.settle(words, split, dashed)
	return in, true
}

// settle takes what is left as the command.
func (in *inner) settle(words, split []Word, dashed bool) {
	w := in.row
	if w.dash && !dashed || w.only && w.argv == "" && w.words == "" && !w.dash {
		words = nil
	}
	if w.operands > 0 && len(words) > 0 && words[0].Text == "--" {
		words = words[1:]
	}
	in.words = append(split, words...)
	in.takeAssigns()
}

// isOption tells whether a word is an option of the command; those of cmd begin with a slash.
func isOption(c *Command, text string) bool {
	return len(text) > 1 && (text[0] == '-' || c.Program == "cmd" && (text[0] == '/' && len(text) == 2 || len(text) == 3 && text[:2] == "//"))
}

// option reads the option at the head of words, and its value.
func (in *inner) option(words []Word) (option, []Word) {
	w, text := in.row, words[0].Text
	if text[0] == '/' {
		return option{name: strings.ToLower(strings.TrimLeft(text, "/"))}, words[1:]
	}
	value := Word{Span: words[0].Span, From: words[0].From}
	name, wants := "", false
	if long, attached, isLong := longName(text, w); isLong {
		name, value.Text = long, attached
		given := attached != "" || strings.Contains(text, "=")
		switch {
		case has(w.pairs, long) && len(words) > 2:
			in.options = append(in.options, option{long, words[1]}, option{long + " to", words[2]})
			return option{name: long, value: words[1]}, words[3:]
		case !given:
			wants = has(w.long, long) || has(w.text, long) || has(w.words, long)
		}
		if in.row.elevated {
			in.shell = in.shell || long == "shell" || long == "login"
		}
	} else {
		flag := parseFlag(text, w.short, nil)
		in.letters += flag.letters
		in.shell = in.shell || w.elevated && strings.ContainsAny(flag.letters, "si")
		name, value.Text, wants = string(flag.letters[max(0, len(flag.letters)-1):]), flag.value, flag.wants
		if in.c.Program == "xargs" && flag.valued == 0 && strings.Contains(flag.letters, "i") {
			in.replace = "{}"
		}
	}
	words = words[1:]
	if wants && len(words) > 0 && !has(w.argv, name) {
		value, words = words[0], words[1:]
	}
	o := option{name, value}
	in.options = append(in.options, o)
	if in.c.Program == "xargs" && (name == "I" || name == "J" || name == "replace") {
		if in.replace = value.Text; in.replace == "" {
			in.replace = "{}"
		}
	}
	return o, words
}

// longName reads a long option, whole or abbreviated; some programs write them with one dash.
func longName(text string, w *wrapper) (name, value string, ok bool) {
	if !strings.HasPrefix(text, "--") {
		name, value, _ = strings.Cut(text[1:], "=")
		return name, value, len(name) > 1 && (has(w.long, name) || has(w.argv, name))
	}
	name, value, attached := strings.Cut(text[2:], "=")
	if !attached && len(name) > 1 && !has(w.long, name) && !has(w.argv, name) && !has(w.text, name) {
		for f := range strings.FieldsSeq(w.long) {
			if strings.HasPrefix(f, name) && w.joint { // programs of GNU's making take a beginning
				return f, value, true
			}
		}
	}
	return name, value, true
}

// idle tells whether an option makes the wrapper run nothing.
func (in *inner) idle(name string) bool {
	if in.row.data == "" {
		return false
	}
	letters, long, _ := strings.Cut(in.row.data, " ")
	return letters != "-" && strings.ContainsAny(in.letters, letters) || len(name) > 1 && has(long, name)
}

func (in *inner) takeAssigns() {
	for in.row.assigns && len(in.words) > 0 {
		w := in.words[0]
		if w.Text == "--" { // env and sudo take it here too
			in.words = in.words[1:]
			continue
		}
		name, value, found := strings.Cut(w.Text, "=")
		if !found || strings.HasPrefix(name, "/") {
			return
		}
		in.assigns = append(in.assigns, Assign{name, Word{Text: value, Span: w.Span}})
		in.words = in.words[1:]
	}
}

// splitWords splits a value into words as a shell would, with no expansion.
func splitWords(w Word) []Word {
	var words []Word
	var cur strings.Builder
	quote, open := byte(0), false
	text := w.Text
	for i := 0; i < len(text); i++ {
		switch ch := text[i]; {
		case ch == '\\' && quote != '\'' && i+1 < len(text):
			i++
			cur.WriteByte(text[i])
			open = true
		case quote != 0 && ch == quote:
			quote = 0
		case quote != 0:
			cur.WriteByte(ch)
		case ch == '\'' || ch == '"':
			quote, open = ch, true
		case ch == ' ' || ch == '\t' || ch == '\n':
			if open {
				words = append(words, Word{Text: cur.String(), Span: w.Span, From: w.From})
				cur.Reset()
				open = false
			}
		default:
			cur.WriteByte(ch)
			open = true
		}
	}
	if open {
		words = append(words, Word{Text: cur.String(), Span: w.Span, From: w.From})
	}
	return words
}
