package payload

import "strings"

// expr reads an expression. Operators bind equally: only what they make of texts matters.
func (s *scan) expr(end int) value {
	if s.depth >= maxDepth {
		s.tooDeep("expressions inside each other")
		s.i = end
		return value{}
	}
	s.depth++
	defer func() { s.depth-- }()
	v := s.operand(end)
	for s.i < end {
		t := s.toks[s.i]
		if s.newline && t.nl && s.inside == 0 {
			break
		}
		next, more := s.operator(t, v, end)
		if !more {
			break
		}
		v = next
	}
	return v
}

// operator reads an operator and what is right of it.
func (s *scan) operator(t token, v value, end int) (value, bool) {
	if t.kind == tokName {
		return s.wordOperator(t, v, end)
	}
	if t.kind != tokOp {
		return v, false
	}
	lhs := s.lhs
	switch t.text {
	case ",", ";", ")", "]", "}", ":", "=>", "{":
		return v, false
	case "(", "[":
		return v, false
	case "?":
		s.i++
		a := s.expr(end)
		if s.is(":") {
			s.i++
			return either(a, s.expr(end)), true
		}
		return a, true
	case "=", ":=", "<-", "||=", "??=":
		s.i++
		r := s.expr(end)
		if lhs != "" {
			s.assign(lhs, r)
		}
		return r, true
	case "+=", ".=", "..=":
		s.i++
		r := s.plus(v, s.expr(end))
		if lhs != "" {
			s.assign(lhs, r)
		}
		return r, true
	}
	s.i++
	r := s.operand(end)
	switch t.text {
	case "+", s.concat:
		return s.plus(v, r), true
	case "%":
		return s.format(v, r), true
	case "*":
		return s.repeat(v, r), true
	case "/":
		if v.class != "" || r.class != "" {
			out := s.join([]value{v, r})
			out.class = v.class
			return out, true
		}
	case "||", "??", "|>":
		return alternative(v, r), true
	case "&&":
		return r, true
	case "|":
		if strings.HasSuffix(v.sym, "S_ISUID") || strings.HasSuffix(r.sym, "S_ISUID") || strings.HasSuffix(v.sym, "S_ISGID") || strings.HasSuffix(r.sym, "S_ISGID") {
			return value{texts: []string{"06755"}, num: true}, true
		}
		if v.isText() || r.isText() { // awk's pipes and R's
			return value{net: v.net || r.net}, true
		}
	}
	return value{net: v.net || r.net}, true
}

// wordOperator reads operators that are words.
func (s *scan) wordOperator(t token, v value, end int) (value, bool) {
	switch t.text {
	case "or":
		s.i++
		r := s.expr(end)
		return alternative(v, r), true
	case "and":
		s.i++
		return s.expr(end), true
	case "if":
		if !s.newline || len(s.comments) == 0 || s.parenless {
			return v, false
		}
		s.i++
		s.expr(end)
		if s.is("else") {
			s.i++
			return either(v, s.expr(end)), true
		}
		return v, true
	case "x":
		if s.concat == "." {
			s.i++
			return s.repeat(v, s.operand(end)), true
		}
	case "in", "is", "not", "eq", "ne", "instanceof", "of", "as":
		if t.text == "as" || t.text == "of" {
			return v, false
		}
		s.i++
		s.operand(end)
		return value{}, true
	}
	return v, false
}

// alternative is a or b.
func alternative(a, b value) value {
	switch {
	case a.isNone():
		b.net = a.net || b.net
		if a.sym == "" && b.isText() {
			b.texts = union([]string{Unknown}, b.texts)
		}
		return b
	case a.isText():
		return a
	}
	return either(a, b)
}

// operand reads what stands between operators.
func (s *scan) operand(end int) value {
	s.lhs = ""
	if s.depth >= maxDepth {
		s.tooDeep("expressions inside each other")
		s.i = end
		return value{}
	}
	s.depth++
	defer func() { s.depth-- }()
	for s.i < end {
		t := s.toks[s.i]
		switch t.kind {
		case tokMark:
			s.i++
			return s.postfix(value{}, s.i-1, end)
		case tokString, tokCommand, tokWords, tokGlob, tokNumber:
			return s.postfix(s.literal(t, end), s.i-1, end)
		case tokName:
			if s.prefix[t.text] && !s.isAt(s.i+1, "=") && !s.isAt(s.i+1, ".") || t.text == "eval" && s.concat == "." && s.isAt(s.i+1, "{") {
				s.i++
				continue
			}
			if v, ok := s.lambda(end); ok {
				return v
			}
			at := s.i
			s.i++
			v := s.resolve(t.text)
			s.lhs = t.text
			v = s.postfix(v, at, end)
			if s.i != at+1 {
				s.lhs = ""
			}
			return v
		}
		switch t.text {
		case "(", "[", "{":
			return s.bracketed(t, end)
		case ",", ")", "]", "}", ";", ":", "=", "=>":
			return value{}
		case "-":
			s.i++
			if n := s.peek(); n.kind == tokNumber {
				s.i++
				return value{texts: []string{"-" + n.text}, num: true}
			}
			if n := s.peek(); n.kind == tokName && len(n.text) == 1 && s.concat == "." && !n.sp { // Perl's file tests
				s.i++
				s.operand(end)
				return value{}
			}
			return value{net: s.operand(end).net}
		case "*", "**", "...", "&", "@", "\\", "$", "%":
			s.i++
			continue
		case "!", "~", "++", "--":
			s.i++
			s.operand(end)
			return value{}
		}
		return value{}
	}
	return value{}
}

