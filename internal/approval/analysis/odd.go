package analysis

import (
	"slices"
	"strings"
)

// Carriers whose command stands behind a word of their own, or in a text of their own form.

// afterWord runs what stands behind one of the words: rvm VERSION do COMMAND.
func afterWord(words ...string) func(*reader, *state, *Command, place) {
	return func(r *reader, st *state, c *Command, at place) {
		i := slices.IndexFunc(c.Words, func(w Word) bool { return oneOf(w, words...) })
		if i < 1 || i+1 >= len(c.Words) {
			return
		}
		r.runWords(st, c.Words[i+1:], c, at)
	}
}

// runWords runs words as a command of its own.
func (r *reader) runWords(st *state, words []Word, c *Command, at place) {
	at.origin, at.last = origin(c, false), false
	run := st.clone()
	run.funcs = nil
	r.run(run, simple{words: words, span: c.Span}, at)
}

// cmakeTool runs the command of cmake -E env, time and chdir.
func cmakeTool(r *reader, st *state, c *Command, at place) {
	if len(c.Words) > 2 && c.Words[1].Is("-P") {
		if text, ok := r.programFile(st, c.Words[2], c); ok {
			r.cmakeScript(st, text, c, at)
		}
		return
	}
	if len(c.Words) < 4 || !c.Words[1].Is("-E") {
		return
	}
	words := c.Words[3:]
	switch c.Words[2].Text {
	case "time":
	case "chdir":
		st = st.clone()
		r.moveTo(st, words[0].Values())
		words = words[1:]
	case "env":
		for len(words) > 0 && (strings.HasPrefix(words[0].Text, "--") || strings.Contains(words[0].Text, "=")) {
			words = words[1:]
		}
	default:
		return
	}
	if len(words) > 0 {
		r.runWords(st, words, c, at)
	}
}

// cmakeScript reads what a script of CMake's runs and deletes.
func (r *reader) cmakeScript(st *state, text Word, c *Command, at place) {
	for _, call := range parenthesised(text.Text, "execute_process(") {
		_, cmd, _ := strings.Cut(call, "COMMAND ")
		r.commandValue(st.clone(), Word{Text: cmd, Span: text.Span}, c, false, at)
	}
	for _, call := range parenthesised(text.Text, "file(") {
		if paths, ok := strings.CutPrefix(call, "REMOVE_RECURSE "); ok {
			r.argvValue(st, append([]string{"rm", "-rf"}, strings.Fields(strings.ReplaceAll(paths, `"`, ""))...), text.Span, c, at)
		}
	}
}

// nixRun runs the program that a package is named after: nix run nixpkgs#busybox -- ARGUMENTS.
func nixRun(r *reader, st *state, c *Command, at place) {
	if len(c.Words) < 3 || !c.Words[1].Is("run") {
		return
	}
	i := firstOperand(c.Words[2:], "fIA")
	if i < 0 {
		return
	}
	words := slices.Clone(c.Words[2+i:])
	name := words[0].Text[strings.IndexByte(words[0].Text, '#')+1:]
	words[0].Text, words[0].Alts = name[strings.LastIndexByte(name, '.')+1:], nil
	if len(words) > 1 && words[1].Is("--") {
		words = append(words[:1], words[2:]...)
	}
	r.runWords(st, words, c, at)
}

// windowManager runs what i3-msg and swaymsg are told to execute.
func windowManager(r *reader, st *state, c *Command, at place) {
	args := c.Args(Grammar{Short: "st"})
	for _, part := range strings.FieldsFunc(strings.Join(texts(args.Operands), " "), func(ch rune) bool { return ch == ';' }) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(part), "exec "); ok {
			r.text(elsewhere(st), Word{Text: strings.TrimPrefix(strings.TrimSpace(rest), "--no-startup-id "), Span: c.Span}, c, at)
		}
	}
}

// typist reads the text that a program types into whatever has the focus, or into a terminal.
func typist(verb string) func(*reader, *state, *Command, place) {
	return func(r *reader, st *state, c *Command, at place) {
		i := slices.IndexFunc(c.Words, func(w Word) bool { return w.Is(verb) })
		if i < 0 && verb != "" {
			return
		}
		for _, w := range c.Words[max(i, 0)+1:] {
			if !strings.HasPrefix(w.Text, "-") {
				w.Text = strings.NewReplacer(`\n`, "\n", `\r`, "\n", "\r", "\n").Replace(w.Text)
				r.typed(st, w, c, at)
			}
		}
	}
}

