package analysis

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// param adds the value of a parameter expansion.
func (b *builder) param(p *syntax.ParamExp, quoted bool, at place) {
	if p.Param == nil {
		b.add(markUnknown)
		return
	}
	b.r.visitParam(b.st, p, at)
	name := p.Param.Value
	if list, star, ok := b.list(p, name, at); ok {
		b.words(list, quoted, star)
		return
	}
	b.flow(b.st.vars[name].from)
	vals := b.r.parameter(b.st, name)
	if p.Index != nil {
		vals = b.r.element(b.st, p, name)
	}
	switch {
	case p.Excl && name == "#" && b.st.argsOK && len(b.st.args) > 0:
		vals = b.st.args[len(b.st.args)-1].Values()
	case p.Excl:
		vals = b.r.indirect(b.st, vals)
	}
	if !p.Excl && !p.Length && p.Slice == nil && p.Repl == nil && p.Exp == nil && p.Names == 0 {
		b.expansion(vals, quoted)
		return
	}
	b.expansion(b.operate(p, vals, at), quoted)
}

// list tells whether an expansion is a list of words: $@, $*, ${a[@]}, ${a[*]}.
func (b *builder) list(p *syntax.ParamExp, name string, at place) (words []Word, star, ok bool) {
	if p.Length {
		return nil, false, false
	}
	if p.Repl != nil || p.Exp != nil && p.Exp.Op >= syntax.RemSmallSuffix {
		plain := *p
		plain.Exp, plain.Repl = nil, nil
		if words, star, ok = b.list(&plain, name, at); ok && len(words) <= MaxLoopItems {
			return b.mapped(p, words, at), star, true
		}
		return nil, false, false
	}
	if p.Exp != nil {
		return nil, false, false
	}
	if name == "@" || name == "*" {
		if !b.st.argsOK || p.Excl {
			return nil, false, false
		}
		if p.Slice != nil { // counted from $0
			all := append([]Word{{Text: b.st.name}}, b.st.args...)
			words, ok = part(all, p.Slice)
			return words, name == "*", ok
		}
		return b.st.args, name == "*", true
	}
	w, isWord := p.Index.(*syntax.Word)
	if p.Index == nil || !isWord || (w.Lit() != "@" && w.Lit() != "*") {
		return nil, false, false
	}
	v, known := b.st.vars[name]
	if !known || !v.arr {
		return nil, false, false
	}
	switch {
	case p.Excl && v.keys == nil:
		for i := range v.list {
			words = append(words, Word{Text: strconv.Itoa(i)})
		}
		return words, w.Lit() == "*", true
	case p.Excl:
		for _, k := range slices.Sorted(maps.Keys(v.keys)) {
			words = append(words, Word{Text: k})
		}
		return words, w.Lit() == "*", true
	case p.Slice != nil:
		words, ok = part(v.list, p.Slice)
		return words, w.Lit() == "*", ok
	}
	return v.list, w.Lit() == "*", true
}

// mapped applies the operator of an expansion to each word of a list.
func (b *builder) mapped(p *syntax.ParamExp, list []Word, at place) []Word {
	words := make([]Word, len(list))
	for i, w := range list {
		vals := b.operate(p, w.Values(), at)
		words[i] = Word{Text: vals[0], Alts: vals[1:], From: w.From, Span: w.Span}
	}
	return words
}

// part is a slice of a list of words.
func part(words []Word, s *syntax.Slice) ([]Word, bool) {
	from, ok := number(s.Offset)
	if !ok {
		return nil, false
	}
	if from < 0 {
		from += len(words)
	}
	if from < 0 || from > len(words) {
		return nil, true
	}
	end := len(words)
	if s.Length != nil {
		n, ok := number(s.Length)
		if !ok || n < 0 {
			return nil, false
		}
		end = min(end, from+n)
	}
	return words[from:end], true
}

