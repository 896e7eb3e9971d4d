package payload

import (
	"slices"
	"strings"
)

// psScan reads PowerShell, which is commands with words as a shell has them, and expressions of .NET types among them.
type psScan struct {
	in    Input
	text  string
	at    int
	vars  map[string]psWord
	acts  []Act
	depth int
	level int
	flags flags

	folded   int // bytes that were put together
	mentions mentions
}

// psWord is one word or value.
type psWord struct {
	texts Text
	net   bool   // came from the network
	block bool   // a script block, which was read where it stands
	param string // a parameter's name, in lower case
	typ   string // [System.IO.File]
	list  []psWord
}

func psText(t string) psWord { return psWord{texts: Text{t}} }

func (w psWord) values() Text {
	if len(w.texts) == 0 {
		return Text{Unknown}
	}
	return w.texts
}

func (w psWord) one() string { return w.values()[0] }

// scanPowerShell lists what a PowerShell program does.
func scanPowerShell(text string, in Input) []Act {
	s := &psScan{in: in, text: text, vars: map[string]psWord{}, mentions: mentions{fold: true}}
	s.block(false)
	if s.flags.socket && s.flags.shell {
		s.acts = append(s.acts, Act{Kind: NetShell, Call: "a socket wired to Invoke-Expression", Args: []Text{{Unknown}}, End: len(text)})
	}
	return s.acts
}

// block reads statements up to the end, or to the brace that closes.
func (s *psScan) block(inner bool) {
	s.depth++
	defer func() { s.depth-- }()
	if s.depth > maxDepth {
		s.acts = append(s.acts, Act{Kind: Eval, Call: "blocks inside each other", Args: []Text{{Unknown}}, End: len(s.text)})
		s.at = len(s.text)
		return
	}
	for s.at < len(s.text) && len(s.acts) < maxActs {
		s.blanks(true)
		if s.at >= len(s.text) {
			return
		}
		switch s.text[s.at] {
		case '}', ')':
			s.at++
			if inner {
				return
			}
		case '{':
			s.at++
			s.block(true)
		default:
			before := s.at
			if s.loop() {
				continue
			}
			s.pipeline()
			if s.at == before {
				s.at++
			}
		}
	}
}

// blanks skips white space and comments; lines tells whether the ends of statements are blank too.
func (s *psScan) blanks(lines bool) {
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case c == ' ' || c == '\t' || c == '\r' || lines && (c == '\n' || c == ';'):
			s.at++
		case c == '`' && s.at+1 < len(s.text) && s.text[s.at+1] == '\n':
			s.at += 2
		case c == '#':
			if i := strings.IndexByte(s.text[s.at:], '\n'); i >= 0 {
				s.at += i
			} else {
				s.at = len(s.text)
			}
		case c == '<' && strings.HasPrefix(s.text[s.at:], "<#"):
			if i := strings.Index(s.text[s.at:], "#>"); i >= 0 {
				s.at += i + 2
			} else {
				s.at = len(s.text)
			}
		default:
			return
		}
	}
}

// pipeline reads one statement: an assignment, or commands between pipes.
func (s *psScan) pipeline() {
	s.pipes(psWord{})
}

func (s *psScan) pipes(input psWord) psWord {
	for s.at < len(s.text) {
		start := s.at
		words := s.words()
		out := s.command(words, input, start)
		s.blanks(false)
		if s.at < len(s.text) && s.text[s.at] == '|' && !strings.HasPrefix(s.text[s.at:], "||") {
			s.at++
			s.blanks(true)
			input = out
			continue
		}
		return out
	}
	return input
}

// words reads the words of a command.
func (s *psScan) words() []psWord {
	var out []psWord
	for s.at < len(s.text) {
		s.blanks(false)
		if s.at >= len(s.text) {
			break
		}
		c := s.text[s.at]
		if c == '\n' || c == ';' || c == '|' || c == '}' || c == ')' {
			break
		}
		if strings.HasPrefix(s.text[s.at:], "&&") {
			s.at += 2
			break
		}
		switch {
		case c == '&' || c == '!' || c == '+' || c == ',' && len(out) > 0:
			s.at++
			out = append(out, psWord{param: string(c)})
		case c == '=' && !strings.HasPrefix(s.text[s.at:], "=="):
			s.at++
			out = append(out, psWord{param: "="})
		case c == '>' || len(s.text) > s.at+1 && (c == '2' || c == '*') && s.text[s.at+1] == '>':
			s.at += strings.IndexByte(s.text[s.at:], '>') + 1
			if s.at < len(s.text) && s.text[s.at] == '>' {
				s.at++
			}
			out = append(out, psWord{param: ">"})
		default:
			before := s.at
			w := s.word()
			if s.at == before {
				s.at++
				continue
			}
			out = append(out, w)
		}
	}
	return out
}

