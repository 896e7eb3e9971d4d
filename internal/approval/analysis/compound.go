package analysis

import (
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// joint is one operator of a chain of commands, with what surrounds it.
type joint struct {
	c  *syntax.BinaryCmd
	st *state
	at *place
}

// binary reads a chain of commands. The grammar nests it to the left, as deep as it is long: it is gone through without recursion.
func (r *reader) binary(st *state, c *syntax.BinaryCmd, at place) output {
	var chain []joint
	around := &at
	for {
		chain = append(chain, joint{c, st, around})
		piped := isPipe(c)
		if around.last || piped && !(around.piped && around.want) {
			inner := *around
			inner.last, inner.piped, inner.want = false, inner.piped || piped, inner.want || piped
			around = &inner
		}
		next, ok := c.X.Cmd.(*syntax.BinaryCmd)
		ok = ok && !c.X.Negated && !c.X.Background && !c.X.Coprocess && len(c.X.Redirs) == 0
		if piped && (!ok || !isPipe(next)) {
			st = st.clone()
		}
		if !ok {
			break
		}
		if c = next; !r.step() {
			return output{}
		}
	}
	start := len(r.out.Commands)
	out := r.stmt(st, c.X, *around)
	for _, j := range slices.Backward(chain) {
		out = r.second(j, out, start)
	}
	return out
}

func isPipe(c *syntax.BinaryCmd) bool { return c.Op != syntax.AndStmt && c.Op != syntax.OrStmt }

// second reads the command behind an operator, when the one in front, whose commands begin at start, gave what it prints.
func (r *reader) second(j joint, out output, start int) output {
	c, st, at := j.c, j.st, *j.at
	switch c.Op {
	case syntax.AndStmt:
		next := r.stmt(st, c.Y, at)
		if !at.want {
			return output{}
		}
		return r.then(out, next)
	case syntax.OrStmt:
		branch := st.clone()
		if len(st.failed) > 0 {
			branch.dirs, branch.failed = st.failed, nil
		}
		next := r.stmt(branch, c.Y, at)
		if leaves(c.Y) {
			st.failed = nil
			return out
		}
		st.merge(branch, r)
		st.failed = nil
		switch {
		case out.known && out.text != "": // it printed, so it most likely succeeded
			return out
		case out.known:
			return next
		}
		return output{} // whether the second one runs isn't known
	}
	at.piped = true
	if at.stdin.Kind == StdinPipe && !at.stdin.From.Empty() {
		start = at.stdin.From.Start // further left in the same pipeline
	}
	at.stdin = Stdin{Kind: StdinPipe, Text: out.value(), Known: out.known, From: Flow{start, len(r.out.Commands)}}
	return r.stmt(st.clone(), c.Y, at)
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
func (r *reader) loop(st *state, body func(*state) output) output {
	branch := st.clone()
	r.loops++
	body(branch)
	for range MaxLoopItems { // a loop that shifts comes to each parameter
		left := len(branch.args)
		if !branch.argsOK || left == 0 || left >= len(st.args) || r.full {
			break
		}
		if body(branch); len(branch.args) >= left {
			break
		}
	}
	r.loops--
	if branch.owned || !slices.Equal(branch.dirs, st.dirs) {
		st.merge(branch, r)
	}
	return output{}
}

func (r *reader) forClause(st *state, c *syntax.ForClause, at place) output {
	iter, ok := c.Loop.(*syntax.WordIter)
	if !ok {
		r.visitNode(st, c.Loop, at)
		return r.loop(st, func(in *state) output { return r.list(in, c.Do, at) })
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
		var v variable
		for _, w := range chunk {
			v.vals, v.from = union(v.vals, w.Values()), either(v.from, w.From)
		}
		st.set(iter.Name.Value, v)
		r.loop(st, func(in *state) output { return r.list(in, c.Do, at) })
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
	bomb := r.multiplies(c.Body, name)
	f := &function{body: c.Body, at: at, bomb: bomb}
	st.funcs[name], r.defined = f, append(r.defined, f)
	if r.exportsAll {
		r.export(name, f)
	}
	if bomb {
		r.note(NoteBomb, r.span(c, at), fmt.Sprintf("%s starts copies of itself without end", name))
	}
}

// multiplies tells whether a body calls name at least once beside itself: in the background or in a pipeline.
func (r *reader) multiplies(body *syntax.Stmt, name string) bool {
	found := false
	calls := []int{0} // of name, in each node around the place
	var around []syntax.Node
	syntax.Walk(body, func(n syntax.Node) bool {
		if n != nil {
			if !r.passes(len(around)) {
				return false
			}
			around, calls = append(around, n), append(calls, 0)
			return true
		}
		last := len(around) - 1
		count := calls[last+1]
		switch n := around[last].(type) {
		case *syntax.CallExpr:
			if len(n.Args) > 0 && staticText(n.Args[0].Parts) == name {
				count++
			}
		case *syntax.Stmt:
			found = found || n.Background && count > 0
		case *syntax.BinaryCmd:
			found = found || (n.Op == syntax.Pipe || n.Op == syntax.PipeAll) && count > 1
		}
		around, calls = around[:last], calls[:last+1]
		calls[last] += count
		return true
	})
	return found
}

// staticText is the text of literal and quoted parts; other parts end it.
func staticText(parts []syntax.WordPart) string {
	var b strings.Builder
	addStatic(&b, parts)
	return b.String()
}

func addStatic(b *strings.Builder, parts []syntax.WordPart) {
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			b.WriteString(unescape(p.Value))
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			addStatic(b, p.Parts)
		default:
			return
		}
	}
}
