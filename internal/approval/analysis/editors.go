package analysis

import (
	"slices"
	"strings"
)

// debugger reads gdb's and lldb's commands: shell COMMAND, !COMMAND, pipe … | COMMAND, python CODE.
func debugger(r *reader, st *state, c *Command, at place) {
	for i, w := range c.Words[1:] {
		name, attached, _ := strings.Cut(strings.TrimLeft(w.Text, "-"), "=")
		if !strings.HasPrefix(w.Text, "-") || !has("ex eval-command iex init-eval-command o O one-line one-line-before-file", name) {
			continue
		}
		value := Word{Text: attached, Span: w.Span}
		if attached == "" && i+2 < len(c.Words) {
			value = c.Words[i+2]
		}
		text := strings.TrimSpace(value.Text)
		for _, p := range [...]string{"shell ", "!", "make ", "platform shell ", "platform shell -h -- "} {
			if rest, ok := strings.CutPrefix(text, p); ok {
				r.commandValue(st.clone(), Word{Text: rest, Span: value.Span}, c, false, at)
			}
		}
		for _, p := range [...]string{"python ", "py ", "script "} {
			if rest, ok := strings.CutPrefix(text, p); ok {
				as := *c
				as.Program = "python"
				r.inline(st.clone(), Word{Text: rest, Span: value.Span}, &as, at)
			}
		}
		for _, call := range quotedCalls(text, "system(") {
			r.commandValue(st.clone(), Word{Text: call, Span: value.Span}, c, false, at)
		}
		if rest, ok := strings.CutPrefix(text, "pipe "); ok {
			if _, cmd, ok := strings.Cut(rest, "|"); ok {
				r.commandValue(st.clone(), Word{Text: cmd, Span: value.Span}, c, false, at)
			}
		}
	}
}

// viEditor reads the commands that vi is started with: -c, --cmd, +COMMAND, -S is a file.
func viEditor(r *reader, st *state, c *Command, at place) {
	words := c.Words[1:]
	for i := 0; i < len(words); i++ {
		text, value := words[i].Text, words[i]
		switch {
		case text == "--":
			return
		case (text == "--cmd" || len(text) > 1 && text[0] == '-' && strings.Trim(text[1:len(text)-1], "esnNEXZ") == "" && text[len(text)-1] == 'c') && i+1 < len(words):
			i++
			value = words[i]
		case strings.HasPrefix(text, "+") && len(text) > 1:
			value.Text = text[1:]
		case strings.HasPrefix(text, "-c") && len(text) > 2:
			value.Text = text[2:]
		default:
			continue
		}
		r.viCommand(st, value, c, at)
	}
	if c.Stdin.Known && slices.ContainsFunc(words, func(w Word) bool { return oneOf(w, "-es", "-s", "-e", "-E", "-Es") }) || c.Program == "ex" {
		for line := range strings.Lines(c.Stdin.Text) {
			r.viCommand(st, Word{Text: strings.TrimSpace(line), Span: c.Span}, c, at)
		}
	}
}

func (r *reader) viCommand(st *state, w Word, c *Command, at place) {
	text := strings.TrimLeft(w.Text, ": \t%0123456789,$.")
	for {
		rest, ok := strings.CutPrefix(text, "silent")
		if !ok {
			break
		}
		text = strings.TrimLeft(rest, "! ")
		text = "!" + text
		text = strings.TrimPrefix(text, "!!")
		if strings.HasPrefix(text, "!") {
			break
		}
	}
	for _, p := range [...]string{"!", "r !", "r!", "read !", "w !", "w!", "write !", "te ", "term ", "terminal ", "terminal! "} {
		if rest, ok := strings.CutPrefix(text, p); ok && rest != "" {
			if p == "w!" {
				break
			}
			r.commandValue(st.clone(), Word{Text: rest, Span: w.Span}, c, false, at)
			return
		}
	}
	for _, call := range quotedCalls(text, "system(", "systemlist(", "jobstart(", "termopen(", "job_start(", "os.execute(", "io.popen(") {
		r.commandValue(st.clone(), Word{Text: call, Span: w.Span}, c, false, at)
	}
	for _, path := range quotedCalls(text, "delete(") {
		if strings.Contains(text, `"rf"`) || strings.Contains(text, "'rf'") {
			r.removes(st, path, c, at)
		}
	}
	if rest, ok := strings.CutPrefix(text, "lua "); ok {
		as := *c
		as.Program = "lua"
		r.inline(st.clone(), Word{Text: rest, Span: w.Span}, &as, at)
	}
	for _, p := range [...]string{"py3 ", "python3 ", "python ", "py "} {
		if rest, ok := strings.CutPrefix(text, p); ok {
			as := *c
			as.Program = "python"
			r.inline(st.clone(), Word{Text: rest, Span: w.Span}, &as, at)
		}
	}
}

// emacs reads the shell commands in --eval's expression.
func emacs(r *reader, st *state, c *Command, at place) {
	var texts []Word
	for i, w := range c.Words[1:] {
		name, value, attached := strings.Cut(strings.TrimLeft(w.Text, "-"), "=")
		switch {
		case !strings.HasPrefix(w.Text, "-") || !has("eval execute e", name):
		case attached:
			texts = append(texts, Word{Text: value, Span: w.Span})
		case i+2 < len(c.Words):
			texts = append(texts, c.Words[i+2])
		}
	}
	for _, w := range texts {
		r.inLanguage(st, w, "elisp", c, at)
	}
}

// removes makes the deletion of a whole directory visible as the command that would do the same.
func (r *reader) removes(st *state, path string, c *Command, at place) {
	r.argvValue(st, []string{"rm", "-rf", path}, c.Span, c, at)
}
