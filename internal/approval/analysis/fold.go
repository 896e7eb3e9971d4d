package analysis

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// builder collects the fields of one word. Each field has one or more possible values.
type builder struct {
	r      *reader
	st     *state
	fields [][]string
	cur    []string // the field being built; nil = none yet
	single strings.Builder
	owned  bool // cur is what single holds
	from   Flow
}

// add appends a text to the field. Its pieces may be ten thousand, so what is there already isn't copied for each.
func (b *builder) add(text string) {
	if b.r.masked {
		text = unmaskMarks.Replace(text)
	}
	switch {
	case len(b.cur) > 1:
		b.cur = b.r.join(b.cur, []string{text})
		return
	case b.cur == nil:
		b.cur = []string{text}
	case b.r.full:
		return
	default:
		if !b.owned {
			b.single.WriteString(b.cur[0])
			b.cur, b.owned = []string{""}, true
		}
		b.single.WriteString(text)
		b.cur[0] = b.single.String()
	}
	b.r.fold(len(text))
}

// either appends one of several texts to the field.
func (b *builder) either(vals []string) {
	if len(vals) == 1 {
		b.add(vals[0])
		return
	}
	if b.r.masked {
		vals = slices.Clone(vals)
		for i, v := range vals {
			vals[i] = unmaskMarks.Replace(v)
		}
	}
	if b.r.full && b.cur != nil {
		return
	}
	b.cur, b.single, b.owned = b.r.join(b.cur, vals), strings.Builder{}, false
}

// join pairs heads and tails, and counts what that makes and copies.
func (r *reader) join(heads, tails []string) []string {
	copied := size(heads)
	all := join(heads, tails)
	r.fold(max(0, size(all)-copied))
	r.spend(copied / bytesFolded)
	return all
}

// fold counts bytes that are put together.
func (r *reader) fold(n int) {
	if r.folded += n; r.folded > MaxFolded {
		r.limit("more than 256 KiB of folded text", r.at)
	}
	r.spend(1 + n/bytesFolded)
}

func size(vals []string) (n int) {
	for _, v := range vals {
		n += len(v)
	}
	return n
}

func (b *builder) end() {
	if b.cur != nil {
		b.fields = append(b.fields, b.cur)
		b.cur, b.single, b.owned = nil, strings.Builder{}, false
	}
}

func (b *builder) flow(f Flow) {
	if f.Empty() {
		return
	}
	if b.from.Empty() {
		b.from = f
		return
	}
	b.from = Flow{min(b.from.Start, f.Start), max(b.from.End, f.End)}
}

// fields folds a word that undergoes every expansion, into the words it becomes.
func (r *reader) fields(st *state, dst []Word, w *syntax.Word, at place) []Word {
	span := r.span(w, at)
	if len(w.Parts) == 1 {
		if lit, ok := w.Parts[0].(*syntax.Lit); ok && !r.masked && plainLit(lit.Value) {
			r.fold(len(lit.Value))
			return append(dst, Word{Text: lit.Value, Span: span})
		}
	}
	for _, single := range r.braces(w) {
		b := builder{r: r, st: st}
		b.parts(single.Parts, false, at)
		b.end()
		dst = slices.Grow(dst, len(b.fields)) // an array's may be ten thousand
		for _, f := range b.fields {
			dst = append(dst, Word{Text: f[0], Alts: f[1:], From: b.from, Span: span})
		}
	}
	return dst
}

// value folds a word where neither splitting nor file name expansion happens: assignments, here-documents, case words.
func (r *reader) value(st *state, w *syntax.Word, at place) Word {
	if w == nil {
		return Word{}
	}
	b := builder{r: r, st: st}
	b.tilde(w.Parts)
	for i, p := range w.Parts {
		if lit, ok := p.(*syntax.Lit); ok {
			text := lit.Value
			if i == 0 && b.cur != nil {
				text = strings.TrimPrefix(text, tildePrefix(text))
			}
			b.add(unescape(text))
			continue
		}
		b.part(p, true, at)
	}
	if b.cur == nil {
		b.cur = []string{""}
	}
	return Word{Text: b.cur[0], Alts: b.cur[1:], From: b.from, Span: r.span(w, at)}
}

// document folds the body of a here-document. A quoted delimiter makes it literal.
func (r *reader) document(st *state, red *syntax.Redirect, at place) Word {
	w := Word{Span: r.span(red.Hdoc, at)}
	if quotedWord(red.Word) {
		w.Text = red.Hdoc.Lit()
		return w
	}
	b := builder{r: r, st: st}
	for _, p := range red.Hdoc.Parts {
		if lit, ok := p.(*syntax.Lit); ok {
			b.add(unescapeIn(lit.Value, "$`\\"))
			continue
		}
		b.part(p, true, at)
	}
	if b.cur != nil {
		w.Text, w.Alts, w.From = b.cur[0], b.cur[1:], b.from
	}
	return w
}

func quotedWord(w *syntax.Word) bool {
	for _, p := range w.Parts {
		if lit, ok := p.(*syntax.Lit); !ok || strings.IndexByte(lit.Value, '\\') >= 0 {
			return true
		}
	}
	return false
}

