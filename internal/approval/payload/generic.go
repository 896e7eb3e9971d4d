package payload

import (
	"slices"
	"strings"
	"sync"
)

// genericLanguage is how a program in a language without a reader of its own is cut into tokens. What languages differ in is left alone:
// strings, names and brackets look alike in nearly all.
var genericLanguage = sync.OnceValue(func() *language {
	l := &language{syntax: syntax{
		quotes: []quoting{{open: `"""`, close: `"""`}, {open: `"`, close: `"`}, {open: "`", close: "`", kind: tokCommand}},
		inName: "-!?*", ops: []string{"::", "++", "<>", ":=", "<-", "=>", "->", "||", "&&", "|>", "..", "!!"}, special: genericToken,
	}}
	l.prepare()
	return l
})

// genericToken reads comments that fill a line, strings between single quotes where the quote can be no other sign, and a command
// between delimiters of the program's choice.
func genericToken(l *lexer) bool {
	rest := l.text[l.at:]
	if l.nl && !strings.HasPrefix(rest, "%x") {
		for _, c := range [...]string{"//", "#", "--", ";;", "%"} {
			if strings.HasPrefix(rest, c) {
				l.at = l.lineEnd(l.at)
				return true
			}
		}
	}
	switch last := l.last(); {
	case rest[0] == '\'' && len(rest) > 1 && rest[1] != '(' && !l.joins():
		if end := strings.IndexAny(rest[1:], "'\n"); end >= 0 && rest[1+end] == '\'' {
			l.quoted(&quoting{close: "'"}, l.at+1)
			return true
		}
	case rest[0] == '<' && l.sp && (last == "run" || last == "shell"): // Raku's list of words
		if end := strings.IndexAny(rest, ">\n"); end > 0 && rest[end] == '>' {
			l.quoted(&quoting{close: ">", kind: tokWords}, l.at+1)
			return true
		}
	case !l.sp && (last == "qx" || last == "qqx" || last == "x" && len(l.toks) > 1 && l.toks[len(l.toks)-2].text == "%"):
		if end, ok := map[byte]string{'{': "}", '(': ")", '[': "]", '/': "/", '|': "|"}[rest[0]]; ok {
			l.quoted(&quoting{close: end, kind: tokCommand}, l.at+1)
			return true
		}
	}
	return false
}

func (l *lexer) last() string {
	if len(l.toks) == 0 {
		return ""
	}
	return l.toks[len(l.toks)-1].text
}

// joins tells whether the place follows a name, a number or a closing bracket directly: a quote there is a mark on it.
func (l *lexer) joins() bool {
	if l.at == 0 {
		return false
	}
	c := l.text[l.at-1]
	return letter(c) || digit(c) || c == ')' || c == ']'
}

// Limits of one call.
const (
	maxGeneric = 64  // tokens that are looked through for arguments
	maxStrings = 16  // arguments
	maxCalls   = 256 // acts
)

// generic is the reading of a program in a language that has no reader. It knows calls by their names alone: of those that start a
// program or delete, the literal arguments count.
type generic struct {
	*scan
	vars map[string]string // names that were given a literal
}

// scanGeneric lists what is found in such a text.
func scanGeneric(text string, in Input) []Act {
	s := &scan{language: genericLanguage(), in: in, text: text, left: maxTokens}
	s.toks = s.lex(text)
	g := &generic{s, map[string]string{}}
	for i := 0; i < len(g.toks) && len(g.acts) < maxCalls; i++ {
		switch t := &g.toks[i]; {
		case t.kind == tokName:
			g.name(i)
		case t.kind == tokCommand && (t.text != "" && g.text[t.start] != '`' || g.isCommand(i)):
			g.start(i, []string{t.text}, true)
		case t.kind == tokOp && (t.text == "!" || t.text == "!!"):
			g.bang(i)
		}
	}
	g.bombs()
	return g.acts
}

// isCommand tells whether a text between backticks is a statement of its own, as in languages that run it; elsewhere it is a value.
func (g *generic) isCommand(i int) bool {
	return i == 0 || g.toks[i].nl || g.toks[i-1].text == ";" || g.toks[i-1].kind == tokName && g.toks[i].sp
}

// bang reads (! "COMMAND"), "COMMAND".! and "COMMAND" !.
func (g *generic) bang(i int) {
	if i > 0 && g.toks[i-1].text == "(" && !g.isAt(i+1, "=") {
		g.start(i, g.arguments(i), true)
		return
	}
	if !g.isAt(i+1, "=") {
		g.start(i, g.before(i), true)
	}
}

