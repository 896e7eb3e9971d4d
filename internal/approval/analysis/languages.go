package analysis

import (
	"slices"
	"strings"
)

// ownLanguage gives what reads the commands in a program's own language, nil for programs without one.
func ownLanguage(program string) func(*reader, *state, *Command, place) {
	switch program {
	case "git":
		return gitRuns
	case "gdb", "lldb":
		return debugger
	case "vim", "vi", "nvim", "view", "ex", "gvim", "vimdiff", "rvim":
		return viEditor
	case "emacs", "emacsclient":
		return emacs
	case "awk", "gawk", "mawk", "nawk", "original-awk", "goawk", "frawk":
		return awk
	case "sed", "gsed":
		return sed
	case "make", "gmake", "bmake":
		return makeRuns
	case "sqlite3", "sqlite", "duckdb", "psql", "mysql", "mariadb", "ftp", "sftp", "lftp", "telnet", "mail", "mailx", "ed", "bc", "dc", "less", "more", "man":
		return escapes
	case "socat":
		return socat
	case "nmap":
		return nmap
	case "expect":
		return expect
	case "export", "declare", "typeset", "readonly":
		return exported
	case "crontab":
		return crontab
	case "aws":
		return systemsManager
	}
	return nil
}

// quotedCalls lists the first argument of each call in a text that is a quoted string.
func quotedCalls(text string, calls ...string) []string {
	var out []string
	for _, call := range calls {
		for rest := text; ; {
			i := strings.Index(rest, call)
			if i < 0 {
				break
			}
			rest = strings.TrimLeft(rest[i+len(call):], " \t[")
			if rest == "" || rest[0] != '"' && rest[0] != '\'' {
				continue
			}
			if s, _, ok := quotedString(rest); ok {
				out = append(out, s)
			}
		}
	}
	return out
}

// quotedString reads the quoted string that text begins with, with backslash escapes, and returns what follows it.
func quotedString(text string) (s, rest string, ok bool) {
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == text[0]:
			return b.String(), text[i+1:], true
		case text[i] == '\\' && i+1 < len(text):
			i++
			switch text[i] {
			case 'n':
				b.WriteByte('\n')
			case 't':
				b.WriteByte('\t')
			case 'r':
				b.WriteByte('\r')
			default:
				b.WriteByte(text[i])
			}
		default:
			b.WriteByte(text[i])
		}
	}
	return "", "", false
}

// makeRuns reads recipes that make is given as text, and the shell that it is told to use.
func makeRuns(r *reader, st *state, c *Command, at place) {
	sub := st.clone()
	sub.funcs = nil
	args := c.Args(Grammar{Short: "CfIjloWE", Long: []string{"directory", "file", "makefile", "eval", "include-dir", "jobs", "old-file", "what-if"}})
	for _, w := range slices.Concat(args.Values["C"], args.Values["directory"]) {
		r.moveTo(sub, w.Values())
		sub.failed = nil
	}
	if args.Has("n") || args.Long("dry-run", 3) || args.Long("just-print", 4) || args.Long("recon", 3) {
		return
	}
	for _, w := range slices.Concat(args.Values["eval"], args.Values["E"]) {
		r.makefile(sub, w, c, at)
	}
	for _, w := range slices.Concat(args.Values["f"], args.Values["file"], args.Values["makefile"]) {
		switch out, ok := r.processOut[w.From]; {
		case ok && !w.From.Empty():
			r.makefile(sub, Word{Text: out.text, Span: w.Span}, c, at)
		case w.Is("-") || w.Is("/dev/stdin"):
			r.makefile(sub, Word{Text: c.Stdin.Text, Span: c.Span}, c, at)
		default:
			r.makeFile(sub, w, c, at)
		}
	}
	if len(args.Values["f"])+len(args.Values["file"])+len(args.Values["makefile"]) == 0 {
		for _, name := range [...]string{"GNUmakefile", "makefile", "Makefile"} {
			r.makeFile(sub, Word{Text: name, Span: c.Span}, c, at)
		}
	}
	settings := args.Operands
	for _, a := range c.Assigns {
		settings = append(settings, Word{Text: a.Name + "=" + a.Value.Text, Span: a.Value.Span})
	}
	for _, w := range settings {
		name, value, ok := strings.Cut(w.Text, "=")
		switch {
		case !ok:
		case name == "SHELL":
			r.commandValue(sub, Word{Text: value, Span: w.Span}, c, true, at)
		case name == ".SHELLFLAGS":
			words := splitWords(Word{Text: value, Span: w.Span})
			r.argvValue(sub, append([]string{"sh"}, texts(words)...), w.Span, c, at)
		case strings.ContainsAny(value, " ;") && r.known(firstField(value)): // a program's name, which recipes run
			r.commandValue(sub, Word{Text: value, Span: w.Span}, c, false, at)
		}
	}
}

func texts(words []Word) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w.Text
	}
	return out
}

func firstField(text string) string {
	if f := strings.Fields(text); len(f) > 0 {
		return f[0]
	}
	return ""
}

// makeFile reads a makefile that the session brought.
func (r *reader) makeFile(st *state, w Word, c *Command, at place) {
	f, ok := r.fileAt(Join(st.dirs[0], w.Text))
	switch {
	case !ok:
	case f.origin == FileDownloaded:
		r.ranFileAt(st, w, c)
	case f.known:
		r.makefile(st, Word{Text: f.text, Span: w.Span}, c, at)
	}
}

func parenthesised(text, open string) []string {
	var out []string
	for {
		i := strings.Index(text, open)
		if i < 0 {
			return out
		}
		text = text[i+len(open):]
		depth, end := 1, len(text)
		for k := range len(text) {
			if text[k] == '(' {
				depth++
			} else if text[k] == ')' {
				if depth--; depth == 0 {
					end = k
					break
				}
			}
		}
		out = append(out, text[:end])
	}
}

// exported reads what an exported variable makes other programs run.
func exported(r *reader, st *state, c *Command, at place) {
	for _, w := range c.Words[1:] {
		if name, value, ok := strings.Cut(w.Text, "="); ok {
			r.variableSet(st, name, Word{Text: value, Span: w.Span, From: w.From}, c, at)
		}
	}
}

// crontab reads the commands of a table that is given as text.
func crontab(r *reader, st *state, c *Command, at place) {
	if !slices.ContainsFunc(c.Words[1:], func(w Word) bool { return oneOf(w, "-", "/dev/stdin") }) && c.Stdin.Kind != StdinText || !c.Stdin.Known {
		return
	}
	home := st.clone()
	home.funcs, home.dirs = nil, r.home(st)
	for line := range strings.Lines(c.Stdin.Text) {
		line = strings.TrimSpace(line)
		n := 5
		if strings.HasPrefix(line, "@") {
			n = 1
		}
		for range n {
			_, line, _ = strings.Cut(strings.TrimLeft(line, " \t"), " ")
		}
		if line != "" {
			r.text(home.clone(), Word{Text: line, Span: c.Span}, c, at)
		}
	}
}
