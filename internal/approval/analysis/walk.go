package analysis

import (
	"fmt"
	"slices"
	"strings"
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
	ticks      int
	end        time.Time
	masked     bool                 // the text being read has private characters for marks
	full       bool                 // a limit was reached: nothing more is read
	processOut map[Flow]output      // what process substitutions print
	aliases    map[string]Word      // bodies; whether a shell expands them isn't known, so the program of that name counts too
	defined    []*function          // in the order of the text
	exported   map[string]*function // those that later shells have
	exportsAll bool                 // set -a
	respawned  map[*function]int
	files      map[string]file     // that the text itself made
	loops      int                 // loops around the place
	trees      []string            // directories that came from the network
	sinks      []sink              // process substitutions that read, until their command ran
	path       searchPath          // the last one that was looked at
	renamed    map[string]string   // programs by the path or name that the text gave them
	patterns   map[string][]string // what patterns of programs' names stand for
}

// place is where a command stands.
type place struct {
	origin     *Origin
	payload    *Span // the word that carries the text, in a payload
	depth      int   // payloads outside this one
	stdin      Stdin
	redirects  []Redirect
	elevated   bool
	inside     *Inside
	background bool
	piped      bool
	last       bool
	want       bool // the output matters to someone
	calls      *callStack
	scripts    *scriptStack
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

// then is what two commands print, one after the other.
func (r *reader) then(o, next output) output {
	if strings.HasSuffix(o.text, markUnknown) && next.value() == markUnknown { // it stands for any text
		return o
	}
	r.spend((len(o.text) + len(next.text)) / bytesCopied)
	if o.known && next.known {
		return output{o.text + next.text, true}
	}
	return output{text: o.value() + next.value()}
}

// Read tells what the script will run.
func (s *Script) Read(in Input) *Reading {
	in = in.settled()
	r := &reader{in: in, script: s, end: time.Now().Add(patience(s.text))}
	r.out.Input, r.out.Text, r.out.budget = in, s.text, budget(MaxSteps, s.text)
	r.spend(s.parsed / bytesParsed)
	r.walk()
	if s.err != nil {
		kind := NoteUnparsed
		if isTooLarge(s.err) {
			kind = NoteLimit
		}
		r.note(kind, Span{min(s.errAt, len(s.text)), len(s.text)}, s.err.Error())
	}
	r.out.made, r.out.printed = r.files, r.processOut
	return &r.out
}

func (r *reader) walk() {
	defer func() {
		if v := recover(); v != nil {
			r.note(NoteUnparsed, Span{0, len(r.script.text)}, fmt.Sprintf("the analysis failed: %v", v))
		}
	}()
	st := r.begin()
	r.list(st, r.script.stmts, place{last: true})
	r.uncalled(st)
	r.carriedUses()
	r.spend(0) // what was taken without a look at what is left
}

// begin is what a shell knows where the text begins. A function that it was given is one that an alias defines and calls.
func (r *reader) begin() *state {
	for name, text := range r.in.Functions {
		if r.aliases == nil {
			r.aliases = map[string]Word{}
		}
		r.aliases[name] = Word{Text: name + " " + text + "\n" + name}
	}
	return &state{dirs: []string{r.in.Dir}, budget: &r.out.budget}
}

// uncalled reads the functions that nothing called, in whatever scope they were defined, with parameters that aren't known: a later
// command may call them.
func (r *reader) uncalled(st *state) {
	for i := 0; i < len(r.defined) && !r.full; i++ { // a body may define more
		f := r.defined[i]
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

// maxNotes is how many notes of one kind are kept, each of which is asked about already; so many are gone through in one step.
const (
	maxNotes     = 100
	notesPerStep = 32
)

func (r *reader) note(kind NoteKind, span Span, reason string) {
	r.out.budget.Spend(len(r.out.Notes) / notesPerStep)
	same := 0
	for _, n := range r.out.Notes {
		if n.Kind != kind {
			continue
		}
		if same++; n.Span == span || same == maxNotes {
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
	if r.ticks++; r.ticks%64 == 0 && time.Now().After(r.end) {
		r.limit("the analysis took too long", r.at)
	}
	return r.spend(stepsNode)
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
	var text strings.Builder // of ten thousand statements, perhaps
	known := true
	for i, s := range stmts {
		in := at
		in.last = at.last && i == len(stmts)-1
		st.settle()
		o := r.stmt(st, s, in)
		if at.want {
			known = known && o.known
			text.WriteString(o.value())
		}
	}
	if !at.want {
		return output{}
	}
	return output{text.String(), known}
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
			sinks := len(r.sinks)
			hidden = r.redirects(st, s.Redirs, &at)
			defer func() { r.drain(sinks, output{}) }()
			if len(at.redirects) > 0 {
				start, reds := len(r.out.Commands), at.redirects
				r.emitRedirects(st, r.span(s, at), &at)
				s = &syntax.Stmt{Position: s.Position, Cmd: s.Cmd}
				at.want = at.want || hidden
				out := r.command(st, s, at)
				if hidden {
					all := Flow{start, len(r.out.Commands)}
					r.filed(st, &Command{Redirects: reds, Dirs: st.dirs, Inside: at.inside, Stdin: Stdin{From: all}}, out)
					return nothing
				}
				return out
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
	c := Command{Redirects: at.redirects, Dirs: st.dirs, Span: span, Elevated: at.elevated, Inside: at.inside, Origin: at.origin,
		Payload: at.payload != nil, Stdin: at.stdin}
	r.emit(c)
	at.redirects = nil
}

func (r *reader) command(st *state, s *syntax.Stmt, at place) output {
	if spawnsForever(s.Cmd) {
		r.note(NoteBomb, r.span(s, at), "a loop starts processes without end")
	}
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
		return r.loop(st, func(in *state) output {
			cond := r.open(in, c.Cond, at)
			in.failed = nil
			return r.then(cond, r.list(in, c.Do, at))
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
		if readsCommands(c.Stmt) {
			at.stdin = Stdin{Kind: StdinPipe} // what is written to it later
		}
		return r.stmt(st.clone(), c.Stmt, at)
	case *syntax.TestClause:
		r.testClause(st, c, at)
		return nothing
	case *syntax.ArithmCmd, *syntax.LetClause:
		r.arithm(st, c, at)
		return nothing
	case nil: // $(< file) prints the file
		if at.stdin.Kind == StdinFile {
			return r.contents(&Command{Dirs: st.dirs, Inside: at.inside}, []string{at.stdin.File.Text})
		}
		return output{}
	}
	r.note(NoteUnparsed, r.span(s, at), "a kind of statement that the analysis doesn't know")
	return output{}
}

// readsCommands tells whether a statement is a shell's or an interpreter's call, or a block of such.
func readsCommands(s *syntax.Stmt) bool {
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		if len(c.Args) == 0 {
			return false
		}
		_, ok := interpreters()[programName(staticText(c.Args[0].Parts))]
		return ok
	case *syntax.Block:
		return slices.ContainsFunc(c.Stmts, readsCommands)
	}
	return false
}
