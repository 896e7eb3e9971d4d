// Package verceltest is a Vercel for tests: a local server that answers as the public API of its sandboxes does, whose sandboxes are real
// processes in namespaces of their own. Beside each behaviour stands where it is described: «REST» are the pages of Vercel's REST API about
// sandboxes (vercel.com/docs/rest-api/sandboxes/…), «Errors» those about error codes (vercel.com/docs/errors/…), «SDK» is the source of the
// public client (github.com/vercel/sandbox, packages/vercel-sandbox/src).
package verceltest

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/internal/cloud/cloudtest"
)

// The credentials that the server takes («REST»: bearerToken, teamId).
const (
	Token   = "vca_0123456789abcdef0123456789abcdef"
	Team    = "team_test"
	Project = "prj_test"
)

// Server is one team. Its fields are set before it is used.
type Server struct {
	cloudtest.Faults // paths are below /api/v2/sandboxes, with SESSION and CMD for ids: "POST /sessions/SESSION/cmd"

	URL   string // of the API
	Quota int    // sandboxes that may run at once; 0 = any number
	Slow  int    // looks at a sandbox that is made or started before it runs
	Stops int    // looks at a persistent sandbox that was stopped before its snapshot is made
	Page  int    // sandboxes on a page at most; 0 = as asked for

	http *httptest.Server
	dir  string

	mu    sync.Mutex
	later time.Duration // by which the server's clock was put forward
	boxes []*Sandbox
	made  int
}

// Sandbox is one as the server sees it («SDK»: api-client/validators.ts, Sandbox).
type Sandbox struct {
	Name       string            `json:"name"`
	Persistent bool              `json:"persistent"`
	Runtime    string            `json:"runtime"`
	CPUs       int               `json:"vcpus"`
	Memory     int               `json:"memory"`
	Timeout    int64             `json:"timeout"`
	Network    json.RawMessage   `json:"networkPolicy,omitempty"`
	Tags       map[string]string `json:"tags"`
	Keep       json.RawMessage   `json:"keepLastSnapshots,omitempty"`
	Created    int64             `json:"createdAt"`
	Updated    int64             `json:"updatedAt"`
	Session    string            `json:"currentSessionId"`
	Status     string            `json:"status"`
	Cwd        string            `json:"cwd"`

	Spoiled bool `json:"-"` // its snapshot is gone

	ends     time.Time
	looks    int
	machine  *cloudtest.Machine
	commands map[string]*command
}

// New starts a server, which ends with the test. The test is left out where no sandbox can be made.
func New(t testing.TB) *Server {
	t.Helper()
	cloudtest.Able(t)
	dir, err := os.MkdirTemp("/var/tmp", "hermes-vercel-")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{dir: dir}
	s.http = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.http.Start()
	s.URL = s.http.URL + "/api"
	t.Cleanup(func() {
		s.mu.Lock()
		for _, b := range s.boxes {
			b.machine.Stop()
		}
		s.mu.Unlock()
		s.http.CloseClientConnections()
		s.http.Close()
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

// CloseClientConnections breaks all contact.
func (s *Server) CloseClientConnections() { s.http.CloseClientConnections() }

// Made counts the sandboxes that ever were.
func (s *Server) Made() int { s.mu.Lock(); defer s.mu.Unlock(); return s.made }

// Add puts a sandbox there that nobody asked for through the API.
func (s *Server) Add(b Sandbox) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b.Session = "sbx_" + id()
	s.boxes = append(s.boxes, &b)
}

// Change changes a sandbox behind its user's back: one that is no longer running is stopped.
func (s *Server) Change(name string, change func(*Sandbox)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.boxes {
		if b.Name == name {
			if change(b); b.Status != "running" {
				b.machine.Stop()
			}
		}
	}
}

// Forget deletes a sandbox behind its user's back.
func (s *Server) Forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(name)
}

func (s *Server) drop(name string) {
	s.boxes = slices.DeleteFunc(s.boxes, func(b *Sandbox) bool {
		if b.Name != name {
			return false
		}
		b.machine.Stop()
		return true
	})
}

// Later puts the server's clock forward: sessions whose timeout is over stop («REST»: create-a-named-sandbox, timeout).
func (s *Server) Later(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.later += d
	for _, b := range s.boxes {
		if b.Status == "running" && s.now().After(b.ends) {
			s.halt(b)
		}
	}
}

func (s *Server) now() time.Time { return time.Now().Add(s.later) }

// halt ends a session («Errors»: SANDBOX_STOPPING, SANDBOX_SNAPSHOTTING: a persistent one is on its way for a while).
func (s *Server) halt(b *Sandbox) {
	b.machine.Stop()
	if b.Status = "stopped"; b.Persistent && s.Stops > 0 {
		b.Status, b.looks = "snapshotting", s.Stops
	}
}

// Home is the directory that a sandbox has as /root; it stays until the test ends.
func (s *Server) Home(name string) string { return path.Join(s.dir, name, "root") }

// serve answers one request.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/api/v2/sandboxes"), "/")
	for i := 1; i < len(parts); i++ {
		switch {
		case parts[i-1] == "sessions":
			parts[i] = "SESSION"
		case parts[i-1] == "cmd":
			parts[i] = "CMD"
		}
	}
	s.Serve(r.Method+" "+strings.Join(parts, "/"), w, r, http.HandlerFunc(s.api))
}

