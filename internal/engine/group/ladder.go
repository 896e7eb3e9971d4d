//go:build linux || darwin

package group

import (
	"syscall"
	"time"

	"github.com/hermes-runtime/hermes/environment"
)

// goneWithin is how long members may take to disappear after KILL.
const goneWithin = 1500 * time.Millisecond

// End ends every member: TERM, grace, KILL until a pass finds none. It returns as soon as all are gone, and names those that are
// still there goneWithin after the first KILL. It takes at most grace + goneWithin and a moment.
func (g *Group) End(grace time.Duration) []environment.ProcessRef { return g.EndWith(grace, nil) }

// EndWith is End for who sees the first process of the group end: leader is closed then, and the group is looked at again at once.
func (g *Group) EndWith(grace time.Duration, leader <-chan struct{}) []environment.ProcessRef {
	defer g.reap()
	if grace > 0 && g.soften(grace, leader) {
		return nil
	}
	return g.kill()
}

// soften sends TERM and waits; it reports whether nobody is left.
func (g *Group) soften(grace time.Duration, leader <-chan struct{}) bool {
	told := map[int]uint64{}
	for deadline, wait := time.Now().Add(grace), time.Millisecond; ; wait = min(2*wait, 20*time.Millisecond) {
		left := g.living()
		if len(left) == 0 {
			return true
		}
		for _, p := range left {
			if told[p.pid] == p.start && p.start != 0 {
				continue // once each: a handler that cleans up isn't disturbed; one born meanwhile is told too
			}
			told[p.pid] = p.start
			send(p, syscall.SIGTERM, syscall.SIGCONT) // a stopped process takes no TERM
		}
		rest := time.Until(deadline)
		if rest <= 0 {
			return false
		}
		pause := time.NewTimer(min(wait, rest))
		select {
		case <-pause.C:
		case <-leader:
			leader = nil
			pause.Stop()
		}
		g.reap()
	}
}

// kill sends KILL in passes. A target that forks between two passes is caught by the next, so only an empty pass, twice over,
// ends it early.
func (g *Group) kill() []environment.ProcessRef {
	empty := 0
	for deadline, wait := time.Now().Add(goneWithin), time.Duration(0); ; {
		if g.cgroup != nil {
			g.cgroup.kill()
		}
		left := g.living()
		for _, p := range left {
			send(p, syscall.SIGKILL)
		}
		if len(left) == 0 {
			if empty++; empty == 2 {
				return nil
			}
			continue
		}
		empty = 0
		if time.Now().After(deadline) {
			return g.Members()
		}
		time.Sleep(wait)
		wait = min(wait+time.Millisecond, 10*time.Millisecond)
		g.reap()
	}
}
