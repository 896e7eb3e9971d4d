package analysis

import (
	"slices"
	"strings"
	"sync"
)

// interpreter describes how a program finds the text that it runs.
type interpreter struct {
	shell bool
	code  string   // option letters whose value is program text
	long  []string // the same, as long options
	short string   // other letters that take a value
	quiet string   // letters with which the operand is not program text, or nothing runs
}

var shell = interpreter{shell: true, code: "c", short: "oO", quiet: "n"}

// interpreters run a text: an option's value, standard input, or a file.
var interpreters = sync.OnceValue(func() map[string]interpreter {
	return map[string]interpreter{
		"sh": shell, "bash": shell, "dash": shell, "zsh": shell, "ksh": shell, "ash": shell, "mksh": shell, "rbash": shell, "fish": shell,
		"python": {code: "c", short: "WXm", quiet: "m"}, "pypy": {code: "c", short: "WXm", quiet: "m"},
		"perl": {code: "eE", short: "IMmFx"}, "ruby": {code: "e", short: "IrEFCTKx"},
		"node": {code: "ep", long: []string{"eval", "print"}, short: "r"}, "nodejs": {code: "ep", long: []string{"eval", "print"}, short: "r"},
		"php": {code: "r", short: "dfcz"}, "lua": {code: "e", short: "l"}, "deno": {}, "osascript": {code: "e"},
	}
})

// program text of an interpreter.
type program struct {
	word  Word
	kind  programKind
	args  []Word // $1 …
	name  string // $0
	quiet bool
}

type programKind uint8

const (
	fromStdin programKind = iota
	fromOption
	fromFile
)

func findProgram(c *Command, lang interpreter) program {
	p := program{name: c.Program}
	words := c.Words[1:]
	option, stdin := false, false
	for len(words) > 0 {
		text := words[0].Text
		if text == "--" || text == "-" {
			stdin = stdin || text == "-"
			words = words[1:]
			break
		}
		if len(text) < 2 || text[0] != '-' && !(lang.shell && text[0] == '+') {
			break
		}
		flag := parseFlag(text, lang.short+codeLetters(lang), append([]string{"rcfile", "init-file"}, lang.long...))
		word := words[0]
		words = words[1:]
		if strings.ContainsAny(flag.letters, lang.quiet) && lang.quiet != "" {
			p.quiet = true
		}
		if text == "--help" || text == "--version" {
			p.quiet = true
		}
		if lang.shell && strings.Contains(flag.letters, "s") {
			stdin = true
		}
		isCode := flag.name == "" && strings.ContainsAny(flag.letters, lang.code) || slices.Contains(lang.long, flag.name)
		switch {
		case isCode && lang.shell: // the text is the first operand, after all options
			option = true
		case isCode:
			if word.Text = flag.value; flag.wants && len(words) > 0 {
				word, words = words[0], words[1:]
			}
			p.word, p.kind, p.args = word, fromOption, words
			return p
		case flag.wants && len(words) > 0:
			words = words[1:]
		}
	}
	switch {
	case option && len(words) > 0:
		p.word, p.kind, words = words[0], fromOption, words[1:]
		if len(words) > 0 {
			p.name, words = words[0].Text, words[1:]
		}
	case option:
		p.quiet = true
	case len(words) > 0 && !stdin && !words[0].Is("/dev/stdin"):
		p.word, p.kind, words = words[0], fromFile, words[1:]
	}
	p.args = words
	return p
}

// codeLetters are the options whose value follows at once; a shell's -c is no such option.
func codeLetters(lang interpreter) string {
	if lang.shell {
		return ""
	}
	return lang.code
}

