package engine

import (
	"maps"
	"strings"

	"github.com/hermes-runtime/hermes/environment"
)

// Variables that belong to a process or a call. They are never carried.
var own = map[string]bool{
	"_": true, "SHLVL": true, "PWD": true, // the shell's
	groupVariable: true, askpassVariable: true, "__hermes_dump": true, "__hermes_status": true, // ours
}

const (
	groupVariable   = "HERMES_GROUP"
	askpassVariable = "SUDO_ASKPASS"
	// longestVariable is what Linux takes as one string of an environment (32 pages); a longer one would keep every later command
	// from starting, so it isn't carried.
	longestVariable = 128 << 10
)

// variables turns "name=value" entries into a map. Of two entries for a name the last one counts.
func variables(entries []string) map[string]string {
	m := make(map[string]string, len(entries)+8)
	for _, e := range entries {
		if name, value, ok := strings.Cut(e, "="); ok && name != "" {
			m[name] = value
		}
	}
	return m
}

// apply puts what is carried on top of the base.
func apply(base map[string]string, carried map[string]*string) map[string]string {
	vars := maps.Clone(base)
	for name, v := range carried {
		if v == nil {
			delete(vars, name)
		} else {
			vars[name] = *v
		}
	}
	return vars
}

func entries(vars map[string]string) []string {
	list := make([]string, 0, len(vars))
	for name, v := range vars {
		list = append(list, name+"="+v)
	}
	return list
}

// Variables gives what a command with this state would see, without what belongs to a single process or call.
func (b Base) Variables(s *environment.State) map[string]string {
	base := variables(b.Environ)
	if s == nil {
		return base
	}
	return apply(base, s.Snapshot().Vars)
}

// carrier works out what a command changed.
type carrier struct {
	base   map[string]string    // the environment's own
	call   map[string]string    // set for this call
	before environment.Snapshot // carried so far
}

// after gives what is carried from now on, as a difference to the base. A variable that was set for the call and still has that
// value counts as untouched.
func (c carrier) after(d dump) environment.Snapshot {
	s := environment.Snapshot{Dir: environment.Path(d.dir), Vars: map[string]*string{}}
	keep := func(name string) {
		if old, had := c.before.Vars[name]; had {
			s.Vars[name] = old
		}
	}
	for name, v := range d.vars {
		set, perCall := c.call[name]
		old, had := c.before.Vars[name]
		switch own, inBase := c.base[name]; {
		case isOwn(name):
		case perCall && set == v, len(name)+len(v) >= longestVariable-1:
			keep(name)
		case had && old != nil && same(name, *old, v):
			keep(name)
		case inBase && same(name, own, v):
		default:
			s.Vars[name] = &v
		}
	}
	for name := range apply(c.base, c.before.Vars) {
		if _, kept := d.vars[name]; kept || isOwn(name) {
			continue
		}
		_, inBase := c.base[name]
		_, perCall := c.call[name]
		switch {
		case perCall || !tracked(name):
			keep(name)
		case inBase:
			s.Vars[name] = nil
		}
	}
	for name, v := range c.before.Vars {
		if _, back := d.vars[name]; v == nil && !back {
			s.Vars[name] = nil
		}
	}
	return s
}

func isOwn(name string) bool { return own[name] }

// same compares values; functions without regard to white space, since each shell prints them in its own layout.
func same(name, a, b string) bool {
	return a == b || strings.HasPrefix(name, functionHead) && strings.Join(strings.Fields(a), " ") == strings.Join(strings.Fields(b), " ")
}

// tracked reports whether a shell prints the variable at all: others pass through it unseen, and their absence means nothing.
func tracked(name string) bool {
	if strings.HasPrefix(name, functionHead) && strings.HasSuffix(name, functionTail) {
		return true
	}
	for i, c := range []byte(name) {
		if c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}
