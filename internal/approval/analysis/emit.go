package analysis

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

func isTooLarge(err error) bool { return errors.Is(err, ErrTooLarge) }

// emit records a command and returns its index.
func (r *reader) emit(c Command) int {
	if len(r.out.Commands) >= MaxCommands {
		r.limit("more than 4,000 simple commands", c.Span)
		return len(r.out.Commands) - 1
	}
	c.index = len(r.out.Commands)
	r.out.Commands = append(r.out.Commands, c)
	return len(r.out.Commands) - 1
}

// call reads a simple command: assignments, redirects, argv.
func (r *reader) call(st *state, c *syntax.CallExpr, s *syntax.Stmt, at place) output {
	span := r.span(s, at)
	if len(s.Redirs) == 0 {
		span = r.span(c, at)
	}
	hidden, sinks := false, len(r.sinks)
	printed := output{}
	defer func() { r.drain(sinks, printed) }()
	if len(s.Redirs) > 0 {
		hidden = r.redirects(st, s.Redirs, &at)
	}
	if len(c.Args) == 0 {
		for _, a := range c.Assigns {
			set := r.assign(st, a, at)
			r.variableSet(st, set.Name, set.Value, r.setter(set.Name, a, at), at)
		}
		if len(at.redirects) > 0 {
			r.emitRedirects(st, span, &at)
		}
		return nothing
	}
	words := make([]Word, 0, len(c.Args))
	for _, w := range c.Args {
		words = r.fields(st, words, w, at)
	}
	var assigns []Assign
	if len(c.Assigns) > 0 {
		inner := st.clone() // assignments in front of a command are for it alone
		for _, a := range c.Assigns {
			assigns = append(assigns, r.assign(inner, a, at))
		}
	}
	if len(words) == 0 { // all words folded to nothing
		for _, a := range c.Assigns {
			r.assign(st, a, at)
		}
		if len(at.redirects) > 0 {
			r.emitRedirects(st, span, &at)
		}
		return nothing
	}
	at.want = at.want || len(r.sinks) > sinks
	out := r.run(st, simple{words: words, assigns: assigns, span: span}, at)
	printed = out
	if hidden {
		return nothing
	}
	return out
}

// simple is a folded command on its way to be recorded.
type simple struct {
	words   []Word
	assigns []Assign
	span    Span
	bypass  bool // functions of that name don't count
}

// run records a command under each program that its first word can be, and follows what it leads to.
func (r *reader) run(st *state, c simple, at place) output {
	if !r.step() || len(c.words) == 0 { // a program's call may have no word that stays
		return output{}
	}
	if len(c.words) > 1 && c.words[0].Text == "--" { // behind the keyword time
		c.words = c.words[1:]
	}
	first := c.words[0]
	var out output
	for i, v := range first.Values() {
		if f := st.funcs[v]; f != nil && Literal(v) && !c.bypass {
			return r.enterWith(st, f, c, at)
		}
		if body, ok := r.aliases[v]; ok && !c.bypass {
			r.expand(st, body, c, at)
		}
		names := r.programs(v, c, st)
		for _, name := range names {
			o := r.program(st, name, c, at)
			if i == 0 && len(names) == 1 && len(first.Alts) == 0 {
				out = o
			}
		}
	}
	return out
}

// expand reads the body of an alias with the words that follow its name. The alias itself isn't one in there.
func (r *reader) expand(st *state, body Word, c simple, at place) {
	name := c.words[0].Text
	delete(r.aliases, name)
	defer func() { r.aliases[name] = body }()
	in := st.clone()
	in.args, in.argsOK = c.words[1:], true
	body.Text += ` "$@"`
	carrier := Command{Program: "alias", Words: c.words, Span: c.span, Origin: at.origin, index: max(len(r.out.Commands)-1, 0)}
	at.last = false
	r.text(in, body, &carrier, at)
}

