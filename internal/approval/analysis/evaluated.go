package analysis

import (
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// evaluators are builtins whose operands are names of variables. An index behind a name is arithmetic, quoted or not, and what is
// substituted in it runs.
var evaluators = []string{"unset", "read", "printf", "test", "[", "mapfile", "readarray", "getopts", "wait", "let", "declare", "typeset", "local",
	"export", "readonly", "coproc"}

// evaluated reads what the operands of such a builtin run.
func (r *reader) evaluated(st *state, c *Command, at place) {
	if !slices.Contains(evaluators, c.Program) {
		return
	}
	for i, w := range c.Words[1:] {
		switch c.Program {
		case "printf": // its other operands are data
			if i != 1 || !c.Words[1].Is("-v") {
				continue
			}
		case "test", "[":
			if !oneOf(c.Words[i], "-v", "-R") {
				continue
			}
		}
		r.subscript(st, w, c, at)
	}
}

// subscript runs what is substituted in the index of a name: a[$(command)].
func (r *reader) subscript(st *state, w Word, c *Command, at place) {
	for _, v := range w.Values() {
		if strings.IndexByte(v, '[') > 0 {
			r.substituted(st, Word{Text: v, Span: w.Span}, c, at)
		}
	}
}

// substituted runs the substitutions in a text that the shell expands once more.
func (r *reader) substituted(st *state, w Word, c *Command, at place) {
	text := Plain(w.Text)
	if !strings.Contains(text, "$(") && strings.IndexByte(text, '`') < 0 || strings.Contains(text, endOfText) {
		return
	}
	at.stdin, at.redirects, at.want = Stdin{}, nil, false
	r.text(st.clone(), Word{Text: "true <<" + endOfText + "\n" + text + "\n" + endOfText, Span: w.Span}, c, at)
}

// endOfText ends a here-document around a text that holds no such line.
const endOfText = "END_OF_EXPANDED_TEXT"

// shellItself stands for the shell where it evaluates something that is no command.
func (r *reader) shellItself(n syntax.Node, at place) *Command {
	return &Command{Program: "expansion", Span: r.span(n, at), Origin: at.origin, index: max(len(r.out.Commands)-1, 0)}
}

// arithm reads an arithmetic expression: variables hold expressions in turn, and an index in one may substitute commands.
func (r *reader) arithm(st *state, x syntax.Node, at place) {
	if x == nil {
		return
	}
	r.visitNode(st, x, at)
	r.each(x, func(n syntax.Node) bool {
		w, ok := n.(*syntax.Word)
		if !ok {
			return true
		}
		lit := w.Lit()
		if lit != "" && !syntax.ValidName(lit) {
			return false
		}
		if v, ok := r.lookup(st, lit); ok && lit != "" {
			for _, val := range v.vals {
				r.subscript(st, Word{Text: val, Span: r.span(w, at)}, r.shellItself(w, at), at)
			}
			return false
		}
		if lit == "" && quotedOrVariable(w) {
			r.subscript(st, r.value(st, w, at), r.shellItself(w, at), at)
		}
		return false
	})
}

// quotedOrVariable tells whether a word holds a text that isn't seen in it: quotes or a plain variable. Its substitutions were read.
func quotedOrVariable(w *syntax.Word) bool {
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.SglQuoted:
		case *syntax.Lit:
		case *syntax.ParamExp:
			if p.Exp != nil || p.Repl != nil || p.Slice != nil || p.Index != nil {
				return false
			}
		case *syntax.DblQuoted:
			if !quotedOrVariable(&syntax.Word{Parts: p.Parts}) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// testClause reads the parts of [[ … ]] that are arithmetic or names, and keeps what a regular expression finds.
func (r *reader) testClause(st *state, c *syntax.TestClause, at place) {
	r.visitNode(st, c, at)
	r.each(c, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst: // read already
			return false
		case *syntax.UnaryTest:
			if w, ok := n.X.(*syntax.Word); ok && (n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar) {
				r.subscript(st, r.value(st, w, at), r.shellItself(n, at), at)
			}
		case *syntax.BinaryTest:
			switch n.Op {
			case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
				r.arithm(st, n.X, at)
				r.arithm(st, n.Y, at)
			case syntax.TsReMatch:
				r.matched(st, n, at)
			}
		}
		return true
	})
}

// maxPattern and maxMatched bound the regular expressions that are run, in bytes.
const (
	maxPattern = 256
	maxMatched = 4096
)

// matched sets BASH_REMATCH to what a regular expression finds in a text that is known.
func (r *reader) matched(st *state, n *syntax.BinaryTest, at place) {
	x, ok := n.X.(*syntax.Word)
	y, too := n.Y.(*syntax.Word)
	if !ok || !too {
		return
	}
	text, known := r.value(st, x, at).Exact()
	pattern := r.value(st, y, at)
	if !known || len(pattern.Alts) > 0 || !Known(pattern.Text) || len(pattern.Text) > maxPattern || len(text) > maxMatched {
		st.set("BASH_REMATCH", variable{vals: []string{markUnknown}})
		return
	}
	if !r.spend(stepsText + matchCost(pattern.Text)*(1+len(text))/bytesMatching) {
		return
	}
	re, err := regexp.CompilePOSIX(Plain(pattern.Text))
	if err != nil {
		st.set("BASH_REMATCH", variable{vals: []string{markUnknown}})
		return
	}
	v := variable{arr: true}
	for _, m := range re.FindStringSubmatch(text) {
		v.list = append(v.list, Word{Text: m, Span: r.span(n, at)})
	}
	st.set("BASH_REMATCH", v)
}
