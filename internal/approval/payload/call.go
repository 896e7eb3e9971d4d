package payload

import (
	"slices"
	"strings"
)

// postfix reads what stands behind an operand: members, calls, indices. at is the operand's token.
func (s *scan) postfix(v value, at, end int) value {
	for s.i < end {
		t := s.toks[s.i]
		switch {
		case t.kind == tokOp && slices.Contains(s.member, t.text):
			if s.newline && t.nl && s.inside == 0 && s.adjacent {
				return v
			}
			next, ok := s.memberAt(v, end)
			if !ok {
				return v
			}
			v = next
		case t.text == "(" && t.kind == tokOp && !(s.newline && t.nl && s.inside == 0) && (s.i == at+1 || s.i > at):
			v = s.called(v, at, end)
		case t.text == "[" && t.kind == tokOp && !(s.newline && t.nl && s.inside == 0) && !(s.parenless && t.sp && v.sym != "" && s.known(v)):
			stop := s.close(s.i, end)
			s.i++
			v = s.indexed(v, stop, end)
		case t.text == "{" && t.kind == tokOp && s.concat == "." && !t.sp && s.perlVar(at):
			stop := s.close(s.i, end)
			s.i++
			if n := s.peek(); n.kind == tokName && s.i+1 == stop { // a bare word is a key
				s.i = min(stop+1, end)
				v = s.index(v, []value{text(n.text)})
				continue
			}
			v = s.index(v, s.list(stop, end))
		case t.kind == tokString && !t.nl && s.tags(v, t):
			arg := s.pieces(t)
			s.i++
			v = s.invoke(v, &call{args: []value{arg}, start: int(s.toks[at].start), end: int(t.end)})
		case s.blockOf(t, v):
			v = s.withBlock(v, at, end)
		case s.parenless && s.known(v) && s.isCommand(t, at):
			return s.command(v, at, end)
		default:
			return s.last(v, at)
		}
	}
	return s.last(v, at)
}

// perlVar tells whether the operand is a variable, so that a brace behind it is an index.
func (s *scan) perlVar(at int) bool {
	t := s.toks[at]
	return t.kind == tokName && strings.HasPrefix(t.text, "$") || t.text == ")" || s.i > at+1
}

// last ends an operand: what is callable without arguments is called.
func (s *scan) last(v value, at int) value {
	if s.parenless && v.sym != "" && s.known(v) && s.i > 0 && s.toks[s.i-1].text != ")" && !s.isReference(at) && !s.is("=") && !s.is("=>") {
		return s.invoke(v, &call{start: int(s.toks[at].start), end: int(s.toks[s.i-1].end)})
	}
	if s.propertyCalls && v.recv != nil {
		return s.invoke(v, &call{start: int(s.toks[at].start), end: int(s.toks[s.i-1].end)})
	}
	if v.recv != nil {
		return s.property(v)
	}
	return v
}

// memberAt reads a member operator and the name behind it.
func (s *scan) memberAt(v value, end int) (value, bool) {
	if s.i+1 >= end {
		return v, false
	}
	n := s.toks[s.i+1]
	switch {
	case n.kind == tokName:
		s.i += 2
		name := n.text
		if s.concat == "." && strings.HasPrefix(name, "$") { // $object->$method
			m, ok := s.resolve(name).exact()
			if !ok {
				return value{net: v.net}, true
			}
			name = m
		}
		return s.memberOf(v, name), true
	case n.kind == tokString && s.member[0] != "." && s.concat == ".":
		return v, false
	case n.text == "(" || n.text == "[" || n.text == "{":
		s.i++
		if n.text == "{" && s.concat == "." {
			stop := s.close(s.i, end)
			s.i++
			return s.index(v, s.list(stop, end)), true
		}
		return v, true
	}
	return v, false
}

// list reads expressions up to the closing bracket at stop, and steps over it.
func (s *scan) list(stop, end int) []value {
	s.inside++
	args := s.arguments(stop)
	s.inside--
	s.i = min(stop+1, end)
	return args.args
}

// indexed reads v[…] behind the bracket: an index or a slice.
func (s *scan) indexed(v value, stop, end int) value {
	from := s.i
	colons := false
	for i := from; i < stop && i < from+8; i++ {
		colons = colons || s.toks[i].text == ":" || s.toks[i].text == "::"
	}
	if colons {
		reversed := stop > from && s.isNumber(stop-1, "1") && s.isAt(stop-2, "-") && stop-from <= 5
		s.list(stop, end)
		if reversed && stop-from <= 4 {
			return s.each(v, reverse)
		}
		if stop-from == 2 && s.toks[from].kind == tokNumber || stop-from == 3 {
			return s.slice(v, from, stop)
		}
		if stop-from == 1 {
			return v
		}
		return value{net: v.net}
	}
	return s.index(v, s.list(stop, end))
}

