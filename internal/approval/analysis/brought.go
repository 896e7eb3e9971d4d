package analysis

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
)

// Programs that run what stands in files of their own kinds: where the session wrote such a file, it is read (A29).

// broughtRow says which words of a program name such a file, and what reads its text.
type broughtRow struct {
	short   string   // letters of options that take a value
	long    string   // long options that take a value
	options string   // those whose value is the file: letters and long options
	operand bool     // the first operand is
	verb    string   // the first operand, which is taken off
	files   []string // without one, the first of these in the working directory
	read    func(*reader, *state, Word, *Command, place)
}

// broughtRows holds them by program.
func broughtRows(program string) *broughtRow {
	switch program {
	case "gdb", "lldb":
		return &broughtRow{short: "xsiOopnf", long: "command source", options: "x s command source", files: []string{".gdbinit"}, read: debuggerFile}
	case "vim", "vi", "nvim", "ex", "gvim":
		return &broughtRow{short: "cSuUwT", options: "S u", read: viFile}
	case "expect":
		return &broughtRow{short: "cf", options: "f", operand: true, read: expectText}
	case "node", "nodejs", "bun", "tsx", "ts-node":
		return &broughtRow{short: "repC", long: "require import eval print loader", options: "r require import loader", read: inNamed("node")}
	case "just":
		return &broughtRow{short: "fd", long: "justfile", options: "f justfile", files: []string{"justfile", "Justfile", ".justfile"}, read: justfile}
	case "task", "go-task":
		return &broughtRow{short: "td", long: "taskfile", options: "t taskfile", files: []string{"Taskfile.yml", "Taskfile.yaml"}, read: taskfile}
	case "ansible-playbook":
		return &broughtRow{short: "ieulfktTC", long: "inventory extra-vars user limit tags", operand: true, read: playbook}
	case "logrotate":
		return &broughtRow{short: "sl", long: "state log", operand: true, read: rotations}
	case "direnv":
		return &broughtRow{verb: "allow", files: []string{".envrc"}, read: shellFile}
	case "crontab":
		return &broughtRow{short: "u", operand: true, read: crontabText}
	case "npm", "pnpm", "yarn", "bunx":
		return &broughtRow{verb: "*", files: []string{"package.json"}, read: packageScript}
	case "duckdb", "sqlite3", "psql", "mysql", "mariadb":
		return &broughtRow{short: "fcdhpUeDPSuvo", long: "file init command", options: "f file init", read: escapedLines}
	case "rake":
		return &broughtRow{short: "feErI", options: "f", files: []string{"Rakefile", "rakefile"}, read: inNamed("ruby")}
	case "java":
		return &broughtRow{long: "cp classpath", operand: true, read: inNamed("java")}
	case "go":
		return &broughtRow{verb: "run", operand: true, read: inNamed("go")}
	case "zig", "crystal", "nim", "v", "dart", "swift":
		return &broughtRow{verb: "*", operand: true, read: inNamed(program)}
	}
	return nil
}

// brought reads the files that a program was told to run.
func (r *reader) brought(st *state, c *Command, at place) {
	if len(r.files) == 0 && r.in.Files == nil && len(r.processOut) == 0 || c.Inside != nil {
		return
	}
	row := broughtRows(c.Program)
	if row == nil {
		return
	}
	args := c.Args(Grammar{Short: row.short, Long: strings.Fields(row.long)})
	operands := args.Operands
	switch {
	case row.verb == "*" && len(operands) > 0 && row.operand:
		operands = operands[1:]
	case row.verb != "" && row.verb != "*":
		if len(operands) == 0 || !operands[0].Is(row.verb) {
			return
		}
		operands = operands[1:]
	}
	var words []Word
	for name := range strings.FieldsSeq(row.options) {
		words = append(words, args.Values[name]...)
	}
	if row.operand && len(operands) > 0 {
		words = append(words, operands[0])
	}
	if len(words) == 0 {
		for _, name := range row.files {
			words = append(words, Word{Text: name, Span: c.Span})
		}
	}
	at.last, at.stdin = false, Stdin{}
	for _, w := range words {
		if strings.HasPrefix(w.Text, "-") && len(w.Text) > 1 {
			continue
		}
		if text, ok := r.programFile(st, w, c); ok {
			row.read(r, st.clone(), text, c, at)
		}
	}
}

