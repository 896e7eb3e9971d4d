package analysis

import (
	"slices"
	"strings"
)

// What the keys of a line editor are made to do: by bind, and by files such as ~/.inputrc.

// bindKeys reads the bindings that bind is given. Its options -l, -p, -P, -s, -S, -v, -V and -X only print.
func bindKeys(r *reader, st *state, c *Command, at place) {
	args := c.Args(Grammar{Short: "mqufrx"})
	for _, w := range args.Values["x"] { // "KEYS": COMMAND
		key, cmd, ok := bindingOf(w.Text)
		if ok {
			r.commandValue(st.clone(), Word{Text: strings.Trim(cmd, `"`), Span: w.Span}, c, false, at)
			r.rebound(key, w.Span, c)
		}
	}
	for _, w := range args.Values["r"] {
		r.rebound(strings.Trim(w.Text, `"`), w.Span, c)
	}
	for _, w := range args.Values["f"] {
		r.keyFile(st, w, c, at)
	}
	for _, w := range args.Operands {
		r.binding(st, w, c, at)
	}
}

// bindZshKeys reads bindkey KEYS FUNCTION and bindkey -s KEYS TEXT of zsh, and -v, which turns to the keys of vi.
func bindZshKeys(r *reader, st *state, c *Command, at place) {
	args := c.Args(Grammar{Short: "MNA"})
	if args.Has("v") {
		r.keysUnknown("keys mean something else from here on", c.Span, c)
	}
	if len(args.Operands) < 2 {
		return
	}
	key := strings.NewReplacer("^[", `\e`, "^", `\C-`).Replace(args.Operands[0].Text)
	does := args.Operands[1]
	if args.Has("s") {
		does.Text = `"` + strings.ReplaceAll(does.Text, "^", `\C-`) + `"`
	}
	r.binding(st, Word{Text: `"` + key + `": ` + does.Text, Span: does.Span}, c, at)
}

// runHistory is fc, which runs lines of the shell's history again, some of them changed. Its options that list, read or write run nothing.
func runHistory(r *reader, _ *state, c *Command, _ place) {
	if !c.Args(Grammar{Short: "e"}).Has("lpPRWAI") {
		r.out.Notes = append(r.out.Notes, Note{NoteOpaque, c.Span, "lines of the history are run again, perhaps changed", c.index})
	}
}

// keyFile reads a file of bindings that the session wrote. A person's own isn't opened.
func (r *reader) keyFile(st *state, w Word, c *Command, at place) {
	text, known := r.programFile(st, w, c)
	if !known {
		if f, ok := r.fileAt(Join(st.dirs[0], w.Text)); ok && f.program == "" {
			r.keysUnknown("what stands in "+Show(w.Text)+", which this session brought, isn't known", w.Span, c)
		}
		return
	}
	for line := range strings.Lines(text.Text) {
		r.binding(st, Word{Text: line, Span: w.Span}, c, at)
	}
}

// binding reads one line: KEYS: FUNCTION, KEYS: "TEXT", or set VARIABLE VALUE.
func (r *reader) binding(st *state, w Word, c *Command, at place) {
	text := strings.TrimSpace(w.Text)
	if text == "" || text[0] == '#' || text[0] == '$' && !strings.HasPrefix(text, "$include") {
		return
	}
	if words := strings.Fields(strings.ToLower(text)); words[0] == "set" || words[0] == "$include" {
		if words[0] == "$include" || len(words) > 2 && words[1] == "editing-mode" && words[2] == "vi" {
			r.keysUnknown("keys mean something else from here on", w.Span, c)
		}
		return
	}
	key, does, ok := bindingOf(text)
	if !ok {
		return
	}
	if len(does) > 1 && (does[0] == '"' || does[0] == '\'') {
		macro := typedBy(strings.Trim(does, does[:1]))
		r.typed(st, Word{Text: macro, Span: w.Span}, c, at)
		if strings.ContainsAny(macro, "\n\r\x0f") {
			r.keysUnknown("a key sends off whatever stands on the line", w.Span, c)
		}
	} else if slices.Contains(sendingOff, strings.ToLower(does)) {
		r.keysUnknown("a key sends off whatever stands on the line", w.Span, c)
	}
	r.rebound(key, w.Span, c)
}

// sendingOff are the line editor's functions that run a line.
var sendingOff = []string{"accept-line", "accept-and-hold", "operate-and-get-next", "edit-and-execute-command", "vi-edit-and-execute-command", "call-last-kbd-macro",
	"insert-last-argument"}

// bindingOf splits KEYS: WHAT.
func bindingOf(text string) (key, does string, ok bool) {
	text = strings.TrimSpace(text)
	if rest, quoted := strings.CutPrefix(text, `"`); quoted {
		end := 0
		for end < len(rest) && rest[end] != '"' {
			if rest[end] == '\\' {
				end++
			}
			end++
		}
		if end >= len(rest) {
			return "", "", false
		}
		key, text = rest[:end], strings.TrimSpace(rest[end+1:])
		does, ok = strings.CutPrefix(text, ":")
	} else {
		key, does, ok = strings.Cut(text, ":")
	}
	return key, strings.TrimSpace(does), ok
}

// typedBy is the text that a macro types, with its escapes read.
func typedBy(macro string) string {
	return strings.ReplaceAll(ansiC(strings.NewReplacer(`\C-`, `\c`, `\M-`, `\e`).Replace(macro)), "\r", "\n")
}

// plainControls are the control keys that edit or send off a line as everybody knows.
const plainControls = "abcdefhjklmou"

// rebound notes that a key which types itself, or edits a line as everybody knows, is made to do something else.
func (r *reader) rebound(key string, span Span, c *Command) {
	low := strings.ToLower(key)
	switch control, ok := cutAny(low, `\c-`, "control-", "ctrl-", "c-"); {
	case ok && len(control) == 1 && !strings.Contains(plainControls, control), ok && len(control) > 1 && strings.HasPrefix(control, `x\`):
		return
	case ok:
	case strings.HasPrefix(low, `\e`), strings.HasPrefix(low, `\m-`), strings.HasPrefix(low, "meta-"), strings.HasPrefix(low, "m-"), low == "tab", low == `\t`:
		return
	}
	r.keysUnknown("the key "+Show(key)+" is made to do something else", span, c)
}

func cutAny(text string, prefixes ...string) (string, bool) {
	for _, p := range prefixes {
		if rest, ok := strings.CutPrefix(text, p); ok {
			return rest, true
		}
	}
	return text, false
}

// keysUnknown says that what is typed from here on isn't what runs.
func (r *reader) keysUnknown(reason string, span Span, c *Command) {
	r.out.Notes = append(r.out.Notes, Note{NoteOpaque, span, reason + ": a line that is typed may not be the one that runs", c.index})
}
