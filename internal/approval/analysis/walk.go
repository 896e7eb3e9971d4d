package analysis

import (
	"fmt"
	"slices"
	"time"

	"mvdan.cc/sh/v3/syntax"
)

// reader walks a script's syntax and collects what will run.
type reader struct {
	in         Input
	script     *Script
	out        Reading
	at         Span // where the walk stands, for notes
	folded     int
	nodes      int
	end        time.Time
	masked     bool            // the text being read has private characters for marks
	full       bool            // a limit was reached: nothing more is read
	processOut map[Flow]output // what process substitutions print
}

// place is where a command stands.
type place struct {
	origin     *Origin
	payload    *Span // the word that carries the text, in a payload
	depth      int   // payloads outside this one
	stdin      Stdin
	redirects  []Redirect
	elevated   bool
	background bool
	piped      bool
	last       bool
	want       bool // the output matters to someone
	calls      *callStack
}

type callStack struct {
	fn   *function
	next *callStack
}

func (c *callStack) depthOf(fn *function) (n int) {
	for ; c != nil; c = c.next {
		if c.fn == fn {
			n++
		}
	}
	return n
}

// output is what a command prints, as far as it is known: the zero value isn't known at all, a text with marks in part.
type output struct {
	text  string
	known bool
}

// value is the output as a marked text.
func (o output) value() string {
	if !o.known && o.text == "" {
		return markUnknown
	}
	return o.text
}

var nothing = output{known: true}

func (o output) then(next output) output {
	if o.known && next.known {
		return output{o.text + next.text, true}
	}
	return output{text: o.value() + next.value()}
}

// Read tells what the script will run.
func (s *Script) Read(in Input) *Reading {
	if in.Workspace == "" {
		in.Workspace = in.Dir
	}
	r := &reader{in: in, script: s, end: time.Now().Add(MaxTime)}
	r.out.Input, r.out.Text = in, s.text
	r.walk()
	if s.err != nil {
		kind := NoteUnparsed
		if isTooLarge(s.err) {
			kind = NoteLimit
		}
		r.note(kind, Span{min(s.errAt, len(s.text)), len(s.text)}, s.err.Error())
	}
	return &r.out
}

func (r *reader) walk() {
	defer func() {
		if v := recover(); v != nil {
			r.note(NoteUnparsed, Span{0, len(r.script.text)}, fmt.Sprintf("the analysis failed: %v", v))
		}
	}()
	st := &state{dirs: []string{r.in.Dir}}
	r.list(st, r.script.stmts, place{last: true})
	r.uncalled(st)
}

// uncalled reads the functions that nothing called, with parameters that aren't known: a later command may call them.
func (r *reader) uncalled(st *state) {
	names := make([]string, 0, len(st.funcs))
	for name := range st.funcs {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		f := st.funcs[name]
		if f.called {
			continue
		}
		f.called = true
		in := st.clone()
		in.argsOK = false
		at := f.at
		at.last = false
		at.calls = &callStack{f, nil}
		r.stmt(in, f.body, at)
	}
}

func (r *reader) note(kind NoteKind, span Span, reason string) {
	for _, n := range r.out.Notes {
		if n.Kind == kind && n.Span == span {
			return
		}
	}
	r.out.Notes = append(r.out.Notes, Note{kind, span, reason, len(r.out.Commands) - 1})
}

func (r *reader) limit(what string, span Span) {
	if !r.full {
		r.full = true
		r.note(NoteLimit, span, what)
	}
}

// step counts a node of syntax and tells whether the walk may go on.
func (r *reader) step() bool {
	r.nodes++
	if r.nodes > MaxNodes {
		r.limit("more than 50,000 nodes of syntax", r.at)
	} else if r.nodes%16 == 0 && time.Now().After(r.end) {
		r.limit("the analysis took more than 50 ms", r.at)
	}
	return !r.full
}

func (r *reader) span(n syntax.Node, at place) Span {
	if at.payload != nil {
		return *at.payload
	}
	if n == nil {
		return r.at
	}
	s := Span{r.script.offset(n.Pos()), r.script.offset(n.End())}
	if s.End < s.Start {
		s.End = s.Start
	}
	return s
}

// list reads statements that run one after the other.
func (r *reader) list(st *state, stmts []*syntax.Stmt, at place) output {
	out := r.open(st, stmts, at)
	st.settle()
	return out
}

