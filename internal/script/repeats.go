package script

import (
	"crypto/sha256"
	"sync"
)

// repeats notices a session that runs the same script to the same end again and again. The zero value is ready.
type repeats struct {
	mu       sync.Mutex
	sessions map[string]map[[sha256.Size]byte]int
}

// Bounds of what is remembered: beyond them a session, or all of them, start afresh.
const (
	repeatSessions = 256
	repeatScripts  = 64
	repeatWarn     = 3
)

// seen counts an outcome and returns how often the session has had it.
func (r *repeats) seen(session, code string, rep *Report) int {
	h := sha256.New()
	for _, s := range []string{code, rep.Status, rep.Error, rep.Output} {
		sum := sha256.Sum256([]byte(s))
		h.Write(sum[:])
	}
	key := [sha256.Size]byte(h.Sum(nil))
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sessions == nil || len(r.sessions) >= repeatSessions && r.sessions[session] == nil {
		r.sessions = map[string]map[[sha256.Size]byte]int{}
	}
	of := r.sessions[session]
	if of == nil || len(of) >= repeatScripts && of[key] == 0 {
		of = map[[sha256.Size]byte]int{}
		r.sessions[session] = of
	}
	of[key]++
	return of[key]
}
