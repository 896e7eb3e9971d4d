// Package daytonatest is a Daytona for tests: a local server that answers as the public API does, whose sandboxes are real processes in
// namespaces of their own. Beside each behaviour stands where it is described: «Sandboxes», «Limits», «Process and Code Execution» and the
// like are pages of Daytona's documentation, «API» is its OpenAPI description, «toolbox» that of the service within a sandbox.
package daytonatest

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/internal/cloud/cloudtest"
)

// Key is the credential that the server takes («API Keys»).
const Key = "dtn_0123456789abcdef0123456789abcdef"

// Server is one account. Its fields are set before it is used.
type Server struct {
	cloudtest.Faults // paths are below /api, or below the toolbox of a sandbox behind "toolbox": "POST /sandbox", "GET toolbox/process/pty"

	URL    string // of the API
	Quota  int    // sandboxes that may run at once; 0 = any number («Limits»: the pool of an organization)
	Slow   int    // looks at a sandbox that is made or started before it runs
	NoURL  bool   // the answer names no toolbox: older servers don't
	Pieces int    // sandboxes on a page at most; 0 = as asked for

	http *httptest.Server
	dir  string

	mu    sync.Mutex
	later time.Duration // by which the server's clock was put forward
	boxes []*Sandbox
	made  int
}

// Sandbox is one as the server sees it («API»: Sandbox).
type Sandbox struct {
	ID         string            `json:"id"`
	Org        string            `json:"organizationId"`
	Name       string            `json:"name"`
	State      string            `json:"state"`
	Desired    string            `json:"desiredState"`
	Reason     string            `json:"errorReason,omitempty"`
	Labels     map[string]string `json:"labels"`
	Snapshot   string            `json:"snapshot,omitempty"`
	Build      json.RawMessage   `json:"buildInfo,omitempty"`
	Target     string            `json:"target"`
	CPU        int               `json:"cpu"`
	Memory     int               `json:"memory"`
	Disk       int               `json:"disk"`
	BlockAll   bool              `json:"networkBlockAll"`
	AutoStop   int               `json:"autoStopInterval"`
	AutoDelete int               `json:"autoDeleteInterval"`
	Created    time.Time         `json:"createdAt"`
	Active     time.Time         `json:"lastActivityAt"`
	Toolbox    string            `json:"toolboxProxyUrl,omitempty"`

	looks   int
	stopped time.Time
	machine *machine
	starts  int
}

// New starts a server, which ends with the test. The test is left out where no sandbox can be made.
func New(t testing.TB) *Server {
	t.Helper()
	cloudtest.Able(t)
	dir, err := os.MkdirTemp("/var/tmp", "hermes-daytona-") // sockets have short paths
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{dir: dir}
	s.http = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.http.Start() // once it is known: other processes ask too
	s.URL = s.http.URL + "/api"
	t.Cleanup(func() {
		s.http.CloseClientConnections()
		s.http.Close()
		s.mu.Lock()
		boxes := s.boxes
		s.mu.Unlock()
		for _, b := range boxes {
			b.machine.stop()
		}
		_ = os.RemoveAll(dir)
	})
	return s
}

// Sandboxes are those that aren't deleted.
func (s *Server) Sandboxes() []Sandbox {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Sandbox
	for _, b := range s.boxes {
		all = append(all, *b)
	}
	return all
}

// Made counts the sandboxes that ever were.
func (s *Server) Made() int { s.mu.Lock(); defer s.mu.Unlock(); return s.made }

// Change does something to a sandbox behind its user's back.
func (s *Server) Change(id string, change func(*Sandbox)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.boxes {
		if b.ID == id {
			change(b)
			if b.State != "started" {
				b.machine.stop()
			}
		}
	}
}

// Forget deletes a sandbox behind its user's back.
func (s *Server) Forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(id)
}

func (s *Server) drop(id string) {
	s.boxes = slices.DeleteFunc(s.boxes, func(b *Sandbox) bool {
		if b.ID != id {
			return false
		}
		b.machine.stop()
		return true
	})
}