func (s *scan) isNumber(i int, text string) bool {
	return i >= 0 && i < len(s.toks) && s.toks[i].kind == tokNumber && s.toks[i].text == text
}

// called reads the arguments of a call in parentheses.
func (s *scan) called(v value, at, end int) value {
	stop := s.close(s.i, end)
	s.i++
	s.offer(v, stop)
	s.inside++
	c := s.arguments(stop)
	s.inside--
	s.given = nil
	s.i = min(stop+1, end)
	c.start, c.end = int(s.toks[at].start), int(s.toks[min(stop, len(s.toks)-1)].end)
	return s.invoke(v, &c)
}

// offer binds the parameters of a function among the arguments to what the call will give it: the items of its receiver, or with a
// promise the receiver itself.
func (s *scan) offer(v value, stop int) {
	name, recv := v.sym, value{}
	if v.recv != nil {
		recv = *v.recv
	} else if i := strings.LastIndexByte(v.sym, '.'); i > 0 {
		name, recv = v.sym[i+1:], value{sym: v.sym[:i], net: v.net}
	}
	if recv.isUnknown() && recv.sym == "" && !recv.net || !s.callbacks[name] {
		return
	}
	if s.is("(") && s.isAt(s.i+1, "{") { // ({a, b}) => …
		for i := s.i + 2; i < stop && s.toks[i].kind == tokName; i += 2 {
			s.vars[s.toks[i].text] = s.memberOf(recv, s.toks[i].text)
		}
		return
	}
	s.given = s.blockNames(stop)
	if name == "then" && len(s.given) > 0 {
		s.vars[s.given[0]] = recv
		return
	}
	s.bind(s.given, recv)
	if len(s.given) > 1 {
		s.vars[s.given[0]] = recv.element()
	}
}

// blockNames lists the parameters of a function that stands at the beginning of the arguments: x =>, (x) =>, function (x).
func (s *scan) blockNames(stop int) []string {
	t := s.peek()
	switch {
	case t.kind == tokName && t.text == "async":
		return nil
	case t.kind == tokName && s.isAt(s.i+1, "=>"):
		return []string{t.text}
	case t.text == "(" && s.isAt(s.close(s.i, stop)+1, "=>"):
		return s.names(s.i+1, s.close(s.i, stop))
	case t.text == "function" && s.isAt(s.i+1, "("):
		return s.names(s.i+2, s.close(s.i+1, stop))
	}
	return nil
}

// known tells whether calling v is something that the language's table knows, or the program defines.
func (s *scan) known(v value) bool {
	if v.recv != nil {
		return s.lookup(v) != nil
	}
	if v.sym == "" || v.class != "" {
		return false
	}
	return s.lookup(v) != nil || s.fns[v.sym] != nil
}

// lookup finds the handler of a call.
func (s *scan) lookup(v value) handler {
	if v.recv != nil {
		if v.recv.class != "" {
			if h := s.calls[v.recv.class+"#"+v.sym]; h != nil {
				return h
			}
		}
		return s.calls["#"+v.sym]
	}
	if h := s.calls[v.sym]; h != nil {
		return h
	}
	if i := strings.LastIndexByte(v.sym, '.'); i >= 0 {
		return s.calls["#"+v.sym[i+1:]]
	}
	return nil
}

// invoke makes a call of v.
func (s *scan) invoke(v value, c *call) value {
	if v.sym == "" && s.textCalls {
		if name, ok := v.exact(); ok {
			v = symbol(s.bare(name))
		}
	}
	if v.class == "thunk" {
		return symbol(v.sym)
	}
	c.name = v.sym
	if v.recv != nil {
		c.recv = *v.recv
		if c.recv.class != "" {
			c.name = c.recv.class + "." + v.sym
		}
	} else if i := strings.LastIndexByte(v.sym, '.'); i >= 0 && s.calls[v.sym] == nil {
		c.recv = value{sym: v.sym[:i], net: v.net}
	}
	if f := s.fns[v.sym]; f != nil && (v.recv == nil || v.recv.class == "") {
		return s.enter(f, c)
	}
	if i := strings.LastIndexByte(v.sym, '.'); i >= 0 && v.recv == nil && s.calls[v.sym] == nil {
		if f := s.fns[v.sym[i+1:]]; f != nil { // a method of the program's own
			return s.enter(f, c)
		}
	}
	if h := s.lookup(v); h != nil {
		return h(s, c)
	}
	if s.classes[v.sym] && v.recv == nil {
		return value{class: v.sym, texts: s.join(c.args).text(), net: c.arg(0).net}
	}
	s.clientCall(c)
	s.callback(v, c)
	out := value{net: c.recv.net, file: c.recv.file}
	for _, a := range c.args {
		out.net = out.net || a.net
	}
	return out
}
