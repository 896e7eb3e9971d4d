package payload

import (
	"slices"
	"strings"
	"sync"
)

// language is how a language is read: its tokens, its statements, and the calls that are known.
type language struct {
	syntax
	member        []string                     // operators in front of a member's name
	concat        string                       // joins texts, besides +
	prefix        map[string]bool              // words in front of an expression that change nothing
	adjacent      bool                         // strings beside each other are one
	parenless     bool                         // a known call needs no parentheses
	textCalls     bool                         // a text can be called as the function of that name
	propertyCalls bool                         // a method without arguments needs no parentheses
	commas        bool                         // (a, b) is b
	rubyBlocks    bool                         // { |x| … } behind a call is a block
	attrs         map[string]func(*scan) value // names that stand for something known
	envs          []string                     // names that hold the environment's variables
	tagged        map[string]bool              // names that may stand in front of a template
	strip         []string                     // beginnings of names that name the same without
	qualified     string                       // what ends the name of a namespace
	calls         map[string]handler           // by dotted name; Class#method; #method of anything
	classes       map[string]bool              // calls that make an instance; its text is its first argument's
	callbacks     map[string]bool              // calls that call what they are given
	statement     func(*scan, int) bool
}

// handler is what a call does; it returns the call's value.
type handler func(*scan, *call) value

// call is one call with its arguments.
type call struct {
	name       string
	recv       value
	args       []value
	named      value // a dictionary of named arguments
	start, end int
}

func (c *call) arg(i int) value {
	if i < len(c.args) {
		return c.args[i]
	}
	return value{}
}

// option returns a named argument, or an entry of a dictionary among the arguments.
func (c *call) option(name string) (value, bool) {
	if v, ok := c.named.get(name); ok {
		return v, true
	}
	for _, a := range c.args {
		if v, ok := a.get(name); ok {
			return v, true
		}
	}
	return value{}, false
}

func (c *call) isTrue(name string) bool {
	v, ok := c.option(name)
	return ok && v.truthy()
}

// scan is the reading of one program text.
type scan struct {
	*language
	in     Input
	text   string
	toks   []token
	i      int
	vars   map[string]value
	fns    map[string]*function
	acts   []Act
	folded int
	left   int // tokens that may still be made
	level  int // texts outside this one
	depth  int
	inside int // brackets around, in which a line's end ends nothing
	blocks int // braces around
	lhs    string
	outer  [2]int // where the outermost call stands that carries this text
	scope  *scope
	endFn  []*scope // functions that end further on
	dir    Text
	flags  flags

	mentions mentions
	walks    map[string]bool // directories that are gone through with all below
	given    []string        // parameters that a call has bound before its function is read
}

// flags are facts of the whole program.
type flags struct{ socket, shell, wired, loops, deep bool }

// languages are made when the first program text is read.
var languages = sync.OnceValue(func() map[Lang]*language {
	all := map[Lang]*language{Python: python(), JavaScript: javascript(), Ruby: ruby(), Perl: perl(), PHP: php(), Lua: lua(),
		AppleScript: applescript(), R: rLang(), Julia: julia()}
	for _, l := range all {
		l.prepare()
	}
	return all
})

func (l *language) scan(text string, in Input) []Act {
	s := l.read(text, in, nil)
	if s.again() { // functions are read with what they are called with
		s = l.read(text, in, s.fns)
	}
	s.bombs()
	s.leaks()
	if s.flags.socket && s.flags.shell || s.flags.wired {
		s.acts = append(s.acts, Act{Kind: NetShell, Call: "a socket wired to a shell", Args: []Text{{Unknown}}, End: len(text)})
	}
	return s.acts
}

func (l *language) read(text string, in Input, fns map[string]*function) *scan {
	s := &scan{language: l, in: in, vars: map[string]value{}, fns: map[string]*function{}, left: maxTokens, text: text}
	for name, f := range fns {
		s.fns[name] = &function{params: f.params, args: f.args, gives: f.gives}
	}
	s.toks = s.lex(text)
	s.run(len(s.toks))
	return s
}

// again tells whether a function that the program defines was called with something that is known.
func (s *scan) again() bool {
	for _, f := range s.fns {
		if f.called && (slices.ContainsFunc(f.args, func(v value) bool { return !v.isUnknown() || v.sym != "" }) || !f.gives.isUnknown()) {
			return true
		}
	}
	return false
}

func (s *scan) lex(text string) []token {
	l := lexer{syntax: &s.syntax, text: text, left: s.left, toks: make([]token, 0, min(len(text)/3+8, maxTokens))}
	toks := l.run()
	s.left = l.left
	if l.fails > maxFails {
		s.tooDeep("expressions in strings that don't end")
	}
	if s.left <= 0 {
		s.tooDeep("more tokens than are read")
	}
	return toks
}