// Refuse answers with an error, in the form of the API («SDK»: api-client/api-error.ts reads error.code and error.message).
func Refuse(w http.ResponseWriter, status int, code, message string) {
	answer(w, status, map[string]any{"error": map[string]string{"code": code, "message": message}})
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// api is what stands below /api.
func (s *Server) api(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	below, ok := strings.CutPrefix(r.URL.Path, "/api/v2/sandboxes")
	parts := strings.Split(strings.Trim(below, "/"), "/")
	switch {
	case r.Header.Get("Authorization") != "Bearer "+Token:
		Refuse(w, http.StatusForbidden, "forbidden", "Not authorized")
	case q.Get("teamId") != Team:
		Refuse(w, http.StatusForbidden, "forbidden", "Not authorized: Trying to access resource under scope")
	case !ok:
		Refuse(w, http.StatusNotFound, "not_found", "Not Found")
	case parts[0] == "" && r.Method == http.MethodPost:
		s.create(w, r)
	case parts[0] == "" && r.Method == http.MethodGet:
		s.list(w, r)
	case parts[0] == "sessions" && len(parts) > 2:
		s.session(w, r, parts[1], parts[2:])
	case len(parts) == 1 && q.Get("projectId") == Project:
		s.one(w, r, parts[0])
	default:
		Refuse(w, http.StatusNotFound, "not_found", "Not Found")
	}
}

// create makes a named sandbox («REST»: create-a-named-sandbox: names are unique in a project, vcpus is 1 or even, at most 5 tags).
func (s *Server) create(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Sandbox
		Project   string `json:"projectId"`
		Resources struct {
			CPUs int `json:"vcpus"`
		} `json:"resources"`
	}
	in.Persistent = true
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		Refuse(w, http.StatusBadRequest, "bad_request", err.Error())
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	running := 0
	for _, o := range s.boxes {
		if o.Status == "running" || o.Status == "pending" {
			running++
		}
	}
	n := in.Resources.CPUs
	switch {
	case in.Project != Project:
		Refuse(w, http.StatusNotFound, "not_found", "Project not found")
	case n != 1 && n%2 != 0 || len(in.Tags) > 5 || in.Timeout <= 0:
		Refuse(w, http.StatusBadRequest, "bad_request", "Invalid request")
	case slices.ContainsFunc(s.boxes, func(o *Sandbox) bool { return o.Name == in.Name }):
		Refuse(w, http.StatusConflict, "conflict", "A sandbox with this name already exists")
	case s.Quota > 0 && running >= s.Quota:
		Refuse(w, http.StatusPaymentRequired, "payment_required", "Concurrent sandboxes limit reached")
	default:
		b := in.Sandbox
		b.CPUs, b.Memory, b.Created, b.Cwd = n, n*2048, s.now().UnixMilli(), "/root"
		var err error
		if b.machine, err = cloudtest.NewMachine(path.Join(s.dir, b.Name)); err != nil {
			Refuse(w, http.StatusInternalServerError, "internal_server_error", err.Error())
			return
		}
		s.begin(&b)
		s.boxes = append(s.boxes, &b)
		s.made++
		s.tell(w, &b, false)
	}
}