// Later puts the server's clock forward: sandboxes that were idle for too long stop, and such that were stopped for too long are deleted
// («Sandboxes»: auto-stop interval, auto-delete interval).
func (s *Server) Later(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.later += d
	now := s.now()
	for _, b := range slices.Clone(s.boxes) {
		if b.State == "started" && b.AutoStop > 0 && now.Sub(b.Active) >= time.Duration(b.AutoStop)*time.Minute {
			b.halt(b.Active.Add(time.Duration(b.AutoStop) * time.Minute))
		}
		if b.State == "stopped" && b.AutoDelete >= 0 && now.Sub(b.stopped) >= time.Duration(b.AutoDelete)*time.Minute {
			s.drop(b.ID)
		}
	}
}

func (s *Server) now() time.Time { return time.Now().UTC().Add(s.later) }

func (b *Sandbox) halt(when time.Time) {
	b.State, b.Desired, b.stopped = "stopped", "stopped", when
	b.machine.stop()
}

// serve answers one request.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	line := r.Method + " " + strings.TrimPrefix(r.URL.Path, "/api")
	next := http.HandlerFunc(s.api)
	if rest, ok := strings.CutPrefix(r.URL.Path, "/toolbox/"); ok {
		_, below, _ := strings.Cut(rest, "/")
		line = r.Method + " toolbox/" + below
		next = s.toolbox
	}
	s.Serve(line, w, r, next)
}

// authorized wants the key in the header («API»: bearer).
func (s *Server) authorized(w http.ResponseWriter, r *http.Request) bool {
	if r.Header.Get("Authorization") == "Bearer "+Key {
		return true
	}
	Refuse(w, r, http.StatusUnauthorized, "Unauthorized", "Invalid credentials")
	return false
}

// Refuse answers with an error, in the form of the API.
func Refuse(w http.ResponseWriter, r *http.Request, status int, kind, message string) {
	answer(w, status, map[string]any{
		"statusCode": status, "timestamp": time.Now().UTC().Format(time.RFC3339Nano), "path": r.URL.Path, "error": kind, "message": message,
	})
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// api is what stands below /api.
func (s *Server) api(w http.ResponseWriter, r *http.Request) {
	if !s.authorized(w, r) {
		return
	}
	parts := strings.Split(strings.Trim(strings.TrimPrefix(r.URL.Path, "/api"), "/"), "/")
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case parts[0] != "sandbox" || len(parts) > 3:
		Refuse(w, r, http.StatusNotFound, "Not Found", "Cannot "+r.Method+" "+r.URL.Path)
	case len(parts) == 1 && r.Method == http.MethodPost:
		s.create(w, r)
	case len(parts) == 1 && r.Method == http.MethodGet:
		s.list(w, r)
	default:
		i := slices.IndexFunc(s.boxes, func(b *Sandbox) bool { return b.ID == parts[1] || b.Name == parts[1] })
		if i < 0 {
			Refuse(w, r, http.StatusNotFound, "Not Found", "Sandbox with ID or name "+parts[1]+" not found")
			return
		}
		s.one(w, r, s.boxes[i], path.Join(append([]string{r.Method}, parts[2:]...)...))
	}
}

// proceed moves a sandbox on: each look at one that is on its way brings it nearer.
func (s *Server) proceed(b *Sandbox) {
	if b.State != "creating" && b.State != "pending_build" && b.State != "starting" {
		return
	}
	if b.looks--; b.looks >= 0 {
		if b.State == "pending_build" && b.looks < s.Slow/2 {
			b.State = "creating"
		}
		return
	}
	if err := b.machine.start(); err != nil {
		b.State, b.Reason = "error", err.Error()
		return
	}
	b.starts++
	b.State, b.Active = "started", s.now()
}

func uuid() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	h := hex.EncodeToString(b[:])
	return fmt.Sprintf("%s-%s-4%s-8%s-%s", h[:8], h[8:12], h[13:16], h[17:20], h[20:])
}

// Home is the directory that a sandbox has as /root; it stays until the test ends.
func (s *Server) Home(id string) string { return path.Join(s.dir, id[:8], "root") }

// Add puts a sandbox there that nobody asked for through the API.
func (s *Server) Add(b Sandbox) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b.ID = uuid()
	s.boxes = append(s.boxes, &b)
}
