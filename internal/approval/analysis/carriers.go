package analysis

import (
	"slices"
	"strings"
	"sync"
)

// wrapper describes a program that runs the command in its arguments.
type wrapper struct {
	short    string   // letters of options that take a value
	long     []string // long options that take a value
	operands int      // operands in front of the command
	assigns  bool     // NAME=value may stand in front of the command
	elevated bool     // the command runs with more rights
	data     string   // letters and long options with which no command runs
	joined   bool     // the arguments are joined and read by a shell
}

// wrappers never change which rules match what they run. Option letters are from the programs' manuals.
var wrappers = sync.OnceValue(func() map[string]wrapper {
	return map[string]wrapper{
		"sudo": {short: "ugCDhpRrtTU", long: []string{"user", "group", "close-from", "chdir", "host", "prompt", "chroot", "role", "type",
			"command-timeout", "other-user"}, assigns: true, elevated: true, data: "lvkKeV"},
		"doas":    {short: "uC", elevated: true, data: "L"},
		"pkexec":  {long: []string{"user"}, elevated: true},
		"env":     {short: "uCS", long: []string{"unset", "chdir", "split-string", "argv0"}, assigns: true},
		"nohup":   {},
		"nice":    {short: "n", long: []string{"adjustment"}},
		"ionice":  {short: "cnpPu", long: []string{"class", "classdata", "pid", "pgid", "uid"}, data: "pPu"},
		"timeout": {short: "ks", long: []string{"kill-after", "signal"}, operands: 1},
		"time":    {short: "fo", long: []string{"format", "output"}},
		"stdbuf":  {short: "ioe", long: []string{"input", "output", "error"}},
		"setsid":  {},
		"chrt":    {short: "TPDp", operands: 1, data: "pm"},
		"taskset": {operands: 1, data: "p"},
		"unshare": {short: "SGlw", long: []string{"setuid", "setgid", "root", "wd", "map-user", "map-group"}},
		"chroot":  {long: []string{"userspec", "groups"}, operands: 1},
		"strace":  {short: "aeEIoOpPsSuUX", data: "p"},
		"ltrace":  {short: "aAbDeFlnopsuwxX", data: "p"},
		"nsenter": {short: "tSG", long: []string{"target", "setuid", "setgid"}},
		"flock":   {short: "wE", long: []string{"wait", "timeout", "conflict-exit-code"}, operands: 1},
		"systemd-run": {short: "uptpEHMC", long: []string{"unit", "property", "description", "slice", "uid", "gid", "nice", "working-directory",
			"setenv", "service-type", "host", "machine", "on-active", "on-boot", "on-startup", "on-unit-active", "on-unit-inactive",
			"on-calendar", "path-property", "socket-property", "timer-property", "background"}},
		"watch":   {short: "nq", long: []string{"interval", "equexit"}, joined: true},
		"command": {data: "vV"},
		"builtin": {},
		"exec":    {short: "a"},
		"busybox": {}, "toybox": {},
		"xargs": {short: "adEILnPsS", long: []string{"arg-file", "delimiter", "eof", "replace", "max-lines", "max-args", "max-procs",
			"max-chars", "process-slot-var"}},
		"parallel": {short: "jaINnLlSPd", long: []string{"jobs", "arg-file", "max-args", "delay", "joblog", "sshlogin", "tmpdir", "results"}},
	}
})

// inside tells which wrappers pass the exit status of what they run on to their caller.
var inside = []string{"sudo", "doas", "env", "nohup", "nice", "ionice", "timeout", "time", "stdbuf", "setsid", "chrt", "taskset",
	"command", "builtin", "exec", "busybox", "toybox", "unshare", "chroot", "strace", "pkexec"}

