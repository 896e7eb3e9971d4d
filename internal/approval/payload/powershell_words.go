package payload

import "strings"

// word reads one word with all that is joined to it.
func (s *psScan) word() psWord {
	w := s.piece()
	var glued *psGlue
	for s.at < len(s.text) {
		c := s.text[s.at]
		switch {
		case c == '(' && len(w.texts) == 1 && len(w.texts[0]) < maxName && !s.quotedBefore() &&
			(w.param == "" && cmdlets[strings.ToLower(w.texts[0])] != "" || verb(w.texts[0])):
			return w // IEX(…)
		case c == '.' && s.at+1 < len(s.text) && letter(s.text[s.at+1]) && (w.typ != "" || w.net || w.list != nil || w.block || s.quotedBefore()),
			strings.HasPrefix(s.text[s.at:], "::"):
			s.at += 1
			if s.text[s.at] == ':' {
				s.at++
			}
			w, glued = s.memberOf(w, s.name()), nil
		case c == '*' && s.quotedBefore(): // a text so many times
			s.plain()
			w, glued = psWord{net: w.net}, nil
		case c == '[' && s.quotedBefore():
			s.skipTo(']')
			w, glued = psWord{net: w.net}, nil
		case c == ' ' || c == '\n' || c == '\t' || strings.IndexByte(";|}),=>\r&", c) >= 0:
			return w
		default:
			before := s.at
			p := s.piece()
			if s.at == before {
				return w
			}
			if glued == nil {
				glued = s.glue(w.values())
			}
			glued.add(p.values())
			w = psWord{texts: glued.text(), net: w.net || p.net, param: w.param}
		}
	}
	return w
}

func (s *psScan) quotedBefore() bool {
	return s.at > 0 && strings.IndexByte(`"')]`, s.text[s.at-1]) >= 0
}

func (s *psScan) name() string {
	from := s.at
	for s.at < len(s.text) && (letter(s.text[s.at]) || digit(s.text[s.at])) {
		s.at++
	}
	return s.text[from:s.at]
}

func (s *psScan) skipTo(end byte) {
	if i := strings.IndexByte(s.text[s.at:], end); i >= 0 {
		s.at += i + 1
		return
	}
	s.at = len(s.text)
}

// piece reads a quoted string, a variable, a bracketed expression or plain characters.
func (s *psScan) piece() psWord {
	if s.at >= len(s.text) { // what should follow is missing
		return psWord{}
	}
	c := s.text[s.at]
	switch {
	case c == 0:
		s.at = min(s.at+2, len(s.text))
		return psWord{}
	case c == '\'':
		return s.single()
	case c == '"':
		return s.double()
	case c == '@' && s.at+1 < len(s.text) && (s.text[s.at+1] == '"' || s.text[s.at+1] == '\''):
		return s.hereString()
	case c == '@' && s.at+1 < len(s.text) && (s.text[s.at+1] == '(' || s.text[s.at+1] == '{'):
		s.at++
		if s.text[s.at] == '{' {
			return s.hashtable()
		}
		return s.piece()
	case c == '$' && s.at+1 < len(s.text) && s.text[s.at+1] == '(':
		s.at++
		return s.parens()
	case c == '$':
		return s.variable()
	case c == '(':
		return s.parens()
	case c == '{':
		s.at++
		s.block(true)
		return psWord{block: true}
	case c == '[':
		return s.typeName()
	}
	return s.plain()
}

func (s *psScan) plain() psWord {
	var b strings.Builder
	from := s.at
	for s.at < len(s.text) {
		c := s.text[s.at]
		if c == '`' && s.at+1 < len(s.text) {
			b.WriteByte(s.text[s.at+1])
			s.at += 2
			continue
		}
		if strings.IndexByte(" \t\r\n;|(){}'\"$,=>&\x00", c) >= 0 && !(c == '=' && s.at > from) || c == '[' && s.at == from {
			break
		}
		if c == ':' && strings.HasPrefix(s.text[s.at:], "::") {
			break
		}
		b.WriteByte(c)
		s.at++
	}
	t := b.String()
	if len(t) > 1 && t[0] == '-' && letter(t[1]) {
		name, value, _ := strings.Cut(t[1:], ":")
		w := psWord{param: strings.ToLower(name), texts: Text{t}}
		if value != "" && value != "$true" {
			w.list = []psWord{psText(value)}
		}
		return w
	}
	return psText(t)
}

func (s *psScan) single() psWord {
	var b strings.Builder
	for s.at++; s.at < len(s.text); s.at++ {
		if s.text[s.at] == '\'' {
			if s.at+1 < len(s.text) && s.text[s.at+1] == '\'' {
				s.at++
			} else {
				s.at++
				break
			}
		}
		b.WriteByte(s.text[s.at])
	}
	return psText(b.String())
}

func (s *psScan) double() psWord {
	g, net := s.glue(Text{""}), false
	done := func() psWord { return psWord{texts: g.text(), net: net} }
	s.at++
	for s.at < len(s.text) {
		c := s.text[s.at]
		switch {
		case c == '"':
			s.at++
			if s.at < len(s.text) && s.text[s.at] == '"' {
				s.at++
				g.add(Text{`"`})
				continue
			}
			return done()
		case c == '`' && s.at+1 < len(s.text):
			g.add(Text{s.text[s.at+1 : s.at+2]})
			s.at += 2
		case c == '$' && s.at+1 < len(s.text) && (letter(s.text[s.at+1]) || s.text[s.at+1] == '(' || s.text[s.at+1] == '{'):
			p := s.piece()
			g.add(p.values())
			net = net || p.net
		default:
			from := s.at
			for s.at < len(s.text) && strings.IndexByte("\"`$", s.text[s.at]) < 0 {
				s.at++
			}
			if s.at == from {
				s.at++
			}
			g.add(Text{s.text[from:s.at]})
		}
	}
	return done()
}