func (b *builder) words(list []Word, quoted, star bool) {
	if quoted && star {
		texts := make([]string, len(list))
		for i, w := range list {
			texts[i] = w.Text
		}
		sep := " "
		if v, ok := b.st.vars["IFS"]; ok && len(v.vals) == 1 && Literal(v.vals[0]) {
			sep = v.vals[0][:min(1, len(v.vals[0]))]
		}
		b.add(strings.Join(texts, sep))
		return
	}
	b.fields = slices.Grow(b.fields, len(list))
	for i, w := range list {
		if i > 0 {
			b.end()
		}
		b.flow(w.From)
		b.expansion(w.Values(), quoted)
	}
}

// parameter returns the values of a plain parameter.
func (r *reader) parameter(st *state, name string) []string {
	switch name {
	case "#":
		if st.argsOK {
			return []string{strconv.Itoa(len(st.args))}
		}
		return []string{markSome}
	case "$", "?", "-", "RANDOM", "SECONDS", "PPID", "BASHPID", "UID", "EUID", "LINENO":
		return []string{markSome}
	case "!":
		return []string{markJob}
	case "0":
		if st.name != "" {
			return []string{st.name}
		}
		return []string{markSome}
	}
	if n, err := strconv.Atoi(name); err == nil {
		switch {
		case !st.argsOK:
			return []string{markUnknown}
		case n < 1 || n > len(st.args):
			return []string{""}
		}
		return st.args[n-1].Values()
	}
	v, ok := r.lookup(st, name)
	switch {
	case !ok:
		return []string{markUnknown}
	case v.arr && len(v.list) > 0:
		return v.list[0].Values()
	case v.arr:
		return []string{""}
	}
	return v.vals
}

func (r *reader) element(st *state, p *syntax.ParamExp, name string) []string {
	v, ok := r.lookup(st, name)
	if ok && v.keys != nil {
		if w, found := v.keys[indexText(p.Index)]; found {
			return w.Values()
		}
		if staticIndex(p.Index) {
			return []string{markUnknown}
		}
		return anyOf(slices.Collect(maps.Values(v.keys)))
	}
	n, known := r.index(st, p.Index)
	if !ok || !v.arr {
		return []string{markUnknown}
	}
	if !known {
		return anyOf(v.list)
	}
	if n < 0 {
		n += len(v.list)
	}
	if n < 0 || n >= len(v.list) {
		return []string{""}
	}
	return v.list[n].Values()
}

// anyOf is what an element of an array may be whose index isn't known.
func anyOf(list []Word) (vals []string) {
	if len(list) == 0 || len(list) > MaxValues {
		return []string{markUnknown}
	}
	for _, w := range list {
		vals = union(vals, w.Values())
	}
	slices.Sort(vals)
	return vals
}

// staticIndex tells whether an index is written as it is.
func staticIndex(x syntax.ArithmExpr) bool {
	w, ok := x.(*syntax.Word)
	return ok && !slices.ContainsFunc(w.Parts, func(p syntax.WordPart) bool { _, param := p.(*syntax.ParamExp); return param })
}

// index evaluates the index of an array: a number, or a variable that holds one.
func (r *reader) index(st *state, x syntax.ArithmExpr) (int, bool) {
	if n, ok := number(x); ok {
		return n, true
	}
	w, ok := x.(*syntax.Word)
	if !ok || len(w.Parts) != 1 {
		return 0, false
	}
	name := w.Lit()
	if p, isParam := w.Parts[0].(*syntax.ParamExp); isParam && p.Param != nil {
		name = p.Param.Value
	}
	v, known := r.lookup(st, name)
	if !known || len(v.vals) != 1 || !syntax.ValidName(name) {
		return 0, false
	}
	n, err := strconv.Atoi(v.vals[0])
	return n, err == nil
}

// indexText is the key of an associative array.
func indexText(x syntax.ArithmExpr) string {
	if w, ok := x.(*syntax.Word); ok {
		return staticText(w.Parts)
	}
	return ""
}

func (r *reader) indirect(st *state, names []string) []string {
	var vals []string
	for _, n := range names {
		if !Literal(n) || !syntax.ValidName(n) {
			return []string{markUnknown}
		}
		vals = union(vals, r.parameter(st, n))
	}
	return vals
}