// literal reads a literal and steps over it.
func (s *scan) literal(t token, end int) value {
	s.i++
	switch t.kind {
	case tokNumber:
		return value{texts: []string{t.text}, num: true}
	case tokWords:
		v := listOf()
		for _, w := range strings.Fields(t.text) {
			v.list = append(v.list, text(w))
		}
		return v
	case tokGlob:
		v, _ := pattern(t.text)
		return listOf(text(v))
	case tokCommand:
		s.i--
		v := s.pieces(t)
		s.i++
		s.shell(&call{name: "`…`", start: int(t.start), end: int(t.end)}, v)
		return value{net: fetches(v)}
	}
	s.i--
	v := s.pieces(t)
	s.i++
	for s.adjacent && s.i < end && s.toks[s.i].kind == tokString && (!s.toks[s.i].nl || s.inside > 0) {
		v = s.plus(v, s.pieces(s.toks[s.i]))
		s.i++
	}
	return v
}

// fetches tells whether a shell command brings text from the network.
func fetches(v value) bool {
	for _, t := range v.texts {
		if strings.HasPrefix(t, "curl ") || strings.HasPrefix(t, "wget ") {
			return true
		}
	}
	return false
}

// pieces puts a string together from its parts.
func (s *scan) pieces(t token) value {
	if t.parts == nil {
		return text(t.text)
	}
	v := text("")
	for _, p := range *t.parts {
		if !p.code {
			v = s.plus(v, text(p.text))
			continue
		}
		code := p.text
		if s.adjacent { // a format behind the expression
			if i := strings.LastIndexAny(code, ":!"); i > 0 && !strings.ContainsAny(code[i:], ")]'\"") {
				code = code[:i]
			}
		}
		piece := s.piece(code)
		piece.texts = piece.text()
		v = s.plus(v, piece)
	}
	return v
}

// bracketed reads what stands in brackets.
func (s *scan) bracketed(t token, end int) value {
	at := s.i
	stop := s.close(at, end)
	if t.text == "(" && s.isAt(stop+1, "=>") && stop < end { // an arrow function
		return s.arrow(s.names(at+1, stop), stop+1, end)
	}
	if t.text == "{" {
		return s.braces(at, stop, end)
	}
	s.i++
	s.inside++
	args := s.arguments(stop)
	s.inside--
	s.i = min(stop+1, end)
	v := listOf(args.args...)
	if args.named.isList {
		v.list = append(v.list, args.named)
	}
	if t.text == "(" && len(args.args) == 1 && !s.isAt(stop-1, ",") {
		v = args.args[0]
	} else if t.text == "(" && s.commas && len(args.args) > 0 {
		v = args.args[len(args.args)-1]
	}
	return s.postfix(v, at, end)
}

// braces reads a dictionary or a block of statements.
func (s *scan) braces(at, stop, end int) value {
	s.i = at + 1
	if s.isBlock(at) {
		inside := s.inside
		s.inside = 0
		s.blocks++
		if s.depth < maxDepth {
			s.run(stop)
		} else {
			s.tooDeep("blocks inside each other")
		}
		s.blocks--
		s.inside = inside
		s.i = min(stop+1, end)
		return value{}
	}
	s.inside++
	args := s.arguments(stop)
	s.inside--
	s.i = min(stop+1, end)
	v := args.named
	v.isList = true
	if v.keys == nil {
		v.list = args.args
	}
	return s.postfix(v, at, end)
}

// isBlock tells whether a brace begins a block: it does unless an operator stands in front.
func (s *scan) isBlock(at int) bool {
	if at == 0 {
		return s.level == 0 && !s.adjacent
	}
	p := s.toks[at-1]
	if s.adjacent {
		return false
	}
	if p.kind == tokName {
		return p.text != "return" && p.text != "in" && p.text != "of"
	}
	return p.kind != tokOp || p.text == ")" || p.text == "]" || p.text == "}" || p.text == ";" || p.text == "{" ||
		p.text == "=>" && s.concat != "."
}

// arguments reads a list of arguments, named ones among them, up to end.
func (s *scan) arguments(end int) call {
	var c call
	rest := s.comprehension(end)
	for s.i < end {
		before := s.i
		t := s.toks[s.i]
		if t.text == "," || t.text == ";" {
			s.i++
			continue
		}
		if t.kind == tokName && t.text == "for" && rest > 0 {
			s.i = rest
			rest = 0
			continue
		}
		if t.kind == tokName && (s.isAt(s.i+1, "=") || s.isAt(s.i+1, ":")) && s.concat != "." || t.kind == tokString && s.isAt(s.i+1, ":") {
			s.i += 2
			c.addNamed(s.keyOf(t), s.expr(end))
			continue
		}
		splat := t.text == "*" || t.text == "..."
		v := s.expr(end)
		if s.is("=>") || s.is(":") {
			s.i++
			key, _ := v.exact()
			if key == "" {
				key = v.sym
			}
			c.addNamed(strings.TrimPrefix(key, ":"), s.expr(end))
			continue
		}
		switch {
		case s.i == before:
			s.i++
		case splat && v.isList && v.keys == nil:
			c.args = append(c.args, v.list...)
		case splat:
			c.args = append(c.args, value{net: v.net})
		default:
			c.args = append(c.args, v)
		}
	}
	return c
}

func (s *scan) keyOf(t token) string {
	if t.kind == tokString && t.parts != nil {
		return ""
	}
	return t.text
}

func (c *call) addNamed(key string, v value) {
	c.named.isList = true
	c.named.keys = append(c.named.keys, key)
	c.named.list = append(c.named.list, v)
}
