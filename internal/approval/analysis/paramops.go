package analysis

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// operate applies the operator of an expansion to each value.
func (b *builder) operate(p *syntax.ParamExp, vals []string, at place) []string {
	switch {
	case p.Length:
		return []string{markSome}
	case p.Exp != nil:
		return b.operator(p, vals, at)
	case p.Repl != nil:
		orig := b.r.value(b.st, p.Repl.Orig, at)
		with := b.r.value(b.st, p.Repl.With, at)
		return each(vals, func(v string) string { return replace(v, orig, with, p.Repl.All) })
	case p.Slice != nil:
		return sliced(vals, p.Slice)
	case p.Excl && p.Names == 0:
		return vals
	}
	return []string{markUnknown}
}

func each(vals []string, f func(string) string) []string {
	out := make([]string, len(vals))
	for i, v := range vals {
		if !Literal(v) {
			out[i] = markUnknown
			continue
		}
		out[i] = f(v)
	}
	return out
}

func (b *builder) operator(p *syntax.ParamExp, vals []string, at place) []string {
	unknown := len(vals) == 1 && vals[0] == markUnknown
	empty := len(vals) == 1 && vals[0] == ""
	op := p.Exp.Op
	switch op {
	case syntax.RemSmallPrefix, syntax.RemLargePrefix, syntax.RemSmallSuffix, syntax.RemLargeSuffix:
		pattern := b.pattern(p.Exp.Word, at)
		for _, v := range vals {
			b.r.spend(trimCost(v, pattern))
		}
		return each(vals, func(v string) string { return trim(v, op, pattern) })
	}
	w := b.r.value(b.st, p.Exp.Word, at) // folded once, used or not: it may hold commands
	word := func() []string {
		b.flow(w.From)
		return w.Values()
	}
	switch op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
		switch {
		case unknown:
			vals = union(word(), []string{markSome})
		case empty:
			vals = word()
		}
		if op == syntax.AssignUnset || op == syntax.AssignUnsetOrNull {
			b.st.set(p.Param.Value, variable{vals: vals})
		}
		return vals
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		switch {
		case unknown:
			return union(word(), []string{""})
		case empty:
			return []string{""}
		}
		return word()
	case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		if unknown {
			return []string{markSome}
		}
		return vals
	case syntax.OtherParamOps:
		switch w.Text {
		case "L":
			return each(vals, strings.ToLower)
		case "U":
			return each(vals, strings.ToUpper)
		case "P": // a prompt, whose substitutions run
			for _, v := range vals {
				b.r.substituted(b.st, Word{Text: v, Span: w.Span}, b.r.shellItself(p, at), at)
			}
			return each(vals, ansiC)
		case "E":
			return each(vals, ansiC)
		case "Q", "u":
			return each(vals, func(v string) string { return v })
		}
	case syntax.UpperAll:
		return each(vals, strings.ToUpper)
	case syntax.LowerAll:
		return each(vals, strings.ToLower)
	case syntax.UpperFirst:
		return each(vals, func(v string) string { return strings.ToUpper(v[:min(1, len(v))]) + v[min(1, len(v)):] })
	case syntax.LowerFirst:
		return each(vals, func(v string) string { return strings.ToLower(v[:min(1, len(v))]) + v[min(1, len(v)):] })
	}
	return []string{markUnknown}
}

// pattern folds the pattern of an operator: its glob characters are live, it isn't split.
func (b *builder) pattern(w *syntax.Word, at place) string {
	if w == nil {
		return ""
	}
	in := builder{r: b.r, st: b.st}
	in.parts(w.Parts, false, at)
	switch {
	case len(in.fields) > 0 || len(in.cur) > 1:
		return markUnknown
	case len(in.cur) == 0:
		return ""
	}
	return in.cur[0]
}

// maxTrimmed is the longest text that is trimmed, in bytes.
const maxTrimmed = 1024

// trimCost is the work of trimming: a pattern is held against every beginning or end.
func trimCost(v, pattern string) int {
	switch {
	case len(v) > maxTrimmed:
		return 1
	case Literal(pattern):
		return 1 + len(v)/bytesFolded
	}
	return 1 + len(v)*len(v)/(2*bytesFolded)
}

// trim removes the shortest or longest prefix or suffix that a pattern matches.
func trim(v string, op syntax.ParExpOperator, pattern string) string {
	if !Known(pattern) || len(v) > maxTrimmed {
		return markUnknown
	}
	n := len(v)
	for i := range n + 1 {
		switch op {
		case syntax.RemSmallPrefix:
			if MatchesName(pattern, v[:i]) {
				return v[i:]
			}
		case syntax.RemLargePrefix:
			if MatchesName(pattern, v[:n-i]) {
				return v[n-i:]
			}
		case syntax.RemSmallSuffix:
			if MatchesName(pattern, v[n-i:]) {
				return v[:n-i]
			}
		default:
			if MatchesName(pattern, v[i:]) {
				return v[:i]
			}
		}
	}
	return v
}

func replace(v string, orig, with Word, all bool) string {
	o, ok1 := orig.Exact()
	w, ok2 := with.Exact()
	if !ok1 || !ok2 || strings.ContainsAny(o, "*?[") {
		return markUnknown
	}
	if rest, ok := strings.CutPrefix(o, "#"); ok && !all {
		if after, found := strings.CutPrefix(v, rest); found {
			return w + after
		}
		return v
	}
	if rest, ok := strings.CutPrefix(o, "%"); ok && !all {
		if before, found := strings.CutSuffix(v, rest); found {
			return before + w
		}
		return v
	}
	n := 1
	if all {
		n = -1
	}
	if o == "" {
		return v
	}
	return strings.Replace(v, o, w, n)
}

// sliced cuts a piece out of each value; of one that is known in part, only out of its beginning.
func sliced(vals []string, s *syntax.Slice) []string {
	out := make([]string, len(vals))
	for i, v := range vals {
		out[i] = markUnknown
		from, ok := number(s.Offset)
		n, bounded := number(s.Length)
		switch {
		case Literal(v):
			out[i] = slice(v, s)
		case ok && bounded && from >= 0 && n >= 0 && from+n <= len(Head(v)):
			out[i] = v[from : from+n]
		}
	}
	return out
}

func slice(v string, s *syntax.Slice) string {
	from, ok := number(s.Offset)
	if !ok {
		return markUnknown
	}
	if from < 0 {
		from += len(v)
	}
	if from < 0 || from > len(v) {
		return ""
	}
	end := len(v)
	if s.Length != nil {
		n, ok := number(s.Length)
		if !ok {
			return markUnknown
		}
		if end = from + n; n < 0 {
			end = len(v) + n
		}
	}
	return v[from:max(from, min(end, len(v)))]
}

func number(x syntax.ArithmExpr) (int, bool) {
	switch x := x.(type) {
	case *syntax.Word:
		n, err := strconv.ParseInt(x.Lit(), 0, 0)
		return int(n), err == nil
	case *syntax.UnaryArithm:
		if n, ok := number(x.X); ok && x.Op == syntax.Minus && !x.Post {
			return -n, true
		}
	case *syntax.ParenArithm:
		return number(x.X)
	case *syntax.BinaryArithm:
		a, known := number(x.X)
		b, too := number(x.Y)
		if !known || !too {
			return 0, false
		}
		switch x.Op {
		case syntax.Add:
			return a + b, true
		case syntax.Sub:
			return a - b, true
		case syntax.Mul:
			return a * b, true
		}
	}
	return 0, false
}
