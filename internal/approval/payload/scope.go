package payload

import "slices"

// function is one that the program defines.
type function struct {
	params []string
	args   []value // what its calls gave, put together
	gives  value
	called bool
}

// scope is a function's body while it is read.
type scope struct {
	fn    *function
	end   int // token behind it
	undo  []undo
	local map[string]bool
	up    *scope
}

type undo struct {
	name string
	old  value
	had  bool
}

// assign binds a name. On a branch what it held before stays possible.
func (s *scan) assign(name string, v value) {
	old, had := s.vars[name]
	if s.scope != nil {
		s.scope.undo = append(s.scope.undo, undo{name, old, had})
		if !s.scope.local[name] {
			s.scope.local[name] = true
			s.vars[name] = v
			return
		}
	}
	if had && s.branch() && !old.isNone() {
		v = either(old, v)
	}
	s.vars[name] = v
}

func (v value) isNone() bool {
	return v.recv == nil && !v.isList && len(v.texts) == 0 && (v.sym == "" || v.sym == "None" || v.sym == "null" || v.sym == "nil" || v.sym == "undefined")
}

// branch tells whether the statement may not run.
func (s *scan) branch() bool {
	if s.blocks > 0 {
		return true
	}
	if !s.newline || s.level > 0 {
		return false
	}
	for i := s.i; i >= 0 && i < len(s.toks); i-- {
		if s.toks[i].nl {
			return s.toks[i].col > 0
		}
		if s.i-i > 64 {
			return true
		}
	}
	return false
}

// define reads a function's head: its body is read with the parameters that its calls gave.
func (s *scan) define(name string, params []string, end int) {
	f := s.fns[name]
	if f == nil || name == "" {
		f = &function{}
		if name != "" {
			s.fns[name] = f
		}
	}
	f.params = params
	end = min(end, len(s.toks)) // a body that nothing closes ends with the text
	s.respawns(name, end)
	sc := &scope{fn: f, end: end, local: map[string]bool{}, up: s.scope}
	s.scope = sc
	s.endFn = append(s.endFn, sc)
	for i, p := range params {
		v := value{}
		if i < len(f.args) {
			v = f.args[i]
		}
		if name == "" && slices.Contains(s.given, p) {
			v = s.vars[p]
		}
		s.assign(p, v)
	}
}

// leave restores what the names of a function's body held.
func (s *scan) leave() {
	sc := s.endFn[len(s.endFn)-1]
	s.endFn = s.endFn[:len(s.endFn)-1]
	for i := len(sc.undo) - 1; i >= 0; i-- {
		if u := sc.undo[i]; u.had {
			s.vars[u.name] = u.old
		} else {
			delete(s.vars, u.name)
		}
	}
	s.scope = sc.up
}

// enter notes a call of a function that the program defines, and returns what the function is known to return.
func (s *scan) enter(f *function, c *call) value {
	for i, a := range c.args {
		if i >= 16 {
			break
		}
		if i < len(f.args) {
			if f.called {
				a = either(f.args[i], a)
			}
			f.args[i] = a
			continue
		}
		f.args = append(f.args, a)
	}
	for k, key := range c.named.keys {
		if i := slices.Index(f.params, key); i >= 0 {
			for len(f.args) <= i {
				f.args = append(f.args, value{})
			}
			f.args[i] = c.named.list[k]
		}
	}
	f.called = true
	return f.gives
}
