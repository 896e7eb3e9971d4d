package session

import (
	"context"
	"sync"
	"time"
)

// probeHolds is how long it is believed that sudo needs, or doesn't need, a password in a place.
const probeHolds = time.Minute

// Sudo remembers what sessions know of sudo, in memory only: the password a person typed, that they would not give one, and where
// none is needed. The zero value is ready. It is safe for concurrent use.
type Sudo struct {
	mu       sync.Mutex
	sessions map[string]*sudoer
	places   map[string]*probe
}

type sudoer struct {
	asking   chan struct{} // holds one token while a person is being asked
	password *string
	refused  bool
}

type probe struct {
	mu   sync.Mutex
	free bool
	at   time.Time
}

// Password is what the session's person typed, false if nothing is remembered.
func (s *Sudo) Password(session string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.sessions[session]; u != nil && u.password != nil {
		return *u.password, true
	}
	return "", false
}

// Ask gives the remembered password, or has ask find it out, once for all calls of a session that want it at the same time. An
// answer of false is remembered too: the person is not asked again. An error is not.
func (s *Sudo) Ask(ctx context.Context, session string, ask func(ctx context.Context) (string, bool, error)) (string, bool, error) {
	u := s.sudoer(session)
	select {
	case u.asking <- struct{}{}:
		defer func() { <-u.asking }()
	case <-ctx.Done():
		return "", false, context.Cause(ctx)
	}
	if p, ok := s.Password(session); ok {
		return p, true, nil
	}
	s.mu.Lock()
	refused := u.refused
	s.mu.Unlock()
	if refused {
		return "", false, nil
	}
	p, ok, err := ask(ctx)
	if err != nil {
		return "", false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if ok {
		u.password = &p
	} else {
		u.refused = true
	}
	return p, ok, nil
}

// Forget drops a password that turned out to be wrong: the person may be asked again.
func (s *Sudo) Forget(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.sessions[session]; u != nil {
		u.password = nil
	}
}

// End drops all that is known of a session.
func (s *Sudo) End(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, session)
}

// Free tells whether sudo works without a password in a place, named by any key; try finds out, at most once a minute.
func (s *Sudo) Free(ctx context.Context, place string, try func(ctx context.Context) bool) bool {
	s.mu.Lock()
	if s.places == nil {
		s.places = map[string]*probe{}
	}
	p := s.places[place]
	if p == nil {
		p = &probe{}
		s.places[place] = p
	}
	s.mu.Unlock()
	p.mu.Lock() // try is bounded by its own timeout
	defer p.mu.Unlock()
	if p.at.IsZero() || time.Since(p.at) >= probeHolds {
		p.free, p.at = try(ctx), time.Now()
	}
	return p.free
}

func (s *Sudo) sudoer(session string) *sudoer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions == nil {
		s.sessions = map[string]*sudoer{}
	}
	u := s.sessions[session]
	if u == nil {
		u = &sudoer{asking: make(chan struct{}, 1)}
		s.sessions[session] = u
	}
	return u
}