// carry follows what a command runs in turn. carried tells that the command's output is that of what it runs.
func (r *reader) carry(st *state, c *Command, at place) (out output, carried bool) {
	if helpOnly(c) {
		return output{}, false
	}
	if w, ok := wrappers()[c.Program]; ok {
		return r.wrapped(st, c, w, at)
	}
	if lang, ok := interpreters()[c.Program]; ok {
		return r.interpreter(st, c, lang, at), true
	}
	switch c.Program {
	case "eval":
		return r.eval(st, c, at), true
	case "source", ".":
		r.source(st, c, at)
		return output{}, true
	case "find", "fd", "fdfind":
		r.findExec(st, c, at)
	case "script":
		r.typescript(st, c, at)
	case "su", "runuser":
		r.su(st, c, at)
	case "trap":
		if len(c.Words) > 2 {
			r.text(st.clone(), c.Words[1], c, at)
		}
	case "alias":
		for _, w := range c.Words[1:] {
			if name, body, ok := strings.Cut(w.Text, "="); ok {
				w.Text, w.Alts = body, nil
				r.text(st.clone(), w, c, at)
				if r.aliases == nil {
					r.aliases = map[string]Word{}
				}
				r.aliases[name] = w
			}
		}
	}
	return output{}, false
}

// helpOnly tells whether a command only prints its help or version.
func helpOnly(c *Command) bool {
	return len(c.Words) == 2 && (c.Words[1].Is("--help") || c.Words[1].Is("--version"))
}

func origin(c *Command, payload bool) *Origin {
	return &Origin{Name: c.Program, Payload: payload, Span: c.Span, Parent: c.Origin}
}

// wrapped finds the inner command of a wrapper and runs it.
func (r *reader) wrapped(st *state, c *Command, w wrapper, at place) (output, bool) {
	inner, ok := r.unwrap(st, c, w)
	if !ok {
		return output{}, false
	}
	if len(inner.words) == 0 {
		if w.elevated && inner.shell {
			at.elevated = true
			return r.login(st, c, at), true
		}
		return output{}, false
	}
	if at.last {
		if slices.Contains(inside, c.Program) {
			r.out.Commands[c.index].Last = false
		} else {
			at.last = false
		}
	}
	at.origin = origin(c, false)
	at.elevated = at.elevated || w.elevated
	switch {
	case w.joined:
		return r.joined(st, inner.words, c, at), true
	case c.Program == "flock" && len(inner.words) > 1 && (inner.words[0].Is("-c") || inner.words[0].Is("--command")):
		return r.text(st.clone(), inner.words[1], c, at), true
	case c.Program == "xargs" || c.Program == "parallel":
		return r.fanOut(st, c, inner, at), false
	}
	run := st
	if !shellBuiltin(c.Program) {
		run = st.clone()
		run.funcs = nil
	}
	if inner.dir != "" {
		run = run.clone()
		r.moveTo(run, []string{inner.dir})
		run.failed = nil
	}
	return r.run(run, simple{words: inner.words, assigns: inner.assigns, span: c.Span, bypass: true}, at), true
}

func shellBuiltin(name string) bool {
	return name == "command" || name == "builtin" || name == "exec" || name == "time"
}

// login is the shell that sudo -s or su starts where they are given no command: it reads standard input.
func (r *reader) login(st *state, c *Command, at place) output {
	as := *c
	as.Words = c.Words[:1]
	return r.interpreter(st, &as, shell, at)
}

type inner struct {
	words   []Word
	assigns []Assign
	dir     string
	replace string // xargs -I
	shell   bool   // sudo -s, -i: without a command, a shell
}