// open is list for a place that looks at the status of the last statement, as a condition does.
func (r *reader) open(st *state, stmts []*syntax.Stmt, at place) output {
	out := nothing
	for i, s := range stmts {
		in := at
		in.last = at.last && i == len(stmts)-1
		st.settle()
		o := r.stmt(st, s, in)
		if at.want {
			out = out.then(o)
		}
	}
	if !at.want {
		return output{}
	}
	return out
}

func (r *reader) stmt(st *state, s *syntax.Stmt, at place) output {
	if s == nil || !r.step() {
		return output{}
	}
	span := r.span(s, at)
	r.at = span
	if s.Negated {
		at.last = false
	}
	if !s.Background && !s.Coprocess {
		return r.redirected(st, s, at)
	}
	at.background, at.last = true, false
	start := len(r.out.Commands)
	r.redirected(st.clone(), s, at)
	r.out.Jobs = append(r.out.Jobs, Job{span, start, len(r.out.Commands)})
	return output{}
}

// redirected opens a statement's redirects and runs its command.
func (r *reader) redirected(st *state, s *syntax.Stmt, at place) output {
	hidden := false
	if len(s.Redirs) > 0 {
		if _, simple := s.Cmd.(*syntax.CallExpr); !simple {
			hidden = r.redirects(st, s.Redirs, &at)
			if len(at.redirects) > 0 {
				r.emitRedirects(st, r.span(s, at), &at)
			}
			s = &syntax.Stmt{Position: s.Position, Cmd: s.Cmd}
		}
	}
	out := r.command(st, s, at)
	if hidden {
		return nothing
	}
	return out
}

// emitRedirects records redirects that belong to no simple command.
func (r *reader) emitRedirects(st *state, span Span, at *place) {
	c := Command{Redirects: at.redirects, Dirs: st.dirs, Span: span, Elevated: at.elevated, Origin: at.origin,
		Payload: at.payload != nil, Stdin: at.stdin}
	r.emit(c)
	at.redirects = nil
}

func (r *reader) command(st *state, s *syntax.Stmt, at place) output {
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		return r.call(st, c, s, at)
	case *syntax.BinaryCmd:
		return r.binary(st, c, at)
	case *syntax.Block:
		return r.list(st, c.Stmts, at)
	case *syntax.Subshell:
		return r.list(st.clone(), c.Stmts, at)
	case *syntax.IfClause:
		at.last = false
		return r.ifClause(st, c, at)
	case *syntax.WhileClause:
		at.last = false
		return r.loop(st, at, func(in *state) output {
			cond := r.open(in, c.Cond, at)
			in.failed = nil
			return cond.then(r.list(in, c.Do, at))
		})
	case *syntax.ForClause:
		at.last = false
		return r.forClause(st, c, at)
	case *syntax.CaseClause:
		at.last = false
		return r.caseClause(st, c, at)
	case *syntax.FuncDecl:
		r.define(st, c, at)
		return nothing
	case *syntax.DeclClause:
		r.declare(st, c, at)
		return nothing
	case *syntax.TimeClause:
		if c.Stmt == nil {
			return nothing
		}
		return r.stmt(st, c.Stmt, at)
	case *syntax.CoprocClause:
		at.background, at.last = true, false
		return r.stmt(st.clone(), c.Stmt, at)
	case *syntax.TestClause, *syntax.ArithmCmd, *syntax.LetClause:
		r.visitNode(st, c, at)
		return nothing
	case nil:
		return output{} // $(< file) prints the file
	}
	r.note(NoteUnparsed, r.span(s, at), "a kind of statement that the analysis doesn't know")
	return output{}
}

func (r *reader) binary(st *state, c *syntax.BinaryCmd, at place) output {
	left, right := at, at
	left.last = false
	switch c.Op {
	case syntax.AndStmt:
		out := r.stmt(st, c.X, left)
		next := r.stmt(st, c.Y, right)
		if !at.want {
			return output{}
		}
		return out.then(next)
	case syntax.OrStmt:
		out := r.stmt(st, c.X, left)
		branch := st.clone()
		if len(st.failed) > 0 {
			branch.dirs, branch.failed = st.failed, nil
		}
		r.stmt(branch, c.Y, right)
		if leaves(c.Y) {
			st.failed = nil
			return out
		}
		st.merge(branch, r)
		st.failed = nil
		return output{} // whether the second one runs isn't known
	}
	left.piped, right.piped, left.want = true, true, true
	start := len(r.out.Commands)
	out := r.stmt(st.clone(), c.X, left)
	if at.stdin.Kind == StdinPipe && !at.stdin.From.Empty() {
		start = at.stdin.From.Start // further left in the same pipeline
	}
	right.stdin = Stdin{Kind: StdinPipe, Text: out.value(), Known: out.known, From: Flow{start, len(r.out.Commands)}}
	return r.stmt(st.clone(), c.Y, right)
}