func (s *psScan) hereString() psWord {
	end := "\n" + s.text[s.at+1:s.at+2] + "@"
	from := s.at + 2
	if i := strings.Index(s.text[from:], end); i >= 0 {
		s.at = from + i + len(end)
		return psText(strings.TrimPrefix(s.text[from:from+i], "\n"))
	}
	s.at = len(s.text)
	return psText(s.text[from:])
}

func (s *psScan) variable() psWord {
	s.at++
	name := ""
	if s.at < len(s.text) && s.text[s.at] == '{' {
		from := s.at + 1
		s.skipTo('}')
		name = strings.TrimSuffix(s.text[from:s.at], "}")
	} else {
		from := s.at
		for s.at < len(s.text) && (letter(s.text[s.at]) || digit(s.text[s.at]) || s.text[s.at] == ':' && s.at+1 < len(s.text) && letter(s.text[s.at+1])) {
			s.at++
		}
		if s.at == from && s.at < len(s.text) && s.text[s.at] == '_' {
			s.at++
		}
		name = s.text[from:s.at]
	}
	name = strings.ToLower(name)
	w, ok := s.vars[name]
	switch rest, env := strings.CutPrefix(name, "env:"); {
	case ok:
	case name == "home" || rest == "home" || rest == "userprofile":
		w = psText(s.home())
	case name == "true" || name == "false" || name == "null":
		w = psText("$" + name)
	case env && (rest == "systemroot" || rest == "windir"):
		w = psText(`C:\Windows`)
	case env && (rest == "temp" || rest == "tmp"):
		w = psText("/tmp")
	case env && s.in.Env != nil:
		if t, ok := s.in.Env(strings.ToUpper(rest)); ok {
			w = psWord{texts: t}
		}
	}
	w.param = ""
	for s.at+1 < len(s.text) && s.text[s.at] == '.' && letter(s.text[s.at+1]) {
		s.at++
		w = s.memberOf(w, s.name())
	}
	return w
}

func (s *psScan) home() string {
	if s.in.Home == "" {
		return "/home/\x00c"
	}
	return s.in.Home
}

// parens reads an expression in parentheses: a pipeline, or a list.
func (s *psScan) parens() psWord {
	s.at++
	s.depth++
	defer func() { s.depth-- }()
	if s.depth > maxDepth {
		s.at = len(s.text)
		return psWord{}
	}
	var out psWord
	for s.at < len(s.text) {
		s.blanks(true)
		if s.at >= len(s.text) {
			break
		}
		if s.text[s.at] == ')' || s.text[s.at] == '}' {
			s.at++
			break
		}
		before := s.at
		w := s.pipes(psWord{})
		if out.values()[0] == Unknown {
			out.texts, out.list, out.typ = w.texts, w.list, w.typ
		}
		out.net = out.net || w.net
		if s.at == before {
			s.at++
		}
	}
	return out
}

func (s *psScan) typeName() psWord {
	from := s.at + 1
	depth := 0
	for s.at < len(s.text) {
		c := s.text[s.at]
		s.at++
		if c == '[' {
			depth++
		}
		if c == ']' {
			if depth--; depth == 0 {
				break
			}
		}
	}
	name := strings.ToLower(strings.TrimSuffix(s.text[from:s.at], "]"))
	w := psWord{typ: strings.TrimPrefix(name, "system.")}
	if s.at < len(s.text) && strings.IndexByte("$'\"(", s.text[s.at]) >= 0 { // a cast
		v := s.word()
		if w.typ == "char" {
			if n, ok := number(v.one()); ok {
				return psText(string(rune(n)))
			}
		}
		return v
	}
	return w
}

func (s *psScan) arguments() []psWord {
	s.at++
	var args []psWord
	for s.at < len(s.text) {
		s.blanks(true)
		if s.at >= len(s.text) {
			break
		}
		switch c := s.text[s.at]; c {
		case ')':
			s.at++
			return args
		case ',', ']', '}', '|':
			s.at++
		default:
			before := s.at
			args = append(args, s.value())
			if s.at == before {
				s.at++
			}
		}
	}
	return args
}

// value reads an expression of words joined by + or -join.
func (s *psScan) value() psWord {
	w := s.word()
	var glued *psGlue
	for {
		s.blanks(false)
		if s.at >= len(s.text) || s.text[s.at] != '+' {
			return w
		}
		s.at++
		s.blanks(true)
		if s.at >= len(s.text) {
			return w
		}
		if glued == nil {
			glued = s.glue(w.values())
		}
		r := s.word()
		glued.add(r.values())
		w = psWord{texts: glued.text(), net: w.net || r.net}
	}
}

// hashtable reads @{key = value; …}.
func (s *psScan) hashtable() psWord {
	s.at++
	s.depth++
	defer func() { s.depth-- }()
	for s.at < len(s.text) && s.depth < maxDepth {
		s.blanks(true)
		if s.at >= len(s.text) {
			break
		}
		if s.text[s.at] == '}' {
			s.at++
			break
		}
		before := s.at
		key := s.text[s.at:min(s.at+64, len(s.text))]
		if i := strings.IndexAny(key, "=\n;}"); i > 0 && key[i] == '=' {
			s.at += i + 1
			s.blanks(false)
			s.value()
		} else {
			s.at++
		}
		if s.at == before {
			s.at++
		}
	}
	return psWord{typ: "hashtable"}
}
