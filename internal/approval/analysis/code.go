package analysis

import (
	"slices"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/internal/approval/payload"
)

// inline reads the program text that an interpreter of another language is given: what it does becomes commands, which the rules
// judge as they judge the shell's own.
func (r *reader) inline(st *state, text Word, c *Command, at place) output {
	lang, _ := payload.LangOf(c.Program)
	printed := nothing
	for _, v := range text.Values() {
		v = Plain(v)
		if !Known(leadMark(strings.TrimLeft(v, " \t\n"))) {
			r.out.Notes = append(r.out.Notes, Note{NoteCode, text.Span, "the program that " + c.Program + " is given is only known when it runs", c.index})
			continue
		}
		if !r.spend(stepsScan + len(v)/bytesScanned) {
			return output{}
		}
		for _, a := range payload.Scan(lang, v, r.around(st, at)) {
			if a.Kind == payload.Print {
				printed = r.then(printed, output{a.Args[0][0], Known(a.Args[0][0])})
				continue
			}
			r.perform(st, a, deed{c, text.Span}, at)
			if r.full {
				return output{}
			}
		}
		if printed.text == "" {
			if out, ok := printedText(v); ok {
				printed = output{out, true}
			}
		}
	}
	if printed.text == "" || len(text.Alts) > 0 || len(printed.text) > maxDecoded {
		return output{}
	}
	return printed
}

// printers are what the languages call writing a text to standard output.
var printers = []string{"console.log", "println", "print", "puts", "echo", "say", "io.write", "printf", "p", "BEGIN{print", "BEGIN{printf"}

// printedText is what a program prints that does nothing but print one literal.
func printedText(program string) (string, bool) {
	rest := strings.TrimRight(strings.TrimSpace(program), "; \t\n}")
	if strings.HasPrefix(rest, "BEGIN") {
		rest = "BEGIN{" + strings.TrimLeft(rest[len("BEGIN"):], " {\t\n")
	}
	for _, verb := range printers {
		text, ok := strings.CutPrefix(rest, verb)
		if !ok {
			continue
		}
		text = strings.TrimLeft(text, " \t(")
		if text == "" || text[0] != '"' && text[0] != '\'' {
			continue
		}
		if s, after, ok := quotedString(text); ok && strings.Trim(after, " )") == "" {
			return s + "\n", true
		}
	}
	return "", false
}

// around is what a program may know of its surroundings.
func (r *reader) around(st *state, at place) payload.Input {
	in := payload.Input{Home: r.home(st)[0], Env: func(name string) (payload.Text, bool) {
		v, ok := r.lookup(st, name)
		return v.vals, ok && !v.arr && len(v.vals) > 0
	}, Program: r.known}
	if st.argsOK {
		for _, w := range st.args {
			in.Args = append(in.Args, w.Values())
		}
	}
	if at.stdin.Known {
		in.Stdin = payload.Text{at.stdin.Text}
	}
	return in
}

// deed is whose program does something, and where that is written.
type deed struct {
	c    *Command
	span Span
}

// perform makes an act of a program visible as the command that would do the same.
func (r *reader) perform(st *state, a payload.Act, d deed, at place) {
	if at.depth >= MaxPayload {
		r.limit("more than 8 command texts inside each other", d.span)
		return
	}
	if !r.step() {
		return
	}
	run := st.clone()
	run.funcs = nil
	if a.Dir != nil {
		r.moveTo(run, a.Dir)
		run.failed = nil
	}
	if a.Stdin != nil {
		at.stdin = Stdin{Kind: StdinText, Text: a.Stdin[0], Known: a.Stdin.Known() && len(a.Stdin) == 1}
	}
	at.last, at.redirects, at.want = false, nil, false
	switch a.Kind {
	case payload.Shell:
		r.text(run, d.word(a.Args[0]), d.c, at)
		return
	case payload.Eval:
		r.out.Notes = append(r.out.Notes, Note{NoteCode, d.span, a.Call + " runs a program text that is only known when it runs", d.c.index})
		return
	case payload.Bomb:
		r.note(NoteBomb, d.span, a.Call+" starts copies of the program without end")
		return
	case payload.Chdir:
		r.moveTo(st, a.Args[0])
		st.failed = nil
		return
	}
	at.origin = &Origin{Name: d.c.Program, Payload: true, Span: d.span, Parent: at.origin}
	at.payload, at.depth = &d.span, at.depth+1
	if a.Kind == payload.Download { // as a program, so that the file is followed
		a = payload.Act{Kind: payload.Exec, Args: []payload.Text{{"curl"}, {"-o"}, a.Args[1], a.Args[0]}}
	}
	if a.Kind == payload.Exec {
		r.run(run, simple{words: d.words(nil, a.Args), span: d.span, bypass: true}, at)
		return
	}
	r.stands(run, a, d, at)
}

