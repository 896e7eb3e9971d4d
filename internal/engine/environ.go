package engine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
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
	// longestString is what Linux takes as one argument or variable (32 pages).
	longestString = 128 << 10
	// mostCarried bounds names and values of all that is carried, in bytes: half of the 1 MiB that macOS takes for arguments and
	// variables together, a quarter of the usual 2 MiB of Linux. What a command adds beyond it is left out, and the result says so:
	// a program can't be started with it, and no later command could mend that.
	mostCarried = 512 << 10
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
// value counts as untouched. tooLong names the variables that keep their former value because a program can't be started with the
// new one.
func (c carrier) after(d dump) (s environment.Snapshot, tooLong []string) {
	s = environment.Snapshot{Dir: environment.Path(d.dir), Vars: map[string]*string{}}
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
		case perCall && set == v:
			keep(name)
		case len(name)+len(v) >= longestString-1:
			keep(name)
			if old == nil || *old != v {
				tooLong = append(tooLong, name)
			}
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
	return s, append(tooLong, c.bound(s)...)
}

// bound takes back what a command added, the largest first, until what is carried is within its bound, and names it.
func (c carrier) bound(s environment.Snapshot) (taken []string) {
	total := 0
	var added []string
	for name, v := range s.Vars {
		total += weight(name, v)
		if v != nil && c.before.Vars[name] != v {
			added = append(added, name)
		}
	}
	if total <= mostCarried {
		return nil
	}
	slices.SortFunc(added, func(a, b string) int {
		return cmp.Or(weight(b, s.Vars[b])-weight(a, s.Vars[a]), strings.Compare(a, b))
	})
	for _, name := range added {
		if total <= mostCarried {
			break
		}
		total -= weight(name, s.Vars[name])
		if old, had := c.before.Vars[name]; had {
			s.Vars[name] = old
			total += weight(name, old)
		} else {
			delete(s.Vars, name)
		}
		taken = append(taken, name)
	}
	return taken
}

// weight is what a variable adds to an environment, in bytes.
func weight(name string, v *string) int {
	if v == nil {
		return 0
	}
	return len(name) + len(*v) + 2
}

// notCarried tells which variables keep their former values.
func notCarried(names []string) string {
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	const shown = 5
	list := strings.Join(names[:min(len(names), shown)], ", ")
	if more := len(names) - shown; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("too large to be carried to the next command (at most %d KiB a variable, %d KiB in all), use a file instead: %s",
		longestString>>10, mostCarried>>10, list)
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
