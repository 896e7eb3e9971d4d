package analysis

import (
	"slices"
	"strings"
)

// carry follows what a command runs in turn. carried tells that the command's output is that of what it runs.
func (r *reader) carry(st *state, c *Command, at place) (out output, carried bool) {
	if helpOnly(c) {
		return output{}, false
	}
	r.optionRuns(st, c, at)
	r.inlineRun(st, c, at)
	r.brought(st, c, at)
	if verb, ok := strings.CutPrefix(c.Program, "git-"); ok { // a program of git's own directory
		words := append([]Word{{Text: "git", Span: c.Words[0].Span}, {Text: verb, Span: c.Words[0].Span}}, c.Words[1:]...)
		r.runWords(st, words, c, at)
	}
	switch c.Program {
	case "curl":
		curlConfig(r, st, c, at)
	case "ssh", "scp", "sftp", "autossh":
		sshConfig(r, st, c, at)
	case "yarn", "pnpm", "bun":
		scriptRunner(r, st, c, at)
	case "deno":
		denoRun(r, st, c, at)
	case "kitty":
		typist("send-text")(r, st, c, at)
	}
	if rows, ok := wrappers()[c.Program]; ok {
		r.spend(len(rows) * stepsWrapper)
		for i := range rows {
			if in, ok := unwrap(c, &rows[i]); ok {
				return r.wrapped(st, &in, at)
			}
		}
	}
	if lang, ok := interpreters()[c.Program]; ok {
		return r.interpreter(st, c, lang, at), true
	}
	if special := specialCarrier(c.Program); special != nil {
		special(r, st, c, at)
		return output{}, false
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
		words := c.Words[1:]
		if len(words) > 0 && words[0].Is("--") {
			words = words[1:]
		}
		if len(words) > 1 && !strings.HasPrefix(words[0].Text, "-") {
			r.code(c, words[0].From)
			r.text(st.clone(), words[0], c, at)
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

// wrapped runs what a wrapper is given. carried tells that its output is the wrapper's.
func (r *reader) wrapped(st *state, in *inner, at place) (out output, carried bool) {
	c, w := in.c, in.row
	at.elevated = at.elevated || w.elevated
	if at.last {
		if w.joint && len(in.words) > 0 {
			r.out.Commands[c.index].Last = false
		} else {
			at.last = false
		}
	}
	run := st
	if !shellBuiltin(c.Program) {
		run = st.clone()
		run.funcs = nil
	}
	if w.where != nil {
		if inside := w.where(r, run, in); inside != nil {
			inside.Parent, at.inside = at.inside, inside
		}
		if c.Program == "nsenter" && at.inside != nil && in.targetsInit() {
			at.inside = nil
		}
	}
	if dir, ok := in.value(w.dir); ok && w.dir != "" {
		r.moveTo(run, dir.Values())
		run.failed = nil
	}
	for _, t := range in.texts {
		out = r.text(run.clone(), t, c, at)
	}
	if len(in.words) == 0 && c.Program != "parallel" {
		if in.shell || c.Program == "newgrp" || w.joined && w.where != nil && len(in.texts) == 0 {
			return r.login(run, c, at), true
		}
		return out, len(in.texts) > 0
	}
	r.spend(len(in.words)) // they are copied
	at.origin = origin(c, false)
	switch {
	case w.joined, in.shell && len(in.words) == 1 && strings.ContainsAny(in.words[0].Text, " \t\n;"):
		return r.joined(run, in.words, c, at), true
	case c.Program == "xargs" || c.Program == "gxargs" || c.Program == "parallel":
		out := r.fanOut(run, in, at)
		return out, out.known && out.text != ""
	}
	return r.run(run, simple{words: in.words, assigns: in.assigns, span: c.Span, bypass: true}, at), true
}

func shellBuiltin(name string) bool {
	return name == "command" || name == "builtin" || name == "exec" || name == "time"
}

// login is the shell that sudo -s, su or ssh starts where they are given no command: it reads standard input.
func (r *reader) login(st *state, c *Command, at place) output {
	as := *c
	as.Words = c.Words[:1]
	if at.inside != nil {
		as.Redirects = nil // opened outside
	}
	return r.interpreter(st, &as, shell, at)
}

// typescript reads the text that script -c gives to a shell.
func (r *reader) typescript(st *state, c *Command, at place) {
	at.last = false
	args := c.Args(Grammar{Short: "cBEIOTm", Long: []string{"command", "echo", "log-in", "log-io", "log-out", "log-timing", "logging-format", "output-limit"}})
	texts := slices.Concat(args.Values["c"], args.Values["command"])
	for _, w := range texts {
		r.text(st.clone(), w, c, at)
	}
	if len(texts) == 0 && len(args.Operands) > 1 { // the way of BSD: the file, then a command
		i := slices.IndexFunc(c.Words, func(w Word) bool { return w.Span == args.Operands[1].Span && w.Text == args.Operands[1].Text })
		at.origin = origin(c, false)
		r.run(st.clone(), simple{words: c.Words[max(i, 1):], span: c.Span}, at)
	}
}

// su reads the text that su -c and runuser -c give to a shell; runuser -u USER runs its operands.
func (r *reader) su(st *state, c *Command, at place) {
	at.elevated, at.last = true, false
	words, ran := c.Words[1:], false
	st = st.clone()
	if home := suHome(c); home != "" {
		st.set("HOME", variable{vals: []string{home}})
	}
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

// suHome is the home directory of the user that su or runuser is told to become.
func suHome(c *Command) string {
	args := c.Args(Grammar{Short: "cugsGw", Long: []string{"command", "user", "group", "shell", "session-command"}})
	users := slices.Concat(args.Values["u"], args.Values["user"])
	for _, w := range args.Operands {
		if !w.Is("-") && len(users) == 0 {
			users = append(users, w)
		}
	}
	switch {
	case len(users) == 0 || users[0].Is("root"):
		return "/root"
	case Literal(users[0].Text) && users[0].Text != "":
		return "/home/" + users[0].Text
	}
	return HomeUnknown
}