// run reads statements up to a token.
func (s *scan) run(end int) {
	for s.i < end && len(s.acts) < maxActs {
		for len(s.endFn) > 0 && s.i >= s.endFn[len(s.endFn)-1].end {
			s.leave()
		}
		before := s.i
		if s.language.statement == nil || !s.language.statement(s, end) {
			s.lone(end)
			s.expr(end)
		}
		if s.i <= before {
			s.i = before + 1
		}
	}
	for len(s.endFn) > 0 && s.i >= s.endFn[len(s.endFn)-1].end {
		s.leave()
	}
}

// lone notes a statement that isn't known at all.
func (s *scan) lone(end int) {
	if t := s.peek(); s.level == 0 && t.kind == tokMark && (s.i+1 >= end || s.toks[s.i+1].nl || s.toks[s.i+1].text == ";") {
		s.add(Act{Kind: Eval, Call: "a statement", Args: []Text{{Unknown}}, Start: int(t.start), End: int(t.end)})
	}
}

// nested reads a program text inside the program.
func (s *scan) nested(text string, c *call) {
	if s.level >= maxLevels || len(text) > maxDecoded {
		s.tooDeep("program texts inside each other")
		return
	}
	sub := *s
	sub.text, sub.level, sub.i, sub.inside, sub.blocks, sub.endFn, sub.scope = text, s.level+1, 0, 0, 0, nil, nil
	if s.level == 0 {
		sub.outer = [2]int{c.start, c.end}
	}
	sub.toks = sub.lex(text)
	if sub.holed() {
		sub.add(Act{Kind: Eval, Call: c.name, Args: []Text{{Unknown}}})
	}
	sub.run(len(sub.toks))
	s.acts, s.folded, s.left, s.flags, s.dir = sub.acts, sub.folded, sub.left, sub.flags, sub.dir
}

// holed tells whether a part of the program itself isn't known; the name of a module may be.
func (s *scan) holed() bool {
	for i := range s.toks {
		if s.toks[i].kind == tokMark && (i == 0 || !loads[s.toks[i-1].text]) {
			return true
		}
	}
	return false
}

// loads are words in front of a module's name.
var loads = map[string]bool{"require": true, "use": true, "import": true, "from": true, "no": true, "package": true, "module": true}

// piece evaluates an expression inside a string.
func (s *scan) piece(code string) value {
	if s.level >= maxLevels || s.left <= 0 {
		return value{}
	}
	if v, ok := s.vars[code]; ok {
		return v
	}
	toks, i, level, inside := s.toks, s.i, s.level, s.inside
	endFn := s.endFn
	if level == 0 && i < len(toks) {
		s.outer = [2]int{int(toks[i].start), int(toks[i].end)}
	}
	s.endFn, s.level, s.i, s.inside = nil, level+1, 0, 1
	s.toks = s.lex(code)
	v := s.expr(len(s.toks))
	s.run(len(s.toks))
	s.toks, s.i, s.level, s.inside, s.endFn = toks, i, level, inside, endFn
	return v
}

// tooDeep is said once: what isn't read may be anything.
func (s *scan) tooDeep(what string) {
	if !s.flags.deep {
		s.flags.deep = true
		s.acts = append(s.acts, Act{Kind: Eval, Call: what, Args: []Text{{Unknown}}, End: len(s.text)})
	}
}

func (s *scan) add(a Act) {
	if s.level > 0 {
		a.Start, a.End = s.outer[0], s.outer[1]
	}
	s.acts = append(s.acts, a)
}

// act records what a call does.
func (s *scan) act(kind Kind, c *call, args ...Text) {
	s.add(Act{Kind: kind, Call: c.name, Args: args, Start: c.start, End: c.end, Dir: s.dirOf(c), Stdin: s.inputOf(c)})
}

func (s *scan) dirOf(c *call) Text {
	for _, name := range [...]string{"cwd", "chdir", "working_dir"} {
		if v, ok := c.option(name); ok && v.sym != "None" {
			return v.text()
		}
	}
	return nil
}

func (s *scan) inputOf(c *call) Text {
	for _, name := range [...]string{"input", "stdin_data"} {
		if v, ok := c.option(name); ok && v.sym != "None" {
			return v.text()
		}
	}
	return nil
}

func (s *scan) peek() token {
	if s.i < len(s.toks) {
		return s.toks[s.i]
	}
	return token{}
}

func (s *scan) is(text string) bool {
	t := s.peek()
	return t.text == text && (t.kind == tokOp || t.kind == tokName)
}

func (s *scan) isAt(i int, text string) bool {
	return i < len(s.toks) && s.toks[i].text == text && (s.toks[i].kind == tokOp || s.toks[i].kind == tokName)
}

// close returns the index of the bracket that closes the one at i, at most end.
func (s *scan) close(i, end int) int {
	if m := int(s.toks[i].match); m > 0 && m < end {
		return m
	}
	return end
}

// bare takes beginnings off a name that say nothing.
func (s *scan) bare(name string) string {
	if s.qualified != "" {
		return name[strings.LastIndex(name, s.qualified)+1:]
	}
	for {
		before := len(name)
		for _, p := range s.strip {
			name = strings.TrimPrefix(name, p)
		}
		if len(name) == before {
			return name
		}
	}
}
