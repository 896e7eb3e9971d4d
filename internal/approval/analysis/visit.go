package analysis

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// listsVariables records a declaration that declares nothing: it prints all variables.
func (r *reader) listsVariables(st *state, c *syntax.DeclClause, at place) {
	words := []Word{{Text: c.Variant.Value, Span: r.span(c, at)}}
	for _, a := range c.Args {
		option := ""
		if a.Name == nil && a.Value != nil {
			option = staticText(a.Value.Parts)
		}
		if !strings.HasPrefix(option, "-") {
			return
		}
		words = append(words, Word{Text: option, Span: r.span(c, at)})
	}
	r.emit(Command{Program: c.Variant.Value, Words: words, Dirs: st.dirs, Inside: at.inside, Origin: at.origin, Span: r.span(c, at), Payload: at.payload != nil, Piped: at.piped})
}

// declare handles declare, local, export, readonly and typeset.
func (r *reader) declare(st *state, c *syntax.DeclClause, at place) {
	var change func(string) string
	refers := false
	r.listsVariables(st, c, at)
	var words []string
	for _, a := range c.Args {
		if a.Name == nil {
			w := r.value(st, a.Value, at)
			words = append(words, w.Text)
			r.subscript(st, w, r.shellItself(c, at), at)
			switch w.Text { // declare -l, -u
			case "-l", "-xl", "-lx", "-gl":
				change = strings.ToLower
			case "-u", "-xu", "-ux", "-gu":
				change = strings.ToUpper
			case "-n", "-gn":
				refers = true
			}
			continue
		}
		if a.Naked {
			words = append(words, a.Name.Value)
		} else {
			set := r.assign(st, a, at)
			if refers && len(set.Value.Alts) == 0 && syntax.ValidName(set.Value.Text) {
				st.set(set.Name, variable{ref: set.Value.Text})
				continue
			}
			if change != nil {
				st.set(set.Name, variable{vals: each(set.Value.Values(), change)})
			}
			r.variableSet(st, set.Name, set.Value, r.setter(c.Variant.Value, a, at), at)
		}
	}
	r.exports(st, c.Variant.Value, words)
}

// exports notes the functions that a declaration gives to the shells that are started later: export -f NAME, declare -fx NAME.
func (r *reader) exports(st *state, program string, words []string) {
	functions, exported := false, program == "export"
	for _, w := range words {
		if strings.HasPrefix(w, "-") {
			functions, exported = functions || strings.Contains(w, "f"), exported || strings.Contains(w, "x")
		} else if f := st.funcs[w]; f != nil && functions && exported {
			r.export(w, f)
		}
	}
}

func (r *reader) export(name string, f *function) {
	if r.exported == nil {
		r.exported = map[string]*function{}
	}
	r.exported[name] = f
}

// setter is the command that sets a variable, which the grammar doesn't take for one.
func (r *reader) setter(name string, a *syntax.Assign, at place) *Command {
	if variableUses()[a.Name.Value] == 0 {
		return nil
	}
	return &Command{Program: name, Origin: at.origin, Span: r.span(a, at), index: len(r.out.Commands) - 1}
}

func (r *reader) assign(st *state, a *syntax.Assign, at place) Assign {
	name := a.Name.Value
	if a.Index != nil {
		r.visitArithm(st, a.Index, at)
	}
	if a.Array != nil {
		var list []Word
		if old, ok := st.vars[name]; ok && a.Append {
			r.spend(len(old.list))
			list = slices.Clone(old.list)
		}
		list = slices.Grow(list, len(a.Array.Elems))
		keys := map[string]Word{}
		for _, e := range a.Array.Elems {
			r.visitArithm(st, e.Index, at)
			if e.Index != nil && e.Value != nil {
				keys[indexText(e.Index)] = r.value(st, e.Value, at)
			}
			if e.Value != nil {
				list = r.fields(st, list, e.Value, at)
			}
		}
		v := variable{list: list, arr: true}
		if len(keys) > 0 {
			v.keys = keys
		}
		st.set(name, v)
		return Assign{Name: name}
	}
	w := r.value(st, a.Value, at)
	switch {
	case a.Index != nil:
		st.set(name, r.withElement(st, name, a.Index, w))
	case a.Append:
		old := r.parameter(st, name)
		st.set(name, variable{vals: r.join(old, w.Values())})
	default:
		st.set(name, variable{vals: w.Values(), from: w.From})
	}
	return Assign{Name: name, Value: w}
}

// withElement is an array with one element set anew.
func (r *reader) withElement(st *state, name string, index syntax.ArithmExpr, w Word) variable {
	old := st.vars[name]
	n, ok := r.index(st, index)
	if len(old.list)+len(old.keys) > MaxLoopItems { // each assignment copies them
		return variable{vals: []string{markUnknown}}
	}
	if key := indexText(index); !ok && key != "" {
		keys := map[string]Word{key: w}
		for k, v := range old.keys {
			if k != key {
				keys[k] = v
			}
		}
		return variable{arr: true, keys: keys}
	}
	if !ok || n < 0 || n > len(old.list) || len(old.list) > 0 && !old.arr {
		return variable{vals: []string{markUnknown}}
	}
	list := slices.Clone(old.list)
	if n == len(list) {
		list = append(list, w)
	} else {
		list[n] = w
	}
	return variable{list: list, arr: true}
}

// visitNode reads the substitutions inside a part of the syntax that isn't a command itself.
func (r *reader) visitNode(st *state, n syntax.Node, at place) {
	if n == nil {
		return
	}
	r.each(n, func(n syntax.Node) bool {
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
		r.arithm(st, x, at)
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
		r.sinks = append(r.sinks, sink{st.clone(), p.Stmts, in, len(r.out.Commands)})
		return Flow{}
	}
	start := len(r.out.Commands)
	out := r.list(st.clone(), p.Stmts, in)
	flow := Flow{start, len(r.out.Commands)}
	if r.processOut == nil {
		r.processOut = map[Flow]output{}
	}
	r.processOut[flow] = out
	return flow
}

// sink is a process substitution that reads what its command writes.
type sink struct {
	st    *state
	stmts []*syntax.Stmt
	at    place
	start int // the command's index
}

// drain runs the process substitutions from the n-th on with what their command printed.
func (r *reader) drain(n int, out output) {
	for len(r.sinks) > n {
		last := r.sinks[len(r.sinks)-1]
		r.sinks = r.sinks[:len(r.sinks)-1]
		last.at.stdin = Stdin{Kind: StdinPipe, Text: out.value(), Known: out.known, From: Flow{last.start, len(r.out.Commands)}}
		r.list(last.st, last.stmts, last.at)
	}
}

// inner is the place of a substitution: its own output, no part of the pipeline around it.
func (r *reader) inner(at place) place {
	return place{origin: at.origin, payload: at.payload, depth: at.depth, elevated: at.elevated, inside: at.inside, calls: at.calls, scripts: at.scripts, stdin: at.stdin}
}

func trimNewlines(s string) string {
	for len(s) > 0 && s[len(s)-1] == '\n' {
		s = s[:len(s)-1]
	}
	return s
}
