package envs

import (
	"context"
	"fmt"
	"time"

	"github.com/hermes-runtime/hermes/environment"
)

// slot is one key's environment, from the beginning of its making to its retirement. Its fields are guarded by Manager.mu.
type slot struct {
	ready   chan struct{} // closed when the making has ended
	env     environment.Environment
	err     error
	waiters int
	cancel  context.CancelFunc // gives the making up
	users   int                // calls that hold the place
	since   time.Time          // of the last use
	given   *ending            // set when everybody gave up before it was made
}

// ending is an environment that is being closed.
type ending struct {
	done   chan struct{}
	before *ending // one of the same key that began earlier
	what   string
	throw  bool // it isn't kept either
	err    error
}

// acquire gives the environment of key and holds it until ctx ends.
func (m *Manager) acquire(ctx context.Context, key string, o Override) (environment.Environment, error) {
	s, err := m.join(ctx, key, o)
	if err != nil {
		return nil, err
	}
	select {
	case <-s.ready:
	case <-ctx.Done():
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s.waiters--
	switch {
	case s.env == nil && s.err == nil: // gave up while it was being made
		if s.waiters == 0 && m.slots[key] == s {
			m.abandon(key, s)
		}
		return nil, fmt.Errorf("wait for environment %s: %w", key, context.Cause(ctx))
	case s.err != nil:
		return nil, s.err
	}
	s.users++
	context.AfterFunc(ctx, func() { m.release(s) })
	return s.env, nil
}

// join finds the slot of key, or begins to make its environment.
func (m *Manager) join(ctx context.Context, key string, o Override) (*slot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, &environment.Error{Kind: environment.ErrUnavailable, Op: "open environment " + key + ": " + closedNotice}
	}
	s := m.slots[key]
	replaces := s != nil && s.env != nil && gone(s.env)
	if replaces {
		m.retire(key, s)
		s = nil
	}
	if s == nil {
		s = &slot{ready: make(chan struct{})}
		making, cancel := context.WithCancel(context.WithoutCancel(ctx))
		stop := context.AfterFunc(m.life, cancel)
		s.cancel = cancel
		m.slots[key] = s
		before := m.closing[key]
		m.work.Go(func() {
			defer stop()
			defer cancel()
			env, err := m.open(making, opening{key: key, override: o, before: before, replaces: replaces})
			m.opened(key, s, env, err)
		})
	}
	s.waiters++
	return s, nil
}

// gone reports whether an environment was found to be there no more. One that can't be gone doesn't tell.
func gone(e environment.Environment) bool {
	g, ok := e.(interface{ Gone() bool })
	return ok && g.Gone()
}

type opening struct {
	key      string
	override Override
	before   *ending // the same key's former environment, on its way out
	replaces bool    // which was found gone
}

func (m *Manager) open(ctx context.Context, p opening) (environment.Environment, error) {
	if p.before != nil {
		select {
		case <-p.before.done:
		case <-ctx.Done():
			return nil, fmt.Errorf("open environment %s: %w", p.key, context.Cause(ctx))
		}
	}
	name := m.o.Backend
	if t := p.override[KeyBackend]; t != "" {
		name = t
	}
	b, err := Lookup(name)
	if err != nil {
		return nil, err
	}
	var o environment.OpenOptions
	if m.o.Settings != nil {
		if o, err = m.o.Settings(b, p.key, p.override); err != nil {
			return nil, fmt.Errorf("configure environment %s (%s): %w", p.key, name, err)
		}
	}
	o.Key, o.Dir, o.Overrides, o.Replaces = p.key, m.o.Cwd, p.override, p.replaces
	if m.o.Mirror != nil && b.Namespace != environment.NamespaceHost {
		o.Share = m.o.Mirror.Share(p.key)
	}
	env, err := b.Open(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("open environment %s (%s): %w", p.key, name, err)
	}
	m.push(ctx, p.key, env)
	return env, nil
}

