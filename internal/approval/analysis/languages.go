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
	case "awk", "gawk", "mawk", "nawk", "original-awk":
		return awk
	case "sed", "gsed":
		return sed
	case "make", "gmake", "bmake":
		return makeRuns
	case "sqlite3", "sqlite", "psql", "mysql", "mariadb", "ftp", "sftp", "lftp", "telnet", "mail", "mailx", "ed", "bc", "dc", "less", "more", "man":
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

// gitConfigRuns are configuration keys whose value git runs; a * stands for any name.
var gitConfigRuns = []string{"core.pager", "core.editor", "core.sshcommand", "core.fsmonitor", "core.askpass", "core.gitproxy", "sequence.editor",
	"diff.external", "diff.*.command", "diff.*.textconv", "difftool.*.cmd", "mergetool.*.cmd", "merge.*.driver", "filter.*.clean", "filter.*.smudge",
	"filter.*.process", "gpg.program", "gpg.*.program", "pager.*", "browser.*.cmd", "man.*.cmd", "interactive.difffilter", "uploadpack.packobjectshook",
	"sendemail.sendmailcmd", "trailer.*.command", "remote.*.uploadpack", "remote.*.receivepack", "credential.helper", "credential.*.helper", "alias.*"}

// gitConfig reads the value of a configuration key that git runs.
func (r *reader) gitConfig(st *state, key string, value Word, c *Command, at place) {
	key = strings.ToLower(key)
	if key == "core.hookspath" {
		r.loads(st, value.Text, value, c, true)
		return
	}
	if !slices.ContainsFunc(gitConfigRuns, func(k string) bool {
		head, tail, wild := strings.Cut(k, "*")
		return key == k || wild && strings.HasPrefix(key, head) && strings.HasSuffix(key, tail) && len(key) > len(head)+len(tail)
	}) {
		return
	}
	if strings.HasPrefix(key, "alias.") || strings.HasSuffix(key, "helper") {
		rest, ok := strings.CutPrefix(value.Text, "!")
		if !ok {
			if strings.HasPrefix(key, "alias.") { // a git command of its own
				at.origin = origin(c, false)
				words := append([]Word{c.Words[0]}, splitWords(value)...)
				if len(words) > 1 && !strings.Contains(value.Text, "alias.") {
					r.run(st, simple{words: words, span: c.Span}, at)
				}
			}
			return
		}
		value.Text = rest
	}
	if value.Is("true") || value.Is("false") || value.Is("1") || value.Is("0") {
		return
	}
	r.commandValue(st, value, c, false, at)
}

// gitRuns reads the commands that git's options and verbs hold.
func gitRuns(r *reader, st *state, c *Command, at place) {
	sub := st.clone()
	sub.funcs = nil
	words, i := c.Words[1:], 0
	for i < len(words) && len(words[i].Text) > 1 && words[i].Text[0] == '-' {
		switch text := words[i].Text; {
		case text == "-c" && i+1 < len(words):
			i++
			if key, value, ok := strings.Cut(words[i].Text, "="); ok {
				r.gitConfig(sub, key, Word{Text: value, Span: words[i].Span}, c, at)
			}
		case text == "-C" && i+1 < len(words):
			i++
			r.moveTo(sub, words[i].Values())
			sub.failed = nil
		case oneOf(words[i], "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env", "--super-prefix"):
			i++
		}
		i++
	}
	if i >= len(words) {
		return
	}
	verb, rest := words[i].Text, words[i+1:]
	switch verb {
	case "rebase":
		r.valuesOf(sub, c, rest, "x", "exec", at)
	case "grep":
		r.valuesOf(sub, c, rest, "O", "open-files-in-pager", at)
	case "difftool", "mergetool":
		r.valuesOf(sub, c, rest, "x", "extcmd", at)
	case "clone", "fetch", "pull", "ls-remote", "archive", "push":
		r.valuesOf(sub, c, rest, map[string]string{"clone": "u"}[verb], "upload-pack receive-pack exec", at)
		for _, w := range rest {
			if cmd, ok := strings.CutPrefix(w.Text, "ext::"); ok { // "% " is a space inside a word
				cmd = strings.ReplaceAll(strings.ReplaceAll(cmd, "% ", "\x01"), " ", "' '")
				r.commandValue(sub, Word{Text: "'" + strings.ReplaceAll(cmd, "\x01", " ") + "'", Span: w.Span}, c, false, at)
			}
		}
	case "filter-branch":
		r.valuesOf(sub, c, rest, "", "setup env-filter tree-filter index-filter parent-filter msg-filter commit-filter tag-name-filter", at)
	case "submodule":
		if k := slices.IndexFunc(rest, func(w Word) bool { return w.Is("foreach") }); k >= 0 {
			r.restOf(sub, c, rest[k+1:], at)
		}
	case "bisect":
		if len(rest) > 1 && rest[0].Is("run") {
			at.origin = origin(c, false)
			r.run(sub, simple{words: rest[1:], span: c.Span}, at)
		}
	case "config":
		operands := slices.DeleteFunc(slices.Clone(rest), func(w Word) bool { return len(w.Text) > 1 && w.Text[0] == '-' || w.Is("set") })
		if len(operands) > 1 {
			r.gitConfig(sub, operands[0].Text, operands[1], c, at)
		}
	}
}

