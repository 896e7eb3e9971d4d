package analysis

import (
	"slices"
	"strings"
	"sync"
)

// interpreter describes how a program finds the text that it runs.
type interpreter struct {
	shell    bool
	name     string // what its language's scanner knows it by, when that isn't its own name
	verb     string // a word in front of the program text: eval
	code     string // option letters whose value is program text
	long     string // the same, as long options; of one dash too
	short    string // other letters that take a value
	attached string // letters that take the rest of their word, if there is one
	valued   string // long options that take a value
	quiet    string // letters and long options with which nothing runs, or the operand is no program text
	rest     bool   // all words behind the option are program text, joined
	options  bool   // program text comes by option only: an operand is data
}

var shell = interpreter{shell: true, code: "c", long: "command commands init-command", short: "oO", valued: "rcfile init-file", quiet: "nD dump-strings dump-po-strings"}

// interpreters run a text: an option's value, standard input, or a file. Options are from the programs' manuals.
var interpreters = sync.OnceValue(func() map[string]interpreter {
	node := interpreter{name: "node", code: "ep", long: "eval print", short: "rC", valued: "require import loader experimental-loader input-type conditions env-file title", quiet: "c check"}
	python := interpreter{name: "python", code: "c", short: "WXm", quiet: "m", valued: "check-hash-based-pycs"}
	ruby := interpreter{name: "ruby", code: "e", short: "ICrE", attached: "ixlFKT0W", quiet: "c", valued: "encoding external-encoding internal-encoding disable enable"}
	power := interpreter{name: "pwsh", long: "c command", valued: "file executionpolicy ep workingdirectory wd version inputformat outputformat windowstyle " +
		"configurationname custompipename settingsfile", rest: true}
	all := map[string]interpreter{
		"python": python, "pypy": python, "ipython": python, "bpython": python, "jython": python, "micropython": python, "pythonw": python, "sage": python,
		"perl": {code: "eE", short: "IMm", attached: "ilxCdDF0V", quiet: "cv"}, "ruby": ruby, "jruby": ruby, "truffleruby": ruby, "irb": ruby,
		"node": node, "nodejs": node, "tsx": node, "ts-node": node, "electron": node, "qjs": {name: "node", code: "e", long: "eval"},
		"bun": {name: "node", code: "ep", long: "eval print", short: "r"}, "deno": {name: "node", verb: "eval", valued: "import-map config"}, "zx": {name: "node", long: "eval", code: "e"},
		"php": {code: "rBRE", long: "run process-begin process-code process-end", short: "dfcztS", quiet: "liv"}, "php-cgi": {name: "php", short: "dfcz"},
		"lua": {code: "e", short: "l"}, "luajit": {name: "lua", code: "e", short: "lj"}, "osascript": {code: "e", short: "ls"},
		"pwsh": power, "powershell": power, "R": {code: "e", short: "fg", valued: "file encoding gui", options: true}, "Rscript": {name: "R", code: "e", valued: "default-packages"},
		"julia":   {code: "eEL", long: "eval print", short: "JptCLm", valued: "project sysimage threads"},
		"mongosh": {name: "node", long: "eval", options: true}, "mongo": {name: "node", long: "eval", options: true},
		"blender": {name: "python", long: "python-expr", options: true}, "rails": {name: "ruby", verb: "runner r"}, "tcc": {},
	}
	for name, lang := range otherInterpreters() {
		all[name] = lang
	}
	for name := range strings.FieldsSeq("sh bash dash zsh ksh ash mksh rbash fish ksh93 pdksh oksh yash posh csh tcsh elvish xonsh nu hush rzsh") {
		all[name] = shell
	}
	return all
})

// program text of an interpreter.
type program struct {
	words []Word // texts, each a program or all of one
	kind  programKind
	args  []Word // $1 …
	name  string // $0
	quiet bool
	init  []Word // files that are read first
}

type programKind uint8

const (
	fromStdin programKind = iota
	fromOption
	fromFile
)