// leaves tells whether a statement ends the shell, function or loop it stands in.
func leaves(s *syntax.Stmt) bool {
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		if len(c.Args) > 0 {
			switch c.Args[0].Lit() {
			case "exit", "return", "continue", "break":
				return true
			}
		}
	case *syntax.Block:
		return len(c.Stmts) > 0 && leaves(c.Stmts[len(c.Stmts)-1])
	case *syntax.BinaryCmd:
		return c.Op == syntax.AndStmt && leaves(c.Y) && quiet(c.X)
	}
	return false
}

// quiet tells whether a statement only prints, so that what follows && runs.
func quiet(s *syntax.Stmt) bool {
	c, ok := s.Cmd.(*syntax.CallExpr)
	return ok && len(c.Args) > 0 && (c.Args[0].Lit() == "echo" || c.Args[0].Lit() == "printf")
}

func (r *reader) ifClause(st *state, c *syntax.IfClause, at place) output {
	if len(c.Cond) == 0 { // else
		return r.list(st, c.Then, at)
	}
	r.open(st, c.Cond, at)
	taken, other := st.clone(), st.clone()
	taken.failed = nil
	r.list(taken, c.Then, at)
	other.settle()
	if c.Else != nil {
		r.ifClause(other, c.Else, at)
	}
	st.either(taken, other, r)
	return output{}
}

// loop reads a body that may run any number of times: what it assigns is known as a set.
func (r *reader) loop(st *state, _ place, body func(*state) output) output {
	branch := st.clone()
	body(branch)
	if len(branch.assigned) > 0 || !slices.Equal(branch.dirs, st.dirs) {
		st.merge(branch, r)
	}
	return output{}
}

func (r *reader) forClause(st *state, c *syntax.ForClause, at place) output {
	iter, ok := c.Loop.(*syntax.WordIter)
	if !ok {
		r.visitNode(st, c.Loop, at)
		return r.loop(st, at, func(in *state) output { return r.list(in, c.Do, at) })
	}
	var items []Word
	for _, w := range iter.Items {
		items = r.fields(st, items, w, at)
	}
	if !iter.InPos.IsValid() {
		items = []Word{{Text: markUnknown}}
		if st.argsOK {
			items = st.args
		}
	}
	if len(items) > MaxLoopItems {
		items = append(slices.Clone(items[:MaxLoopItems]), Word{Text: markUnknown})
	}
	for chunk := range slices.Chunk(items, MaxValues) {
		var vals []string
		for _, w := range chunk {
			vals = union(vals, w.Values())
		}
		st.set(iter.Name.Value, variable{vals: vals})
		r.loop(st, at, func(in *state) output { return r.list(in, c.Do, at) })
	}
	return output{}
}

func (r *reader) caseClause(st *state, c *syntax.CaseClause, at place) output {
	r.value(st, c.Word, at)
	before := st.clone()
	for _, item := range c.Items {
		for _, p := range item.Patterns {
			r.value(st, p, at)
		}
		branch := before.clone()
		r.list(branch, item.Stmts, at)
		st.merge(branch, r)
	}
	return output{}
}

func (r *reader) define(st *state, c *syntax.FuncDecl, at place) {
	if c.Name == nil || c.Body == nil {
		return
	}
	name := c.Name.Value
	at.stdin, at.last = Stdin{}, false
	st.own()
	st.funcs[name] = &function{body: c.Body, at: at}
	if multiplies(c.Body, name) {
		r.note(NoteBomb, r.span(c, at), fmt.Sprintf("%s starts copies of itself without end", name))
	}
}

// multiplies tells whether a body calls name at least once beside itself: in the background or in a pipeline.
func multiplies(body *syntax.Stmt, name string) bool {
	calls := func(n syntax.Node) (count int) {
		syntax.Walk(n, func(n syntax.Node) bool {
			if c, ok := n.(*syntax.CallExpr); ok && len(c.Args) > 0 && staticText(c.Args[0].Parts) == name {
				count++
			}
			return true
		})
		return count
	}
	found := false
	syntax.Walk(body, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			found = found || n.Background && calls(n) > 0
		case *syntax.BinaryCmd:
			found = found || (n.Op == syntax.Pipe || n.Op == syntax.PipeAll) && calls(n) > 1
		}
		return !found
	})
	return found
}

