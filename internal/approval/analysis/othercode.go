package analysis

import (
	"strings"

	"github.com/hermes-runtime/hermes/internal/approval/payload"
)

// otherCode reads the commands in a text of such a language. ok is false for languages that have a scanner.
func (r *reader) otherCode(st *state, text Word, c *Command, at place) (ok bool) {
	forms, ok := otherLanguages()[c.Program]
	if !ok {
		return false
	}
	at.last, at.stdin = false, Stdin{}
	span := text.Span
	for _, cmd := range quotedCalls(text.Text, forms.shell...) {
		r.commandValue(st.clone(), Word{Text: cmd, Span: span}, c, false, at)
	}
	for _, argv := range quotedArgv(text.Text, forms.argv) {
		r.argvValue(st, argv, span, c, at)
	}
	for _, path := range quotedCalls(text.Text, forms.remove...) {
		if c.Program == "groovy" && !strings.Contains(text.Text, "deleteDir") {
			break
		}
		r.removes(st, path, c, at)
	}
	for _, path := range quotedCalls(text.Text, forms.unlink...) {
		r.stands(st, payload.Act{Kind: payload.Delete, Call: "a call that deletes", Args: []payload.Text{{path}}}, deed{c, span}, at)
	}
	for _, suffix := range forms.suffix {
		r.beforeSuffix(st, text, suffix, c, at)
	}
	for _, lead := range forms.words {
		if _, rest, ok := strings.Cut(text.Text, lead+"<"); ok {
			if argv, _, ok := strings.Cut(rest, ">"); ok {
				r.argvValue(st, strings.Fields(argv), span, c, at)
			}
		}
	}
	r.commandLines(st, text, forms.lines, c, at)
	return c.Program != "ipython" // whose other lines are Python's
}

// commandLines runs the lines that begin as commands do.
func (r *reader) commandLines(st *state, text Word, begins []string, c *Command, at place) {
	if len(begins) == 0 {
		return
	}
	for line := range strings.FieldsFuncSeq(text.Text, func(ch rune) bool { return ch == '\n' || ch == ';' && c.Program != "ipython" }) {
		line = strings.TrimSpace(line)
		for _, begin := range begins {
			if rest, ok := strings.CutPrefix(line, begin); ok {
				if strings.HasPrefix(begin, "file delete") {
					r.removes(st, strings.TrimSpace(rest), c, at)
				} else {
					r.commandValue(st.clone(), Word{Text: rest, Span: text.Span}, c, false, at)
				}
				break
			}
		}
	}
}

// argvValue runs words that a program of another language starts.
func (r *reader) argvValue(st *state, argv []string, span Span, c *Command, at place) {
	words := make([]Word, len(argv))
	for i, a := range argv {
		words[i] = Word{Text: a, Span: span}
	}
	if len(words) == 0 {
		return
	}
	at.origin, at.last = origin(c, true), false
	run := st.clone()
	run.funcs = nil
	r.run(run, simple{words: words, span: c.Span, bypass: true}, at)
}

// maxArgv is how many strings of one call are taken for its words.
const maxArgv = 16

// quotedArgv lists, of each call, the quoted strings up to the end of its statement. In C, the first one of execl is the program's path.
func quotedArgv(text string, calls []string) [][]string {
	var out [][]string
	for _, call := range calls {
		for rest := text; ; {
			i := strings.Index(rest, call)
			if i < 0 {
				break
			}
			rest = rest[i+len(call):]
			var argv []string
			for tail := rest; len(argv) < maxArgv; {
				k := strings.IndexAny(tail, "\"'\n;")
				if k < 0 || tail[k] == ';' || tail[k] == '\n' && !strings.HasPrefix(strings.TrimLeft(tail[k:], " \t\n"), ".") {
					break
				}
				if tail[k] == '\n' {
					tail = tail[k+1:]
					continue
				}
				s, after, ok := quotedString(tail[k:])
				if !ok {
					break
				}
				argv, tail = append(argv, s), after
			}
			if strings.HasPrefix(call, "exec") && len(argv) > 2 {
				argv = argv[1:]
			}
			if len(argv) > 0 {
				out = append(out, argv)
			}
		}
	}
	return out
}

// removes makes the deletion of a whole directory visible as the command that would do the same.
func (r *reader) removes(st *state, path string, c *Command, at place) {
	at.origin = origin(c, true)
	at.last = false
	r.run(st.clone(), simple{words: []Word{{Text: "rm", Span: c.Span}, {Text: "-rf", Span: c.Span}, {Text: path, Span: c.Span}}, span: c.Span}, at)
}

// beforeSuffix runs each string that a text calls a method of.
func (r *reader) beforeSuffix(st *state, text Word, suffix string, c *Command, at place) {
	for rest := text.Text; ; {
		i := strings.IndexAny(rest, `"'`)
		if i < 0 {
			return
		}
		s, after, ok := quotedString(rest[i:])
		if !ok {
			return
		}
		if strings.HasPrefix(strings.TrimLeft(after, "]) "), strings.TrimLeft(suffix, " ")) && strings.HasPrefix(after, "]") {
			if k := strings.LastIndexByte(text.Text[:len(text.Text)-len(after)], '['); k >= 0 { // a list of words
				for _, argv := range quotedArgv(text.Text[k:], []string{"["}) {
					r.argvValue(st, argv, text.Span, c, at)
				}
			}
		}
		if strings.HasPrefix(after, suffix) {
			r.commandValue(st.clone(), Word{Text: s, Span: text.Span}, c, false, at)
		}
		rest = after
	}
}