// interpreter reads the program text of a shell, and notes where the text of any interpreter comes from.
func (r *reader) interpreter(st *state, c *Command, lang interpreter, at place) output {
	p := findProgram(c, lang)
	if p.quiet {
		return output{}
	}
	sub := st.clone()
	sub.funcs, sub.errexit = nil, false
	sub.args, sub.argsOK, sub.name = p.args, true, p.name
	for _, a := range c.Assigns {
		sub.set(a.Name, variable{vals: a.Value.Values(), from: a.Value.From})
	}
	in := at
	in.stdin = c.Stdin
	var text Word
	switch p.kind {
	case fromOption:
		text = p.word
	case fromFile:
		out, ok := r.processOut[p.word.From]
		if !ok || p.word.From.Empty() {
			return output{} // a file that stands there
		}
		text = Word{Text: markUnknown, From: p.word.From, Span: p.word.Span}
		text.Text = out.value()
	case fromStdin:
		if c.Stdin.Kind != StdinPipe && c.Stdin.Kind != StdinText {
			return output{}
		}
		text = Word{Text: markUnknown, From: c.Stdin.From, Span: c.Span}
		if c.Stdin.Known || c.Stdin.Text != "" {
			text.Text = c.Stdin.Text
		}
		in.stdin = Stdin{}
	}
	r.code(c, text.From)
	if !lang.shell {
		return r.inline(sub, text, c, in)
	}
	return r.text(sub, text, c, in)
}

// code notes which commands an interpreter's program text comes from.
func (r *reader) code(c *Command, from Flow) { r.out.Commands[c.index].Code = from }

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
		vals = join(join(vals, []string{single.String()}), w.Values())
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
	if len(c.Words) < 2 {
		return
	}
	w := c.Words[1]
	out, ok := r.processOut[w.From]
	switch {
	case ok && !w.From.Empty():
		w = Word{Text: out.value(), From: w.From, Span: w.Span}
	case w.Is("/dev/stdin") && c.Stdin.Kind != StdinInherited && c.Stdin.Kind != StdinFile:
		w = Word{Text: c.Stdin.Text, From: c.Stdin.From, Span: w.Span}
	default:
		return
	}
	r.code(c, w.From)
	if !w.From.Empty() && r.initialiser(w.From) {
		return
	}
	r.text(st, w, c, at)
}

// initialisers print shell code that is meant to be evaluated; the row is the beginning of their argv.
var initialisers = [][]string{
	{"ssh-agent"}, {"keychain"}, {"dircolors"}, {"lesspipe"}, {"lesspipe.sh"}, {"direnv", "hook"}, {"direnv", "export"}, {"pyenv", "init"},
	{"pyenv", "virtualenv-init"}, {"rbenv", "init"}, {"nodenv", "init"}, {"goenv", "init"}, {"jenv", "init"}, {"brew", "shellenv"},
	{"starship", "init"}, {"zoxide", "init"}, {"atuin", "init"}, {"fzf", "--bash"}, {"fzf", "--zsh"}, {"conda", "shell.bash"},
	{"conda", "shell.zsh"}, {"conda", "shell.posix"}, {"mamba", "shell"}, {"micromamba", "shell"}, {"fnm", "env"}, {"mise", "activate"},
	{"rtx", "activate"}, {"opam", "env"}, {"minikube", "docker-env"}, {"minikube", "-p"}, {"docker-machine", "env"},
	{"kubectl", "completion"}, {"helm", "completion"}, {"gh", "completion"}, {"npm", "completion"}, {"pip", "completion"},
	{"pip3", "completion"}, {"docker", "completion"}, {"thefuck", "--alias"}, {"luarocks", "path"}, {"poetry", "env"},
	{"register-python-argcomplete"}, {"resize"}, {"gpgconf", "--launch"}, {"perl", "-I"}, {"guix", "package"}, {"vcpkg", "env"},
}

// initialiser tells whether all commands of a flow print shell code by trade.
func (r *reader) initialiser(f Flow) bool {
	cmds := r.out.Commands[f.Start:min(f.End, len(r.out.Commands))]
	return len(cmds) > 0 && !slices.ContainsFunc(cmds, func(c Command) bool {
		return !slices.ContainsFunc(initialisers, func(row []string) bool {
			if c.Program != row[0] || len(c.Words) < len(row) {
				return false
			}
			for i := 1; i < len(row); i++ {
				if !c.Words[i].Is(row[i]) {
					return false
				}
			}
			return true
		})
	})
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
	script, err := Parse(maskMarks.Replace(text))
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