// unwrap takes a wrapper's options, operands and assignments off. ok is false when no command runs.
func (r *reader) unwrap(st *state, c *Command, w wrapper) (in inner, ok bool) {
	words := c.Words[1:]
	for len(words) > 0 {
		text := words[0].Text
		if text == "--" {
			words = words[1:]
			break
		}
		if text == "-" && c.Program == "env" {
			words = words[1:]
			continue
		}
		if len(text) < 2 || text[0] != '-' {
			break
		}
		flag := parseFlag(text, w.short, w.long)
		if strings.ContainsAny(flag.letters, w.data) && w.data != "" && flag.name == "" {
			return in, false
		}
		in.shell = in.shell || strings.ContainsAny(flag.letters, "si") || flag.name == "shell" || flag.name == "login"
		words = words[1:]
		value := Word{Text: flag.value}
		if flag.wants && len(words) > 0 {
			value, words = words[0], words[1:]
		}
		switch {
		case c.Program == "env" && (flag.takes("S") || flag.name == "split-string"):
			words = append(splitWords(value), words...)
		case (c.Program == "env" && flag.takes("C") || c.Program == "sudo" && flag.takes("D")) || flag.name == "chdir":
			in.dir = value.Text
		case c.Program == "xargs" && (flag.takes("I") || flag.name == "replace"):
			in.replace = value.Text
		}
	}
	for w.assigns && len(words) > 0 {
		name, value, found := strings.Cut(words[0].Text, "=")
		if !found || strings.HasPrefix(name, "/") {
			break
		}
		in.assigns = append(in.assigns, Assign{name, Word{Text: value, Span: words[0].Span}})
		words = words[1:]
	}
	words = words[min(w.operands, len(words)):]
	if c.Program == "env" || c.Program == "sudo" { // options may also stand after assignments
		for len(words) > 0 && words[0].Text == "--" {
			words = words[1:]
		}
	}
	in.words = words
	return in, true
}

// splitWords splits a value as env -S does, near enough: at white space, quotes taken off.
func splitWords(w Word) []Word {
	var words []Word
	for _, f := range strings.Fields(w.Text) {
		words = append(words, Word{Text: strings.Trim(f, `"'`), Span: w.Span})
	}
	return words
}

// fanOut runs the command of xargs or parallel with the words that it gets from its input.
func (r *reader) fanOut(st *state, c *Command, in inner, at place) output {
	var extra []Word
	span := c.Words[0].Span
	if c.Stdin.Known {
		for _, f := range strings.Fields(c.Stdin.Text) {
			extra = append(extra, Word{Text: strings.Trim(f, `"'`), Span: span})
		}
	} else {
		extra = []Word{{Text: markSome, From: c.Stdin.From, Span: span}}
	}
	words := slices.Clone(in.words)
	if i := slices.IndexFunc(words, func(w Word) bool { return w.Text == ":::" }); i >= 0 && c.Program == "parallel" {
		words, extra = words[:i], words[i+1:]
	}
	place := in.replace
	if c.Program == "parallel" {
		place = "{}"
	}
	replaced := false
	for i, w := range words {
		if place != "" && strings.Contains(w.Text, place) && len(extra) > 0 {
			replaced = true
			vals := make([]string, 0, len(extra))
			for _, e := range extra[:min(len(extra), MaxValues)] {
				vals = append(vals, strings.ReplaceAll(w.Text, place, e.Text))
			}
			words[i].Text, words[i].Alts, words[i].From = vals[0], vals[1:], extra[0].From
		}
	}
	at.stdin, at.last = Stdin{}, false
	if len(words) == 0 && c.Program == "parallel" { // the arguments are commands themselves
		for _, e := range extra {
			r.text(st.clone(), e, c, at)
		}
		return output{}
	}
	if !replaced && in.replace == "" {
		words = append(words, extra...)
	}
	sub := st.clone()
	sub.funcs = nil
	return r.run(sub, simple{words: words, span: c.Span}, at)
}

// typescript reads the text that script -c gives to a shell.
func (r *reader) typescript(st *state, c *Command, at place) {
	at.last = false
	args := c.Args(Grammar{Short: "cBEIOTm", Long: []string{"command", "echo", "log-in", "log-io", "log-out", "log-timing", "logging-format", "output-limit"}})
	for _, w := range slices.Concat(args.Values["c"], args.Values["command"]) {
		r.text(st.clone(), w, c, at)
	}
}

