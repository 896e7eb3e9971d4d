package analysis

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// awk reads the commands that an awk program runs: system("…"), "…" | getline, print | "…"; and notes where it prints to.
func awk(r *reader, st *state, c *Command, at place) {
	words := c.Words[1:]
	var texts []Word
	fromFile := false
	vars := map[string]string{}
	for len(words) > 0 && len(words[0].Text) > 1 && words[0].Text[0] == '-' {
		text := words[0].Text
		if text == "--" {
			words = words[1:]
			break
		}
		flag := parseFlag(text, "FvfieEl", []string{"field-separator", "assign", "file", "include", "source", "exec", "load"})
		value := Word{Text: flag.value, Span: words[0].Span}
		words = words[1:]
		if flag.wants && len(words) > 0 {
			value, words = words[0], words[1:]
		}
		switch {
		case flag.takes("v") || flag.name == "assign":
			if name, v, ok := strings.Cut(value.Text, "="); ok {
				vars[name] = v
			}
		case flag.takes("l") || flag.name == "load":
			r.loads(st, value.Text, value, c, true)
		case flag.takes("e") || flag.name == "source":
			texts = append(texts, value)
		case flag.takes("f") || flag.takes("E") || flag.name == "file" || flag.name == "exec":
			fromFile = true
			if text, ok := r.programFile(st, value, c); ok {
				texts = append(texts, text)
			}
		}
	}
	if len(texts) == 0 && !fromFile && len(words) > 0 {
		texts = words[:1]
	}
	for _, w := range texts {
		r.awkProgram(st, w, vars, c, at)
	}
}