// restOf runs words behind options: one word is a shell's text.
func (r *reader) restOf(st *state, c *Command, words []Word, at place) {
	for len(words) > 0 && len(words[0].Text) > 1 && words[0].Text[0] == '-' {
		words = words[1:]
	}
	r.given(st, words, c, at)
}

// valuesOf reads the values of a short option and of long options as commands.
func (r *reader) valuesOf(st *state, c *Command, words []Word, short, long string, at place) {
	row := &optionRun{short: short, long: long, names: strings.TrimSpace(short + " " + long)}
	as := *c
	as.Words = append([]Word{c.Words[0]}, words...)
	r.optionRun(st, &as, row, at)
}

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
		case (text == "-c" || text == "--cmd") && i+1 < len(words):
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
	for _, p := range [...]string{"py3 ", "python3 ", "python ", "py "} {
		if rest, ok := strings.CutPrefix(text, p); ok {
			as := *c
			as.Program = "python"
			r.inline(st.clone(), Word{Text: rest, Span: w.Span}, &as, at)
		}
	}
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
		for _, call := range quotedCalls(w.Text, "(shell-command ", "(shell-command-to-string ", "(async-shell-command ", "(start-process-shell-command ", "(compile ") {
			r.commandValue(st.clone(), Word{Text: call, Span: w.Span}, c, false, at)
		}
		for _, path := range quotedCalls(w.Text, "(delete-directory ") {
			r.removes(st, path, c, at)
		}
		for _, path := range quotedCalls(w.Text, "(delete-file ") {
			at.origin = origin(c, true)
			r.run(st.clone(), simple{words: []Word{{Text: "rm"}, {Text: path, Span: w.Span}}, span: w.Span}, at)
		}
	}
}

// makeRuns reads recipes that make is given as text, and the shell that it is told to use.
func makeRuns(r *reader, st *state, c *Command, at place) {
	sub := st.clone()
	sub.funcs = nil
	args := c.Args(Grammar{Short: "CfIjloW", Long: []string{"directory", "file", "makefile", "eval", "include-dir", "jobs", "old-file", "what-if"}})
	for _, w := range slices.Concat(args.Values["C"], args.Values["directory"]) {
		r.moveTo(sub, w.Values())
		sub.failed = nil
	}
	if args.Has("n") || args.Long("dry-run", 3) || args.Long("just-print", 4) || args.Long("recon", 3) {
		return
	}
	for _, w := range args.Values["eval"] {
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
	for _, w := range args.Operands {
		if value, ok := strings.CutPrefix(w.Text, "SHELL="); ok {
			r.commandValue(sub, Word{Text: value, Span: w.Span}, c, true, at)
		}
	}
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

// makefile reads the recipe lines of a makefile's text.
func (r *reader) makefile(st *state, w Word, c *Command, at place) {
	var recipe []string
	for line := range strings.Lines(w.Text) {
		line = strings.TrimRight(line, "\n")
		if rest, ok := strings.CutPrefix(line, "\t"); ok {
			recipe = append(recipe, strings.ReplaceAll(strings.TrimLeft(rest, "@-+ "), "$$", "$"))
		} else if _, rest, ok := strings.Cut(line, ";"); ok && strings.Contains(line, ":") {
			recipe = append(recipe, strings.ReplaceAll(strings.TrimLeft(rest, "@-+ "), "$$", "$"))
		} else {
			for _, cmd := range parenthesised(line, "$(shell ") {
				recipe = append(recipe, cmd)
			}
		}
	}
	if len(recipe) > 0 {
		r.text(st.clone(), Word{Text: strings.Join(recipe, "\n"), Span: w.Span}, c, at)
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