// stands records the command that does what a call does.
func (r *reader) stands(st *state, a payload.Act, d deed, at place) {
	c := Command{Call: a.Call, Dirs: st.dirs, Elevated: at.elevated, Inside: d.c.Inside, Origin: at.origin, Span: d.span, Payload: true, Background: at.background}
	argv := func(program ...string) {
		c.Program, c.Words = program[0], d.words(program, a.Args)
	}
	recursive := func(program string) {
		if a.Recursive {
			argv(program, "-R")
			return
		}
		argv(program)
	}
	switch a.Kind {
	case payload.Delete:
		argv("rm", "--")
	case payload.DeleteTree:
		argv("rm", "-r", "--")
	case payload.Move:
		argv("mv", "--")
	case payload.Copy:
		argv("cp", "--")
	case payload.Link:
		argv("ln", "-s", "--")
	case payload.Truncate:
		argv("truncate", "-s", "0", "--")
	case payload.Chmod:
		recursive("chmod")
	case payload.Chown:
		recursive("chown")
	case payload.Unpack:
		a.Args = slices.Clone(a.Args)
		slices.Reverse(a.Args)
		argv("tar", "-C")
		c.Words = slices.Insert(c.Words, 3, Word{Text: "-xf", Span: d.span})
	case payload.Kill:
		argv("kill", "-s")
		c.Words = slices.Insert(c.Words, 3, Word{Text: "--", Span: d.span})
	case payload.NetShell:
		argv("nc", "-e", "/bin/sh")
	case payload.Statement:
		argv("psql", "-c")
	case payload.Write, payload.Read:
		op := ">"
		if a.Kind == payload.Read {
			op = "<"
		}
		for _, t := range a.Args {
			c.Redirects = append(c.Redirects, Redirect{Op: op, Write: a.Kind == payload.Write, Target: d.word(t)})
			if a.Kind == payload.Write {
				r.remember(st, &c, d.word(t), file{origin: FileWritten})
			}
		}
	case payload.Fetch:
		from := len(r.out.Commands)
		fetch := c
		fetch.Program, fetch.Words = "curl", d.words([]string{"curl"}, []payload.Text{{payload.Unknown}})
		r.emit(fetch)
		c.Code = Flow{from, from + 1}
		c.Program = "eval"
		if a.Args[0][0] == "sh" {
			c.Program = "sh"
		}
		c.Words = d.words([]string{c.Program}, nil)
	}
	r.emit(c)
}

func (d deed) word(t payload.Text) Word {
	return Word{Text: t[0], Alts: t[1:], Span: d.span}
}

func (d deed) words(program []string, args []payload.Text) []Word {
	words := make([]Word, 0, len(program)+len(args))
	for _, p := range program {
		words = append(words, Word{Text: p, Span: d.span})
	}
	for _, t := range args {
		words = append(words, d.word(t))
	}
	return words
}

// ReadCode tells what a whole program does that the interpreter called program is given, such as python or node. Spans are places in
// the program's text.
func ReadCode(program, text string, in Input) *Reading {
	in = in.settled()
	r := &reader{in: in, script: &Script{text: text}, end: time.Now().Add(patience(text))}
	r.out.Input, r.out.Text, r.out.budget = in, text, budget(MaxSteps, text)
	all := Span{0, len(text)}
	c := Command{Program: program, Words: []Word{{Text: program, Span: all}}, Dirs: []string{in.Dir}, Span: all}
	c.index = r.emit(c)
	if len(text) > MaxText {
		r.limit("a program over 128 KiB", all)
		return &r.out
	}
	lang, ok := payload.LangOf(program)
	if !ok {
		r.note(NoteUnparsed, all, "no reader for the language of "+program)
		return &r.out
	}
	st := r.begin()
	func() {
		defer r.recovered()
		for _, a := range payload.Scan(lang, strings.ReplaceAll(text, "\x00", " "), r.around(st, place{})) {
			r.perform(st, a, deed{&c, Span{a.Start, min(a.End, len(text))}}, place{})
			if r.full {
				return
			}
		}
	}()
	return &r.out
}

// recovered turns a panic of the reader into a finding.
func (r *reader) recovered() {
	if v := recover(); v != nil {
		r.note(NoteUnparsed, Span{0, len(r.out.Text)}, "the analysis failed")
	}
}

// Printed gives the text that a process substitution prints which a word stands for.
func (r *Reading) Printed(w Word) (string, bool) {
	out, ok := r.printed[w.From]
	return out.text, ok && out.known && !w.From.Empty()
}

// Written gives the text of a file that this command or the session wrote, as far as it is known.
func (r *Reading) Written(path string) (string, bool) {
	if f, ok := r.made[path]; ok {
		return f.text, f.known && f.origin == FileWritten
	}
	if r.Input.Files == nil || !strings.HasPrefix(path, "/") || !Literal(path) || r.Input.Files.Origin(path) != FileWritten {
		return "", false
	}
	text, ok := r.Input.Files.Text(path)
	return text, ok && len(text) <= MaxFile
}