// awkBomb is a loop without an end whose first act is to start a process that it doesn't wait for.
var awkBomb = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(while\s*\(\s*1\s*\)|for\s*\(\s*;\s*;\s*\))\s*\{?\s*(fork\s*\(|system\s*\(\s*"[^"]*&\s*"\s*\))`)
})

// awkProgram scans a program's tokens: strings, names that were given a string, and what they are handed to.
func (r *reader) awkProgram(st *state, w Word, vars map[string]string, c *Command, at place) {
	text := w.Text
	value := func(s string) Word { return Word{Text: s, Span: w.Span} }
	if awkBomb().MatchString(text) {
		r.note(NoteBomb, w.Span, "a loop without end starts processes")
	}
	for i := 0; i < len(text); i++ {
		switch ch := text[i]; {
		case ch == '#':
			i += indexOr(text[i:], '\n')
		case ch == '/' && regexMayStand(text[:i]):
			if end := sedEnd(text[i+1:], '/'); end >= 0 {
				i += end + 1
			}
		case ch == '"':
			s, rest := awkString(text[i:], vars)
			i = len(text) - len(rest) - 1
			if after := strings.TrimLeft(rest, " \t"); strings.HasPrefix(after, "|") && !strings.HasPrefix(after, "||") {
				r.commandValue(st.clone(), value(s), c, false, at)
			}
		case ch == '|' || ch == '>':
			if i+1 < len(text) && (text[i+1] == ch || text[i+1] == '&') {
				i++
			} else if i+1 < len(text) && text[i+1] == '=' {
				continue
			}
			rest := strings.TrimLeft(text[i+1:], " \t(")
			if rest == "" || rest[0] != '"' && vars[nameAt(rest)] == "" {
				continue
			}
			s, after := awkString(rest, vars)
			i = len(text) - len(after) - 1
			if ch == '|' {
				fed := at
				fed.stdin = Stdin{Kind: StdinPipe}
				r.commandValue(st.clone(), value(s), c, false, fed)
			} else if !strings.ContainsAny(s, " \t") {
				r.writes(c, value(s))
			}
		case isNameByte(ch):
			name := nameAt(text[i:])
			rest := strings.TrimLeft(text[i+len(name):], " \t")
			i += len(name) - 1
			switch {
			case name == "system" && strings.HasPrefix(rest, "("):
				s, after := awkString(strings.TrimLeft(rest[1:], " \t"), vars)
				if s == "" {
					s = markUnknown
				}
				r.text(st.clone(), value(s), c, at)
				i = len(text) - len(after) - 1
			case strings.HasPrefix(rest, "=") && !strings.HasPrefix(rest, "=="):
				if rest = strings.TrimLeft(rest[1:], " \t"); strings.HasPrefix(rest, `"`) || vars[nameAt(rest)] != "" {
					s, after := awkString(rest, vars)
					vars[name] = s
					i = len(text) - len(after) - 1
				}
			case strings.HasPrefix(rest, "|") && !strings.HasPrefix(rest, "||") && vars[name] != "" &&
				strings.HasPrefix(strings.TrimLeft(rest[1:], "& \t"), "getline"):
				r.commandValue(st.clone(), value(vars[name]), c, false, at)
			}
		}
	}
}

// regexMayStand tells whether a slash behind text opens a regular expression.
func regexMayStand(text string) bool {
	text = strings.TrimRight(text, " \t")
	return text == "" || strings.IndexByte("{}(;,!~&|\n", text[len(text)-1]) >= 0
}

func isNameByte(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func nameAt(text string) string {
	n := 0
	for n < len(text) && isNameByte(text[n]) {
		n++
	}
	return text[:n]
}

// awkString reads strings and names that stand side by side, which joins them; other values are unknown parts.
func awkString(text string, vars map[string]string) (s, rest string) {
	var b strings.Builder
	for text != "" {
		switch ch := text[0]; {
		case ch == ' ' || ch == '\t':
			text = text[1:]
		case ch == '"':
			part, after, ok := quotedString(text)
			if !ok {
				return b.String(), ""
			}
			b.WriteString(part)
			text = after
		case ch == '$':
			b.WriteString(markSome)
			text = text[1+len(nameAt(text[1:])):]
		case isNameByte(ch):
			name := nameAt(text)
			if v, ok := vars[name]; ok {
				b.WriteString(v)
			} else {
				b.WriteString(markUnknown)
			}
			text = text[len(name):]
		default:
			return b.String(), text
		}
	}
	return b.String(), text
}

// writes adds a file that a program's own language writes to, as if by redirect.
func (r *reader) writes(c *Command, w Word) {
	if c.index < 0 || c.index >= len(r.out.Commands) {
		return
	}
	cmd := &r.out.Commands[c.index]
	cmd.Redirects = append(cmd.Redirects[:len(cmd.Redirects):len(cmd.Redirects)], Redirect{Op: ">", Write: true, Target: w})
}

// sed reads the commands that a sed script runs (e, and s with the flag e) and the files that it writes (w).
func sed(r *reader, st *state, c *Command, at place) {
	args := c.Args(Grammar{Short: "efl", Long: []string{"expression", "file", "line-length"}})
	texts := append(args.Values["e"], args.Values["expression"]...)
	if len(texts) == 0 && len(args.Values["f"])+len(args.Values["file"]) == 0 && len(args.Operands) > 0 {
		texts = args.Operands[:1]
	}
	for _, w := range slices.Concat(args.Values["f"], args.Values["file"]) {
		if text, ok := r.programFile(st, w, c); ok {
			texts = append(texts, text)
		}
	}
	if args.Long("sandbox", 2) {
		return
	}
	for _, w := range texts {
		r.sedScript(st, Word{Text: Plain(w.Text), Span: w.Span}, c, at)
	}
}

func (r *reader) sedScript(st *state, w Word, c *Command, at place) {
	text := w.Text
	for text != "" {
		text = sedAddress(strings.TrimLeft(text, " \t\n;{}!"))
		if text == "" {
			return
		}
		verb := text[0]
		text = text[1:]
		switch verb {
		case '#':
			_, text, _ = strings.Cut(text, "\n")
		case 'e':
			line, rest, _ := strings.Cut(text, "\n")
			if strings.TrimSpace(line) != "" {
				r.commandValue(st.clone(), Word{Text: strings.TrimSpace(line), Span: w.Span}, c, false, at)
			} else {
				r.text(st.clone(), Word{Text: markUnknown, Span: w.Span}, c, at)
			}
			text = rest
		case 'w', 'W', 'a', 'i', 'c', 'r', 'R', ':', 'b', 't', 'T':
			line, rest, _ := strings.Cut(text, "\n")
			if f := strings.TrimSpace(line); (verb == 'w' || verb == 'W') && f != "" {
				r.writes(c, Word{Text: f, Span: w.Span})
			}
			if i := strings.IndexByte(line, ';'); i >= 0 && strings.IndexByte(":btT", verb) >= 0 {
				rest = text[i:]
			}
			text = rest
		case 's', 'y':
			text = r.sedSubstitute(st, text, w, c, at)
		}
	}
}

// sedAddress takes the addresses in front of a command off.
func sedAddress(text string) string {
	for text != "" {
		switch ch := text[0]; {
		case ch >= '0' && ch <= '9', ch == '$', ch == ',', ch == ' ', ch == '~', ch == '+', ch == '!':
			text = text[1:]
		case ch == '/' || ch == '\\' && len(text) > 1:
			if ch == '\\' {
				text = text[1:]
			}
			end := sedEnd(text[1:], text[0])
			if end < 0 {
				return ""
			}
			text = strings.TrimLeft(text[1+end+1:], "IM")
		default:
			return text
		}
	}
	return ""
}

// sedEnd finds the delimiter that isn't escaped.
func sedEnd(text string, delim byte) int {
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' {
			i++
		} else if text[i] == delim {
			return i
		}
	}
	return -1
}

func (r *reader) sedSubstitute(st *state, text string, w Word, c *Command, at place) string {
	if text == "" {
		return ""
	}
	delim := text[0]
	text = text[1:]
	var with, what string
	for part := range 2 {
		end := sedEnd(text, delim)
		if end < 0 {
			return ""
		}
		if part == 1 {
			with = text[:end]
		} else {
			what = text[:end]
		}
		text = text[end+1:]
	}
	flags := text
	if i := strings.IndexAny(text, ";\n}"); i >= 0 {
		flags = text[:i]
	}
	text = text[len(flags):]
	name, file, writes := strings.Cut(flags, "w")
	if strings.Contains(name, "e") {
		with = strings.ReplaceAll(with, `\`+string(delim), string(delim))
		if strings.ContainsAny(with, `&\`) {
			r.text(st.clone(), Word{Text: markUnknown, Span: w.Span}, c, at)
		} else {
			if strings.HasPrefix(what, "^") && !strings.HasSuffix(what, "$") && what != "^.*" { // the rest of the line follows
				with += markSome
			}
			r.commandValue(st.clone(), Word{Text: with, Span: w.Span}, c, false, at)
		}
	}
	if f := strings.TrimSpace(file); writes && f != "" {
		r.writes(c, Word{Text: f, Span: w.Span})
	}
	return text
}
