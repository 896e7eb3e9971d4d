package registry

import (
	"slices"
	"sync"

	"github.com/hermes-runtime/hermes/internal/registry/schema"
)

const (
	// maxDefinitions bounds the definitions that are kept: a handful of sessions of a few kinds, in one or two dialects.
	maxDefinitions = 8
	// maxScopes bounds the scopes that are kept; a gateway has one for each kind of session.
	maxScopes = 32
)

// memo keeps what was built lately, the latest first. It is looked through one by one, as there are few.
type memo struct {
	mu     sync.Mutex
	scopes []*Scope
	built  []*built
}

// built is a finished answer with what it holds for.
type built struct {
	scope      *Scope // stands for enabled, disabled, needs, both generations
	dialect    schema.Dialect
	strictness schema.Strictness
	failed     bits
	list       []Definition
	body       string
	hidden     []Hidden
}

func (m *memo) scope(snap *snapshot, req *Request) *Scope {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, s := range m.scopes {
		if s.snap == snap && s.request.sameScope(req) {
			toFront(m.scopes, i)
			return s
		}
	}
	return nil
}

func (m *memo) keepScope(s *Scope) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.scopes = keep(m.scopes, s, maxScopes, func(old *Scope) bool { return old.snap.generation < s.snap.generation })
}

func (m *memo) definitions(s *Scope, req *Request, failed bits) *built {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, b := range m.built {
		if b.scope == s && b.dialect == req.Dialect && b.strictness == req.Strictness && slices.Equal(b.failed, failed) {
			toFront(m.built, i)
			return b
		}
	}
	return nil
}

func (m *memo) keepDefinitions(b *built) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.built = keep(m.built, b, maxDefinitions, func(old *built) bool { return old.scope.snap.generation < b.scope.snap.generation })
}

func toFront[T any](list []T, i int) {
	v := list[i]
	copy(list[1:i+1], list[:i])
	list[0] = v
}

// keep puts v in front, without what is outdated and without the oldest above the limit.
func keep[T any](list []T, v T, limit int, outdated func(T) bool) []T {
	list = slices.Insert(slices.DeleteFunc(list, outdated), 0, v)
	if len(list) > limit {
		clear(list[limit:])
		list = list[:limit]
	}
	return list
}

// sameScope reports a request that leads to the same scope. nil and empty differ for Enabled alone.
func (a *Request) sameScope(b *Request) bool {
	return (a.Enabled == nil) == (b.Enabled == nil) && a.Platform == b.Platform && slices.Equal(a.Enabled, b.Enabled) &&
		slices.Equal(a.Disabled, b.Disabled) && slices.Equal(a.Has, b.Has)
}