// plainLit tells whether a literal folds to itself.
func plainLit(s string) bool {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\', '*', '?', '[', '{':
			return false
		case '~':
			if i == 0 {
				return false
			}
		}
	}
	return true
}

func (b *builder) parts(parts []syntax.WordPart, quoted bool, at place) {
	if !quoted {
		b.tilde(parts)
	}
	for i, p := range parts {
		if lit, ok := p.(*syntax.Lit); ok && i == 0 && !quoted && b.cur != nil {
			rest := strings.TrimPrefix(lit.Value, tildePrefix(lit.Value))
			if rest != "" {
				b.add(globs(rest))
			}
			continue
		}
		b.part(p, quoted, at)
	}
}

func (b *builder) part(p syntax.WordPart, quoted bool, at place) {
	switch p := p.(type) {
	case *syntax.Lit:
		if quoted {
			b.add(unescapeIn(p.Value, "$`\"\\"))
		} else {
			b.add(globs(p.Value))
		}
	case *syntax.SglQuoted:
		if p.Dollar {
			b.add(ansiC(p.Value))
		} else {
			b.add(p.Value)
		}
	case *syntax.DblQuoted:
		if len(p.Parts) == 0 {
			b.add("")
		}
		for _, in := range p.Parts {
			b.part(in, true, at)
		}
	case *syntax.ParamExp:
		b.param(p, quoted, at)
	case *syntax.CmdSubst:
		out, from := b.r.substitution(b.st, p.Stmts, at)
		b.flow(from)
		b.expansion(out, quoted)
	case *syntax.ProcSubst:
		b.flow(b.r.process(b.st, p, at))
		b.add("/dev/fd/63")
	case *syntax.ArithmExp:
		b.r.visitArithm(b.st, p.X, at)
		b.add(arithmetic(p.X))
	case *syntax.ExtGlob:
		b.add(markStar)
	case *syntax.BraceExp:
		b.add(markUnknown)
	default:
		b.add(markUnknown)
	}
}

// expansion adds the value of an expansion: unquoted ones are split, and their glob characters are live.
func (b *builder) expansion(vals []string, quoted bool) {
	if quoted {
		b.either(vals)
		return
	}
	if len(vals) != 1 {
		for _, v := range vals {
			if strings.ContainsAny(v, " \t\n") {
				vals = []string{markUnknown}
				break
			}
		}
		live := make([]string, len(vals))
		for i, v := range vals {
			live[i] = liveGlobs(v)
		}
		b.either(live)
		return
	}
	ifs := " \t\n"
	if v, ok := b.st.vars["IFS"]; ok && len(v.vals) == 1 && Literal(v.vals[0]) {
		ifs = v.vals[0]
	}
	fields, openLeft, openRight := splitFields(vals[0], ifs)
	for i, f := range fields {
		if i > 0 || !openLeft {
			b.end()
		}
		b.add(liveGlobs(f))
	}
	if len(fields) > 0 && !openRight || len(fields) == 0 && vals[0] != "" {
		b.end()
	}
}

func tildePrefix(lit string) string {
	if lit == "" || lit[0] != '~' {
		return ""
	}
	end := strings.IndexByte(lit, '/')
	if end < 0 {
		end = len(lit)
	}
	for _, c := range lit[1:end] {
		if !(c == '-' || c == '+' || c == '_' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') {
			return ""
		}
	}
	return lit[:end]
}

// tilde adds the directory that a leading tilde means, if there is one.
func (b *builder) tilde(parts []syntax.WordPart) {
	if len(parts) == 0 {
		return
	}
	lit, ok := parts[0].(*syntax.Lit)
	if !ok || lit.Value == "" || lit.Value[0] != '~' {
		return
	}
	prefix := tildePrefix(lit.Value)
	if prefix == "" || len(prefix) == len(lit.Value) && len(parts) > 1 {
		return
	}
	switch user := prefix[1:]; user {
	case "":
		b.either(b.r.home(b.st))
	case "+":
		b.either(unknownDirs(b.st.dirs))
	case "-":
		b.add(markSome)
	case "root":
		b.add("/root")
	default:
		b.add("/home/" + user)
	}
}

// globs resolves backslashes and marks the glob characters of an unquoted literal.
func globs(lit string) string {
	if !strings.ContainsAny(lit, `\*?[`) {
		return lit
	}
	var b strings.Builder
	for i := 0; i < len(lit); i++ {
		switch c := lit[i]; c {
		case '\\':
			if i++; i < len(lit) && lit[i] != '\n' {
				b.WriteByte(lit[i])
			}
		case '*', '?':
			if c == '*' && i > 1 && lit[i-1] == '*' && lit[i-2] == '*' { // says nothing new
				continue
			}
			b.WriteByte(mark)
			b.WriteByte(c)
		case '[':
			if k := strings.IndexByte(lit[i:], ']'); k > 1 {
				b.WriteByte(mark)
			}
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func liveGlobs(v string) string {
	if !Literal(v) || !strings.ContainsAny(v, `*?[`) {
		return v
	}
	return globs(strings.ReplaceAll(v, `\`, `\\`))
}

// arithmetic evaluates an expression of literal numbers; others are some number that isn't known.
func arithmetic(x syntax.ArithmExpr) string {
	if n, ok := number(x); ok {
		return strconv.Itoa(n)
	}
	return markSome
}