// findProgram parses an interpreter's arguments by its option rules.
func findProgram(c *Command, lang interpreter) program {
	p := program{name: c.Program}
	words := c.Words[1:]
	option, stdin := false, false
	verb := lang.verb
loop:
	for len(words) > 0 {
		text := words[0].Text
		switch {
		case text == "--" || text == "-":
			stdin = stdin || text == "-"
			words = words[1:]
			break loop
		case verb != "" && has(verb, text):
			verb, words, option = "", words[1:], true
			if len(words) > 0 && len(words[0].Text) > 1 && words[0].Text[0] == '-' {
				continue
			}
			option = true
			break loop
		case !lang.shell && strings.HasPrefix(strings.TrimPrefix(text, "-"), "("): // an expression as it is
			word := words[0]
			word.Text = strings.TrimPrefix(text, "-")
			p.words, p.kind, words = append(p.words, word), fromOption, words[1:]
			continue
		case lang.options && text != "" && text[0] != '-' && slices.ContainsFunc(words, lang.hasCode): // a word of an option that isn't listed
			words = words[1:]
			continue
		case len(text) < 2 || text[0] != '-' && !(lang.shell && text[0] == '+') && !(text[0] == '/' && lang.rest):
			break loop
		}
		f := lang.flag(text)
		word := words[0]
		words = words[1:]
		p.quiet = p.quiet || f.quiet || text == "--help" || text == "--version" || len(c.Words) == 2 && oneOf(word, "-V", "-v", "-h")
		stdin = stdin || lang.shell && f.stdin
		value := word
		value.Text, value.Alts = f.value, nil
		if f.wants && len(words) > 0 {
			value, words = words[0], words[1:]
		}
		switch {
		case f.encoded:
			p.words, p.kind = []Word{decoded(value)}, fromOption
			return p
		case f.code && f.given:
			p.words, p.kind, p.args = []Word{value}, fromOption, words
			return p
		case f.code && lang.shell: // the text is the first operand, after all options
			option = true
		case f.code && lang.rest:
			if value.Text == "-" {
				stdin = true
				break loop
			}
			p.words, p.kind = append([]Word{value}, words...), fromOption
			return p
		case f.code:
			p.words, p.kind, p.args = append(p.words, value), fromOption, words
		case f.init:
			p.init = append(p.init, value)
		case f.file && value.Is("-"):
			stdin = true
			break loop
		case f.file:
			p.words, p.kind = []Word{value}, fromFile
			return p
		}
	}
	if len(p.words) == 0 {
		p.operand(words, lang, leftover{verb, option, stdin})
	}
	return p
}

// hasCode tells whether a word is an option whose value is program text.
func (lang interpreter) hasCode(w Word) bool {
	return len(w.Text) > 1 && w.Text[0] == '-' && lang.flag(w.Text).code
}

// leftover is what an interpreter's options leave open: a verb that wasn't given, a -c whose text comes later, a wish for standard input.
type leftover struct {
	verb          string
	option, stdin bool
}

// operand finds the program text among the words behind the options.
func (p *program) operand(words []Word, lang interpreter, left leftover) {
	switch {
	case left.verb != "" && lang.verb == "eval" && len(words) > 0 && words[0].Is("run"): // deno run FILE
		words = words[1:]
		for len(words) > 0 && len(words[0].Text) > 1 && words[0].Text[0] == '-' {
			words = words[1:]
		}
		if len(words) > 0 && !words[0].Is("-") {
			p.words, p.kind, words = words[:1], fromFile, words[1:]
		}
	case left.option && len(words) > 0:
		p.words, p.kind, words = words[:1], fromOption, words[1:]
		if len(words) > 0 && lang.shell {
			p.name, words = words[0].Text, words[1:]
		}
	case p.name == "powershell" && len(words) > 0 && !strings.HasSuffix(words[0].Text, ".ps1"): // Windows' own takes words as a command
		p.words, p.kind, words = words, fromOption, nil
	case left.option, lang.options && len(words) > 0, left.verb == "runner r":
		p.quiet = true
	case len(words) > 0 && !left.stdin && !oneOf(words[0], "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"):
		p.words, p.kind, words = words[:1], fromFile, words[1:]
	}
	p.args = words
}