// name reads a call, a binding of a literal to a name, and what Chef and Puppet call deleting.
func (g *generic) name(i int) {
	t := &g.toks[i]
	word := foldedName(t.text)
	if g.bound(i) || g.qualifies(i) && !treeNames[word] {
		return
	}
	switch {
	case treeNames[word], fileTrees[word] && g.ofFiles(i):
		g.delete(DeleteTree, i)
	case fileNames[word] && (loneFile[word] && !g.qualified(i) || g.ofFiles(i)):
		g.delete(Delete, i)
	case startNames[word] || maybeNames[word]:
		args, sure := g.arguments(i), startNames[word] || g.qualified(i) && i > 1 && systemModules[foldedName(g.toks[i-2].text)]
		if len(args) == 0 && (sure || word == "execute") {
			args, sure = g.before(i), true
		}
		if len(args) > 1 && strings.HasPrefix(word, "exec") && base(args[0]) == base(args[1]) {
			args = args[1:] // the program's path, then its argv
		}
		g.start(i, args, sure)
	case (word == "delete" || word == "remove" || word == "purge") && i > 1 && g.toks[i-1].text == ":" && g.toks[i-2].text == "action":
		g.delete(DeleteTree, i)
	}
}

// foldedName is a name without what languages write names differently with.
func foldedName(name string) string {
	if strings.IndexFunc(name, func(c rune) bool { return c < 'a' || c > 'z' }) < 0 {
		return name
	}
	return strings.Map(func(c rune) rune {
		switch {
		case strings.ContainsRune("_-!?*", c):
			return -1
		case c >= 'A' && c <= 'Z':
			return c - 'A' + 'a'
		}
		return c
	}, name)
}

// bound notes that a name is given a literal: x = "…", x := "…", (def x "…").
func (g *generic) bound(i int) bool {
	k := i + 1
	if g.isAt(k, "=") || g.isAt(k, ":=") || g.isAt(k, "<-") {
		k++
	} else if i == 0 || !binders[g.toks[i-1].text] {
		return false
	}
	if k >= len(g.toks) || g.toks[k].kind != tokString || g.toks[k].nl {
		return false
	}
	if _, again := g.vars[g.toks[i].text]; again || len(g.vars) >= maxStrings {
		delete(g.vars, g.toks[i].text)
		return true
	}
	g.vars[g.toks[i].text] = g.toks[k].text
	return true
}

// binders are names in front of a name and its value.
var binders = words("def define setq set let defparameter defvar my")

// qualifies tells whether a name only says whose the next one is, as exec does in exec.Command.
func (g *generic) qualifies(i int) bool {
	if i+2 >= len(g.toks) || g.toks[i+1].sp || g.toks[i+2].sp || g.toks[i+2].kind != tokName || g.toks[i+2].text == "new" || g.toks[i+2].text == "all" {
		return false
	}
	switch g.toks[i+1].text {
	case ".", "::", ":", "/":
		return true
	}
	return false
}

// qualified tells whether something stands in front of a name that it belongs to.
func (g *generic) qualified(i int) bool {
	return i > 0 && !g.toks[i].sp && (g.toks[i-1].text == "." || g.toks[i-1].text == "::" || g.toks[i-1].text == ":" || g.toks[i-1].text == "/")
}

// ofFiles tells whether a name belongs to what speaks of files: File.delete, os.remove, file:delete, File("x").delete.
func (g *generic) ofFiles(i int) bool {
	depth := 0
	for k := i - 1; k >= 0 && k > i-12 && g.qualified(i); k-- {
		switch t := &g.toks[k]; {
		case t.text == ";" || depth == 0 && (g.toks[k+1].sp || g.toks[k+1].nl):
			return false
		case t.text == ")" || t.text == "]":
			depth++
		case t.text == "(" || t.text == "[":
			if depth--; depth < 0 {
				return false
			}
		case t.kind == tokName && fileModules[foldedName(t.text)]:
			return true
		}
	}
	return false
}

// delete records a deletion of the first argument, of the literal in front of the call, or of what isn't known.
func (g *generic) delete(kind Kind, i int) {
	path := Unknown
	if args := g.arguments(i); len(args) > 0 {
		path = args[0]
	} else if s := g.lastString(i); s != "" {
		path = s
	}
	g.record(i, kind, Text{path})
}

// lastString is the last literal of the statement in front of i.
func (g *generic) lastString(i int) string {
	for k := i - 1; k >= 0 && k > i-12; k-- {
		if g.toks[k].kind == tokString {
			return g.toks[k].text
		}
		if g.toks[k].text == ";" {
			break
		}
	}
	return ""
}