func inNamed(lang string) func(*reader, *state, Word, *Command, place) {
	return func(r *reader, st *state, w Word, c *Command, at place) { r.inLanguage(st, w, lang, c, at) }
}

func shellFile(r *reader, st *state, w Word, c *Command, at place) { r.text(st, w, c, at) }

// debuggerFile reads a file of gdb's commands as if each was given by option.
func debuggerFile(r *reader, st *state, w Word, c *Command, at place) {
	for line := range strings.Lines(w.Text) {
		as := *c
		as.Words = []Word{c.Words[0], {Text: "-ex", Span: w.Span}, {Text: strings.TrimSpace(line), Span: w.Span}}
		debugger(r, st, &as, at)
	}
}

func viFile(r *reader, st *state, w Word, c *Command, at place) {
	for line := range strings.Lines(w.Text) {
		r.viCommand(st, Word{Text: strings.TrimSpace(line), Span: w.Span}, c, at)
	}
}

// rotations reads the scripts in a configuration of logrotate.
func rotations(r *reader, st *state, w Word, c *Command, at place) {
	var lines []string
	inside := false
	for line := range strings.Lines(w.Text) {
		word := strings.TrimSpace(line)
		switch last := word[strings.LastIndexByte(word, ' ')+1:]; {
		case slices.Contains([]string{"prerotate", "postrotate", "firstaction", "lastaction", "preremove"}, last):
			inside = true
		case word == "endscript":
			inside = false
		case inside:
			lines = append(lines, word)
		}
	}
	r.lines(st, lines, w, c, at)
}

func expectText(r *reader, st *state, w Word, c *Command, at place) {
	as := *c
	as.Words, as.Stdin = c.Words[:1], Stdin{Kind: StdinText, Text: w.Text, Known: true}
	expect(r, st, &as, at)
}

func crontabText(r *reader, st *state, w Word, c *Command, at place) {
	as := *c
	as.Words, as.Stdin = c.Words[:1], Stdin{Kind: StdinText, Text: w.Text, Known: true}
	crontab(r, st, &as, at)
}

func escapedLines(r *reader, st *state, w Word, c *Command, at place) {
	as := *c
	as.Words, as.Stdin = c.Words[:1], Stdin{Kind: StdinText, Text: w.Text, Known: true}
	if _, ok := escapeRows[c.Program]; ok {
		escapes(r, st, &as, at)
	}
}

// playModules are the modules of a playbook whose value is a command.
var playModules = []string{"shell:", "command:", "raw:", "ansible.builtin.shell:", "ansible.builtin.command:", "ansible.builtin.raw:", "cmd:", "win_shell:", "win_command:"}

func playbook(r *reader, st *state, w Word, c *Command, at place) {
	at.inside = &Inside{Name: "hosts of the playbook", Remote: true, Parent: at.inside}
	for line := range strings.Lines(w.Text) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "- ")
		for _, m := range playModules {
			if cmd, ok := strings.CutPrefix(line, m); ok && strings.Trim(cmd, " |>-") != "" {
				sub := st.clone()
				sub.abroad("")
				r.text(sub, Word{Text: unquoted(cmd), Span: w.Span}, c, at)
			}
		}
		if name, _, ok := strings.Cut(line, ":"); ok && slices.Contains([]string{"reboot", "ansible.builtin.reboot", "win_reboot", "community.general.shutdown"}, name) {
			r.argvValue(st, []string{"reboot"}, w.Span, c, at)
		}
	}
}

func unquoted(value string) string {
	value = strings.TrimSpace(value)
	if n := len(value); n > 1 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
		return value[1 : n-1]
	}
	return value
}

