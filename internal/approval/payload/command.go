package payload

import "strings"

// isReference tells whether a function is only named: \&system, &method(:system), key => …
func (s *scan) isReference(at int) bool {
	return at > 0 && (s.toks[at-1].text == "&" || s.toks[at-1].text == "\\" || s.toks[at-1].text == "def" || s.toks[at-1].text == "sub")
}

// isCommand tells whether the next token begins the arguments of a call without parentheses.
func (s *scan) isCommand(t token, at int) bool {
	if t.nl && s.newline && s.inside == 0 || !t.sp && t.kind == tokOp {
		return false
	}
	switch t.kind {
	case tokString, tokCommand, tokWords, tokGlob, tokNumber, tokMark:
		return true
	case tokName:
		return !stopWords[t.text]
	}
	switch t.text {
	case "[", "\\", "::", "@", "%", "$", "<<":
		return true
	case "*", "&", "-", ":":
		return s.i+1 < len(s.toks) && !s.toks[s.i+1].sp
	case "{":
		return s.concat == "."
	}
	return false
}

// stopWords end a call without parentheses.
var stopWords = map[string]bool{"if": true, "unless": true, "while": true, "until": true, "or": true, "and": true, "for": true, "foreach": true,
	"do": true, "then": true, "end": true, "x": true, "eq": true, "ne": true, "rescue": true, "in": true, "not": true, "else": true}

// command reads the arguments of a call without parentheses: to the end of the statement.
func (s *scan) command(v value, at, end int) value {
	var c call
	for s.i < end {
		before := s.i
		if s.is(",") || s.is("=>") {
			s.i++
			continue
		}
		t := s.peek()
		if t.kind == tokName && s.isAt(s.i+1, ":") && !s.toks[s.i+1].sp {
			s.i += 2
			c.addNamed(t.text, s.expr(end))
		} else {
			splat := t.text == "*"
			if t.text == "{" && s.concat == "." && len(c.args) == 0 { // exec {file} argv; map {…} list
				s.braces(s.i, s.close(s.i, end), end)
				continue
			}
			a := s.expr(end)
			switch {
			case s.is("=>"):
				s.i++
				key, _ := a.exact()
				if key == "" {
					key = a.sym
				}
				c.addNamed(key, s.expr(end))
			case splat && a.isList:
				c.args = append(c.args, a.list...)
			case s.i > before:
				c.args = append(c.args, a)
			}
		}
		if !s.is(",") || s.i == before {
			break
		}
	}
	c.start, c.end = int(s.toks[at].start), int(s.toks[max(s.i-1, at)].end)
	out := s.invoke(v, &c)
	if s.i < end && s.blockOf(s.toks[s.i], value{}) {
		return s.withBlock(out, at, end)
	}
	return out
}

// blockOf tells whether a token begins a block that belongs to a call: { |x| …}, do |x|.
func (s *scan) blockOf(t token, v value) bool {
	if !s.rubyBlocks || t.nl {
		return false
	}
	return (t.text == "{" || t.text == "do") && s.isAt(s.i+1, "|") || t.text == "{" && (v.recv != nil || v.sym != "" && s.toks[s.i-1].kind == tokName)
}

// withBlock reads a block with the items of the call's receiver as its parameters.
func (s *scan) withBlock(v value, at, end int) value {
	recv := value{}
	if v.recv != nil {
		recv = *v.recv
		if recv.recv != nil && recv.recv.isList {
			recv = *recv.recv
		}
	} else if v.isList || v.class != "" {
		recv = v
	}
	brace := s.is("{")
	open := s.i
	s.i++
	if s.is("|") {
		from := s.i + 1
		to := from
		for to < end && s.toks[to].text != "|" && to < from+20 {
			to++
		}
		names := s.names(from, to)
		if recv.class != "" && !recv.isList {
			recv = listOf(recv)
		}
		s.bind(names, recv)
		if len(names) > 1 {
			s.vars[names[0]] = recv.element()
		}
		s.i = to + 1
	}
	if s.known(v) {
		s.invoke(v, &call{start: int(s.toks[at].start), end: int(s.toks[open].end)})
	}
	if !brace {
		return value{}
	}
	stop := s.close(open, end)
	inside := s.inside
	s.inside = 0
	s.blocks++
	if s.depth < maxDepth {
		s.run(stop)
	}
	s.blocks--
	s.inside = inside
	s.i = min(stop+1, end)
	return value{}
}

// callback makes the calls of functions that are given to others to call.
func (s *scan) callback(v value, c *call) {
	name := v.sym[strings.LastIndexByte(v.sym, '.')+1:]
	if !s.callbacks[name] {
		return
	}
	for i, a := range c.args {
		s.handed(a, c, i)
	}
	if f, ok := c.named.get("target"); ok {
		args, _ := c.named.get("args")
		s.handed(f, &call{args: []value{f, args}, start: c.start, end: c.end}, 0)
	}
}

// handed calls a function among arguments with what stands behind it, or with the receiver's items.
func (s *scan) handed(f value, c *call, i int) {
	if n, ok := f.exact(); ok && s.textCalls {
		f = symbol(n)
	} else if ok && s.rubyBlocks && c.recv.isList { // each(&:delete)
		s.invoke(s.memberOf(c.recv.element(), n), &call{start: c.start, end: c.end})
		return
	}
	if f.sym == "" || !s.known(f) {
		return
	}
	rest := c.args[i+1:]
	inner := &call{start: c.start, end: c.end}
	switch {
	case len(rest) == 0 && c.recv.isList:
		inner.args = []value{c.recv.element()}
	case len(rest) == 0:
		inner.args = []value{{net: c.recv.net}}
	case len(rest) == 1 && rest[0].isList && rest[0].keys == nil:
		e := rest[0].element()
		inner.args = []value{e}
		if len(rest[0].list) > 1 && c.name != "map" && !strings.HasSuffix(c.name, ".map") && !strings.HasPrefix(c.name, "array_") {
			inner.args = rest[0].list
		}
	default:
		inner.args = rest
	}
	s.invoke(f, inner)
}