// start records that a program starts: a text of several words is a shell's, several texts are an argv. sure says that the call can do
// nothing else; of others only a text counts that begins with a program's name.
func (g *generic) start(i int, args []string, sure bool) {
	if len(args) == 0 {
		return
	}
	first := firstWord(args[0])
	if first == "" || !sure && (g.in.Program == nil || !g.in.Program(base(first))) {
		return
	}
	if first != strings.TrimSpace(args[0]) {
		g.record(i, Shell, Text{strings.TrimSpace(args[0])})
		return
	}
	if len(args) == 2 && strings.HasPrefix(args[1], "-") && strings.Contains(args[1], " ") { // .NET's program and its arguments
		g.record(i, Shell, Text{args[0] + " " + args[1]})
		return
	}
	argv := make([]Text, len(args))
	for k, a := range args {
		argv[k] = Text{a}
	}
	g.record(i, Exec, argv...)
}

func firstWord(text string) string {
	if f := strings.Fields(text); len(f) > 0 {
		return f[0]
	}
	return ""
}

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

func (g *generic) record(i int, kind Kind, args ...Text) {
	t := &g.toks[i]
	call := t.text
	if t.kind != tokName {
		call = "a command"
	}
	g.acts = append(g.acts, Act{Kind: kind, Call: call, Args: args, Start: int(t.start), End: int(t.end)})
}

// before lists the literals of what stands directly in front of a call: "TEXT".execute(), ["a", "b"].execute(), "TEXT" system.
func (g *generic) before(i int) []string {
	k := i - 1
	if k >= 0 && g.toks[k].text == "." {
		k--
	}
	if k < 0 || g.toks[i].nl && g.toks[i-1].text != "." {
		return nil
	}
	if g.toks[k].kind == tokString {
		return []string{g.toks[k].text}
	}
	if c := g.toks[k].text; c != ")" && c != "]" {
		return nil
	}
	var out []string
	for from := k; k >= 0 && k > from-maxGeneric; k-- {
		t := &g.toks[k]
		if t.kind == tokString && len(out) < maxStrings {
			out = append(out, t.text)
		}
		if int(t.match) == from {
			slices.Reverse(out)
			return out
		}
	}
	return nil
}

// arguments lists the literals behind a name up to the end of its brackets, of those around it, or of the statement. Literals that are
// put together are one, with a mark for what isn't known.
func (g *generic) arguments(i int) []string {
	var a arguments
	bracket := i+1 < len(g.toks) && !g.toks[i+1].sp && (g.isAt(i+1, "(") || g.isAt(i+1, "["))
	depth := 0
	for k := i + 1; k < len(g.toks) && k < i+maxGeneric && len(a.texts) <= maxStrings; k++ {
		t := &g.toks[k]
		if depth == 0 && (t.nl && t.text != "." || t.text == ";" || t.text == "|>") {
			break
		}
		switch {
		case t.kind == tokString:
			a.add(t.text)
		case t.kind == tokWords:
			a.texts = append(a.texts, strings.Fields(t.text)...)
		case t.kind == tokName && g.vars[t.text] != "" && !g.isAt(k+1, "("):
			a.add(g.vars[t.text])
		case t.kind == tokName && t.text == "path" && g.isAt(k+1, "(") && k+2 < len(g.toks): // Prolog's path(rm)
			a.add(g.toks[k+2].text)
		case t.kind == tokName || t.kind == tokNumber || t.kind == tokMark:
			a.unknown()
		case t.text == "(" || t.text == "[" || t.text == "{":
			depth++
		case t.text == ")" || t.text == "]" || t.text == "}":
			if depth--; depth < 0 || depth == 0 && bracket && !g.isAt(k+1, ".") {
				return a.texts
			}
		default:
			a.op(t.text)
		}
	}
	return a.texts
}

// arguments are texts on their way to be put together.
type arguments struct {
	texts  []string
	joined bool // the next one belongs to the last
	copied int  // bytes, in putting together
}

func (a *arguments) add(text string) {
	if n := len(a.texts); a.joined && n > 0 && len(a.texts[n-1])+len(text) <= maxDecoded && a.copied <= maxFolded {
		a.copied += len(a.texts[n-1]) + len(text)
		a.texts[n-1] += text
	} else {
		a.texts = append(a.texts, text)
	}
	a.joined = false
}

func (a *arguments) unknown() {
	if a.joined {
		a.add(Unknown)
		a.joined = true
	}
}

func (a *arguments) op(text string) {
	switch text {
	case "+", "++", "<>", "^", "~", "..", "||", "&":
		a.joined = len(a.texts) > 0
	case ",":
		a.joined = false
	}
}
