package environment

import (
	"maps"
	"strings"
	"sync"
)

// State is what a session carries from one command to the next: its directory, and its variables as a difference to the
// environment's own. It lives in memory only. The zero value carries nothing. It is safe for concurrent use.
type State struct {
	mu   sync.Mutex
	dir  Path
	vars map[string]*string
}

// Snapshot is a State at one moment. Vars maps a name to its value, nil for a variable that was removed.
type Snapshot struct {
	Dir  Path
	Vars map[string]*string
}

// NewState returns a state that starts in dir.
func NewState(dir Path) *State { return &State{dir: dir} }

// Snapshot returns a copy.
func (s *State) Snapshot() Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Snapshot{Dir: s.dir, Vars: maps.Clone(s.vars)}
}

// bash exports a function as a variable whose name stands between these.
const (
	functionHead = "BASH_FUNC_"
	functionTail = "%%"
)

// Functions gives the exported functions that are carried: the text behind each name, "() {" and on. nil = none.
func (s *State) Functions() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out map[string]string
	for name, text := range s.vars {
		f, head := strings.CutPrefix(name, functionHead)
		f, tail := strings.CutSuffix(f, functionTail)
		if !head || !tail || text == nil {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[f] = *text
	}
	return out
}

// Variables gives the variables that are carried with a value, besides functions. nil = none.
func (s *State) Variables() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out map[string]string
	for name, text := range s.vars {
		if text == nil || strings.HasPrefix(name, functionHead) {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[name] = *text
	}
	return out
}

// Dir returns the carried directory, "" while there is none.
func (s *State) Dir() Path {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dir
}

// SetDir replaces the carried directory at once.
func (s *State) SetDir(dir Path) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dir = dir
}

// Clone returns an independent copy: what a child agent starts with.
func (s *State) Clone() *State {
	n := s.Snapshot()
	return &State{dir: n.Dir, vars: n.Vars}
}

// Merge takes over what changed between before and after, and nothing else, so that commands that ran side by side don't undo
// each other. Of two that changed the same variable the last one wins.
func (s *State) Merge(before, after Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if after.Dir != before.Dir {
		s.dir = after.Dir
	}
	for name, v := range after.Vars {
		if old, had := before.Vars[name]; had && equal(old, v) {
			continue
		}
		s.set(name, v)
	}
	for name := range before.Vars {
		if _, kept := after.Vars[name]; !kept { // back to the environment's own value
			delete(s.vars, name)
		}
	}
}

func (s *State) set(name string, v *string) {
	if s.vars == nil {
		s.vars = map[string]*string{}
	}
	s.vars[name] = v
}

func equal(a, b *string) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