// memberOf reads .Name or .Name(arguments) of a value or type.
func (s *psScan) memberOf(w psWord, name string) psWord {
	start := s.at
	var args []psWord
	called := false
	if s.at < len(s.text) && s.text[s.at] == '(' {
		called = true
		args = s.arguments()
	}
	lower := strings.ToLower(name)
	if !called {
		if w.typ == "net.webclient" {
			return psWord{net: true}
		}
		return psWord{net: w.net, typ: w.typ}
	}
	return s.method(w, lower, args, start)
}

func (s *psScan) add(kind Kind, call string, start int, args ...Text) {
	a := Act{Kind: kind, Call: call, Args: args, Start: start, End: s.at}
	if s.level > 0 {
		a.Start, a.End = 0, 0
	}
	s.acts = append(s.acts, a)
}

// method is a call of a .NET method.
func (s *psScan) method(w psWord, name string, args []psWord, start int) psWord {
	arg := func(i int) psWord {
		if i < len(args) {
			return args[i]
		}
		return psWord{}
	}
	call := "[" + w.typ + "]::" + name
	if machineOff[name] && s.mentions.holds(s.text, "win32_operatingsystem") {
		s.add(Exec, name, start, Text{"reboot"})
		return psWord{}
	}
	switch w.typ {
	case "io.file", "io.fileinfo":
		switch name {
		case "delete":
			s.add(Delete, call, start, arg(0).values())
		case "writealltext", "writealllines", "writeallbytes", "appendalltext", "create", "openwrite":
			s.add(Write, call, start, arg(0).values())
		case "move":
			s.add(Move, call, start, arg(0).values(), arg(1).values())
		}
		return psWord{}
	case "io.directory":
		if name == "delete" {
			kind := Delete
			if len(args) > 1 && strings.EqualFold(arg(1).one(), "$true") {
				kind = DeleteTree
			}
			s.add(kind, call, start, arg(0).values())
		}
		return psWord{}
	case "diagnostics.process":
		if name == "start" {
			argv := []Text{arg(0).values()}
			if len(args) > 1 {
				for _, f := range strings.Fields(arg(1).one()) {
					argv = append(argv, Text{f})
				}
			}
			s.add(Exec, call, start, argv...)
		}
		return psWord{}
	case "convert":
		if name == "frombase64string" {
			if t, ok := literally(arg(0).one(), unbase64); ok {
				return psText(t)
			}
			return psWord{net: arg(0).net}
		}
	case "scriptblock":
		if name == "create" {
			return arg(0)
		}
	}
	if strings.Contains(w.typ, "encoding") && name == "getstring" {
		return psWord{texts: Text{strings.ReplaceAll(arg(0).one(), "\x00", "")}, net: arg(0).net}.checked(arg(0))
	}
	switch name {
	case "downloadstring", "downloaddata", "getstringasync":
		return psWord{net: true}
	case "downloadfile":
		s.add(Download, name, start, arg(0).values(), arg(1).values())
	case "delete":
		s.add(Delete, name, start, w.values())
	case "invokescript", "invokereturnasis":
		s.run(arg(0), "Invoke-Expression", start)
	case "invoke":
		if w.texts != nil || w.net {
			s.run(w, name, start)
		}
	case "getstream", "read", "readline":
		return psWord{net: w.net, typ: w.typ}
	case "replace":
		if len(args) > 1 && len(w.texts) == 1 {
			return psText(strings.ReplaceAll(w.one(), arg(0).one(), arg(1).one()))
		}
	case "tostring", "trim", "tolower":
		return w
	}
	return psWord{net: w.net}
}

func (w psWord) checked(from psWord) psWord {
	if len(from.texts) == 0 {
		return psWord{net: from.net}
	}
	return w
}

// run is Invoke-Expression.
func (s *psScan) run(w psWord, call string, start int) {
	t := w.one()
	switch {
	case w.block:
	case strings.HasPrefix(t, Unknown) && w.net:
		s.add(Fetch, call, start, Text{"code"})
	case strings.HasPrefix(t, Unknown):
		s.flags.shell = true
		s.add(Eval, call, start, Text{Unknown})
	case s.level >= maxLevels || len(t) > maxDecoded:
		s.add(Eval, call, start, Text{Unknown})
	default:
		for _, text := range w.values() {
			sub := &psScan{in: s.in, text: text, vars: s.vars, level: s.level + 1, depth: s.depth, folded: s.folded, mentions: s.mentions}
			sub.block(false)
			for _, a := range sub.acts {
				a.Start, a.End = start, s.at
				s.acts = append(s.acts, a)
			}
			s.flags.socket, s.flags.shell, s.folded = s.flags.socket || sub.flags.socket, s.flags.shell || sub.flags.shell, sub.folded
		}
	}
}

