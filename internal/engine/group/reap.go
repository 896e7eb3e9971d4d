//go:build linux || darwin

package group

import (
	"sync"
	"syscall"
	"time"
)

// A subreaper is given the orphans of all commands, and has to collect the dead ones without taking a child away from someone else
// in this process who waits for it.

// unclaimed is how long a dead child may lie before it counts as nobody's: whoever started one and waits takes it at once.
const unclaimed = 10 * time.Second

// strays are dead children that no group knows: orphans that had left their session and died before anyone saw them. A nil one
// does nothing.
type strays struct {
	mu   sync.Mutex
	seen map[int]stray
}

type stray struct {
	start uint64
	since time.Time
}

func (s *strays) note(p process) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, ok := s.seen[p.pid]; !ok || old.start != p.start {
		s.seen[p.pid] = stray{p.start, time.Now()}
	}
}

// collect takes those that lie there unclaimed.
func (s *strays) collect(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for pid, old := range s.seen {
		p, err := readProcess(pid)
		if err == nil && p.start == old.start && now.Sub(old.since) < unclaimed {
			continue
		}
		if err == nil && p.start == old.start {
			take(pid)
		}
		delete(s.seen, pid)
	}
}

// reap collects the dead members. The leader is its starter's to collect.
func (g *Group) reap() {
	if g.strays == nil {
		return
	}
	g.mu.Lock()
	for pid := range g.known {
		if pid != g.leader.pid && take(pid) {
			delete(g.known, pid)
		}
	}
	g.mu.Unlock()
	g.strays.collect(time.Now())
}

// take collects pid if it is a dead child of this process.
func take(pid int) bool {
	var status syscall.WaitStatus
	got, err := syscall.Wait4(pid, &status, syscall.WNOHANG, nil)
	return err == nil && got == pid
}
