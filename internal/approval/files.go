package approval

import (
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
)

// What one judgement may look at files: they are looked at while a command waits.
const (
	maxLooks = 64
	maxLook  = 100 * time.Millisecond // a busy machine takes its time for one look; a look that is missed becomes a question
)

// processOwn begin the paths that lead elsewhere in each process: where they lead in this one says nothing.
var processOwn = []string{"/dev/fd/", "/dev/std", "/dev/tty", "/proc/self/", "/proc/thread-self/"}

// sight is what one judgement sees of files: what the session did to them, and a bounded number of looks at the place's disk.
type sight struct {
	memory  *memory
	session string
	disk    Disk
	looks   int
	until   time.Time // zero = nothing was looked at yet
}

// files gives a judgement its sight. It is nil where nothing could be seen.
func (g *Gate) files(req *Request) analysis.Files {
	if req.Disk == nil && !g.memory.knowsFiles(req.Session) {
		return nil
	}
	return &sight{memory: &g.memory, session: req.Session, disk: req.Disk}
}

// may tells whether another look fits the bounds.
func (s *sight) may() bool {
	if s.disk == nil || s.looks >= maxLooks {
		return false
	}
	now := time.Now()
	if s.until.IsZero() {
		s.until = now.Add(maxLook)
	}
	s.looks++
	return now.Before(s.until)
}

// Any implements analysis.Files.
func (s *sight) Any() bool { return s.memory.knowsFiles(s.session) }

// Origin implements analysis.Files.
func (s *sight) Origin(path string) analysis.FileOrigin {
	s.memory.mu.RLock()
	defer s.memory.mu.RUnlock()
	if m := s.memory.sessions[s.session]; m != nil {
		return m.files[path]
	}
	return ""
}

// Text implements analysis.Files.
func (s *sight) Text(path string) (string, bool) {
	if !s.may() {
		return "", false
	}
	return s.disk.Text(path, analysis.MaxFile)
}

// Resolve implements analysis.Files.
func (s *sight) Resolve(path string) string {
	for _, own := range processOwn {
		if strings.HasPrefix(path+"/", own) {
			return path
		}
	}
	if !s.may() {
		return path
	}
	return s.disk.Resolve(path)
}

func (m *memory) knowsFiles(session string) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	s := m.sessions[session]
	return s != nil && len(s.files) > 0
}

// note remembers which files a request that may run writes or fetches.
func (g *Gate) note(req *Request, reading *analysis.Reading) {
	found := map[string]analysis.FileOrigin{}
	for _, p := range req.Paths {
		if at := analysis.Join(req.Dir, p.Path); !p.Delete && strings.HasPrefix(at, "/") {
			found[at] = analysis.FileWritten
		}
	}
	if reading != nil {
		reading.Made(func(path string, o analysis.FileOrigin) { found[path] = o })
	}
	if len(found) == 0 {
		return
	}
	g.memory.mu.Lock()
	defer g.memory.mu.Unlock()
	s := g.memory.session(req.Session)
	for p, o := range found {
		s.brought(p, o)
	}
}

// brought notes one file; beyond the bound the oldest is forgotten.
func (s *sessionMemory) brought(path string, o analysis.FileOrigin) {
	if s.files == nil {
		s.files = map[string]analysis.FileOrigin{}
	}
	if _, known := s.files[path]; !known {
		if len(s.oldest) >= maxFiles {
			delete(s.files, s.oldest[0])
			s.oldest = s.oldest[1:]
		}
		s.oldest = append(s.oldest, path)
	}
	s.files[path] = o
}