// begin starts a session.
func (s *Server) begin(b *Sandbox) {
	b.Session, b.Status, b.looks, b.commands = "sbx_"+id(), "pending", s.Slow, map[string]*command{}
	b.ends = s.now().Add(time.Duration(b.Timeout) * time.Millisecond)
	s.proceed(b)
}

// proceed moves a session on: each look at one that is on its way brings it nearer.
func (s *Server) proceed(b *Sandbox) {
	if b.Status != "pending" && b.Status != "snapshotting" {
		return
	}
	if b.looks--; b.looks >= 0 {
		return
	}
	if b.Status == "snapshotting" {
		b.Status = "stopped"
		return
	}
	b.Status = "running"
	if err := b.machine.Start(); err != nil {
		b.Status = "failed"
	}
}

// tell answers with a sandbox and its session («SDK»: api-client/validators.ts, SandboxAndSessionResponse).
func (s *Server) tell(w http.ResponseWriter, b *Sandbox, resumed bool) {
	answer(w, http.StatusOK, map[string]any{"sandbox": b, "session": s.sessionOf(b), "routes": []any{}, "resumed": resumed})
}

func (s *Server) sessionOf(b *Sandbox) map[string]any {
	return map[string]any{"id": b.Session, "status": b.Status, "timeout": b.Timeout, "vcpus": b.CPUs, "memory": b.Memory, "region": "iad1", "runtime": b.Runtime,
		"cwd": b.Cwd, "createdAt": b.Created, "updatedAt": s.now().UnixMilli(), "requestedAt": b.Created}
}

// list gives a page of sandboxes («SDK»: listSandboxes, CursorPagination).
func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	limit, err := strconv.Atoi(q.Get("limit"))
	if err != nil || limit < 1 || limit > 50 || q.Get("project") != Project || q.Get("namePrefix") != "" && q.Get("sortBy") != "name" {
		Refuse(w, http.StatusBadRequest, "bad_request", "Invalid request")
		return
	}
	if s.Page > 0 {
		limit = min(limit, s.Page)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	from, _ := strconv.Atoi(q.Get("cursor"))
	items, next := []*Sandbox{}, any(nil)
	for i, b := range s.boxes {
		if i < from || !strings.HasPrefix(b.Name, q.Get("namePrefix")) {
			continue
		}
		if len(items) == limit {
			next = strconv.Itoa(i)
			break
		}
		items = append(items, b)
	}
	answer(w, http.StatusOK, map[string]any{"sandboxes": items, "pagination": map[string]any{"count": len(items), "next": next}})
}

// one looks at a named sandbox, or deletes it («REST»: get-a-named-sandbox: with resume a stopped one runs again; delete-a-sandbox).
func (s *Server) one(w http.ResponseWriter, r *http.Request, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.boxes, func(b *Sandbox) bool { return b.Name == name })
	if i < 0 {
		Refuse(w, http.StatusNotFound, "not_found", "Sandbox not found")
		return
	}
	b := s.boxes[i]
	if r.Method == http.MethodDelete {
		s.tell(w, b, false)
		s.drop(name)
		return
	}
	s.proceed(b)
	resumed := r.URL.Query().Get("resume") == "true" && b.Status == "stopped"
	if resumed && b.Spoiled { // «Errors»: SNAPSHOT_NOT_FOUND: the snapshot expired, or was deleted
		Refuse(w, http.StatusGone, "snapshot_not_found", "Snapshot not found")
		return
	}
	if resumed {
		s.begin(b)
	}
	s.tell(w, b, resumed)
}

func id() string {
	var b [12]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