// denoRun runs what deno run is given: a package, or a program from the network.
func denoRun(r *reader, st *state, c *Command, at place) {
	if len(c.Words) < 3 || !oneOf(c.Words[1], "run", "install", "serve") {
		return
	}
	i := firstOperand(c.Words[2:], "LcrW")
	if i < 0 {
		return
	}
	words := slices.Clone(c.Words[2+i:])
	switch name, isPackage := strings.CutPrefix(words[0].Text, "npm:"); {
	case isPackage:
		words[0].Text, _, _ = strings.Cut(strings.TrimPrefix(name, "/"), "@")
		r.runWords(st, words, c, at)
	case strings.HasPrefix(words[0].Text, "http://"), strings.HasPrefix(words[0].Text, "https://"):
		r.codeNote(words[0].Span, "a program from the network is run: "+Show(words[0].Text), c)
	}
}

// scriptRunners run a tool of a project by its name alone.
func scriptRunner(r *reader, st *state, c *Command, at place) {
	if len(c.Words) > 2 && oneOf(c.Words[1], "rimraf", "del-cli", "shx", "trash-cli") {
		r.runWords(st, c.Words[1:], c, at)
	}
}

// sshConfig reads the commands in a configuration that ssh is given as text.
func sshConfig(r *reader, st *state, c *Command, at place) {
	for _, w := range c.Args(Grammar{Short: "BbcDEeFIiJLlmoOpPQRSWw"}).Values["F"] {
		text, ok := r.programFile(st, w, c)
		if !ok {
			continue
		}
		for line := range strings.Lines(text.Text) {
			if cmd, ok := afterPrefix(strings.TrimSpace(line), "ProxyCommand LocalCommand KnownHostsCommand"); ok {
				r.commandValue(st.clone(), Word{Text: cmd, Span: w.Span}, c, false, at)
			}
		}
	}
}

// curlConfig reads the options in a file that curl is given as text.
func curlConfig(r *reader, st *state, c *Command, at place) {
	args := c.Args(Grammar{Short: "KoOHdXuA", Long: []string{"config", "output", "header", "data", "request", "user"}})
	for _, w := range slices.Concat(args.Values["K"], args.Values["config"]) {
		text, ok := r.programFile(st, w, c)
		if !ok || text.Text == markUnknown {
			continue
		}
		words := []Word{c.Words[0]}
		for line := range strings.Lines(text.Text) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			words = append(words, Word{Text: "--" + strings.TrimLeft(strings.TrimSpace(key), "-"), Span: w.Span}, Word{Text: unquoted(value), Span: w.Span})
		}
		r.runWords(st, words, c, at)
	}
}

// m4 reads the commands that a macro text gives to a shell.
func m4(r *reader, st *state, c *Command, at place) {
	var texts []Word
	if c.Stdin.Text != "" {
		texts = append(texts, Word{Text: c.Stdin.Text, Span: c.Span})
	}
	args := c.Args(Grammar{Short: "DUIFR"})
	texts = append(texts, args.Values["D"]...)
	for _, w := range args.Operands {
		if text, ok := r.programFile(st, w, c); ok {
			texts = append(texts, text)
		}
	}
	for _, w := range texts {
		for _, macro := range [...]string{"syscmd(", "esyscmd("} {
			for _, cmd := range parenthesised(w.Text, macro) {
				cmd = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(cmd), "`"), "'")
				r.commandValue(st.clone(), Word{Text: cmd, Span: w.Span}, c, false, at)
			}
		}
	}
}