// command is one command with its words; input is what the pipe brings.
func (s *psScan) command(words []psWord, input psWord, start int) psWord {
	if i := slices.IndexFunc(words, func(w psWord) bool { return w.param == "=" }); i > 0 {
		out := s.command(words[i+1:], input, start)
		if name, ok := strings.CutPrefix(strings.TrimSpace(s.text[start:min(len(s.text), start+80)]), "$"); ok {
			end := 0
			for end < len(name) && (letter(name[end]) || digit(name[end]) || name[end] == ':') {
				end++
			}
			s.vars[strings.ToLower(name[:end])] = out
		}
		return out
	}
	if i := slices.IndexFunc(words, func(w psWord) bool { return w.param == ">" }); i >= 0 && i+1 < len(words) {
		if t := words[i+1].values(); t[0] != Unknown && !strings.EqualFold(t[0], "$null") && words[i+1].param == "" {
			s.add(Write, ">", start, t)
		}
		words = slices.Delete(slices.Clone(words), i, i+2)
	}
	invoked := false
	for len(words) > 0 && (words[0].param == "&" || words[0].param == "!" || words[0].texts != nil && words[0].one() == ".") {
		invoked = invoked || words[0].param == "&" || words[0].texts != nil
		words = words[1:]
	}
	if len(words) == 0 {
		return input
	}
	words = s.joined(words)
	first := words[0]
	if invoked && s.calledValue(start) && (first.one() == Unknown || strings.ContainsAny(first.one(), " \t\n")) { // & ([scriptblock]::Create(TEXT)), & (Get-Content FILE)
		s.run(first, "the call operator", start)
		return psWord{}
	}
	if first.block || first.typ != "" && first.texts == nil {
		return psWord{net: first.net, typ: first.typ}
	}
	if !invoked && start < len(s.text) && strings.IndexByte(`"'$([@`, s.text[start]) >= 0 { // an expression
		return s.listed(words)
	}
	return s.cmdlet(words, input, start)
}

// calledValue tells whether the call operator at start stands in front of an expression in brackets.
func (s *psScan) calledValue(start int) bool {
	return strings.HasPrefix(strings.TrimLeft(s.text[min(start, len(s.text)):], "&. \t"), "(")
}

// listed is an expression's value: a list when commas stand in it.
func (s *psScan) listed(words []psWord) psWord {
	if len(words) == 1 {
		return words[0]
	}
	out := psWord{}
	for _, w := range words {
		if w.param == "" {
			out.list = append(out.list, w)
			out.texts = append(out.texts, w.values()...)
			out.net = out.net || w.net
		}
	}
	if len(out.texts) > 16 {
		out.texts = nil
	}
	return out
}

// joined puts words together between which a plus stands.
func (s *psScan) joined(words []psWord) []psWord {
	if !slices.ContainsFunc(words, func(w psWord) bool { return w.param == "+" }) {
		return words
	}
	out := make([]psWord, 0, len(words))
	var glued *psGlue // of the last word in out
	for i := 0; i < len(words); i++ {
		if words[i].param != "+" || len(out) == 0 || i+1 >= len(words) {
			out, glued = append(out, words[i]), nil
			continue
		}
		i++
		last := &out[len(out)-1]
		if glued == nil {
			glued = s.glue(last.values())
		}
		glued.add(words[i].values())
		*last = psWord{texts: glued.text(), net: last.net || words[i].net}
	}
	return out
}

// loop reads foreach ($x in list), and binds the name.
func (s *psScan) loop() bool {
	rest := s.text[s.at:]
	if len(rest) < 8 || !strings.EqualFold(rest[:7], "foreach") {
		return false
	}
	open := strings.IndexByte(rest[:min(12, len(rest))], '(')
	if open < 0 {
		return false
	}
	at := s.at + open + 1
	in := strings.Index(strings.ToLower(s.text[at:min(at+80, len(s.text))]), " in ")
	if in < 0 {
		return false
	}
	name := strings.TrimPrefix(strings.ToLower(strings.TrimSpace(s.text[at:at+in])), "$")
	s.at = at + in + 4
	list := s.pipes(psWord{})
	if s.at < len(s.text) && s.text[s.at] == ')' {
		s.at++
	}
	list.list, list.param = nil, ""
	s.vars[name] = list
	return true
}
