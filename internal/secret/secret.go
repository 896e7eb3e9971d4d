// Package secret keeps the values that must never be shown, each with the name of the variable or source it came from.
package secret

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

// MinLength is the shortest value, in characters, that counts as a secret (RED-1): shorter ones occur in
// ordinary text too often to be replaced there.
const MinLength = 8

// Value is one known secret.
type Value struct {
	Name string // the variable or source, shown in place of the text
	Text string // the secret itself, at least MinLength characters, without surrounding white space
}

// Snapshot is an immutable view of a Set. Its slice must not be changed.
type Snapshot struct {
	Generation uint64  // grows with each change of the set; 0 is the set that nothing was ever added to
	Values     []Value // longest text first, then by name
}

// Set is a set of known secrets. The zero value is empty and ready; a nil Set is an empty one that can't be added to.
// All methods may be called concurrently; reading takes no lock.
type Set struct {
	mu   sync.Mutex // serialises changes
	view atomic.Pointer[Snapshot]
}

// Add makes value known under name and reports whether it counts: a value under MinLength characters doesn't.
// White space around the value is not part of it. One name may have several values, as a renewed token has.
func (s *Set) Add(name, value string) bool {
	value = strings.TrimSpace(value)
	if utf8.RuneCountInString(value) < MinLength {
		return false
	}
	s.change(func(old []Value) []Value {
		added := Value{Name: name, Text: value}
		if slices.Contains(old, added) {
			return old
		}
		return append(slices.Clone(old), added)
	})
	return true
}

// Remove forgets one value of name; a pair that isn't known is ignored.
func (s *Set) Remove(name, value string) {
	gone := Value{Name: name, Text: strings.TrimSpace(value)}
	s.change(func(old []Value) []Value {
		return without(old, func(v Value) bool { return v == gone })
	})
}

// Generation tells whether the set has changed since an earlier look.
func (s *Set) Generation() uint64 { return s.Snapshot().Generation }

// Values returns the known secrets, longest first. The slice is shared and must not be changed.
func (s *Set) Values() []Value { return s.Snapshot().Values }

var empty Snapshot

// Snapshot returns the values together with the generation they belong to.
func (s *Set) Snapshot() *Snapshot {
	if s == nil {
		return &empty
	}
	if v := s.view.Load(); v != nil {
		return v
	}
	return &empty
}

// change replaces the values by what edit makes of them. edit returns its argument itself when nothing changes.
func (s *Set) change(edit func([]Value) []Value) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.Snapshot()
	values := edit(old.Values)
	if len(values) == len(old.Values) {
		return
	}
	slices.SortFunc(values, func(a, b Value) int {
		if len(a.Text) != len(b.Text) {
			return len(b.Text) - len(a.Text)
		}
		return strings.Compare(a.Name+"\x00"+a.Text, b.Name+"\x00"+b.Text)
	})
	s.view.Store(&Snapshot{Generation: old.Generation + 1, Values: values})
}

// without returns values itself if gone holds for none of them, else a shorter copy.
func without(values []Value, gone func(Value) bool) []Value {
	if !slices.ContainsFunc(values, gone) {
		return values
	}
	return slices.DeleteFunc(slices.Clone(values), gone)
}