// inlineRunners are programs, not interpreters, with a verb or option behind which they take a program text: the words in front of the
// option, the option ("" for the next word, "-" for standard input where no word follows), the language.
var inlineRunners = map[string][]struct{ verb, options, lang string }{
	"mix":           {{"run", "-e --eval", "elixir"}},
	"wp":            {{"eval", "", "php"}, {"shell", "-", "php"}},
	"drush":         {{"php:eval", "", "php"}, {"ev", "", "php"}, {"eval", "", "php"}, {"php-eval", "", "php"}},
	"rake":          {{"", "-e -E -p --execute --execute-print --execute-continue", "ruby"}},
	"pry":           {{"", "-e --exec", "ruby"}, {"", "-", "ruby"}},
	"rails":         {{"console", "-", "ruby"}, {"c", "-", "ruby"}},
	"scrapy":        {{"shell", "-c", "python"}},
	"artisan":       {{"tinker", "--execute", "php"}, {"tinker", "-", "php"}},
	"manage.py":     {{"shell", "-c --command", "python"}, {"shell_plus", "-c --command", "python"}, {"shell", "-", "python"}, {"shell_plus", "-", "python"}},
	"flask":         {{"shell", "-", "python"}},
	"django-admin":  {{"shell", "-c --command", "python"}, {"shell", "-", "python"}},
	"jupyter":       {{"console", "-", "ipython"}},
	"arangosh":      {{"", "--javascript.execute-string", "node"}},
	"dotnet":        {{"eval", "", "c#"}, {"fsi", "-", "f#"}},
	"dotnet-script": {{"eval", "", "c#"}},
	"sbt":           {{"", "", "scala"}},
	"chef-apply":    {{"", "-e --execute", "chef"}, {"", "-s -", "chef"}},
	"chef-shell":    {{"", "-e", "ruby"}, {"", "-", "ruby"}},
	"rex":           {{"", "-e", "rex"}},
	"puppet":        {{"apply", "-e --execute", "puppet"}, {"apply", "-", "puppet"}},
	"lein":          {{"eval", "", "clojure"}, {"run", "-e", "clojure"}},
	"nim":           {{"e", "-", "nim"}},
}

// fileRunners are programs whose script is known by its name: php artisan is artisan.
var fileRunners = map[string]string{"php": "artisan", "python": "manage.py"}

// inlineRun reads such a text.
func (r *reader) inlineRun(st *state, c *Command, at place) {
	name, words := c.Program, c.Words[1:]
	if script := fileRunners[name]; script != "" && len(words) > 1 && strings.HasSuffix(words[0].Text, script) {
		name, words = script, words[1:]
	}
	for _, row := range inlineRunners[name] {
		rest := words
		if row.verb != "" {
			i := slices.IndexFunc(words, func(w Word) bool { return w.Is(row.verb) })
			if i < 0 {
				continue
			}
			rest = words[i+1:]
		}
		if has(row.options, "-") && c.Stdin.Text != "" && !slices.ContainsFunc(rest, func(w Word) bool { return !strings.HasPrefix(w.Text, "-") }) {
			r.inLanguage(st, Word{Text: c.Stdin.Text, From: c.Stdin.From, Span: c.Span}, row.lang, c, at)
			continue
		}
		for i, w := range rest {
			option, value, attached := strings.Cut(w.Text, "=")
			switch {
			case row.options == "" && !strings.HasPrefix(w.Text, "-"):
				r.inLanguage(st, w, row.lang, c, at)
			case has(row.options, option) && attached && strings.HasPrefix(option, "--"):
				r.inLanguage(st, Word{Text: value, Span: w.Span}, row.lang, c, at)
			case has(row.options, w.Text) && i+1 < len(rest):
				r.inLanguage(st, rest[i+1], row.lang, c, at)
			default:
				continue
			}
			break
		}
	}
}

// inLanguage reads a text as the program of an interpreter.
func (r *reader) inLanguage(st *state, text Word, lang string, c *Command, at place) output {
	at.last = false
	as := *c
	as.Program = lang
	r.lineCommands(st.clone(), text, &as, at)
	if lang == "puppet" {
		r.puppetResources(st, text, c, at)
	}
	return r.inline(st.clone(), text, &as, at)
}

// programFile is the text of a file that a program is told to run, as far as the session knows it.
func (r *reader) programFile(st *state, w Word, c *Command) (Word, bool) {
	if out, ok := r.processOut[w.From]; ok && !w.From.Empty() {
		return Word{Text: out.value(), From: w.From, Span: w.Span}, true
	}
	if body, ok := descriptor(st, c, w); ok {
		return body, true
	}
	if oneOf(w, "-", "/dev/stdin", "/dev/fd/0") {
		switch {
		case c.Stdin.Kind == StdinFile:
			w = c.Stdin.File
		case c.Stdin.Text != "":
			return Word{Text: c.Stdin.Text, From: c.Stdin.From, Span: c.Span}, true
		default:
			return Word{}, false
		}
	}
	if c.Inside != nil {
		return Word{}, false
	}
	for _, d := range st.dirs {
		p := Join(d, w.Text)
		f, ok := r.fileAt(p)
		if !ok {
			continue
		}
		r.runsFile(c, p, f)
		if f.origin == FileWritten && f.known {
			return Word{Text: f.text, Span: w.Span}, true
		}
	}
	return Word{}, false
}