// execOptions are the words behind which find or fd is given a command.
var execOptions = map[string][]string{
	"find": {"-exec", "-execdir", "-ok", "-okdir"},
	"fd":   {"-x", "--exec", "-X", "--exec-batch"}, "fdfind": {"-x", "--exec", "-X", "--exec-batch"},
}

// findExec runs the commands of find's -exec and its kin; {} is something at or below a start path.
func (r *reader) findExec(st *state, c *Command, at place) {
	starts := []string{"."}
	if c.Program == "find" {
		starts = FindStarts(c)
	}
	at.origin, at.last, at.stdin = origin(c, false), false, Stdin{}
	words := c.Words
	for i := 1; i < len(words); i++ {
		if !slices.Contains(execOptions[c.Program], words[i].Text) {
			continue
		}
		end := i + 1
		for end < len(words) && words[end].Text != ";" && !(words[end].Text == "+" && words[end-1].Text == "{}") {
			end++
		}
		argv := slices.Clone(words[i+1 : end])
		if c.Program != "find" && !slices.ContainsFunc(argv, func(w Word) bool { return strings.Contains(w.Text, "{") }) {
			argv = append(argv, Word{Text: "{}", Span: c.Span}) // fd adds what it found
		}
		for k, w := range argv {
			if strings.Contains(w.Text, "{}") {
				argv[k].Text = strings.ReplaceAll(w.Text, "{}", starts[0]+"/"+markSome)
				for _, s := range starts[1:min(len(starts), MaxValues)] {
					argv[k].Alts = append(argv[k].Alts, strings.ReplaceAll(w.Text, "{}", s+"/"+markSome))
				}
			}
		}
		if len(argv) > 0 {
			sub := st.clone()
			sub.funcs = nil
			r.run(sub, simple{words: argv, span: c.Span}, at)
		}
		i = end
	}
}

// FindStarts lists the start paths of a find command; without one it is the working directory.
func FindStarts(c *Command) []string {
	var starts []string
	for _, w := range c.Words[1:] {
		if strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "-H") && !strings.HasPrefix(w.Text, "-L") &&
			!strings.HasPrefix(w.Text, "-P") || w.Text == "(" || w.Text == "!" {
			break
		}
		if !strings.HasPrefix(w.Text, "-") {
			starts = append(starts, w.Values()...)
		}
	}
	if len(starts) == 0 {
		starts = []string{"."}
	}
	return starts
}

// su reads the text that su -c and runuser -c give to a shell; runuser -u USER runs its operands.
func (r *reader) su(st *state, c *Command, at place) {
	at.elevated, at.last = true, false
	words, ran := c.Words[1:], false
	for i := 0; i < len(words); i++ {
		flag := parseFlag(words[i].Text, "cugsGw", []string{"command", "user", "group", "shell", "session-command"})
		if flag.letters == "" && flag.name == "" {
			continue
		}
		value := words[i]
		value.Text, value.Alts = flag.value, nil
		if flag.wants && i+1 < len(words) {
			i++
			value = words[i]
		}
		switch {
		case flag.takes("c") || flag.name == "command" || flag.name == "session-command":
			sub := st.clone()
			sub.funcs, sub.dirs = nil, []string{""}
			r.text(sub, value, c, at)
			ran = true
		case flag.takes("u") && c.Program == "runuser" && i+1 < len(words):
			rest := words[i+1:]
			if rest[0].Text == "--" {
				rest = rest[1:]
			}
			if len(rest) > 0 && !strings.HasPrefix(rest[0].Text, "-") {
				at.origin = origin(c, false)
				r.run(st.clone(), simple{words: rest, span: c.Span}, at)
				return
			}
		}
	}
	if !ran {
		in := st.clone()
		in.dirs = []string{""}
		r.login(in, c, at)
	}
}