// opened publishes how the making of s ended. A failure is told to all who wait and then forgotten.
func (m *Manager) opened(key string, s *slot, env environment.Environment, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s.env, s.err, s.since = env, err, time.Now()
	switch {
	case s.given != nil:
		m.dispose(key, s, s.given)
	case err != nil:
		delete(m.slots, key)
	case m.closed:
		m.retire(key, s)
		s.err = &environment.Error{Kind: environment.ErrUnavailable, Op: "open environment " + key + ": " + closedNotice}
	case !m.reaping && m.o.Lifetime > 0:
		m.reaping = true
		m.work.Go(m.reap)
	}
	close(s.ready)
}

func (m *Manager) release(s *slot) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s.users--
	s.since = time.Now()
}

// abandon gives up an environment that nobody waits for any more. Manager.mu is held.
func (m *Manager) abandon(key string, s *slot) {
	delete(m.slots, key)
	s.given = m.leave(key, "still being made")
	s.cancel()
}

// retire takes an environment out of use and closes it beside the callers. Manager.mu is held.
func (m *Manager) retire(key string, s *slot) *ending { return m.remove(key, s, false) }

// remove is retire for one that is thrown away, or closed. Manager.mu is held.
func (m *Manager) remove(key string, s *slot, throw bool) *ending {
	info := s.env.Info()
	delete(m.slots, key)
	e := m.leave(key, info.Backend+" "+info.ID)
	e.throw = throw
	m.dispose(key, s, e)
	return e
}

// leave announces that an environment of key is on its way out: the next one is made after it. Manager.mu is held.
func (m *Manager) leave(key, what string) *ending {
	e := &ending{done: make(chan struct{}), before: m.closing[key], what: what}
	m.closing[key] = e
	return e
}

// dispose closes the environment of s, if there is one, and ends e. Manager.mu is held.
func (m *Manager) dispose(key string, s *slot, e *ending) {
	env := s.env
	m.work.Go(func() {
		var err error
		if env != nil {
			m.fetch(key, env)
			ctx, cancel := context.WithTimeout(context.Background(), closeOne)
			defer cancel()
			leave := env.Close
			if d, ok := env.(environment.Destroyer); ok && e.throw {
				leave = d.Destroy
			}
			err = leave(ctx)
		}
		if err != nil {
			m.log.Warn("an environment could not be closed", "key", key, "environment", e.what, "error", err)
		}
		if e.before != nil {
			<-e.before.done // bounded like this one
		}
		m.mu.Lock()
		e.err, e.before = err, nil
		if m.closing[key] == e {
			delete(m.closing, key)
		}
		m.mu.Unlock()
		close(e.done)
	})
}

// fetch brings back what changed in an environment that is about to be closed. Once everything is being closed it has less time.
func (m *Manager) fetch(key string, env environment.Environment) {
	if m.o.Mirror == nil || env.Info().Namespace == environment.NamespaceHost || gone(env) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeOne)
	defer cancel()
	stop := context.AfterFunc(m.life, func() { time.AfterFunc(leaveAll, cancel) })
	defer stop()
	m.o.Mirror.Leave(ctx, key, env)
}

// reap closes idle environments. It ends with the last environment and is started again with the next.
func (m *Manager) reap() {
	tick := time.NewTicker(reapEvery)
	defer tick.Stop()
	for {
		select {
		case <-m.life.Done():
			return
		case <-tick.C:
		}
		for _, key := range m.idle() {
			if m.o.Busy != nil && m.o.Busy(key) {
				continue
			}
			m.mu.Lock()
			if s := m.slots[key]; s != nil && m.isIdle(s) { // unless it was used meanwhile
				m.retire(key, s)
			}
			m.mu.Unlock()
		}
		m.mu.Lock()
		if len(m.slots) == 0 {
			m.reaping = false
			m.mu.Unlock()
			return
		}
		m.mu.Unlock()
	}
}

func (m *Manager) idle() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var keys []string
	for k, s := range m.slots {
		if m.isIdle(s) {
			keys = append(keys, k)
		}
	}
	return keys
}

func (m *Manager) isIdle(s *slot) bool {
	return s.env != nil && s.users == 0 && s.waiters == 0 && time.Since(s.since) > m.o.Lifetime
}
