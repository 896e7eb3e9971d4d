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

// isReference tells whether a function is only named: \&system, &method(:system), key => …
func (s *scan) isReference(at int) bool {
	return at > 0 && (s.toks[at-1].text == "&" || s.toks[at-1].text == "\\" || s.toks[at-1].text == "def" || s.toks[at-1].text == "sub")
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
			c.name1(t.text, s.expr(end))
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
				c.name1(key, s.expr(end))
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
	if f := s.fns[v.sym]; f != nil && v.recv == nil {
		return s.enter(f, c)
	}
	if h := s.lookup(v); h != nil {
		return h(s, c)
	}
	if s.classes[v.sym] && v.recv == nil {
		return value{class: v.sym, texts: s.join(c.args).text(), net: c.arg(0).net}
	}
	s.callback(v, c)
	out := value{net: c.recv.net, file: c.recv.file}
	for _, a := range c.args {
		out.net = out.net || a.net
	}
	return out
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