// langFlag is one option word of an interpreter.
type langFlag struct {
	value   string
	wants   bool
	code    bool // its value is program text
	quiet   bool
	stdin   bool
	encoded bool // its value is program text in base64
	init    bool
	file    bool
	given   bool // a shell's program text is the option's own value
}

func (lang interpreter) flag(text string) (f langFlag) {
	if lang.rest {
		return powerFlag(text, lang)
	}
	letters, long, _ := strings.Cut(lang.quiet, " ")
	name, value, attached := strings.Cut(strings.TrimLeft(text, "-"), "=")
	if before, after, ok := strings.Cut(name, ":"); ok && has(lang.long, before) {
		name, value, attached = before, after, true
	}
	if strings.HasPrefix(text, "--") || len(name) > 1 && (has(lang.long, name) || lang.valued != "" && has(lang.valued, name)) && !lang.shell {
		f.value, f.code, f.given = value, has(lang.long, name), lang.shell
		f.wants = !attached && (f.code || has(lang.valued, name))
		f.quiet, f.init = has(long, name), lang.shell && (name == "rcfile" || name == "init-file")
		return f
	}
	for i := 1; i < len(text); i++ {
		ch := text[i]
		f.quiet = f.quiet || strings.IndexByte(letters, ch) >= 0
		switch {
		case strings.IndexByte(lang.code, ch) >= 0 && lang.shell:
			f.code = true
		case strings.IndexByte(lang.code, ch) >= 0:
			f.code, f.value = true, text[i+1:]
			f.wants = f.value == ""
			return f
		case strings.IndexByte(lang.attached, ch) >= 0:
			if rest := text[i+1:]; ch == 'i' && rest != "" || strings.IndexByte("xFDV", ch) >= 0 {
				return f
			}
		case strings.IndexByte(lang.short, ch) >= 0:
			f.value = text[i+1:]
			f.wants = f.value == ""
			f.file = ch == 'f' && strings.Contains(lang.code, "r") // php -f
			return f
		case lang.shell && ch == 's':
			f.stdin = true
		}
	}
	return f
}

// interpreter reads the program text of a shell, gives that of another language to its scanner, and notes where it comes from.
func (r *reader) interpreter(st *state, c *Command, lang interpreter, at place) output {
	p := findProgram(c, lang)
	if lang.name == "python" {
		p = pythonModule(c, p)
	}
	if p.quiet {
		r.pythonRuns(st, c, lang, at)
		return output{}
	}
	r.imported(st, p, c, at)
	sub := st.clone()
	sub.funcs, sub.errexit = r.exported, false
	sub.args, sub.argsOK, sub.name = p.args, true, p.name
	for _, a := range c.Assigns {
		sub.set(a.Name, variable{vals: a.Value.Values(), from: a.Value.From})
	}
	in := at
	in.stdin = c.Stdin
	for _, w := range p.init {
		r.sourced(sub, w, c, in)
	}
	switch p.kind {
	case fromOption:
		return r.runTexts(sub, p.words, c, lang, in)
	case fromFile:
		w := p.words[0]
		if body, ok := descriptor(st, c, w); ok {
			return r.runTexts(sub, []Word{body}, c, lang, in)
		}
		out, ok := r.processOut[w.From]
		if !ok || w.From.Empty() {
			r.follow(sub, w, c, lang, in)
			return output{}
		}
		return r.runTexts(sub, []Word{{Text: out.value(), From: w.From, Span: w.Span}}, c, lang, in)
	}
	in.stdin = Stdin{}
	switch c.Stdin.Kind {
	case StdinFile:
		if own := slices.ContainsFunc(c.Redirects, func(red Redirect) bool { return red.Op == "<" }); in.inside != nil && !own { // opened outside
			if out := r.contents(&Command{Dirs: []string{r.in.Dir}}, []string{c.Stdin.File.Text}); out.known {
				return r.runTexts(sub, []Word{{Text: out.text, Span: c.Stdin.File.Span}}, c, lang, in)
			}
		}
		r.follow(sub, c.Stdin.File, c, lang, in)
		return output{}
	case StdinPipe, StdinText:
		text := Word{Text: markUnknown, From: c.Stdin.From, Span: c.Span}
		if c.Stdin.Known || c.Stdin.Text != "" {
			text.Text = c.Stdin.Text
		}
		r.ranFlow(c, text.From)
		return r.runTexts(sub, []Word{text}, c, lang, in)
	}
	return output{}
}