// program records one program's command, applies what it changes in the shell, and follows what it carries.
func (r *reader) program(st *state, name string, c simple, at place) output {
	cmd := Command{Program: name, Words: c.words, Assigns: c.assigns, Redirects: at.redirects, Stdin: at.stdin, Dirs: st.dirs,
		Elevated: at.elevated, Inside: at.inside, Origin: at.origin, Span: c.span, Payload: at.payload != nil, Background: at.background,
		Piped: at.piped, Last: at.last}
	cmd.index = r.emit(cmd)
	if !r.step() || !r.spend(stepsCommand+len(c.words)+len(at.stdin.Text)/bytesFolded) {
		return output{}
	}
	if effect := builtin(name); effect != nil {
		effect(r, st, &cmd)
	}
	r.evaluated(st, &cmd, at)
	writes := slices.ContainsFunc(at.redirects, func(red Redirect) bool { return red.Write })
	at.redirects = nil // the carrier has them already
	r.direct(st, &cmd, at)
	out, carried := r.carry(st, &cmd, at)
	if !carried {
		r.guess(st, &cmd, at)
	}
	if !carried && (at.want || writes) {
		out = r.prints(st, &cmd)
	}
	if writes {
		r.filed(st, &cmd, out)
	} else {
		r.leaves(st, &cmd)
	}
	return out
}

// enterWith reads a function's body with the variables that are set for the call.
func (r *reader) enterWith(st *state, f *function, c simple, at place) output {
	before := map[string]variable{}
	for _, a := range c.assigns {
		if old, ok := st.vars[a.Name]; ok {
			before[a.Name] = old
		}
		st.set(a.Name, variable{vals: a.Value.Values(), from: a.Value.From})
	}
	out := r.enter(st, f, c, at)
	for _, a := range c.assigns {
		if old, ok := before[a.Name]; ok {
			st.set(a.Name, old)
		} else {
			st.set(a.Name, variable{vals: []string{markUnknown}})
		}
	}
	return out
}

// enter reads a function's body with the call's parameters.
func (r *reader) enter(st *state, f *function, c simple, at place) output {
	f.called = true
	if at.calls.depthOf(f) > 0 {
		if at.background || at.piped {
			r.respawn(f, c, at)
		}
		return output{}
	}
	at.calls = &callStack{f, at.calls}
	at.origin = &Origin{Name: c.words[0].Text, Span: c.span, Parent: at.origin}
	at.last = false
	if len(at.redirects) > 0 {
		r.emitRedirects(st, c.span, &at)
	}
	args, ok := st.args, st.argsOK
	st.args, st.argsOK = c.words[1:], true
	body := at
	body.payload = f.at.payload
	if at.payload != nil {
		body.payload = at.payload
	}
	out := r.stmt(st, f.body, body)
	st.args, st.argsOK = args, ok
	return out
}

// respawn counts how often a function comes to itself again beside itself, by way of other functions and texts: twice is a bomb.
func (r *reader) respawn(f *function, c simple, at place) {
	if r.respawned == nil {
		r.respawned = map[*function]int{}
	}
	if r.respawned[f]++; r.respawned[f] == 2 && !f.bomb {
		f.bomb = true
		r.note(NoteBomb, c.span, fmt.Sprintf("%s starts copies of itself without end", Show(c.words[0].Text)))
	}
}

