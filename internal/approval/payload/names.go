package payload

import (
	"slices"
	"strconv"
	"strings"
)

// comprehension binds the names of "x for x in list" before x is read. It returns where the clause ends, or 0.
func (s *scan) comprehension(end int) int {
	if !s.adjacent {
		return 0
	}
	rest := 0
	for i, steps := s.i, 0; i < end && steps < maxSearch; i, steps = i+1, steps+1 {
		t := &s.toks[i]
		if m := int(t.match); m > i {
			i = min(m, end)
			continue
		}
		if t.kind == tokName && t.text == "for" {
			at := s.i
			s.i = i
			s.forIn(end)
			rest = s.i
			i = s.i - 1
			s.i = at
		}
	}
	return rest
}

// maxSearch is how many tokens are looked through for what stands behind them.
const maxSearch = 4096

// forIn reads "for x, y in list" and binds the names.
func (s *scan) forIn(end int) {
	s.i++
	var names []string
	for s.i < end && !s.is("in") {
		if t := s.toks[s.i]; t.kind == tokName {
			names = append(names, t.text)
		}
		if len(names) > 8 {
			return
		}
		s.i++
	}
	s.i++
	s.inside++
	list := s.expr(end)
	s.inside--
	s.bind(names, list)
}

// bind gives the names of a loop what an item of the list may be.
func (s *scan) bind(names []string, list value) {
	e := list.element()
	if len(names) == 1 {
		s.vars[names[0]] = e
		return
	}
	for i, n := range names {
		v := value{}
		if e.isList && i < len(e.list) {
			v = e.list[i]
		}
		s.vars[n] = v
	}
}

// names lists the names between two tokens, as parameters have them: each comma's first one.
func (s *scan) names(from, end int) []string {
	var out []string
	first := true
	for i := from; i < end && len(out) < 16; i++ {
		t := &s.toks[i]
		switch {
		case int(t.match) > i:
			i = min(int(t.match), end)
		case t.text == ",":
			first = true
		case t.kind == tokName && first && !s.prefix[t.text]:
			out = append(out, t.text)
			first = false
		}
	}
	return out
}

// arrow reads the body of an arrow function; i is the arrow.
func (s *scan) arrow(params []string, i, end int) value {
	for _, p := range params {
		if _, ok := s.vars[p]; !ok || !slices.Contains(s.given, p) {
			s.vars[p] = value{}
		}
	}
	s.i = i + 1
	if s.is("{") {
		return s.braces(s.i, s.close(s.i, end), end)
	}
	return value{net: s.expr(end).net}
}

// lambda reads functions without a name.
func (s *scan) lambda(end int) (value, bool) {
	t := s.toks[s.i]
	switch t.text {
	case "lambda":
		if !s.adjacent {
			return value{}, false
		}
		at := s.i + 1
		for s.i < end && !s.is(":") {
			s.i++
		}
		for _, p := range s.names(at, s.i) {
			s.vars[p] = value{}
		}
		s.i++
		s.expr(end)
		return value{}, true
	case "function", "fn", "sub":
		i := s.i + 1
		if i < end && s.toks[i].text == "*" {
			i++
		}
		name := ""
		if i < end && s.toks[i].kind == tokName {
			name = s.toks[i].text
			i++
		}
		if t.text != "sub" && !s.isAt(i, "(") || t.text == "sub" && !s.isAt(i, "{") && !s.isAt(i, "(") {
			return value{}, false
		}
		s.function(name, i, end)
		return value{}, true
	}
	if s.isAt(s.i+1, "=>") && s.concat != "." && s.member[0] == "." && !s.parenless {
		return s.arrow([]string{t.text}, s.i+1, end), true
	}
	return value{}, false
}

// function reads a function whose parameters begin at i, if they are written.
func (s *scan) function(name string, i, end int) {
	var params []string
	if s.isAt(i, "(") {
		stop := s.close(i, end)
		params = s.names(i+1, stop)
		i = stop + 1
	}
	if s.isAt(i, "=>") && i < end { // PHP's fn(…) => …
		s.arrow(params, i, end)
		return
	}
	for i < end && s.toks[i].text != "{" && s.toks[i].text != ";" && !s.newline {
		i++
	}
	s.i = i
	if i >= end || s.toks[i].text != "{" {
		return
	}
	stop := s.close(i, end)
	s.define(name, params, stop+1)
	depth := len(s.endFn)
	s.i++
	inside := s.inside
	s.inside = 0
	s.run(stop)
	s.inside = inside
	s.i = min(stop+1, end)
	if len(s.endFn) >= depth {
		s.leave()
	}
}

// resolve returns what a name stands for.
func (s *scan) resolve(name string) value {
	if v, ok := s.vars[name]; ok {
		return v
	}
	if s.fold {
		name = strings.TrimPrefix(name, `\`)
	}
	return symbol(s.bare(name))
}

// index reads v[key].
func (s *scan) index(v value, args []value) value {
	if len(args) != 1 {
		return value{net: v.net}
	}
	key, ok := args[0].exact()
	if v.recv != nil {
		v = value{sym: s.bare(v.recv.sym + "." + v.sym)}
	}
	if v.isList && ok {
		if e, found := v.get(key); found {
			return e
		}
		if n, err := strconv.Atoi(key); err == nil && args[0].num && v.keys == nil {
			if n < 0 {
				n += len(v.list)
			}
			if n >= 0 && n < len(v.list) {
				return v.list[n]
			}
		}
		return value{net: v.net}
	}
	if v.sym != "" {
		if h := s.calls[v.sym+"[]"]; h != nil { // Ruby's Dir["/*"]
			return h(s, &call{name: v.sym, args: args})
		}
		if e, ok := s.environment(v.sym, key); ok {
			return e
		}
		if ok && !args[0].num {
			return s.memberOf(v, key)
		}
	}
	if v.isText() && args[0].num {
		return value{net: v.net}
	}
	return value{net: v.net || v.sym != "" && v.class != "" && v.net}
}

// maxName is the longest dotted name that is followed.
const maxName = 200

// memberOf returns v.name.
func (s *scan) memberOf(v value, name string) value {
	if v.isList && v.keys != nil {
		if e, ok := v.get(name); ok {
			return e
		}
	}
	if len(v.sym) > maxName {
		return value{net: v.net}
	}
	if v.sym != "" && v.recv == nil && v.class == "" && len(v.texts) == 0 {
		full := s.bare(v.sym + "." + name)
		if s.calls[full] == nil {
			if h, ok := s.attributes(full); ok {
				return h
			}
		}
		return value{sym: full, net: v.net}
	}
	if v.recv != nil {
		v = value{net: v.net || v.recv.net}
	}
	return value{sym: name, recv: &v, net: v.net}
}