// descriptor is what stands behind a path such as /dev/fd/3, when a redirect of the command says so.
func descriptor(st *state, c *Command, w Word) (Word, bool) {
	n, ok := strings.CutPrefix(w.Text, "/dev/fd/")
	if !ok {
		n, ok = strings.CutPrefix(w.Text, "/proc/self/fd/")
	}
	if !ok || n == "63" {
		return Word{}, false
	}
	if behind, ok := st.fds[n]; ok && (behind.Kind == StdinPipe || behind.Kind == StdinText) {
		return Word{Text: output{behind.Text, behind.Known}.value(), From: behind.From, Span: w.Span}, true
	}
	for _, red := range c.Redirects {
		if red.fd == n && strings.HasPrefix(red.Op, "<<") {
			return red.Target, true
		}
	}
	return Word{}, false
}

// runTexts reads program texts in an interpreter's language.
func (r *reader) runTexts(st *state, texts []Word, c *Command, lang interpreter, at place) output {
	from := texts[0].From
	for _, t := range texts[1:] {
		from = either(from, t.From)
	}
	r.code(c, from)
	if lang.shell {
		return r.text(st, texts[0], c, at)
	}
	as := *c
	switch {
	case c.Program == "osascript" && slices.ContainsFunc(c.Words, func(w Word) bool { return w.Is("JavaScript") }):
		as.Program = "jxa" // AppleScript's calls in JavaScript
	case lang.name != "":
		as.Program = lang.name
	}
	if lang.rest {
		joined, parts := texts[0], make([]string, len(texts))
		for i, t := range texts {
			parts[i] = t.Text
		}
		joined.Text = strings.Join(parts, " ")
		texts = []Word{joined}
	}
	var out output
	for _, t := range texts {
		if !Known(leadMark(strings.TrimSpace(t.Text))) && strings.TrimSpace(t.Text) != "" {
			r.codeNote(t.Span, "the program text that "+c.Program+" is given is only known when the command runs", c)
			continue
		}
		r.lineCommands(st, t, c, at)
		out = r.inline(st, t, &as, at)
	}
	return out
}

// pythonModule finds program text that python's modules take: timeit's operands, what pdb and profilers run.
func pythonModule(c *Command, p program) program {
	words := c.Words[1:]
	if i := slices.IndexFunc(words, func(w Word) bool { return w.Is("-m") }); i >= 0 && p.quiet && i+1 < len(words) {
		if words[i+1].Is("IPython") {
			as := *c
			as.Words = append([]Word{c.Words[0]}, words[i+2:]...)
			return findProgram(&as, interpreters()["ipython"])
		}
		if !words[i+1].Is("timeit") {
			return p
		}
		p.quiet, p.kind, p.words = false, fromOption, nil
		for k := i + 2; k < len(words); k++ {
			switch {
			case oneOf(words[k], "-s", "--setup") && k+1 < len(words):
				k++
				p.words = append(p.words, words[k])
			case oneOf(words[k], "-n", "-r", "-u"):
				k++
			case !strings.HasPrefix(words[k].Text, "-"):
				p.words = append(p.words, words[k])
			}
		}
		p.quiet = len(p.words) == 0
		return p
	}
	return p
}