// redirects folds redirects into the place. It tells whether standard output goes elsewhere.
func (r *reader) redirects(st *state, reds []*syntax.Redirect, at *place) (hidden bool) {
	at.redirects = slices.Grow(slices.Clip(at.redirects), len(reds))
	for _, red := range reds {
		out := Redirect{Op: red.Op.String()}
		fd := ""
		if red.N != nil {
			if fd = red.N.Value; strings.HasPrefix(fd, "{") { // {fd}<x: bash chooses one, and says it in a variable
				name := strings.Trim(fd, "{}")
				fd = strconv.Itoa(firstChosen + len(st.fds))
				st.set(name, variable{vals: []string{fd}})
			}
			out.fd = fd
		}
		switch red.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			if red.Hdoc != nil {
				out.Target = r.document(st, red, *at)
			}
			if fd == "" || fd == "0" {
				at.stdin = textStdin(out.Target, red.Op == syntax.DashHdoc, "")
			}
		case syntax.WordHdoc:
			out.Target = r.value(st, red.Word, *at)
			if fd == "" || fd == "0" {
				at.stdin = textStdin(out.Target, false, "\n")
			}
		case syntax.RdrIn, syntax.DplIn:
			out.Target = r.target(st, red, *at)
			if (fd == "" || fd == "0") && red.Op == syntax.DplIn {
				behind, ok := st.fds[out.Target.Text]
				if !ok { // inherited, or something that isn't followed
					behind = Stdin{}
					if isDescriptor(out.Target.Text) && out.Target.Text != "0" && out.Target.Text != "-" {
						behind.Kind = StdinPipe
					}
				}
				at.stdin = behind
			}
			if (fd == "" || fd == "0") && red.Op == syntax.RdrIn {
				at.stdin = Stdin{Kind: StdinFile, File: out.Target, From: out.Target.From}
				if o, ok := r.processOut[out.Target.From]; ok && !out.Target.From.Empty() {
					at.stdin.Kind, at.stdin.Text, at.stdin.Known = StdinPipe, o.value(), o.known
				}
			}
		default:
			out.Target = r.target(st, red, *at)
			dup := red.Op == syntax.DplOut && isDescriptor(out.Target.Text)
			out.Write = !dup
			if fd == "" || fd == "1" {
				hidden = hidden || red.Op != syntax.RdrInOut
			}
		}
		if fd != "" && fd != "0" && strings.HasPrefix(out.Op, "<") {
			st.behind(r, fd, out, *at)
		}
		at.redirects = append(at.redirects, out)
	}
	return hidden
}

// firstChosen is the first descriptor that bash chooses itself.
const firstChosen = 10

// behind notes what a descriptor reads.
func (st *state) behind(r *reader, fd string, red Redirect, at place) {
	st.own()
	r.spend(len(st.fds))
	fds := maps.Clone(st.fds)
	if fds == nil {
		fds = map[string]Stdin{}
	}
	switch {
	case strings.HasPrefix(red.Op, "<<"):
		fds[fd] = textStdin(red.Target, red.Op == "<<-", map[bool]string{true: "\n"}[red.Op == "<<<"])
	case red.Op == "<&":
		from, ok := fds[red.Target.Text]
		if red.Target.Text == "0" {
			from, ok = at.stdin, true
		}
		if ok {
			fds[fd] = from
		}
	case red.Op == "<", red.Op == "<>":
		fds[fd] = Stdin{Kind: StdinFile, File: red.Target, From: red.Target.From}
		if o, ok := r.processOut[red.Target.From]; ok && !red.Target.From.Empty() {
			fds[fd] = Stdin{Kind: StdinPipe, Text: o.value(), Known: o.known, From: red.Target.From}
		}
	}
	st.fds = fds
}

func (r *reader) target(st *state, red *syntax.Redirect, at place) Word {
	words := r.fields(st, nil, red.Word, at)
	if len(words) == 0 {
		return Word{Span: r.span(red, at)}
	}
	return words[0]
}

func textStdin(body Word, tabs bool, end string) Stdin {
	text := body.Text + end
	if tabs {
		lines := strings.SplitAfter(text, "\n")
		for i, l := range lines {
			lines[i] = strings.TrimLeft(l, "\t")
		}
		text = strings.Join(lines, "")
	}
	return Stdin{Kind: StdinText, Text: text, Known: len(body.Alts) == 0 && Known(text), From: body.From}
}

func isDescriptor(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == "" || text == "-" || strings.HasSuffix(text, "-") &&
		strings.Trim(text, "0123456789-") == ""
}

// Join resolves a path against a directory, lexically. An unknown directory gives an unknown head.
func Join(dir, p string) string {
	switch {
	case strings.HasPrefix(p, "/"):
	case strings.HasPrefix(p, markUnknown), strings.HasPrefix(p, markSome):
		return p // may be absolute
	case dir == "":
		return markSome + "/" + p
	default:
		p = dir + "/" + p
	}
	return Clean(p)
}

// Clean cleans a path lexically; a mark counts as a name.
func Clean(p string) string {
	if strings.HasPrefix(p, markSome+"/") {
		return p
	}
	return path.Clean(p)
}