// packageScript runs the script of package.json that npm is told to run, with those around it.
func packageScript(r *reader, st *state, w Word, c *Command, at place) {
	var pkg struct {
		Scripts map[string]string `json:"scripts"`
	}
	if json.Unmarshal([]byte(w.Text), &pkg) != nil {
		return
	}
	operands := c.Args(Grammar{}).Operands
	if len(operands) > 0 && oneOf(operands[0], "run", "run-script", "rum") {
		operands = operands[1:]
	} else if len(operands) == 0 || oneOf(operands[0], "install", "i", "ci", "add") {
		operands = []Word{{Text: "install"}, {Text: "prepare"}}
	}
	for _, o := range operands[:min(len(operands), 2)] {
		for _, name := range [...]string{"pre" + o.Text, o.Text, "post" + o.Text} {
			if script := pkg.Scripts[name]; script != "" {
				r.text(st.clone(), Word{Text: script, Span: w.Span}, c, at)
			}
		}
	}
}

// compilers are programs that make a program of a source, with the language of their sources' names.
var compilers = map[string]string{".c": "c", ".cc": "c", ".cpp": "c", ".rs": "rust", ".go": "go", ".hs": "ghc", ".ml": "ocaml", ".nim": "nim", ".zig": "zig", ".swift": "swift", ".d": "c"}

// compiled notes that a program was made of a source that the session wrote: whoever runs it runs that.
func (r *reader) compiled(st *state, c *Command) {
	switch c.Program {
	case "gcc", "cc", "clang", "g++", "c++", "clang++", "tcc", "rustc", "ghc", "ocamlc", "ocamlopt", "ocamlfind", "nim", "zig", "swiftc", "go", "dmd":
	default:
		return
	}
	args := c.Args(Grammar{Short: "oIDLlx", Long: []string{"out"}})
	out := slices.Concat(args.Values["o"], args.Values["out"])
	for _, w := range args.Operands {
		ext := path.Ext(w.Text)
		lang := compilers[ext]
		f, ok := r.files[Join(st.dirs[0], w.Text)]
		if w.Is("-") { // the source is standard input
			lang, f, ok = "c", file{origin: FileWritten, text: c.Stdin.Text, known: c.Stdin.Known}, c.Stdin.Text != ""
		}
		if lang == "" || !ok || !f.known {
			continue
		}
		f.lang = lang
		name := Word{Text: strings.TrimSuffix(w.Text, ext)}
		if lang == "c" {
			name.Text = "a.out"
		}
		if len(out) > 0 {
			name = out[0]
		}
		r.remember(st, c, name, f)
	}
}

// imported reads modules that a program text brings in, where the session wrote them: import x, require("./x").
func (r *reader) imported(st *state, p program, c *Command, at place) {
	if p.kind != fromOption || len(p.words) == 0 || len(r.files) == 0 && r.in.Files == nil {
		return
	}
	text := p.words[0].Text
	for _, load := range [...]struct{ lead, ext, lang string }{{"import ", ".py", "python"}, {"from ", ".py", "python"}, {"require('./", ".js", "node"},
		{"require(\"./", ".js", "node"}, {"load './", ".rb", "ruby"}, {"require './", ".rb", "ruby"}, {"dofile('", "", "lua"}, {"dofile(\"", "", "lua"}} {
		_, rest, ok := strings.Cut(text, load.lead)
		if !ok {
			continue
		}
		name := rest
		if i := strings.IndexAny(rest, " ;\n'\",)"); i >= 0 {
			name = rest[:i]
		}
		name = strings.TrimSuffix(name, load.ext)
		if text, ok := r.programFile(st, Word{Text: name + load.ext, Span: p.words[0].Span}, c); ok && name != "" {
			r.inLanguage(st, text, load.lang, c, at)
		}
	}
}

// pythonRuns reads the module of python -m where the session wrote it.
func (r *reader) pythonRuns(st *state, c *Command, lang interpreter, at place) {
	i := slices.IndexFunc(c.Words, func(w Word) bool { return w.Is("-m") })
	if lang.name != "python" || i < 0 || i+1 >= len(c.Words) || len(r.files) == 0 && r.in.Files == nil {
		return
	}
	if text, ok := r.programFile(st, Word{Text: strings.ReplaceAll(c.Words[i+1].Text, ".", "/") + ".py", Span: c.Words[i+1].Span}, c); ok {
		r.inLanguage(st, text, "python", c, at)
	}
}