// declare handles declare, local, export, readonly and typeset.
func (r *reader) declare(st *state, c *syntax.DeclClause, at place) {
	for _, a := range c.Args {
		if a.Name == nil {
			r.value(st, a.Value, at)
			continue
		}
		if !a.Naked {
			r.assign(st, a, at)
		}
	}
}

func (r *reader) assign(st *state, a *syntax.Assign, at place) Assign {
	name := a.Name.Value
	if a.Index != nil {
		r.visitArithm(st, a.Index, at)
	}
	if a.Array != nil {
		var list []Word
		if old, ok := st.vars[name]; ok && a.Append {
			list = slices.Clone(old.list)
		}
		for _, e := range a.Array.Elems {
			if e.Value != nil {
				list = r.fields(st, list, e.Value, at)
			}
		}
		st.set(name, variable{list: list, arr: true})
		return Assign{Name: name}
	}
	w := r.value(st, a.Value, at)
	switch {
	case a.Index != nil:
		st.set(name, variable{vals: []string{markUnknown}})
	case a.Append:
		old := r.parameter(st, name)
		st.set(name, variable{vals: join(old, w.Values())})
	default:
		st.set(name, variable{vals: w.Values(), from: w.From})
	}
	return Assign{Name: name, Value: w}
}

// visitNode reads the substitutions inside a part of the syntax that isn't a command itself.
func (r *reader) visitNode(st *state, n syntax.Node, at place) {
	if n == nil {
		return
	}
	syntax.Walk(n, func(n syntax.Node) bool {
		if !r.step() {
			return false
		}
		switch n := n.(type) {
		case *syntax.CmdSubst:
			r.substitution(st, n.Stmts, at)
			return false
		case *syntax.ProcSubst:
			r.process(st, n, at)
			return false
		}
		return true
	})
}

func (r *reader) visitArithm(st *state, x syntax.ArithmExpr, at place) {
	if x != nil {
		r.visitNode(st, x, at)
	}
}

// visitParam reads the substitutions in the index and slice of an expansion; its words are folded by the operator.
func (r *reader) visitParam(st *state, p *syntax.ParamExp, at place) {
	r.visitArithm(st, p.Index, at)
	if p.Slice != nil {
		r.visitArithm(st, p.Slice.Offset, at)
		r.visitArithm(st, p.Slice.Length, at)
	}
}

// substitution reads the commands of $(…) and returns what they print.
func (r *reader) substitution(st *state, stmts []*syntax.Stmt, at place) ([]string, Flow) {
	in := r.inner(at)
	in.want = true
	start := len(r.out.Commands)
	out := r.list(st.clone(), stmts, in)
	flow := Flow{start, len(r.out.Commands)}
	return []string{trimNewlines(out.value())}, flow
}

func (r *reader) process(st *state, p *syntax.ProcSubst, at place) Flow {
	in := r.inner(at)
	in.want = p.Op == syntax.CmdIn
	if p.Op == syntax.CmdOut {
		in.stdin = Stdin{Kind: StdinPipe}
	}
	start := len(r.out.Commands)
	out := r.list(st.clone(), p.Stmts, in)
	flow := Flow{start, len(r.out.Commands)}
	if p.Op == syntax.CmdOut {
		return Flow{}
	}
	if r.processOut == nil {
		r.processOut = map[Flow]output{}
	}
	r.processOut[flow] = out
	return flow
}

// inner is the place of a substitution: its own output, no part of the pipeline around it.
func (r *reader) inner(at place) place {
	return place{origin: at.origin, payload: at.payload, depth: at.depth, elevated: at.elevated, calls: at.calls, stdin: at.stdin}
}

func trimNewlines(s string) string {
	for len(s) > 0 && s[len(s)-1] == '\n' {
		s = s[:len(s)-1]
	}
	return s
}

// staticText is the text of literal and quoted parts; other parts end it.
func staticText(parts []syntax.WordPart) string {
	text := ""
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			text += unescape(p.Value)
		case *syntax.SglQuoted:
			text += p.Value
		case *syntax.DblQuoted:
			text += staticText(p.Parts)
		default:
			return text
		}
	}
	return text
}
